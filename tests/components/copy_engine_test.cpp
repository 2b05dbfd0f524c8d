// A copy engine between an RDMA engine and L2 slices of mocks: clock 1 GHz, links of 1 ns.
#include "farfault/memory/copy_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "memory_mock.hpp"

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

constexpr PhysAddr kFrom = physical(1, 0x7000);
constexpr PhysAddr kTo = physical(0, 0x3000);

// Two slices, a line each in turn.
CopyEngineSpec small() {
  CopyEngineSpec spec;
  spec.remote_port = 3;
  spec.memory_port = 4;
  spec.memory = AddressMap(2, 64);
  spec.slices = 2;
  spec.queue = 4;
  return spec;
}

struct CopyBench : Bench {
  CopyBench(CopyEngineSpec spec, std::vector<Record<CopyOrder>> script,
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
  Sink<CopyDone>* copied = nullptr;
};

}  // namespace

TEST_CASE(
    "copy engine: a page's lines are read one per cycle, written as they arrive, and the driver is told") {
  CopyBench b(small(), {{Time{50ns}, {kFrom, kTo, 256, 9, 3, 2}}});
  CHECK(b.remote->nanoseconds() == Times{51, 52, 53, 54});
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto const& m = b.remote->records()[i].message;
    CHECK(m.address == kFrom + 64 * i);
    CHECK(m.access == Access::read);
    CHECK(m.bytes == 64);
    CHECK(m.from == 3);
    CHECK(m.requester == Requester{3, 2, RequestKind::copy});
  }
  // Read 100, a link back and one on.
  CHECK(b.slices[0]->nanoseconds() == Times{153, 155});
  CHECK(b.slices[1]->nanoseconds() == Times{154, 156});
  auto const& m = b.slices[1]->records()[1].message;
  CHECK(m.address == kTo + 192);
  CHECK(m.access == Access::write);
  CHECK(m.bytes == 64);
  CHECK(m.from == 4);
  CHECK(m.requester == Requester{3, 2, RequestKind::copy});
  CHECK(b.copied->nanoseconds() == Times{156 + 10 + 1 + 1});
  CHECK(b.copied->records()[0].message.tag == 9);
  CHECK(b.engine_under_test.waiting_for().empty());
}

TEST_CASE("copy engine: no more lines are under way than its window") {
  auto spec = small();
  spec.params.window = 2;
  CopyBench b(spec, {{Time{50ns}, {kFrom, kTo, 256, 0}}});
  // A line is under way for 1 + 100 + 1 + 1 + 10 + 1 from its issue.
  CHECK(b.remote->nanoseconds() == Times{51, 52, 51 + 114, 52 + 114});
}

TEST_CASE("copy engine: a line waits for a credit of its slice, others too, in order") {
  auto spec = small();
  spec.params.slice_credits = 1;
  spec.memory = AddressMap(2, 256);  // the whole page in one slice
  CopyBench b(spec, {{Time{50ns}, {kFrom, kTo, 256, 0}}});
  auto const& slice = *b.slices[0x3000 / 256 % 2];
  CHECK(slice.nanoseconds() == Times{153, 165, 177, 189});
  CHECK(b.copied->nanoseconds() == Times{201});
}

TEST_CASE("copy engine: the lines of the next order are read behind those of the one before it") {
  CopyBench b(small(),
              {{Time{50ns}, {kFrom, kTo, 256, 2}}, {Time{51ns}, {kFrom + 0x1000, kTo + 0x1000, 256, 0}}});
  CHECK(b.remote->nanoseconds() == Times{51, 52, 53, 54, 55, 56, 57, 58});
  CHECK(b.remote->records()[4].message.address == kFrom + 0x1000);
  CHECK(b.copied->nanoseconds() == Times{168, 172});
  CHECK(b.copied->records()[0].message.tag == 2);
  CHECK(b.copied->records()[1].message.tag == 0);
}

TEST_CASE(
    "copy engine: an order whose lines are written sooner is done before the one that began before it") {
  // The first order's last line takes a microsecond to be read.
  CopyBench b(small(),
              {{Time{50ns}, {kFrom, kTo, 128, 2}}, {Time{51ns}, {kFrom + 0x1000, kTo + 0x1000, 128, 0}}},
              [](std::uint64_t n) { return n == 1 ? Duration{1us} : Duration{100ns}; });
  CHECK(b.copied->nanoseconds() == Times{168, 1066});
  CHECK(b.copied->records()[0].message.tag == 0);
  CHECK(b.engine_under_test.waiting_for().empty());
}

TEST_CASE("copy engine: lines that arrive in any order are each written once where they belong") {
  auto spec = small();
  spec.params.window = 7;
  spec.params.slice_credits = 2;
  std::vector<Record<CopyOrder>> script;
  for (std::uint32_t i = 0; i < 4; ++i)
    script.push_back({Time{50ns}, {kFrom + 4096 * i, kTo + 4096 * (3 - i), 4096, i}});
  CopyBench b(spec, script, scattered(500ns, 1), scattered(90ns, 2));
  std::vector<PhysAddr> written;
  for (auto const* slice : b.slices)
    for (auto const& r : slice->records()) written.push_back(r.message.address);
  std::sort(written.begin(), written.end());
  REQUIRE(written.size() == 256);
  for (std::uint64_t i = 0; i < 256; ++i) REQUIRE(written[i] == kTo + 64 * i);
  CHECK(b.copied->count() == 4);
  CHECK(b.engine_under_test.state().orders == 4);
  CHECK(b.engine_under_test.state().lines_in == 256);
}

TEST_CASE("copy engine: bytes that are no whole line end with a shorter access") {
  CopyBench b(small(), {{Time{50ns}, {kFrom, kTo, 130, 0}}});
  REQUIRE(b.remote->records().size() == 3);
  CHECK(b.remote->records()[1].message.bytes == 64);
  CHECK(b.remote->records()[2].message.bytes == 2);
  CHECK(b.slices[0]->records()[1].message.bytes == 2);
  CHECK(b.copied->count() == 1);
}

TEST_CASE("copy engine: what leaves is read from its slices and written to the other device") {
  CopyBench b(small(), {{Time{50ns}, {kTo, kFrom, 256, 7}}});
  // Read from two slices, one line per cycle; written when each has arrived; 100 at the other device.
  CHECK(b.slices[0]->nanoseconds() == Times{51, 53});
  CHECK(b.slices[1]->nanoseconds() == Times{52, 54});
  CHECK(b.slices[0]->records()[0].message.access == Access::read);
  CHECK(b.slices[0]->records()[0].message.from == 4);
  CHECK(b.remote->nanoseconds() == Times{63, 64, 65, 66});
  for (std::uint64_t i = 0; i < 4; ++i) {
    CHECK(b.remote->records()[i].message.address == kFrom + 64 * i);
    CHECK(b.remote->records()[i].message.access == Access::write);
  }
  CHECK(b.copied->nanoseconds() == Times{66 + 100 + 1 + 1});
  CHECK(b.copied->records()[0].message.tag == 7);
  CHECK(b.engine_under_test.state().lines_out == 4);
}

TEST_CASE("copy engine: both directions are under way at once, neither waits for the other") {
  CopyBench b(small(),
              {{Time{50ns}, {kFrom, kTo, 256, 1}}, {Time{50ns}, {kTo + 0x1000, kFrom + 0x1000, 256, 2}}});
  REQUIRE(b.copied->count() == 2);
  // Each takes what it takes alone.
  CHECK(b.copied->nanoseconds() == Times{168, 168});
}

TEST_CASE("copy engine: memory is copied within the GPU, and from another device to a third") {
  CopyBench inside(small(), {{Time{50ns}, {kTo, kTo + 0x1000, 128, 3}}});
  CHECK(inside.remote->records().empty());
  CHECK(inside.engine_under_test.state().local_accesses == 4);
  CHECK(inside.copied->nanoseconds() == Times{52 + 10 + 1 + 1 + 10 + 1 + 1});
  CopyBench outside(small(), {{Time{50ns}, {kFrom, physical(2, 0x5000), 128, 4}}});
  CHECK(outside.remote->records().size() == 4);
  CHECK(outside.engine_under_test.state().local_accesses == 0);
  CHECK(outside.copied->count() == 1);
}

TEST_CASE("copy engine: with one credit per slice both directions end, each line written once") {
  auto spec = small();
  spec.params.slice_credits = 1;
  spec.params.window = 3;
  std::vector<Record<CopyOrder>> script;
  for (std::uint32_t i = 0; i < 4; ++i) {
    script.push_back({Time{50ns}, {kFrom + 4096 * i, kTo + 4096 * i, 1024, i}});
    script.push_back({Time{50ns}, {kTo + 0x10000 + 4096 * i, kFrom + 0x10000 + 4096 * i, 1024, 4 + i}});
  }
  CopyBench b(spec, script, scattered(300ns, 1), scattered(90ns, 2));
  CHECK(b.copied->count() == 8);
  CHECK(b.engine_under_test.state().lines_in == 64);
  CHECK(b.engine_under_test.state().lines_out == 64);
  CHECK(b.engine_under_test.waiting_for().empty());
}
