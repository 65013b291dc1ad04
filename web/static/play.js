// A game against a player: begins it, sends moves, shows the answer.
import { ask, enable, say } from "./api.js";
import { draw } from "./board.js";

const root = document.getElementById("play");
const run = root.dataset.run;
const board = document.getElementById("board");
const status = document.getElementById("status");
const form = document.getElementById("begin");
const game = document.getElementById("game");
const actions = document.getElementById("actions");
let play = null;
let busy = false;

async function attempt(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
  } catch (error) {
    say(status, error.message, true);
  } finally {
    busy = false;
  }
}

function show(next, chances = {}) {
  play = next;
  game.hidden = false;
  root.dataset.state = play.over ? "over" : "playing";
  root.dataset.moves = play.moves;
  const url = new URL(location);
  url.searchParams.set("game", play.id);
  history.replaceState(null, "", url);
  draw(board, play.position, { last: play.last, onAction: play.your_turn ? move : null, chances });
  const names = play.position?.targets ?? {};
  actions.replaceChildren(
    ...play.legal
      .filter((action) => !(action in names))
      .map((action) => {
        const button = document.createElement("button");
        button.textContent = play.names[action] ?? action;
        button.addEventListener("click", () => move(action));
        return button;
      }),
  );
  const result = { won: "You won.", lost: `${play.player} won.`, drawn: "A draw." }[play.result];
  say(status, play.over ? `${result} ${play.rated ? "It counts." : "It does not count."}` : "Your move.");
  for (const id of ["hint", "undo"]) document.getElementById(id).hidden = play.rated || play.over;
  document.getElementById("resign").hidden = play.over;
}

function move(action) {
  return attempt(async () => {
    say(status, `${play.player} thinks …`);
    show(await ask("POST", `/plays/${play.id}/moves`, { action }));
  });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const fields = new FormData(form);
  attempt(async () => {
    const body = {
      player: fields.get("player"),
      name: fields.get("name"),
      seat: Number(fields.get("seat")),
      rated: fields.get("rated") === "on",
    };
    show(await ask("POST", `/runs/${run}/plays`, body));
  });
});
document.getElementById("undo").addEventListener("click", () =>
  attempt(async () => show(await ask("POST", `/plays/${play.id}/undo`))),
);
document.getElementById("resign").addEventListener("click", () =>
  attempt(async () => show(await ask("POST", `/plays/${play.id}/resign`))),
);
document.getElementById("hint").addEventListener("click", () =>
  attempt(async () => {
    const hint = await ask("GET", `/plays/${play.id}/hint`);
    show(play, hint.probabilities);
    const [best, chance] = Object.entries(hint.probabilities).sort((a, b) => b[1] - a[1])[0];
    const expects = hint.value === null ? "" : `, and expects ${hint.value.toFixed(2)}`;
    say(status, `${play.player} would play ${play.names[best] ?? best} (${Math.round(100 * chance)}%)${expects}.`);
  }),
);
enable(form.querySelector("button"));
const known = new URL(location).searchParams.get("game");
if (known) attempt(async () => show(await ask("GET", `/plays/${known}`)));
