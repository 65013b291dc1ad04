// Buttons that do something to a run or a player, and say what came of it.
import { ask, say } from "./api.js";

const status = document.getElementById("done");
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
      await ask(button.dataset.method ?? "POST", button.dataset.post, body);
      location.reload();
    } catch (error) {
      say(status, error.message, true);
      button.disabled = false;
    }
  });
}
