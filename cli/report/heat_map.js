// SPDX-License-Identifier: Apache-2.0
// Bytes sent between devices: rows send, columns receive.
function drawHeatMap(place, traffic) {
  const names = traffic.devices, n = names.length;
  const longest = Math.min(18, Math.max(...names.map((name) => name.length)));
  const left = 110, top = 20 + 6 * longest;
  const canvas = make("canvas", { class: "heat", "data-chart": "traffic" });
  const words = make("p", { class: "words" }, "\u00a0");
  place.append(canvas, words);
  const most = Math.max(...traffic.bytes.map((cell) => cell[2]), 1);
  const cell = Math.max(4, Math.min(28, Math.floor(560 / n)));
  const width = left + n * cell, height = top + n * cell;
  const pen = penOf(canvas, width, height);
  pen.fillStyle = ink.empty;
  pen.fillRect(left, top, n * cell, n * cell);
  const amount = new Map();
  for (const [from, to, bytes] of traffic.bytes) {
    amount.set(from * n + to, bytes);
    pen.fillStyle = shadeOf(bytes / most);
    pen.fillRect(left + to * cell, top + from * cell, cell > 6 ? cell - 1 : cell, cell > 6 ? cell - 1 : cell);
  }
  pen.fillStyle = ink.text;
  pen.font = "11px sans-serif";
  pen.textBaseline = "middle";
  const every = Math.max(1, Math.ceil(13 / cell));
  for (let i = 0; i < n; i += every) pen.fillText(names[i].slice(0, 18), 2, top + (i + 0.5) * cell);
  for (let i = 0; i < n; i += every) {
    pen.save();
    pen.translate(left + (i + 0.5) * cell, top - 4);
    pen.rotate(-Math.PI / 2);
    pen.fillText(names[i].slice(0, 18), 0, 0);
    pen.restore();
  }
  pen.fillText("from \u2193  to \u2192", 2, 8);
  canvas.placeOf = (from, to) => [left + (to + 0.5) * cell, top + (from + 0.5) * cell];
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const to = Math.floor((event.clientX - box.left - left) / cell), from = Math.floor((event.clientY - box.top - top) / cell);
    const inside = to >= 0 && to < n && from >= 0 && from < n;
    words.textContent = inside ? `${names[from]} to ${names[to]}: ${format.amount(amount.get(from * n + to) || 0, "byte")}` : "\u00a0";
  });
  place.append(make("p", { class: "hint" }, `Maximum: ${format.amount(most, "byte")}.` + (traffic.per_row > 1 ? ` Each row covers ${traffic.per_row} devices.` : "")));
}
