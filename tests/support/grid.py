# SPDX-License-Identifier: Apache-2.0
"""Common code of the grid tests: runs of the program with many settings, and the properties that each run must have."""
import json
import re
import shutil
import subprocess
import sys

from checks import check

try:
    import h5py
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)


# One to five applications on one GPU.
_SHARED = 'sms = "equal"\nallocates = true\ntranspose.width = 512\ntranspose.height = 256\n'
_ADDED = 'sms = "equal"\nvectoradd.elements = 100000\n'
ONE_TO_FIVE = {
    "one": '[workload]\nname = "transpose"\ntranspose.width = 1024\ntranspose.height = 256\n',
    "two": f'[[application]]\nworkload = "transpose"\nrepeats = 2\n{_SHARED}\n[[application]]\nworkload = "vectoradd"\n{_ADDED}',
    "five": "".join(f'[[application]]\nname = "a{i}"\nworkload = "vectoradd"\n{_ADDED}\n' for i in range(4)) + f'[[application]]\nworkload = "transpose"\n{_SHARED}',
}


def names_of(program, axes):
    """The names of the program's policies, by key."""
    listed = json.loads(subprocess.run([program, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    ranges = {p["key"]: p["range"] for p in listed}
    names = {key: ranges[key].removeprefix("one of: ").split(", ") for key in axes}
    check(all(len(n) > 1 for n in names.values()), f"policies {names}")
    return names


def has_ranks(program):
    linked = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return shutil.which("mpirun") is not None and "libmpi" in linked


class Grid:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        folder.mkdir(exist_ok=True)
        (folder / "empty.toml").write_text("")

    def run(self, settings, *how, ranks=1, output="run.h5"):
        words = [w for key, value in settings.items() for w in ("--set", f"{key}={value}")]
        command = [self.program, "run", self.folder / "empty.toml", *words, "--output", self.folder / output, "--progress", "off", *how]
        if ranks > 1:
            command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *command]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired as endless:
            ran = subprocess.CompletedProcess(command, 124, "", f"no end after {endless.timeout:.0f} s")
        found = re.search(r"digest ([0-9a-f]{32})", ran.stdout)
        return ran, found[1] if ran.returncode == 0 and found else f"exit code {ran.returncode}: {ran.stderr.strip()[-300:]}"

    def summed(self, *names, output="run.h5"):
        with h5py.File(self.folder / output) as f:
            return [int(f["summary/gpu"][name][...].sum()) for name in names]

    def machine_total(self, name, output="run.h5"):
        """0 if the statistic does not exist."""
        with h5py.File(self.folder / output) as f:
            return int(f["summary/machine"][name][0]) if name in f["summary/machine"] else 0

    def gpu_total(self, name, output="run.h5"):
        """Sum over all GPUs; 0 if the statistic does not exist."""
        with h5py.File(self.folder / output) as f:
            return int(f["summary/gpu"][name][...].sum()) if name in f["summary/gpu"] else 0

    def accesses(self, output="run.h5"):
        return self.summed("sm_transactions", "sm_stores", "sm_blocks", output=output)

    # The columns of a table of the result, by name; empty if the result lacks the table.
    def table(self, name):
        with h5py.File(self.folder / "run.h5") as f:
            if f"tables/{name}" not in f:
                return None
            return {column: f[f"tables/{name}"][column][...] for column in f[f"tables/{name}"]}


def is_sentences(ran, most=1):
    """True if the program refused with one sentence per error, apart from warnings of settings without effect."""
    lines = [line for line in ran.stderr.strip().split("\n") if not line.startswith("farfault: warning: ")]
    return ran.returncode == 2 and 1 <= len(lines) <= most and all(line.startswith("farfault: ") and len(line) < 600 for line in lines)


def check_elsewhere(grid, settings, digest, name, ranks=False, more=()):
    """The result must be the same on two threads, and with `ranks` on two ranks. more: other options to run it with."""
    places = [(1, ["--threads", "2", "--partitions", "split"]), *((1, list(how)) for how in more)]
    if ranks:
        places.append((2, ["--threads", "1", "--partitions", "device"]))
    for n, how in places:
        _, other = grid.run(settings, *how, ranks=n, output="other.h5")
        check(other == digest, f"{name}: '{other}' with {n} ranks, {how}; '{digest}' before")


def grids_of(program, folder, programs, fixed):
    """A grid per program, and the accesses of each (program, number of GPUs) with the common settings."""
    grids, expected = {}, {}
    for name, text in programs.items():
        grid = grids[name] = Grid(program, folder / name)
        (folder / name / "empty.toml").write_text(text)
        for gpus in ("1", "2"):
            first, _ = grid.run(fixed | {"machine.generic.gpus": gpus})
            check(first.returncode == 0, f"{name}: {first.stderr.strip()}")
            expected[name, gpus] = grid.accesses()
    return grids, expected


class Drawn:
    """A combination of the policies of `axes` and of drawn values of other parameters, for one of the programs."""

    def __init__(self, program, fixed, axes, combination, others, draw):
        self.program = program
        self.settings = fixed | dict(zip(axes, combination)) | {key: draw.choice(values) for key, values in others.items()}
        self.named = [*axes, *others]

    @property
    def name(self):
        return " ".join([self.program] + [self.settings[key] for key in self.named])


def run_drawn(grids, expected, chosen, ranks, every, most, without, look):
    """Runs all drawn combinations. Each must make the same accesses as `without` the tested policies, or be refused with at
    most `most` sentences. Calls look(grid, drawn) for each that runs. One of `every` also runs on two ranks, and another one
    is resumed. Returns the numbers of runs and of refusals."""
    ran = refused = 0
    for d in chosen:
        grid = grids[d.program]
        first, digest = grid.run(d.settings, "--threads", "1", "--partitions", "device")
        if first.returncode != 0:
            check(is_sentences(first, most), f"{d.name}: exit code {first.returncode}: {first.stderr.strip()}")
            refused += 1
            continue
        ran += 1
        accesses, before = grid.accesses(), expected[d.program, d.settings["machine.generic.gpus"]]
        check(accesses == before, f"{d.name}: accesses {accesses}, {without} {before}")
        faulted, replayed = grid.summed("sm_faulted", "sm_replayed")
        check(faulted == replayed, f"{d.name}: {faulted} accesses faulted, {replayed} replayed")
        look(grid, d)
        check_elsewhere(grid, d.settings, digest, d.name, ran % every == 1 and ranks)
        if ran % every == 2:
            check_resume(grid, d.settings, digest, d.name)
    return ran, refused


def check_resume(grid, settings, digest, name):
    saved = grid.folder / "run.checkpoint"
    for file in (saved, grid.folder / "run.checkpoint.previous"):
        file.unlink(missing_ok=True)
    grid.run(settings, "--checkpoint", saved, "--checkpoint-every", "20us", output="other.h5")
    check(saved.exists(), f"{name}: no checkpoint")
    _, resumed = grid.run(settings, "--resume", saved, "--threads", "2", "--partitions", "split", output="other.h5")
    check(resumed == digest, f"{name}: '{resumed}' after resuming, '{digest}' before")
