"""Each of the 36 runs of the GMMU Bypass study, at a small footprint, has one digest on threads and ranks."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/studies/gmmu_bypass"))
try:
    import study
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

FOOTPRINT = 128 << 10
PLACEMENT = "interleave"


def digest(command):
    """What a run prints as its digest, or the sentence with which it failed."""
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    found = re.search(r"digest ([0-9a-f]{32})", ran.stdout)
    return found[1] if ran.returncode == 0 and found else f"exit code {ran.returncode}: {ran.stderr.strip()[-200:]}"


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    linked = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    ranks = shutil.which("mpirun") is not None and "libmpi" in linked
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for workload in study.WORKLOADS:
            seen = {}
            for design in study.DESIGNS:
                run = study.Run(workload, design, PLACEMENT, FOOTPRINT, Path(scratch) / f"{workload}-{design}.h5")
                config = run.output.with_suffix(".toml")
                config.write_text(run.configuration())
                base = [program, "run", config, "--output", run.output, "--progress", "off"]
                ways = {"1 thread": digest(base + ["--threads", "1", "--partitions", "one"]),
                        "2 threads": digest(base + ["--threads", "2", "--partitions", "split"])}
                if ranks:
                    ways["2 ranks"] = digest(["mpirun", "-n", "2"] + base + ["--threads", "1"])
                one = set(ways.values())
                if len(one) == 1 and re.fullmatch("[0-9a-f]{32}", next(iter(one))):
                    passed += 1
                    seen.setdefault(next(iter(one)), design)
                else:
                    failed += 1
                    print(f"{workload}, {design}: {ways}")
            # Designs whose runs are the same would say nothing about the design.
            if len(seen) == len(study.DESIGNS):
                passed += 1
            else:
                failed += 1
                print(f"{workload}: only {len(seen)} digests of {len(study.DESIGNS)} designs: {seen}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
