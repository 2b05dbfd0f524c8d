# SPDX-License-Identifier: Apache-2.0
"""Opens the result of a run of the program with h5py and xarray, and checks properties of every result.

Usage: python3 test_real_run.py BUILD_FOLDER/anything
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import traceback

import h5py
import numpy
import xarray

farfault = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "farfault")
# Four GPUs with pages on all of them and small TLBs, so that every component counts something.
SETTINGS = ["workload.name=stream", "workload.stream.bytes=1MiB", "workload.stream.write_fraction=0.25",
            "gpu.l2_tlb.entries=32", "run.sample_interval=2us", "--threads", "2"]


def run(path, *settings):
    words = [w for s in settings for w in (("--set", s) if "=" in s else (s,))]
    subprocess.run([farfault, "run", "paper-gmmu-bypass", *words, "--output", path, "--progress", "off"],
                   check=True, stdout=subprocess.DEVNULL)


def is_scale(dataset):
    return dataset.attrs.get("CLASS") == b"DIMENSION_SCALE"


def datasets(file, under="/"):
    found = []
    file[under].visititems(lambda name, item: found.append(item) if isinstance(item, h5py.Dataset) else None)
    return found


def every_dataset_has_units_and_a_long_name(path):
    with h5py.File(path) as f:
        bare = [(d.name, a) for d in datasets(f) if not is_scale(d) for a in ("units", "long_name")
                if not d.attrs.get(a)]
        assert bare == [], bare
        assert sum(not is_scale(d) for d in datasets(f)) > 50


def the_file_describes_itself(path):
    with h5py.File(path) as f:
        assert f.attrs["title"] == b"Farfault run: stream on 4 GPUs", f.attrs["title"]
        comment = f.attrs["comment"].decode()
        assert comment.startswith("Groups: ") and all(f"{group} (" in comment for group in f), comment
        assert f["summary/application/kernels_started"][...].tolist() == f["summary/application/kernels"][...].tolist()
        for name in ("farfault_version", "schema_version", "Conventions", "result_digest", "end_reason"):
            assert name in f.attrs, name
        assert f.attrs["end_reason"] == b"completed"
        assert set(f) == {"config", "topology", "summary", "timeseries", "tables", "engine"}, list(f)


def settings_without_effect_are_stored(path):
    with h5py.File(path) as f:
        assert "unused" not in f["config"]
    other = path + ".unused.h5"
    run(other, *SETTINGS, "links.nvlink_latency=1us", "links.pcie_bandwidth=1GB/s")
    with h5py.File(path) as f, h5py.File(other) as g:
        assert g["config/unused/key"].asstr()[:].tolist() == ["links.pcie_bandwidth", "links.nvlink_latency"]
        assert g["config/unused/only_with"].asstr()[:].tolist() == ["a PCIe link without a stated speed or width", "a machine with NVLinks"]
        assert g["config/unused/instead"].asstr()[:].tolist() == ["links.scale.pcie.bandwidth", ""]
        assert f.attrs["result_digest"] == g.attrs["result_digest"] and f["config/toml"][()] == g["config/toml"][()]


def xarray_opens_the_l2_tlb(path):
    with xarray.open_dataset(path, group="timeseries/l2_tlb", engine="h5netcdf") as data:
        assert data["hits"].dims == ("time_ps", "instance")
        assert data["instance"].values.tolist() == [f"gpu{g}.l2_tlb" for g in range(4)]
        assert (data["time_ps"].diff("time_ps") > 0).all() and data.sizes["time_ps"] >= 3
        assert data["time_ps"].values[0] == 2_000_000
        last = data.isel(time_ps=-1)
        assert (last["misses"] > 0).all(), last["misses"].values


def counters_never_decrease(path):
    checked = 0
    with h5py.File(path) as f:
        for d in datasets(f, "timeseries"):
            if d.attrs.get("kind") != b"counter":
                continue
            values = d[...].astype("int64")
            assert (values[1:] >= values[:-1]).all(), d.name
            checked += int(values[-1].sum() > 0)
    assert checked > 30, checked


def gpus_add_up_to_the_machine(path):
    with h5py.File(path) as f:
        machine, gpus = f["summary/machine"], f["summary/gpu"]
        shared = [m for m in gpus if m in machine and not is_scale(gpus[m])]
        assert len(shared) > 20, shared
        # Durations do not add up.
        wrong = [(m, gpus[m][...].sum(), machine[m][...].sum()) for m in shared
                 if m not in ("start", "end", "cycles") and gpus[m][...].sum() != machine[m][...].sum()]
        assert wrong == [], wrong
        assert gpus["sm_instructions"].shape == (4,) and (gpus["sm_instructions"][...] > 0).all()


def the_summary_is_the_last_sample(path):
    with h5py.File(path) as f:
        for metric in ("hits", "misses"):
            last = f["timeseries/l2_tlb/" + metric][-1].sum()
            assert f["summary/machine/l2_tlb_" + metric][...].sum() == last, metric


def kernels_add_up_to_the_sms(path):
    several = os.path.join(os.path.dirname(path), "kernels.h5")
    run(several, "workload.name=bfs", "workload.bfs.rmat.scale=8")
    for name in (path, several):
        with h5py.File(name) as f:
            kernels, sms = f["tables/kernels"], f["timeseries/sm"]
            shared = [c for c in kernels if c in sms and not is_scale(sms[c])]
            assert len(shared) >= 16 and {"instructions", "l1_misses", "gmmu_translations", "l2_hits"} <= set(shared), shared
            wrong = [(c, kernels[c][...].sum(), sms[c][-1].sum()) for c in shared
                     if kernels[c][...].sum() != sms[c][-1].sum()]
            assert wrong == [], wrong
            assert all(kernels[c].attrs["units"] == sms[c].attrs["units"] for c in shared)
            parts = f["tables/kernels_by_gpu"]
            assert len(parts["kernel"]) == 4 * len(kernels["kernel"])
            assert sorted(set(parts["gpu"].asstr()[...])) == ["gpu0", "gpu1", "gpu2", "gpu3"]
            for column in shared + ["blocks"]:
                by_kernel = [int(parts[column][...][parts["kernel"][...] == k].sum()) for k in kernels["kernel"][...]]
                assert by_kernel == kernels[column][...].tolist(), column
            if name == several:
                assert len(kernels["kernel"]) == 3 and len(set(kernels["transactions"][...].tolist())) > 1


def sample_intervals_grow_and_increases_add_up_to_the_summary(path):
    longer = os.path.join(os.path.dirname(path), "longer.h5")
    run(longer, "workload.name=bfs", "workload.bfs.rmat.scale=8")
    checked = 0
    with h5py.File(longer) as f:
        every = f["timeseries/sm/time_ps"][...]
        for kind, group in f["timeseries"].items():
            times = group["time_ps"][...]
            if kind.endswith(".histograms"):
                rows = [*range(0, len(every), 16), *([len(every) - 1] if (len(every) - 1) % 16 else [])]
                assert times.tolist() == every[rows].tolist(), (kind, times)
                if kind == "gmmu.histograms":  # each row has all walks so far, also of GMMUs that have been idle since
                    walks = f["timeseries/gmmu/walks"][...][rows]
                    assert walks[-1].any() and (group["walk_latency"][...].sum(axis=2) == walks).all(), (group["walk_latency"][...].sum(axis=2), walks)
                continue
            lasted = numpy.diff(times, prepend=0)
            assert lasted[0] == 50_000 and (numpy.diff(lasted[:-1]) >= 0).all(), (kind, lasted)
            assert set(lasted[:-1].tolist()) == {50_000 << n for n in range(len(set(lasted[:-1].tolist())))}, (kind, lasted)
            assert lasted[-2] > 50_000 and 0 < lasted[-1] <= lasted[-2] and times[-1] == f["summary/machine/end"][0], (kind, lasted)
            for metric, d in group.items():
                total = f"{kind}_{metric}"
                if d.attrs.get("kind") != b"counter" or total not in f["summary/machine"]:
                    continue
                grown = numpy.diff(d[...].astype("int64").sum(axis=1), prepend=0)
                assert (grown >= 0).all() and grown.sum() == f["summary/machine"][total][0], (kind, metric)
                assert numpy.isclose((grown / lasted * lasted).sum(), f["summary/machine"][total][0]), (kind, metric)
                checked += 1
    assert checked > 50, checked


def a_short_run_writes_a_small_file(path):
    short = os.path.join(os.path.dirname(path), "short.h5")
    run(short, "workload.name=stream", "workload.stream.bytes=64KiB", "--until", "7us")
    with h5py.File(short) as f:
        number = len(datasets(f))
    assert number > 200 and os.path.getsize(short) < 800 * number, (os.path.getsize(short), number)


def engine_records_the_program_and_its_host(path):
    with h5py.File(path) as f:
        engine = {name: f["engine"][name][()] for name in f["engine"]}
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=os.path.dirname(farfault), capture_output=True, text=True)
    if commit.returncode == 0:
        assert engine["commit"].decode().split()[0] == commit.stdout.strip(), engine["commit"]
    assert engine["host"].decode() == socket.gethostname()
    assert engine["threads"] == 2 and engine["ranks"] == 1 and engine["mpi_library"]
    assert re.fullmatch(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", engine["start_time"])
    assert engine["events"] > 0 and engine["wall_time"] > 0


def critical_path_adds_to_engine(path):
    other = os.path.join(os.path.dirname(path), "path.h5")
    run(other, "workload.name=stream", "workload.stream.bytes=64KiB", "--critical-path")
    with h5py.File(other) as f:
        assert f["engine/events"][()] >= f["engine/critical_path_events"][()] > 0
        assert "host" in f["engine"] and len(f["engine/speedup"]) == len(f["engine/speedup_cores"])


def inspect_json_has_the_figures(path):
    said = subprocess.run([farfault, "inspect", path, "--json"], check=True, capture_output=True, text=True).stdout
    figures = json.loads(said)["summary"]
    with h5py.File(path) as f:
        for scope in f["summary"]:
            names = f["summary"][scope]["name"].asstr()[:]
            for metric, dataset in f["summary"][scope].items():
                for name, value in zip(names, dataset[:]):
                    assert metric == "name" or figures[scope][name][metric] == value, (scope, name, metric)
    assert figures["machine"]["machine"]["end"] > 0 and set(figures["gpu"]) == {"gpu0", "gpu1", "gpu2", "gpu3"}


def diff_of_equal_results_names_the_parameters(path):
    # A run that never fills the L2 TLB.
    small = ("workload.name=stream", "workload.stream.bytes=64KiB")
    for name, entries in (("a.h5", 256), ("b.h5", 1024)):
        run(os.path.join(os.path.dirname(path), name), *small, f"gpu.l2_tlb.entries={entries}")
    said = subprocess.run([farfault, "diff", "a.h5", "b.h5"], cwd=os.path.dirname(path), capture_output=True, text=True)
    assert said.returncode == 0, said
    assert said.stdout == ("the results are equal; the configurations differ in gpu.l2_tlb.entries (256, 1024)\n"), said
    said = subprocess.run([farfault, "diff", path, "b.h5"], cwd=os.path.dirname(path), capture_output=True, text=True)
    assert said.returncode == 1 and "; the configurations differ in gpu.l2_tlb.entries (32, 1024), " in said.stdout, said


def a_cluster_names_the_machine_of_each_node_and_row(path):
    other = os.path.join(os.path.dirname(path), "cluster.h5")
    run(other, "workload.name=transpose", "workload.transpose.width=256", "memory.placement=first_touch",
        "workload.transpose.height=128", "machine.topology=two-gpu", "machine.cluster.machines=2")
    with h5py.File(other) as f:
        def column(name):
            return f[name].asstr()[:]
        nodes = zip(*(column("topology/nodes/" + c) for c in ("name", "kind", "machine", "host", "driver")))
        for name, kind, machine, host, driver in nodes:
            assert machine == (name[:2] if name.startswith("m") else ""), (name, machine)
            mine = kind in ("gpu", "cpu")
            assert (host, driver) == ((machine + ".host", machine + ".driver") if mine else ("", "")), (name, host)
        assert f["timeseries/driver/instance"].asstr()[:].tolist() == ["m0.driver", "m1.driver"]
        assert column("tables/kernels/machine").tolist() == ["m0", "m1"]
        parts = list(zip(column("tables/kernels_by_gpu/machine"), column("tables/kernels_by_gpu/gpu")))
        assert sorted(parts) == [("m0", "m0.gpu0"), ("m0", "m0.gpu1"), ("m1", "m1.gpu0"), ("m1", "m1.gpu1")], parts
        assert f.attrs["title"] == b"Farfault run: transpose on 4 GPUs of 2 machines", f.attrs["title"]
        touches = list(zip(column("tables/first_touches/machine"), column("tables/first_touches/gpu"),
                           column("tables/first_touches/device")))
        machine_of = {"m0.gpu0": "m0", "m0.gpu1": "m0", "m1.gpu0": "m1", "m1.gpu1": "m1"}
        assert {gpu for _, gpu, _ in touches} == set(machine_of), touches
        assert all(machine == machine_of[gpu] == machine_of[device] for machine, gpu, device in touches), touches
        pages = f["timeseries/driver/pages_mapped"][-1].tolist()
        assert pages == [sum(machine == m for machine, _, _ in touches) for m in ("m0", "m1")], pages


def one_device_has_one_name(path):
    def texts(group, name):
        return group[name].asstr()[:].tolist()

    # Independent machines, a shared memory, and pages that wait and move between machines.
    runs = {"alone": (), "together": ("memory.scope=cluster",),
            "touched": ("memory.scope=cluster", "memory.placement=first_touch"),
            "moving": ("memory.scope=cluster", "memory.remote_touch=migrate")}
    for name, settings in runs.items():
        other = os.path.join(os.path.dirname(path), f"names_{name}.h5")
        run(other, "workload.name=transpose", "workload.transpose.width=256", "workload.transpose.height=128",
            "memory.placement=interleave", "machine.topology=two-gpu", "machine.cluster.machines=2", *settings)
        with h5py.File(other) as f:
            nodes = dict(zip(texts(f, "topology/nodes/name"), texts(f, "topology/nodes/kind")))
            gpus = [node for node, kind in nodes.items() if kind == "gpu"]
            assert gpus == ["m0.gpu0", "m0.gpu1", "m1.gpu0", "m1.gpu1"], gpus
            devices = {node for node, kind in nodes.items() if kind in ("gpu", "cpu", "nic")}
            tables = f["tables"]
            seen = {column: set(texts(tables, column)) for column in (
                "traffic/from", "traffic/to", "page_placement/device", "first_touches/gpu", "first_touches/device",
                "migrations/from", "migrations/to") if column.split("/")[0] in tables}
            assert set(gpus) <= seen["traffic/from"] and set(gpus) <= seen["traffic/to"], seen
            for column, names in seen.items():
                assert names and names <= devices, (name, column, names - devices)
            assert ("migrations/to" in seen) == (name == "moving"), seen
            assert ("first_touches/gpu" in seen) == (name == "touched"), seen
            assert texts(f, "summary/gpu/name") == gpus == texts(f, "timeseries/sm.by_gpu/instance")
            instances = [i for kind in f["timeseries"].values() for i in texts(kind, "instance")]
            assert {i.split(".gpu")[0] for i in instances if "gpu" in i} == {"m0", "m1"}
            assert not [i for i in instances if i.startswith("gpu")]


TESTS = (every_dataset_has_units_and_a_long_name, the_file_describes_itself, settings_without_effect_are_stored, xarray_opens_the_l2_tlb,
         counters_never_decrease, gpus_add_up_to_the_machine, the_summary_is_the_last_sample,
         kernels_add_up_to_the_sms, sample_intervals_grow_and_increases_add_up_to_the_summary,
         a_short_run_writes_a_small_file, engine_records_the_program_and_its_host, critical_path_adds_to_engine,
         inspect_json_has_the_figures, diff_of_equal_results_names_the_parameters,
         a_cluster_names_the_machine_of_each_node_and_row, one_device_has_one_name)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.h5")
        run(path, *SETTINGS)
        for test in TESTS:
            try:
                test(path)
                passed += 1
            except Exception:
                failed += 1
                print(f"FAILED: {test.__name__}")
                traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
