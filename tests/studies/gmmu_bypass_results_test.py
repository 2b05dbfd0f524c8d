"""What may enter a table of the GMMU Bypass study: no result of another program, another configuration, or a run that failed; and what
its first paragraph and its noise say of given figures. Every table and plot names the program that made it."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "bench/studies/gmmu_bypass"
sys.path.insert(0, str(STUDY))
try:
    import h5py

    import local_share
    import noise
    import provenance
    import readings
    import runner
    import study
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

FOOTPRINT = 128 << 10
passed = failed = 0


def check(holds, what):
    global passed, failed
    passed, failed = (passed + 1, failed) if holds else (passed, failed + 1)
    if not holds:
        print(what)


def results_of_others(program, folder):
    """Plants what must not enter a table, one thing at a time, beside a result that may."""
    run = study.Run("relu", "distributed", "first_touch", FOOTPRINT, folder / "relu.h5")
    work = runner.Runner(program, 1, quiet=True)
    check(work.run([run]) == [] and runner.Results(program).of(run) is not None, "a result of its own is none")
    note, kept = runner.note_of(run), run.output.read_bytes()
    own = json.loads(note.read_text())

    def taken():
        return runner.Results(program).of(run) is not None

    for key, what in (("program", "another program"), ("configuration", "another configuration"), ("digest", "another result")):
        note.write_text(json.dumps({**own, key: "0" * 32}))
        check(not taken(), f"the result of {what} is taken")
        try:
            runner.Results(program).refuse_stale([run])
            check(False, f"the result of {what} is not refused")
        except study.StudyError as problem:
            check(str(run.output) in str(problem) and "\n" not in str(problem), f"not one sentence: {problem}")
    note.unlink()
    check(not taken(), "a result without a note is taken")
    note.write_text(json.dumps(own))
    changed = study.Run("relu", "distributed", "first_touch", 2 * FOOTPRINT, run.output)
    check(runner.Results(program).of(changed) is None, "a result of another footprint is taken")
    check(taken(), "the result is no longer its own")
    with h5py.File(run.output, "r+") as f:
        f.attrs["end_reason"] = b"interrupted"
    check(not taken(), "a run that did not end is taken")
    run.output.write_bytes(kept)

    # Of a run that fails nothing stays behind, neither its note nor what lay there before.
    bad = study.Run("relu", "distributed", "first_touch", FOOTPRINT, run.output, {"iommu.walkers": "0"})
    failures = work.run([bad])
    check(len(failures) == 1 and "iommu.walkers" in failures[0], f"a failed run says {failures}")
    check(not run.output.exists() and not note.exists(), "a failed run leaves a result behind")
    late = study.Run("relu", "distributed", "recorded", FOOTPRINT, folder / "late.h5", source=bad)
    check(len(work.run([late])) == 2 and not late.output.exists(), "a run without its page map is made")


def rebuilt(program, folder):
    """A program that was built again while the study ran ends it."""
    copy = folder / "farfault"
    copy.write_bytes(program.path.read_bytes())
    copy.chmod(0o755)
    other = runner.Program(copy)
    check(not other.replaced(), "a program is taken for another one")
    copy.write_bytes(program.path.read_bytes() + b"\0")
    try:
        runner.Runner(other, 1, quiet=True).run([study.Run("relu", "oracle", "first_touch", FOOTPRINT, folder / "again.h5")])
        check(False, "a program built again runs on")
    except study.StudyError as problem:
        check("built again" in str(problem), f"{problem}")


def tables(program, folder):
    """The command: every file that it writes names the program, and what is stale is refused in one sentence."""
    command = [sys.executable, STUDY / "run", "--parts", "study", "--workloads", "relu", "--placements", "first_touch", "--designs",
               "distributed,gmmu_bypass", "--footprint", "128KiB", "--program", program.path, "--out", folder / "out", "--jobs", "1"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    check(ran.returncode == 0, f"run: exit code {ran.returncode}: {ran.stderr[-300:]}")
    check("study: 2 runs" in ran.stderr, f"the number of runs is not said: {ran.stderr[:200]}")
    mark = program.hash[:16]
    files = [folder / "out" / name for name in ("results.md", "results.json", "fig3.svg", "fig5.svg", "fig6.svg", "fig7.svg")]
    for file in files:
        check(file.exists() and mark in file.read_text(), f"{file.name} does not name the program")
    about = json.loads(files[1].read_text())["about"]
    check(about["program"] == program.version and about["runs"] == 2 and about["footprints"] == {"first_touch": FOOTPRINT},
          f"the header says {about}")
    again = subprocess.run(command + ["--set", "iommu.walkers=16", "--table-only"], capture_output=True, text=True, timeout=300)
    check(again.returncode == 2 and "another program or configuration" in again.stderr,
          f"stale tables: exit code {again.returncode}: {again.stderr[-300:]}")


def words():
    """Whether the first paragraph puts each reading where its mean belongs: within the noise there is no difference."""
    values = {("a", "interleave"): 1.06, ("b", "interleave"): 1.031, ("c", "interleave"): 1.025, ("d", "interleave"): 1.019,
              ("e", "interleave"): 0.981, ("f", "interleave"): 0.93, ("g", "interleave"): 1.3, ("h", "interleave"): 0.9,
              ("x", "first_touch"): 1.06}
    found = ["".join(k[0] for k in keys) for _, _, keys in readings.groups(values, {"interleave": 0.02, "first_touch": 0.07})]
    check(found == ["ab", "g", "c", "xde", "hf"], f"readings by what they say: {found}")


def sums():
    """Noise of a workload and of a mean, and the groups of workloads that local shares tell apart."""
    check(abs(noise.one([1.1, 1 / 1.1], []) - 0.134789) < 1e-6, "the spread of two repeats")
    check(abs(noise.one([1.1, 1 / 1.1], [1.3, 1.3]) - 0.262364) < 1e-6, "other owners move more than the spread")
    check(abs(noise.of_mean([0.1] * 4) - 0.1) < 1e-12 and noise.of_mean([0, 0]) == noise.LEAST, "two standard deviations of a mean")
    shares = {"relu": 0, "fir": 0, "maxpool": 0.05, "transpose": 0.48, "fft": 0.55, "kmeans": 0.92, "stencil2d": 0.58}
    check(local_share.apart(shares) == (0.05, 0.48), "groups by local share")
    check("does not" not in local_share.sentence(shares, "x") and
          "does not" in local_share.sentence({**shares, "transpose": 0.0}, "x"), "words on local shares")
    one = provenance.mark(type("P", (), {"version": "v", "hash": "h" * 64}), ["b", "a"])
    two = provenance.mark(type("P", (), {"version": "v", "hash": "h" * 64}), ["a", "c"])
    check(one["results"] != two["results"] and one["runs"] == 2, "the mark does not change with the results")


def main():
    program = runner.Program((Path(sys.argv[1]).parent / "farfault").resolve())
    words()
    sums()
    with tempfile.TemporaryDirectory() as scratch:
        for test in (results_of_others, rebuilt, tables):
            folder = Path(scratch) / test.__name__
            folder.mkdir()
            test(program, folder)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
