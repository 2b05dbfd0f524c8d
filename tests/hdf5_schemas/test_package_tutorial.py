# SPDX-License-Identifier: Apache-2.0
"""Runs the tutorial of the package from the demo to its last figure.

Usage: python3 test_package_tutorial.py PATH/TO/test_hdf5_schemas
FARFAULT_KEEP_PLOTS: folder in which the plots are kept for inspection.
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from package_tests import PACKAGE, PROGRAM, ROOT, ff, main  # noqa: E402

try:
    import matplotlib  # noqa: F401
    import pandas
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)


def prepare(folder):
    done = subprocess.run([sys.executable, os.path.join(PACKAGE, "tutorial.py")], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": PACKAGE, "FARFAULT": PROGRAM, "FARFAULT_RESULTS": folder})
    if "FARFAULT_KEEP_PLOTS" in os.environ:
        for name in os.listdir(folder):
            if name.endswith(".png"):
                shutil.copy(os.path.join(folder, name), os.path.join(os.environ["FARFAULT_KEEP_PLOTS"], "tutorial_" + name))
    return folder, done


def it_runs_to_its_end(ran):
    folder, done = ran
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"figures and tables are in {folder}\n"), done.stdout
    assert ff.open(os.path.join(folder, "demo.h5")).digest in done.stdout


def it_reports_the_time_by_stage(ran):
    folder, done = ran
    run = ff.open(os.path.join(folder, "demo.h5"))
    stack = run.latency("machine").loc["machine"]
    assert f"average access time: {stack['access_time'] / stack['transactions'] / 1000:.0f} ns" in done.stdout
    assert re.search(rf"^links +{100 * stack['links'] / stack['access_time']:.1f}$", done.stdout, re.MULTILINE), done.stdout
    assert stack["links"] == stack.drop(["access_time", "transactions"]).max()
    did = run.stalls("machine").loc["machine"]
    assert re.search(rf"^idle +{100 * did['idle'] / did['sm_time']:.1f}$", done.stdout, re.MULTILINE), done.stdout
    assert did["idle"] > 0.5 * did["sm_time"]


def it_writes_figures_and_a_table(ran):
    folder, _ = ran
    for name in ("timeline.png", "hit_rates.png", "latency_stack.png", "stalls.png", "traffic.png", "links.png", "sweep.png"):
        assert os.path.getsize(os.path.join(folder, name)) > 10_000, name
    table = pandas.read_csv(os.path.join(folder, "sweep.csv"), index_col="run")
    assert table["gpu.l2_tlb.entries"].tolist() == [32, 128, 512] * 2
    ends = [int(ff.open(path).summary()["end"].iloc[0]) for path in table["result"]]
    assert table["end"].tolist() == ends


def its_statements_on_the_sweep_hold(ran):
    folder, done = ran
    shown = re.findall(r"with (\d+) entries, contiguous pages are ([\d.]+) times as fast", done.stdout)
    assert [entries for entries, _ in shown] == ["32", "128", "512"], done.stdout
    for entries, times in shown:
        slow, fast = (ff.open(os.path.join(folder, f"{p}-{entries}.h5")).summary()["end"].iloc[0]
                      for p in ("interleave", "contiguous"))
        assert times == f"{slow / fast:.2f}", (entries, times, slow / fast)


TESTS = (it_runs_to_its_end, it_reports_the_time_by_stage, it_writes_figures_and_a_table, its_statements_on_the_sweep_hold)

if __name__ == "__main__":
    sys.exit(main(TESTS, prepare))
