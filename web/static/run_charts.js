// A run's throughput and its learners' losses over minutes of play.
import { drawLines } from "./charts.js";
import { listen } from "./stream.js";

const root = document.getElementById("charts");
const { run } = root.dataset;
const REDRAW_MS = 4000;
let drawn = 0;

async function drawAnchors() {
  const element = document.getElementById("anchors");
  const { items } = await (await fetch(`/api/v1/runs/${run}/anchors`)).json();
  const lines = items.map((s) => ({
    name: `${s.player} v ${s.anchor}`,
    x: s.play_seconds.map((t) => t / 60),
    y: s.scores,
    text: s.games.map((n) => `${n.toLocaleString()} games`),
  }));
  await drawLines(element, "score", lines);
  element.dataset.lines = String(lines.length);
}

async function draw() {
  if (document.hidden || Date.now() - drawn < REDRAW_MS) return;
  drawn = Date.now();
  const { items } = await (await fetch(`/api/v1/runs/${run}/metrics`)).json();
  const minutes = items.map((m) => m.play_seconds / 60);
  const line = (name, value) => ({ name, x: minutes, y: items.map(value) });
  await drawLines(document.getElementById("throughput"), "a second", [
    line("moves", (m) => m.moves_per_second),
    line("learner steps", (m) => m.learner_steps_per_second),
  ]);
  await drawLines(document.getElementById("lag"), "updates; share of time", [
    line("policy lag, updates", (m) => m.policy_lag),
    line("workers waiting, %", (m) => 100 * (m.rollout_waiting ?? 0)),
  ]);
  await drawLines(document.getElementById("growth"), "players", [
    line("in the pool", (m) => m.players ?? null),
    line("snapshots", (m) => m.snapshots ?? null),
  ]);
  const learners = [...new Set(items.flatMap((m) => Object.keys(m.learners ?? {})))];
  for (const key of ["entropy", "value_loss", "explained_variance", "approximate_kl", "gradient_norm"]) {
    const lines = learners.map((name) => line(name, (m) => m.learners?.[name]?.[key] ?? null));
    await drawLines(document.getElementById(key), key.replaceAll("_", " "), lines);
  }
  await drawAnchors();
  root.dataset.points = String(items.length);
}

await draw();
listen(run, draw);
