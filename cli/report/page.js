// SPDX-License-Identifier: Apache-2.0
// Fills the page: a run when it is first shown, and its sections when they are first opened.
const pageData = JSON.parse(document.getElementById("data").textContent);
const runSections = [...document.querySelectorAll("section.run")];

// The shown time window, while it is not the whole run.
function zoomBar(place, window_) {
  const said = make("span", { class: "window" });
  const button = make("button", { type: "button", class: "whole", on: { click: () => window_.reset() } }, "whole run");
  const bar = make("p", { class: "zoom" }, "Shown: ", said, " ", button);
  place.append(bar);
  const say = () => {
    said.textContent = `from ${format.time(window_.shown[0])} to ${format.time(window_.shown[1])}`;
    bar.hidden = window_.isWhole();
  };
  window_.watch(say);
  say();
}

function drawStacksOf(place, run, window_) {
  const charts = make("div", { class: "charts" });
  const holder = make("div", { class: "slot" }), other = make("div", { class: "slot" });
  charts.append(holder, other);
  const shares = make("input", { type: "checkbox", class: "shares" });
  place.append(make("p", { class: "hint" }, make("span", { class: "control" }, "Drag in a chart to zoom all charts; double-click for the whole run. "), bandsText(run)),
    make("label", { class: "control" }, shares, " as shares of the outstanding accesses"), charts);
  const draw = () => {
    emptied(holder);
    drawStack(holder, run, window_, run.stack, "Outstanding accesses by stage", "stack", shares.checked);
  };
  shares.addEventListener("change", draw);
  draw();
  if (run.sms) drawStack(other, run, window_, { ...run.sms, quantity: "share of SM time" }, "SM activity", "sms", false);
}

function drawSeriesOf(place, run, window_) {
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

function fillRun(section) {
  if (section.filled) return;
  section.filled = true;
  const run = pageData.runs[Number(section.dataset.run)];
  if (!run) return;
  const window_ = new TimeWindow(Math.max(run.end_ps, 1));
  section.window_ = window_;
  const draw = (what, call) => {
    const place = section.querySelector(`[data-draw="${what}"]`);
    if (place) whenOpen(place, () => call(place));
  };
  draw("zoom", (place) => zoomBar(place, window_));
  draw("stacks", (place) => drawStacksOf(place, run, window_));
  draw("series", (place) => drawSeriesOf(place, run, window_));
  draw("kernels", (place) => {
    const rows = [...(run.kernels ? kernelRows(run.kernels) : []), ...unfinishedRows(run)];
    if (rows.length) drawTimeline(place, window_, rows, "kernels");
  });
  draw("machine", (place) => liveMachine(place, section, run, window_, pageData.colours));
  draw("gpu_stacks", (place) => {
    if (!run.gpu_stacks) return;
    const totals = make("div", { class: "charts" });
    place.append(totals);
    drawGpuStacks(totals, run.gpu_stacks, "stages", "Access time by stage", "access time");
    drawGpuStacks(totals, run.gpu_stacks, "sms", "SM time by activity", "SM time");
  });
  draw("gpus", (place) => { if (run.gpus) drawGpus(place, run, window_, section); });
  draw("batches", (place) => { if (run.batches) drawTimeline(place, window_, batchRows(run.batches), "batches"); });
  draw("traffic", (place) => { if (run.traffic) drawHeatMap(place, run.traffic); });
}

function showRun(number) {
  runSections.forEach((section, i) => { section.hidden = i !== number; });
  document.querySelectorAll("nav.tabs button").forEach((button, i) => button.classList.toggle("chosen", i === number));
  fillRun(runSections[number]);
}

(function () {
  for (const [what, draw] of [["comparison", drawComparison], ["pair", drawPair]]) {
    const place = document.querySelector(`[data-draw="${what}"]`);
    if (place) whenOpen(place, () => draw(place, pageData));
  }
  const tabs = document.querySelector("nav.tabs");
  if (tabs && runSections.length > 1)
    tabs.append("Run ", ...runSections.map((section, i) => make("button", { type: "button", on: { click: () => showRun(i) } }, pageData.comparison.runs[i].name)));
  if (runSections.length) showRun(0);
  preparePrinting();
  followIndex();
  document.documentElement.dataset.ready = "yes";
})();
