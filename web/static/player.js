// A player's rating over time.
import { drawRating } from "./charts.js";

const element = document.getElementById("rating");
const answer = await fetch(`/api/v1/players/${encodeURIComponent(element.dataset.player)}/ratings`);
if (answer.ok) await drawRating(element, (await answer.json()).series);
