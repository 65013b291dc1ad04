// Puts new events on top of the list as they come.
const list = document.getElementById("events");
const { run, kind, player, last } = list.dataset;
const query = new URLSearchParams({ after: last });
if (kind) query.append("kind", kind);
if (player) query.append("player", player);
const source = new EventSource(`/api/v1/runs/${run}/events?${query}`);
const render = async () => {
  const page = await fetch(location.href);
  const next = new DOMParser().parseFromString(await page.text(), "text/html").getElementById("events");
  if (next) list.replaceChildren(...next.children);
};
let waiting = null;
const later = () => {
  waiting ??= setTimeout(() => ((waiting = null), render()), 400);
};
source.addEventListener("progress", later);
