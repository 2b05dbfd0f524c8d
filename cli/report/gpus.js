// SPDX-License-Identifier: Apache-2.0
// Details of one GPU, and a map of all GPUs to select it.

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
function floatsOf(text) {
  const bytes = bytesOf(text), view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

// Values over time, one row per GPU.
class GpuRows {
  constructor(run, one) {
    this.clock = one.clock;
    this.ends = run.clocks[one.clock];
    this.scale = floatsOf(one.scale);
    const bytes = bytesOf(one.values), view = new DataView(bytes.buffer);
    this.none = one.bytes === 2 ? 65535 : 255;
    this.steps = one.bytes === 2 ? Uint16Array.from({ length: bytes.length / 2 }, (_, i) => view.getUint16(2 * i, true)) : bytes;
  }
  row(gpu) {
    const from = gpu * this.ends.length;
    return Array.from(this.steps.subarray(from, from + this.ends.length), (step) => (step === this.none ? null : step * this.scale[gpu]));
  }
  // Mean of a GPU over the run; null without values.
  mean(gpu) {
    let sum = 0, time = 0, before = 0;
    this.row(gpu).forEach((value, k) => {
      const lasted = this.ends[k] - before;
      before = this.ends[k];
      if (value === null) return;
      sum += value * lasted;
      time += lasted;
    });
    return time ? sum / time : null;
  }
  // Mean over all GPUs for each interval.
  meanRow() {
    const sums = this.ends.map(() => 0), counts = this.ends.map(() => 0);
    for (let gpu = 0; gpu < this.scale.length; ++gpu)
      this.row(gpu).forEach((value, k) => { if (value !== null) { sums[k] += value; ++counts[k]; } });
    return sums.map((sum, k) => (counts[k] ? sum / counts[k] : null));
  }
}

// Map with one cell per GPU, shaded by value. Clicking a cell calls `choose` with the number of the GPU.
function drawGpuMap(place, gpus, figures, choose) {
  const n = gpus.names.length;
  const choice = make("select", { class: "gpu-figure" }, ...figures.map((figure, i) => make("option", { value: i }, figure.title)));
  const canvas = make("canvas", { class: "heat", "data-chart": "gpu_map" });
  const words = make("p", { class: "words" }, "\u00a0");
  const range = make("span", { class: "hint" });
  place.append(make("p", {}, "All GPUs, by ", choice, " ", range), canvas, words);
  const machineOf = (name) => name.slice(0, Math.max(0, name.lastIndexOf(".")));
  const first = gpus.names.findIndex((name) => machineOf(name) !== machineOf(gpus.names[0]));
  const together = first > 0 ? first : 1;
  const width = Math.min(960, place.clientWidth || 960, isOnPaper() ? paperWidth : 960);
  const cell = Math.max(6, Math.min(28, Math.floor(Math.sqrt((width * 200) / n))));
  let columns = Math.max(1, Math.floor(width / cell));
  if (columns > together) columns -= columns % together;
  const rows = Math.ceil(n / columns);
  let chosen = 0, marked = new Set();
  const place_ = (gpu) => [(gpu % columns) * cell, Math.floor(gpu / columns) * cell];
  const valuesOf = (figure) => (figure.means = figure.means || gpus.names.map((_, gpu) => figure.rows.mean(gpu)));
  const draw = () => {
    const figure = figures[Number(choice.value)], values = valuesOf(figure);
    const there = values.filter((value) => value !== null);
    const least = Math.min(...there), most = Math.max(...there);
    // Differences below 2% are treated as rounding, so that equal GPUs look equal.
    const spread = Math.max(most - least, 0.02 * Math.abs(most));
    const pen = penOf(canvas, Math.min(n, columns) * cell, rows * cell);
    const side = cell > 7 ? cell - 1 : cell;
    values.forEach((value, gpu) => {
      const [x, y] = place_(gpu);
      pen.fillStyle = value === null ? ink.empty : shadeOf(spread > 0 ? (value - least) / spread : 0);
      pen.fillRect(x, y, side, side);
    });
    pen.lineWidth = 2;
    for (const gpu of [...marked, chosen]) {
      const [x, y] = place_(gpu);
      pen.strokeStyle = gpu === chosen ? ink.chosen : ink.text;
      pen.strokeRect(x + 1, y + 1, side - 2, side - 2);
    }
    range.textContent = there.length ? `min ${format.amount(least, figure.units)}, max ${format.amount(most, figure.units)}; click to show a GPU` : "";
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / cell), gpu = Math.floor((event.clientY - box.top) / cell) * columns + column;
    return column >= 0 && column < columns && gpu >= 0 && gpu < n ? gpu : -1;
  };
  canvas.addEventListener("mousemove", (event) => {
    const gpu = at(event), figure = figures[Number(choice.value)];
    words.textContent = gpu < 0 ? "\u00a0" : `${gpus.names[gpu]}: ${figure.title} ${format.amount(valuesOf(figure)[gpu], figure.units)}`;
  });
  canvas.addEventListener("click", (event) => { const gpu = at(event); if (gpu >= 0) choose(gpu); });
  choice.addEventListener("change", draw);
  drawAgain(draw);
  canvas.placeOfGpu = (gpu) => place_(gpu).map((corner) => corner + cell / 2);
  return (gpu, group) => { chosen = gpu; marked = new Set(group); draw(); };
}

// Total times of one GPU, as shares of their sum.
function gpuTotals(heading, parts, gpu) {
  const sum = parts.reduce((all, part) => all + part.ps[gpu], 0);
  const body = make("tbody", {});
  for (const part of parts) {
    if (!part.ps[gpu]) continue;
    const length = make("span", { class: "length" });
    length.style.width = (sum ? (part.ps[gpu] / sum) * 100 : 0) + "%";
    body.append(make("tr", {}, make("td", {}, part.what), make("td", { class: "number" }, format.amount(sum ? part.ps[gpu] / sum : 0, "share")),
      make("td", { class: "number" }, format.time(part.ps[gpu])), make("td", { class: "track" }, length)));
  }
  return make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, heading),
    make("th", { class: "number" }, "share"), make("th", { class: "number" }, "time"), make("th", {}))), body));
}

function gpuLinks(links, gpu, name) {
  const body = make("tbody", {});
  for (const [of, other, sends, bytes, packets, busy] of links.rows) {
    if (of !== gpu) continue;
    const ends = sends ? [name, links.nodes[other]] : [links.nodes[other], name];
    body.append(make("tr", {}, make("td", {}, ends[0]), make("td", {}, ends[1]), make("td", { class: "number" }, format.amount(busy, "share")),
      make("td", { class: "number" }, format.amount(bytes, "byte")), make("td", { class: "number" }, format.prefixed(packets, ""))));
  }
  return make("div", { class: "wide" }, make("table", { class: "gpu-links" }, make("thead", {}, make("tr", {}, ...["from", "to"].map((h) => make("th", {}, h)),
    ...["busy", "sent", "packets"].map((h) => make("th", { class: "number" }, h)))), body));
}

function drawGpus(place, run, window_, section) {
  const { gpus } = run;
  const n = gpus.names.length;
  const decoded = (list) => (list || []).map((one) => ({ ...one, rows: new GpuRows(run, one) }));
  const charts = decoded(gpus.charts), stages = decoded(gpus.stages), sms = decoded(gpus.sms);
  const totals = {};
  for (const [what, parts] of Object.entries(gpus.totals || {})) totals[what] = parts.map((part) => ({ ...part, ps: floatsOf(part.ps) }));
  const figures = [
    ...charts.map((one) => ({ title: one.title, units: one.units, rows: one.rows })),
    ...sms.map((one) => ({ title: "SMs " + one.what, units: "share", rows: one.rows })),
    ...stages.map((one) => ({ title: "outstanding accesses in: " + one.what, units: "accesses", rows: one.rows })),
  ];
  if (!figures.length && !Object.keys(totals).length) return;
  const detail = make("div", { class: "one-gpu" });
  let shown = 0;
  const top = make("div", {});
  place.append(top);
  const mark = n > 1 && figures.length ? drawGpuMap(place, gpus, figures, (gpu) => choose(gpu, [])) : () => {};
  const list = make("datalist", { id: "gpus-of-" + section.dataset.run }, ...gpus.names.map((name) => make("option", { value: name })));
  const name = make("input", { class: "gpu-name", list: list.id, size: 12 });
  name.addEventListener("change", () => { const gpu = gpus.names.indexOf(name.value.trim()); if (gpu >= 0) choose(gpu, []); else name.value = gpus.names[shown]; });
  const step = (by, text) => make("button", { type: "button", on: { click: () => choose((shown + by + n) % n, []) } }, text);
  if (n > 1) place.append(make("p", { class: "chooser" }, "GPU ", name, list, " ", step(-1, "previous"), " ", step(1, "next"), make("span", { class: "hint" }, " or click a GPU here or in the picture of the machine; dashed: mean of all GPUs")));
  place.append(detail);

  const partRows = (parts, gpu) => parts.map((one) => ({ name: one.what, scale: 1, values: one.rows.row(gpu) }));
  // SM activity, including the rest of their time.
  const smRows = (gpu) => {
    const rows = partRows(sms, gpu);
    const rest = rows[0].values.map((_, k) => Math.max(0, 1 - rows.reduce((sum, row) => sum + (row.values[k] || 0), 0)));
    return [...rows, { name: gpus.rest.what, scale: 1, values: rest }];
  };
  function choose(gpu, group) {
    shown = gpu;
    emptied(detail);
    mark(gpu, group);
    name.value = gpus.names[gpu];
    section.querySelectorAll("svg.machine g[data-gpus]").forEach((node) => node.classList.toggle("chosen", node.dataset.gpus.split(",").includes(String(gpu))));
    detail.append(make("h4", { class: "gpu-shown" }, gpus.names[gpu]));
    const sides = make("div", { class: "side" });
    if (totals.sms && totals.sms.length) sides.append(gpuTotals("SM activity", totals.sms, gpu));
    if (totals.stages && totals.stages.length) sides.append(gpuTotals("access time by stage", totals.stages, gpu));
    if (gpus.links) sides.append(gpuLinks(gpus.links, gpu, gpus.names[gpu]));
    const grid = make("div", { class: "charts" });
    detail.append(sides, grid);
    if (stages.length) drawStack(grid, run, window_, { units: "accesses", clock: stages[0].clock, rows: partRows(stages, gpu) }, "Outstanding accesses by stage", "one_stack", false);
    if (sms.length) drawStack(grid, run, window_, { units: "share", quantity: "share of SM time", clock: sms[0].clock, rows: smRows(gpu) }, "SM activity", "one_sms", false);
    for (const one of charts) {
      const rows = [{ name: gpus.names[gpu], scale: 1, values: one.rows.row(gpu) }];
      if (n > 1) rows.push({ name: "mean of all", beside: true, scale: 1, values: (one.meanRow = one.meanRow || one.rows.meanRow()) });
      drawLines(grid, run, window_, { id: "one_" + one.id, title: one.title, units: one.units, clock: one.clock, rows });
    }
  }
  section.querySelectorAll("svg.machine g[data-gpus]").forEach((node) => {
    node.classList.add("choosable");
    node.addEventListener("click", () => {
      const group = node.dataset.gpus.split(",").map(Number).filter((gpu) => gpu < n);
      if (!group.length) return;
      choose(group[0], group.length > 1 ? group : []);
      reveal(top);
    });
  });
  choose(0, []);
}
