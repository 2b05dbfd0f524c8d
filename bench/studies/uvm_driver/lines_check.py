# SPDX-License-Identifier: Apache-2.0
"""The checks of the study: mean batches compared with published batch logs, the median batch with Kim et al.

A check fails if the result differs from the published figure by more than 25% or is outside the published range.
"""
from batch_lines import BLOCK_KIB, LIMIT, LINES, modelled, one_density, published, rows
from parts import READINGS
from study import GRAPHS, STRIDED, WORKLOADS
from tables import table

# Published lines with batches that a workload reproduces (prefetching off, all memory). stream has three arrays and one
# thread per element, like vectoradd; sgemm is a matrix product.
PRODUCED = {"vectoradd": "stream", "sgemm": "sgemm"}
# Kim et al. (ASPLOS 2020), section 3: BFS on a Titan Xp. "The batch processing time is measured to be in the range of 223us to 553us
# with a median of 313us".
KIM = (223, 553)
# Allen and Ge: batches of strided programs hold 245 of 256 faults.
STRIDED_FAULTS = 245
SOURCES = {
    "preset": "the fit: Allen and Ge (SC 2021), lines of stream, sgemm, hpgmg and cufft; 30 SMs in graph workloads, as the Titan Xp of Kim et al.",
    "80 SMs": "the SMs of the preset's V100 in graph workloads, too",
    "before the fit": "earlier values of the preset, without a batch log: `page_time` of 100 ns, `block_time` of 5 us, `time` of 10 us, no `interrupt_time`",
    "prefetched as faulted": "none: the published lines are without prefetching; a prefetched page may take as long as a faulted one",
    "no interrupt time": "uvm_gpu_isr.c has an interrupt and the wake-up of a thread before a batch; no log contains their time",
    "messages of 5 us": "none: ten times the preset's assumed `notify_latency`, in place of the interrupt time",
}


def find(measured, part, what, workload):
    return measured.get(part, {}).get((what, workload, "100%"))


def of_lines(measured):
    """[workload, program, reading, measures, published us, relative difference] of the mean batch."""
    found = []
    for w, program in PRODUCED.items():
        for part, what, reading in (("driver", "none", "preset"), *(("checks", r, r) for r in READINGS)):
            m = find(measured, part, what, w)
            if m and m["batches"]:
                us = published(program, m["batch_mib"] * 1024)
                found.append([w, program, reading, m, us, m["batch_us"] / us - 1])
    return found


def of_kim(measured):
    """[workload, reading, measures, True if within the range] of the median batch."""
    found = []
    for w in GRAPHS:
        for what in ["preset", *READINGS]:
            m = find(measured, "checks", what, w)
            if m and m["batches"]:
                found.append([w, what, m, KIM[0] <= m["batch_us_median"] <= KIM[1]])
    return found


def of_strided(measured):
    """[workload, reading, measures, relative difference] of the mean batch's faults."""
    found = []
    for w in STRIDED:
        for what in ["preset", *READINGS]:
            m = find(measured, "checks", what, w)
            if m and m["batches"]:
                found.append([w, what, m, m["raw_faults"] / STRIDED_FAULTS - 1])
    return found


def failed(measured):
    """Sentences about failed checks of the preset."""
    off = [f"{program}: the mean batch of {w} deviates by {residual:+.0%} from the published line"
           for w, program, reading, _, _, residual in of_lines(measured) if reading == "preset" and abs(residual) > LIMIT]
    off += [f"{w}: the median batch, {m['batch_us_median']:.0f} us, is outside {KIM[0]} to {KIM[1]} us"
            for w, what, m, within in of_kim(measured) if what == "preset" and not within]
    off += [f"{w}: the mean batch has {m['raw_faults']:.0f} faults (published: {STRIDED_FAULTS})"
            for w, what, m, residual in of_strided(measured) if what == "preset" and abs(residual) > LIMIT]
    off += [f"fit: {program}, {kib} KiB: residual {residual:+.0%}" for program, kib, *_, residual in rows() if abs(residual) > LIMIT]
    return off


def of_readings(measured):
    """Each reading with its source, and the results of all checks."""
    lines = {(w, what): residual for w, _, what, _, _, residual in of_lines(measured)}
    kim = {(w, what): m for w, what, m, _ in of_kim(measured)}
    strided = {(w, what): m for w, what, m, _ in of_strided(measured)}
    return [[what, source] + [f"{lines[w, what]:+.0%}" if (w, what) in lines else "-" for w in PRODUCED] +
            [f"{kim[w, what]['batch_us_median']:.0f}" if (w, what) in kim else "-" for w in GRAPHS] +
            [f"{strided[w, what]['raw_faults']:.0f}" if (w, what) in strided else "-" for w in STRIDED] for what, source in SOURCES.items()]


def verdict(good):
    return "within" if good else "OUTSIDE"


def section(measured):
    lines = [[WORKLOADS[w], program, reading, f"{m['batch_mib'] * 1024:.0f}", f"{m['distinct']:.1f}", f"{m['blocks']:.1f}", f"{m['raw_faults']:.0f}",
              f"{us:.0f}", f"{m['batch_us']:.0f}", f"{residual:+.0%}", verdict(abs(residual) <= LIMIT)]
             for w, program, reading, m, us, residual in of_lines(measured)]
    kim = [[GRAPHS[w], what, str(m["batches"]), f"{m['batch_us_least']:.0f}", f"{m['batch_us_median']:.0f}", f"{m['batch_us_most']:.0f}",
            f"{m['until_us_median']:.0f}", verdict(within)] for w, what, m, within in of_kim(measured)]
    strided = [[STRIDED[w], what, str(m["batches"]), f"{m['raw_faults']:.0f}", f"{STRIDED_FAULTS}", f"{m['blocks']:.1f}", f"{m['sms']:.1f}",
                f"{residual:+.0%}", verdict(abs(residual) <= LIMIT)] for w, what, m, residual in of_strided(measured)]
    fits = [[program, str(kib), f"{us:.0f}", f"{blocks:.2f}", f"{made:.0f}", f"{residual:+.1%}", verdict(abs(residual) <= LIMIT)]
            for program, kib, us, blocks, made, residual in rows()]
    dense = [[program, f"{residual:+.0%}", verdict(abs(residual) <= LIMIT)] for program, residual in one_density()]
    return ["## Readings", "",
            "Other values of the constants that the checks depend on. Deviation of the mean batch from the published line; median batch; faults of a mean batch. `-`: not run."] + \
        table(["reading", "quotation or source"] + [f"{WORKLOADS[w]} vs. {program}" for w, program in PRODUCED.items()] + [f"{GRAPHS[w]}, us" for w in GRAPHS] +
              [f"{STRIDED[w]}, faults" for w in STRIDED],
              [["published", "Allen and Ge; Kim et al., section 3"] + ["0%"] * len(PRODUCED) + [f"{KIM[0]} to {KIM[1]}"] + [""] * (len(GRAPHS) - 1) + [str(STRIDED_FAULTS)] * len(STRIDED)] +
              of_readings(measured)) + \
        ["## Checks", "",
            f"A check fails above {LIMIT:.0%}, and `run` then exits with 1. Mean batches without prefetching, with all memory, compared with the program's "
            "published line (Allen and Ge, SC 2021) at the same data size. A published mean batch of stream has 251 KB, 60 distinct pages and 4 VA blocks. "
            "hpgmg and cufft are not run, because the VA blocks of their batches are not published."] + \
        table(["workload", "line", "reading", "KiB", "distinct pages", "blocks", "faults", "published, us", "batch, us", "deviation", ""], lines) + \
        ["", f"Kim et al. (ASPLOS 2020), section 3, BFS on a Titan Xp: \"in the range of 223us to 553us with a median of 313us\"; a median "
         "of 140 us from the start of a batch to its first transfer. Check: the median batch, with the 30 SMs of that GPU, is within that range."] + \
        table(["workload", "reading", "batches", "minimum, us", "median, us", "maximum, us", "until the first transfer, median", ""], kim) + \
        ["", "Faults per mean batch of a strided program, without prefetching (Allen and Ge: 245 of 256). The driver reads the fault buffer an "
         "interrupt and two messages after the first fault in an empty buffer; these delays determine the number of faults in it."] + \
        table(["workload", "reading", "batches", "faults", "published", "blocks", "SMs", "deviation", ""], strided) + \
        ["", f"The fit (`batch_lines.py`): the preset's times compared with each line. Only stream's VA blocks are published; the blocks of the other programs "
         f"are derived from their lines, so their residuals test only rounding and bounds. First touch: one per {BLOCK_KIB} KiB."] + \
        table(["line", "KiB", "published, us", "VA blocks", "model, us", "residual", ""], fits) + \
        ["", "The same at 251 KiB with stream's 4 VA blocks in every program (a reading that is not used):"] + table(["line", "residual", ""], dense)
