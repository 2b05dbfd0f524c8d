# SPDX-License-Identifier: Apache-2.0
"""results.md: measured and published figures, with explanations from the statistics if they differ."""

import figures
import grid
import local_share
import readings
import records
from figures import PAPER, gain, percent
from measure import divide
from provenance import sentence
from study import DESIGNS, FOLDER, MAIN, WORKLOADS, show_bytes
from tables import table

DESIGN_NAMES = {"distributed": "distributed", "centralized": "centralized", "gmmu_bypass": "bypass", "oracle": "ideal"}


def write(folder, results, made, plots, found=None, cells=None):
    """Writes results.json.xz and results.md into `folder`. results: {placement: {workload: {design: measures}}}; made: the mark of
    provenance.py; found: the readings or None; cells: the grid or None."""
    rows = figures.rows(results) + (readings.rows(found) if found else []) + (grid.rows(cells) if cells else [])
    records.write(folder, about=made, rows=rows)
    lines = ["# GMMU Bypass: the paper and Farfault", ""]
    main = show_bytes(made["footprints"].get(MAIN, 0))
    if found:
        lines += [readings.first_paragraph(found, results, main, grid.sentence(settings_of(results, found, cells))), ""]
    lines += head(made)
    lines += overview(results)
    lines += local_share.section(results, main, found)
    if found:
        lines += readings.section(found) + [""]
    if cells:
        lines += grid.section(cells)
    discussion = (FOLDER / "discussion.md").read_text().strip()
    lines += ["", discussion]
    for placement, runs in results.items():
        lines += section(placement, runs, made["footprints"][placement])
    lines += ["", "## Plots", ""] + [f"![{title}]({file})" for file, title in plots]
    lines += sizes_table(results)
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")


def settings_of(results, found, cells):
    """{words: means} of all settings: placements of the figures, readings, and cells of the grid (the one with headroom is a reading)."""
    means = {f"the preset, {p}": {n: figures.mean(v.values()) for n, v in figures.series(runs).items()} for p, runs in results.items()}
    means |= {readings.name(k): m for k, m in found.means.items()}
    return means | ({grid.words(c): m for c, m in cells.means.items() if c != grid.ROOM} if cells else {})


def head(made):
    changed = " with " + ", ".join(f"`{k} = {v}`" for k, v in made["settings"].items()) if made["settings"] else ""
    sizes = {}
    for placement, footprint in made["footprints"].items():
        sizes.setdefault(show_bytes(footprint), []).append(placement)
    return [
        f"Written by `run`; do not edit. {sentence(made)} {PAPER['source']}",
        "",
        "; ".join(f"{size} per workload ({', '.join(names)})" for size, names in sizes.items()) +
        f" on the preset `paper-gmmu-bypass`{changed}. Performance is the "
        "inverse of the summed kernel times, each from the launch at the host to the notification of its completion. "
        "Averages are arithmetic means of the workloads' ratios; medians are given, too, and geometric means in "
        "results.json.xz. Paper: only numbers that its text states; bars are not "
        "read off. `-`: no events to count.",
    ]


def shown(value, show):
    return "-" if value is None else show(value)


def overview(results):
    body = []
    for name in ["bypass_over_distributed", "oracle_over_distributed"] + [n for n in PAPER["averages"] if n != "bypass_over_distributed"]:
        as_gain = figures.SERIES[name][1] == "ratio" and name != "bypass_of_oracle"
        show = gain if as_gain else percent
        found = [list(figures.series(runs)[name].values()) for runs in results.values()]
        body.append([f"{figures.SERIES[name][2]} (Fig. {figures.SERIES[name][0]})", show(figures.paper(name))] +
                    [f"{shown(figures.mean(v), show)} ({shown(figures.median(v), show)})" for v in found])
    counts = []
    for runs in results.values():
        verdicts = [c[4] for c in figures.claims(runs) if c[4] is not None]
        counts.append(f"{sum(verdicts)} of {len(verdicts)}")
    body.append(["statements of the paper that hold", ""] + counts)
    return ["", "## Summary", ""] + table(["average over the workloads (median)", "paper"] + list(results), body)[1:]


def section(placement, runs, footprint):
    lines = ["", f"## Placement: {placement}, {show_bytes(footprint)}", "", "### Statements of the paper"]
    words = {True: "yes", False: "**no**", None: "-"}
    lines += table(["figure", "kind", "statement", "measured", "holds"],
                   [[f, k, t, m, words[v]] for f, k, t, m, v in figures.claims(runs)], text=True)
    lines += [f"Designs within {figures.TIE * 100:g}% of each other are equal; similar: at most {figures.SIMILAR * 100:g}% slower. The size of a gain "
              f"agrees between 1/{figures.SIZE:g} and {figures.SIZE:g} times the paper's, an accuracy within 10 "
              "points.", "", "### Figs. 3 and 5: performance"]
    s = figures.series(runs)
    names = ["centralized_over_distributed", "bypass_over_distributed", "oracle_over_distributed",
             "bypass_over_centralized", "bypass_of_oracle"]
    lines += per_workload(runs, s, names, {"bypass_of_oracle": percent})
    lines += ["### Fig. 6: prediction accuracy", "",
              "Accuracy: share of the requests sent to one unit only that found their page; number of these requests; by epochs: share of the epochs "
              "whose own ratio was beyond the same threshold as the previous one's. In the first 10 us no ratio is available: nothing is "
              "predicted, and requests are sent to the GMMU. Workloads without these requests or epochs are excluded from average and median."]
    body = []
    for w, designs in runs.items():
        d = designs.get("gmmu_bypass")
        if d:
            body.append([WORKLOADS[w], shown(d["accuracy_above_t1"], percent), d["predicted_local"], shown(d["epochs_above_t1"], percent),
                         shown(d["accuracy_below_t2"], percent), d["predicted_remote"], shown(d["epochs_below_t2"], percent), d["undecided"]])
    for kind, middle in (("average", figures.mean), ("median", figures.median)):
        above, above_epochs, below, below_epochs = (shown(middle(s[n].values()), percent) for n in
                                                    ("accuracy_above_t1", "epochs_above_t1", "accuracy_below_t2", "epochs_below_t2"))
        body.append([kind, above, "", above_epochs, below, "", below_epochs, ""])
    body.append(["paper", percent(PAPER["averages"]["accuracy_above_t1"]["value"]), "", "",
                 percent(PAPER["averages"]["accuracy_below_t2"]["value"]), "", "", ""])
    lines += table(["", "above T1", "requests to the GMMU only", "by epochs", "below T2", "requests to the IOMMU only", "by epochs",
                    "requests to both"], body)
    lines += ["### Fig. 7: page walks, bypass over distributed"]
    lines += per_workload(runs, s, ["gmmu_walks", "iommu_walks", "all_walks", "sent_to_both"], {"sent_to_both": percent}, totals=True)
    if placement == "recorded":  # the figures of the other placements are in results.json.xz
        lines += ["### Counters"] + counters(runs)
    lines += explanations(runs)
    return lines


def per_workload(runs, s, names, shows, totals=False):
    header = [""] + [figures.SERIES[n][2] for n in names]
    show = {n: shows.get(n, gain) for n in names}
    body = [[WORKLOADS[w]] + [shown(s[n][w], show[n]) for n in names] for w in runs]
    body.append(["average"] + [shown(figures.mean(s[n].values()), show[n]) for n in names])
    body.append(["median"] + [shown(figures.median(s[n].values()), show[n]) for n in names])
    if totals:
        body.append(["all together"] + ["" if figures.SERIES[n][1] == "share" else
                                        shown(figures.totals(runs, *(["gmmu_walks", "iommu_walks"] if n == "all_walks" else [n])), gain)
                                        for n in names])
    stated = {n: figures.paper(n) for n in names}
    body.append(["paper, average"] + [shown(stated[n], show[n]) for n in names])
    for w in runs:
        mine = {n: PAPER["workloads"].get(w, {}).get(n, {}).get("value") for n in names}
        if any(v is not None for v in mine.values()):
            body.append([f"paper, {WORKLOADS[w]}"] + [shown(mine[n], show[n]) for n in names])
    return table(header, body)


def counters(runs):
    number = "{:.0f}".format
    header = ["", "design", "kernels, us", "L2 TLB misses per us", "L1 / L2 TLB hits", "local share of GMMU walks",
              "ns per miss", "busy walkers per GMMU", "IOMMU requests per us", "IOMMU TLB hits", "busy IOMMU walkers",
              "remote accesses", "PCIe utilization: from a GPU, from the CPU, busiest switch output"]
    body = []
    for w, designs in runs.items():
        for design in DESIGNS:
            d = designs.get(design)
            if not d:
                continue
            body.append([WORKLOADS[w], DESIGN_NAMES[design], number(d["kernel_ns"] / 1e3), f"{d['requests_per_us']:.1f}",
                         f"{shown(d['l1_tlb_hits'], percent)} / {shown(d['l2_tlb_hits'], percent)}",
                         shown(d["local_walks"], percent), shown(d["latency_ns"], number),
                         shown(d["gmmu_busy"], "{:.1f}".format), f"{d['iommu_per_us']:.1f}",
                         shown(d["iommu_tlb_hits"], percent), shown(d["iommu_busy"], "{:.1f}".format),
                         shown(d["remote"], percent),
                         ", ".join(shown(d[n], percent) for n in ("gpu_link", "cpu_link", "switch_link"))])
    return table(header, body)


def explanations(runs):
    """Explanations from measured values, for each workload with a different winner than in the paper."""
    lines = []
    for w, d in runs.items():
        if not {"distributed", "centralized"} <= set(d):
            continue
        a, b = d["distributed"], d["centralized"]
        ratio = figures.speed(d, "centralized", "distributed")
        if w in PAPER["distributed_wins"] and ratio >= 1 - figures.TIE:
            claim = f"in the paper distributed is ahead; here centralized is {gain(ratio)}"
        elif w in PAPER["centralized_wins"] and ratio <= 1 + figures.TIE:
            claim = f"in the paper centralized is ahead; here it is {gain(ratio)}"
        else:
            continue
        lines.append(f"- **{WORKLOADS[w]}**: {claim}. " + " ".join(why(d, a, b)))
    if lines:
        lines = ["Workloads with a different winner than in the paper:", ""] + lines + [""]
    losses = [f"- **{WORKLOADS[w]}**: {loss(d)}" for w, d in runs.items()
              if {"distributed", "gmmu_bypass"} <= set(d)
              and figures.speed(d, "gmmu_bypass", "distributed") < 1 - figures.SIMILAR]
    if losses:
        lines += ["Workloads with bypass behind distributed by more than the paper's \"similar\":", ""] + losses + [""]
    return lines


def loss(d):
    a, b = d["distributed"], d["gmmu_bypass"]
    said = (f"{gain(figures.speed(d, 'gmmu_bypass', 'distributed'))}. The IOMMU receives {divide(b['iommu_requests'], a['iommu_requests']):.2f} "
            f"times as many requests, and {b['iommu_busy']:.1f} of its walkers are busy ({a['iommu_busy']:.1f} in distributed); "
            f"a miss takes {b['latency_ns']:.0f} ns ({a['latency_ns']:.0f}).")
    if b["accuracy_below_t2"] is not None:
        said += (f" {percent(b['accuracy_below_t2'])} of the requests of epochs below T2, which are sent only to the IOMMU, were for"
                 f" remote pages; the others did not need it.")
    return said


def why(designs, a, b):
    said = []
    if a["requests"] == 0:
        return ["No request misses the L2 TLB."]
    local = a["local_walks"] or 0
    said.append(f"In distributed, {percent(local)} of the GMMU walks are local, and a miss takes "
                f"{a['latency_ns']:.0f} ns, in centralized {b['latency_ns']:.0f} ns.")
    if local > 0.9:
        said.append("Nearly all walks are local, so GMMU walks rarely fail.")
    elif local < 0.1:
        said.append("Nearly all walks are remote, so distributed wastes a GMMU walk on almost every request.")
    ideal = figures.speed(designs, "oracle", "distributed")
    if ideal is not None and abs(ideal - 1) < 0.01:
        said.append(f"Failed walks cost little: even the ideal scheme is only {gain(ideal)} ahead of distributed.")
    if a["first_touches"] > 0.3 * a["requests"]:
        said.append(f"{a['first_touches']} of {a['requests']} requests are first touches of a page, which only the "
                    "IOMMU can map.")
    link = max(b["switch_link"] or 0, b["gpu_link"] or 0)
    if link > 0.85:
        said.append(f"PCIe is the bottleneck: {percent(link)} utilization of its busiest link.")
    if (b["iommu_busy"] or 0) > 6:
        said.append(f"The IOMMU is the bottleneck of centralized: {b['iommu_busy']:.1f} of its walkers are busy on average.")
    return said


def sizes_table(results):
    seen = {}
    for placement, runs in results.items():
        for w, designs in runs.items():
            for d in designs.values():
                seen.setdefault((w, d["footprint"], d["kernels"]), []).append(placement)
    lines = ["", "## Sizes", "", "Simulated bytes of all buffers; `workloads/*.toml` describe the parameters that determine them."]
    return lines + table(["", "workload", "footprint", "kernels", "placements"],
                         [[WORKLOADS[w], w, show_bytes(n), k, ", ".join(dict.fromkeys(where))]
                          for (w, n, k), where in sorted(seen.items(), key=lambda e: list(WORKLOADS).index(e[0][0]))])
