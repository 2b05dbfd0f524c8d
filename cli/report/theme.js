// SPDX-License-Identifier: Apache-2.0
// Colours of drawings, from the variables of palette.css, and colours of series from palette.json of the Python package.
const ink = {};
const lineColours = [];
const lineColour = (i) => lineColours[i % lineColours.length];
// Parts of a whole, by their display names.
const partColours = new Map([...palette.stages, palette.outstanding, ...palette.activities, palette.swapped_out].map((part) => [part.name, part.colour]));
const partColour = (name) => partColours.get(name);

// Red, green and blue from 0 to 255 of "#abc" or "#aabbcc".
const rgbOf = (colour) => {
  const digits = colour.length === 4 ? [...colour.slice(1)].map((d) => d + d) : [1, 3, 5].map((i) => colour.slice(i, i + 2));
  return digits.map((two) => parseInt(two, 16));
};

// Relative luminance, from 0 to 1, as WCAG defines it.
function luminanceOf(colour) {
  const [r, g, b] = rgbOf(colour).map((v) => (v <= 10 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
// Black or white, whichever has the higher contrast on `colour`: at least 4.58.
const textOn = (colour) => (luminanceOf(colour) > 0.179 ? "#000" : "#fff");

// Shades from low to high. The lowest shade differs from the colour of empty cells.
function shadeOf(share) {
  const low = rgbOf(ink.low), high = rgbOf(ink.high);
  return `rgb(${low.map((from, i) => Math.round(from + (high[i] - from) * (0.04 + 0.96 * share))).join(", ")})`;
}

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue("--" + name).trim();
  for (const name of ["text", "grid", "even", "odd", "empty", "edge", "beside", "chosen", "select", "band-0", "band-1", "shade-0", "shade-1", "low", "high"])
    ink[name] = colour("ink-" + name);
  lineColours.length = 0;
  while (colour("line-" + lineColours.length)) lineColours.push(colour("line-" + lineColours.length));
}

// Calls that draw again after the theme has changed. Each returns false once its drawing has been removed.
let redraws = [];
const drawAgain = (call) => redraws.push(call);
function changeTheme() {
  readTheme();
  redraws = redraws.filter((call) => call() !== false);
}

readTheme();
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changeTheme);
