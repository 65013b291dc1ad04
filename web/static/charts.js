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

// The learners and anchors always, then the best of the rest.
export async function drawHistory(element, history, ranked, label) {
  const Plotly = await plotly();
  const live = (name) => !/\.v\d+$/.test(name);
  const order = [...ranked].sort((a, b) => live(b) - live(a)).slice(0, SHOWN);
  const series = history.series
    .filter((s) => order.includes(s.player))
    .sort((a, b) => ranked.indexOf(a.player) - ranked.indexOf(b.player));
  const traces = series.map((s) => ({
    x: s.play_seconds.map((t) => t / 60),
    y: s.mu,
    error_y: { type: "data", array: s.sigma, thickness: 0.6, width: 0 },
    name: s.player,
    mode: "lines",
    line: { width: live(s.player) ? 2.6 : 1.2 },
    opacity: live(s.player) ? 1 : 0.65,
  }));
  const shape = layout({
    xaxis: { title: { text: "minutes of play" }, rangemode: "tozero" },
    yaxis: { title: { text: label } },
    uirevision: "keep",
  });
  await Plotly.react(element, traces, shape, CONFIG);
  element.dataset.points = String(series.reduce((n, s) => n + s.mu.length, 0));
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

// One player's rating, with the band of its uncertainty.
export async function drawRating(element, series) {
  const Plotly = await plotly();
  const traces = series.flatMap((s) => {
    const x = s.play_seconds.map((t) => t / 60);
    const band = { x, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
    return [
      { ...band, y: s.mu.map((m, k) => m - s.sigma[k]) },
      { ...band, y: s.mu.map((m, k) => m + s.sigma[k]), fill: "tonexty", fillcolor: "rgba(120,150,255,0.25)" },
      { x, y: s.mu, mode: "lines", name: s.player, line: { width: 2, color: colour("--accent") } },
    ];
  });
  const shape = layout({ xaxis: { title: { text: "minutes of play" } }, yaxis: { title: { text: "μ" } }, showlegend: false });
  await Plotly.react(element, traces, shape, CONFIG);
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
