// A copy engine between an RDMA engine and L2 slices of mocks: clock 1 GHz, links of 1 ns.
#include "farfault/components/copy_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "memory_mock.hpp"

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

constexpr PhysAddr kFrom = physical(1, 0x7000);
constexpr PhysAddr kTo = physical(0, 0x3000);

// Pages of four lines; two slices, a line each in turn.
CopyEngineSpec small() {
  CopyEngineSpec spec;
  spec.page_bytes = 256;
  spec.remote_port = 3;
  spec.memory_port = 4;
  spec.memory = AddressMap(2, 64);
  spec.slices = 2;
  spec.queue = 4;
  return spec;
}

struct CopyBench : Bench {
  CopyBench(CopyEngineSpec spec, std::vector<Record<CopyPage>> script,
            std::function<Duration(std::uint64_t)> far = always(100ns),
            std::function<Duration(std::uint64_t)> near = always(10ns))
      : engine_under_test(system.add<CopyEngine>("copy_engine", spec)) {
    feed(engine_under_test.copy, std::move(script));
    remote = &responder<MemRequest, MemResponse>(memory(far), engine_under_test.remote_response);
    join(engine_under_test.remote_request, remote->request);
    std::vector<In<MemRequest>> to;
    for (int i = 0; i < 2; ++i) {
      slices.push_back(&responder<MemRequest, MemResponse>(memory(near), engine_under_test.memory_response));
      to.push_back(slices.back()->request);
    }
    join_family(engine_under_test.memory_request, to);
    copied = &sink(engine_under_test.copied);
    run();
  }
  CopyEngine& engine_under_test;
  Memory* remote = nullptr;
  std::vector<Memory*> slices;
  Sink<PageCopied>* copied = nullptr;
};

}  // namespace

TEST_CASE(
    "copy engine: a page's lines are read one per cycle, written as they arrive, and the driver is told") {
  CopyBench b(small(), {{Time{50ns}, {kFrom, kTo, 9, 0}}});
  CHECK(b.remote->nanoseconds() == Times{51, 52, 53, 54});
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto const& m = b.remote->records()[i].message;
    CHECK(m.address == kFrom + 64 * i);
    CHECK(m.access == Access::read);
    CHECK(m.bytes == 64);
    CHECK(m.from == 3);
  }
  // Read 100, a link back and one on.
  CHECK(b.slices[0]->nanoseconds() == Times{153, 155});
  CHECK(b.slices[1]->nanoseconds() == Times{154, 156});
  auto const& m = b.slices[1]->records()[1].message;
  CHECK(m.address == kTo + 192);
  CHECK(m.access == Access::write);
  CHECK(m.bytes == 64);
  CHECK(m.from == 4);
  CHECK(b.copied->nanoseconds() == Times{156 + 10 + 1 + 1});
  CHECK(b.copied->records()[0].message.move == 9);
  CHECK(b.engine_under_test.waiting_for().empty());
}

TEST_CASE("copy engine: no more lines are under way than its window") {
  auto spec = small();
  spec.params.window = 2;
  CopyBench b(spec, {{Time{50ns}, {kFrom, kTo, 0, 0}}});
  // A line is under way for 1 + 100 + 1 + 1 + 10 + 1 from its issue.
  CHECK(b.remote->nanoseconds() == Times{51, 52, 51 + 114, 52 + 114});
}

TEST_CASE("copy engine: a line waits for a credit of its slice, others too, in order") {
  auto spec = small();
  spec.params.slice_credits = 1;
  spec.memory = AddressMap(2, 256);  // the whole page in one slice
  CopyBench b(spec, {{Time{50ns}, {kFrom, kTo, 0, 0}}});
  auto const& slice = *b.slices[0x3000 / 256 % 2];
  CHECK(slice.nanoseconds() == Times{153, 165, 177, 189});
  CHECK(b.copied->nanoseconds() == Times{201});
}

TEST_CASE("copy engine: pages are copied one after the other, in the order of the driver") {
  CopyBench b(small(),
              {{Time{50ns}, {kFrom, kTo, 2, 0}}, {Time{51ns}, {kFrom + 0x1000, kTo + 0x1000, 0, 0}}});
  CHECK(b.copied->nanoseconds() == Times{168, 167 + 118});
  CHECK(b.copied->records()[0].message.move == 2);
  CHECK(b.remote->records()[4].message.address == kFrom + 0x1000);
  CHECK(b.remote->nanoseconds()[4] == 168);
}

TEST_CASE("copy engine: lines that arrive in any order are each written once where they belong") {
  auto spec = small();
  spec.page_bytes = 4096;
  spec.params.window = 7;
  spec.params.slice_credits = 2;
  std::vector<Record<CopyPage>> script;
  for (std::uint32_t i = 0; i < 4; ++i)
    script.push_back({Time{50ns}, {kFrom + 4096 * i, kTo + 4096 * (3 - i), i, 0}});
  CopyBench b(spec, script, scattered(500ns, 1), scattered(90ns, 2));
  std::vector<PhysAddr> written;
  for (auto const* slice : b.slices)
    for (auto const& r : slice->records()) written.push_back(r.message.address);
  std::sort(written.begin(), written.end());
  REQUIRE(written.size() == 256);
  for (std::uint64_t i = 0; i < 256; ++i) REQUIRE(written[i] == kTo + 64 * i);
  CHECK(b.copied->count() == 4);
  CHECK(b.engine_under_test.state().pages_copied == 4);
  CHECK(b.engine_under_test.state().lines_copied == 256);
}
