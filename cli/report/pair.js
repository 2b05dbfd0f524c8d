// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: stacks and kernels over time, on common scales.

function drawPair(place, data) {
  const { runs, comparison, pair } = data;
  if (runs.length !== 2) return;
  const totals = make("div", { class: "charts pair" });
  place.append(totals);
  for (const [kind, title, quantity] of [["stages", "Access time by stage", "mean time per access"], ["sms", "SM activity", "time per SM"]]) {
    const parts = (pair[kind] || []).map((one) => ({ what: one.what }));
    drawStackRows(totals, ["a", "b"].map((run, i) => ({ name: comparison.runs[i].name, values: pair[kind].map((one) => one[run]) })), parts,
      { title, quantity, units: "ps", id: "pair_" + kind });
  }
  const window_ = new TimeWindow(Math.max(...runs.map((run) => run.end_ps), 1));
  const names = comparison.runs.map((run) => run.name);
  const beside = (title, draw) => {
    const charts = make("div", { class: "charts pair" });
    place.append(make("h4", {}, title), charts);
    runs.forEach((run, i) => { const slot = make("div", { class: "slot" }); charts.append(slot); draw(slot, run, names[i]); });
  };
  if (runs.every((run) => run.stack && run.stack.rows.length)) {
    const most = Math.max(...runs.flatMap((run) => stackSums(run, run.stack)));
    beside("Outstanding accesses by stage over time", (slot, run, name) => drawStack(slot, run, window_, run.stack, "Run " + name, "pair_stack_" + name, false, most));
  }
  if (runs.every((run) => run.sms && run.sms.rows.length))
    beside("SM activity over time", (slot, run, name) => drawStack(slot, run, window_, { ...run.sms, quantity: "share of SM time" }, "Run " + name, "pair_sms_" + name, false));
  const rows = runs.map((run) => [...(run.kernels ? kernelRows(run.kernels) : []), ...unfinishedRows(run)]);
  if (rows.every((list) => list.length)) {
    place.append(make("h4", {}, "Kernels over time"));
    rows.forEach((list, i) => {
      place.append(make("p", { class: "hint" }, "Run " + names[i]));
      const slot = make("div", {});
      place.append(slot);
      drawTimeline(slot, window_, list, "pair_kernels_" + names[i]);
    });
  }
}
