// Asks the API; a refusal is an Error that says what the server said.
const csrf = document.querySelector("meta[name=csrf]")?.content;

export async function ask(method, path, body) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (csrf) headers["X-CSRF-Token"] = csrf;
  const answer = await fetch(`/api/v1${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const content = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error(content?.detail ?? `the server answered ${answer.status}`);
  return content;
}

// Says something where people look for it: an element with role=status.
export function say(element, text, isError = false) {
  element.textContent = text;
  element.classList.toggle("error", isError);
}

// A control does nothing before its script has come, so pages are served with it disabled; its script enables it.
export function enable(...controls) {
  for (const control of controls) control.disabled = false;
}
