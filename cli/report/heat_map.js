// How much each device sent to each other one: rows send, columns receive.
function drawHeatMap(place, traffic) {
  const names = traffic.devices, n = names.length;
  const left = 110, top = 16;
  const canvas = make("canvas", { class: "heat", "data-chart": "traffic" });
  const words = make("p", { class: "words" }, "\u00a0");
  place.append(canvas, words);
  const most = Math.max(...traffic.bytes.map((cell) => cell[2]), 1);
  const cell = Math.max(4, Math.min(28, Math.floor(560 / n)));
  const width = left + n * cell, height = top + n * cell;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = "#f4f5f7";
  pen.fillRect(left, top, n * cell, n * cell);
  const shade = (bytes) => {
    const share = bytes / most;
    // From light to dark: little differs from nothing.
    const mix = (from, to) => Math.round(from + (to - from) * (0.08 + 0.92 * share));
    return `rgb(${mix(255, 120)}, ${mix(245, 10)}, ${mix(225, 40)})`;
  };
  const amount = new Map();
  for (const [from, to, bytes] of traffic.bytes) {
    amount.set(from * n + to, bytes);
    pen.fillStyle = shade(bytes);
    pen.fillRect(left + to * cell, top + from * cell, cell > 6 ? cell - 1 : cell, cell > 6 ? cell - 1 : cell);
  }
  pen.fillStyle = "#444";
  pen.font = "11px sans-serif";
  pen.textBaseline = "middle";
  const every = Math.max(1, Math.ceil(13 / cell));
  for (let i = 0; i < n; i += every) pen.fillText(names[i].slice(0, 18), 2, top + (i + 0.5) * cell);
  pen.fillText("sends \u2193  receives \u2192", left, top / 2);
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const to = Math.floor((event.clientX - box.left - left) / cell), from = Math.floor((event.clientY - box.top - top) / cell);
    const inside = to >= 0 && to < n && from >= 0 && from < n;
    words.textContent = inside ? `${names[from]} to ${names[to]}: ${format.amount(amount.get(from * n + to) || 0, "byte")}` : "\u00a0";
  });
  place.append(make("p", { class: "hint" }, `The darkest is ${format.amount(most, "byte")}.` + (traffic.per_row > 1 ? ` Each row is ${traffic.per_row} devices.` : "")));
}
