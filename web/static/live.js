// Keeps a run's page live: the server renders the parts that change, this module swaps them in.
import { drawHistory, drawPayoff } from "./charts.js";
import { listen } from "./stream.js";

const root = document.getElementById("run");
const id = root.dataset.run;
const REFRESH_MS = 1000;
const CHARTS_MS = 4000;

let lastRefresh = 0;
let lastCharts = 0;
let refreshing = false;

function ranks() {
  return new Map([...document.querySelectorAll("#standings tbody tr")].map((row, i) => [row.dataset.player, i]));
}

async function refresh() {
  if (refreshing || document.hidden || Date.now() - lastRefresh < REFRESH_MS) return;
  refreshing = true;
  try {
    const answer = await fetch(`/runs/${id}/live${location.search}`);
    if (answer.ok) {
      const before = ranks();
      const scrolled = root.querySelector(".scroll")?.scrollLeft ?? 0;
      root.innerHTML = await answer.text();
      root.querySelector(".scroll").scrollLeft = scrolled;
      for (const [player, rank] of ranks()) {
        if (before.get(player) !== rank) {
          document.querySelector(`#standings tr[data-player="${CSS.escape(player)}"]`).classList.add("moved");
        }
      }
    }
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
  const [history, payoffs] = await Promise.all(
    [`ratings?system=${root.dataset.system}`, "payoffs"].map((part) => fetch(`/api/v1/runs/${id}/${part}`).then((a) => a.json())),
  );
  drawHistory(document.getElementById("history"), history, payoffs.players, root.dataset.label);
  const map = document.getElementById("payoff");
  if (map) drawPayoff(map, payoffs); // a game without opponents has none
}

await charts();
listen(id, refresh);
document.addEventListener("visibilitychange", refresh);
