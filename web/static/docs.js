// Every operation of the API, out of its own document; nothing is asked of any other host.
window.SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#swagger",
  validatorUrl: null,
  deepLinking: true,
});
