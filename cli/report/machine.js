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
