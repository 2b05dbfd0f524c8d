# SPDX-License-Identifier: Apache-2.0
"""Tables, sentences and the plot."""
import csv
import statistics

import vector
from matplotlib import pyplot as plt
from matplotlib.ticker import NullLocator

import records
import study
from measure import PUBLISHED
from provenance import sentence
from study import GPUS, KIB, MEASURED, MIB


def error(model, measured):
    return (model - measured) / measured


def percent(x):
    return f"{100 * x:+.0f}%"


def near(curve, mhz, footprint, line):
    """The model's cycles at a footprint of a published curve, at the curve's clock."""
    return next(c for m, f, c in curve if m == mhz and f == max(line, footprint // line * line))


def judged(found):
    """[gpu, what, published, model, error, source, role] of every published figure that the model also has."""
    rows = []
    for v in PUBLISHED["values"]:
        g = v["gpu"]
        if g not in found or v["what"] == "tlb_miss" or v["what"].startswith("pair_") and v["what"] not in found[g]:
            continue
        m = found[g]
        if v["what"] in ("l1", "l2", "memory"):
            model = m["levels"][v["what"]]
        elif v["what"].endswith("_share"):
            model = round(m[v["what"].removesuffix("_share")] / m["peak"], 3)
        else:
            model = m[v["what"]]
        rows.append([g, v["what"], f"{v['value']:g} {v['unit']}", f"{model:g}", error(model, v["value"]), v["source"], v["role"]])
    return rows


def judged_curves(found):
    rows = []
    for c in PUBLISHED["curves"]:
        if c["gpu"] not in found:
            continue
        m = found[c["gpu"]]
        known = {(mhz, f): cycles for mhz, f, cycles in m["curve"]}
        for kib, cycles in c["kib_cycles"]:
            at = (c["mhz"], max(m["line"], kib * KIB // m["line"] * m["line"]))
            if at in known:
                rows.append([c["gpu"], kib, cycles, known[at], error(known[at], cycles), c["of"]])
    return rows


def tlb_rows(path):
    """[(footprint MB, {stride KB: cycles})] of a file of cuda-gpu-tlb."""
    with open(path) as f:
        lines = [line for line in csv.reader(f) if line]
    strides = [int(s) for s in lines[1][1:] if s]
    return [(float(r[0]), {s: int(v) for s, v in zip(strides, r[1:]) if v}) for r in lines[2:]]


def steps(path, stride):
    """The low and the high plateau of one column of a file of cuda-gpu-tlb: its first value, and the median of its last quarter."""
    values = [row[stride] for _, row in tlb_rows(path) if stride in row]
    return values[0], statistics.median(values[-len(values) // 4:])


def sharers(path):
    """For each SM, the number of SMs, itself included, that share the TLB of the file."""
    rows = path.read_text().split("which SMs share TLB")[1].splitlines()[2:]
    return [row.split().count(".X") for row in rows if row.strip()]


def data_section(found):
    if not MEASURED.is_dir():
        return ["## Comparison with ../shared/data/measured", "", "Skipped: the folder is missing.", ""]
    lines = ["## Comparison with ../shared/data/measured", ""]
    vcopy = {}
    with open(MEASURED / "amd-utcl1-vcopy.csv") as f:
        for row in csv.DictReader(f):
            vcopy.setdefault(row["gpu"], []).append(row)
    lines += ["`amd-utcl1-vcopy.csv`: a copy of 8 MiB. The model's L1 TLB misses are the requests of SMs to the L2 TLB, one per page and CU. "
              "Kernel times exclude the host's launch latency and completion latency.", "",
              "| GPU | L1 TLB misses, measured | model | error | kernel time, measured (median) | model | error |", "|---|--:|--:|--:|--:|--:|--:|"]
    for name, gpu in (("MI100", "mi100"), ("MI200", "mi210")):
        if gpu not in found or "vcopy" not in found[gpu]:
            continue
        misses = statistics.median(float(r["utcl1_miss"]) for r in vcopy[name])
        ns = statistics.median(float(r["kernel_ns"]) for r in vcopy[name])
        m = found[gpu]["vcopy"]
        lines.append(f"| {name} | {misses:.0f} | {m['pages_asked']} | {percent(error(m['pages_asked'], misses))} "
                     f"| {ns / 1e3:.1f} us | {m['kernel_ns'] / 1e3:.1f} us | {percent(error(m['kernel_ns'], ns))} |")
    folder = MEASURED / "cuda-gpu-tlb"
    lines += ["", "`cuda-gpu-tlb`: cycles of a TLB miss on K80 and P100, compared with the preset of V100, the nearest GPU with a source. "
              "K80 and P100 have no preset (README.md gives the reason).", "",
              "| level | file, stride | measured | V100 preset |", "|---|---|--:|--:|"]
    table = [("L1 TLB miss", "K80-TLB-Test-1-5-64-256.csv", 128, "l1_tlb_miss"),
             ("L2 TLB miss", "K80-TLB-Test-48-300-1024-4096.csv", 2048, "walk_in_l2"),
             ("L3 TLB, from 1,500 MB", "K80-TLB-Test-1500-5000-1024-4096.csv", 2048, None),
             ("L1 TLB miss", "P100-TLB-Test-12-80-1024-4096.csv", 2048, "l1_tlb_miss"),
             ("L2 TLB miss", "P100-TLB-Test-1472-4992-16384-65536.csv", 32768, "walk_in_l2")]
    stages = found.get("v100", {}).get("stages", {})
    for level, name, stride, key in table:
        low, high = steps(folder / name, stride)
        lines.append(f"| {level} | {name}, {stride} KB | {low} to {high:.0f}: {high - low:+.0f} | {stages.get(key, '')} |")
    lines += ["", "SMs that share a TLB, from the `TLBsharing` files. The model has one L1 TLB per SM and one L2 TLB for all SMs.", "",
              "| file | SMs | SMs per TLB |", "|---|--:|---|"]
    for name in sorted(folder.glob("*-TLBsharing-*.txt")):
        counts = sharers(name)
        shared = ", ".join(str(n) for n in sorted(set(counts))) if any(counts) else "no difference between pairs"
        lines.append(f"| {name.name} | {len(counts)} | {shared} |")
    lines.append("")
    return lines


def plot(folder, found, made):
    shown = [g for g in GPUS if g in found]
    figure, axes = plt.subplots(2, 3, figsize=(12, 6.4), layout="constrained")
    for ax in axes.flat:
        ax.set_visible(False)
    for ax, g in zip(axes.flat, shown):
        ax.set_visible(True)
        mhz = found[g]["mhz"]
        points = sorted({(f / MIB, c / m * 1e3) for m, f, c in found[g]["curve"] if m == mhz})
        ax.plot(*zip(*points), ".-", lw=1, ms=3, color="#1f5fa8", label="model")
        for c in PUBLISHED["curves"]:
            if c["gpu"] == g:
                ax.plot([k / 1024 for k, _ in c["kib_cycles"]], [y / c["mhz"] * 1e3 for _, y in c["kib_cycles"]], "o", ms=3,
                        mfc="none", color="#c0392b", label=f"{c['of']}, {c['source']}")
        for v in PUBLISHED["values"]:
            if v["gpu"] == g and v["role"] == "input" and v["source"] == "mt4g":
                ax.axhline(v["value"] / v["mhz"] * 1e3, lw=0.6, ls=":", color="#777777")
        ax.set(xscale="log", title=GPUS[g], xlabel="footprint, MiB", ylabel="ns per load", ylim=(0, None))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.legend(fontsize=7, loc="upper left")
    vector.save(figure, folder / "chase.svg", "Pointer chase: load latency by footprint", sentence(made))


def write(folder, found, made):
    for g in found.values():
        at = [(f, c) for mhz, f, c in g["curve"] if mhz == g["mhz"]]
        g["levels"] = {"l1": min(c for _, c in at), "l2": level(g, at, "l2"), "memory": at[-1][1]}
    rows, points = judged(found), judged_curves(found)
    lines = ["# GPU presets compared with real GPUs", "",
             "Written by `run" + (" --quick" if made["quick"] else "") + f"`; do not edit. {sentence(made)}", "", "*Input* figures determine presets; only *judge* figures count in the errors, and no constant was "
             "fitted to them (`published.json` lists both, with sources).", "",
             "| GPU | median error of the curve | points | median error of single figures | figures | read, share of peak | copy, share of peak |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    for g in found:
        curve = [abs(r[4]) for r in points if r[0] == g]
        single = [abs(r[4]) for r in rows if r[0] == g and r[6] == "judge"]
        lines.append(f"| {GPUS[g]} | {f'{100 * statistics.median(curve):.0f}%' if curve else 'no curve'} | {len(curve)} "
                     f"| {f'{100 * statistics.median(single):.0f}%' if single else 'none'} | {len(single)} "
                     f"| {found[g]['read'] / found[g]['peak']:.2f} | {found[g]['copy'] / found[g]['peak']:.2f} |")
    lines += ["", "![pointer chase: load latency by footprint](chase.svg)", "",
              "Dotted: the levels that determine the presets. The model deviates most from the curve between two "
              "capacities, where the real L2 has two partitions, and beyond all caches, where a TLB miss is added.", "",
              "## Single figures", "", "Inputs determine the preset, directly or through a derived figure, so no median includes them.", "",
              "| GPU | figure | published | model | error | source | role |", "|---|---|--:|--:|--:|---|---|"]
    lines += [f"| {GPUS[g]} | {what} | {value} | {model} | {percent(e)} | {source} | {role} |"
              for g, what, value, model, e, source, role in sorted(rows, key=lambda r: r[6] == "input")]
    lines += ["", "## Bandwidth", "", "Two GPUs: GPU 0 reads or writes the memory of another GPU of a machine with this preset (`study.py: MACHINES`).", "",
              "| GPU | peak, GB/s | read | copy, both directions | L2 read | two GPUs, read | two GPUs, write |", "|---|--:|--:|--:|--:|--:|--:|"]
    lines += [f"| {GPUS[g]} | {m['peak']:.0f} | {m['read']:.0f} | {m['copy']:.0f} | {m['l2_read']:.0f} "
              f"| {m.get('pair_read', '')} | {m.get('pair_write', '')} |" for g, m in found.items()]
    lines += ["", *data_section(found), "## Inputs", "", "| GPU | level | cycles | clock, MHz | source |", "|---|---|--:|--:|---|"]
    lines += [f"| {GPUS[v['gpu']]} | {v['what']}{', ' + v['note'] if 'note' in v else ''} | {v['value']} | {v['mhz']} | {v['source']} |"
              for v in PUBLISHED["values"] if v["role"] == "input" and v["gpu"] in found]
    lines += ["", "## Sources", ""] + [f"- `{k}`: {s['title']}; {s['note']}" for k, s in PUBLISHED["sources"].items()]
    (folder / "results.md").write_text("\n".join(lines) + "\n")
    records.write(folder, about=made, gpus=found)
    plot(folder, found, made)
    return folder / "results.md"


def level(g, at, name):
    """Cycles at half of the cache or, with partitions, half of an SM's partition."""
    return next(c for f, c in at if f == g["l2_bytes"] // 2)
