# SPDX-License-Identifier: Apache-2.0
"""Runs every reader of the Python package on one file, in a child process with limits on memory and time."""
import faulthandler
import hashlib
import io
import os
import resource
import select
import signal
import sys
import time
import warnings

from hostile_results import MARKER
from package_tests import ff, numpy

try:
    import matplotlib.pyplot as plt

    import farfault.plots  # noqa: F401
except ModuleNotFoundError:
    plt = None
import pandas
import xarray

# Limits of the child: memory in addition to the libraries, and time, which ends a hang.
MEMORY, SECONDS = 1 << 30, 300
LETTERS = MARKER[:3].decode()


def readers(path, sound):
    """{name: call}: the calls of a user."""
    def of_run(ask):
        return lambda: ask(ff.open(path))

    def each(names, ask):
        return of_run(lambda run: {n: ask(run, n) for n in names(run)})

    found = {"repr": of_run(lambda r: repr(r).replace(r.path, "")), "machine": of_run(lambda r: r.machine), "inputs": of_run(lambda r: r.inputs), "unused": of_run(lambda r: r.unused), "engine": of_run(lambda r: r.engine),
             "figures": of_run(lambda r: (r.figures(r.figure_names()), r.figure_labels(r.figure_names())))}
    for name in ("config", "config_text", "command_line", "seed", "commit", "host", "digest", "end_reason", "version"):
        found[name] = of_run(lambda r, name=name: getattr(r, name))
    found["timeseries"] = each(lambda r: r.kinds, lambda r, n: r.timeseries(n).load())
    found["table"] = each(lambda r: r.tables, lambda r, n: r.table(n))
    found["summary"] = each(lambda r: r.scopes, lambda r, n: r.summary(n))
    found["column"] = of_run(lambda r: r.table("kernels", ["name", "launched"]))
    found["group"] = each(lambda r: ["topology/nodes", "config", "tables/kernels"], lambda r, n: r.group(n).load())
    found["deltas"] = of_run(lambda r: r.deltas("l2_tlb", "hits"))
    found["rates"] = of_run(lambda r: r.rates("sm.by_gpu.histograms", "load_latency", by="device"))
    found["latency"] = each(lambda r: ("machine", "gpu", "kernel"), lambda r, by: r.latency(by))
    found["stalls"] = each(lambda r: ("machine", "gpu", "kernel", "application"), lambda r, by: r.stalls(by))
    for name in ("latency_over_time", "traffic", "links", "placement"):
        found[name] = of_run(lambda r, name=name: getattr(r, name)())
    found["with"] = of_run(lambda r: _held(r))
    if plt is not None:
        for name in ("timeline", "hit_rates", "latency_stack", "latency_over_time", "latency_histogram", "stalls", "traffic", "links", "placement"):
            found[f"plot.{name}"] = of_run(lambda r, name=name: getattr(r.plot, name)())
    found["open_many"] = lambda: _table(ff.open_many([path, sound]))
    return found


def sweep_readers(path):
    found = {"repr": lambda: repr(ff.open_sweep(path)), "runs": lambda: _table(ff.open_sweep(path)), "spread": lambda: ff.open_sweep(path).spread,
             "dataset": lambda: ff.open_sweep(path).dataset("end"), "open": lambda: ff.open_sweep(path).open(0).config_text,
             "each": lambda: [r.digest for r in ff.open_sweep(path)], "ratios": lambda: ff.open_sweep(path).table(["speedup", "end_ratio"]),
             "mean": lambda: ff.open_sweep(path).geometric_mean("gpu.l2_tlb.entries")}
    if plt is not None:
        found["plot"] = lambda: ff.open_sweep(path).plot("end")
    return found


def _held(run):
    with run as held:
        return held.summary("gpu"), held.timeseries("l2_tlb").load()


def _table(sweep):
    return sweep.runs.drop(columns=["result"]), sweep.parameters, repr(sweep).split("\n")[1:]


def said(value):
    """The whole answer as bytes: numbers as stored, everything else as text."""
    if isinstance(value, pandas.DataFrame):
        return said([list(value), list(value.index), value.index.names, *(value.iloc[:, i].to_numpy() for i in range(value.shape[1])), value.attrs])
    if isinstance(value, (xarray.Dataset, xarray.DataArray)):
        parts = value.variables if isinstance(value, xarray.Dataset) else {**value.coords, "data": value.variable}
        return said([(n, v.dims, v.values, v.attrs) for n, v in parts.items()] + [value.attrs])
    if isinstance(value, numpy.ndarray):
        return b"".join(str(v).encode("utf-8", "replace") + b";" for v in value.flat) if value.dtype.kind in "OSU" else value.tobytes()
    if plt is not None and isinstance(value, plt.Figure):
        value.savefig(io.BytesIO(), format="png")  # draws the figure
        texts = [t.get_text() for t in value.findobj(plt.Text) if t.get_text()]
        plt.close(value)
        return said(texts)
    if isinstance(value, dict):
        return b"".join(said(k) + b":" + said(v) + b";" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return b"".join(said(v) + b"," for v in value)
    return str(value).encode("utf-8", "replace")


def outcomes(found, limit=MEMORY, seconds=SECONDS):
    """{reader: ("answer", digest) or ("refused", sentence)}; failures are ("leak" | "bare" | "died" | "hung", detail)."""
    receiving, sending = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(receiving)
        try:
            _limit(limit)
            for name, ask in found.items():
                os.write(sending, f"{name}\1".encode())
                os.write(sending, "\2".join(_outcome(ask)).encode("utf-8", "replace") + b"\3")
        finally:
            os._exit(0)
    os.close(sending)
    told, until, hung = b"", time.monotonic() + seconds, False
    while True:
        ready, _, _ = select.select([receiving], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            hung = True
            break
        piece = os.read(receiving, 65536)
        if not piece:
            break
        told += piece
    os.close(receiving)
    _, status = os.waitpid(child, 0)
    results = {}
    for record in told.split(b"\3"):
        if record:
            name, _, outcome = record.decode("utf-8", "replace").partition("\1")
            results[name] = tuple(outcome.split("\2")) if outcome else ("hung" if hung else "died", f"status {status}")
    return results | {name: ("hung" if hung else "died", "not reached") for name in found if name not in results}


def _limit(limit):
    with open("/proc/self/statm", encoding="ascii") as f:
        now = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + limit, now + limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)


def _outcome(ask):
    warnings.simplefilter("ignore")
    try:
        answer = said(ask())
    except ff.ResultError as refusal:
        text = str(refusal)
        if LETTERS in text or _chain_has_marker(refusal):
            return "leak", text[:200]
        sound = "\n" not in text and text.isprintable() and len(text) < 8000
        return ("refused", text) if sound else ("bare", f"not one sentence: {text[:200]!r}")
    except Exception as problem:
        return ("leak" if LETTERS in str(problem) else "bare"), f"{type(problem).__name__}: {str(problem)[:200]!r}"
    if LETTERS.encode() in answer:
        return "leak", "in an answer"
    return "answer", hashlib.md5(answer).hexdigest()


def _chain_has_marker(problem):
    while problem is not None:
        if LETTERS in str(problem):
            return True
        problem = problem.__cause__ or problem.__context__
    return False
