// A player's rating over time.
import { drawHistory } from "./charts.js";

const element = document.getElementById("rating");
const answer = await fetch(`/api/v1/players/${encodeURIComponent(element.dataset.player)}/ratings`);
if (answer.ok) {
  const history = await answer.json();
  await drawHistory(element, history, history.series.map((s) => s.player), "TrueSkill μ");
}
