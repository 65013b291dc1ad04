// Draws a position: a grid of cells with discs, letters or chessmen, or text where the game has no board.
const CHESS = { K: "♔", Q: "♕", R: "♖", B: "♗", N: "♘", P: "♙", k: "♚", q: "♛", r: "♜", b: "♝", n: "♞", p: "♟" };
const SIDES = { first: "first player's disc", second: "second player's disc", "": "empty" };
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const RED = /[♥♦]/;

// Each seat's cards and those on the table, over what the game says of itself.
function hands({ hands: dealt, table, turn, text }) {
  const line = (title, cards, current) => {
    const row = document.createElement("div");
    row.className = current ? "hand current" : "hand";
    const name = document.createElement("span");
    name.textContent = title;
    row.append(name);
    for (const card of cards) {
      const shown = document.createElement("span");
      shown.className = RED.test(card) ? "card red" : "card";
      shown.textContent = card;
      row.append(shown);
    }
    return row;
  };
  const said = document.createElement("pre");
  said.textContent = text;
  return [...dealt.map((cards, seat) => line(`Seat ${seat + 1}`, cards, seat === turn)), line("Table", table, false), said];
}

// What a seat sees of a game of pixels: rows × columns × channels bytes, deflated, in base64.
export async function drawPicture(container, { rows, columns, channels, data }) {
  const packed = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const image = new ImageData(columns, rows);
  for (let k = 0; k < rows * columns; k += 1) {
    for (let c = 0; c < 3; c += 1) image.data[4 * k + c] = bytes[channels * k + (channels === 3 ? c : 0)];
    image.data[4 * k + 3] = 255;
  }
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: columns, height: rows, className: "picture" });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `What the player sees, ${columns} by ${rows} points`);
  canvas.getContext("2d").putImageData(image, 0, 0);
  container.replaceChildren(canvas);
}

// last: the action that led here. onAction: called with a legal action when its cell is chosen.
export function draw(container, position, { last = null, onAction = null, chances = {} } = {}) {
  container.replaceChildren();
  if (position?.kind === "hands") {
    container.append(...hands(position));
    return;
  }
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
