// SPDX-License-Identifier: Apache-2.0
// Fills the page. Each run is drawn when it is first shown.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const sections = [...document.querySelectorAll("section.run")];
  const placeOf = (section, what) => section.querySelector(`[data-draw="${what}"]`);

  function zoomBar(place, window_) {
    const said = make("span", { class: "window" });
    const say = () => { said.textContent = `from ${format.time(window_.shown[0])} to ${format.time(window_.shown[1])}`; };
    const button = make("button", { type: "button", class: "whole", on: { click: () => window_.reset() } }, "whole run");
    place.append(make("h3", {}, "Over time"), make("p", {}, "Shown: ", said, " ", button,
      make("span", { class: "hint" }, " Drag in a chart to zoom all charts; double-click for the whole run.")));
    window_.watch(say);
    say();
  }

  function stacks(place, run, window_) {
    const shares = make("input", { type: "checkbox", class: "shares" });
    const charts = make("div", { class: "charts" });
    place.append(make("h4", {}, "Outstanding accesses and SM activity"), make("label", {}, shares, " as shares of the outstanding accesses"), charts);
    const holder = make("div", { class: "slot" }), other = make("div", { class: "slot" });
    charts.append(holder, other);
    const draw = () => {
      emptied(holder);
      drawStack(holder, run, window_, run.stack, "outstanding accesses by stage", "stack", shares.checked);
    };
    shares.addEventListener("change", draw);
    draw();
    if (run.sms) drawStack(other, run, window_, run.sms, "SM activity, share of time", "sms", false);
    if (run.gpu_stacks) {
      const totals = make("div", { class: "charts" });
      place.append(totals);
      drawGpuStacks(totals, run.gpu_stacks, "stages", "Access time by GPU");
      drawGpuStacks(totals, run.gpu_stacks, "sms", "SM time by GPU");
    }
  }

  function series(place, run, window_) {
    const charts = make("div", { class: "charts" });
    place.append(charts);
    for (const one of run.series) drawLines(charts, run, window_, one);
    if (!run.totals.length) return;
    const choice = make("select", { class: "statistic" }, ...run.totals.map((total, i) => make("option", { value: i }, total.id)));
    const any = make("div", { class: "charts one" });
    const says = make("span", { class: "hint" });
    const draw = () => {
      emptied(any);
      const total = run.totals[Number(choice.value)];
      says.textContent = " " + total.title;
      drawLines(any, run, window_, { ...total, title: total.id, id: "any" });
    };
    choice.addEventListener("change", draw);
    place.append(make("h4", {}, "Statistics of the whole machine"), make("p", {}, choice, says), any);
    draw();
  }

  function fill(section) {
    if (section.filled) return;
    section.filled = true;
    const run = data.runs[Number(section.dataset.run)];
    if (!run) return;
    const window_ = new TimeWindow(Math.max(run.end_ps, 1));
    section.window_ = window_;
    const draw = (what, call) => { const place = placeOf(section, what); if (place) call(place); };
    draw("machine", (place) => liveMachine(place, section, run, window_, data.colours));
    draw("zoom", (place) => zoomBar(place, window_));
    draw("stacks", (place) => stacks(place, run, window_));
    draw("series", (place) => series(place, run, window_));
    draw("gpus", (place) => { if (run.gpus) drawGpus(place, run, window_, section); });
    draw("kernels", (place) => {
      const rows = [...(run.kernels ? kernelRows(run.kernels) : []), ...underWayRows(run)];
      if (rows.length) drawTimeline(place, window_, rows, "kernels");
    });
    draw("batches", (place) => { if (run.batches) drawTimeline(place, window_, batchRows(run.batches), "batches"); });
    draw("traffic", (place) => { if (run.traffic) drawHeatMap(place, run.traffic); });
  }

  function show(number) {
    sections.forEach((section, i) => { section.hidden = i !== number; });
    document.querySelectorAll("nav button").forEach((button, i) => button.classList.toggle("chosen", i === number));
    fill(sections[number]);
  }

  const comparison = document.querySelector('[data-draw="comparison"]');
  if (comparison) drawComparison(comparison, data);
  const tabs = document.querySelector("nav");
  if (sections.length > 1)
    tabs.append("Run ", ...sections.map((section, i) => make("button", { type: "button", on: { click: () => show(i) } }, data.comparison.runs[i].name)));
  if (sections.length) show(0);
  document.documentElement.dataset.ready = "yes";
})();
