# SPDX-License-Identifier: Apache-2.0
"""Tables of the GMMU Bypass study contain no result of a different program or configuration, and no failed run. Its first paragraph and
its noise match given figures. Every table and plot names the program that made it."""
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "bench/studies/gmmu_bypass"
sys.path[:0] = [str(STUDY), str(ROOT / "tests/support")]
import checks
from checks import check

try:
    import h5py

    import figures
    import grid
    import study
    import configuration
    import local_share
    import noise
    import provenance
    import readings
    import records
    import sweeps
    from measure import measure
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

FOOTPRINT = 128 << 10


def results_of_others(program, folder):
    """Adds results that must not enter a table, one at a time, next to a valid one."""
    run = study.Run("relu", "distributed", "first_touch", FOOTPRINT, "relu")
    other = study.Run("relu", "distributed", "first_touch", 2 * FOOTPRINT, "larger")
    work = sweeps.Sweep(program, folder, measure, quiet=True)
    check(work.make([run, other]) == [] and work.of(run) is not None, "the study's own result is rejected")
    check(work.of(run)["footprint"] == FOOTPRINT and work.of(other)["footprint"] == 2 * FOOTPRINT, "results are interchanged")
    path = work.result(run)
    own, of_other = path.read_bytes(), work.result(other).read_bytes()

    def looked_at():
        found = sweeps.Sweep(program, folder, measure, quiet=True)
        check(found.make([run], table_only=True) == [], "a failure is listed")
        return found

    def attribute(name, value):
        with h5py.File(path, "r+") as f:
            f.attrs[name] = value

    for what, plant in (("different farfault version", lambda: attribute("farfault_version", b"0.0.1")),
                        ("different configuration", lambda: path.write_bytes(of_other)),
                        ("incomplete", lambda: attribute("end_reason", b"interrupted")),
                        ("not a result", lambda: path.write_bytes(b"no result"))):
        plant()
        found = looked_at()
        check(found.of(run) is None and found.missing([run]) == ["relu"] and found.digests([run]) == [], f"{what}: accepted")
        try:
            found.refuse_stale([run])
            check(False, f"{what}: not rejected")
        except configuration.StudyError as problem:
            check("of relu" in str(problem) and what in str(problem) and "\n" not in str(problem), f"not one sentence: {problem}")
        path.write_bytes(own)
    check(looked_at().of(run) is not None, "the study's own result is no longer accepted")
    path.unlink()
    found = looked_at()
    found.refuse_stale([run])
    check(found.missing([run]) == ["relu"], "a deleted result is found")

    # An invalid run is reported before anything is executed. A failed run leaves nothing, and the others are executed.
    try:
        work.make([study.Run("relu", "distributed", "first_touch", FOOTPRINT, "none", {"iommu.walkers": "0"})])
        check(False, "a run without walkers is executed")
    except configuration.StudyError as problem:
        check("iommu.walkers" in str(problem), f"{problem}")
    bad = study.Run("relu", "distributed", "first_touch", 1 << 40, "bad")
    late = study.Run("relu", "distributed", "recorded", FOOTPRINT, "late", source=bad)
    failures = work.make([run, late, bad])
    check(len(failures) == 2 and failures[0].startswith("bad: ") and failures[1].startswith("late: no result of bad"),
          f"failures: {failures}")
    check(work.of(run) is not None and work.of(bad) is work.of(late) is None, "failed runs have results")
    work.make([study.Run("relu", "distributed", "first_touch", 2 * FOOTPRINT, "relu")])
    check(work.of(run)["footprint"] == 2 * FOOTPRINT, "the measures of an earlier run of this name are used")


def recorded(program, folder):
    """A run's pages are on the GPUs of their first touches in its source run; the run is repeated if these change."""
    def made(settings):
        source = study.Run("relu", "distributed", "first_touch", FOOTPRINT, "source", settings)
        run = study.Run("relu", "gmmu_bypass", "recorded", FOOTPRINT, "recorded", source=source)
        work = sweeps.Sweep(program, folder, measure, quiet=True)
        check(work.make([run]) == [], "a run with a map fails")
        return work, run
    work, run = made({})
    check(work.of(run)["faults"] == work.of(run)["first_touches"] == 0 and work.of(run.source)["first_touches"] == FOOTPRINT // 4096,
          f"{work.of(run)}")
    check(work.digests([run]) == [work.of(run)["digest"]], "the map's source run counts as a run of the study")
    with h5py.File(work.result(run.source)) as f:
        touched = {f"{p},{d.decode()}" for p, d in zip(f["tables/first_touches/page"][:], f["tables/first_touches/device"][:])}
    pages = (folder / "maps/source.csv").read_text().splitlines()
    check(pages[0] == "page,device" and set(pages[1:]) == touched and len(touched) == FOOTPRINT // 4096, f"the map: {pages[:3]}")
    other, _ = made({"host.block_order": '"contiguous"'})
    check(other.of(run)["digest"] != work.of(run)["digest"], "another map gives the same result")


def rebuilt(program, folder):
    """The study ends if the program is rebuilt while it runs."""
    copy = folder / "farfault"
    copy.write_bytes(program.path.read_bytes())
    copy.chmod(0o755)
    other = provenance.Program(copy)
    check(not other.replaced(), "an unchanged program is reported as rebuilt")
    copy.write_bytes(program.path.read_bytes() + b"\0")
    try:
        sweeps.Sweep(other, folder, measure, quiet=True).make([study.Run("relu", "oracle", "first_touch", FOOTPRINT, "again")])
        check(False, "the study continues with a rebuilt program")
    except configuration.StudyError as problem:
        check("rebuilt" in str(problem), f"{problem}")


def stopped(program, folder):
    """A signal ends the study and its runs. Finished and unfinished runs are kept, and the same command executes the rest."""
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        out = folder / str(code)
        command = [sys.executable, STUDY / "run", "--parts", "study", "--workloads", "relu,aes", "--placements", "first_touch", "--designs",
                   "distributed", "--footprint", "4MiB", "--program", program.path, "--out", out, "--jobs", "2"]
        results = out / "sweep/runs"
        # A shell's background job ignores SIGINT, and its children inherit that.
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        # relu ends long before aes, which starts first.
        while child.poll() is None and not (list(results.glob("*.h5")) and list(results.glob("*.partial"))):
            time.sleep(0.01)
        check(child.poll() is None, f"{number}: the study ended before the signal")
        child.send_signal(number)
        check(child.wait(60) == code, f"{number}: exit code {child.returncode}")
        kept = sorted(path.suffix for path in results.iterdir())
        check(kept == [".checkpoint", ".h5", ".partial"], f"{number}: {list(results.iterdir())}")
        again = subprocess.run(command, capture_output=True, text=True, timeout=300)
        check(again.returncode == 0 and "1 completed, 1 cached" in again.stderr, f"{number}: again: {again.stderr[-300:]}")


def tables(program, folder):
    """The command: every file that it writes names the program, and stale results are refused in one sentence."""
    command = [sys.executable, STUDY / "run", "--parts", "study", "--workloads", "relu", "--placements", "first_touch", "--designs",
               "distributed,gmmu_bypass", "--footprint", "128KiB", "--program", program.path, "--out", folder / "out", "--jobs", "1"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    check(ran.returncode == 0, f"run: exit code {ran.returncode}: {ran.stderr[-300:]}")
    check("study: 2 runs" in ran.stderr, f"the number of runs is not printed: {ran.stderr[:200]}")
    mark = program.hash[:16]
    files = [folder / "out" / name for name in ("results.md", "fig3.svg", "fig5.svg", "fig6.svg", "fig7.svg")]
    for file in files:
        check(file.exists() and mark in file.read_text(), f"{file.name} does not name the program")
    about = records.read(folder / "out")["about"]
    check(about["program"] == program.version and about["runs"] == 2 and about["footprints"] == {"first_touch": FOOTPRINT},
          f"the header has {about}")
    again = subprocess.run(command + ["--table-only"], capture_output=True, text=True, timeout=300)
    check(again.returncode == 0 and records.read(folder / "out")["about"] == about, f"the tables again: {again.stderr[-300:]}")
    other = subprocess.run(command + ["--set", "iommu.walkers=16", "--table-only"], capture_output=True, text=True, timeout=300)
    check(other.returncode == 2 and "no results" in other.stderr, f"tables without results: exit code {other.returncode}: {other.stderr[-300:]}")
    for path in (folder / "out/sweep/runs").glob("*.h5"):
        path.write_bytes(b"no result")
    stale = subprocess.run(command + ["--table-only"], capture_output=True, text=True, timeout=300)
    check(stale.returncode == 2 and "run: 2 results, such as that of" in stale.stderr, f"stale tables: exit code {stale.returncode}: {stale.stderr[-300:]}")


def words():
    """The first paragraph classifies each reading by its mean. Means within the noise count as equal."""
    values = {("a", "interleave"): 1.06, ("b", "interleave"): 1.031, ("c", "interleave"): 1.025, ("d", "interleave"): 1.019,
              ("e", "interleave"): 0.981, ("f", "interleave"): 0.93, ("g", "interleave"): 1.3, ("h", "interleave"): 0.9,
              ("x", "first_touch"): 1.06}
    found = ["".join(k[0] for k in keys) for _, _, keys in readings.groups(values, {"interleave": 0.02, "first_touch": 0.07})]
    check(found == ["ab", "g", "c", "xde", "hf"], f"interpretations by their result: {found}")


def gains():
    """Tables mark workloads for which ideal gains nothing, and report losses as losses. A setting has both of the paper's averages."""
    said = [figures.gained(*pair) for pair in ((1.05, 1.08), (1.005, 1.009), (0.8, 1.0), (0.8, 1.05), (1.05, None), (None, 1.1))]
    check(said == ["+5.0%", "no headroom", "no headroom, -20.0%", "-20.0%", "+5.0%", "-"], f"gains: {said}")
    check(figures.median([3, None, 1, 2]) == 2 and figures.median([None]) is None, "medians")

    def sentence(*settings):
        names = "bypass_over_distributed", "bypass_over_centralized"
        return grid.sentence({f"setting {i}": dict(zip(names, means)) for i, means in enumerate(settings)})
    check("**none reproduces both**" in sentence((1.06, 1.2), (1.0, 2.06)) and "at most +20.0%" in sentence((1.06, 1.2), (1.0, 2.06)),
          f"no setting has both: {sentence((1.06, 1.2), (1.0, 2.06))}")
    check("both are reproduced in 1: setting 1" in sentence((1.06, 1.2), (1.06, 2.06)), f"one setting has both: {sentence((1.06, 1.2), (1.06, 2.06))}")
    check(sentence((None, 2.06)) == "", "a setting without a measurement")


def sums():
    """Noise of a workload and of a mean, and groups of workloads by local share."""
    check(abs(noise.one([1.1, 1 / 1.1], []) - 0.134789) < 1e-6, "the spread of two repeats")
    check(abs(noise.one([1.1, 1 / 1.1], [1.3, 1.3]) - 0.262364) < 1e-6, "other owners differ by more than the spread")
    check(abs(noise.of_mean([0.1] * 4) - 0.1) < 1e-12 and noise.of_mean([0, 0]) == noise.LEAST, "two standard deviations of a mean")
    shares = {"relu": 0, "fir": 0, "maxpool": 0.05, "transpose": 0.48, "fft": 0.55, "kmeans": 0.92, "stencil2d": 0.58}
    check(local_share.apart(shares) == (0.05, 0.48), "groups by the share of local accesses")
    check("does not" not in local_share.sentence(shares, "x") and
          "does not" in local_share.sentence({**shares, "transpose": 0.0}, "x"), "the sentence on local shares")
    one = provenance.mark(type("P", (), {"version": "v", "hash": "h" * 64}), ["b", "a"])
    two = provenance.mark(type("P", (), {"version": "v", "hash": "h" * 64}), ["a", "c"])
    check(one["results"] != two["results"] and one["runs"] == 2, "the mark does not change with the results")


def main():
    program = provenance.Program((Path(sys.argv[1]).parent / "farfault").resolve())
    words()
    gains()
    sums()
    with tempfile.TemporaryDirectory() as scratch:
        for test in (results_of_others, recorded, rebuilt, stopped, tables):
            folder = Path(scratch) / test.__name__
            folder.mkdir()
            test(program, folder)
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
