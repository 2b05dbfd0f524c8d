// SPDX-License-Identifier: Apache-2.0
// Timeline: one bar per row of a table, in as many lanes as bars overlap.

// Assigns bars to lanes without overlap. Labels do not share lanes.
function lanesOf(rows) {
  const lanes = [];
  const order = rows.map((_, i) => i).sort((a, b) => rows[a].from - rows[b].from || a - b);
  const labels = [...new Set(rows.map((row) => row.label))];
  const of = new Array(rows.length);
  for (const label of labels) {
    const mine = [];
    for (const i of order) {
      if (rows[i].label !== label) continue;
      let lane = mine.find((one) => one.until <= rows[i].from);
      if (!lane) {
        lane = { label: mine.length ? "" : label, until: 0, number: lanes.length };
        mine.push(lane);
        lanes.push(lane);
      }
      lane.until = Math.max(rows[i].to, rows[i].from);
      of[i] = lane.number;
    }
  }
  return { lanes, of };
}

// About five round numbers in a range.
function roundMarks(from, to) {
  const rough = (to - from) / 5, ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * ten).find((one) => one >= rough);
  const marks = [];
  for (let k = Math.ceil(from / step); k * step <= to; ++k) marks.push(k * step);
  return marks;
}

// The text, shortened to a width.
function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let shown = text;
  while (shown && pen.measureText(shown + "...").width > width) shown = shown.slice(0, -1);
  return shown + "...";
}

// `rows`: {label, name, from, to, text}. Hovering over a bar shows the row's text below the timeline.
function drawTimeline(place, window_, rows, id) {
  const { lanes, of } = lanesOf(rows);
  const shownLanes = Math.min(lanes.length, 40);
  const laneHeight = 18, below = 38;
  const names = [...new Set(rows.map((row) => row.name))];
  const canvas = make("canvas", { class: "timeline", "data-chart": id });
  const words = make("p", { class: "words" }, "\u00a0");
  place.append(canvas, words);
  if (shownLanes < lanes.length) place.append(make("p", { class: "hint" }, `${shownLanes} of ${lanes.length} lanes are drawn.`));
  const height = shownLanes * laneHeight + below;
  let width = 0, left = 110;
  const at = (time) => left + ((time - window_.shown[0]) / (window_.shown[1] - window_.shown[0])) * (width - left);
  const timeAt = (x) => window_.shown[0] + ((x - left) / (width - left)) * (window_.shown[1] - window_.shown[0]);

  function draw(selection) {
    width = isOnPaper() ? paperWidth : place.clientWidth || 900;
    const pen = penOf(canvas, width, height);
    pen.font = "11px sans-serif";
    const longest = Math.max(...lanes.map((lane) => pen.measureText(lane.label).width));
    left = Math.ceil(Math.min(longest + 10, 0.3 * width));
    pen.textBaseline = "middle";
    for (let lane = 0; lane < shownLanes; ++lane) {
      pen.fillStyle = lane % 2 ? ink.odd : ink.even;
      pen.fillRect(left, lane * laneHeight, width - left, laneHeight);
      pen.fillStyle = ink.text;
      pen.fillText(fitted(pen, lanes[lane].label, left - 6), 2, (lane + 0.5) * laneHeight);
    }
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, width - left, height);
    pen.clip();
    rows.forEach((row, i) => {
      if (of[i] >= shownLanes || row.to < window_.shown[0] || row.from > window_.shown[1]) return;
      const from = Math.max(left - 2, at(row.from)), to = Math.min(width + 2, at(row.to));
      const wide = Math.max(1, to - from);
      const colour = lineColour(names.indexOf(row.name));
      pen.fillStyle = colour;
      pen.fillRect(from, of[i] * laneHeight + 2, wide, laneHeight - 4);
      if (wide > 3) {
        pen.strokeStyle = ink.edge;
        pen.lineWidth = 0.5;
        pen.strokeRect(from, of[i] * laneHeight + 2, wide, laneHeight - 4);
      }
      const label = row.name;
      if (pen.measureText(label).width < wide - 6) {
        pen.fillStyle = textOn(colour);
        pen.fillText(label, Math.max(from, left) + 3, (of[i] + 0.5) * laneHeight);
      }
    });
    pen.fillStyle = ink.text;
    const marks = roundMarks(...window_.shown);
    format.marks(marks, window_.shown[1], "ps").forEach((mark, k) => {
      pen.textAlign = at(marks[k]) < left + 12 ? "left" : at(marks[k]) > width - 16 ? "right" : "center";
      pen.fillText(mark, at(marks[k]), height - below + 11);
    });
    pen.textAlign = "center";
    canvas.axis = timeTitle(window_.shown[1]);
    pen.fillText(canvas.axis, (left + width) / 2, height - 8);
    if (selection) {
      pen.fillStyle = ink.select;
      pen.fillRect(Math.min(...selection), 0, Math.abs(selection[1] - selection[0]), height - below);
    }
    pen.restore();
  }

  let began = null;
  const xOf = (event) => event.clientX - canvas.getBoundingClientRect().left;
  canvas.addEventListener("mousedown", (event) => { began = xOf(event); });
  canvas.addEventListener("mousemove", (event) => {
    if (began !== null) { draw([began, xOf(event)]); return; }
    const box = canvas.getBoundingClientRect();
    const lane = Math.floor((event.clientY - box.top) / laneHeight), time = timeAt(xOf(event));
    const slack = (window_.shown[1] - window_.shown[0]) / Math.max(1, width - left);
    const found = rows.find((row, i) => of[i] === lane && time >= row.from - slack && time <= row.to + slack);
    words.textContent = found ? found.text : "\u00a0";
  });
  window.addEventListener("mouseup", (event) => {
    if (began === null) return;
    const [a, b] = [timeAt(began), timeAt(xOf(event))];
    const wide = Math.abs(xOf(event) - began) > 4;
    began = null;
    if (wide) window_.show(Math.min(a, b), Math.max(a, b));
    else draw();
  });
  canvas.addEventListener("dblclick", () => window_.reset());
  window_.watch(() => draw());
  new ResizeObserver(() => draw()).observe(place);
  drawAgain(() => draw());
  canvas.rows = rows;
  canvas.leftOf = () => left;
  draw();
}

function kernelRows(kernels) {
  const c = kernels.columns;
  const text = (i) => {
    let line = `${c.name ? c.name[i] : "kernel"}: launched at ${format.time(c.launched[i])}, took ${format.time(c.finished[i] - c.launched[i])}`;
    if (c.transactions) line += `, ${format.prefixed(c.transactions[i], "")} transactions`;
    if (c.longest_stage && c.longest_stage[i]) line += `; largest access stage: ${c.longest_stage[i]} (${format.amount(c.longest_stage_share[i], "share")})`;
    return line;
  };
  const label = (i) => [c.application ? c.application[i] : "", c.machine ? c.machine[i] : "", c.stream ? "stream " + c.stream[i] : ""].filter(Boolean).join(", ") || "kernels";
  return c.row.map((_, i) => ({ label: label(i), name: c.name ? c.name[i] : "kernel", from: c.launched[i], to: c.finished[i], text: text(i) }));
}

// Unfinished operations: bars up to the end of the run.
function unfinishedRows(run) {
  return (run.outstanding || []).map((o) => ({
    label: [o.of, o.stream ? `stream ${o.stream}` : ""].filter(Boolean).join(", ") || "kernels",
    name: o.name,
    from: o.started,
    to: run.end_ps,
    is_kernel: o.what.startsWith("kernel "),
    text: `${o.what}: started at ${format.time(o.started)}, unfinished at the end of the run`,
  }));
}

function batchRows(batches) {
  const c = batches.columns;
  const count = (name, i) => (c[name] ? c[name][i] : 0);
  return c.row.map((_, i) => ({
    label: c.gpu ? c.gpu[i] : "batches",
    name: c.gpu ? c.gpu[i] : "batch",
    from: c.began[i],
    to: c.ended[i],
    text: `batch of ${count("raw_faults", i)} faults (${count("duplicates", i)} duplicates): started at ${format.time(c.began[i])}, ` +
      `took ${format.time(c.ended[i] - c.began[i])}, migrated ${count("pages", i)} faulted and ${count("prefetched_pages", i)} prefetched pages, ` +
      `evicted ${count("evicted_pages", i)}`,
  }));
}
