// SPDX-License-Identifier: Apache-2.0
// A copy engine between a mock RDMA engine and mock L2 slices: clock 1 GHz, links of 1 ns.
#include "farfault/memory/copy_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "memory_mock.hpp"

namespace copy_engine_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

constexpr PhysAddr kFrom = physical(1, 0x7000);
constexpr PhysAddr kTo = physical(0, 0x3000);

// Two slices, line-interleaved.
CopyEngineSpec small() {
  CopyEngineSpec spec;
  spec.remote_port = 3;
  spec.memory_port = 4;
  spec.memory = AddressMap(2, 64);
  spec.slices = 2;
  spec.queue = 4;
  return spec;
}

// Trains of four lines, blocks of 256 bytes.
CopyEngineSpec with_trains() {
  auto spec = small();
  spec.memory = AddressMap(2, 256);
  spec.local_train = spec.cpu_train = spec.remote_train = 4;
  spec.train_block = 256;
  return spec;
}

// An arrival: time, first line, and train.
struct Piece {
  std::int64_t at;
  std::uint64_t line;
  std::uint32_t lines;
  std::uint32_t gap;
  friend bool operator==(Piece const&, Piece const&) = default;
};
template <class Seen>
std::vector<Piece> pieces(Seen const& seen, PhysAddr base) {
  std::vector<Piece> all;
  for (auto const& r : seen.records())
    all.push_back({picoseconds(r.at) / 1000, (r.message.address - base) / 64, r.message.train.lines(),
                   r.message.train.gap});
  return all;
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
    "copy engine: a page's lines are read at one per cycle and written on arrival; the driver is notified") {
  CopyBench b(small(), {{Time{50ns},
                         {.from = kFrom, .to = kTo, .bytes = 256, .tag = 9, .space = 3, .application = 2}}});
  CHECK(b.remote->nanoseconds() == Times{51, 52, 53, 54});
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto const& m = b.remote->records()[i].message;
    CHECK(m.address == kFrom + 64 * i);
    CHECK(m.access == Access::read);
    CHECK(m.bytes == 64);
    CHECK(m.from == 3);
    CHECK(m.requester == Requester{3, 2, RequestKind::copy});
  }
  // A read of 100 ns, a link back, and a link on.
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

TEST_CASE("copy engine: outstanding lines never exceed the window") {
  auto spec = small();
  spec.window = 2;
  CopyBench b(spec, {{Time{50ns}, {kFrom, kTo, 256, 0}}});
  // A line is in flight for 1 + 100 + 1 + 1 + 10 + 1 ns from its issue.
  CHECK(b.remote->nanoseconds() == Times{51, 52, 51 + 114, 52 + 114});
}

TEST_CASE("copy engine: a line waits for a credit of its slice, and later lines wait behind it") {
  auto spec = small();
  spec.slice_credits = 1;
  spec.memory = AddressMap(2, 256);  // the whole page in one slice
  CopyBench b(spec, {{Time{50ns}, {kFrom, kTo, 256, 0}}});
  auto const& slice = *b.slices[0x3000 / 256 % 2];
  CHECK(slice.nanoseconds() == Times{153, 165, 177, 189});
  CHECK(b.copied->nanoseconds() == Times{201});
}

TEST_CASE("copy engine: the lines of the next order are read after the lines of the previous order") {
  CopyBench b(small(),
              {{Time{50ns}, {kFrom, kTo, 256, 2}}, {Time{51ns}, {kFrom + 0x1000, kTo + 0x1000, 256, 0}}});
  CHECK(b.remote->nanoseconds() == Times{51, 52, 53, 54, 55, 56, 57, 58});
  CHECK(b.remote->records()[4].message.address == kFrom + 0x1000);
  CHECK(b.copied->nanoseconds() == Times{168, 172});
  CHECK(b.copied->records()[0].message.tag == 2);
  CHECK(b.copied->records()[1].message.tag == 0);
}

TEST_CASE("copy engine: an order whose lines are written sooner completes before an earlier order") {
  // The read of the first order's last line takes 1 us.
  CopyBench b(small(),
              {{Time{50ns}, {kFrom, kTo, 128, 2}}, {Time{51ns}, {kFrom + 0x1000, kTo + 0x1000, 128, 0}}},
              [](std::uint64_t n) { return n == 1 ? Duration{1us} : Duration{100ns}; });
  CHECK(b.copied->nanoseconds() == Times{168, 1066});
  CHECK(b.copied->records()[0].message.tag == 0);
  CHECK(b.engine_under_test.waiting_for().empty());
}

TEST_CASE("copy engine: lines that arrive in any order are each written once at their addresses") {
  auto spec = small();
  spec.window = 7;
  spec.slice_credits = 2;
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

TEST_CASE("copy engine: a partial last line is a shorter access") {
  CopyBench b(small(), {{Time{50ns}, {kFrom, kTo, 130, 0}}});
  REQUIRE(b.remote->records().size() == 3);
  CHECK(b.remote->records()[1].message.bytes == 64);
  CHECK(b.remote->records()[2].message.bytes == 2);
  CHECK(b.slices[0]->records()[1].message.bytes == 2);
  CHECK(b.copied->count() == 1);
}

TEST_CASE("copy engine: outgoing data is read from its slices and written to the other device") {
  CopyBench b(small(), {{Time{50ns}, {kTo, kFrom, 256, 7}}});
  // Read from two slices, one line per cycle; each line is written when it arrives; 100 ns at the other
  // device.
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

TEST_CASE("copy engine: both directions are active at the same time and do not wait for each other") {
  CopyBench b(small(),
              {{Time{50ns}, {kFrom, kTo, 256, 1}}, {Time{50ns}, {kTo + 0x1000, kFrom + 0x1000, 256, 2}}});
  REQUIRE(b.copied->count() == 2);
  // Each takes as long as alone.
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

TEST_CASE("copy engine: with one credit per slice, both directions complete, and each line is written once") {
  auto spec = small();
  spec.slice_credits = 1;
  spec.window = 3;
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

TEST_CASE("copy engine: the lines of a block are one message with the same timing as separate lines") {
  for (bool const in : {true, false}) {
    auto const from = in ? kFrom : kTo, to = in ? kTo : kFrom;
    auto alone = with_trains();
    alone.local_train = alone.remote_train = 1;
    std::vector<Record<CopyOrder>> const order{{Time{50ns}, {from, to, 256, 7}}};
    CopyBench lines(alone, order);
    CopyBench train(with_trains(), order);
    auto const& read = in ? *train.remote : *train.slices[0];
    auto const& written = in ? *train.slices[0] : *train.remote;
    CHECK(pieces(read, from) == std::vector<Piece>{{51, 0, 4, 1000}});
    CHECK(pieces(written, to) == std::vector<Piece>{{51 + (in ? 102 : 12), 0, 4, 1000}});
    REQUIRE(train.copied->count() == 1);
    CHECK(train.copied->picoseconds() == lines.copied->picoseconds());
    CHECK(train.engine_under_test.state().lines_in == (in ? 4 : 0));
    CHECK(train.engine_under_test.state().local_accesses == 4);
  }
}

TEST_CASE("copy engine: a train ends at a block boundary, and a shorter last line is sent separately") {
  // From the third line of a block to the second line of another: reads of 2, 4 and 1 lines, and of 30 bytes.
  CopyBench b(with_trains(), {{Time{50ns}, {kFrom + 128, kTo + 64, 7 * 64 + 30, 0}}});
  CHECK(pieces(*b.remote, kFrom + 128) ==
        std::vector<Piece>{{51, 0, 2, 1000}, {53, 2, 4, 1000}, {57, 6, 1, 0}, {58, 7, 1, 0}});
  CHECK(b.remote->records()[3].message.bytes == 30);
  CHECK(pieces(*b.slices[0], kTo + 64) ==
        std::vector<Piece>{{153, 0, 2, 1000}, {155, 2, 1, 0}, {160, 7, 1, 0}});
  CHECK(pieces(*b.slices[1], kTo + 64) == std::vector<Piece>{{156, 3, 3, 1000}, {159, 6, 1, 0}});
  CHECK(b.copied->nanoseconds() == Times{160 + 10 + 1 + 1});
}

TEST_CASE("copy engine: parts of a train that arrive in any order are written at their addresses") {
  Bench b;
  auto& engine = b.system.add<CopyEngine>("copy_engine", with_trains());
  b.feed(engine.copy, {{Time{50ns}, {kFrom, kTo, 256, 9}}});
  auto& asked = b.sink(engine.remote_request);
  b.feed(engine.remote_response, {{Time{200ns},
                                   {.address = kFrom + 128,
                                    .tag = 0,
                                    .access = Access::read,
                                    .found_by = FoundBy::memory,
                                    .train = {1, 500}}},
                                  {Time{300ns}, {kFrom + 64, 0, Access::read}},
                                  {Time{400ns}, {kFrom, 0, Access::read}}});
  auto& slice = b.responder<MemRequest, MemResponse>(memory(always(10ns)), engine.memory_response);
  b.join_family(engine.memory_request, {slice.request, slice.request});
  auto& copied = b.sink(engine.copied);
  b.run();
  REQUIRE(asked.count() == 1);
  CHECK(asked.records()[0].message.tag == 0);
  CHECK(pieces(slice, kTo) == std::vector<Piece>{{201, 2, 2, 500}, {301, 1, 1, 0}, {401, 0, 1, 0}});
  CHECK(copied.nanoseconds() == Times{401 + 10 + 1 + 1});
}

TEST_CASE("copy engine: a train waits until the window and its slice's credits have room for all of it") {
  auto spec = with_trains();
  spec.window = 6;
  CopyBench few(spec, {{Time{50ns}, {kFrom, kTo, 512, 0}}});
  // Written at 153, acknowledged at 164. Until then two entries are free, and four are needed.
  CHECK(pieces(*few.remote, kFrom) == std::vector<Piece>{{51, 0, 4, 1000}, {165, 4, 4, 1000}});
  spec = with_trains();
  spec.memory = AddressMap(1, 256);
  spec.slices = 1;
  spec.slice_credits = 6;
  CopyBench one(spec, {{Time{50ns}, {kFrom, kTo, 512, 0}}});
  CHECK(pieces(*one.slices[0], kTo) == std::vector<Piece>{{153, 0, 4, 1000}, {165, 4, 4, 0}});
  CHECK(one.copied->count() == 1);
}

TEST_CASE("copy engine: the maximum train length for a CPU differs from that for other devices") {
  auto spec = with_trains();
  spec.remote_train = 1;
  CopyBench cpu(spec, {{Time{50ns}, {physical(kFirstCpu, 0), kTo, 256, 0}}});
  CHECK(cpu.remote->records().size() == 1);
  CopyBench gpu(spec, {{Time{50ns}, {kFrom, kTo, 256, 0}}});
  CHECK(gpu.remote->records().size() == 4);
}

TEST_CASE(
    "copy engine: with trains and few credits, both directions complete, and each line is written once") {
  auto spec = with_trains();
  spec.slice_credits = 4;
  spec.window = 5;
  std::vector<Record<CopyOrder>> script;
  for (std::uint32_t i = 0; i < 4; ++i) {
    script.push_back({Time{50ns}, {kFrom + 4096 * i, kTo + 4096 * i, 1000, i}});
    script.push_back({Time{50ns}, {kTo + 0x10000 + 4096 * i, kFrom + 0x10000 + 4096 * i, 1000, 4 + i}});
  }
  CopyBench b(spec, script, scattered(300ns, 1), scattered(90ns, 2));
  std::vector<PhysAddr> written;
  auto const note = [&](Memory const& memory) {
    for (auto const& r : memory.records())
      for (std::uint32_t i = 0; r.message.access == Access::write && i < r.message.train.lines(); ++i)
        written.push_back(r.message.address + 64 * i);
  };
  note(*b.remote);
  for (auto const* slice : b.slices) note(*slice);
  std::sort(written.begin(), written.end());
  REQUIRE(written.size() == 128);
  for (std::uint64_t i = 0; i < 128; ++i)
    CHECK(written[i] == (i < 64 ? kTo : kFrom + 0x10000) + 4096 * (i % 64 / 16) + 64 * (i % 16));
  CHECK(b.copied->count() == 8);
  CHECK(b.engine_under_test.waiting_for().empty());
}

TEST_CASE("copy engine: defaults are derived from the links, the slices and the trains") {
  CopyEngineParams p;
  CHECK(p.window_of(320) == 320);
  CHECK(p.window_of(0) == 1);
  CHECK(p.slice_credits_of(320, 8, 4, 4) == 80);    // 640 over eight slices
  CHECK(p.slice_credits_of(320, 8, 64, 4) == 128);  // 640 over the five slices of a window
  CHECK(p.slice_credits_of(320, 80, 2, 4) == 16);   // four trains
  p.window = 7;
  p.slice_credits = 3;
  CHECK(p.window_of(320) == 7);
  CHECK(p.slice_credits_of(7, 8, 4, 4) == 3);
}

TEST_CASE("copy engine: the extra latency of copies with a CPU is added once per copy, in both directions") {
  auto spec = small();
  spec.cpu_latency = 40ns;
  auto const cpu = physical(kFirstCpu, 0x7000);
  for (auto const& [from, to, more] :
       {std::tuple{cpu, kTo, 40}, std::tuple{kTo, cpu, 40}, std::tuple{kFrom, kTo, 0}}) {
    CopyBench without(small(), {{Time{50ns}, {from, to, 256, 9}}});
    CopyBench with(spec, {{Time{50ns}, {from, to, 256, 9}}});
    CHECK(with.copied->nanoseconds()[0] == without.copied->nanoseconds()[0] + more);
    CHECK(with.remote->nanoseconds() == without.remote->nanoseconds());
  }
}

}  // namespace copy_engine_test
