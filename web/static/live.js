// Keeps a run's page live: the server renders the parts that change, this module swaps them in.
import { enable } from "./api.js";
import { drawHistory, drawPayoff, shownOf } from "./charts.js";
import { listen } from "./stream.js";
import { Window } from "./window.js";

const root = document.getElementById("run");
const id = root.dataset.run;
const bands = document.getElementById("bands");
const REFRESH_MS = 1000;
const CHARTS_MS = 4000;

let lastRefresh = 0;
let lastCharts = 0;
let refreshing = false;
let chosen; // whether bands are drawn, once somebody has said so

function ranks() {
  return new Map([...document.querySelectorAll("#standings tr[data-player]")].map((row) => [row.dataset.player, row.dataset.rank]));
}

// Swaps the parts in that have changed; ticks and focus in the table stay.
function swap(page) {
  const before = ranks();
  const ticked = new Set([...root.querySelectorAll("input[form=compare]:checked")].map((box) => box.value));
  const focused = root.contains(document.activeElement) ? document.activeElement : null;
  const player = focused?.closest("tr")?.dataset.player;
  for (const next of page.querySelectorAll("[data-live]")) {
    const part = root.querySelector(`[data-live="${next.dataset.live}"]`);
    Object.assign(part.dataset, next.dataset);
    part.replaceChildren(...next.childNodes);
  }
  for (const box of root.querySelectorAll("input[form=compare]")) box.checked = ticked.has(box.value);
  for (const [name, rank] of ranks()) {
    if (before.has(name) && before.get(name) !== rank) row(name).classList.add("moved");
  }
  if (player && !root.contains(focused)) row(player)?.querySelector(focused.tagName)?.focus({ preventScroll: true });
}

function row(player) {
  return root.querySelector(`#standings tr[data-player="${CSS.escape(player)}"]`);
}

async function fetchRows(begin) {
  const query = new URLSearchParams(location.search);
  if (begin) query.set("begin", begin);
  else query.delete("begin");
  const answer = await fetch(`/runs/${id}/live?${query}`);
  if (answer.ok) swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
}

const shown = new Window(root.querySelector(".tall"), root.querySelector("[data-live=rows]"), fetchRows);

document.documentElement.dataset.ready = "true";

async function refresh() {
  if (refreshing || document.hidden || Date.now() - lastRefresh < REFRESH_MS) return;
  refreshing = true;
  try {
    await shown.renew();
    lastRefresh = Date.now();
    if (lastRefresh - lastCharts >= CHARTS_MS) {
      lastCharts = lastRefresh;
      await charts();
    }
  } finally {
    refreshing = false;
  }
}

async function charts() {
  const load = (part) => fetch(`/api/v1/runs/${id}/${part}`).then((a) => a.json());
  const payoffs = await load("payoffs");
  const drawn = shownOf(payoffs.players).map((name) => `&player=${encodeURIComponent(name)}`);
  const history = await load(`ratings?system=${root.dataset.system}${drawn.join("")}`);
  const lines = await drawHistory(document.getElementById("history"), history, payoffs.players, root.dataset.label, chosen);
  if (chosen === undefined) bands.checked = lines <= 3;
  const map = document.getElementById("payoff");
  if (map) await drawPayoff(map, payoffs); // a game without opponents has none
}

bands.addEventListener("change", () => {
  chosen = bands.checked;
  charts();
});
enable(bands);
await charts();
listen(id, refresh);
document.addEventListener("visibilitychange", refresh);
