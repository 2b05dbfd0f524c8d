// SPDX-License-Identifier: Apache-2.0
// Folded sections: a section is drawn when it is first opened, by a click, a link of the index, or for printing.

const waiting = new Map();  // fold -> calls that draw its content

// Calls `draw` now, or when the section of `place` is opened.
function whenOpen(place, draw) {
  const fold = place.closest("details.part");
  if (!fold || fold.open) { draw(); return; }
  if (!waiting.has(fold)) {
    waiting.set(fold, []);
    fold.addEventListener("toggle", () => openFold(fold, fold.open));
  }
  waiting.get(fold).push(draw);
}

function openFold(fold, open = true) {
  if (fold.open !== open) fold.open = open;
  if (!open) return;
  const calls = waiting.get(fold) || [];
  waiting.set(fold, []);
  for (const call of calls) call();
}

// Opens the sections around an element and scrolls to it.
function reveal(element) {
  const run = element.closest("section.run");
  if (run && run.hidden) showRun(Number(run.dataset.run));
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) openFold(fold);
  element.scrollIntoView({ block: "start" });
}

function followIndex() {
  const target = (hash) => (hash.length > 1 ? document.getElementById(hash.slice(1)) : null);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    const element = link && target(link.getAttribute("href"));
    if (element) reveal(element);
  });
  const followHash = () => { const element = target(location.hash); if (element) reveal(element); };
  window.addEventListener("hashchange", followHash);
  followHash();
  const folds = (root) => root.querySelectorAll("details.part");
  for (const place of document.querySelectorAll('[data-draw="folds"]')) {
    const root = place.closest("section.run") || document;
    const button = (text, open) => make("button", { type: "button", on: { click: () => folds(root).forEach((fold) => openFold(fold, open)) } }, text);
    place.append(button("open all", true), " ", button("fold all", false));
  }
}

// On paper all shown sections are open, in the light theme and at the width of paper.
function preparePrinting() {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    readTheme();
    opened = [...document.querySelectorAll("details.part:not([open])")].filter((fold) => !fold.closest("section[hidden]"));
    opened.forEach((fold) => openFold(fold));
    changeTheme();
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    opened.forEach((fold) => openFold(fold, false));
    changeTheme();
  });
}
