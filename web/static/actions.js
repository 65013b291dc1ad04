// Buttons that do something to a run or a player, and say what came of it.
import { ask, enable, say } from "./api.js";

const status = document.getElementById("done");
const WAIT_MS = 500;
const TRIES = 240;

// A command that a busy league has not carried out yet is waited for; what it says in the end is what is shown.
async function carriedOut(command) {
  for (let tries = 0; command?.state === "pending" && tries < TRIES; tries += 1) {
    say(status, "Asked; the league will do it in a moment …");
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    command = await ask("GET", `/runs/${command.run}/commands/${command.id}`);
  }
  if (command?.state === "pending") throw new Error("The league has not done it yet; does anybody run it? Look again later.");
  if (command?.state === "failed" && command.error) throw new Error(command.error);
}

for (const button of document.querySelectorAll("button[data-post]")) {
  button.addEventListener("click", async () => {
    let body;
    if (button.dataset.ask) {
      const answer = prompt(button.dataset.ask);
      if (!answer) return;
      body = { [button.dataset.field]: answer };
    } else if (button.dataset.body) body = JSON.parse(button.dataset.body);
    button.disabled = true;
    try {
      const answer = await ask(button.dataset.method ?? "POST", button.dataset.post, body);
      if (button.dataset.post.startsWith("/players/")) await carriedOut(answer);
      location.reload();
    } catch (error) {
      say(status, error.message, true);
      button.disabled = false;
    }
  });
  enable(button);
}
