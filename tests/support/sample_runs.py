# SPDX-License-Identifier: Apache-2.0
"""Runs of the program for tests of latency stacks, SM times, traffic and page placement."""
import os

from package_tests import copy, h5py, run

# With an L1 cache of one cycle, so that links take most of the time of an access.
BFS = ("workload.name=bfs", "workload.bfs.rmat.scale=10", "memory.placement=interleave", "gpu.l1_cache.latency=1", "gpu.l1_cache.mshrs=128",
       "run.sample_interval=4us")
TWO = ('[[application]]\nname = "left"\nworkload = "stream"\nstream.bytes = "64 KiB"\nsms = 2\nrepeats = 2\n'
       '[[application]]\nname = "right"\nworkload = "bfs"\nbfs.rmat.scale = 8\nsms = 2\n')
CLUSTER = 'machine.topology = "generic"\nmachine.generic.gpus = 2\nmachine.cluster.machines = 2\ngpu.sms = 4\n'
INTERLEAVED = 'memory.placement = "interleave"\n'


def bfs(folder):
    """A breadth-first search on four GPUs with pages interleaved over all of them."""
    return run(os.path.join(folder, "bfs.h5"), *BFS)


def faults(folder):
    """Two GPUs that migrate each page to the GPU that accesses it."""
    return run(os.path.join(folder, "faults.h5"), "machine.topology=generic", "machine.generic.gpus=2", "gpu.sms=4",
               "workload.name=transpose", "workload.transpose.width=128", "workload.transpose.height=128",
               "memory.placement=interleave", "memory.remote_touch=migrate")


def two_applications(folder):
    return _configured(folder, "two.h5", INTERLEAVED + TWO)


def cluster(folder, scope="node", applications=TWO):
    """Two machines with two GPUs each, which run all applications independently or (scope "cluster") together."""
    return _configured(folder, f"cluster_{scope}.h5", CLUSTER + INTERLEAVED + applications, f"memory.scope={scope}")


def stopped(folder, at="6us"):
    """A search that is stopped with outstanding accesses."""
    return run(os.path.join(folder, "stopped.h5"), *BFS, "--until", at)


def without_new_data(path):
    """A copy without the data that earlier programs did not store."""
    earlier = copy(path, "earlier.h5")
    with h5py.File(earlier, "r+") as f:
        for scope in f["summary"].values():
            for name in [n for n in scope if n.startswith("sm_") and "time" in n]:
                del scope[name]
        for name in [n for n in f["tables/kernels"] if n.startswith("time_in_") or n == "access_time"]:
            del f["tables/kernels"][name]
        for name in ("timeseries/sm.by_gpu", "tables/traffic", "tables/links", "tables/page_placement"):
            del f[name]
    return earlier


def _configured(folder, name, text, *settings):
    config = os.path.join(folder, name.replace(".h5", ".toml"))
    with open(config, "w", encoding="utf-8") as f:
        f.write('include = ["paper-gmmu-bypass"]\n' + text)
    return run(os.path.join(folder, name), *settings, config=config)
