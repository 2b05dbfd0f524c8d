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
  // The unit of an axis up to `most`, and the size of one in the file's units: {text: "GB/s", size: 1e9}.
  axisUnit(most, units) {
    if (units === "share") return { text: "%", size: 0.01 };
    const steps = units === "ps" ? ["ps", "ns", "us", "ms", "s"] : ["", "k", "M", "G", "T"];
    let size = 1, step = 0;
    for (; most / size >= 999.5 && step + 1 < steps.length; ++step) size *= 1000;
    const named = { "byte/s": "B/s", byte: "B", bytes: "B", ps: "", "/s": "/s", accesses: "", "1": "", "on average": "" }[units];
    return { text: steps[step] + (named === undefined ? units : named) || "count", size };
  },
  // "DRAM bytes (GB/s)"
  axisTitle(quantity, most, units) { return `${quantity} (${format.axisUnit(most, units).text})`; },
  // Marks of an axis up to `most`, without the unit, which the title of the axis has.
  marks(list, most, units) {
    const { size } = format.axisUnit(most, units);
    return list.map((value) => String(Number((value / size).toPrecision(6))));
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
