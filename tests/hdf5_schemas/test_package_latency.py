# SPDX-License-Identifier: Apache-2.0
"""The package's latency stacks and SM times of real runs: they add up for each owner.

Usage: python3 test_package_latency.py PATH/TO/test_hdf5_schemas
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sample_runs  # noqa: E402
from package_tests import ff, main, numpy, refused, sample  # noqa: E402

SUMS = ["access_time", "transactions"]


def prepare(folder):
    runs = {make.__name__: ff.open(make(folder)) for make in (sample_runs.bfs, sample_runs.faults,
                                                              sample_runs.two_applications, sample_runs.cluster)}
    return folder, runs


def stages_of(table):
    return table.drop(columns=SUMS)


def stages_add_up_to_the_time_of_accesses(prepared):
    for name, run in prepared[1].items():
        for by in ("machine", "gpu", "application", "kernel"):
            table = run.latency(by)
            assert (stages_of(table).sum(axis=1) == table["access_time"]).all(), (name, by)
            assert (table["access_time"] > 0).all() and (table["transactions"] > 0).all(), (name, by)
            assert table.dtypes.eq("int64").all(), (name, by)


def gpus_applications_and_kernels_add_up_to_the_machine(prepared):
    for name, run in prepared[1].items():
        whole = run.latency("machine").loc["machine"]
        assert whole["transactions"] == run.summary().loc["machine", "sm_transactions"]
        for by in ("gpu", "application", "kernel"):
            assert run.latency(by).sum().equals(whole), (name, by)


def a_stack_reads_its_own_columns_and_no_others(prepared):
    for by in ("machine", "gpu", "application", "kernel"):
        read, whole = [], ff.datasets.filled
        ff.datasets.filled = lambda d, *rows: read.append(d.name) or whole(d, *rows)
        try:
            prepared[1]["bfs"].latency(by)
        finally:
            ff.datasets.filled = whole
        others = [n for n in read if "time" not in n and not n.endswith(("/name", "transactions", "/row", "/launch"))]
        assert len(read) >= 15 and not others, (by, others)


def stages_are_in_the_order_of_an_access_with_units(prepared):
    table = prepared[1]["bfs"].latency()
    assert list(table) == ["load_store", "l1_tlb", "l2_tlb", "walk_queue", "walk", "iommu", "fault", "l1_cache", "l2_cache",
                           "dram_queue", "dram", "links", "remote_memory", "outstanding", *SUMS]
    assert table.index.tolist() == [f"gpu{g}" for g in range(4)] and table.index.name == "name"
    assert table.attrs["units"] == {**{stage: "ps" for stage in table}, "transactions": "1"}
    assert "page walks" in table.attrs["long_name"]["walk"], table.attrs["long_name"]


def the_stack_shows_where_the_time_went(prepared):
    bfs, faults = (prepared[1][n].latency("machine").loc["machine"] for n in ("bfs", "faults"))
    assert bfs["links"] > 0.5 * bfs["access_time"] and bfs["fault"] == 0
    assert faults["fault"] > 0.5 * faults["access_time"]


def the_stack_of_one_application_is_that_of_the_machine(prepared):
    run = prepared[1]["bfs"]
    assert run.latency("application").index.tolist() == ["bfs"]
    assert run.latency("application").loc["bfs"].equals(run.latency("machine").loc["machine"])


def kernels_are_named_by_what_they_belong_to(prepared):
    runs = prepared[1]
    assert runs["bfs"].latency("kernel").index.tolist() == runs["bfs"].table("kernels")["name"].tolist()
    names = runs["two_applications"].latency("kernel").index.tolist()
    assert names.count("left/stream#0") == 1 and "left/stream#1" in names and len(set(names)) == len(names), names
    names = runs["cluster"].latency("kernel").index.tolist()
    assert {"m0/left/stream#0", "m1/left/stream#1"} <= set(names) and len(set(names)) == len(names), names


def sm_activity_adds_up_to_the_time_of_sms(prepared):
    for name, run in prepared[1].items():
        for by in ("machine", "gpu"):
            table = run.stalls(by)
            assert (table.drop(columns="sm_time").sum(axis=1) == table["sm_time"]).all(), (name, by)
            assert (table["active"] > 0).any() and (table >= 0).all(axis=None), (name, by)
        end = run.summary().loc["machine", "end"]
        assert (table["sm_time"] == end * run.config["gpu"]["sms"]).all(), name
        assert table.sum().equals(run.stalls("machine").loc["machine"]), name
    assert list(table) == ["active", "memory_stall", "fault_stall", "load_store_stall", "scalar_stall", "barrier_stall",
                           "stopped", "idle", "sm_time"]
    assert table.attrs["units"] == {what: "ps" for what in table}
    assert prepared[1]["faults"].stalls("machine")["fault_stall"].iloc[0] > 0


def the_stack_over_time_ends_at_that_of_the_run(prepared):
    def spent(accesses):
        return (accesses * (accesses["time_ps"] - accesses["start_ps"])).sum("time_ps")

    def agrees(accesses, row):
        assert accesses.dims == ("time_ps", "stage") and accesses.attrs["units"] == "1"
        stages = row.drop([*SUMS, "outstanding"])
        assert accesses["stage"].values.tolist() == list(stages.index)
        assert numpy.allclose(spent(accesses).values, stages.to_numpy(dtype=float), rtol=1e-9), (spent(accesses), stages)

    run = prepared[1]["bfs"]
    agrees(run.latency_over_time(), run.latency("machine").loc["machine"])
    agrees(run.latency_over_time("gpu2"), run.latency().loc["gpu2"])
    agrees(run.latency_over_time(application="bfs"), run.latency("application").loc["bfs"])
    assert run.latency_over_time().sizes["time_ps"] > 10
    run = prepared[1]["two_applications"]
    agrees(run.latency_over_time("gpu3"), run.latency().loc["gpu3"])
    agrees(run.latency_over_time(application="left"), run.latency("application").loc["left"])
    both = run.latency_over_time("gpu1", "left") + run.latency_over_time("gpu1", "right")
    assert numpy.allclose(both.values, run.latency_over_time("gpu1").values)


def outstanding_accesses_of_a_stopped_run_have_a_column(prepared):
    run = ff.open(sample_runs.stopped(prepared[0]))
    for by in ("machine", "gpu", "application"):
        table = run.latency(by)
        assert (table["outstanding"] > 0).all(), table.T
        assert stages_of(table).sum(axis=1).equals(table["access_time"]), table.T
    assert run.stalls().drop(columns="sm_time").sum(axis=1).equals(run.stalls()["sm_time"])


def sm_activity_of_kernels_and_applications_adds_up_to_their_resident_time(prepared):
    for name, run in prepared[1].items():
        tables = {by: run.stalls(by) for by in ("kernel", "application")}
        for by, table in tables.items():
            assert table.drop(columns="resident_time").sum(axis=1).equals(table["resident_time"]), (name, by)
            assert (table["active"] > 0).all() and table.index.equals(run.latency(by).index), (name, by)
        assert tables["kernel"].sum().equals(tables["application"].sum()), name
    whole = prepared[1]["bfs"].stalls("machine").loc["machine"]
    alone = prepared[1]["bfs"].stalls("application").loc["bfs"]
    assert alone["outside"] == 0 and alone["resident_time"] == whole["sm_time"] - whole["idle"]
    assert all(alone[what] == whole[what] for what in whole.index if what not in ("idle", "sm_time"))


def a_missing_name_is_refused_with_the_existing_ones(prepared):
    run = prepared[1]["bfs"]
    refused(lambda: run.latency("node"), "'node'", "machine, gpu, application, kernel")
    refused(lambda: run.stalls("node"), "'node'", "machine, gpu, application, kernel")
    refused(lambda: run.latency_over_time("gpu7"), "'gpu7'", "gpu0, gpu1, gpu2, gpu3")
    refused(lambda: run.latency_over_time(application="fir"), "'fir'", "available: bfs")
    refused(lambda: prepared[1]["two_applications"].latency_over_time(application="fir"), "'fir'", "left, right")


def results_without_the_data_are_refused_with_the_reason(prepared):
    earlier = ff.open(sample_runs.without_new_data(prepared[1]["bfs"].path))
    asked = [lambda r, by=by: r.latency(by) for by in ("machine", "gpu", "application", "kernel")]
    asked += [lambda r: r.stalls(), lambda r: r.latency_over_time()]
    for ask in asked:
        refused(lambda: ask(earlier), "earlier.h5: it has no", "it was written by an earlier version of Farfault, which did not record it")
    sample(prepared[0])
    cut_off = ff.open(os.path.join(prepared[0], "cut_off.h5.partial"))
    for ask in asked:
        refused(lambda: ask(cut_off), "it has no", "the run has not ended")


TESTS = (stages_add_up_to_the_time_of_accesses, gpus_applications_and_kernels_add_up_to_the_machine,
         stages_are_in_the_order_of_an_access_with_units, a_stack_reads_its_own_columns_and_no_others, the_stack_shows_where_the_time_went,
         the_stack_of_one_application_is_that_of_the_machine, kernels_are_named_by_what_they_belong_to,
         sm_activity_adds_up_to_the_time_of_sms,
         sm_activity_of_kernels_and_applications_adds_up_to_their_resident_time, the_stack_over_time_ends_at_that_of_the_run,
         outstanding_accesses_of_a_stopped_run_have_a_column, a_missing_name_is_refused_with_the_existing_ones,
         results_without_the_data_are_refused_with_the_reason)

if __name__ == "__main__":
    sys.exit(main(TESTS, prepare))
