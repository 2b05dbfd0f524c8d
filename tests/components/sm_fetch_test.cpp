// SPDX-License-Identifier: Apache-2.0
// An SM that fetches its instructions: 8 bytes each, eight to a line of 64 bytes. A line arrives 12 ns after
// its request.
#include <doctest/doctest.h>

#include "sm_bench.hpp"

namespace sm_fetch_test {

using namespace farfault;
using namespace farfault::mock;
using namespace farfault::sm_bench;

namespace {

struct Fetching {
  explicit Fetching(Workload of, std::uint32_t ahead = 4, std::uint32_t code_bytes = 1 << 16)
      : lines(ahead),
        workload(std::move(of)),
        applications(workload),
        layout(applications, 1, {.kernel = ByteSize{code_bytes}}, 1 << 21) {}
  SmSpec spec() const {
    auto spec = unit_rates();
    spec.applications = &applications;
    spec.fetch.code = &layout;
    spec.fetch.lines = lines;
    return spec;
  }
  // The end of block 0, started at 100 ns.
  std::int64_t end(bool fetches = true) {
    auto of = spec();
    if (!fetches) of.fetch.code = nullptr;
    SmBench b(of, workload, {{Time{100ns}, {0, 0, 0}}});
    offsets.clear();
    times.clear();
    if (fetches)
      for (auto const& r : b.fetch->records()) {
        offsets.push_back(r.message.address - layout.of(0, 0).first);
        times.push_back(picoseconds(r.at - Time{}) / 1000);
      }
    stall = b.sm.state().times.activity.in(SmActivity::fetch_stall);
    return b.done->nanoseconds().at(0);
  }
  std::uint32_t lines;
  Workload workload;
  Applications applications;
  CodeLayout layout;
  std::vector<std::uint64_t> offsets;  // of the lines that it requested
  Times times;                         // when the requests arrived
  std::uint64_t stall = 0;
};

}  // namespace

TEST_CASE(
    "SM, fetch: a block starts when its first line has arrived, and its next lines are requested with it") {
  Fetching f(same_for_all({compute(5)}));
  auto const without = f.end(false);
  CHECK(f.stall == 0);
  CHECK(f.end() == without + 12);
  CHECK(f.offsets == std::vector<std::uint64_t>{0, 64, 128, 192});
  CHECK(f.times == Times{101, 101, 101, 101});
  CHECK(f.stall == 11'000);  // the block arrives at 100 ns and could issue at 101 ns
}

TEST_CASE("SM, fetch: a warp runs without stalls from the lines that it has requested ahead") {
  Program program;
  for (int i = 0; i < 64; ++i) program.push_back(compute(1));
  Fetching f(same_for_all(program));
  auto const without = f.end(false);
  // Eight cycles per line; three of four lines are ahead: 24 cycles hide the 12 of a request.
  CHECK(f.end() == without + 12);
  CHECK(f.offsets.size() == 12);  // the program's 64 instructions, the end, and three lines behind it
}

TEST_CASE("SM, fetch: without lines ahead, a warp waits for each line") {
  Program program;
  for (int i = 0; i < 64; ++i) program.push_back(compute(1));
  Fetching f(same_for_all(program));
  f.lines = 1;
  auto const without = f.end(false);
  // The request of a line is sent when the last instruction of the line before it issues.
  CHECK(f.end() == without + 12 + 8 * 12);
  CHECK(f.offsets.size() == 9);
}

TEST_CASE("SM, fetch: the lines of a group are fetched while it executes, and the next step waits for them") {
  Fetching f(same_for_all({compute(64), compute(1)}));
  f.lines = 1;
  auto const without = f.end(false);
  // Eight lines of 12 ns from the issue of the group on, and the next edge, against its 64 cycles.
  CHECK(f.end() == without + 12 + 8 * 12 + 1 - 64);
}

TEST_CASE("SM, fetch: a loop over code that fits into one line fetches it again at each iteration") {
  Program program;
  for (int i = 0; i < 24; ++i) program.push_back(compute(1));
  Fetching f(same_for_all(program), 4, 64);
  f.end();
  CHECK(f.offsets == std::vector<std::uint64_t>{0, 0, 0, 0});
}

TEST_CASE("SM, fetch: warps of a block fetch separately, and a barrier and loads are instructions") {
  Program const program{load(0), barrier(), store(4096), compute(1, true)};
  Fetching f(same_for_all(program, 128));
  f.end();
  CHECK(f.offsets == std::vector<std::uint64_t>{0, 64, 128, 192, 0, 64, 128, 192});
}

TEST_CASE("SM, fetch: a kernel that states the offsets of its instructions jumps to them") {
  Program program{compute(1), compute(1), compute(1)};
  program[1].offset = 1024;
  program[2].offset = 1032;
  auto const shape_of = KernelShape{.name = "k", .blocks = 1, .threads_per_block = 64, .code_bytes = 4096};
  Fetching f(hand_workload({shape_of}, [program](std::uint64_t, std::uint32_t) { return program; }));
  f.lines = 1;
  f.end();
  CHECK(f.offsets == std::vector<std::uint64_t>{0, 1024});
}

TEST_CASE("SM, fetch: an instruction that issues to the load/store unit waits for its line first") {
  Program program;
  for (int i = 0; i < 8; ++i) program.push_back(compute(1));
  program.push_back(load(0));
  program.push_back(compute(1, true));
  Fetching f(same_for_all(program));
  f.lines = 1;
  auto const without = f.end(false);
  CHECK(f.end() == without + 12 + 12);
}

}  // namespace sm_fetch_test
