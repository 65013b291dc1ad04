// Keeps [data-fresh] parts of a page as new as the run: the server renders the page, this swaps them in.
import { listen } from "./stream.js";

const parts = document.querySelectorAll("[data-fresh]");
const PAUSE_MS = 800;
let waiting = null;

async function renew() {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts) {
    const next = page.getElementById(part.id);
    if (next) part.replaceChildren(...next.childNodes);
  }
}

listen(parts[0].dataset.run, () => {
  if (document.hidden) return;
  waiting ??= setTimeout(() => {
    waiting = null;
    renew();
  }, PAUSE_MS);
});
