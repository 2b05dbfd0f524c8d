// SPDX-License-Identifier: Apache-2.0
// Bottlenecks of results with hand-written figures.
#include "farfault/analysis/explain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "farfault/engine/error.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace explain_test {

using namespace farfault;
using namespace farfault::analysis;
using namespace farfault::results;

namespace {

constexpr std::uint64_t kEnd = 1'000'000;

struct Figure {
  std::string metric;
  std::uint64_t value;
};

struct Row {
  std::string what;  // "kernel", or the direction of a copy
  std::uint64_t began;
  std::uint64_t ended;
};

// A machine with two DRAM channels and a GMMU with the given busy times, at half of the run and at its end;
// an L2 TLB with full MSHRs; two links; kernels that spend a tenth of the run on the way to the GPUs and
// another tenth on the way back; and copies.
struct Machine {
  std::vector<std::uint64_t> dram_at_half{0, 0};
  std::vector<std::uint64_t> dram{0, 0};
  std::uint64_t walkers = 0;
  std::vector<std::uint64_t> links{0, 0};
  std::vector<Figure> figures;
  std::uint64_t mshrs = 0;
  std::string second_sender = "switch0.to_gpu0";
  std::vector<Row> rows = {};
  std::vector<Row> outstanding = {};  // ordered by their beginning, and by their arrival at the GPUs or the
                                      // driver
  std::string end_reason = "completed";
  // Additional samples between the two, or at the end before the complete one: time, and count of the first
  // DRAM channel.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> further = {};
  std::vector<EngineValue> engine = {};
};

std::string written(std::string const& path, Machine const& m) {
  auto header = sample::header();
  StatInfo const busy{"busy_time", "ps", "Time.", StatKind::counter, 1};
  header.series = {{"dram", {"gpu0.dram0", "gpu0.dram1"}, {busy}},
                   {"gmmu", {"gpu0.gmmu"}, {{"walker_busy_time", "ps", "Time.", StatKind::counter, 1}}},
                   {"l2_tlb", {"gpu0.l2_tlb"}, {{"mshr_stall_time", "ps", "Time.", StatKind::counter, 1}}},
                   {"rdma", {"gpu0.rdma"}, {busy}}};
  header.tables = {{"links",
                    "Links.",
                    {{"from", "text", "Node.", ColumnType::text},
                     {"to", "text", "Node.", ColumnType::text},
                     {"sender", "text", "Component.", ColumnType::text},
                     {"busy_time", "ps", "Time.", ColumnType::u64}}},
                   {"kernels",
                    "Kernels.",
                    {{"launched", "ps", "Time.", ColumnType::u64},
                     {"reached_gpus", "ps", "Time.", ColumnType::u64},
                     {"left_gpus", "ps", "Time.", ColumnType::u64},
                     {"finished", "ps", "Time.", ColumnType::u64}}},
                   {"copies",
                    "Copies.",
                    {{"direction", "text", "To.", ColumnType::text},
                     {"started", "ps", "Time.", ColumnType::u64},
                     {"finished", "ps", "Time.", ColumnType::u64}}}};
  if (!m.outstanding.empty())
    header.tables.push_back({"outstanding",
                             "Operations.",
                             {{"application", "text", "Of.", ColumnType::text},
                              {"stream", "count", "Stream.", ColumnType::u64},
                              {"operation", "text", "What.", ColumnType::text},
                              {"name", "text", "Name.", ColumnType::text},
                              {"started", "ps", "Time.", ColumnType::u64},
                              {"reached", "ps", "Time.", ColumnType::u64}}});
  ResultWriter writer(path, header);
  auto const time = [](std::uint64_t ps) { return Time{Duration{static_cast<std::int64_t>(ps)}}; };
  writer.append_sample(time(kEnd / 2), std::vector{m.dram_at_half[0], m.dram_at_half[1], m.walkers / 2,
                                                   m.mshrs / 2, m.links[0] / 2});
  for (auto const& [at, dram] : m.further)
    writer.append_sample(time(at),
                         std::vector{dram, m.dram_at_half[1], m.walkers / 2, m.mshrs / 2, m.links[0] / 2});
  writer.append_sample(time(kEnd), std::vector{m.dram[0], m.dram[1], m.walkers, m.mshrs, m.links[0]});
  writer.append_row(0, std::vector<Cell>{"gpu0", "switch0", "gpu0.rdma", m.links[0]});
  writer.append_row(0, std::vector<Cell>{"switch0", "gpu0", m.second_sender, m.links[1]});
  for (auto const& r : m.rows)
    if (r.what == "kernel")
      writer.append_row(1, std::vector<Cell>{r.began, r.began + kEnd / 10, r.ended - kEnd / 10, r.ended});
    else
      writer.append_row(2, std::vector<Cell>{r.what, r.began, r.ended});
  for (auto const& r : m.outstanding)
    writer.append_row(3, std::vector<Cell>{"app", std::uint64_t{0}, r.what, r.what == "kernel" ? "fir" : "",
                                           r.began, r.ended});
  std::vector<SummaryRow> rows{{"machine", "machine", "end", "ps", "End.", kEnd}};
  for (auto const& f : m.figures) rows.push_back({"machine", "machine", f.metric, "ps", "Time.", f.value});
  writer.summary(rows);
  if (!m.engine.empty()) writer.engine(m.engine);
  writer.finish(m.end_reason);
  return path;
}

std::vector<Figure> const kAccesses{
    {"sm_transactions", 10},  {"sm_access_time", 1'000},      {"sm_time_in_load_store", 500},
    {"sm_time_in_dram", 300}, {"sm_time_in_walk_queue", 150}, {"sm_time_in_links", 50},
    {"sm_time", 4 * kEnd},    {"sm_active_time", kEnd},       {"sm_memory_stall_time", 2 * kEnd},
    {"sm_idle_time", kEnd}};

std::string refusal(std::string const& path) {
  try {
    explain(path);
  } catch (UserError const& e) {
    return e.what();
  }
  return "explained";
}

}  // namespace

TEST_CASE("explain: a resource is weighted by its maximum utilization and by the time spent waiting for it") {
  Scratch dir;
  auto const e = explain(written(dir / "a.h5", {.dram_at_half = {0, 600},
                                                .dram = {100'000, 600'000},
                                                .walkers = 900'000,
                                                .links = {1'000, 990'000},
                                                .figures = kAccesses}));
  CHECK(e.end_ps == kEnd);
  CHECK(e.accesses == 10);
  REQUIRE(e.resources.size() == 3);
  // Page walks also count for DRAM: (300 + 150) of 500; walkers: 150; links: 50.
  CHECK(e.resources[0].name == "gpu0.dram1");
  CHECK(e.resources[0].busy == doctest::Approx(0.6));
  CHECK(e.resources[0].average == doctest::Approx(0.35));
  CHECK(e.resources[0].waited == doctest::Approx(0.9));
  CHECK(e.resources[0].weight == doctest::Approx(0.54));
  CHECK(e.resources[0].alike == 2);
  CHECK(e.resources[1].name == "gpu0.gmmu");
  CHECK(e.resources[1].weight == doctest::Approx(0.9 * 0.3));
  CHECK(e.resources[2].name == "switch0 to gpu0");
  CHECK(e.resources[2].weight == doctest::Approx(0.99 * 0.1));
  CHECK(e.bound == Bound::resource);
}

TEST_CASE(
    "explain: resources are ordered by their greatest possible gain, and a busy one without gain is not the "
    "bottleneck") {
  Scratch dir;
  auto figures = kAccesses;
  for (auto& f : figures) {
    if (f.metric == "sm_time_in_walk_queue") f.value = 1;
    if (f.metric == "sm_time_in_links") f.value = 199;
  }
  Machine m{.dram = {300'000, 0}, .walkers = 650'000, .links = {400'000, 0}, .figures = figures};
  auto e = explain(written(dir / "a.h5", m));
  REQUIRE(e.resources.size() == 3);
  CHECK(e.resources[0].what == "DRAM channels");
  CHECK(e.resources[0].waited == doctest::Approx(0.602));
  CHECK(e.resources[1].what == "links (per direction)");
  CHECK(e.resources[1].waited == doctest::Approx(0.398));
  CHECK(e.resources[2].what == "GMMU page walkers");
  CHECK(e.resources[2].waited == doctest::Approx(0.002));
  CHECK(e.bound == Bound::latency);
  // The busy one with a gain is the bottleneck, and before the others.
  m.links = {600'000, 0};
  e = explain(written(dir / "b.h5", m));
  CHECK(e.bound == Bound::resource);
  CHECK(e.resources[0].what == "links (per direction)");
  CHECK(e.resources[1].what == "DRAM channels");
}

TEST_CASE("explain: a counter is interpolated linearly between its samples") {
  Scratch dir;
  auto const e = explain(
      written(dir / "a.h5",
              {.dram_at_half = {0, 0}, .dram = {400'000, 0}, .links = {900'000, 0}, .figures = kAccesses}));
  REQUIRE(e.resources[1].name == "gpu0.dram0");
  REQUIRE(e.resources[1].over_time.size() == 20);
  for (int i = 0; i < 20; ++i)
    CHECK(e.resources[1].over_time[static_cast<std::size_t>(i)] == doctest::Approx(i < 10 ? 0.0 : 0.8));
  // A resource that is busy for half of the run is the bottleneck and the first in the list. The statistics
  // of a sender with a single link are the link's utilization over time.
  CHECK(e.resources[0].name == "gpu0 to switch0");
  REQUIRE(e.resources[0].over_time.size() == 20);
  CHECK(e.resources[0].over_time[3] == doctest::Approx(0.9));
}

TEST_CASE("explain: busy time counted at its start extends into the next interval") {
  Scratch dir;
  auto const e = explain(
      written(dir / "a.h5", {.dram_at_half = {510'000, 0}, .dram = {510'000, 0}, .figures = kAccesses}));
  REQUIRE(e.resources[0].name == "gpu0.dram0");
  REQUIRE(e.resources[0].over_time.size() == 20);
  for (std::size_t i = 0; i < 20; ++i)
    CHECK(e.resources[0].over_time[i] == doctest::Approx(i < 10 ? 1.0 : i == 10 ? 0.2 : 0.0));
}

TEST_CASE("explain: a resource that is busy throughout a phase is the bottleneck of that phase") {
  Scratch dir;
  // Busy only in the second half of the run, and for less than half of the run in total.
  auto const e = explain(
      written(dir / "a.h5",
              {.dram_at_half = {0, 0}, .dram = {480'000, 0}, .walkers = 300'000, .figures = kAccesses}));
  CHECK(e.bound == Bound::phase);
  CHECK(e.resources[0].name == "gpu0.dram0");
  CHECK(busy_parts(e.resources[0]) == 10);
  CHECK(busy_parts(e.resources[1]) == 0);
}

TEST_CASE("explain: a resource that is busy only in one twentieth is not the bottleneck of a phase") {
  Scratch dir;
  auto const e = explain(written(dir / "a.h5", {.dram_at_half = {0, 0},
                                                .dram = {kEnd / 20, 0},
                                                .figures = kAccesses,
                                                .further = {{kEnd / 20 * 11, kEnd / 20}}}));
  CHECK(e.resources[0].name == "gpu0.dram0");
  CHECK(busy_parts(e.resources[0]) == 1);
  CHECK(e.bound == Bound::latency);
}

TEST_CASE(
    "explain: of two samples at one time the last one is used, and its increments belong to that time") {
  Scratch dir;
  auto const e = explain(written(
      dir / "a.h5",
      {.dram_at_half = {0, 0}, .dram = {140'000, 0}, .figures = kAccesses, .further = {{kEnd, 100'000}}}));
  REQUIRE(e.resources[0].over_time.size() == 20);
  CHECK(e.resources[0].over_time[9] == 0);
  CHECK(e.resources[0].over_time[10] == doctest::Approx(0.2));
  CHECK(e.resources[0].over_time[18] == doctest::Approx(0.2));
  CHECK(e.resources[0].over_time[19] == doctest::Approx(1.0));
}

TEST_CASE("explain: the intervals of two links with one sender are labelled averages") {
  Scratch dir;
  auto const e = explain(written(
      dir / "a.h5", {.links = {800'000, 500'000}, .figures = kAccesses, .second_sender = "gpu0.rdma"}));
  REQUIRE(e.resources[0].name == "gpu0 to switch0");
  CHECK(e.resources[0].over_time_of == "gpu0.rdma, average of its 2 links");
  REQUIRE(e.resources[0].over_time.size() == 20);
  CHECK(e.resources[0].over_time[7] == doctest::Approx(0.4));
}

TEST_CASE(
    "explain: a full resource is the bottleneck if nothing is busy for half of the run and time is spent "
    "there") {
  Scratch dir;
  auto figures = kAccesses;
  figures.push_back({"sm_time_in_l2_tlb", 60});  // of 500 behind the load/store unit
  auto const first_of = [&](Machine const& m) {
    auto const e = explain(written(dir / "a.h5", m));
    return e.bound == Bound::resource ? e.resources[0].name : std::string("none");
  };
  CHECK(first_of({.walkers = 600'000, .figures = figures, .mshrs = 900'000}) == "gpu0.gmmu");
  CHECK(first_of({.walkers = 400'000, .figures = figures, .mshrs = 900'000}) == "gpu0.l2_tlb");
  CHECK(first_of({.walkers = 400'000, .figures = figures, .mshrs = 490'000}) == "none");
  figures.back().value = 40;
  CHECK(first_of({.walkers = 400'000, .figures = figures, .mshrs = 900'000}) == "none");
}

TEST_CASE("explain: time without a kernel on a GPU is counted once, for copies before launches") {
  Scratch dir;
  // Kernels on GPUs from 0.2 to 0.3 and from 0.25 to 0.4; a copy from 0.5 to 0.8 during a launch at 0.75.
  Machine m{.figures = kAccesses,
            .rows = {{"kernel", 100'000, 400'000},
                     {"kernel", 150'000, 500'000},
                     {"to_gpus", 500'000, 800'000},
                     {"kernel", 750'000, 990'000}}};
  auto e = explain(written(dir / "a.h5", m));
  CHECK(e.bound == Bound::gaps);
  REQUIRE(e.gaps.size() == 3);
  CHECK(e.gaps[1].name == "copies");
  CHECK(e.gaps[1].ps == 300'000);
  // Until 0.2, from 0.4 to 0.5, from 0.8 to 0.85 and from 0.89.
  CHECK(e.gaps[0].name == "launches");
  CHECK(e.gaps[0].ps == 100'000 + 100'000 + 50'000 + 100'000);
  CHECK(e.gaps[2].name == "else");
  CHECK(e.gaps[2].ps == 110'000);
  CHECK(e.without_kernel == doctest::Approx(0.76));
  // A stopped run without records of its incomplete operations: the time after the last known event is
  // unknown.
  m.rows = {{"kernel", 0, 300'000}};
  m.end_reason = "time_limit";
  e = explain(written(dir / "b.h5", m));
  CHECK(e.without_kernel == doctest::Approx(0.2));
  CHECK(e.bound == Bound::latency);
  CHECK(e.outstanding.empty());
  // With records, that time counts: a copy from 0.4, and a kernel on GPUs from 0.9.
  m.outstanding = {{"to_host", 400'000, 410'000}, {"kernel", 850'000, 900'000}};
  e = explain(written(dir / "c.h5", m));
  CHECK(e.without_kernel == doctest::Approx(0.8));
  REQUIRE(e.gaps.size() == 3);
  CHECK(e.gaps[0].name == "copies");
  CHECK(e.gaps[0].ps == 500'000);
  REQUIRE(e.outstanding.size() == 2);
  CHECK(e.outstanding[0].what == "copy to the host of app");
  CHECK(e.outstanding[1].what == "kernel fir of app");
  CHECK(e.outstanding[1].started_ps == 850'000);
  CHECK(e.outstanding_operations == 2);
  CHECK(to_json(e).find("\"outstanding\":[{\"what\":\"copy to the host of app\",\"started_ps\":400000},") !=
        std::string::npos);
  m.outstanding.assign(150, {"kernel", 850'000, 900'000});
  e = explain(written(dir / "d.h5", m));
  CHECK(e.outstanding_operations == 150);
  CHECK(e.outstanding.size() == kMaxOutstanding);
}

TEST_CASE("explain: kernels with one name and one application are listed together, the longest first") {
  Scratch dir;
  auto const path = dir / "a.h5";
  auto header = sample::header();
  header.series.clear();
  header.tables = {{"kernels",
                    "Kernels.",
                    {{"application", "text", "Whose.", ColumnType::text},
                     {"name", "text", "Name.", ColumnType::text},
                     {"launched", "ps", "Time.", ColumnType::u64},
                     {"finished", "ps", "Time.", ColumnType::u64},
                     {"transactions", "count", "Accesses.", ColumnType::u64},
                     {"access_time", "ps", "Time.", ColumnType::u64},
                     {"time_in_dram", "ps", "Time.", ColumnType::u64},
                     {"time_in_links", "ps", "Time.", ColumnType::u64}}}};
  {
    ResultWriter writer(path, header);
    auto const ran = [&](char const* whose, char const* name, std::uint64_t from, std::uint64_t to,
                         std::uint64_t accesses, std::uint64_t dram, std::uint64_t links) {
      writer.append_row(0, std::vector<Cell>{whose, name, from, to, accesses, dram + links, dram, links});
    };
    ran("b", "step", 0, 250, 0, 0, 0);
    ran("a", "step", 0, 100, 3, 30, 6);
    ran("a", "step", 100, 300, 5, 10, 70);
    ran("a", "last", 300, 310, 1, 4, 4);
    std::vector<SummaryRow> rows{{"machine", "machine", "end", "ps", "End.", kEnd}};
    for (auto const& f : kAccesses) rows.push_back({"machine", "machine", f.metric, "ps", "Time.", f.value});
    writer.summary(rows);
    writer.finish("completed");
  }
  auto const e = explain(path);
  CHECK(e.kernel_names == 3);
  REQUIRE(e.kernels.size() == 3);
  CHECK(e.kernels[0].name == "a/step");
  CHECK(e.kernels[0].launches == 2);
  CHECK(e.kernels[0].ps == 300);
  CHECK(e.kernels[0].accesses == 8);
  CHECK(e.kernels[0].access_ps == 116);
  REQUIRE(e.kernels[0].stages.size() == 2);
  CHECK(e.kernels[0].stages[0].what == "interconnect links");
  CHECK(e.kernels[0].stages[0].ps == 76);
  CHECK(e.kernels[0].stages[1].name == "sm_time_in_dram");
  CHECK(e.kernels[0].stages[1].ps == 40);
  CHECK(e.kernels[1].name == "b/step");
  CHECK(e.kernels[1].ps == 250);
  CHECK(e.kernels[2].name == "a/last");
  CHECK(e.kernels[2].launches == 1);
  auto const json = nlohmann::json::parse(to_json(e));
  CHECK(json["kernel_names"] == 3);
  CHECK(json["kernels"][0]["stages"][0]["ps"] == 76);
}

TEST_CASE("explain: if nothing is busy for half of the run, the bottleneck is latency, or execution") {
  Scratch dir;
  Machine m{.dram = {400'000, 0}, .figures = kAccesses};
  auto e = explain(written(dir / "a.h5", m));
  CHECK(e.bound == Bound::latency);
  CHECK(e.executing == doctest::Approx(1.0 / 3));
  CHECK(e.idle == doctest::Approx(0.25));
  CHECK(e.stages[0].name == "sm_time_in_load_store");
  CHECK(e.stages[1].name == "sm_time_in_dram");
  CHECK(e.sms[0].name == "sm_memory_stall_time");
  for (auto& f : m.figures) {
    if (f.metric == "sm_active_time") f.value = 2 * kEnd;
    if (f.metric == "sm_memory_stall_time") f.value = kEnd;
  }
  e = explain(written(dir / "b.h5", m));
  CHECK(e.bound == Bound::execution);
  CHECK(nlohmann::json::parse(to_json(e))["bound_by"] == "execution");
}

TEST_CASE(
    "explain: an unfinished run, a result of an earlier program and an invalid file are each rejected in one "
    "sentence") {
  Scratch dir;
  auto const earlier = dir / "earlier.h5";
  sample::write(earlier);
  CHECK(refusal(earlier) == "'" + earlier +
                                "' cannot be explained: it was written by an earlier version of Farfault, "
                                "which did not record access times by stage");
  auto const running = dir / "running.h5";
  {
    ResultWriter writer(running, sample::header());
    sample::append(writer, 0, 3);
    writer.flush();
  }
  CHECK(refusal(running + ".partial") == "'" + running +
                                             ".partial' cannot be explained: it has no summary yet; "
                                             "the run is in progress or was killed");
  CHECK(
      refusal(running) ==
      "cannot read '" + running +
          "': no such file; the run is in progress or was stopped: its result up to the last flush is in '" +
          running + ".partial'");
  std::filesystem::create_directories(dir / "sweep/runs");
  auto const sweep = std::string(dir / "sweep");
  CHECK(refusal(sweep) == "cannot read '" + sweep +
                              "': it is a directory, not a regular file; the results of a sweep are in '" +
                              sweep + "/runs'");
  CHECK(refusal(dir / "none.h5").ends_with("none.h5': no such file"));
}

TEST_CASE("explain: the number of exchanges between ranks and the share of waiting are printed") {
  Scratch dir;
  auto const of = [&](EngineValue const& waited) {
    return written(dir / "a.h5",
                   {.figures = kAccesses,
                    .engine = {{"ranks", "count", "Ranks.", std::uint64_t{2}},
                               {"threads", "count", "Threads.", std::uint64_t{4}},
                               {"events", "count", "Events.", std::uint64_t{2'530'000}},
                               {"rank_exchanges", "count", "Exchanges.", std::uint64_t{784'844}},
                               waited}});
  };
  auto const e = explain(of({"rank_wait_share", "1", "Waiting.", 0.97}));
  CHECK(e.ranks.ranks == 2);
  CHECK(e.ranks.threads == 4);
  CHECK(e.ranks.events == 2'530'000);
  CHECK(e.ranks.exchanges == 784'844);
  CHECK(e.ranks.waited == doctest::Approx(0.97));
  auto const json = nlohmann::json::parse(to_json(e));
  CHECK(json["ranks"]["exchanges"] == 784'844);
  CHECK(json["ranks"]["count"] == 2);
  // A result of an earlier program or of one rank.
  CHECK(explain(of({"wall_time", "s", "Time.", 1.0})).ranks.ranks == 1);
  auto const alone = explain(written(dir / "b.h5", {.figures = kAccesses}));
  CHECK(alone.ranks.ranks == 1);
  CHECK_FALSE(nlohmann::json::parse(to_json(alone)).contains("ranks"));
  CHECK(refusal(of({"rank_wait_share", "1", "Waiting.", std::uint64_t{1}})).find("rank_wait_share") !=
        std::string::npos);
}

TEST_CASE("explain: JSON is ASCII, so that no character in a name affects a terminal") {
  Explanation e;
  e.path = "a\u009b31m\u202e";
  auto const json = to_json(e);
  CHECK(json.find(R"("path":"a\u009b31m\u202e")") != std::string::npos);
  CHECK(std::all_of(json.begin(), json.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

}  // namespace explain_test
