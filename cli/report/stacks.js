// SPDX-License-Identifier: Apache-2.0
// Stacked bars: one row per GPU or per run, on a common scale.

function swatchLegend(parts) {
  return make("p", { class: "legend" }, ...parts.flatMap((part) => {
    const swatch = make("span", { class: "swatch" });
    swatch.style.background = partColour(part.what);
    return [make("span", {}, swatch, " " + part.what), "  "];
  }));
}

// `rows`: {name, values}, one value per part of `parts`: {what}. Hovering over a part shows its value below.
function drawStackRows(place, rows, parts, { title, quantity, units, id }) {
  const used = parts.map((part, p) => ({ ...part, p })).filter(({ p }) => rows.some((row) => row.values[p] > 0));
  if (!used.length) return;
  const sums = rows.map((row) => used.reduce((sum, { p }) => sum + row.values[p], 0));
  const most = Math.max(...sums);
  const words = make("p", { class: "words" }, "\u00a0");
  const picture = make("div", { class: "stack-rows", "data-chart": id });
  rows.forEach((row, r) => {
    const bar = make("div", { class: "stack-row" });
    for (const part of used) {
      const value = row.values[part.p];
      if (!(value > 0)) continue;
      const box = make("span", { class: "stack-part", "data-part": part.what });
      box.style.width = (100 * value) / most + "%";
      box.style.background = partColour(part.what);
      const text = `${row.name}: ${part.what} ${format.amount(value / sums[r], "share")}, ${format.amount(value, units)}`;
      box.addEventListener("mouseover", () => { words.textContent = text; });
      bar.append(box);
    }
    picture.append(make("span", { class: "stack-name" }, row.name), bar);
  });
  const marks = roundMarks(0, most), texts = format.marks(marks, most, units);
  const axis = make("div", { class: "stack-marks" }, ...marks.map((mark, i) => {
    const text = make("span", {}, texts[i]);
    text.style.left = (100 * mark) / most + "%";
    return text;
  }));
  picture.append(make("span", {}), axis, make("span", {}), make("div", { class: "stack-title" }, format.axisTitle(quantity, most, units)));
  place.append(make("div", { class: "chart" }, make("h4", {}, title), picture, words, swatchLegend(used)));
}

// Totals of each GPU.
function drawGpuStacks(place, stacks, kind, title, quantity) {
  const parts = stacks[kind];
  const rows = stacks.gpus.map((name, g) => ({ name, values: parts.map((part) => part.ps[g]) }));
  const shown = stacks.gpus.length < stacks.all ? ` (the ${stacks.gpus.length} of ${stacks.all} GPUs with the most accesses)` : "";
  drawStackRows(place, rows, parts, { title: title + shown, quantity, units: "ps", id: "gpu_" + kind });
}
