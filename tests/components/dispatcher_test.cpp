// SPDX-License-Identifier: Apache-2.0
// Dispatchers of mock SMs; clock 1 GHz, links of 1 ns.
#include "farfault/compute/dispatcher.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "choices.hpp"
#include "hand_kernel.hpp"
#include "mock.hpp"

namespace dispatcher_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

using Times = std::vector<std::int64_t>;

KernelShape shape(std::uint64_t blocks, std::uint32_t threads, std::uint32_t registers = 1,
                  std::uint64_t shared = 0) {
  return {"k", blocks, threads, registers, shared};
}
Workload workload_of(std::vector<KernelShape> const& shapes) {
  return hand_workload(shapes, [](std::uint64_t, std::uint32_t) { return Program{}; });
}

DispatcherSpec spec_of(Workload const& workload, SmParams const& sm, std::uint32_t sms) {
  DispatcherSpec spec;
  spec.sm = sm;
  spec.sms = sms;
  spec.applications = alone(workload);
  return spec;
}

// Number of blocks of a kernel that an SM receives if it never finishes one.
std::size_t fit(KernelShape const& s, SmParams const& sm) {
  auto const workload = workload_of({s});
  Bench b;
  auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec_of(workload, sm, 1));
  b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}});
  b.feed(dispatcher.block_done, {});
  auto const sms = b.sinks(dispatcher.start, 1);
  b.idle(dispatcher.counted);
  b.sink(dispatcher.counts);
  b.sink(dispatcher.done);
  b.run();
  return sms[0]->count();
}

}  // namespace

TEST_CASE("dispatcher: an SM is filled up to its first exhausted resource") {
  SmParams sm;
  sm.max_warps = 40;
  sm.max_threads = 2560;
  sm.max_blocks = 40;
  sm.registers = 65536;
  sm.shared_bytes = 65536;
  CHECK(fit(shape(100, 128), sm) == 20);           // 40 warps of 64, two per block
  CHECK(fit(shape(100, 65), sm) == 20);            // a partial warp takes a whole slot
  CHECK(fit(shape(100, 64, 32), sm) == 32);        // 32 x 64 registers per block
  CHECK(fit(shape(100, 65, 32), sm) == 16);        // whole warps
  CHECK(fit(shape(100, 64, 1, 20'000), sm) == 3);  // shared memory
  CHECK(fit(shape(100, 64), sm) == 40);
  CHECK(fit(shape(7, 64), sm) == 7);  // no more than the kernel has
  sm.max_blocks = 5;
  CHECK(fit(shape(100, 64), sm) == 5);
  sm.max_blocks = 40;
  sm.max_threads = 500;
  CHECK(fit(shape(100, 128), sm) == 3);
  CHECK(fit(shape(100, 125), sm) == 4);
}

TEST_CASE("dispatcher: with parts, each part of the SMs runs a contiguous part of the blocks") {
  auto const workload = workload_of({shape(10, 64), shape(5, 64)});
  auto spec = spec_of(workload, {}, 4);
  spec.sm.max_blocks = 2;
  spec.partitions = 2;
  Bench b;
  auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec);
  b.feed(dispatcher.launch, {{Time{1us}, {0, 0}}, {Time{100us}, {1, 1}}});
  // SMs 0 and 1 have blocks 0 to 4, SMs 2 and 3 blocks 5 to 9; SM 0 is fastest, SM 3 next.
  std::vector<Record<BlockDone>> done;
  for (int i = 0; i < 3; ++i) done.push_back({Time{2us + i * 10ns}, {0, 0, 0}});
  for (int i = 0; i < 2; ++i) done.push_back({Time{3us + i * 10ns}, {0, 3, 0}});
  for (int i = 0; i < 2; ++i) done.push_back({Time{4us + i * 10ns}, {0, 1, 0}});
  for (int i = 0; i < 2; ++i) done.push_back({Time{5us + i * 10ns}, {0, 2, 0}});
  done.push_back({Time{6us}, {0, 3, 0}});
  b.feed(dispatcher.block_done, done);
  auto const sms = b.sinks(dispatcher.start, 4);
  b.idle(dispatcher.counted);
  b.sink(dispatcher.counts);
  b.sink(dispatcher.done);
  b.run();
  auto const blocks = [&](std::size_t sm) {
    std::vector<std::uint64_t> all;
    for (auto const& r : sms[sm]->records()) all.push_back(r.message.block);
    return all;
  };
  using Blocks = std::vector<std::uint64_t>;
  // Then the second kernel: blocks 0 and 1 on the first part, 2 to 4 on the second, in rotation.
  CHECK(blocks(0) == Blocks{0, 2, 4, 0});
  CHECK(blocks(1) == Blocks{1, 3, 1});
  CHECK(blocks(2) == Blocks{5, 7, 3});
  CHECK(blocks(3) == Blocks{6, 8, 9, 2, 4});
}

TEST_CASE("dispatcher: the parts of an application are the partitions in which it has SMs") {
  auto const first = workload_of({shape(4, 64)});
  auto const second = workload_of({shape(5, 64)});
  // `b` has SMs in the last two of four partitions.
  Applications const both({{"a", &first, 0, {}, {0, 1}, {}, 1}, {"b", &second, 1, {}, {5, 6, 7}, {}, 1}});
  auto spec = spec_of(first, {}, 8);
  spec.applications = &both;
  spec.partitions = 4;
  Bench b;
  auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec);
  b.feed(dispatcher.launch, {{Time{1us}, {0, 0}}, {Time{2us}, {1, 1}}});
  b.feed(dispatcher.block_done, {});
  auto const sms = b.sinks(dispatcher.start, 8);
  b.idle(dispatcher.counted);
  b.sink(dispatcher.counts);
  b.sink(dispatcher.done);
  b.run();
  auto const blocks = [&](std::size_t sm) {
    std::vector<std::uint64_t> all;
    for (auto const& r : sms[sm]->records()) all.push_back(r.message.block);
    return all;
  };
  using Blocks = std::vector<std::uint64_t>;
  CHECK(blocks(0) == Blocks{0, 2});
  CHECK(blocks(1) == Blocks{1, 3});
  CHECK(blocks(5) == Blocks{0, 1});
  CHECK(blocks(6) == Blocks{2, 4});
  CHECK(blocks(7) == Blocks{3});
}

TEST_CASE("dispatcher: a block that does not fit an empty SM is rejected with the insufficient resource") {
  SmParams sm;
  CHECK(Dispatcher::why_not(shape(1, 1024), sm, 64).empty());
  CHECK(Dispatcher::why_not(shape(1, 2561), sm, 64) == "41 warps, but an SM holds 40");
  sm.max_threads = 512;
  CHECK(Dispatcher::why_not(shape(1, 1024), sm, 64) == "1024 threads, but an SM holds 512");
  CHECK(Dispatcher::why_not(shape(1, 256, 257), sm, 64) == "65792 registers, but an SM has 65536");
  CHECK(Dispatcher::why_not(shape(1, 64, 1, 65537), sm, 64) ==
        "65537 B of shared memory, but an SM has 64 KiB");
  CHECK(Dispatcher::why_not(shape(1, 512, 4'000'000'000), sm, 64) != "");  // the product exceeds 32 bits
}

TEST_CASE("dispatcher: one block per cycle, round-robin over the SMs, and a freed slot is reused") {
  auto const workload = workload_of({shape(7, 64)});
  SmParams sm;
  sm.max_blocks = 2;
  Bench b;
  auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec_of(workload, sm, 3));
  b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}});
  b.feed(dispatcher.block_done, {{Time{2000ns}, {4, 1, 0}}});
  auto const sms = b.sinks(dispatcher.start, 3);
  b.idle(dispatcher.counted);
  b.sink(dispatcher.counts);
  auto& done = b.sink(dispatcher.done);
  b.run();
  CHECK(sms[0]->nanoseconds() == Times{1001, 1004});
  CHECK(sms[1]->nanoseconds() == Times{1002, 1005, 2001});
  CHECK(sms[2]->nanoseconds() == Times{1003, 1006});
  CHECK(sms[1]->records()[0].message.block == 1);
  CHECK(sms[1]->records()[2].message.block == 6);
  CHECK(done.count() == 0);
  CHECK(dispatcher.waiting_for() == "6 running blocks, 0 not dispatched");
}

TEST_CASE("dispatcher: a single GPU completes a kernel when all slices have been written back") {
  auto const workload = workload_of({shape(1, 64)});
  auto spec = spec_of(workload, SmParams{}, 1);
  spec.slices_to_write_back = 2;
  Bench b;
  auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec);
  b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}});
  b.feed(dispatcher.block_done, {{Time{2000ns}, {0, 0, 0}}});
  b.feed(dispatcher.flushed, {{Time{2100ns}, {0}}, {Time{2300ns}, {0}}});
  b.sinks(dispatcher.start, 1);
  auto const slices = b.sinks(dispatcher.flush, 2);
  b.idle(dispatcher.counted);
  b.sink(dispatcher.counts);
  auto& done = b.sink(dispatcher.done);
  b.run(Time{2200ns});
  CHECK(slices[0]->nanoseconds() == Times{2001});
  CHECK(slices[1]->nanoseconds() == Times{2001});
  CHECK(done.count() == 0);
  CHECK(dispatcher.waiting_for() == "1 slices writing back");
  b.run();
  CHECK(done.nanoseconds() == Times{2301});
  CHECK(dispatcher.waiting_for().empty());
}

TEST_CASE("dispatcher: one of several GPUs writes back on the host's request, with or without blocks") {
  auto const workload = workload_of({shape(1, 64)});
  auto spec = spec_of(workload, SmParams{}, 1);
  spec.slices_to_write_back = 2;
  spec.gpus = 2;
  for (std::uint32_t const gpu : {0U, 1U}) {  // the one block is the second GPU's
    spec.gpu = gpu;
    Bench b;
    auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec);
    b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}});
    if (gpu == 0) b.idle(dispatcher.block_done);
    if (gpu == 1) b.feed(dispatcher.block_done, {{Time{1500ns}, {0, 0, 0}}});
    b.feed(dispatcher.kernel_end, {{Time{2000ns}, {0}}});
    b.feed(dispatcher.flushed, {{Time{2100ns}, {0}}, {Time{2300ns}, {0}}});
    b.sinks(dispatcher.start, 1);
    auto const slices = b.sinks(dispatcher.flush, 2);
    b.idle(dispatcher.counted);
    b.sink(dispatcher.counts);
    auto& done = b.sink(dispatcher.done);
    b.run();
    CHECK(slices[0]->nanoseconds() == Times{2001});
    REQUIRE(slices[1]->count() == 1);
    CHECK(slices[1]->records()[0].message.frame == kNoFrame);
    CHECK(done.nanoseconds() == Times{gpu == 0 ? 1001 : 1501, 2301});
  }
}

TEST_CASE("dispatcher: a finished block frees all of its resources, whichever resource limits the SM") {
  SmParams wide;
  wide.max_warps = 64;
  wide.max_threads = 4096;
  wide.max_blocks = 64;
  wide.registers = 1 << 20;
  wide.shared_bytes = 1 << 20;
  struct Limit {
    char const* name;
    void (*set)(SmParams&);
  };
  for (auto const& limit : {Limit{"warps", [](SmParams& sm) { sm.max_warps = 2; }},
                            Limit{"threads", [](SmParams& sm) { sm.max_threads = 128; }},
                            Limit{"blocks", [](SmParams& sm) { sm.max_blocks = 2; }},
                            Limit{"registers", [](SmParams& sm) { sm.registers = 2048; }},
                            Limit{"shared memory", [](SmParams& sm) { sm.shared_bytes = 1024; }}}) {
    CAPTURE(std::string(limit.name));
    auto sm = wide;
    limit.set(sm);  // resources of two blocks
    auto const workload = workload_of({shape(9, 64, 16, 512)});
    Bench b;
    auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec_of(workload, sm, 1));
    b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}});
    ResponderSpec<StartBlock, BlockDone> runs;
    runs.reply = [](StartBlock const& m) { return BlockDone{m.block, 0, m.kernel}; };
    runs.delay = always(100ns);
    auto& machine = b.responder<StartBlock, BlockDone>(runs, dispatcher.block_done);
    b.join_family(dispatcher.start, {machine.request});
    b.idle(dispatcher.counted);
    b.sink(dispatcher.counts);
    auto& done = b.sink(dispatcher.done);
    b.run();
    CHECK(machine.records().size() == 9);
    CHECK(done.count() == 1);
  }
}

TEST_CASE("dispatchers: every block of a kernel runs exactly once, whatever the shape of machine and grid") {
  std::mt19937_64 random(8);
  for (std::size_t round = 0; round < 90; ++round) {
    auto const gpus = static_cast<std::uint32_t>(1 + random() % 5);
    auto const sms = static_cast<std::uint32_t>(1 + random() % 4);
    auto const blocks = random() % 200;  // including fewer than GPUs, and zero
    auto const order =
        std::array<std::string_view, 3>{"round_robin", "contiguous", "contiguous_per_sm"}[round % 3];
    auto const workload = workload_of({shape(1, 1), shape(blocks, 64)});
    SmParams sm;
    sm.max_blocks = static_cast<std::uint32_t>(1 + random() % 3);
    Bench b;
    std::vector<std::vector<Responder<StartBlock, BlockDone>*>> machines(gpus);
    std::vector<Sink<KernelDone>*> done;
    for (std::uint32_t g = 0; g < gpus; ++g) {
      auto spec = spec_of(workload, sm, sms);
      spec.gpu = g;
      spec.gpus = gpus;
      spec.block_order.choose(order);
      auto& dispatcher = b.system.add<Dispatcher>(b.name("dispatcher"), spec);
      b.feed(dispatcher.launch, {{Time{1000ns}, {1, 0}}});
      std::vector<In<StartBlock>> starts;
      for (std::uint32_t i = 0; i < sms; ++i) {
        ResponderSpec<StartBlock, BlockDone> runs;
        runs.reply = [i](StartBlock const& m) { return BlockDone{m.block, i, m.kernel}; };
        runs.delay = scattered(100ns, random());
        machines[g].push_back(&b.responder<StartBlock, BlockDone>(runs, dispatcher.block_done));
        starts.push_back(machines[g].back()->request);
      }
      b.join_family(dispatcher.start, starts);
      b.idle(dispatcher.counted);
      b.sink(dispatcher.counts);
      done.push_back(&b.sink(dispatcher.done));
    }
    REQUIRE(b.run() == RunState::drained);
    std::set<std::uint64_t> seen;
    std::size_t runs = 0;
    for (std::uint32_t g = 0; g < gpus; ++g) {
      std::vector<std::uint64_t> mine;
      for (auto const* machine : machines[g])
        for (auto const& r : machine->records()) {
          REQUIRE(r.message.kernel == 1);
          mine.push_back(r.message.block);
        }
      std::sort(mine.begin(), mine.end());
      for (std::size_t i = 0; i < mine.size(); ++i) {
        if (order == "round_robin") REQUIRE(mine[i] == g + i * gpus);
        if (order != "round_robin") REQUIRE(mine[i] == mine[0] + i);
      }
      if (order == "contiguous_per_sm") {
        auto const run = sms * ((blocks + gpus * sms - 1) / (gpus * sms));
        REQUIRE(mine.size() == std::min(run, blocks - std::min(blocks, g * run)));
      } else {
        REQUIRE(mine.size() >= blocks / gpus);
        REQUIRE(mine.size() <= blocks / gpus + 1);
      }
      seen.insert(mine.begin(), mine.end());
      runs += mine.size();
      REQUIRE(done[g]->count() == 1);
      REQUIRE(done[g]->records()[0].message.gpu == g);
      REQUIRE(done[g]->records()[0].message.kernel == 1);
    }
    REQUIRE(runs == blocks);
    REQUIRE(seen.size() == blocks);
    if (blocks != 0) REQUIRE(*seen.rbegin() == blocks - 1);
  }
}

TEST_CASE("dispatchers: assignment of blocks to GPUs for an uneven number of blocks") {
  using Blocks = std::vector<std::uint64_t>;
  // Three GPUs of two SMs, seven blocks: the blocks of one GPU.
  auto const dealt = [](std::string_view order, std::uint32_t gpu, std::uint64_t blocks = 7) {
    auto const workload = workload_of({shape(blocks, 64)});
    Bench b;
    auto spec = spec_of(workload, SmParams{}, 2);
    spec.gpu = gpu;
    spec.gpus = 3;
    spec.block_order.choose(order);
    auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec);
    b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}});
    b.feed(dispatcher.block_done, {});
    auto const sms = b.sinks(dispatcher.start, 2);
    b.idle(dispatcher.counted);
    b.sink(dispatcher.counts);
    b.sink(dispatcher.done);
    b.run();
    Blocks all;
    for (auto const* sm : sms)
      for (auto const& r : sm->records()) all.push_back(r.message.block);
    std::sort(all.begin(), all.end());
    return all;
  };
  CHECK(dealt("round_robin", 0) == Blocks{0, 3, 6});
  CHECK(dealt("round_robin", 1) == Blocks{1, 4});
  CHECK(dealt("round_robin", 2) == Blocks{2, 5});
  CHECK(dealt("contiguous", 0) == Blocks{0, 1});
  CHECK(dealt("contiguous", 1) == Blocks{2, 3});
  CHECK(dealt("contiguous", 2) == Blocks{4, 5, 6});
  // Six SMs and seven blocks: two per SM until none remain.
  CHECK(dealt("contiguous_per_sm", 0) == Blocks{0, 1, 2, 3});
  CHECK(dealt("contiguous_per_sm", 1) == Blocks{4, 5, 6});
  CHECK(dealt("contiguous_per_sm", 2).empty());
  CHECK(dealt("contiguous_per_sm", 0, 6) == Blocks{0, 1});
  CHECK(dealt("contiguous_per_sm", 2, 6) == Blocks{4, 5});
}

TEST_CASE("dispatcher: applications place one block each round-robin, each on its own list of SMs") {
  auto const first = workload_of({shape(4, 64)});
  auto const second = workload_of({shape(3, 64)});
  Applications const both({{"a", &first, 0, {}, {0, 1}, {}, 1}, {"b", &second, 1, {}, {1, 2}, {}, 1}});
  SmParams sm;
  sm.max_blocks = 2;
  auto spec = spec_of(first, sm, 3);
  spec.applications = &both;
  Bench b;
  auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec);
  b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}, {Time{1010ns}, {1, 0}}});
  b.feed(dispatcher.block_done, {{Time{2000ns}, {0, 1, 0}}, {Time{3000ns}, {1, 0, 0}}});
  auto const sms = b.sinks(dispatcher.start, 3);
  b.idle(dispatcher.counted);
  b.sink(dispatcher.counts);
  b.sink(dispatcher.done);
  b.run();
  auto const kernels = [&](std::size_t n) {
    std::vector<std::uint32_t> all;
    for (auto const& r : sms[n]->records()) all.push_back(r.message.kernel);
    return all;
  };
  using Kernels = std::vector<std::uint32_t>;
  CHECK(kernels(0) == Kernels{0, 0});     // the first application fills both of its SMs
  CHECK(kernels(1) == Kernels{0, 0, 1});  // and releases one slot,
  CHECK(kernels(2) == Kernels{1, 1});
  CHECK(sms[1]->nanoseconds()[2] == 2001);  // which the second one gets
  CHECK(dispatcher.waiting_for() == "5 running blocks, 0 not dispatched");
}

TEST_CASE("dispatcher: of two kernels that end together, each completes with its own flushes") {
  auto const first = workload_of({shape(1, 64)});
  auto const second = workload_of({shape(1, 64), shape(1, 64)});
  Applications const both({{"a", &first, 0, {}, {}, {}, 1}, {"b", &second, 1, {}, {}, {}, 1}});
  auto spec = spec_of(first, SmParams{}, 1);
  spec.applications = &both;
  spec.slices_to_write_back = 2;
  Bench b;
  auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec);
  b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}, {Time{1000ns}, {2, 1}}});
  b.feed(dispatcher.block_done, {{Time{2000ns}, {0, 0, 0}}, {Time{2000ns}, {0, 0, 2}}});
  b.feed(dispatcher.flushed,
         {{Time{2100ns}, {2}}, {Time{2200ns}, {0}}, {Time{2300ns}, {2}}, {Time{2400ns}, {0}}});
  b.sinks(dispatcher.start, 1);
  auto const slices = b.sinks(dispatcher.flush, 2);
  b.idle(dispatcher.counted);
  b.sink(dispatcher.counts);
  auto& done = b.sink(dispatcher.done);
  b.run();
  CHECK(slices[0]->count() == 2);
  CHECK(done.nanoseconds() == Times{2301, 2401});
  CHECK(done.records()[0].message.kernel == 2);
  CHECK(done.records()[1].message.kernel == 0);
}

namespace {

// SMs that issue from one block at a time, and the messages that they receive.
struct ExtraBench : Bench {
  ExtraBench(Workload const& workload, std::string const& policy, std::uint32_t sms,
             std::vector<Record<BlockDone>> ends, std::vector<Record<PageLifetimes>> evictions = {})
      : dispatcher(system.add<Dispatcher>("dispatcher", with(workload, policy, sms))) {
    feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}});
    feed(dispatcher.block_done, std::move(ends));
    feed(dispatcher.lifetimes, std::move(evictions));
    starts = sinks(dispatcher.start, sms);
    controls = sinks(dispatcher.control, sms);
    idle(dispatcher.counted);
    sink(dispatcher.counts);
    done = &sink(dispatcher.done);
  }
  static DispatcherSpec with(Workload const& workload, std::string const& policy, std::uint32_t sms) {
    SmParams sm;
    sm.max_blocks = 1;
    sm.thread_blocks.choose(policy);
    test::set_parameter(sm.thread_blocks, "thread_oversubscription.blocks", "4");
    auto spec = spec_of(workload, sm, sms);
    spec.counts_evictions = true;
    return spec;
  }
  Dispatcher& dispatcher;
  std::vector<Sink<StartBlock>*> starts;
  std::vector<Sink<BlockControl>*> controls;
  Sink<KernelDone>* done = nullptr;
};

}  // namespace

TEST_CASE("dispatcher: extra blocks are assigned when all SMs are full, and one more after each period") {
  auto const workload = workload_of({shape(9, 64)});
  ExtraBench b(workload, "thread_oversubscription", 2, {{Time{150'000ns}, {0, 0, 0}}});
  b.run(Time{190us});
  // Each SM gets its first block, then an extra one. The period begins with the first block and ends at 101
  // us. When one of the three blocks ends, another one replaces it.
  CHECK(b.starts[0]->nanoseconds() == Times{1001, 1003, 101'001, 150'001});
  CHECK(b.starts[1]->nanoseconds() == Times{1002, 1004, 101'002});
  CHECK(b.controls[0]->nanoseconds() == Times{101'001});
  CHECK(b.controls[1]->records()[0].message.extra == 2);
  CHECK(b.controls[1]->records()[0].message.stopped == 0);
}

TEST_CASE("dispatcher: shorter page lifetimes reduce the extra blocks of an SM") {
  auto const workload = workload_of({shape(20, 64)});
  // A mean of 1 ms in the second period, then of half of that in the third.
  ExtraBench b(workload, "thread_oversubscription", 1,
               {{Time{310us}, {0, 0, 0}}, {Time{320us}, {1, 0, 0}}, {Time{330us}, {2, 0, 0}}},
               {{Time{150us}, {10, 0, 10'000'000'000}}, {Time{250us}, {10, 0, 5'000'000'000}}});
  b.run(Time{390us});
  std::vector<std::uint32_t> extra;
  for (auto const& r : b.controls[0]->records()) extra.push_back(r.message.extra);
  CHECK(extra == std::vector<std::uint32_t>{2, 3, 2});
  // Four blocks at 201 us. The first end reduces them to three, and each later end makes room.
  CHECK(b.starts[0]->nanoseconds() == Times{1001, 1002, 101'001, 201'001, 320'001, 330'001});
}

TEST_CASE("dispatcher: disabled SMs get no blocks, and run again when no other SM has any") {
  auto const workload = workload_of({shape(5, 64)});
  ExtraBench b(workload, "throttling", 4,
               {{Time{150us}, {0, 0, 0}}, {Time{160us}, {1, 1, 0}}, {Time{170us}, {4, 0, 0}}},
               {{Time{50us}, {3, 0, 1000}}});
  b.run(Time{200us});
  for (std::uint32_t i : {0U, 1U}) CHECK(b.controls[i]->records()[0].message.stopped == 0);
  for (std::uint32_t i : {2U, 3U}) CHECK(b.controls[i]->records()[0].message.stopped == 1);
  CHECK(b.starts[0]->count() == 2);
  CHECK(b.starts[2]->count() == 1);
  // Only blocks 2 and 3 remain at 170 us.
  for (std::uint32_t i : {2U, 3U}) {
    CHECK(b.controls[i]->nanoseconds() == Times{101'001, 170'001});
    CHECK(b.controls[i]->records()[1].message.stopped == 0);
  }
}

TEST_CASE("dispatcher: no period ends while no block runs, so a run can end") {
  auto const workload = workload_of({shape(1, 64)});
  ExtraBench b(workload, "thread_oversubscription", 1, {{Time{2us}, {0, 0, 0}}});
  CHECK(b.run() == RunState::drained);
  CHECK(b.done->count() == 1);
  CHECK(b.controls[0]->count() == 0);
}

TEST_CASE("dispatcher: a period without an effect ends without an event, until pages are evicted") {
  auto const workload = workload_of({shape(9, 64)});
  // No block ends. After three periods the SM has its maximum of extra blocks and receives the last of them.
  // Evictions in the sixth and ninth period are counted at the end of these. The overall mean is then below
  // four fifths of the highest one, until no extra block remains.
  ExtraBench b(workload, "thread_oversubscription", 1, {},
               {{Time{550us}, {10, 0, 10'000'000'000}}, {Time{850us}, {10, 0, 1'000'000'000}}});
  CHECK(b.run() == RunState::drained);
  CHECK(b.controls[0]->nanoseconds() ==
        Times{101'001, 201'001, 301'001, 401'001, 601'001, 901'001, 1'001'001, 1'101'001, 1'201'001});
  std::vector<std::uint32_t> extra;
  for (auto const& r : b.controls[0]->records()) extra.push_back(r.message.extra);
  CHECK(extra == std::vector<std::uint32_t>{2, 3, 4, 4, 4, 3, 2, 1, 0});
}

TEST_CASE("dispatcher: the driver stops all SMs, and resumes SMs that are not disabled for another reason") {
  auto const workload = workload_of({shape(5, 64)});
  auto spec = spec_of(workload, SmParams{}, 2);
  spec.may_stall = true;
  Bench b;
  auto& dispatcher = b.system.add<Dispatcher>("dispatcher", spec);
  b.feed(dispatcher.launch, {{Time{1000ns}, {0, 0}}});
  b.feed(dispatcher.block_done, {});
  b.feed(dispatcher.stall, {{Time{2000ns}, {1}}, {Time{5000ns}, {0}}});
  b.sinks(dispatcher.start, 2);
  auto const controls = b.sinks(dispatcher.control, 2);
  b.idle(dispatcher.counted);
  b.sink(dispatcher.counts);
  b.sink(dispatcher.done);
  b.run();
  for (auto* sm : controls) {
    CHECK(sm->nanoseconds() == Times{2001, 5001});
    CHECK(sm->records()[0].message.stopped == 1);
    CHECK(sm->records()[1].message.stopped == 0);
  }
}

}  // namespace dispatcher_test
