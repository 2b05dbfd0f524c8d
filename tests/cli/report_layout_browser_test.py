# SPDX-License-Identifier: Apache-2.0
"""The layout of reports in a headless Chromium: header, index, folded sections, bands, axes, colours, widths, paper.

Each function that looks for faults must also find planted ones.

Usage: python3 report_layout_browser_test.py BUILD_FOLDER/test_cli
"""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import browser
from checks import check, counts
from report_pages import farfault, folder, made, near, open_folds, open_page, report

import h5py
import numpy

WIDE, NARROW = 1280, 500
SCREEN = 900  # height
LEAST_CONTRAST = 4.5
# CIELAB, of any two colours of lines, and of parts of a whole, which are shown next to their names in the same order.
LEAST_DISTANCE, LEAST_OF_PARTS = 15, 12

# Elements beyond the right edge of the window outside a scroll box, texts outside their picture, charts wider than their place.
CUT = """(() => {
  const name = (e) => `${e.tagName}.${e.getAttribute("class") || ""} '${(e.textContent || "").trim().slice(0, 30)}'`;
  const faults = [];
  if (document.documentElement.scrollWidth > innerWidth) faults.push("the page is wider than the window");
  const scrolls = (e) => { for (let p = e.parentElement; p; p = p.parentElement) if (/auto|scroll/.test(getComputedStyle(p).overflowX)) return true; return false; };
  for (const e of document.body.querySelectorAll("*")) {
    const box = e.getBoundingClientRect();
    if (!box.width || !box.height || e.closest("script, style")) continue;
    if (box.right > innerWidth + 0.5 && !scrolls(e)) faults.push(name(e) + " ends at " + box.right);
    if (box.left < -0.5 && !scrolls(e)) faults.push(name(e) + " begins at " + box.left);
    if (e.matches("svg text")) {
      const whole = e.closest("svg").getBoundingClientRect();
      if (box.right > whole.right + 1 || box.left < whole.left - 1 || box.bottom > whole.bottom + 1 || box.top < whole.top - 1) faults.push(name(e) + " leaves its picture");
    }
    if (e.matches(".chart") && e.scrollWidth > e.clientWidth + 1) faults.push(name(e) + " is wider than its place");
  }
  return faults.slice(0, 5);
})()"""

# Contrast of every shown text with its background: [ratio, text].
CONTRASTS = """(() => {
  const parse = (text) => { const c = (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number); return c.length > 3 ? c : [...c.slice(0, 3), 1]; };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const linear = (v) => (v <= 10 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const canvas = document.createElement("canvas").getContext("2d");
  const known = (name) => { canvas.fillStyle = name; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const page = parse(getComputedStyle(document.body).backgroundColor);
  const behind = (e) => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) { const c = parse(getComputedStyle(p).backgroundColor); if (c[3] > 0) layers.push(c); if (c[3] === 1) break; }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility || !e.checkVisibility({ contentVisibilityAuto: true, checkOpacity: true, checkVisibilityCSS: true })) continue;
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || e.closest("script, style, title, option, datalist")) continue;
    const style = getComputedStyle(e);
    let text = parse(style.color), ground = behind(e);
    if (e.matches("svg text")) {
      text = parse(style.fill);
      const box = e.parentElement.querySelector(":scope > rect");
      if (style.stroke !== "none" && style.paintOrder.startsWith("stroke")) ground = parse(style.stroke);
      else if (box && e.closest("svg.machine")) ground = parse(getComputedStyle(box).fill);
    }
    found.push([ratio(over(text, ground), ground), `${e.tagName} '${e.textContent.trim().slice(0, 30)}'`]);
  }
  for (const colour of [...lineColours, ink["band-0"], ink["band-1"]]) found.push([ratio(known(textOn(colour)), known(colour)), "canvas text on " + colour]);
  for (const ground of ["even", "odd", "band-0", "band-1"]) found.push([ratio(known(ink.text), known(ink[ground])), "canvas text on " + ground]);
  found.push([ratio(known(ink.text), page), "canvas text on the page"]);
  return found.sort((a, b) => a[0] - b[0]);
})()"""

# Machado, Oliveira and Fernandes (2009), severity 1.0, for linear RGB.
DEUTERANOPIA = numpy.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])


def lab(colour, matrix=numpy.eye(3)):
    """CIELAB of "#rrggbb" as a viewer with `matrix` sees it."""
    rgb = numpy.array([int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = numpy.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = numpy.clip(matrix @ linear, 0, 1)
    xyz = numpy.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]) @ linear
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz / numpy.array([0.95047, 1, 1.08883])]
    return numpy.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def closest(colours, matrix):
    """The smallest distance of two colours of a list, and these."""
    seen = [lab(colour, matrix) for colour in colours]
    return min((float(numpy.linalg.norm(seen[i] - seen[j])), colours[i], colours[j]) for i in range(len(seen)) for j in range(i))


def in_theme(b, dark, media=""):
    b.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    b.frame()


def of_width(b, width, height=SCREEN):
    b.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    b.frame()


def nothing_is_cut_at_1280_and_at_500_pixels(b, pages):
    for page in pages:
        for width in (WIDE, NARROW):
            of_width(b, width)
            open_page(b, page)
            faults = b.evaluate(CUT)
            check(not faults, f"{os.path.basename(page)} at {width} pixels: {faults}")
            charts = b.evaluate("[...document.querySelectorAll('.chart')].filter(c => c.chart).length")
            check(charts > 3, f"{os.path.basename(page)}: only {charts} charts")
    b.evaluate("document.querySelector('h1').append(Object.assign(document.createElement('div'), {className: 'planted'}))")
    b.evaluate("Object.assign(document.querySelector('.planted').style, {width: '900px', height: '3px'})")
    check(b.evaluate(CUT) != [], "a planted element that is too wide is found")
    of_width(b, WIDE)


def the_first_screen_has_the_verdict_and_the_other_sections_are_folded(b, page):
    of_width(b, WIDE)
    open_page(b, page, folds=False)
    bottom = b.evaluate("[...document.querySelectorAll('.verdict, .run > .side, .run > .wide')].map(e => e.getBoundingClientRect().bottom)")
    check(len(bottom) == 3 and max(bottom) <= SCREEN, f"verdict, SM activity and resources are in the first screen: {bottom}")
    height = b.evaluate("document.documentElement.scrollHeight")
    check(height < 1300, f"the page of a run has {height} pixels")
    check(b.evaluate("[...document.querySelectorAll('details.part')].every(fold => !fold.open)"), "sections are folded at first")
    check(b.evaluate("document.querySelectorAll('.uplot').length") == 0, "nothing is drawn before a section is opened")
    for hint in b.evaluate("[...document.querySelectorAll('details.part > summary .hint')].map(e => e.textContent)"):
        check(len(hint) > 5, "a folded section has a summary of its content")


def the_index_opens_a_section_and_scrolls_to_it(b, page):
    of_width(b, WIDE)
    open_page(b, page, folds=False)
    ids = b.evaluate("[...document.querySelectorAll('.index a')].map(a => a.getAttribute('href').slice(1))")
    check(len(ids) >= 6 and len(set(ids)) == len(ids), f"the index has every section: {ids}")
    parts = b.evaluate("[...document.querySelectorAll('details.part')].map(fold => fold.id)")
    check(set(parts) <= set(ids), f"{set(parts) - set(ids)} are not in the index")
    for name in ids:
        b.evaluate("window.scrollTo(0, 0)")
        b.evaluate("document.querySelectorAll('details.part').forEach(fold => openFold(fold, false))")
        left, top, width, height = b.evaluate(f"placeOf(document.querySelector('.index a[href=\"#{name}\"]'))")
        b.click(left + width / 2, top + height / 2)
        b.frame()
        opened, top = b.evaluate(f"(e => [e.tagName !== 'DETAILS' || e.open, e.getBoundingClientRect().top])(document.getElementById('{name}'))")
        check(opened, f"{name} is open after a click on its link")
        check(-1 <= top < SCREEN, f"{name} is in the window after a click on its link, not at {top}")
    b.evaluate("[...document.querySelectorAll('.index button')].find(e => e.textContent === 'open all').click()")
    check(b.evaluate("[...document.querySelectorAll('details.part')].every(fold => fold.open)"), "a button opens all sections")
    b.evaluate("[...document.querySelectorAll('.index button')].find(e => e.textContent === 'fold all').click()")
    check(b.evaluate("[...document.querySelectorAll('details.part')].every(fold => !fold.open)"), "a button folds all sections")
    section = ids[1]
    b.call("Page.navigate", url="about:blank")  # otherwise only the fragment changes, and nothing is loaded
    b.open(page + "#" + section)
    b.frame()
    check(b.evaluate(f"document.getElementById('{section}').open"), "the address of a section opens it")


def on_paper_all_sections_are_open_and_fit(b, page):
    of_width(b, WIDE)
    in_theme(b, dark=True)
    open_page(b, page, folds=False)
    b.evaluate("""window.addEventListener('beforeprint', () => {
      window.onPaper = {
        open: [...document.querySelectorAll('section:not([hidden]) details.part')].every(fold => fold.open),
        widths: [...document.querySelectorAll('.chart')].filter(c => c.chart).map(c => c.chart.width),
        text: getComputedStyle(document.body).color, ink: ink.text,
      };
    }), true""")
    pdf = b.call("Page.printToPDF", preferCSSPageSize=True)["data"]
    seen = b.evaluate("window.onPaper")
    check(seen["open"] and len(seen["widths"]) > 10, f"sections are open and drawn on paper: {seen}")
    check(max(seen["widths"]) <= 690, f"charts fit the width of paper: {max(seen['widths'])}")
    check(seen["ink"] == "#444", f"paper has the light colours: {seen['ink']}")
    check(len(pdf) > 50_000, "the PDF has content")
    b.frame()
    check(b.evaluate("[...document.querySelectorAll('details.part')].every(fold => !fold.open)"), "sections are folded again after printing")
    check(b.evaluate("ink.text") != "#444", "the page is dark again after printing")
    # The rules for paper, at its width.
    in_theme(b, dark=True, media="print")
    of_width(b, 703)
    b.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    b.frame()
    b.frame()  # sizes follow the width of the paper
    hidden = b.evaluate("[...document.querySelectorAll('nav, button, select, input, .words')].filter(e => e.checkVisibility()).length")
    check(hidden == 0, f"{hidden} controls are printed")
    check(b.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "paper is white")
    faults = b.evaluate(CUT)
    check(not faults, f"on paper: {faults}")
    b.evaluate("window.dispatchEvent(new Event('afterprint'))")
    of_width(b, WIDE)
    in_theme(b, dark=False)


def every_chart_over_time_has_the_kernels_as_bands(b, page, result):
    open_page(b, page)
    with h5py.File(result) as f:
        kernels = list(zip(f["tables/kernels/name"].asstr()[:].tolist(), f["tables/kernels/launched"][:].tolist(), f["tables/kernels/finished"][:].tolist()))
    check(all(a[2] <= c[1] for a, c in zip(kernels, kernels[1:])), "the kernels of this run do not overlap")
    bands = b.evaluate("[...document.querySelectorAll('section.run .chart')].filter(c => c.chart).map(c => [c.dataset.chart, c.bands.map(k => [k.name, k.from, k.to])])")
    check(len(bands) > 20, f"only {len(bands)} charts")
    for chart, shown in bands:
        check(shown == [list(kernel) for kernel in kernels], f"{chart} has the bands {shown[:3]}")
    longest = max(kernels[1:], key=lambda k: k[2] - k[1])
    number = kernels.index(longest)
    before = kernels[number - 1]
    middle, earlier = (longest[1] + longest[2]) / 2, (before[1] + before[2]) / 2
    b.evaluate(f"document.querySelector('section.run').window_.show({before[1]}, {longest[2]})")
    looks = """(chart) => {
      const u = chartOf(chart).chart;
      return [%f, %f].flatMap((time) => [-3, 2].map((dy) => pixel(u.ctx.canvas, u.valToPos(time, "x", true), u.bbox.top + dy)));
    }""" % (middle, earlier)
    for chart in ("dram_bytes", "stack"):
        b.frame()
        colours = b.evaluate("[rgb(ink['band-0']), rgb(ink['band-1'])]")
        strip, plot, other_strip, other_plot = b.evaluate(f"({looks})('{chart}')")
        check([strip, other_strip] == [colours[number % 2], colours[1 - number % 2]], f"{chart}: the strip above the chart has the colours of the bands: {strip}, {other_strip}")
        check([255, 255, 255] != plot != other_plot, f"{chart}: the chart is shaded during the kernels: {plot}, {other_plot}")
        # Without its last kernels the run has nothing there.
        b.evaluate(f"(c => {{ c.bands.splice({number}); c.chart.redraw(); }})(chartOf('{chart}'))")
        b.frame()
        strip, plot, other_strip, _ = b.evaluate(f"({looks})('{chart}')")
        check(strip == plot == [255, 255, 255] and other_strip == colours[1 - number % 2], f"{chart}: nothing is shaded without a kernel: {strip}, {plot}")
        b.evaluate("chartOf('%s').bands.push(...%s)" % (chart, [{"name": k[0], "from": k[1], "to": k[2]} for k in kernels[number:]]))
        b.evaluate(f"chartOf('{chart}').chart.redraw()")
    text = b.evaluate(f"chartOf('dram_bytes').chart.series[0].value(chartOf('dram_bytes').chart, {middle})")
    check(text.endswith(", " + longest[0]), f"the legend names the kernel at a time: {text}")
    b.evaluate("document.querySelector('section.run').window_.reset()")


def every_axis_has_a_title_with_its_unit(b, page):
    open_page(b, page)
    time_title = re.compile(r"simulated time \((ps|ns|us|ms|s)\)$")
    charts = b.evaluate("""[...document.querySelectorAll('.chart')].filter(c => c.chart).map(c => {
      const u = c.chart;
      return [c.dataset.chart, ...[0, 1].map(i => [u.axes[i].label(u), u.axes[i]._values, u.axes[i]._splits, i ? u.scales.y.max : u.scales.x.max])];
    })""")
    check(len(charts) > 20, f"only {len(charts)} charts")
    size = {"ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12, "%": 0.01, "count": 1, "k": 1e3, "M": 1e6, "G": 1e9}
    for chart, x, y in charts:
        check(time_title.match(x[0]), f"{chart}: the axis of time has the title {x[0]}")
        unit = re.search(r"\(([^()]+)\)$", y[0])
        check(unit, f"{chart}: the other axis has the title {y[0]}")
        for title, marks, values, most in (x, y):
            factor = size[re.sub(r"(B|/s)+$", "", re.search(r"\(([^()]+)\)$", title)[1]) or "count"]
            wrong = [(mark, value) for mark, value in zip(marks, values) if not near(float(mark) * factor, value, most)]
            check(not wrong, f"{chart}, {title}: the marks {wrong} are not at their values")
    units = {re.search(r"\(([^()]+)\)$", y[0])[1] for _, _, y in charts}
    check(units > {"%", "count"} and any(unit.endswith("B/s") for unit in units), f"charts have the units {units}")
    check(time_title.match(b.evaluate("chartOf('kernels').axis")), "the timeline of kernels has a title")
    titles = b.evaluate("[...document.querySelectorAll('.stack-title')].map(e => e.textContent)")
    check(len(titles) == 2 and all(re.search(r"time \((ns|us|ms|s)\)$", t) for t in titles), f"bars of GPUs have the titles {titles}")
    for texts in b.evaluate("[...document.querySelectorAll('svg.histogram')].map(s => [...s.querySelectorAll('text.middle')].map(t => t.textContent))"):
        check(len(texts) == 2 and texts[0] == "number" and texts[1] in ("time", "value (count)"), f"a histogram has the titles {texts}")


def facts(b):
    return b.evaluate("Object.fromEntries([...document.querySelectorAll('header .facts dt')].map(e => [e.textContent, e.nextElementSibling.textContent]))")


def the_header_has_the_facts_of_the_file(b):
    graph = os.path.join(folder.name, "ring.graph")
    with open(graph, "w", encoding="utf-8") as file:
        file.write("64 64\n" + "".join(f"{(v - 1) % 64 + 1} {(v + 1) % 64 + 1}\n" for v in range(64)))
    result = made("facts.h5", "workload.name=bfs", f"workload.bfs.graph={graph}", "gpu.sms=8", "memory.placement=interleave", "run.seed=7")
    page = report("facts.html", result)
    open_page(b, page, folds=False)
    with h5py.File(result) as f:
        kernels, blocks = len(f["tables/kernels/name"]), int(f["summary/machine/dispatcher_blocks_dispatched"][0])
        pages, buffers = int(f["tables/page_placement/pages"][:].sum()), len(set(f["tables/page_placement/buffer"].asstr()[:]))
        links = len(f["topology/links/kind"])
        commit, digest, end = f["engine/commit"][()].decode(), f.attrs["result_digest"].decode(), int(f["summary/machine/end"][0])
        version, threads = f.attrs["farfault_version"].decode(), int(f["engine/threads"][()])
        command, started = f["config/command_line"][()].decode(), f["engine/start_time"][()].decode()
    found = facts(b)
    check(b.evaluate("document.querySelector('h1').textContent").startswith("bfs on 4 GPUs "), "the title has the workload and the number of GPUs")
    work = found["Workload"]
    check(work.startswith(f"bfs: graph ring.graph ({os.path.getsize(graph)} B), "), f"the workload has its input file: {work}")
    for part in ("source 0", f"; {kernels} completed kernels, {blocks:,} thread blocks, {buffers} buffers of {pages:,} pages"):
        check(part in work, f"the workload has {part}: {work}")
    check(found["Machine"] == f"paper-gmmu-bypass, 4 GPUs of 8 SMs and 4 GiB, 1 CPU; links: {links} pcie; pages of 4 KiB", f"the machine: {found['Machine']}")
    check(found["Policies"] == "preset paper-gmmu-bypass; differing: memory.placement = interleave (preset: first_touch); 1 other parameter differs",
          f"the policies that differ from the preset: {found['Policies']}")
    end_text = b.evaluate(f"format.time({end})")
    check(found["Result"] == f"completed after {end_text} of simulated time, seed 7, digest {digest}", f"the result: {found['Result']}")
    check(found["Program"] == f"Farfault {version}, commit {commit[:10]}", f"the program: {found['Program']}")
    check(found["Simulated"].startswith(started) and found["Simulated"].endswith(f", {threads} thread"), f"the simulation: {found['Simulated']}")
    check(found["Command"] == command, f"the command: {found['Command']}")
    open_folds(b)
    rows = b.evaluate("[...document.querySelectorAll('details')].find(d => d.querySelector('summary').textContent.includes('differ from the preset')).innerText")
    rows = b.evaluate("(d => { d.open = true; return [...d.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent)); })([...document.querySelectorAll('details')]"
                      ".findLast(d => d.querySelector('summary').textContent.includes('differ from the preset')))")
    check(rows == [["gpu.sms", "36", "8"], ["memory.placement", "first_touch", "interleave"]], f"a table has all parameters that differ: {rows}")


def texts_have_a_contrast_of_at_least_4_5(b, pages):
    for dark in (False, True):
        in_theme(b, dark)
        for page in pages:
            open_page(b, page)
            b.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
            found = b.evaluate(CONTRASTS)
            check(len(found) > 300, f"only {len(found)} texts")
            low = [one for one in found if one[0] < LEAST_CONTRAST]
            check(not low, f"{os.path.basename(page)}, {'dark' if dark else 'light'}: {low[:5]}")
        check(b.evaluate("getComputedStyle(document.body).backgroundColor") == ("rgb(18, 22, 28)" if dark else "rgb(255, 255, 255)"), "the theme is the preferred one")
    b.evaluate("document.querySelector('h1').style.color = '#667'")
    check(b.evaluate(CONTRASTS)[0][0] < LEAST_CONTRAST, "a planted faint text is found")
    in_theme(b, dark=False)


def series_are_distinguishable_with_deuteranopia(b, page):
    for dark in (False, True):
        in_theme(b, dark)
        open_page(b, page, folds=False)
        lists = b.evaluate("({ lines: lineColours, stages: [...palette.stages, palette.outstanding].map(p => p.colour), activities: [...palette.activities, palette.swapped_out].map(p => p.colour), change: ['--more', '--less'].map(n => getComputedStyle(document.documentElement).getPropertyValue(n)) })")
        check([len(lists[name]) for name in ("lines", "stages", "activities")] == [10, 14, 9], f"all colours are read: {lists}")
        for name, colours in lists.items():
            for sight, matrix in (("normal sight", numpy.eye(3)), ("deuteranopia", DEUTERANOPIA)):
                distance, first, second = closest(colours, matrix)
                least = LEAST_OF_PARTS if name in ("stages", "activities") else LEAST_DISTANCE
                check(distance >= least, f"{name} with {sight}: {first} and {second} differ by {distance:.1f}")
    check(closest(["#e0812f", "#a3a32c"], DEUTERANOPIA)[0] < 5 < LEAST_DISTANCE < closest(["#e0812f", "#a3a32c"], numpy.eye(3))[0],
          "planted colours differ only without deuteranopia")
    in_theme(b, dark=False)


def drawings_follow_a_change_of_the_theme(b, page):
    in_theme(b, dark=False)
    open_page(b, page)
    marker = "chartOf('dram_bytes').chart.root.querySelectorAll('.u-series .u-marker')[1].style.borderColor"
    light = b.evaluate(f"[chartOf('dram_bytes').chart.series[1].stroke(), rgb({marker}), pixel(chartOf('traffic'), 40, chartOf('traffic').height - 4)]")
    in_theme(b, dark=True)
    dark = b.evaluate(f"[chartOf('dram_bytes').chart.series[1].stroke(), rgb({marker}), pixel(chartOf('traffic'), 40, chartOf('traffic').height - 4)]")
    check(light[0] != dark[0] and light[1] != dark[1], f"lines and their markers change: {light}, {dark}")
    in_theme(b, dark=False)


def picoseconds(text):
    number, unit = text.lstrip("+").split()
    return float(number) * {"ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12}[unit]


def table_rows(b, heading):
    """The rows of the first table with this first heading."""
    return b.evaluate(f"""[...[...document.querySelectorAll('table')].find(t => t.querySelector('th').textContent === '{heading}')
      .querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent))""")


def two_runs_begin_with_the_reason_and_are_side_by_side(b, a, c, page):
    open_page(b, page, folds=False)
    explained = subprocess.run([farfault, "explain", a, c], check=True, capture_output=True, text=True).stdout
    first = b.evaluate("(s => [s.querySelector('h2').textContent, s.querySelector('.verdict').textContent])(document.querySelector('.index ~ section'))")
    check(first[0] == "Why B differs from A" and first[1].rstrip(".") in explained.replace("\n", " "), f"the first section is the explanation: {first}")
    bottom = b.evaluate("document.querySelector('.difference .verdict').getBoundingClientRect().bottom")
    check(bottom < SCREEN - 350, f"the reason is in the upper part of the first screen: {bottom}")
    open_folds(b)
    ends, stacks, links, kernels = [], [], [], []
    for path in (a, c):
        with h5py.File(path) as f:
            ends.append(int(f["summary/machine/end"][0]))
            accesses = int(f["summary/machine/sm_transactions"][0])
            stacks.append({k: int(f["summary/machine/" + k][0]) / accesses for k in f["summary/machine"] if k.startswith("sm_time_in_")})
            table = f["tables/links"]
            links.append(dict(zip(zip(table["from"].asstr()[:], table["to"].asstr()[:]), table["busy_time"][:] / ends[-1])))
            sums = {}
            for name, begin, end in zip(f["tables/kernels/name"].asstr()[:], f["tables/kernels/launched"][:], f["tables/kernels/finished"][:]):
                sums[name] = sums.get(name, 0) + int(end) - int(begin)
            kernels.append(sums)
    rows = [row for row in table_rows(b, "access time by stage, mean per access") if row[0] == "interconnect links"]
    check(len(rows) == 1, "a table has the stages of both runs")
    for k, column in ((0, 1), (1, 3)):
        check(near(picoseconds(rows[0][column]), stacks[k]["sm_time_in_links"], 5 * stacks[k]["sm_time_in_links"]), f"time in links of run {k}: {rows[0]}")
    check(near(picoseconds(rows[0][5]), stacks[1]["sm_time_in_links"] - stacks[0]["sm_time_in_links"], 5 * stacks[0]["sm_time_in_links"]), f"and its difference: {rows[0]}")
    rows = table_rows(b, "kernel")
    check(len(rows) == min(16, len(kernels[0])), f"the kernels of both runs: {len(rows)} rows")
    for name, launches, _, one, other, change, _ in rows[:15]:
        check(launches == "1" and near(picoseconds(one), kernels[0][name], 5 * kernels[0][name]) and near(picoseconds(other), kernels[1][name], 5 * kernels[1][name]),
              f"{name} took {one} and {other}")
        check(near(picoseconds(change), kernels[1][name] - kernels[0][name], 5 * kernels[0][name]), f"{name} differs by {change}")
    changes = [abs(picoseconds(row[5])) for row in rows[:15]]
    check(changes == sorted(changes, reverse=True), f"the largest change is first: {changes}")
    rows = table_rows(b, "link from")
    check(len(rows) == len([1 for k in links[0] if max(links[0][k], links[1][k]) > 0]), f"the links of both runs: {rows}")
    for row in rows:
        busy = [links[k][row[0], row[1]] for k in (0, 1)]
        wanted = [f"{100 * busy[0]:.1f}%", f"{100 * busy[1]:.1f}%", f"{100 * (busy[1] - busy[0]):+.1f}%"]
        check([row[2], row[4], row[6]] == wanted, f"a link has {row}, not {wanted}")
    stacks_at = b.evaluate("['pair_stack_A', 'pair_stack_B'].map(id => (c => [c.getBoundingClientRect().left, c.chart.scales.y.max, c.chart.scales.x.max])"
                        "(document.querySelector(`[data-chart=${id}]`)))")
    check(stacks_at[0][0] < stacks_at[1][0] and stacks_at[0][1:] == stacks_at[1][1:], f"stacks are side by side on the same scales: {stacks_at}")
    check(stacks_at[0][2] == max(ends), "the time axis ends with the later run")
    widths = b.evaluate("[...document.querySelectorAll('[data-chart=pair_stages] .stack-row')].map(row => [...row.children].reduce((sum, e) => sum + e.getBoundingClientRect().width, 0))")
    sums = [sum(stack.values()) for stack in stacks]
    check(len(widths) == 2 and abs(widths[0] / widths[1] - sums[0] / sums[1]) < 0.02 * sums[0] / sums[1], f"bars are as long as the mean access time: {widths}, {sums}")
    check(b.evaluate("['A', 'B'].map(n => document.querySelector(`[data-chart=pair_kernels_${n}]`).rows.length)") == [len(k) for k in kernels], "kernels over time of both runs")


def a_sweep_is_drawn_over_one_key_with_a_line_for_each_other_value(b):
    study = os.path.join(folder.name, "study.toml")
    with open(study, "w", encoding="utf-8") as file:
        file.write('base = "paper-gmmu-bypass"\n[config.workload]\nname = "bfs"\n[config.workload.bfs.rmat]\nscale = 8\n[config.gpu]\nsms = 4\n'
                   '[sweep]\nseeds = 2\n[sweep.grid]\ngpu.gmmu.walkers = [1, 4, 16]\nmemory.placement = ["interleave", "first_touch"]\n')
    results = os.path.join(folder.name, "sweep")
    subprocess.run([farfault, "sweep", study, "--output", results], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    page = report("sweep.html", results)
    open_page(b, page, folds=False)
    check(b.evaluate("document.querySelector('.index ~ section').id") == "sweep", "the picture of the sweep is first")
    with h5py.File(os.path.join(results, "sweep.h5")) as f:
        runs = f["runs"]
        walkers, placement, end = runs["gpu.gmmu.walkers"][:], runs["memory.placement"].asstr()[:], runs["end"][:].astype(float)
    check(b.evaluate("document.querySelectorAll('svg.sweep path.line').length") == 2, "one line for each placement")
    picture = b.evaluate("""(() => {
      const texts = [...document.querySelectorAll('svg.sweep text')].map(t => [t.childNodes[t.childNodes.length - 1].textContent, t.getAttribute('class'), Number(t.getAttribute('y'))]);
      return { titles: texts.filter(t => t[1] === 'middle').map(t => t[0]), marks: texts.filter(t => t[1] === 'left'), names: texts.filter(t => !t[1]).map(t => t[0]),
        points: [...document.querySelectorAll('svg.sweep path.mark title')].map(t => [t.textContent, t.parentNode.getBBox()]).map(([t, box]) => [t, box.y + box.height / 2]),
        ranges: [...document.querySelectorAll('svg.sweep path.range')].length };
    })()""")
    check("gpu.gmmu.walkers (logarithmic)" in picture["titles"] and "end" in picture["titles"], f"the axes have titles: {picture['titles']}")
    check(picture["ranges"] == 2, "each line has its spread over the seeds")
    check(sorted(picture["names"]) == ["first_touch", "interleave"] or sorted(picture["names"]) == ["placement first_touch", "placement interleave"], f"lines have names: {picture['names']}")
    marks = [(picoseconds(text) if text != "0" else 0.0, y - 4) for text, _, y in picture["marks"]]
    slope = (marks[-1][1] - marks[0][1]) / (marks[-1][0] - marks[0][0])
    for name in ("interleave", "first_touch"):
        for w in (1, 4, 16):
            mean = end[(walkers == w) & (placement == name)].mean()
            height = marks[0][1] + slope * (mean - marks[0][0])
            point = [y for text, y in picture["points"] if f"{name}," in text and f"walkers = {w}:" in text]
            check(len(point) == 1 and abs(point[0] - height) < 3, f"{name} with {w} walkers is drawn at {point}, not {height}")
    for width in (NARROW, WIDE):
        of_width(b, width)
        check(b.evaluate(CUT) == [], f"at {width} pixels: {b.evaluate(CUT)}")


def several_applications_and_machines_are_named(b):
    base = os.path.join(folder.name, "applications.toml")
    with open(base, "w", encoding="utf-8") as file:
        file.write('include = ["paper-gmmu-bypass"]\n[[application]]\nname = "a"\nworkload = "stream"\nstream.bytes = "64 KiB"\ngpus = "0"\n'
                   '[[application]]\nname = "b"\nworkload = "gups"\ngups.blocks = 4\ngpus = "1"\n')
    result = made("applications.h5", "gpu.sms=4", base=base)
    open_page(b, report("applications.html", result))
    rows = table_rows(b, "application")
    with h5py.File(result) as f:
        wanted = sorted(zip(f["tables/kernels/application"].asstr()[:], f["tables/kernels/name"].asstr()[:]))
    check(sorted((row[0], row[1]) for row in rows) == wanted and len({row[0] for row in rows}) == 2, f"kernels have their application: {rows}")
    check(facts(b)["Workload"].startswith("a: stream"), f"the header has both applications: {facts(b)['Workload']}")
    check("; b: gups (" in facts(b)["Workload"], "the header has the second application")
    check(facts(b)["Policies"] == "nearest preset: paper-gmmu-bypass, no policy differs; 1 parameter differs", f"a configuration file has its nearest preset: {facts(b)['Policies']}")
    result = made("cluster.h5", "workload.name=stream", "workload.stream.bytes=64KiB", "machine.topology=two-gpu", "machine.cluster.machines=2", "gpu.sms=2")
    open_page(b, report("cluster.html", result))
    check(facts(b)["Machine"].startswith("two-gpu, 2 machines, 4 GPUs of 2 SMs"), f"a cluster has its machines: {facts(b)['Machine']}")
    rows = table_rows(b, "machine")
    check(sorted(row[0] for row in rows) == ["m0", "m1"], f"kernels have their machine: {rows}")
    check(b.evaluate("chartOf('kernels').rows.map(r => r.label)") == ["m0", "m1"], "each machine has a lane of kernels")
    check(b.complaints() == [], f"the page reports errors: {b.complaints()}")


one = made("one.h5", "workload.name=bfs", "workload.bfs.rmat.scale=11", "gpu.sms=8", "memory.placement=interleave", "run.sample_interval=1us")
other = made("other.h5", "workload.name=bfs", "workload.bfs.rmat.scale=11", "gpu.sms=8", "memory.placement=contiguous", "run.sample_interval=1us")
one_page, two_page = report("one.html", one), report("two.html", one, other)
with browser.Browser(WIDE, SCREEN) as b:
    the_first_screen_has_the_verdict_and_the_other_sections_are_folded(b, one_page)
    the_index_opens_a_section_and_scrolls_to_it(b, one_page)
    nothing_is_cut_at_1280_and_at_500_pixels(b, [one_page, two_page])
    on_paper_all_sections_are_open_and_fit(b, one_page)
    every_chart_over_time_has_the_kernels_as_bands(b, one_page, one)
    every_axis_has_a_title_with_its_unit(b, one_page)
    the_header_has_the_facts_of_the_file(b)
    texts_have_a_contrast_of_at_least_4_5(b, [one_page, two_page])
    series_are_distinguishable_with_deuteranopia(b, one_page)
    drawings_follow_a_change_of_the_theme(b, one_page)
    two_runs_begin_with_the_reason_and_are_side_by_side(b, one, other, two_page)
    a_sweep_is_drawn_over_one_key_with_a_line_for_each_other_value(b)
    several_applications_and_machines_are_named(b)
print(counts())
sys.exit(0 if counts().endswith(" 0 failed") else 1)
