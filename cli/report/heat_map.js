// SPDX-License-Identifier: Apache-2.0
// Bytes sent between devices: rows send, columns receive.
function drawHeatMap(place, traffic) {
  const names = traffic.devices, n = names.length;
  const canvas = make("canvas", { class: "heat", "data-chart": "traffic" });
  const words = make("p", { class: "words" }, "\u00a0");
  const title = 16;  // height of the title of an axis
  let cell = 0, left = 0, top = 0;
  place.append(canvas, words);
  const most = Math.max(...traffic.bytes.map((one) => one[2]), 1);
  const amount = new Map(traffic.bytes.map(([from, to, bytes]) => [from * n + to, bytes]));
  const draw = () => {
    const font = "11px sans-serif";
    const measure = penOf(canvas, 1, 1);
    measure.font = font;
    const longest = Math.min(120, Math.max(...names.map((name) => measure.measureText(name).width)));
    left = Math.ceil(title + longest + 8);
    top = Math.ceil(title + longest + 8);
    cell = Math.max(3, Math.min(28, Math.floor((Math.min(760, isOnPaper() ? paperWidth : place.clientWidth || 760) - left) / n)));
    const pen = penOf(canvas, left + n * cell, top + n * cell);
    pen.fillStyle = ink.empty;
    pen.fillRect(left, top, n * cell, n * cell);
    const side = cell > 6 ? cell - 1 : cell;
    for (const [from, to, bytes] of traffic.bytes) {
      pen.fillStyle = shadeOf(bytes / most);
      pen.fillRect(left + to * cell, top + from * cell, side, side);
    }
    pen.fillStyle = ink.text;
    pen.font = font;
    pen.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(13 / cell));
    const upright = (text, x, y, align) => {
      pen.save();
      pen.translate(x, y);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = align;
      pen.fillText(text, 0, 0);
      pen.restore();
    };
    for (let i = 0; i < n; i += every) {
      pen.textAlign = "right";
      pen.fillText(fitted(pen, names[i], longest), left - 5, top + (i + 0.5) * cell);
      upright(fitted(pen, names[i], longest), left + (i + 0.5) * cell, top - 5, "left");
    }
    pen.textAlign = "left";
    pen.fillText("receiving device", left, title / 2);
    upright("sending device", title / 2, top + n * cell, "left");
  };
  canvas.placeOf = (from, to) => [left + (to + 0.5) * cell, top + (from + 0.5) * cell];
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const to = Math.floor((event.clientX - box.left - left) / cell), from = Math.floor((event.clientY - box.top - top) / cell);
    const inside = to >= 0 && to < n && from >= 0 && from < n;
    words.textContent = inside ? `${names[from]} to ${names[to]}: ${format.amount(amount.get(from * n + to) || 0, "byte")}` : "\u00a0";
  });
  drawAgain(draw);
  draw();
  place.append(make("p", { class: "hint" }, `Darkest (in a dark page brightest): ${format.amount(most, "byte")}.` + (traffic.per_row > 1 ? ` Each row covers ${traffic.per_row} devices.` : "")));
}
