// SPDX-License-Identifier: Apache-2.0
// Interaction with the picture of the machine: hovering shows details, and a slider colours links by utilization at a time.
function liveMachine(place, section, run, window_, colours) {
  const picture = section.querySelector("svg.machine");
  if (!picture) return;
  const words = make("p", { class: "words" }, "\u00a0");
  picture.after(words);
  picture.addEventListener("mouseover", (event) => {
    const part = event.target.closest("path, g");
    const title = part && part.querySelector("title");
    words.textContent = title ? title.textContent : "\u00a0";
  });
  const colour = (share) => colours[Math.round(Math.max(0, Math.min(1, share)) * (colours.length - 1))];
  place.append(make("span", { class: "scale" }, "idle ", ...colours.map((c) => {
    const box = make("span", { class: "swatch" });
    box.style.background = c;
    return box;
  }), " always busy"));
  const paths = [...picture.querySelectorAll("path[data-use]")].filter((path) => run.link_use && run.link_use[Number(path.dataset.use)]);
  if (!paths.length) return;
  const whole = paths.map((path) => path.getAttribute("stroke"));
  const slider = make("input", { type: "range", min: 0, max: run.clocks[run.link_use[Number(paths[0].dataset.use)].clock].length, value: 0, class: "moment" });
  const said = make("span", { class: "said" }, "whole run");
  slider.addEventListener("input", () => {
    const moment = Number(slider.value) - 1;
    paths.forEach((path, i) => {
      const use = run.link_use[Number(path.dataset.use)];
      path.setAttribute("stroke", moment < 0 ? whole[i] : colour((use.values[moment] || 0) * use.scale));
    });
    if (moment < 0) { said.textContent = "whole run"; return; }
    const ends = run.clocks[run.link_use[Number(paths[0].dataset.use)].clock];
    said.textContent = `from ${format.time(moment ? ends[moment - 1] : 0)} to ${format.time(ends[moment])}`;
  });
  place.append(make("label", {}, " at a time ", slider, " ", said));
}

// Totals of each GPU as stacked bars.
function drawGpuStacks(place, stacks, kind, title) {
  const parts = stacks[kind].map((part) => ({ ...part, colour: partColours.get(part.what) })).filter((part) => part.ps.some((ps) => ps > 0));
  if (!parts.length) return;
  const sums = stacks.gpus.map((_, g) => parts.reduce((sum, part) => sum + part.ps[g], 0));
  const most = Math.max(...sums, 1);
  const words = make("p", { class: "words" }, "\u00a0");
  const svgName = "http://www.w3.org/2000/svg";
  const row = Math.max(9, Math.min(20, 260 / stacks.gpus.length));
  const svg = document.createElementNS(svgName, "svg");
  const set = (element, values) => { for (const [key, value] of Object.entries(values)) element.setAttribute(key, value); return element; };
  set(svg, { class: "stacks", viewBox: `0 0 460 ${row * stacks.gpus.length}`, "data-chart": "gpu_" + kind });
  stacks.gpus.forEach((gpu, g) => {
    const label = set(document.createElementNS(svgName, "text"), { x: 0, y: row * g + row * 0.72, "font-size": Math.min(11, row * 0.9) });
    label.textContent = gpu;
    svg.append(label);
    let x = 60;
    for (const part of parts) {
      const width = (part.ps[g] / most) * 398;
      const box = set(document.createElementNS(svgName, "rect"), { x, y: row * g + 1, width, height: row - 2, fill: part.colour });
      const text = `${gpu}: ${part.what} ${format.amount(sums[g] ? part.ps[g] / sums[g] : 0, "share")}, ${format.time(part.ps[g])}`;
      box.addEventListener("mouseover", () => { words.textContent = text; });
      svg.append(box);
      x += width;
    }
  });
  const legend = make("p", { class: "legend" }, ...parts.flatMap((part) => {
    const swatch = make("span", { class: "swatch" });
    swatch.style.background = part.colour;
    return [make("span", {}, swatch, " " + part.what), "  "];
  }));
  const shown = stacks.gpus.length < stacks.all ? ` (the ${stacks.gpus.length} of ${stacks.all} GPUs with the most accesses)` : "";
  place.append(make("div", { class: "chart" }, make("h4", {}, title + shown), svg, words, legend));
}
