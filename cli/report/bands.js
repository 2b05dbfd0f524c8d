// SPDX-License-Identifier: Apache-2.0
// The kernels of a run as bands of a chart over time: shaded from launch to end, with their names above the chart.

const bandStrip = 14;  // height of the names

// Bands in order of time, without overlap: a kernel that overlaps an earlier one begins at the end of that one.
function bandsOf(run) {
  if (run.bands) return run.bands;
  const rows = [...(run.kernels ? kernelRows(run.kernels) : []), ...unfinishedRows(run).filter((row) => row.is_kernel)];
  rows.sort((a, b) => a.from - b.from || b.to - a.to);
  const bands = [];
  let end = 0;
  for (const { name, from, to } of rows) {
    if (to <= end || to <= from) continue;
    bands.push({ name, from: Math.max(from, end), to });
    end = to;
  }
  run.bands = bands;
  return bands;
}

// The band at a time; undefined between kernels.
const bandAt = (bands, time) => bands.find((band) => band.from <= time && time <= band.to);

// Calls `draw(left, width, band, number)` for each band in the shown window, in pixels of the canvas.
function eachBand(u, bands, draw) {
  const { left, width } = u.bbox, right = left + width;
  bands.forEach((band, i) => {
    const from = Math.max(left, u.valToPos(band.from, "x", true)), to = Math.min(right, u.valToPos(band.to, "x", true));
    if (to > left && from < right && to > from) draw(from, Math.max(1, to - from), band, i);
  });
}

function bandHooks(bands) {
  const behind = (u) => eachBand(u, bands, (left, width, band, i) => {
    u.ctx.fillStyle = ink["shade-" + (i % 2)];
    u.ctx.fillRect(left, u.bbox.top, width, u.bbox.height);
  });
  const above = (u) => {
    const pen = u.ctx, ratio = uPlot.pxRatio;
    pen.save();
    pen.font = `${10 * ratio}px sans-serif`;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    const top = u.bbox.top - (bandStrip + 1) * ratio;
    eachBand(u, bands, (left, width, band, i) => {
      pen.fillStyle = ink["band-" + (i % 2)];
      pen.fillRect(left, top, width, bandStrip * ratio);
      if (pen.measureText(band.name).width > width - 6 * ratio) return;
      pen.fillStyle = ink.text;
      pen.fillText(band.name, left + 3 * ratio, top + bandStrip * ratio / 2);
    });
    pen.restore();
  };
  return { drawClear: [behind], draw: [above] };
}

// A sentence about the bands of a run's charts.
function bandsText(run) {
  if (!bandsOf(run).length) return "";
  const { rows, shown } = run.kernels || { rows: 0, shown: 0 };
  return "Bands: kernels from launch to end" + (shown < rows ? `, the longest ${shown} of ${rows}.` : ".");
}
