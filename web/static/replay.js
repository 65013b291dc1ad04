// A game that was written down: steps, plays and scrubs through its positions.
import { enable } from "./api.js";
import { draw, drawPicture } from "./board.js";

const root = document.getElementById("replay");
const { positions, moves } = JSON.parse(document.getElementById("moves").textContent);
const board = document.getElementById("board");
const slider = document.getElementById("ply");
const thoughts = document.getElementById("thoughts");
const playing = document.getElementById("run-on");
let timer = null;

function show(ply) {
  const at = Math.max(0, Math.min(moves.length, ply));
  slider.value = at;
  root.dataset.ply = at;
  const next = moves[at];
  const chances = {};
  next?.legal?.forEach((action, k) => {
    if (next.probabilities) chances[action] = next.probabilities[k];
  });
  const seen = (next ?? moves[at - 1])?.picture;
  if (seen) drawPicture(board, seen);
  if (positions.length) draw(board, positions[Math.min(at, positions.length - 1)], { chances });
  thoughts.replaceChildren();
  const line = (text) => {
    const item = document.createElement("li");
    item.textContent = text;
    thoughts.append(item);
  };
  if (!next) line("The game is over.");
  else {
    const names = positions[at]?.names ?? {};
    line(`${next.player} plays ${names[next.action] ?? next.action}`);
    if (next.value !== undefined) line(`and expects ${next.value.toFixed(2)}`);
    Object.entries(chances)
      .sort((a, b) => b[1] - a[1])
      .slice(0, 6)
      .forEach(([action, chance]) => line(`${names[action] ?? action}: ${Math.round(100 * chance)}%`));
  }
  document.querySelectorAll("#list tr").forEach((row, k) => row.classList.toggle("current", k === at - 1));
  const url = new URL(location);
  url.hash = at ? `#${at}` : "";
  history.replaceState(null, "", url);
}

function stop() {
  clearInterval(timer);
  timer = null;
  playing.textContent = "Play";
}

const here = () => Number(root.dataset.ply);
document.getElementById("back").addEventListener("click", () => (stop(), show(here() - 1)));
document.getElementById("on").addEventListener("click", () => (stop(), show(here() + 1)));
slider.addEventListener("input", () => (stop(), show(Number(slider.value))));
playing.addEventListener("click", () => {
  if (timer) return stop();
  if (here() >= moves.length) show(0);
  playing.textContent = "Stop";
  timer = setInterval(() => (here() >= moves.length ? stop() : show(here() + 1)), 700);
});
document.addEventListener("keydown", (event) => {
  if (event.target === slider) return;
  if (event.key === "ArrowLeft") show(here() - 1);
  if (event.key === "ArrowRight") show(here() + 1);
});
enable(...root.querySelectorAll("button, #ply"));
show(Number(location.hash.slice(1)) || 0);
