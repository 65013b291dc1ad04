// Launches a run: a preset to begin with, checked while it is written.
import { ask, say } from "./api.js";

const form = document.getElementById("launch");
const text = document.getElementById("yaml");
const status = document.getElementById("checked");
const button = form.querySelector("button[type=submit]");
const presets = JSON.parse(document.getElementById("presets").textContent);
let timer;

async function check() {
  const asked = text.value;
  const answer = await ask("POST", "/configs/check", { yaml: asked }).catch((error) => error);
  if (asked !== text.value) return; // about a text that is no more
  const refused = answer instanceof Error;
  say(status, refused ? answer.message : `Good: ${answer.game}, ${answer.players.join(", ")}.`, refused);
  button.disabled = refused;
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(check, 350);
}

// The simple fields write their lines of the YAML.
function setLine(key, line) {
  const pattern = new RegExp(`^${key}:.*(\\n[ -].*)*$`, "m");
  text.value = pattern.test(text.value) ? text.value.replace(pattern, line) : `${line}\n${text.value}`;
  later();
}

document.getElementById("preset").addEventListener("change", (event) => {
  text.value = presets[event.target.value];
  later();
});
document.getElementById("game").addEventListener("change", (event) => setLine("game", `game: "${event.target.value}"`));
document.getElementById("name").addEventListener("change", (event) => setLine("name", `name: ${JSON.stringify(event.target.value)}`));
document.getElementById("minutes").addEventListener("change", (event) => setLine("stop", `stop: {minutes: ${event.target.value}}`));
text.addEventListener("input", later);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  try {
    const run = await ask("POST", "/runs", { yaml: text.value });
    location.href = `/runs/${run.id}`;
  } catch (error) {
    say(status, error.message, true);
    button.disabled = false;
  }
});
check();
