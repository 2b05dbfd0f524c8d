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
}

const rowValues = (row) => row.values.map((v) => (v === null ? null : v * row.scale));

function chartAxes(units) {
  const grid = { stroke: ink.grid, width: 1 };
  return [
    { grid, ticks: grid, stroke: ink.text, font: "11px sans-serif", labelFont: "11px sans-serif",
      values: (u, marks) => format.times(marks) },
    { grid, ticks: grid, stroke: ink.text, font: "11px sans-serif", size: 70,
      values: (u, marks) => format.amounts(marks, units) },
  ];
}

// Draws `data` (uPlot format: times, then values of each series) and follows the window.
function drawChart(place, window_, { title, units, data, series, bands, height, range, id }) {
  const holder = make("div", { class: "chart", "data-chart": id || "" });
  place.append(holder);
  const chart = new uPlot({
    title,
    width: Math.max(320, place.clientWidth ? holder.clientWidth : 460),
    height: height || 210,
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    legend: { live: true },
    scales: { x: { time: false, range: () => window_.shown }, y: { range: range || ((u, least, most) => [0, most > 0 ? most * 1.05 : 1]) } },
    axes: chartAxes(units),
    series: [{ label: "time", value: (u, v) => (v === null ? "-" : format.time(v)) }, ...series],
    bands,
    hooks: {
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        window_.show(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
        u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      }],
    },
  }, data, holder);
  chart.over.addEventListener("dblclick", () => window_.reset());
  const unwatch = window_.watch((from, to) => chart.setScale("x", { min: from, max: to }));
  const fit = () => { if (holder.clientWidth > 0 && holder.clientWidth !== chart.width) chart.setSize({ width: holder.clientWidth, height: height || 210 }); };
  const observer = new ResizeObserver(fit);
  observer.observe(holder);
  holder.chart = chart;
  holder.release = () => { unwatch(); observer.disconnect(); chart.destroy(); };
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

function drawLines(place, run, window_, one) {
  const clock = run.clocks[one.clock];
  return drawChart(place, window_, {
    id: one.id,
    title: one.title,
    units: one.units,
    data: [withBeginning(clock), ...one.rows.map((row) => stepped(rowValues(row)))],
    range: one.units === "share" ? (u, least, most) => [0, most > 0 ? Math.min(1.02, most * 1.05) : 1] : undefined,
    series: one.rows.map((row, i) => ({
      label: row.name,
      stroke: row.beside ? ink.beside : colourOf(lineColours, i),
      width: row.name.startsWith("mean of ") && !row.beside ? 2 : 1,
      dash: row.beside || row.name === "least" || row.name === "most" ? [4, 3] : undefined,
      points: { show: false },
      paths: steps,
      value: (u, v) => format.amount(v, one.units),
    })),
  });
}

// Stacked parts of a whole, the first at the bottom. `ofAll`: as shares of their sum.
function drawStack(place, run, window_, one, title, id, ofAll) {
  const clock = run.clocks[one.clock];
  const parts = one.rows.map(rowValues);
  const sums = clock.map((_, k) => parts.reduce((sum, part) => sum + (part[k] || 0), 0));
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
    id, title, units, height: 260,
    data: [withBeginning(clock), ...order.map((i) => stepped(tops[i]))],
    range: units === "share" ? () => [0, 1] : undefined,
    series: order.map((i) => ({
      label: one.rows[i].name,
      stroke: partColours.get(one.rows[i].name),
      fill: partColours.get(one.rows[i].name),
      width: 0,
      points: { show: false },
      paths: steps,
      value: (u, v, series, k) => (k === null || k === undefined ? "-" : format.amount(value(i, Math.max(0, k - 1)), units)),
    })),
  });
}
