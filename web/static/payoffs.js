// The payoff map: one binary, drawn cell by cell on a canvas, read by mouse or arrow keys.
import { enable } from "./api.js";

const root = document.getElementById("map");
const canvas = document.getElementById("canvas");
const reading = document.getElementById("reading");
const order = document.getElementById("order");
const { run, limit } = root.dataset;
const UNMET = 255;
// Blue wins, orange loses, white is even: told apart by people who do not see red and green alike.
const LOST = [217, 95, 2];
const EVEN = [247, 247, 247];
const WON = [33, 102, 172];

const answer = await fetch(`/api/v1/runs/${run}/payoffs/map?limit=${limit}`);
const buffer = await answer.arrayBuffer();
const headerLength = new DataView(buffer).getUint32(0, true);
const { players, roles, parents, cycles } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, headerLength)));
const n = players.length;
const rates = new Uint8Array(buffer, 4 + headerLength, n * n);
const games = new Uint32Array(buffer.slice(4 + headerLength + n * n));
let shown = players.map((_, k) => k);
let at = [0, 0];

function mix(a, b, share) {
  return a.map((x, k) => Math.round(x + (b[k] - x) * share));
}

const palette = Array.from({ length: 201 }, (_, v) => (v < 100 ? mix(LOST, EVEN, v / 100) : mix(EVEN, WON, (v - 100) / 100)));

function drawMap() {
  const image = new ImageData(n, n);
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j < n; j += 1) {
      const value = rates[shown[i] * n + shown[j]];
      const colour = value === UNMET ? [0, 0, 0] : palette[value];
      image.data.set([...colour, value === UNMET ? 20 : 255], 4 * (i * n + j));
    }
  }
  canvas.width = canvas.height = n;
  canvas.getContext("2d").putImageData(image, 0, 0);
  root.dataset.cells = String(rates.reduce((count, v) => count + (v !== UNMET), 0));
}

function read() {
  const [i, j] = at.map((k) => shown[k]);
  const value = rates[i * n + j];
  const score = value === UNMET ? "has not met" : `scored ${(value / 2).toFixed(1)}% against`;
  const count = value === UNMET ? "" : ` in ${games[i * n + j].toLocaleString()} games`;
  reading.textContent = `${players[i]} ${score} ${players[j]}${count}`;
  const size = canvas.clientWidth / n;
  const mark = document.getElementById("mark");
  Object.assign(mark.style, { left: `${at[1] * size}px`, top: `${at[0] * size}px`, width: `${Math.max(size, 6)}px`, height: `${Math.max(size, 6)}px` });
}

// A copy stands with the learner it is of.
const line = players.map((name, k) => parents[k] ?? name);
// Those of the clearest cycle first, in its order, then of the next.
const cycled = [...new Set(cycles.flat())];
const inCycle = (k) => (cycled.includes(players[k]) ? cycled.indexOf(players[k]) : cycled.length);

function sort() {
  const by = {
    rating: (a, b) => a - b,
    lineage: (a, b) => line[a].localeCompare(line[b], undefined, { numeric: true }) || a - b,
    cycles: (a, b) => inCycle(a) - inCycle(b) || a - b,
    role: (a, b) => roles[a].localeCompare(roles[b]) || a - b,
    name: (a, b) => players[a].localeCompare(players[b], undefined, { numeric: true }),
  }[order.value];
  shown = players.map((_, k) => k).sort(by);
  drawMap();
  read();
}

function place(event) {
  const box = canvas.getBoundingClientRect();
  const cell = (x, start, size) => Math.max(0, Math.min(n - 1, Math.floor(((x - start) / size) * n)));
  at = [cell(event.clientY, box.top, box.height), cell(event.clientX, box.left, box.width)];
  read();
}

function open() {
  const [i, j] = at.map((k) => encodeURIComponent(players[shown[k]]));
  location.href = `/runs/${run}/players/${i}/against/${j}`;
}

canvas.addEventListener("mousemove", place);
canvas.addEventListener("click", (event) => (place(event), open()));
canvas.addEventListener("keydown", (event) => {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (event.key === "Enter") open();
  if (!step) return;
  event.preventDefault();
  at = at.map((k, axis) => Math.max(0, Math.min(n - 1, k + step[axis])));
  read();
});
order.addEventListener("change", () => {
  const url = new URL(location);
  url.searchParams.set("order", order.value);
  history.replaceState(null, "", url);
  sort();
});
enable(order);
order.value = new URLSearchParams(location.search).get("order") ?? "rating";
if (!order.value) order.value = "rating";
sort();
