"""The hardware study: its published inputs are what the presets give, to the cycle, and none of them judges."""
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/studies/hardware"))
try:
    import measure
    import study
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    values = measure.PUBLISHED["values"]
    passed = failed = 0

    def check(holds, what):
        nonlocal passed, failed
        passed, failed = (passed + 1, failed) if holds else (passed, failed + 1)
        if not holds:
            print(what)

    for v in values + measure.PUBLISHED["curves"]:
        check(v["role"] in ("input", "judge") and v["source"] in measure.PUBLISHED["sources"], f"{v}: role or source")
    inputs = {(v["gpu"], v["what"], v["source"]) for v in values if v["role"] == "input"}
    judges = {(v["gpu"], v["what"], v["source"]) for v in values if v["role"] == "judge"}
    check(not inputs & judges, f"both input and judge: {inputs & judges}")
    sources = {(v["gpu"], v["source"]) for v in values if v["role"] == "input"}
    for c in measure.PUBLISHED["curves"]:
        check((c["gpu"], c["source"]) not in sources, f"{c['gpu']}: {c['source']} made the preset that its curve judges")

    # A chase through 4 KiB hits the L1, one through 1 MiB, half of a page, the L2.
    with tempfile.TemporaryDirectory() as scratch:
        simulator = study.Simulator(program, scratch, 2)
        chases = {}
        for v in values:
            if v["role"] == "input" and v["what"] in ("l1", "l2"):
                line = 64 if v["gpu"] in ("mi100", "mi210") else 128
                size = study.MIB if v["what"] == "l2" else 4 * study.KIB
                chases[v["gpu"], v["what"]] = v, study.chase(v["gpu"], v["mhz"], size, line, 4 * study.MIB)
        done = simulator.all([r for _, c in chases.values() for r in c[:2]])
        for (gpu, what), (v, c) in chases.items():
            cycles = measure.per_load(done, *c, v["mhz"])
            check(abs(cycles - v["value"]) < 0.5, f"{gpu}, {what}: {cycles:.2f} cycles, published {v['value']}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
