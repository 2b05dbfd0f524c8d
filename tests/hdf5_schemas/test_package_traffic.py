# SPDX-License-Identifier: Apache-2.0
"""The package's traffic, links and page placement of real runs: they agree with each other and with the machine.

Usage: python3 test_package_traffic.py PATH/TO/test_hdf5_schemas
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sample_runs  # noqa: E402
from package_tests import copy, ff, h5py, main, numpy, refused, run, sample  # noqa: E402

DEVICES = ["gpu0", "gpu1", "gpu2", "gpu3", "cpu0"]


def prepare(folder):
    return folder, ff.open(sample_runs.bfs(folder))


def traffic_is_a_square_of_all_devices_in_bytes(prepared):
    result = prepared[1]
    table, pairs = result.traffic(), result.table("traffic")
    assert table.index.tolist() == DEVICES == table.columns.tolist() and (table.index.name, table.columns.name) == ("from", "to")
    assert table.to_numpy().sum() == pairs["bytes"].sum() > 0 and (numpy.diag(table) == 0).all()
    for row in pairs.itertuples():
        assert table.loc[row[pairs.columns.get_loc("from") + 1], row.to] == row.bytes
    assert table.attrs["units"] == {d: "byte" for d in DEVICES} and "headers excluded" in table.attrs["long_name"]["gpu0"]
    assert result.traffic("packets").to_numpy().sum() == pairs["packets"].sum()


def traffic_is_what_went_over_the_only_link_of_a_device(prepared):
    result = prepared[1]
    packets, data, links = result.traffic("packets"), result.traffic(), result.links()
    for device in DEVICES:
        out, back = links[links["from"] == device], links[links["to"] == device]
        assert len(out) == len(back) == 1, device
        assert out["packets"].iloc[0] == packets.loc[device].sum() and back["packets"].iloc[0] == packets[device].sum(), device
        assert out["bytes"].iloc[0] > data.loc[device].sum() and back["bytes"].iloc[0] > data[device].sum(), device


def links_have_both_directions_and_a_share_of_the_run(prepared):
    result = prepared[1]
    links, machine = result.links(), result.machine.links
    assert sorted(links["link"]) == sorted([*machine.index] * 2)
    for row in links.to_dict("records"):
        ends = machine.loc[row["link"]]
        assert {row["from"], row["to"]} == {ends["a"], ends["b"]} and row["kind"] == ends["kind"]
        speed = ends["forward_bytes_per_s"] if row["from"] == ends["a"] else ends["backward_bytes_per_s"]
        assert row["bandwidth"] == speed and row["sender"].startswith(row["from"] + ".")
    assert ((links["busy"] >= 0) & (links["busy"] <= 1)).all() and links["busy"].max() > 0
    end = result.summary().loc["machine", "end"]
    assert numpy.allclose(links["busy"], links["busy_time"] / end)
    assert numpy.allclose(links["busy"], links["bytes"] / links["bandwidth"] / (end * 1e-12), rtol=0.1)
    assert links.attrs["units"]["bandwidth"] == "byte s-1" and links.attrs["units"]["busy"] == "1"
    assert "share of the run" in links.attrs["long_name"]["busy"]


def no_link_is_busier_than_the_run_is_long(prepared):
    other = copy(prepared[1].path, "overdue.h5")
    with h5py.File(other, "r+") as f:
        f["tables/links/busy_time"][0] = 2 * int(f["summary/machine/end"][0])
    assert ff.open(other).links()["busy"].iloc[0] == 1.0


def placement_adds_up_to_the_pages_of_the_buffers(prepared):
    folder, bfs = prepared
    table = bfs.placement()
    assert table.columns.tolist() == DEVICES and table.index.names == ["application", "buffer"]
    assert table.to_numpy().sum() == bfs.table("page_placement")["pages"].sum()
    assert table.loc[("bfs", "columns"), DEVICES[:4]].min() > 0 and table["cpu0"].sum() == 0  # interleaved
    stream = ("workload.name=stream", "workload.stream.bytes=256KiB")
    for placement, where in (("interleave", [16, 16, 16, 16, 0]), ("contiguous", [16, 16, 16, 16, 0]), ("cpu", [0, 0, 0, 0, 64])):
        result = ff.open(run(os.path.join(folder, f"{placement}.h5"), *stream, f"memory.placement={placement}",
                             "memory.remote_touch=remote_access"))
        assert result.placement().to_numpy().tolist() == [where], (placement, result.placement())
    table = ff.open(sample_runs.faults(folder)).placement()
    assert table.sum(axis=1).to_dict() == {("transpose", "input"): 16, ("transpose", "output"): 16}, table
    assert table.attrs["units"]["gpu0"] == "1" and table.attrs["long_name"]["gpu0"] == "Base pages of the buffer on the device"


def several_applications_have_their_own_buffers(prepared):
    table = ff.open(sample_runs.two_applications(prepared[0])).placement()
    assert table.index.unique("application").tolist() == ["left", "right"]
    assert table.loc[("left", "array")].sum() == 16


def machines_of_a_cluster_that_run_alone_send_each_other_nothing(prepared):
    result = ff.open(sample_runs.cluster(prepared[0]))
    table = result.traffic()
    assert table.index.tolist() == ["m0.gpu0", "m0.gpu1", "m1.gpu0", "m1.gpu1", "m0.cpu0", "m1.cpu0"]
    apart = table.loc[["m0.gpu0", "m0.gpu1", "m0.cpu0"], ["m1.gpu0", "m1.gpu1", "m1.cpu0"]]
    assert apart.to_numpy().sum() == 0 and table.loc["m1.gpu0", "m1.gpu1"] == table.loc["m0.gpu0", "m0.gpu1"] > 0
    placement = result.placement()
    assert placement.index.names == ["machine", "application", "buffer"] and len(placement) == 2 * len(placement.loc["m0"])
    assert placement.loc[("m0", "left", "array")].tolist() == [8, 8, 0, 0, 0, 0]
    assert placement.loc[("m1", "left", "array")].tolist() == [0, 0, 8, 8, 0, 0]
    links = result.links()
    assert "machine" not in links and links[links["kind"] == "network"]["bytes"].sum() == 0


def machines_of_a_cluster_with_one_memory_share_it(prepared):
    stream = '[workload]\nname = "stream"\nstream.bytes = "128 KiB"\n'
    result = ff.open(sample_runs.cluster(prepared[0], "cluster", stream))
    table = result.traffic()
    assert table.loc["m0.gpu0", "m1.gpu1"] > 0 and result.placement().to_numpy().tolist() == [[8, 8, 8, 8, 0, 0]]
    links = result.links()
    assert links[links["kind"] == "network"]["bytes"].min() > 0


def without_traffic_the_map_is_zero(prepared):
    still = copy(prepared[1].path, "still.h5")
    with h5py.File(still, "r+") as f:
        for name in ("traffic", "links", "page_placement"):
            del f[f"tables/{name}"]
    result = ff.open(still)
    assert result.traffic().shape == (5, 5) and not result.traffic().to_numpy().any()
    assert len(result.links()) == 0 and result.placement().shape == (0, 5)


def a_result_without_the_tables_gives_the_reason(prepared):
    earlier = ff.open(sample_runs.without_new_data(prepared[1].path))
    sample(prepared[0])
    cut_off = ff.open(os.path.join(prepared[0], "cut_off.h5.partial"))
    for ask, what in ((lambda r: r.traffic(), "traffic between devices"), (lambda r: r.links(), "link utilization"),
                      (lambda r: r.placement(), "page placement")):
        refused(lambda: ask(earlier), f"earlier.h5: it has no {what}", "written by an earlier version")
        refused(lambda: ask(cut_off), f"it has no {what}", "the run has not ended")
    refused(lambda: prepared[1].traffic("hops"), "'hops'", "bytes, packets")


TESTS = (traffic_is_a_square_of_all_devices_in_bytes, traffic_is_what_went_over_the_only_link_of_a_device,
         links_have_both_directions_and_a_share_of_the_run, no_link_is_busier_than_the_run_is_long,
         placement_adds_up_to_the_pages_of_the_buffers, several_applications_have_their_own_buffers,
         machines_of_a_cluster_that_run_alone_send_each_other_nothing, machines_of_a_cluster_with_one_memory_share_it,
         without_traffic_the_map_is_zero, a_result_without_the_tables_gives_the_reason)

if __name__ == "__main__":
    sys.exit(main(TESTS, prepare))
