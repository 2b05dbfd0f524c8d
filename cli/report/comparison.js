// SPDX-License-Identifier: Apache-2.0
// Comparison of several runs: one figure as bars, and one statistic over time.
function drawComparison(place, data) {
  const { comparison, runs } = data;
  if (comparison.figures.length) {
    const choice = make("select", { class: "figure" }, ...comparison.figures.map((f, i) => make("option", { value: i }, f.metric)));
    const bars = make("div", { class: "bars" });
    const says = make("span", { class: "hint" });
    const chosen = comparison.settings.filter((s) => s.in_all);
    const settings = chosen.length ? chosen : comparison.settings;
    const draw = () => {
      const figure = comparison.figures[Number(choice.value)];
      const most = Math.max(...figure.values.map((v) => v || 0), 1);
      bars.replaceChildren(...comparison.runs.map((run, i) => {
        const value = figure.values[i];
        const bar = make("span", { class: "length" });
        bar.style.width = (value === null ? 0 : (value / most) * 100) + "%";
        const label = run.label || settings.map((s) => `${s.name.split(".").slice(-2).join(".")} = ${s.values[i]}`).join(", ");
        return make("div", { class: "bar-row", title: run.path }, make("b", {}, run.name), make("span", { class: "room" }, bar),
          make("span", { class: "number" }, format.amount(value, figure.units)), make("small", {}, label));
      }));
      says.textContent = figure.text;
    };
    choice.addEventListener("change", draw);
    place.append(make("h4", {}, "One figure of all runs"), make("p", {}, choice, " ", says), bars);
    draw();
  }
  if (runs.length > 1) drawTogether(place, data);
}

// One statistic of the whole machine, one line per run. Times are not scaled: a faster run ends earlier.
function drawTogether(place, data) {
  const { runs, comparison } = data;
  const ids = [...new Set(runs.flatMap((run) => run.totals.map((total) => total.id)))].sort();
  if (!ids.length) return;
  const preferred = ["sm/instructions", "sm/transactions"].find((id) => ids.includes(id)) || ids[0];
  const choice = make("select", { class: "statistic" }, ...ids.map((id) => make("option", { value: id }, id)));
  choice.value = preferred;
  const holder = make("div", { class: "charts one" });
  const window_ = new TimeWindow(Math.max(...runs.map((run) => run.end_ps), 1));
  const draw = () => {
    emptied(holder);
    const tables = [];
    const series = [];
    let units = "";
    runs.forEach((run, i) => {
      const total = run.totals.find((one) => one.id === choice.value);
      if (!total) return;
      units = total.units;
      tables.push([withBeginning(run.clocks[total.clock]), stepped(rowValues(total.rows[0]))]);
      series.push({
        label: comparison.runs[i].name, stroke: () => lineColour(i), width: 1.5, spanGaps: true, paths: steps,
        dash: [undefined, [6, 3], [2, 2], [8, 3, 2, 3]][Math.floor(i / lineColours.length) % 4],
        points: { show: false }, value: (u, v) => (v === null || v === undefined ? "-" : format.amount(v, units)),
      });
    });
    drawChart(holder, window_, { id: "together", title: choice.value, units, data: uPlot.join(tables), series, height: 290 });
  };
  choice.addEventListener("change", draw);
  place.append(make("h4", {}, "One statistic of all runs over time"), make("p", {}, choice, make("span", { class: "hint" }, " of the whole machine; drag to zoom, double-click for the whole run")), holder);
  draw();
}
