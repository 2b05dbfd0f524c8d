# SPDX-License-Identifier: Apache-2.0
"""A sweep as `farfault sweep` writes it, DIR/sweep.h5 and DIR/runs/*.h5, from results of the program."""
import itertools
import os

from package_tests import h5py, numpy, run, write

SIZES = ("64 KiB", "128 KiB", "192 KiB", "256 KiB", "320 KiB")
ROUTERS = ("distributed", "centralized", "gmmu_bypass")


def grid():
    """5 sizes x 3 routers, in the order of the rows."""
    return list(itertools.product(SIZES, ROUTERS))


def results(folder):
    """The files of the runs."""
    os.makedirs(os.path.join(folder, "runs"))
    return [run(os.path.join(folder, "runs", f"{number}.h5"), "workload.name=stream", f"workload.stream.bytes={size}",
                f"gpu.router.policy={router}", "run.sample_interval=1us", "--threads", "1")
            for number, (size, router) in enumerate(grid())]


def table(folder, paths, parameters, states=None, spread=None, partners=None):
    """Writes sweep.h5.

    parameters: {key: values}. states: {run: (state, error)} of incomplete runs. spread: {column: values} of the points with
    several seeds. partners: the run that is the baseline of each run."""
    states = states or {}
    done = [number not in states for number in range(len(paths))]
    figures, digests = {}, []
    for path, is_done in zip(paths, done):
        with h5py.File(path) as f:
            digests.append(f.attrs["result_digest"].decode() if is_done else "")
            for name, d in f["summary/machine"].items():
                if name != "name":
                    figures.setdefault(name, (d.attrs["units"].decode(), d.attrs["long_name"].decode(), {}))[2][path] = d[0]
    with h5py.File(os.path.join(folder, "sweep.h5"), "w") as f:
        for name, value in (("kind", "sweep"), ("farfault_version", "0.1.0"), ("Conventions", "CF-1.10")):
            f.attrs[name] = numpy.bytes_(value)
        f.attrs["schema_version"] = 2
        runs = f.create_group("runs")
        write(runs, "run", numpy.arange(len(paths), dtype="u8"), "run", long_name="number of the run")
        write(runs, "state", [states.get(n, ("done",))[0] for n in range(len(paths))], "run")
        write(runs, "error", [states.get(n, ("done", ""))[1] for n in range(len(paths))], "run")
        write(runs, "result", [f"runs/{os.path.basename(p)}" if d else "" for p, d in zip(paths, done)], "run")
        write(runs, "result_digest", digests, "run")
        for key, values in parameters.items():
            write(runs, key, values, "run", role="parameter")
        missing = numpy.uint64(2**64 - 1)
        for name, (units, text, found) in figures.items():
            column = numpy.array([found.get(p, missing) if d else missing for p, d in zip(paths, done)], "u8")
            write(runs, name, column, "run", units, text, role="figure", _FillValue=missing)
        if partners is not None:
            f.attrs["baseline"] = numpy.bytes_("x = 1")
            write(runs, "baseline", numpy.array(partners, "u8"), "run", _FillValue=missing)
        if spread:
            points = f.create_group("spread")
            write(points, "point", numpy.arange(len(next(iter(spread.values()))), dtype="u8"), "point", long_name="number of the point")
            for name, values in spread.items():
                write(points, name, values, "point", role="figure")
