// SPDX-License-Identifier: Apache-2.0
// Charts over time. All charts of a run show the same time window; dragging in one chart zooms all of them.

// Time window shared by all drawings of a run.
class TimeWindow {
  constructor(end) {
    this.whole = [0, end];
    this.shown = [0, end];
    this.watchers = [];
  }
  // Calls `call` when the window changes. Returns a function that ends this.
  watch(call) {
    this.watchers.push(call);
    return () => { this.watchers = this.watchers.filter((one) => one !== call); };
  }
  show(from, to) {
    const [first, last] = this.whole;
    from = Math.max(first, from);
    to = Math.min(last, to);
    if (!(to > from)) return;
    this.shown = [from, to];
    for (const call of this.watchers) call(from, to);
  }
  reset() { this.show(...this.whole); }
  isWhole() { return this.shown[0] === this.whole[0] && this.shown[1] === this.whole[1]; }
}

const rowValues = (row) => row.values.map((v) => (v === null ? null : v * row.scale));
const timeTitle = (most) => format.axisTitle("simulated time", most, "ps");

// The quantity of an axis with these units, for its title.
const quantityOf = (units) => ({ share: "share", "byte/s": "data rate", "/s": "rate", accesses: "outstanding accesses", "on average": "mean number", ps: "time" })[units] || "value";

function chartAxes(window_, quantity, units) {
  const lines = { stroke: () => ink.grid, width: 1 };
  const common = { grid: lines, ticks: lines, stroke: () => ink.text, font: "11px sans-serif", labelFont: "11px sans-serif", labelSize: 18 };
  return [
    { ...common, size: 28, label: () => timeTitle(window_.shown[1]), values: (u, marks) => format.marks(marks, window_.shown[1], "ps") },
    { ...common, size: (u, marks) => 18 + 6.6 * Math.max(...(marks || ["0"]).map((mark) => mark.length)), label: (u) => format.axisTitle(quantity, u.scales.y.max, units), values: (u, marks) => format.marks(marks, u.scales.y.max, units) },
  ];
}

// On paper, two charts are next to each other, unless they have a row of their own.
const paperWidth = 690;
const isOnPaper = () => document.documentElement.classList.contains("printing");
const widthOf = (holder, otherwise) => (isOnPaper() ? (holder.closest(".charts:not(.one)") ? paperWidth / 2 - 22 : paperWidth) : holder.clientWidth || otherwise);

// Draws `data` (uPlot format: times, then values of each series) and follows the window.
function drawChart(place, window_, { title, quantity, units, data, series, run, height, range, id }) {
  const holder = make("div", { class: "chart", "data-chart": id || "" });
  place.append(holder);
  const bands = run ? bandsOf(run) : [];
  const { drawClear, draw } = bandHooks(bands);
  const whenText = (time) => {
    const band = bandAt(bands, time);
    return format.time(time) + (band ? ", " + band.name : "");
  };
  const tall = height || 230;
  const chart = new uPlot({
    title,
    width: Math.max(240, widthOf(holder, 460)),
    height: tall,
    padding: [bands.length ? bandStrip + 4 : null, 14, null, null],
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    legend: { live: true },
    scales: { x: { time: false, range: () => window_.shown }, y: { range: range || ((u, least, most) => [0, most > 0 ? most * 1.05 : 1]) } },
    axes: chartAxes(window_, quantity || quantityOf(units), units),
    series: [{ label: "time", value: (u, v) => (v === null ? "-" : whenText(v)) }, ...series],
    hooks: {
      drawClear, draw,
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        window_.show(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
        u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      }],
    },
  }, data, holder);
  chart.over.addEventListener("dblclick", () => window_.reset());
  const unwatch = window_.watch((from, to) => chart.setScale("x", { min: from, max: to }));
  const fit = () => {
    const width = Math.max(240, widthOf(holder, 0));
    if (holder.clientWidth > 0 && width !== chart.width) chart.setSize({ width, height: tall });
  };
  const observer = new ResizeObserver(fit);
  observer.observe(holder);
  holder.chart = chart;
  holder.bands = bands;
  holder.release = () => { unwatch(); observer.disconnect(); chart.destroy(); holder.chart = null; };
  drawAgain(() => {
    if (!holder.chart) return false;
    chart.root.querySelectorAll(".u-series .u-marker").forEach((marker, i) => {
      if (i === 0) return;
      const one = chart.series[i], fill = one.fill && one.fill(chart, i), stroke = one.stroke(chart, i);
      marker.style.background = fill || "transparent";
      if (!fill) marker.style.borderColor = stroke;
    });
    fit();
    chart.redraw();
    return true;
  });
  return chart;
}

// Empties `place` and destroys its charts.
function emptied(place) {
  for (const holder of place.querySelectorAll(".chart")) if (holder.release) holder.release();
  place.replaceChildren();
}

// A value belongs to the interval that ends at its time and is drawn as a step from the start of the interval.
function withBeginning(ends) { return [0, ...ends]; }
function stepped(values) { return [values.length ? values[0] : null, ...values]; }
const steps = (u, i, from, to) => uPlot.paths.stepped({ align: -1 })(u, i, from, to);

const isMeanRow = (row) => row.name.startsWith("mean of ") && !row.beside;

function drawLines(place, run, window_, one) {
  const clock = run.clocks[one.clock];
  return drawChart(place, window_, {
    id: one.id,
    title: one.title,
    quantity: one.quantity,
    units: one.units,
    run,
    data: [withBeginning(clock), ...one.rows.map((row) => stepped(rowValues(row)))],
    range: one.units === "share" ? (u, least, most) => [0, most > 0 ? Math.min(1.02, most * 1.05) : 1] : undefined,
    series: one.rows.map((row, i) => ({
      label: row.name,
      stroke: () => (row.beside ? ink.beside : lineColour(i)),
      width: isMeanRow(row) ? 2.2 : 1.4,
      dash: row.beside || row.name === "least" || row.name === "most" ? [4, 3] : undefined,
      points: { show: false },
      paths: steps,
      value: (u, v) => format.amount(v, one.units),
    })),
  });
}

// Sums of the parts of a stack, interval by interval.
const stackSums = (run, one) => run.clocks[one.clock].map((_, k) => one.rows.reduce((sum, row) => sum + (row.values[k] || 0) * row.scale, 0));

// Stacked parts of a whole, the first at the bottom. `ofAll`: as shares of their sum. `most`: the end of the axis; undefined: the largest sum.
function drawStack(place, run, window_, one, title, id, ofAll, most) {
  const clock = run.clocks[one.clock];
  const parts = one.rows.map(rowValues);
  const sums = stackSums(run, one);
  const value = (i, k) => (ofAll ? (sums[k] > 0 ? parts[i][k] / sums[k] : 0) : parts[i][k] || 0);
  const tops = [];
  const level = clock.map(() => 0);
  for (let i = 0; i < parts.length; ++i) {
    for (let k = 0; k < level.length; ++k) level[k] += value(i, k);
    tops.push(level.slice());
  }
  const units = ofAll ? "share" : one.units;
  // In descending order of height, so that each area covers the part below its top.
  const order = parts.map((_, i) => parts.length - 1 - i);
  return drawChart(place, window_, {
    id, title, units, run, height: 290,
    data: [withBeginning(clock), ...order.map((i) => stepped(tops[i]))],
    quantity: ofAll ? "share of outstanding accesses" : one.quantity,
    range: units === "share" ? () => [0, 1] : most ? () => [0, most * 1.05] : undefined,
    series: order.map((i) => ({
      label: one.rows[i].name,
      stroke: () => partColour(one.rows[i].name),
      fill: () => partColour(one.rows[i].name),
      width: 0,
      points: { show: false },
      paths: steps,
      value: (u, v, series, k) => (k === null || k === undefined ? "-" : format.amount(value(i, Math.max(0, k - 1)), units)),
    })),
  });
}
