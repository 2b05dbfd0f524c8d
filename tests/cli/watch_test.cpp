// SPDX-License-Identifier: Apache-2.0
// `farfault watch`, and the flush schedule of a watched run.
#include "farfault/cli/watch.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "capture.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/results/writer.hpp"
#include "run/flush_schedule.hpp"
#include "run/watch_mark.hpp"
#include "show/watch/curves.hpp"
#include "show/watch/sparkline.hpp"
#include "show/watch/watched_run.hpp"
#include "show/watch/watched_sweep.hpp"
#include "sweep/places.hpp"
#include "sweep/run_list.hpp"

namespace watch_test {

using namespace farfault;
using namespace farfault::cli;

namespace fs = std::filesystem;

namespace {

std::string folder(std::string const& name) {
  auto const path = fs::path(FARFAULT_BINARY_DIR) / "watch_test" / name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path.string();
}

// Sets the modification time of a file.
void touch(std::string const& path, std::int64_t ns) {
  std::ofstream(path).close();
  timespec const at{ns / 1'000'000'000, ns % 1'000'000'000};
  timespec const both[2] = {at, at};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), both, 0) == 0);
}

// A manual clock, and a schedule whose flushes take only the given time.
struct Bench {
  double now = 100;
  std::int64_t touches = 0;
  std::string mark = folder("schedule") + "/a.h5.watch";
  FlushSchedule schedule{WatchMark(mark), [this] { return now; }};

  bool due_at(double time) {
    now = time;
    return schedule.due();
  }
  void flushed(double cost = 0) {
    now += cost;
    schedule.done();
  }
  void watch() { touch(mark, ++touches); }
};

// A run in progress with one SM and 10,000 blocks; each sample adds a microsecond and a block.
class Growing {
 public:
  explicit Growing(std::string const& path, std::uint64_t taken_up_at = 0) : writer_(path, header()) {
    writer_.engine({{"start_time", "text", "Start.", std::string("2026-01-31T12:00:00Z")},
                    {"start_simulated_time", "ps", "From.", taken_up_at},
                    {"thread_blocks", "count", "Blocks.", std::uint64_t{10'000}}});
  }
  void grow(std::uint64_t samples) {
    for (std::uint64_t i = 0; i < samples; ++i) {
      ++samples_;
      writer_.append_sample(Time{Duration{static_cast<std::int64_t>(samples_) * 1'000'000}},
                            std::vector<std::uint64_t>{samples_});
    }
    writer_.flush();
  }
  void end() { writer_.finish("completed"); }

 private:
  static results::RunHeader header() {
    results::RunHeader h;
    h.nodes = {{"gpu0", "gpu"}};
    h.series = {{"sm", {"gpu0.sm0"}, {{"blocks", "count", "Blocks.", StatKind::counter, 1}}}};
    return h;
  }
  results::ResultWriter writer_;
  std::uint64_t samples_ = 0;
};

}  // namespace

TEST_CASE("an unwatched run is flushed every 10 s") {
  Bench b;
  CHECK_FALSE(b.due_at(101));
  CHECK_FALSE(b.due_at(109));
  CHECK(b.due_at(110.5));
  b.flushed();
  CHECK_FALSE(b.due_at(120));
  CHECK(b.due_at(120.6));
}

TEST_CASE("a watched run is flushed every second, until watching ends") {
  Bench b;
  b.watch();
  CHECK_FALSE(b.due_at(100.5));
  CHECK(b.due_at(101.1));
  b.flushed();
  CHECK_FALSE(b.due_at(101.4));
  CHECK_FALSE(b.due_at(101.7));
  CHECK(b.due_at(102.0));
  b.flushed();
  CHECK_FALSE(b.due_at(107));  // not touched in the 5 s before this sample
  b.watch();
  CHECK(b.due_at(107.3));
}

TEST_CASE("infrequent samples are flushed immediately while they are watched") {
  Bench b;
  b.watch();
  CHECK(b.due_at(103));
  b.flushed();
  b.watch();
  CHECK(b.due_at(103.7));  // the next sample may be too late
}

TEST_CASE("a watched run spends 5% of its time on flushes, more for intervals up to 2 s, at most 20%") {
  // The time from a flush that takes `cost` to the next one, in hundredths of a second.
  auto const wait = [](double cost) {
    Bench b;
    b.watch();
    CHECK(b.due_at(102));
    b.flushed(cost);
    auto const flushed = b.now;
    for (int step = 1;; ++step) {
      b.watch();
      if (b.due_at(flushed + 0.01 * step)) return step;
    }
  };
  auto const about = [](int steps, int wanted) { return std::abs(steps - wanted) <= 2; };
  CHECK(about(wait(0), 100));
  CHECK(about(wait(0.05), 100));
  CHECK(about(wait(0.08), 160));  // 5% of the time
  CHECK(about(wait(0.2), 170));   // less than 2 s including the flush
  CHECK(about(wait(0.38), 152));
  CHECK(about(wait(0.5), 200));  // 20%
  CHECK(about(wait(2), 800));
}

TEST_CASE("a mark counts when its time changes, not when it only exists") {
  auto const path = folder("mark") + "/a.h5.watch";
  touch(path, 5);
  WatchMark mark(path);
  CHECK_FALSE(mark.touched());
  touch(path, 6);
  CHECK(mark.touched());
  CHECK_FALSE(mark.touched());
  fs::remove(path);
  CHECK_FALSE(mark.touched());
  touch(path, 6);
  CHECK(mark.touched());
}

TEST_CASE("a watcher removes the mark that it created, and keeps a file of the user") {
  auto const path = mark_path(folder("touch") + "/a.h5");
  CHECK(path.ends_with("a.h5.watch"));
  {
    WatchTouch watcher(path);
    CHECK_FALSE(fs::exists(path));
    CHECK(watcher.touch());
    CHECK(fs::exists(path));
  }
  CHECK_FALSE(fs::exists(path));
  std::ofstream(path) << "notes";
  {
    WatchTouch watcher(path);
    CHECK_FALSE(watcher.touch());
  }
  CHECK(fs::file_size(path) == 5);
  fs::remove(path);
  fs::create_symlink("elsewhere", path);
  CHECK_FALSE(WatchTouch(path).touch());
}

TEST_CASE("a curve has one character per value") {
  auto const nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(sparkline({0, 0.5, 1, nan, 0.99}, false) == "059 9");
  CHECK(sparkline({0, 4, 8}, true) == "▁▅█");
  CHECK(sparkline({0, 0}, false) == "00");
  CHECK(sparkline({}, true) == "");
}

TEST_CASE("curves have equal intervals of simulated time, whatever the sample times") {
  std::vector<std::uint64_t> const instances(watched_counters().size(), 2);
  std::vector<std::uint64_t> const none(watched_counters().size(), 0);
  auto const at = [](std::string const& series, std::string const& metric) {
    return watched_counter(series, metric);
  };
  std::vector<analysis::LivePoint> points{{0, 1'000'000, none}, {1, 4'000'000, none}};
  points[0].totals[at("sm", "instructions")] = 3000;
  points[1].totals[at("sm", "instructions")] = 6000;
  points[1].totals[at("l2_tlb", "hits")] = 30;
  points[1].totals[at("l2_tlb", "misses")] = 10;
  points[1].totals[at("dram", "busy_time")] = 6'000'000;
  auto const list = curves(points, instances, 60);
  REQUIRE(list.size() == 3);  // all others are 0 throughout
  // Two parts of 2 us: 3000 + 1000 instructions, and 2000.
  CHECK(list[0].what == "warp instructions per ns");
  CHECK(list[0].values == std::vector<double>{2, 1});
  CHECK(list[1].what == "L2 TLB misses");
  CHECK(list[1].share);
  CHECK(list[1].values[1] == 0.25);
  // A third of 6 us by then, for two channels in 2 us.
  CHECK(list[2].what == "DRAM channels busy");
  CHECK(list[2].values[0] == doctest::Approx(0.5));
  CHECK(list[2].values[1] == doctest::Approx(1.0));
  CHECK(curves({}, instances, 60).empty());
}

TEST_CASE("watch --once shows a result, including a completed one") {
  ::setenv("LC_ALL", "C", 1);
  auto const path = folder("once") + "/a.h5";
  auto const made = farfault_program({"run", "paper-gmmu-bypass", "--set", "workload.name=stream", "--set",
                                      "workload.stream.bytes=256KiB", "--set", "gpu.sms=2", "--set",
                                      "run.sample_interval=2us", "--output", path, "--progress", "off"});
  CHECK_MESSAGE(made.code == 0, made.err);
  for (auto const& name : {path, path + ".partial"}) {
    auto const r = farfault_program({"watch", name, "--once"});
    CHECK(r.code == 0);
    CHECK(r.err == "");
    CHECK(r.out.starts_with(path + ": completed\n"
                                   "  [########################] 100%, "));
    CHECK(r.out.find("warp instructions, 4.1 k memory transactions, ") != r.out.npos);
    CHECK(r.out.find("\n  L2 TLB misses  ") != r.out.npos);
    CHECK(r.out.find('\x1b') == r.out.npos);
  }
  // It ends by itself when the run has ended, and leaves no file.
  CHECK(farfault_program({"watch", path}).code == 0);
  CHECK_FALSE(fs::exists(mark_path(path)));
  ::unsetenv("LC_ALL");
}

TEST_CASE("watch: the latest sample is shown, whatever the number of samples") {
  auto const path = folder("long") + "/a.h5";
  Growing run(path);
  WatchedRun watched(path);
  for (std::uint64_t samples = 8; samples <= 720; samples += 8) {
    run.grow(8);
    watched.update();
    auto const lines = watched.lines({});
    REQUIRE(lines.size() > 2);
    CHECK(lines[1].find(for_people(Duration{static_cast<std::int64_t>(samples) * 1'000'000}) +
                        " simulated") != std::string::npos);
    CHECK(lines[2].ends_with(" " + std::to_string(samples) + " samples"));
  }
}

TEST_CASE("watch: a run is timed from its start, a resumed run from its first observation") {
  for (std::uint64_t const taken_up_at : {0U, 2'000'000U}) {
    CAPTURE(taken_up_at);
    auto const path = folder("timed") + "/a.h5";
    Growing run(path, taken_up_at);
    run.grow(5);
    WatchedRun watched(path);
    watched.update();
    auto const line = watched.lines({}).at(1);
    CHECK((line.find(" left, 5 us simulated, ") != line.npos) == (taken_up_at == 0));
    CHECK(line.ends_with(" per second") == (taken_up_at == 0));
  }
}

TEST_CASE("watch of a sweep: a completed run is no longer in progress") {
  auto const where = folder("ending");
  fs::create_directories(where + "/runs");
  write_run_list(where, {{"aa", "run 0 (x = 1)"}});
  Growing run(where + "/runs/aa.h5");
  run.grow(3);
  WatchedSweep watched(where);
  watched.update();
  CHECK(watched.results() == std::vector<std::string>{where + "/runs/aa.h5"});
  CHECK(watched.lines({}).at(1) == "  [........................] 0 done, 0 failed, 1 running, 0 pending");
  CHECK(watched.lines({}).at(3) == "    run 0 (x = 1): " + std::string("  0%, 3 us"));
  run.end();
  watched.update();
  CHECK(watched.results().empty());
  CHECK(watched.has_ended());
  CHECK(watched.lines({}).at(1) == "  [########################] 1 done, 0 failed, 0 running, 0 pending");
}

TEST_CASE("watch of a path that is neither a run nor a sweep gives one sentence") {
  auto const where = folder("wrong");
  auto const check_wrong = [](std::string const& path, std::string const& sentence) {
    auto const r = farfault_program({"watch", path});
    CHECK(r.code == 2);
    CHECK(r.out == "");
    CHECK(r.err == "farfault: " + sentence + "\n");
  };
  auto const none = where + "/a.h5";
  check_wrong(none, none + ": neither this file nor " + none + ".partial exists");
  check_wrong(where, where + ": not the folder of a sweep: it has no folder 'runs'");
  std::ofstream(none) << "text";
  CHECK(farfault_program({"watch", none, "--once"}).code == 2);
}

TEST_CASE("watch of a sweep counts runs by the content of their files") {
  auto const where = folder("sweep");
  fs::create_directories(where + "/runs");
  for (auto const* name : {"aa.h5", "bb.h5", "stale.h5"}) std::ofstream(where + "/runs/" + name) << "x";
  std::ofstream(where + "/runs/cc.failed") << "farfault: a remark\nfarfault: the disk is full\n";
  std::ofstream(where + "/runs/dd.h5.partial") << "of a run that was killed";
  auto r = farfault_program({"watch", where, "--once"});
  CHECK(r.out == where + ": sweep with an unknown number of runs\n" +
                     "  3 done, 1 failed, 0 running\n"
                     "  failed\n"
                     "    cc: the disk is full\n");
  write_run_list(
      where,
      {{"aa", "run 0 (x = 1)"}, {"bb", "run 1 (x = 2)"}, {"cc", "run 2 (x = 3)"}, {"dd", "run 3 (x = 4)"}});
  r = farfault_program({"watch", where, "--once"});
  CHECK(r.code == 0);
  CHECK(r.out == where + ": sweep of 4 runs\n" +
                     "  [##################......] 2 done, 1 failed, 0 running, 1 pending\n" +
                     "  failed\n    run 2 (x = 3): the disk is full\n");
}

TEST_CASE("watch of a sweep counts a run with a missing input file as failed, with the reason") {
  auto const where = folder("no_input");
  auto const study = where + "/study.toml";
  std::ofstream(study) << "base = \"paper-gmmu-bypass\"\n[config]\ngpu.sms = 2\nworkload.name = \"stream\"\n"
                          "workload.stream.bytes = \"8 KiB\"\n[sweep]\noutput = \"out\"\n[sweep.grid]\n"
                          "machine.topology = [\"paper-gmmu-bypass\", \"gone.xml\"]\n";
  CHECK(farfault_program({"sweep", study, "--progress", "off"}).code == 1);
  auto const r = farfault_program({"watch", where + "/out", "--once"});
  CHECK(r.code == 0);
  CHECK(r.out.starts_with(where + "/out: sweep of 2 runs\n" +
                          "  [########################] 1 done, 1 failed, 0 running, 0 pending\n" +
                          "  failed\n    run 1 (machine.topology = gone.xml): gone.xml: "));
  // Readers of a sweep's results skip the failed run.
  CHECK(farfault_program({"report", where + "/out", "-o", where + "/page.html"}).code == 0);
}

TEST_CASE("a sweep's run list is read back unchanged, and any other file is rejected") {
  auto const where = folder("list");
  CHECK_FALSE(read_run_list(where));
  write_run_list(where, {{"0123", "run 0 (a = \"b\tc\")"}, {"4567", "run 1"}});
  auto const list = read_run_list(where);
  REQUIRE(list);
  REQUIRE(list->size() == 2);
  CHECK((*list)[1].name == "4567");
  CHECK((*list)[1].text == "run 1");
  std::ofstream(run_list_path(where), std::ios::app) << "../../evil\ttext\n";
  CHECK_FALSE(read_run_list(where));
  std::ofstream(run_list_path(where)) << "0123\trun 0\n";
  CHECK_FALSE(read_run_list(where));
}

}  // namespace watch_test
