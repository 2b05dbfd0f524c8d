// SPDX-License-Identifier: Apache-2.0
// Number formatting.
const format = {
  prefixed(value, units) {
    if (value === null || value === undefined || Number.isNaN(value)) return "-";
    let size = Math.abs(value), prefix = 0;
    const prefixes = ["", "k", "M", "G", "T"];
    for (; size >= 999.5 && prefix + 1 < prefixes.length; ++prefix) size /= 1000;
    const digits = size >= 100 ? size.toFixed(0) : String(Number(size.toPrecision(3)));
    const tail = prefixes[prefix] + units;
    return (value < 0 ? "-" : "") + digits + (tail ? " " + tail : "");
  },
  time(ps) {
    let size = Math.abs(ps), unit = 0;
    const units = ["ps", "ns", "us", "ms", "s"];
    for (; size >= 999.5 && unit + 1 < units.length; ++unit) size /= 1000;
    const digits = size >= 100 ? size.toFixed(0) : String(Number(size.toPrecision(3)));
    return digits + " " + units[unit];
  },
  // Axis marks, with enough digits to distinguish neighbours.
  times(list) {
    const most = Math.max(...list.map(Math.abs), 1);
    let divisor = 1, unit = 0;
    const units = ["ps", "ns", "us", "ms", "s"];
    for (; most / divisor >= 999.5 && unit + 1 < units.length; ++unit) divisor *= 1000;
    return list.map((ps) => Number((ps / divisor).toPrecision(6)) + " " + units[unit]);
  },
  // Axis marks of other amounts.
  amounts(list, units) {
    if (units !== "share" || list.length < 2) return list.map((value) => format.amount(value, units));
    const step = 100 * Math.abs(list[1] - list[0]);
    let digits = 0;
    while (digits < 8 && Math.abs(Number(step.toFixed(digits)) - step) > step / 1000) ++digits;
    return list.map((value) => (100 * value).toFixed(digits) + "%");
  },
  amount(value, units) {
    if (value === null || value === undefined || Number.isNaN(value)) return "-";
    if (units === "share") return (100 * value).toFixed(value > 0 && value < 0.01 ? 2 : 1) + "%";
    if (units === "ps") return format.time(value);
    if (units === "byte/s") return format.prefixed(value, "B/s");
    if (units === "byte") return format.prefixed(value, "B");
    if (units === "1" || units === "on average" || units === "accesses") return format.prefixed(value, "");
    if (units === "/s") return format.prefixed(value, "/s").replace(" /s", "/s");
    return format.prefixed(value, units);
  },
};

// Creates an element with attributes and children. Text is inserted as text, never as markup.
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "on") for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// Resizes a canvas and returns its drawing context.
function penOf(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return pen;
}

// Canvas colours, which style sheets cannot set. The page is dark if the browser prefers it.
const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = wantsDark.matches;
wantsDark.addEventListener("change", () => window.location.reload());
const ink = isDark
  ? { text: "#c4cbd6", grid: "#2c333d", even: "#181d24", odd: "#1d232b", empty: "#232a33", edge: "#12161c", beside: "#8b95a5", chosen: "#5ab0ff", select: "rgba(255, 255, 255, 0.15)" }
  : { text: "#444", grid: "#e3e6ea", even: "#fafbfc", odd: "#f4f5f7", empty: "#f4f5f7", edge: "#fff", beside: "#7d8593", chosen: "#1668c4", select: "rgba(0, 0, 0, 0.12)" };
// Shades from low to high. The lowest shade differs from the colour of empty cells.
const shadeEnds = palette.shades[isDark ? "dark" : "light"];
const shadeOf = (share) => `rgb(${shadeEnds[0].map((from, i) => Math.round(from + (shadeEnds[1][i] - from) * (0.08 + 0.92 * share))).join(", ")})`;

// Colours of lines, and of parts of a whole by their display names, distinguishable with red-green colour blindness.
const lineColours = palette.lines.map((colour) => (isDark && palette.on_dark[colour]) || colour);
const partColours = new Map([...palette.stages, palette.outstanding, ...palette.activities, palette.swapped_out]
  .map((part) => [part.name, part.colour]));
const colourOf = (list, i) => list[i % list.length];
