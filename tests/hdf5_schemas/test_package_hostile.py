# SPDX-License-Identifier: Apache-2.0
"""Hostile results: every reader of the Python package returns the correct answer or raises a one-sentence ResultError.

No answer and no sentence contains a byte of another file; no reader hangs or takes more than 1 GiB. Each file is read in a
separate process under limits (tests/support/hostile_readers.py). tests/support/hostile_results.py and hostile_contents.py
create the files.

Usage: python3 test_package_hostile.py PATH/TO/test_hdf5_schemas [all]
all: each change of each place; otherwise a regular selection of them.
"""
import gc
import os
import sys
from collections import Counter

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # RLIMIT_AS counts the address space of its threads
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import hostile_contents as contents  # noqa: E402
import hostile_results as made  # noqa: E402
import sample_runs  # noqa: E402
from hostile_readers import outcomes, readers, sweep_readers  # noqa: E402
from package_tests import ff, h5py, main, numpy, refused  # noqa: E402
from sweep_sample import table  # noqa: E402

COUNTS = Counter()
ALL = sys.argv[2:] == ["all"]
# Readers by the group that they read.
READERS = {"config": ("repr", "config", "config_text", "command_line", "seed", "inputs", "unused", "group", "open_many"),
           "topology": ("repr", "machine", "rates", "traffic", "links", "placement", "group", "with"),
           "summary": ("repr", "summary", "figures", "latency", "stalls", "traffic", "links", "with", "open_many"),
           "timeseries": ("timeseries", "deltas", "rates", "latency_over_time", "with"),
           "tables": ("repr", "table", "column", "latency", "stalls", "traffic", "links", "placement", "group"),
           "engine": ("repr", "engine", "commit", "host")}
PLOTS = {"topology": ("traffic", "placement", "timeline"), "summary": ("latency_stack", "stalls", "links"),
         "timeseries": ("timeline", "hit_rates", "latency_over_time", "latency_histogram"),
         "tables": ("timeline", "traffic", "links", "placement")}


class Prepared:
    def __init__(self, folder):
        self.folder, self.sound = folder, sample_runs.bfs(folder)
        self.secrets, self.turn = made.secrets(folder, self.sound), 0
        self.changed = os.path.join(folder, "changed", os.path.basename(self.sound))  # plots and reprs contain the name
        os.makedirs(os.path.dirname(self.changed))
        self.answers = outcomes(readers(self.sound, self.sound))
        assert {kind for kind, _ in self.answers.values()} == {"answer"}, self.answers
        gc.freeze()  # keeps garbage collection in the child processes from touching, and so copying, pages of this process

    def tried(self, change, place="", same=True):
        """The wrong outcomes of the readers on a changed copy. same: answers must equal the answers for the sound file."""
        path = made.hostile(self.sound, self.changed, change, place, self.secrets)
        return self.judged(path, f"{change.__name__} {place}".strip(), self.readers_of(place), same)

    def readers_of(self, place):
        """Readers of the place, and for every third change one plot of it. Without a place: all readers, and two of the
        plots."""
        self.turn += 1
        if not place:
            plots = sorted(n for n in self.answers if n.startswith("plot."))
            return (*(n for n in self.answers if n not in plots), *(plots[(2 * self.turn + k) % len(plots)] for k in range(2) if plots))
        plots = PLOTS.get(place.split("/")[0], ()) if self.turn % 3 == 0 else ()
        return (*READERS[place.split("/")[0]], *(f"plot.{plots[self.turn // 3 % len(plots)]}" for _ in plots[:1]))

    def judged(self, path, name, ask=None, same=True):
        found = readers(path, self.sound)
        of = outcomes({n: found[n] for n in ask if n in found} if ask else found)
        os.remove(path)
        wrong = []
        for reader, (kind, detail) in of.items():
            if kind == "answer" and same and detail != self.answers[reader][1]:
                kind, detail = "other answer", "not that of the sound file"
            COUNTS[kind] += 1
            if kind not in ("answer", "refused"):
                wrong.append(f"{name}: {reader}: {kind}: {detail}")
        return wrong


def some(places, changes, one_in):
    """Pairs of a place and a change: all, or one in one_in, where neighbouring places have different changes."""
    return [(place, change) for i, place in enumerate(places) for k, change in enumerate(changes) if ALL or (i + k) % one_in == 0]


def check(wrong):
    assert not wrong, f"{len(wrong)} wrong outcomes:\n" + "\n".join(wrong[:400])


def links_are_not_followed(p):
    check([w for place, change in some(made.PLACES, made.LINKS, 6) for w in p.tried(change, place)])


def values_in_other_files_are_not_read(p):
    check([w for place, change in some(made.DATASETS, made.ELSEWHERE, 4) for w in p.tried(change, place)])


def sizes_are_checked_before_anything_is_allocated(p):
    wrong = [w for place, change in some(made.DATASETS, contents.SIZES, 4) for w in p.tried(change, place, same=False)]
    check(wrong + [w for i, place in enumerate(made.TEXTS) for w in p.tried(contents.TEXT_SIZES[i % 2], place, same=False)])


def rows_that_compress_well_are_read_up_to_a_limit(p):
    """10^9 rows: 8 GB of numbers in 8 MB. A column that is longer than the others is read up to the shortest length."""
    for place in ("summary/machine/end", "timeseries/l2_tlb/hits", "tables/kernels/launched"):
        check(p.tried(contents.many_rows, place))
    for place, ask in (("tables/kernels", lambda r: r.table("kernels")), ("summary/machine", lambda r: r.summary()),
                       ("timeseries/l2_tlb", lambda r: r.deltas("l2_tlb", "hits"))):
        path = made.hostile(p.sound, p.changed, contents.many_rows_in_all_of_a_group, place, p.secrets)
        refused(lambda: ask(ff.open(path)), path, "max_bytes is 536870912", "this call would load 800000")
        check(p.judged(path, place, p.readers_of(place), same=False))


def other_types_and_filters_are_refused(p):
    of_groups = (contents.swapped, contents.missing, contents.a_type_in_its_place)
    check([w for place, change in some(made.PLACES, contents.KINDS, 10) if place in made.DATASETS or change in of_groups
           for w in p.tried(change, place, same=False)])


def attributes_names_texts_and_references_that_make_no_sense_are_refused(p):
    check([w for change in contents.WHOLE for w in p.tried(change, same=False)])


def configurations_take_little_memory_and_time(p):
    """Readers of the configuration take at most 128 MiB each, and a minute in total. A MemoryError is not a valid refusal
    here."""
    asked = {}
    for n, (name, text) in enumerate(contents.configurations().items()):
        path = made.hostile(p.sound, os.path.join(p.folder, f"config{n}.h5"), lambda f, place, s: made.replaced(
            f, place, data=numpy.bytes_(text), dtype=None, shape=None), "config/toml", p.secrets)
        found = readers(path, p.sound)
        asked |= {f"{name}: {reader}": found[reader] for reader in ("config", "repr", "open_many")}
    wrong = []
    for reader, (kind, detail) in outcomes(asked, limit=128 << 20, seconds=60).items():
        name, _, call = reader.rpartition(": ")
        read = name in contents.READ and (call != "open_many" or "long names" not in name)
        if kind != ("answer" if read else "refused") or "more memory" in detail or (kind == "refused" and "config" not in detail):
            wrong.append(f"{reader}: {kind}: {detail}")
    check(wrong)


def texts_of_a_configuration_are_no_structure(p):
    text = 'path = "' + "../" * 40 + 'a.toml"\nquoted = "a\\"b\\\\" # "a"\nliteral = \'c:\\..."\'\n[many."a.b.c"]\nwords = ["", \'\', "[[[{{{"]'
    path = made.hostile(p.sound, os.path.join(p.folder, "texts.h5"), lambda f, place, s: made.replaced(
        f, place, data=numpy.bytes_(text), dtype=None, shape=None), "config/toml", p.secrets)
    config = ff.open(path).config
    assert config["path"] == "../" * 40 + "a.toml" and config["quoted"] == 'a"b\\' and config["literal"] == 'c:\\..."', config
    assert config["many"]["a.b.c"]["words"] == ["", "", "[[[{{{"], config
    refused(lambda: ff.open(path, max_bytes=8000).config, "max_bytes is 8000", "with config this call would load")


def a_damaged_file_is_refused_and_one_with_a_user_block_read(p):
    check(p.judged(made.with_user_block(p.sound, p.changed), "user block"))
    check(p.judged(made.cut_in_the_middle(p.sound, p.changed), "cut"))
    check(p.judged(made.a_hole_of_a_terabyte(p.sound, p.changed), "hole", same=False))


def only_regular_files_are_opened(p):
    for path in (p.secrets.fifo, "/dev/zero", "/dev/full", "/dev/tty", os.path.join(p.folder, "no\0name"), "x" * 5000):
        found = outcomes({"open": lambda: ff.open(path), "open_sweep": lambda: ff.open_sweep(path), "open_many": lambda: ff.open_many([path])},
                         seconds=20)
        assert {kind for kind, _ in found.values()} == {"refused"}, (path, found)
    link = os.path.join(p.folder, "link.h5")
    os.symlink(p.sound, link)
    assert ff.open(link).seed == ff.open(p.sound).seed


# The sweep.
def sweep_folder(p, name, result, place=None, change=None):
    """A sweep of two runs whose table names `result` as the result of the first one."""
    folder = os.path.join(p.folder, name)
    os.makedirs(os.path.join(folder, "runs"))
    paths = [os.path.join(folder, "runs", f"{n}.h5") for n in range(2)]
    for path in paths:
        os.link(p.sound, path)
    table(folder, paths, {"gpu.l2_tlb.entries": [32, 64]}, spread={"end_mean": numpy.array([3], "u8")}, partners=[0, 0])
    with h5py.File(os.path.join(folder, "sweep.h5"), "r+") as f:
        made.replaced(f, "runs/result", data=numpy.array([result, b"runs/1.h5"]), dtype=None, shape=None)
        if change:
            change(f, place, p.secrets)
    return folder


def runs_of_a_sweep_are_in_its_folder(p):
    os.makedirs(os.path.join(p.folder, "outside"))
    os.link(p.secrets.result, os.path.join(p.folder, "outside", "secret.h5"))
    for n, result in enumerate((b"../outside/secret.h5", b"runs/../../outside/secret.h5", p.secrets.result.encode(), b"door/secret.h5",
                                b"runs/link.h5", b"runs/0.h5\0/../../secret.h5", b".", b"runs", b"runs/fifo", b"door", b"..", b"/dev/zero")):
        folder = sweep_folder(p, f"sweep{n}", result)
        os.symlink(os.path.join(p.folder, "outside"), os.path.join(folder, "door"))
        os.symlink(p.secrets.result, os.path.join(folder, "runs", "link.h5"))
        os.mkfifo(os.path.join(folder, "runs", "fifo"))
        found = outcomes({n: ask for n, ask in sweep_readers(folder).items() if n != "plot"}, seconds=40)
        assert found["open"][0] == found["each"][0] == "refused", (result, found)
        assert {kind for kind, _ in found.values()} <= {"answer", "refused"}, (result, found)
    assert ff.open_sweep(sweep_folder(p, "sound_sweep", b"runs/0.h5")).open(0).digest == ff.open(p.sound).digest
    away = os.path.join(p.folder, "sweep_link")
    os.symlink(os.path.join(p.folder, "sound_sweep"), away)
    assert ff.open_sweep(away).open(0).digest == ff.open(p.sound).digest


def the_table_of_a_sweep_is_no_more_trusted_than_a_result(p):
    changes = (*made.LINKS, *made.ELSEWHERE, *contents.SIZES, contents.many_rows, *contents.KINDS)
    wrong, n = [], 0
    places = ("runs", "runs/run", "runs/end", "runs/result", "runs/result_digest", "runs/state", "runs/gpu.l2_tlb.entries",
              "runs/baseline", "spread", "spread/end_mean")
    for place, change in some(places, changes, 6):
        if "/" not in place and change not in (*made.LINKS, contents.swapped, contents.missing):
            continue
        n += 1
        folder = sweep_folder(p, f"table{n}", b"runs/0.h5", place, change)
        found = sweep_readers(folder)
        for reader, (kind, detail) in outcomes({r: found[r] for r in found if r != "plot" or n % 5 == 0}).items():
            COUNTS[kind] += 1
            if kind not in ("answer", "refused"):
                wrong.append(f"sweep: {change.__name__} {place}: {reader}: {kind}: {detail}")
    check(wrong)


def names_and_texts_of_a_file_are_printable_in_a_sentence(p):
    bad = "\x1b[31mX\nINJECTED"

    def of_sweep(name, texts):
        """The sweep whose runs have these texts in these columns."""
        def change(f, place, s):
            for column in texts:
                made.replaced(f, f"runs/{column}", data=numpy.array([texts[column].encode()] * 2), dtype=None, shape=None)
        return ff.open_sweep(sweep_folder(p, name, b"runs/0.h5", None, change))

    path = made.hostile(p.sound, os.path.join(p.folder, "names.h5"), lambda f, place, s: f.create_dataset(f"{place}/{bad}", data=numpy.arange(5)),
                        "timeseries/l2_tlb", p.secrets)

    def of_equal_points(f, place, s):
        """100 parameters with one value each: the two runs do not form a grid."""
        made.replaced(f, "runs/gpu.l2_tlb.entries", data=numpy.array([32, 32], "i8"), dtype=None, shape=None)
        for n in range(100):
            f["runs"].copy("gpu.l2_tlb.entries", f"{bad}{n}")

    many = sweep_folder(p, "many_parameters", b"runs/0.h5", None, of_equal_points)
    for asked in (lambda: ff.open(path).timeseries("l2_tlb"), lambda: of_sweep("digests", {"result_digest": bad}).open(0),
                  lambda: of_sweep("states", {"result": "", "state": bad, "error": bad}).open(0), lambda: ff.open_sweep(many).dataset("end")):
        said = refused(asked, "INJECTED")
        assert said.isprintable(), repr(said)
        assert len(said) < 3000, len(said)


def mistakes_of_the_caller_are_not_errors_of_the_file(p):
    result = ff.open(p.sound)
    for call in (lambda: ff.open(5), lambda: ff.open_sweep(None), lambda: ff.open_many(5), lambda: ff.open(p.sound, max_bytes="1"),
                 lambda: ff.open(p.sound, max_bytes=0), lambda: result.table(), lambda: result.table("kernels", 5), lambda: result.summary("gpu", wrong=1),
                 lambda: result.timeseries("l2_tlb", 5), lambda: result.rates("l2_tlb")):
        try:
            raise AssertionError(f"accepted: {call()}")
        except TypeError as problem:
            assert not isinstance(problem, ff.ResultError), problem
    refused(lambda: result.table(5), "it has no table 5")
    refused(lambda: result.group("nothing"), "it has no group 'nothing'")


def a_call_loads_at_most_the_limit_which_the_user_can_set(p):
    path = made.hostile(p.sound, os.path.join(p.folder, "large.h5"), lambda f, place, s: contents.many_rows(f, place, s, rows=3 << 20), "tables/kernels/row", p.secrets)
    with h5py.File(path, "r+") as f:
        for name in [n for n in f["tables/kernels"] if n != "row"]:
            del f[f"tables/kernels/{name}"]
    said = refused(lambda: ff.open(path, max_bytes=16 << 20).table("kernels"), "max_bytes is 16777216", " 25165", "tables/kernels/row")
    assert said.startswith(f"{path}: "), said
    assert len(ff.open(path, max_bytes=32 << 20).table("kernels")) == len(ff.open(path).table("kernels")) == 3 << 20
    series = ff.open(p.sound, max_bytes=200_000).timeseries("sm")
    hits = series["l1_tlb_hits"]
    one = hits.size * 8
    assert 50_000 < one < 150_000, one
    assert hits.values.nbytes == one and len(hits[:2].values) == 2
    refused(lambda: series.load(), "max_bytes is 200000")


TESTS = (only_regular_files_are_opened, links_are_not_followed, values_in_other_files_are_not_read,
         sizes_are_checked_before_anything_is_allocated, rows_that_compress_well_are_read_up_to_a_limit, other_types_and_filters_are_refused,
         attributes_names_texts_and_references_that_make_no_sense_are_refused, configurations_take_little_memory_and_time,
         texts_of_a_configuration_are_no_structure, a_damaged_file_is_refused_and_one_with_a_user_block_read, runs_of_a_sweep_are_in_its_folder, the_table_of_a_sweep_is_no_more_trusted_than_a_result,
         names_and_texts_of_a_file_are_printable_in_a_sentence,
         mistakes_of_the_caller_are_not_errors_of_the_file, a_call_loads_at_most_the_limit_which_the_user_can_set)

if __name__ == "__main__":
    status = main(TESTS, Prepared)
    print(", ".join(f"{n} {kind}" for kind, n in sorted(COUNTS.items())), file=sys.stderr)
    sys.exit(status)
