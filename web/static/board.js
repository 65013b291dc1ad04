// Draws a position: a grid of cells with discs, letters or chessmen, or text where the game has no board.
const CHESS = { K: "♔", Q: "♕", R: "♖", B: "♗", N: "♘", P: "♙", k: "♚", q: "♛", r: "♜", b: "♝", n: "♞", p: "♟" };
const SIDES = { first: "first player's disc", second: "second player's disc", "": "empty" };
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// last: the action that led here. onAction: called with a legal action when its cell is chosen.
export function draw(container, position, { last = null, onAction = null, chances = {} } = {}) {
  container.replaceChildren();
  if (!position || position.kind !== "grid") {
    const text = document.createElement("pre");
    text.textContent = position?.text ?? "This game has no board to show.";
    container.append(text);
    return;
  }
  const { rows, columns, cells } = position;
  const size = 40;
  const svg = element("svg", {
    viewBox: `0 0 ${columns * size} ${rows * size}`,
    class: `board ${position.pieces}`,
    role: onAction ? "group" : "img",
    "aria-label": `Board of ${rows} rows and ${columns} columns`,
  });
  cells.forEach((cell, k) => {
    const x = (k % columns) * size;
    const y = Math.floor(k / columns) * size;
    const dark = position.pieces === "chess" && (Math.floor(k / columns) + (k % columns)) % 2;
    svg.append(element("rect", { x, y, width: size, height: size, class: dark ? "cell dark" : "cell" }));
    if (position.pieces === "discs") {
      const disc = element("circle", { cx: x + size / 2, cy: y + size / 2, r: size * 0.38, class: `disc ${cell || "none"}` });
      svg.append(disc);
      if (cell === "second") svg.append(element("circle", { cx: x + size / 2, cy: y + size / 2, r: size * 0.14, class: "mark" }));
    } else if (cell) {
      const piece = element("text", { x: x + size / 2, y: y + size * 0.72, class: "piece", "text-anchor": "middle" });
      piece.textContent = position.pieces === "chess" ? CHESS[cell] ?? cell : cell;
      svg.append(piece);
    }
  });
  for (const [action, k] of Object.entries(position.targets)) {
    const x = (k % columns) * size;
    const y = Math.floor(k / columns) * size;
    const chance = chances[action];
    if (chance !== undefined) {
      svg.append(element("circle", { cx: x + size / 2, cy: y + size / 2, r: Math.max(2, size * 0.38 * Math.sqrt(chance)), class: "chance" }));
    }
    if (!onAction) continue;
    const choose = () => onAction(Number(action));
    const button = element("rect", {
      x, y, width: size, height: size, class: "choice", tabindex: 0, role: "button",
      "data-action": action, "aria-label": `Play ${position.names[action] ?? action}`,
    });
    button.addEventListener("click", choose);
    button.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        choose();
      }
    });
    svg.append(button);
  }
  const summary = document.createElement("p");
  summary.className = "visually-hidden";
  summary.textContent = cells.map((cell) => SIDES[cell] ?? cell).join(", ");
  container.append(svg, summary);
  container.dataset.last = last ?? "";
}
