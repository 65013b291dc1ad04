// Puts new events on top of the list as they come.
import { listen } from "./stream.js";

const list = document.getElementById("events");
const { run } = list.dataset;
const render = async () => {
  const page = await fetch(location.href);
  const next = new DOMParser().parseFromString(await page.text(), "text/html").getElementById("events");
  if (next) list.replaceChildren(...next.children);
};
let waiting = null;
const later = () => {
  waiting ??= setTimeout(() => ((waiting = null), render()), 400);
};
listen(run, later);
