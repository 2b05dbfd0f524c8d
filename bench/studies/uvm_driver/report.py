# SPDX-License-Identifier: Apache-2.0
"""results.md and results.json.xz: the model's predictions for NVIDIA's driver."""
from pathlib import Path

import lines_check
import records
from lines_check import failed  # noqa: F401, for run
from measure import WIRE
from parts import ASSUMED, OTHERS, UPDATES, VARIED_SHARES, cell
from provenance import sentence
from study import FOLDER, GRAPHS, PRESET, ROOT, SHARES, SIZES, STRIDED, WORKLOADS
from tables import table

NAMES = WORKLOADS | GRAPHS | STRIDED
WIRE_US = 2**20 / WIRE * 1e6  # per MiB


def show(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


def percent(value):
    return "-" if value is None else f"{value:.0%}"


class Figures:
    """{(what, workload, share): measures} by part."""

    def __init__(self, measured):
        self.measured = measured

    def of(self, part, what, workload, share):
        return self.measured.get(part, {}).get((what, workload, cell(share)))


def rows(f, columns, whats=("tree", "none")):
    out = []
    for what in whats:
        for w in WORKLOADS:
            for share in SHARES:
                found = f.of("driver", what, w, share)
                if found:
                    out.append([WORKLOADS[w], cell(share), what] + [make(found) for _, make in columns])
    return [["workload", "memory", "prefetch"] + [name for name, _ in columns]] + out


def batches(f):
    columns = [("batches", lambda m: m["batches"]), ("raw faults", lambda m: show(m["raw_faults"])),
               ("median", lambda m: show(m["raw_faults_median"], 0)), ("with 256", lambda m: percent(m["full"])),
               ("duplicates", lambda m: percent(m["duplicates"])), ("distinct pages", lambda m: show(m["distinct"])),
               ("blocks", lambda m: show(m["blocks"])), ("SMs", lambda m: show(m["sms"])), ("prefetched", lambda m: percent(m["prefetched"]))]
    header, *body = rows(f, columns)
    return ["## Batch contents", "",
            "Means over the batches of a run. Raw faults: fault-buffer entries (the driver reads at most 256 per batch); with 256: share of the batches "
            "with 256 raw faults; duplicates: share of raw faults on a page that the batch already contains or that is already resident; distinct pages: "
            "the other faults; blocks: VA blocks of 2 MiB; prefetched: share of all migrated pages."] + table(header, body)


def times(f):
    columns = [("kernel, ms", lambda m: show(m["kernel_us"] / 1e3, 2)), ("batch, us", lambda m: show(m["batch_us"])),
               ("median", lambda m: show(m["batch_us_median"])), ("until the first transfer", lambda m: show(m["until_us"])),
               ("MiB per batch", lambda m: show(m["batch_mib"], 2)), ("in, MiB total", lambda m: show(m["in_mib"], 0)),
               ("out", lambda m: show(m["out_mib"], 0)), ("wire", lambda m: percent(m["wire"])), ("of kernel time", lambda m: percent(m["in_batches"]))]
    header, *body = rows(f, columns)
    return ["## Batch times", "",
            f"Wire: time of the bytes at {WIRE / 1e9:g} GB/s, one direction after the other, as a share of batch time; of kernel time: share of "
            "the kernel's time in which the driver serves a batch."] + table(header, body)


def fits(f):
    columns = [("a, us", lambda m: show(m["fit_us"])), ("b, us per MiB", lambda m: show(m["fit_us_per_mib"])),
               ("1 / b, GB/s", lambda m: show(2**20 / m["fit_us_per_mib"] / 1e3, 2) if m["fit_us_per_mib"] else "-"),
               ("R2", lambda m: show(m["fit_r2"], 2)), ("batches", lambda m: m["batches"])]
    header, *body = rows(f, columns)
    return ["## Batch time by bytes", "",
            "Least squares over the batches of a run: time = a + b x bytes, with the bytes of both directions. The wire alone has "
            f"b = {WIRE_US:.1f} us per MiB."] + table(header, body)


def change(found, base, name):
    return f"{found[name] / base[name] - 1:+.0%}" if found and base and base[name] and found[name] is not None else "-"


def varied(f, part, title, text, constants):
    body = []
    for key, default, values in constants:
        for value in values:
            for w in WORKLOADS:
                for share in VARIED_SHARES:
                    found, base = f.of(part, f"{key}={value}", w, share), f.of("driver", "tree", w, share)
                    if not found:
                        continue
                    body.append([f"`{key}`", default, value, WORKLOADS[w], cell(share)] +
                                [change(found, base, name) for name in ("kernel_us", "batches", "raw_faults", "batch_us", "fit_us", "fit_us_per_mib")] +
                                [show(found["fit_us"]), show(found["fit_us_per_mib"])])
    header = ["parameter", "preset", "value", "workload", "memory", "kernel", "batches", "raw faults", "batch, us", "a", "b", "a, us", "b, us per MiB"]
    return [f"## {title}", "", text] + table(header, body)


def assumed(f):
    return varied(f, "assumed", "Assumed parameters", "Each constant without a source: software times at a tenth and ten times their values, the others halved and doubled. Changes of "
                  "the figures above.", ASSUMED)


def others(f):
    return varied(f, "others", "Other parameters",
                  "Parameters with a source at other values, and random access with updates. Changes of the figures above.",
                  OTHERS + [(UPDATES, "false", ["true"])])


def constants():
    """The preset's settings, each with the comment that gives its source."""
    body, table_name = [], ""
    for text in (ROOT / f"topologies/presets/{PRESET}.toml").read_text().splitlines():
        if text.startswith("["):
            table_name = text.strip("[]")
        elif " = " in text and not text.startswith(("#", "include")):
            setting, _, source = text.partition("  # ")
            key, _, value = setting.partition(" = ")
            body.append([f"`{table_name}.{key}`", value.strip().strip('"'), source or f"`topologies/presets/{PRESET}.toml`"])
    return ["## Constants", ""] + table(["parameter", "value", "source"], body)


def write(folder, measured, made):
    folder.mkdir(parents=True, exist_ok=True)
    f = Figures(measured)
    listed = [{"part": part, "what": key[0], "workload": key[1], "memory": key[2]} | m for part, found in measured.items() for key, m in found.items()]
    records.write(folder, about=made, rows=listed)
    sizes = "; ".join(f"{NAMES[w]}: " + ", ".join(f"{k} {v}" for k, v in size.items()) for w, size in SIZES[made["size"]].items())
    lines = ["# NVIDIA's UVM driver: predictions of the model", "", f"Written by `run`; do not edit. {sentence(made)}", "",
             f"Preset `{PRESET}`: a V100 on PCIe 3.0 x16, 4 KiB pages. {sizes}. Memory: GPU memory as a share of the buffers."]
    if made["size"] == "quick":
        lines += ["", "**Generated with `--quick`**: only software times and the replay policy are varied, with all memory."]
    lines += [""]
    discussion = FOLDER / "discussion.md"
    if discussion.exists() and Path(folder).resolve() == FOLDER:
        lines += [discussion.read_text().strip(), ""]
    sections = {"driver": [batches, times, fits], "assumed": [assumed], "others": [others]}
    for name, functions in sections.items():
        if measured.get(name):
            for function in functions:
                lines += function(f)
    if measured.get("checks"):
        lines += lines_check.section(measured)
    lines += constants() + ["", "The first half of each digest is in results.json.xz."]
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")
