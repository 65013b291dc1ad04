// The rating histories of players side by side.
import { drawHistory } from "./charts.js";

const element = document.getElementById("history");
if (element) {
  const players = element.dataset.players.split(" ");
  const query = players.map((name) => `player=${encodeURIComponent(name)}`).join("&");
  const answer = await fetch(`/api/v1/runs/${element.dataset.run}/ratings?${query}`);
  if (answer.ok) await drawHistory(element, await answer.json(), players, "TrueSkill μ");
}
