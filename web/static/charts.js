// Draws with Plotly.js, which is loaded only here, when the first chart is to be drawn.
let loading;

function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/plotly/plotly.min.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("plotly.min.js did not load"));
    document.head.append(script);
  });
  return loading;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function layout(more) {
  const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), zeroline: false };
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("--ink"), size: 12 },
    margin: { l: 48, r: 12, t: 8, b: 40 },
    ...more,
    xaxis: { ...axis, ...more.xaxis },
    yaxis: { ...axis, ...more.yaxis },
  };
}

const CONFIG = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d"] };
const SHOWN = 14;

const WITH_BANDS = 3;
const PALETTE = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#eeca3b", "#9d755d", "#ff9da6", "#79706e", "#5b8ff9", "#d67195", "#8cd17d", "#b6992d"];
const MARKS_NAMED = 10;
const DASHES = { reset: "dot", resumed: "dash", restarted: "dashdot" };

// A line with the band of its uncertainty around it, or alone.
function withBand(series, x, colourOf, banded) {
  const line = { x, y: series.mu, name: series.player, legendgroup: series.player, mode: "lines" };
  if (!banded) return [line];
  const edge = { x, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: series.player };
  return [
    { ...edge, y: series.mu.map((m, k) => m - series.sigma[k]) },
    { ...edge, y: series.mu.map((m, k) => m + series.sigma[k]), fill: "tonexty", fillcolor: `${colourOf}38` },
    line,
  ];
}

// Vertical lines where learners were reset (of those shown) and where the run was resumed.
function markLines(marks, shown) {
  const wanted = marks.filter((m) => m.kind !== "reset" || shown.includes(m.player));
  return {
    shapes: wanted.map((m) => ({
      type: "line", x0: m.play_seconds / 60, x1: m.play_seconds / 60, yref: "paper", y0: 0, y1: 1,
      line: { width: 1, dash: DASHES[m.kind], color: colour("--dim") },
    })),
    annotations: (wanted.length <= MARKS_NAMED ? wanted : wanted.slice(-1)).map((m) => ({
      x: m.play_seconds / 60, yref: "paper", y: 1, yanchor: "bottom", showarrow: false, font: { size: 10, color: colour("--dim") },
      text: m.kind, hovertext: m.player ?? "the run",
    })),
  };
}

const learns = (name) => !/\.v\d+$/.test(name);

// Returns who is drawn: the learners and anchors always, then the best of the rest.
export function shownOf(ranked) {
  return [...ranked].sort((a, b) => learns(b) - learns(a)).slice(0, SHOWN);
}

// banded: by default for up to three lines.
// Returns how many lines were drawn.
export async function drawHistory(element, history, ranked, label, banded) {
  const Plotly = await plotly();
  const order = shownOf(ranked);
  const series = history.series
    .filter((s) => order.includes(s.player))
    .sort((a, b) => ranked.indexOf(a.player) - ranked.indexOf(b.player));
  const bands = banded ?? series.length <= WITH_BANDS;
  const traces = series.flatMap((s, k) => {
    const shade = PALETTE[k % PALETTE.length];
    const x = s.play_seconds.map((t) => t / 60);
    return withBand(s, x, shade, bands).map((trace) => ({
      ...trace,
      line: { color: shade, width: learns(s.player) ? 2.6 : 1.2, ...trace.line },
      opacity: learns(s.player) ? 1 : 0.65,
    }));
  });
  const marks = markLines(history.marks ?? [], series.map((s) => s.player));
  const shape = layout({
    xaxis: { title: { text: "minutes of play" }, rangemode: "tozero" },
    yaxis: { title: { text: label } },
    uirevision: "keep",
    showlegend: true,
    margin: { l: 48, r: 12, t: marks.shapes.length ? 22 : 8, b: 40 },
    ...marks,
  });
  await Plotly.react(element, traces, shape, CONFIG);
  element.dataset.points = String(series.reduce((n, s) => n + s.mu.length, 0));
  element.dataset.bands = String(bands);
  element.dataset.marks = String(marks.shapes.length);
  return series.length;
}

export async function drawPayoff(element, payoffs) {
  const Plotly = await plotly();
  const z = payoffs.win_rates.map((row) => row.map((w) => (w < 0 ? null : w)));
  const trace = {
    type: "heatmap",
    x: payoffs.players,
    y: payoffs.players,
    z,
    customdata: payoffs.games,
    zmin: 0,
    zmax: 1,
    xgap: 1,
    ygap: 1,
    colorscale: [[0, "#b2182b"], [0.25, "#ef8a62"], [0.5, "#f7f7f7"], [0.75, "#67a9cf"], [1, "#2166ac"]],
    colorbar: { title: { text: "win rate" }, tickformat: ".0%", thickness: 12 },
    hovertemplate: "%{y} scored %{z:.1%} against %{x}<br>%{customdata:,} games<extra></extra>",
  };
  const shape = layout({
    margin: { l: 150, r: 12, t: 8, b: 130 },
    xaxis: { tickangle: -45, type: "category" },
    yaxis: { autorange: "reversed", type: "category" },
    uirevision: "keep",
  });
  await Plotly.react(element, [trace], shape, CONFIG);
  element.dataset.cells = String(z.flat().filter((w) => w !== null).length);
}

// Lines over minutes of play.
export async function drawLines(element, label, lines) {
  const Plotly = await plotly();
  const traces = lines.map((line) => ({ ...line, mode: "lines", connectgaps: true, line: { width: 1.8 } }));
  const shape = layout({
    xaxis: { title: { text: "minutes of play" }, rangemode: "tozero" },
    yaxis: { title: { text: label }, rangemode: "tozero" },
    legend: { orientation: "h", y: 1.15 },
    uirevision: "keep",
  });
  await Plotly.react(element, traces, shape, CONFIG);
}
