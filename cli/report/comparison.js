// SPDX-License-Identifier: Apache-2.0
// Comparison of several runs: one figure as bars, and one statistic over time.
function drawComparison(place, data) {
  const { comparison, runs } = data;
  if (comparison.figures.length) {
    const choice = make("select", { class: "figure" }, ...comparison.figures.map((f, i) => make("option", { value: i }, f.metric)));
    const bars = make("div", { class: "bars" });
    const draw = () => {
      const figure = comparison.figures[Number(choice.value)];
      const most = Math.max(...figure.values.map((v) => v || 0), 1);
      bars.replaceChildren(...comparison.runs.map((run, i) => {
        const value = figure.values[i];
        const bar = make("span", { class: "length" });
        bar.style.width = (value === null ? 0 : (value / most) * 60) + "%";
        const choices = comparison.settings.filter((s) => s.in_all);
        const settings = (choices.length ? choices : comparison.settings).map((s) => `${s.name.split(".").slice(-2).join(".")} = ${s.values[i]}`).join(", ");
        const label = run.label || settings;
        const cell = make("div", { class: "bar-row", title: `${run.path} ${label}` }, make("b", {}, run.name + " "), bar,
          " " + format.amount(value, figure.units) + " ", make("small", {}, label));
        return cell;
      }));
      says.textContent = figure.text;
    };
    const says = make("span", { class: "hint" });
    choice.addEventListener("change", draw);
    place.append(make("h3", {}, "One figure of all runs"), make("p", {}, choice, " ", says), bars);
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
        label: comparison.runs[i].name, stroke: colourOf(lineColours, i), width: 1.3, spanGaps: true, paths: steps,
        points: { show: false }, value: (u, v) => (v === null || v === undefined ? "-" : format.amount(v, units)),
      });
    });
    drawChart(holder, window_, { id: "together", title: choice.value, units, data: uPlot.join(tables), series, height: 280 });
  };
  choice.addEventListener("change", draw);
  place.append(make("h3", {}, "One statistic of all runs over time"), make("p", {}, choice, make("span", { class: "hint" }, " of the whole machine; drag to zoom, double-click for the whole run")), holder);
  draw();
}
