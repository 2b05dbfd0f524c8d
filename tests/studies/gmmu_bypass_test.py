# SPDX-License-Identifier: Apache-2.0
"""The GMMU Bypass study at a small footprint. Each of the 36 runs with first-touch placement has one digest on threads and ranks; recorded
pages are placed as in the recorded run; and parameters vary around the preset's values."""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/studies/gmmu_bypass"), str(ROOT / "tests/support")]
import checks
from checks import check

try:
    import h5py

    import grid
    import study
    import provenance
    import readings
    import sensitivity
    import sweeps
    from study_runs import configuration_of, digest_by, file_of, identity
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

FOOTPRINT = 128 << 10
PLACEMENT = "first_touch"  # needs no map


def each_way(program, folder, run, ranks, **more):
    """The digests of a run on one thread, two threads and two ranks."""
    base = [program, "run", configuration_of(folder, run, **more), "--output", file_of(folder, run), "--progress", "off"]
    ways = {"1 thread": digest_by(base + ["--threads", "1", "--partitions", "one"]),
            "2 threads": digest_by(base + ["--threads", "2", "--partitions", "split"])}
    if ranks:
        ways["2 ranks"] = digest_by(["mpirun", "-n", "2"] + base + ["--threads", "1"])
    return ways


def one_digest(ways):
    one = set(ways.values())
    return next(iter(one)) if len(one) == 1 and re.fullmatch("[0-9a-f]{32}", next(iter(one))) else None


def recorded(program, folder, ranks):
    """A run with a recorded map has one digest and no first touch."""
    first = study.Run("fft", "distributed", PLACEMENT, FOOTPRINT, "first")
    run = study.Run("fft", "gmmu_bypass", "recorded", FOOTPRINT, "again", source=first)
    each_way(program, folder, first, False)
    pages = folder / "pages.csv"
    sweeps.write_map(file_of(folder, first), pages)
    placed = {"memory.recorded.map": str(pages)}
    if len(pages.read_text().splitlines()) != 1 + FOOTPRINT // 4096 or one_digest(each_way(program, folder, run, ranks, **placed)) is None:
        return False
    with h5py.File(file_of(folder, run)) as f:
        return int(f["summary/machine/driver_page_faults"][0]) == 0 and len(f["tables/first_touches/page"]) == 0


def one_name_each(program, folder):
    """Different runs of the readings and the variations have different names."""
    found = readings.Found(study.WORKLOADS, study.PLACEMENTS, 1, folder, study.FULL)
    cells = grid.Grid(study.WORKLOADS, 1, folder)
    figures = [study.figure_run(w, d, p, study.FULL) for p in study.PLACEMENTS for w in study.WORKLOADS for d in study.DESIGNS]
    runs = figures + found.all_runs() + cells.all_runs() + sensitivity.Sensitivity(provenance.Program(program), study.WORKLOADS, study.PLACEMENTS, 0.25, folder).all_runs()
    kinds = {}
    for run in runs:
        kinds.setdefault(run.name, set()).add(identity(run))
    shared = [name for name, identities in kinds.items() if len(identities) > 1]
    if shared:
        print(f"{len(shared)} names of two runs, such as {shared[0]}")
    return not shared and len(kinds) > 5000


def grid_of_one_map(folder):
    """All cells of the grid share a workload's page map, one centralized run serves all GMMU walk latencies, and a cell has its links
    and walks."""
    cells = grid.Grid(["relu"], 1, folder)
    sources = {run.source.name for run in cells.all_runs()}
    central = {run.name for cell in cells.runs.values() for run in [cell["relu"]["centralized"]]}
    last = cells.runs[grid.LINKS[-1], 25, 500]["relu"]["oracle"].all_settings()
    links = Path(last["machine.topology"]).read_text()
    return (len(sources) == 1 and len(cells.cells) == 64 and len(central) == 16 and
            len({run.name for run in cells.all_runs()}) == 64 * 3 + 16 and
            (last["iommu.walk_latency"], last["gpu.gmmu.walk_latency"]) == (25, 500) and
            links.count('bandwidth = "128GB/s"') == links.count("[[link]]") == 7)


def one_map_with_room(program, folder):
    """The cell with room uses the page map of the preset's links and walks in the grid, the readings and the sensitivity."""
    cells = grid.Grid(["relu"], 1, folder).runs[grid.ROOM]
    found = readings.Found(["relu"], study.PLACEMENTS, 1, folder, study.FULL).runs
    rest = sensitivity.Sensitivity(provenance.Program(program), ["relu"], ["recorded"], 1, folder).runs
    kinds = [cells["relu"]["oracle"], found[grid.words(grid.ROOM), "recorded"]["relu"]["oracle"], rest["", "defaults"]["relu"]["oracle"],
             rest["T1", "0.75"]["relu"]["oracle"]]
    return len({json.dumps(run.source.all_settings(), sort_keys=True) for run in kinds}) == 1


def machines_and_programs(folder):
    """The readings of MGPUSim's tree and programs match their names and do not affect other workloads."""
    by_name = {r.words: r for r in readings.readings(folder)}
    chained = Path(json.loads(by_name["second PCIe switch below the first"].settings["machine.topology"])).read_text()
    uniform = by_name["PR on a uniform random graph"].settings
    of_64 = readings.uniform_graph(study.FULL)
    return ('a = "switch0"\nb = "switch1"' in chained and chained.count('a = "root"') == 1 and uniform("relu", 1) == {} and
            uniform("pagerank", 1)["workload.pagerank.rmat.a"] == 0.25 and
            (of_64["workload.pagerank.rmat.scale"], of_64["workload.pagerank.rmat.edge_factor"]) == (16, 126))


def variations(program):
    """Assumed parameters vary around the preset's values; parameters of other mechanisms do not vary."""
    varied, _ = sensitivity.assumed(sensitivity.parameters_of(provenance.Program(program)))
    values = {key: [default] + [v for v, _, _ in found] for key, default, found in varied}
    return (values["gpu.dram.bandwidth"] == ["64 GB/s", "32 GB/s", "128 GB/s"] and len(values) > 20 and
            not any(key.startswith(("limits.", "gpu.memory_cache.")) for key in values) and
            all(len(set(v)) == len(v) > 1 for v in values.values()))


def accepted_variations(program, folder):
    """The program accepts the configuration of each variation; it refuses a combination that no machine has."""
    found = sensitivity.Sensitivity(provenance.Program(program), ["relu"], ["recorded"], 0.25, folder).runs
    runs = list(sweeps.by_name([by["relu"]["distributed"] for by in found.values()]).values())
    pages = folder / "no_pages.csv"
    pages.write_text("page,device\n")
    sweep = sweeps.Sweep(provenance.Program(program), folder, None)

    def collected(settings):
        for run in runs:
            run.settings = {**run.settings, **settings}
        file = sweep._write("accepted", runs, {run.source.name: pages for run in runs})
        return subprocess.run([program, "sweep", file, "--collect", "--progress", "off"], capture_output=True, text=True)

    accepted, refused = collected({}), collected({"memory.compaction": '"cac"'})
    if accepted.returncode != 1:  # 1: no run has a result yet
        print(accepted.stderr)
    return len(runs) > 60 and accepted.returncode == 1 and refused.returncode == 2 and "memory.compaction" in refused.stderr


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    linked = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    ranks = shutil.which("mpirun") is not None and "libmpi" in linked
    with tempfile.TemporaryDirectory() as scratch:
        for workload in study.WORKLOADS:
            seen = {}
            for design in study.DESIGNS:
                run = study.Run(workload, design, PLACEMENT, FOOTPRINT, f"{workload}, {design}")
                ways = each_way(program, Path(scratch), run, ranks)
                check(one_digest(ways) is not None, f"{workload}, {design}: {ways}")
                seen.setdefault(one_digest(ways), design)
            # Designs with identical runs would prove nothing about the design.
            check(len(seen) == len(study.DESIGNS), f"{workload}: only {len(seen)} digests of {len(study.DESIGNS)} designs: {seen}")
        check(recorded(program, Path(scratch), ranks), "a recorded map")
        check(variations(program), "the variations")
        check(accepted_variations(program, Path(scratch)), "configurations of the variations")
        check(one_name_each(program, Path(scratch)), "names of runs")
        check(grid_of_one_map(Path(scratch)), "the grid")
        check(one_map_with_room(program, Path(scratch)), "the page map with room")
        check(machines_and_programs(Path(scratch)), "readings of MGPUSim")
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
