# SPDX-License-Identifier: Apache-2.0
"""Opens reports in a headless Chromium.

Charts must show the values of the HDF5 file; dragging zooms, hovering shows values, a click shows a GPU; hostile names run
no script; without scripts the summary remains.

Usage: python3 report_browser_test.py BUILD_FOLDER/test_cli
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import browser
from checks import check, counts
from report_pages import build, folder, made, near, open_folds, open_page, report, test_cli

import h5py
import numpy


def drawn(b, chart):
    """Times and values of a chart, without the point at which its first step begins."""
    data = b.evaluate(f"chartOf('{chart}').chart.data.map(list => Array.from(list))")
    labels = b.evaluate(f"chartOf('{chart}').chart.series.map(s => s.label)")
    return data[0][1:], {label: values[1:] for label, values in zip(labels[1:], data[1:])}


def drawn_values_are_those_of_the_file(b, result):
    with h5py.File(result) as f:
        group = f["timeseries/l2_tlb"]
        at = group["time_ps"][:]
        instances = [name.decode() for name in group["instance"][:]]
        hits, misses = group["hits"][:].astype(float), group["misses"][:].astype(float)
        dram = f["timeseries/dram/bytes"][:].astype(float)
        devices = [name.decode().split(".")[0] for name in f["timeseries/dram/instance"][:]]
    times, rows = drawn(b, "l2_tlb")
    where = numpy.searchsorted(at, times)
    check(list(at[where]) == times and times[-1] == at[-1], "every interval ends at a sample, the last one at the last sample")
    check(sorted(rows) == sorted(name.split(".")[0] for name in instances), "one row per GPU")
    before = numpy.concatenate(([-1], where[:-1]))

    def growth(values, interval):
        return values[where[interval]] - (values[before[interval]] if interval else 0)

    wrong = 0
    for column, name in enumerate(instances):
        for k, value in enumerate(rows[name.split(".")[0]]):
            h, m = growth(hits[:, column], k), growth(misses[:, column], k)
            wrong += value is not None if h + m == 0 else not near(value, h / (h + m))
    check(wrong == 0, f"{wrong} hit rates differ from the file")
    times, rows = drawn(b, "dram_bytes")
    wrong = 0
    for gpu, values in rows.items():
        mine = dram[:, [i for i, device in enumerate(devices) if device == gpu]].sum(axis=1)
        most = max(v for row in rows.values() for v in row)
        for k, value in enumerate(values):
            lasted = (times[k] - (times[k - 1] if k else 0)) / 1e12
            wrong += not near(value, growth(mine, k) / lasted, most)
    check(wrong == 0, f"{wrong} DRAM rates differ from the file")


def lines_and_areas_are_drawn_where_their_values_are(b, result):
    """Checks the highest step: its colour at its height, and white above."""
    for chart in ("dram_bytes", "transactions"):
        found = b.evaluate(f"""(() => {{
          const u = chartOf('{chart}').chart, canvas = u.ctx.canvas;
          let best = [1, 1];
          for (let s = 1; s < u.series.length; ++s) for (let k = 1; k < u.data[0].length; ++k)
            if (u.data[s][k] > u.data[best[0]][best[1]]) best = [s, k];
          const [s, k] = best;
          const x = u.valToPos((u.data[0][k - 1] + u.data[0][k]) / 2, "x", true), y = u.valToPos(u.data[s][k], "y", true);
          const near = [];
          for (let dx = -1; dx <= 1; ++dx) for (let dy = -2; dy <= 2; ++dy) near.push(pixel(canvas, x + dx, y + dy));
          return {{ near, wanted: rgb(u.series[s].stroke()), above: pixel(canvas, x, y - 6) }};
        }})()""")
        close = min(max(abs(a - w) for a, w in zip(p, found["wanted"])) for p in found["near"])
        check(close < 90, f"{chart}: the line is drawn at its value, not only {found}")
        check(min(found["above"]) > 200, f"{chart}: nothing is drawn above the highest value")
    with h5py.File(result) as f:
        at = f["timeseries/sm.by_gpu/time_ps"][:]
        active = f["timeseries/sm.by_gpu/active_time"][:].astype(float).sum(axis=1)
        sms = len(f["timeseries/sm/instance"])
    times, _ = drawn(b, "sms")
    where = numpy.searchsorted(at, times)
    shares = [(active[w] - (active[where[k - 1]] if k else 0)) / (times[k] - (times[k - 1] if k else 0)) / sms
              for k, w in enumerate(where)]
    k = int(numpy.argmax(shares))
    # Zoomed in so that the interval is many pixels wide.
    b.evaluate(f"document.querySelector('.run:not([hidden])').window_.show({times[max(0, k - 4)]}, {times[min(k + 4, len(times) - 1)]})")
    b.frame()
    # The bars of GPUs identify the colours; executing is the lowest part.
    found = b.evaluate(f"""(() => {{
      const u = chartOf('sms').chart, canvas = u.ctx.canvas;
      const x = u.valToPos((u.data[0][{k}] + u.data[0][{k + 1}]) / 2, "x", true);
      const swatch = [...chartOf('gpu_sms').parentNode.querySelectorAll('.legend > span')].find(e => e.textContent.trim() === 'executing');
      const at = (share) => pixel(canvas, x, u.valToPos(share, "y", true));
      return {{ wanted: rgb(swatch.querySelector('.swatch').style.background), below: at({shares[k]} * 0.9), above: at({shares[k]} + 0.03) }};
    }})()""")
    check(found["below"] == found["wanted"], f"SMs execute in {shares[k]} of their time: {found}")
    check(found["above"] != found["wanted"], f"the rest has another colour: {found}")
    b.evaluate("document.querySelector('.run:not([hidden]) button.whole').click()")
    b.frame()


def stacks_add_up(b, result):
    with h5py.File(result) as f:
        group = f["timeseries/sm.by_gpu"]
        parts = sum(group[name][:].astype(float).sum(axis=1) for name in group if name.startswith("time_in_"))
        at = group["time_ps"][:]
    times, rows = drawn(b, "stack")
    top = list(rows.values())[0]  # the first series is drawn up to the sum of all
    where = numpy.searchsorted(at, times)
    total = sum(value * (t - (times[k - 1] if k else 0)) for k, (t, value) in enumerate(zip(times, top)))
    check(near(total, parts[where[-1]], parts[where[-1]]), f"the stack over time adds up to {total}, not {parts[where[-1]]}")
    legend = b.evaluate("""(() => {
      const u = chartOf('stack').chart, lowest = u.series.length - 1;
      return u.data[0].slice(1).map((_, i) => [u.series[lowest].value(u, 0, lowest, i + 1), format.amount(u.data[lowest][i + 1], 'accesses')]);
    })()""")
    check(len(legend) > 10 and all(found == there for found, there in legend), f"the legend has the drawn value of the lowest part: {legend[:5]}")
    b.evaluate("document.querySelector('.run:not([hidden]) .shares').click()")
    b.frame()
    _, rows = drawn(b, "stack")
    tops = list(rows.values())[0]
    check(all(near(t, 1) or t == 0 for t in tops), "as shares, the stack adds up to 1")


def dragging_zooms_all_charts(b, result):
    with h5py.File(result) as f:
        end = int(f["summary/machine/end"][0])
    b.evaluate("chartOf('transactions').scrollIntoView({block: 'center'})")
    left, top, width, height = b.evaluate("placeOf(chartOf('transactions').chart.over)")
    b.drag(left + 0.25 * width, top + height / 2, left + 0.5 * width, top + height / 2)
    b.frame()
    for chart in ("transactions", "dram_bytes", "stack"):
        scale = b.evaluate(f"(s => [s.min, s.max])(chartOf('{chart}').chart.scales.x)")
        check(near(scale[0], 0.25 * end, 10 * end) and near(scale[1], 0.5 * end, 10 * end),
              f"{chart}: shows {scale} after dragging over the second quarter of {end}")
    b.click(left + width / 2, top + height / 2, count=2)
    b.frame()
    scale = b.evaluate("(s => [s.min, s.max])(chartOf('dram_bytes').chart.scales.x)")
    check(scale == [0, end], f"a double click shows the whole run, not {scale}")
    left, top, width, height = b.evaluate("placeOf(chartOf('kernels'))")
    lanes = b.evaluate("chartOf('kernels').leftOf()")
    b.drag(left + lanes + 0.5 * (width - lanes), top + 9, left + width - 2, top + 9)
    b.frame()
    scale = b.evaluate("(s => [s.min, s.max])(chartOf('transactions').chart.scales.x)")
    check(near(scale[0], 0.5 * end, 10 * end), f"dragging over the kernels zooms the charts, too: {scale}")
    b.evaluate("document.querySelector('.run:not([hidden]) button.whole').click()")
    b.frame()
    check(b.evaluate("chartOf('transactions').chart.scales.x.min") == 0, "a button shows the whole run")


def hovering_shows_values(b, result):
    with h5py.File(result) as f:
        kernels = [(name, int(launched), int(finished)) for name, launched, finished in zip(
            f["tables/kernels/name"].asstr()[:], f["tables/kernels/launched"][:], f["tables/kernels/finished"][:])]
        kernel = kernels[0][0]
        traffic = {(a, c): int(n) for a, c, n in zip(f["tables/traffic/from"].asstr()[:], f["tables/traffic/to"].asstr()[:],
                                                    f["tables/traffic/bytes"][:])}
        links = f["tables/links"]
        busiest = int(links["busy_time"][:].argmax())
        busiest = [links["from"].asstr()[busiest], links["to"].asstr()[busiest]]
        busy = links["busy_time"][:].max() / f["summary/machine/end"][0]
    left, top, width, _ = b.evaluate("placeOf(chartOf('kernels'))")
    b.mouse("mouseMoved", left + b.evaluate("chartOf('kernels').leftOf()") + 3, top + 9)
    text = b.evaluate("chartOf('kernels').nextSibling.textContent")
    check(text.startswith(kernel + ": launched at 0 ps"), f"the first kernel is described, not '{text}'")
    texts = b.evaluate("chartOf('kernels').rows.map(row => row.text)")
    check(len(texts) == len(kernels) > 2, "every kernel is listed")
    for text, (name, launched, finished) in zip(texts, kernels):
        times = b.evaluate(f"[format.time({launched}), format.time({finished - launched})]")
        check(text.startswith(f"{name}: launched at {times[0]}, took {times[1]}, "), f"a kernel has its times {times}: {text}")
    rows = "[['a', 0, 10], ['a', 5, 8], ['b', 0, 1], ['a', 10, 12], ['a', 9, 11]].map(([label, from, to]) => ({ label, from, to }))"
    check(b.evaluate(f"lanesOf({rows}).of") == [0, 1, 2, 0, 1], "concurrent kernels have separate lanes")
    batch = {"row": [0], "gpu": ["gpu7"], "began": [1000], "ended": [6000], "raw_faults": [11], "duplicates": [2], "pages": [3],
             "prefetched_pages": [4], "evicted_pages": [5]}
    check(b.evaluate(f"batchRows({{ columns: {batch} }})[0].text") == "batch of 11 faults (2 duplicates): started at 1 ns, took 5 ns, "
          "migrated 3 faulted and 4 prefetched pages, evicted 5", "a batch has its pages")
    colour = b.evaluate("pixel(chartOf('kernels'), chartOf('kernels').width - 8, 9)")
    check(colour != [255, 255, 255], "a bar is drawn for the last kernel")
    names = b.evaluate("JSON.parse(document.getElementById('data').textContent).runs[0].traffic.devices")
    left, top, _, _ = b.evaluate("placeOf(chartOf('traffic'))")
    shades = []
    for pair in sorted(traffic, key=traffic.get):
        x, y = b.evaluate(f"chartOf('traffic').placeOf({names.index(pair[0])}, {names.index(pair[1])})")
        b.mouse("mouseMoved", left + x, top + y)
        text = b.evaluate("chartOf('traffic').nextSibling.textContent")
        wanted = b.evaluate(f"format.amount({traffic[pair]}, 'byte')")
        check(text == f"{pair[0]} to {pair[1]}: {wanted}", f"traffic of {pair}: {text}")
        shades.append(sum(b.evaluate(f"pixel(chartOf('traffic'), {x}, {y})")))
    check(shades == sorted(shades, reverse=True) and shades[0] > shades[-1] + 100, f"more traffic is darker: {shades}")
    title = b.evaluate(f"""[...document.querySelectorAll('svg.machine path title')].map(t => t.textContent)
      .find(t => t.startsWith('{busiest[0]} to {busiest[1]}:'))""")
    check(f"{100 * busy:.1f}% busy" in title, f"the busiest link has its utilization: {title}")


def shown_gpu(b):
    return b.evaluate("document.querySelector('.run:not([hidden]) .gpu-shown').textContent")


def click_on(b, expression):
    left, top, width, height = b.evaluate(f"placeOf({expression})")
    b.click(left + width / 2, top + height / 2)
    b.frame()


def the_shown_gpu_is_that_of_the_file(b, result, gpu):
    """Charts, totals and links of the GPU."""
    with h5py.File(result) as f:
        names = f["summary/gpu/name"].asstr()[:].tolist()
        group, column = f["timeseries/l2_tlb"], f["timeseries/l2_tlb/instance"].asstr()[:].tolist().index(gpu + ".l2_tlb")
        at, hits, misses = (group[name][:].astype(float) for name in ("time_ps", "hits", "misses"))
        by_gpu = f["timeseries/sm.by_gpu"]
        own = by_gpu["instance"].asstr()[:].tolist().index(gpu)
        stages = {name: by_gpu[name][:, own].astype(float) for name in by_gpu if name.startswith("time_in_")}
        dram = f["timeseries/dram/bytes"][:, [i.startswith(gpu + ".") for i in f["timeseries/dram/instance"].asstr()[:]]].sum(axis=1)
        totals = {name: int(f["summary/gpu/" + name][names.index(gpu)]) for name in f["summary/gpu"] if name.startswith("sm_time_in_")}
        links = {column: f["tables/links/" + column][:] for column in ("bytes", "packets")}
        ends = [(f["tables/links/from"].asstr()[:][i], f["tables/links/to"].asstr()[:][i]) for i in range(len(links["bytes"]))]
    times, rows = drawn(b, "one_l2_tlb")
    where = numpy.searchsorted(at, times)
    check(list(at[where]) == times, "intervals of a GPU end at samples")

    def growth(values, k):
        return values[where[k]] - (values[where[k - 1]] if k else 0)

    wrong = 0
    for k, value in enumerate(rows[gpu]):
        h, m = growth(hits[:, column], k), growth(misses[:, column], k)
        wrong += value is not None if h + m == 0 else not near(value, h / (h + m))
    check(wrong == 0, f"{gpu}: {wrong} hit rates differ from the file")
    _, rows = drawn(b, "one_dram_bytes")
    most = max(rows[gpu])
    wrong = sum(not near(value, growth(dram, k) / ((times[k] - (times[k - 1] if k else 0)) / 1e12), most) for k, value in enumerate(rows[gpu]))
    check(wrong == 0 and most > 0, f"{gpu}: {wrong} DRAM rates differ from the file")
    _, rows = drawn(b, "one_stack")
    top = list(rows.values())[0]
    wanted = [sum(growth(values, k) for values in stages.values()) / (times[k] - (times[k - 1] if k else 0)) for k in range(len(times))]
    wrong = sum(not near(t, w, max(wanted)) for t, w in zip(top, wanted))
    check(wrong == 0, f"{gpu}: its stack is {top[:5]}, not {wanted[:5]}")
    _, rows = drawn(b, "one_sms")
    check(all(near(t, 1) for t in list(rows.values())[0]), "the activity of its SMs adds up to all of their time")
    text = b.evaluate("[...document.querySelectorAll('.run:not([hidden]) .one-gpu td.number')].map(e => e.textContent)")
    for name, ps in totals.items():
        check(ps == 0 or b.evaluate(f"format.time({ps})") in text, f"{gpu}: {name} of {ps} ps is in {text}")
    found = b.evaluate("[...document.querySelectorAll('.run:not([hidden]) .gpu-links tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
    mine = [(a, c, b.evaluate(f"format.amount({links['bytes'][i]}, 'byte')"), b.evaluate(f"format.prefixed({links['packets'][i]}, '')"))
            for i, (a, c) in enumerate(ends) if gpu in (a, c)]
    check(sorted((r[0], r[1], r[3], r[4]) for r in found) == sorted(mine) and mine, f"{gpu}: its links are {found}, not {mine}")


def a_click_shows_a_gpu(b, result):
    check(shown_gpu(b) == "gpu0", "the first GPU is shown at first")
    the_shown_gpu_is_that_of_the_file(b, result, "gpu0")
    node = "[...document.querySelectorAll('.run:not([hidden]) svg.machine g[data-gpus]')].find(g => g.textContent.includes('gpu2'))"
    click_on(b, node)
    check(shown_gpu(b) == "gpu2", f"a click in the picture shows gpu2, not {shown_gpu(b)}")
    check(b.evaluate("[...document.querySelectorAll('svg.machine g.chosen')].map(g => g.querySelector('text').textContent)") == ["gpu2"],
          "the GPU is marked in the picture")
    the_shown_gpu_is_that_of_the_file(b, result, "gpu2")
    left, top, _, _ = b.evaluate("placeOf(chartOf('gpu_map'))")
    x, y = b.evaluate("chartOf('gpu_map').placeOfGpu(3)")
    b.mouse("mouseMoved", left + x, top + y)
    words = b.evaluate("chartOf('gpu_map').nextSibling.textContent")
    with h5py.File(result) as f:
        mine = [i for i, name in enumerate(f["timeseries/sm/instance"].asstr()[:]) if name.startswith("gpu3.")]
        rate = f["timeseries/sm/instructions"][-1][mine].sum() / (f["timeseries/sm/time_ps"][-1] / 1e12)
    wanted = {"gpu3: Warp instructions " + b.evaluate(f"format.amount({rate * more}, '/s')") for more in (0.9999, 1, 1.0001)}
    check(words in wanted, f"hovering over a cell shows: {words}, not {wanted}")
    b.click(left + x, top + y)
    b.frame()
    check(shown_gpu(b) == "gpu3", "a click on a cell shows its GPU")
    the_shown_gpu_is_that_of_the_file(b, result, "gpu3")
    b.evaluate("[...document.querySelectorAll('.run:not([hidden]) .chooser button')].find(e => e.textContent === 'next').click()")
    check(shown_gpu(b) == "gpu0", "the first GPU follows the last")
    b.evaluate("(e => { e.value = 'gpu1'; e.dispatchEvent(new Event('change')); })(document.querySelector('.run:not([hidden]) .gpu-name'))")
    check(shown_gpu(b) == "gpu1", "entering a name shows its GPU")
    b.evaluate("(e => { e.value = 'gpu9'; e.dispatchEvent(new Event('change')); })(document.querySelector('.run:not([hidden]) .gpu-name'))")
    check(shown_gpu(b) == "gpu1" and b.evaluate("document.querySelector('.run:not([hidden]) .gpu-name').value") == "gpu1", "an unknown name does not change the GPU")
    # The darkest cell belongs to the GPU with the highest value.
    figures = b.evaluate("[...document.querySelectorAll('.run:not([hidden]) .gpu-figure option')].map(o => o.textContent)")
    b.evaluate(f"(e => {{ e.value = {figures.index('GMMU page walks')}; e.dispatchEvent(new Event('change')); }})(document.querySelector('.run:not([hidden]) .gpu-figure'))")
    with h5py.File(result) as f:
        walks = f["timeseries/gmmu/walks"][-1].astype(float).tolist()
    shades = [sum(b.evaluate(f"(([x, y]) => pixel(chartOf('gpu_map'), x, y))(chartOf('gpu_map').placeOfGpu({g}))")) for g in range(4)]
    check([s for _, s in sorted(zip(walks, shades))] == sorted(shades, reverse=True) and max(shades) > min(shades) + 100,
          f"more walks are darker: {walks}, {shades}")
    # A drag in one of its charts zooms all charts, also the charts of a GPU that is selected later.
    left, top, width, height = b.evaluate("placeOf(chartOf('one_dram_bytes').chart.over)")
    b.drag(left + 0.5 * width, top + height / 2, left + 0.75 * width, top + height / 2)
    b.frame()
    scale = b.evaluate("(s => [s.min, s.max])(chartOf('transactions').chart.scales.x)")
    click_on(b, node)
    for chart in ("one_l2_tlb", "one_stack"):
        check(b.evaluate(f"(s => [s.min, s.max])(chartOf('{chart}').chart.scales.x)") == scale and scale[0] > 0, f"{chart} shows the window {scale}")
    b.evaluate("document.querySelector('.run:not([hidden]) button.whole').click()")
    b.frame()
    check(b.evaluate("chartOf('one_stack').chart.scales.x.min") == 0, "a double click shows the whole run again")
    found = b.evaluate("""(() => {
      const u = chartOf('one_dram_bytes').chart, canvas = u.ctx.canvas;
      let k = 1;
      for (let i = 1; i < u.data[0].length; ++i) if (u.data[1][i] > u.data[1][k]) k = i;
      const x = u.valToPos((u.data[0][k - 1] + u.data[0][k]) / 2, "x", true), y = u.valToPos(u.data[1][k], "y", true);
      const near = [];
      for (let dx = -1; dx <= 1; ++dx) for (let dy = -2; dy <= 2; ++dy) near.push(pixel(canvas, x + dx, y + dy));
      return { near, wanted: rgb(u.series[1].stroke()) };
    })()""")
    check(min(max(abs(a - w) for a, w in zip(p, found["wanted"])) for p in found["near"]) < 90, f"its line is drawn at its value: {found}")
    watchers = b.evaluate("document.querySelector('.run:not([hidden])').window_.watchers.length")
    for _ in range(3):
        b.evaluate("[...document.querySelectorAll('.run:not([hidden]) .chooser button')].find(e => e.textContent === 'next').click()")
    check(b.evaluate("document.querySelector('.run:not([hidden])').window_.watchers.length") == watchers, "removed charts are no longer tracked")


def histograms_and_placement_are_those_of_the_file(b, result):
    with h5py.File(result) as f:
        counts = f["timeseries/sm.by_gpu.histograms/load_latency"][-1].sum(axis=0).astype(float)
        bins = f["timeseries/sm.by_gpu.histograms/bin"][:].astype(float)
        placed = list(zip(*(f["tables/page_placement/" + c].asstr()[:] for c in ("buffer", "device")), f["tables/page_placement/pages"][:].tolist()))
    picture = "[...document.querySelectorAll('.run:not([hidden]) .chart')].find(c => c.querySelector('h4') && c.querySelector('h4').textContent === 'sm.by_gpu.histograms/load_latency').querySelector('svg')"
    heights = b.evaluate(f"[...{picture}.querySelectorAll('rect')].map(r => r.getBoundingClientRect().height)")
    there = numpy.flatnonzero(counts)
    wanted = counts[there[0]:there[-1] + 1] / counts.max()
    check(len(heights) == len(wanted) and numpy.allclose(numpy.array(heights) / max(heights), wanted, atol=0.005), f"bars are as high as their counts: {heights}, {wanted}")
    whole = b.evaluate(f"{picture}.getBoundingClientRect().height")
    check(abs(max(heights) / whole - 88 / 164) < 0.01, f"the highest bar fills the height: {max(heights)} of {whole}")
    half, reached = counts.sum() / 2, 0
    for k, count in enumerate(counts):
        if count and reached + count >= half:
            median = bins[k] + (bins[k + 1] - bins[k]) * (half - reached) / count
            break
        reached += count
    texts = b.evaluate(f"[...{picture}.querySelectorAll('text')].map(t => t.textContent)")
    check("p50: " + b.evaluate(f"format.time({median})") in texts, f"the median is {median} ps: {texts}")
    titles = b.evaluate("[...document.querySelectorAll('.run:not([hidden]) svg.placement rect title')].map(t => t.textContent)")
    for buffer, device, pages in placed:
        share = pages / sum(n for name, _, n in placed if name == buffer)
        check(f"{buffer} on {device}: {pages} pages, {100 * share:.1f}%" in titles, f"{buffer} has {pages} pages on {device}: {titles[:4]}")


def links_take_the_colour_of_a_moment(b):
    before = b.evaluate("[...document.querySelectorAll('svg.machine path')].map(p => p.getAttribute('stroke'))")
    changed = b.evaluate("""(() => {
      const slider = document.querySelector('.run:not([hidden]) .moment'), seen = new Set();
      for (let k = 1; k <= Number(slider.max); ++k) {
        slider.value = k;
        slider.dispatchEvent(new Event('input'));
        document.querySelectorAll('svg.machine path').forEach(p => seen.add(p.getAttribute('stroke')));
      }
      slider.value = 0;
      slider.dispatchEvent(new Event('input'));
      return seen.size;
    })()""")
    check(changed > len(set(before)), "links have more colours over time than for the whole run")
    for moment in (1, 2, 5):
        found = b.evaluate(f"""(() => {{
          const slider = document.querySelector('.run:not([hidden]) .moment'), data = JSON.parse(document.getElementById('data').textContent);
          slider.value = {moment};
          slider.dispatchEvent(new Event('input'));
          const paths = [...document.querySelectorAll('svg.machine path[data-use]')];
          const uses = paths.map(p => data.runs[0].link_use[Number(p.dataset.use)]), most = data.colours.length - 1;
          const ends = data.runs[0].clocks[uses[0].clock];
          const answer = {{ shown: slider.parentNode.querySelector('.said').textContent,
            wanted: `from ${{format.time(slider.value > 1 ? ends[slider.value - 2] : 0)}} to ${{format.time(ends[slider.value - 1])}}`,
            colours: paths.map(p => p.getAttribute('stroke')),
            right: uses.map(u => data.colours[Math.round(Math.min(1, (u.values[slider.value - 1] || 0) * u.scale) * most)]) }};
          slider.value = 0;
          slider.dispatchEvent(new Event('input'));
          return answer;
        }})()""")
        check(found["shown"] == found["wanted"], f"moment {moment}: {found['shown']}, not {found['wanted']}")
        check(found["colours"] == found["right"], f"moment {moment}: links have the colours {found['colours']}, not {found['right']}")
    check(b.evaluate("[...document.querySelectorAll('svg.machine path')].map(p => p.getAttribute('stroke'))") == before,
          "the colours of the whole run are restored")


def several_runs(b):
    results = [made(f"walkers{n}.h5", "workload.name=transpose", "workload.transpose.width=256",
                    "workload.transpose.height=256", "gpu.sms=8", f"gpu.gmmu.walkers={n}") for n in (1, 64)]
    open_page(b, report("several.html", *results))
    check(b.complaints() == [], f"several runs: {b.complaints()}")
    check(b.evaluate("document.querySelectorAll('.run:not([hidden])').length") == 1, "one run is shown at a time")
    left, top, width, height = b.evaluate("placeOf(document.querySelectorAll('nav.tabs button')[1])")
    b.click(left + width / 2, top + height / 2)
    b.frame()
    check(b.evaluate("document.querySelector('.run:not([hidden])').dataset.run") == "1", "a click shows another run")
    open_folds(b)
    check(b.evaluate("chartOf('transactions').chart.data[0].length") > 1, "the charts of the other run are drawn")
    with h5py.File(results[0]) as f0, h5py.File(results[1]) as f1:
        ends = [int(f["summary/machine/end"][0]) for f in (f0, f1)]
    text = b.evaluate("document.querySelector('.bars').textContent")
    for end in ends:
        check(b.evaluate(f"format.time({end})") in text, f"the comparison has {end} ps: {text}")
    bars = b.evaluate("[...document.querySelectorAll('.bars .length')].map(e => e.getBoundingClientRect().width)")
    check(abs(bars[0] / bars[1] - ends[0] / ends[1]) < 0.02, f"bar lengths are proportional to their values: {bars}")
    settings = b.evaluate("[...document.querySelectorAll('.bar-row small')].map(e => e.textContent)")
    check(settings == ["gmmu.walkers = 1", "gmmu.walkers = 64"], f"each bar has the setting of its run: {settings}")
    together = "document.querySelector('[data-chart=together]').chart"
    check(b.evaluate(together + ".series.length") == 3, "one line per run")
    for run, result in enumerate(results):
        with h5py.File(result) as f:
            last = int(f["timeseries/sm/time_ps"][-1])
        there = b.evaluate(f"(u => Math.max(...u.data[0].filter((_, k) => Number.isFinite(u.data[{run + 1}][k]))))({together})")
        check(there == last, f"the line of run {run} ends with it at {last} ps, not {there}")


def unfinished_operations_are_listed_and_drawn(b):
    stopped = made("stopped.h5", "workload.name=transpose", "workload.transpose.width=256", "workload.transpose.height=256",
                   "gpu.sms=8", until="8us")
    open_page(b, report("stopped.html", stopped))
    text = b.evaluate("document.querySelector('.run').textContent")
    check("Outstanding at the end: kernel matrix_transpose, since 0 ps." in text, "unfinished operations are described")
    rows = b.evaluate("chartOf('kernels').rows.map(r => [r.name, r.from, r.to, r.text])")
    check(rows == [["matrix_transpose", 0, 8_000_000,
                    "kernel matrix_transpose: started at 0 ps, unfinished at the end of the run"]], f"its bar extends to the end: {rows}")
    check(b.evaluate("pixel(chartOf('kernels'), chartOf('kernels').width - 8, 9)") != [255, 255, 255], "the bar of the unfinished operation is drawn")


def ticks_of_an_axis_are_at_their_values(b):
    units = {"share": ("%", 0.01), "byte/s": ("GB/s", 1e9), "/s": ("M/s", 1e6), "ps": ("us", 1e6), "accesses": ("count", 1)}
    for name, most in (("share", 0.9), ("share", 0.00007), ("byte/s", 4e9), ("/s", 90e6), ("ps", 2e8), ("accesses", 300)):
        marks = [most * k / 4 for k in range(5)]
        texts, title = b.evaluate(f"[format.marks({marks}, {most}, '{name}'), format.axisTitle('x', {most}, '{name}')]")
        unit, size = units[name]
        check(title == f"x ({unit})", f"an axis up to {most} {name} has the title {title}")
        wrong = [text for text, mark in zip(texts, marks) if not near(float(text) * size, mark, most)]
        check(not wrong, f"with marks at {marks} {name}, {wrong} are misplaced: {texts}")


def settings_of_a_bar_are_the_choices_and_find_room(b):
    small = ("workload.name=transpose", "workload.transpose.width=64", "workload.transpose.height=64", "gpu.sms=8")
    results = [made("plain.h5", *small),
               made("choices.h5", *small, "memory.remote_touch=migrate", "gpu.router.policy=gmmu_bypass", "gpu.l2_tlb.entries=256")]
    open_page(b, report("choices.html", *results))
    rows = b.evaluate("[...document.querySelectorAll('.bar-row')].map(e => e.textContent)")
    check("memory.remote_touch = \"migrate\"" in rows[1] and "router.policy = \"gmmu_bypass\"" in rows[1], f"a bar has the changed setting: {rows[1]}")
    check(not any("none" in row for row in rows), f"a bar omits derived settings: {rows}")
    wide = b.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    check(wide[0] <= wide[1], f"the page fits the window: {wide}")
    b.evaluate("document.querySelectorAll('.bar-row small').forEach(e => e.append(' and more'.repeat(100)))")
    wide = b.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    check(wide[0] <= wide[1], f"the page fits the window with long texts: {wide}")


def a_page_of_1024_gpus(b):
    open_page(b, os.path.join(build, "report_test", "large.html"))
    check(b.complaints() == [], f"1,024 GPUs: {b.complaints()}")
    check(b.evaluate("document.documentElement.dataset.ready") == "yes", "the page of 1,024 GPUs is drawn")
    _, rows = drawn(b, "l2_tlb")
    check("mean of 1024" in rows and len(rows) == 8, f"mean, minimum, maximum and the busiest: {list(rows)[:9]}")
    result = os.path.join(build, "report_test", "large.h5")
    left, top, _, _ = b.evaluate("placeOf(chartOf('gpu_map'))")
    x, y = b.evaluate("chartOf('gpu_map').placeOfGpu(777)")
    b.click(left + x, top + y)
    b.frame()
    check(shown_gpu(b) == "m97.gpu1", f"a click on a cell shows GPU 777, not {shown_gpu(b)}")
    with h5py.File(result) as f:
        at, hits, misses = (f["timeseries/l2_tlb/" + name][:] for name in ("time_ps", "hits", "misses"))
        hits, misses = hits[:, 777].astype(float), misses[:, 777].astype(float)
    times, rows = drawn(b, "one_l2_tlb")
    where = numpy.searchsorted(at, times)
    rates = [h / (h + m) for h, m in zip(numpy.diff(hits[where], prepend=0), numpy.diff(misses[where], prepend=0))]
    wrong = sum(abs(value - rate) > max(rates) / 254 for value, rate in zip(rows["m97.gpu1"], rates))
    check(wrong == 0 and len(rates) >= 16, f"{wrong} of {len(rates)} hit rates of GPU 777 differ from the file")
    check(b.evaluate("document.querySelectorAll('.gpu-links tbody tr').length") == 2, "its link has two directions")
    click_on(b, "document.querySelectorAll('svg.machine g[data-gpus]')[3]")
    first = b.evaluate("document.querySelectorAll('svg.machine g[data-gpus]')[3].dataset.gpus.split(',').length")
    check(shown_gpu(b).endswith(".gpu0") and first == 48, f"a click on a group shows its first GPU: {shown_gpu(b)} of {first}")
    check(b.evaluate("document.querySelectorAll('svg.machine g.chosen').length") == 1, "the group is marked")


def hostile_names_run_no_script(b):
    page = os.path.join(build, "report_test", "hostile.html")
    open_page(b, page)
    check(b.complaints() == [], f"hostile names: {b.complaints()}")
    check(not any(e.get("method") == "Page.javascriptDialogOpening" for e in b.events), "no foreign script runs")
    check(b.evaluate("document.documentElement.dataset.ready") == "yes", "the page is drawn")
    check("<script>alert(1)" in b.evaluate("document.querySelector('pre.config').textContent"), "names are shown as text")
    shown = shown_gpu(b)
    check(shown.startswith("gpu0<script>alert(1)"), f"a GPU is shown by its name: {shown}")
    b.evaluate("[...document.querySelectorAll('.chooser button')].find(e => e.textContent === 'next').click()")
    check(shown_gpu(b).startswith("gpu1<script>alert(1)"), "the next GPU is shown by its name")
    left, top, _, _ = b.evaluate("placeOf(chartOf('gpu_map'))")
    x, y = b.evaluate("chartOf('gpu_map').placeOfGpu(0)")
    b.mouse("mouseMoved", left + x, top + y)
    b.click(left + x, top + y)
    check(shown_gpu(b) == shown and b.evaluate("chartOf('gpu_map').nextSibling.textContent").startswith("gpu0<script>"), "a cell has its name as text")
    check(b.evaluate("document.querySelectorAll('.one-gpu script, .one-gpu img, datalist script').length") == 0, "a cell has no markup")
    check(not any(e.get("method") == "Page.javascriptDialogOpening" for e in b.events), "no foreign script runs on hovering")
    # If markup passed through, the policy of the page would still block it.
    with open(page, encoding="utf-8") as f:
        text = f.read()
    broken = os.path.join(folder.name, "broken.html")
    with open(broken, "w", encoding="utf-8") as f:
        f.write(text.replace("<header>", "<script>window.hit = 1</script><img src=x onerror='window.hit = 2'>"
                             "<img src='http://127.0.0.1:9/'><header>"))
    open_page(b, broken)
    check(b.evaluate("window.hit === undefined"), "the content policy blocks scripts")
    check(any("Content Security Policy" in found for found in b.complaints()), "the browser reports the blocked script")


def without_scripts_a_summary_remains(page):
    with browser.Browser(scripts=False) as b:
        b.open(page)
        # The DevTools can evaluate scripts that the page may not run.
        text = b.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; }), document.body.innerText")
        for part in ("Bottleneck: ", "SM activity", "executing", "access time by stage", "Resolved configuration",
                     "p50: ", "Page placement"):
            check(part in text, f"without scripts: '{part}'")
        check(b.evaluate("document.querySelector('svg.machine').getBoundingClientRect().height") > 50, "the machine is drawn")
        check(b.evaluate("document.querySelectorAll('canvas').length") == 0, "no script has run")


# A comma would end the name of a test, so * replaces it.
subprocess.run([test_cli, "-tc=report: markup in names and texts*,report: 1*GPUs make*"], check=True, stdout=subprocess.DEVNULL)
one = made("one.h5", "workload.name=bfs", "workload.bfs.rmat.scale=11", "gpu.sms=8", "memory.placement=interleave",
           "run.sample_interval=1us")
one_page = report("one.html", one)
with browser.Browser() as b:
    open_page(b, one_page)
    check(b.complaints() == [], f"the page reports errors: {b.complaints()}")
    drawn_values_are_those_of_the_file(b, one)
    lines_and_areas_are_drawn_where_their_values_are(b, one)
    stacks_add_up(b, one)
    dragging_zooms_all_charts(b, one)
    hovering_shows_values(b, one)
    a_click_shows_a_gpu(b, one)
    histograms_and_placement_are_those_of_the_file(b, one)
    links_take_the_colour_of_a_moment(b)
    several_runs(b)
    unfinished_operations_are_listed_and_drawn(b)
    ticks_of_an_axis_are_at_their_values(b)
    settings_of_a_bar_are_the_choices_and_find_room(b)
    a_page_of_1024_gpus(b)
    hostile_names_run_no_script(b)
without_scripts_a_summary_remains(one_page)
print(counts())
sys.exit(0 if counts().endswith(" 0 failed") else 1)
