// SPDX-License-Identifier: Apache-2.0
// An SM between a mock dispatcher, L2 cache, L2 TLB and RDMA engine: clock 1 GHz, L1 look-ups of 1 cycle,
// links of 1 ns, memory 50 ns, translation 20 ns. Lines with even numbers hit the L2 caches and the scalar
// cache.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "farfault/compute/sm.hpp"
#include "hand_kernel.hpp"
#include "memory_mock.hpp"

namespace farfault::sm_bench {

using namespace mock;

using Times = std::vector<std::int64_t>;
using Programs = std::function<Program(std::uint64_t, std::uint32_t)>;

// Pages from 0x1000 on are in the memory of GPU 1.
inline constexpr VirtAddr kRemote = 0x1000ULL << 12;
inline constexpr PhysAddr kLargeFrame = physical(0, 0x4000'0000);

// A vector instruction takes one cycle of its SIMD, and no warp waits for results of computation.
inline SmSpec unit_rates() {
  SmSpec spec;
  spec.sm.simd_lanes = 64;
  spec.sm.special_lanes = 64;
  spec.sm.dependent_latency = 1;
  return spec;
}

inline KernelShape shape(std::uint32_t threads = 64) {
  return {"k", 100, threads, 1, 0};
}

struct SmBench : Bench {
  SmBench(SmSpec spec, Workload const& workload, std::vector<Record<StartBlock>> script,
          std::vector<Record<Invalidate>> invalidations = {})
      : SmBench(std::move(spec), workload, std::move(script), always(50ns), always(20ns),
                std::move(invalidations)) {
    run();
  }
  SmBench(SmSpec spec, Workload const& workload, std::vector<Record<StartBlock>> script,
          std::function<Duration(std::uint64_t)> memory_delay,
          std::function<Duration(std::uint64_t)> tlb_delay,
          std::vector<Record<Invalidate>> invalidations = {})
      : sm(system.add<Sm>("sm", with(std::move(spec), workload))) {
    feed(sm.start, std::move(script));
    counts = &sink(sm.counts);
    done = &sink(sm.done);
    auto const with_stages = [&] {
      auto spec_of = memory(memory_delay, Below::cache);
      spec_of.reply = [this, reply = spec_of.reply](MemRequest const& m) {
        auto r = reply(m);
        r.stages = memory_stages;
        return r;
      };
      return spec_of;
    };
    cache = &responder<MemRequest, MemResponse>(with_stages(), sm.memory_response);
    join_family(sm.memory_request, {cache->request});
    remote = &responder<MemRequest, MemResponse>(with_stages(), sm.remote_response);
    join(sm.remote_request, remote->request);
    ResponderSpec<TranslateRequest, TranslateResponse> tlb_spec;
    tlb_spec.reply = [this](TranslateRequest const& m) {
      if (auto const f = faults.find(m.page); f != faults.end() && f->second-- > 0)
        return TranslateResponse{m.page, kNoFrame, FoundBy::nothing};
      if (size != 0)
        return TranslateResponse{
            .page = m.page, .frame = kLargeFrame, .found_by = FoundBy::l2_tlb, .size = size};
      auto const f = found_by.find(m.page);
      auto const frame = physical(m.page >= 0x1000 ? 1 : 0, (m.page + 7) << 12);
      TranslateResponse r{m.page, copied && m.access == Access::read ? read_only(frame) : frame,
                          f == found_by.end() ? FoundBy::l2_tlb : f->second};
      r.stages = translation_stages;
      return r;
    };
    tlb_spec.delay = std::move(tlb_delay);
    tlb = &responder<TranslateRequest, TranslateResponse>(tlb_spec, sm.translation);
    join_family(sm.translate, {tlb->request});
    ResponderSpec<ReadOnlyRequest, ReadOnlyResponse> scalar_spec;
    scalar_spec.reply = [](ReadOnlyRequest const& m) {
      auto const hit = m.address / 64 % 2 == 0;
      return ReadOnlyResponse{m.tag, hit ? ReadOnlyStatus::hit : ReadOnlyStatus::missed, {}};
    };
    scalar_spec.delay = always(10ns);
    scalar = &responder<ReadOnlyRequest, ReadOnlyResponse>(scalar_spec, sm.scalar_response);
    join(sm.scalar_request, scalar->request);
    if (sm.spec().fetches()) {
      ResponderSpec<ReadOnlyRequest, ReadOnlyResponse> fetch_spec;
      fetch_spec.reply = [](ReadOnlyRequest const& m) {
        return ReadOnlyResponse{m.tag, ReadOnlyStatus::hit, {}};
      };
      fetch_spec.delay = always(10ns);
      fetch = &responder<ReadOnlyRequest, ReadOnlyResponse>(fetch_spec, sm.fetched);
      join(sm.fetch_request, fetch->request);
    }
    feed(sm.invalidate, std::move(invalidations));
    invalidated = sinks(sm.invalidated, 1)[0];
  }
  static SmSpec with(SmSpec spec, Workload const& workload) {
    if (spec.applications == nullptr) spec.applications = alone(workload);
    spec.memory = AddressMap(1, 256);
    spec.index = 3;
    spec.moves = 64;
    return spec;
  }
  Sm& sm;
  std::map<std::uint64_t, int> faults;        // by page: number of requests answered as unmapped
  std::map<std::uint64_t, FoundBy> found_by;  // by page; default: the L2 TLB
  TranslationStages translation_stages{};     // of all translations
  MemoryStages memory_stages{};               // of all responses from memory
  bool copied = false;                        // translations are read-only unless a write is requested
  std::uint8_t size = 0;                      // of all pages; large ones are at kLargeFrame
  Sink<KernelCounts>* counts = nullptr;
  Sink<BlockDone>* done = nullptr;
  Memory* cache = nullptr;
  Memory* remote = nullptr;
  Responder<TranslateRequest, TranslateResponse>* tlb = nullptr;
  Responder<ReadOnlyRequest, ReadOnlyResponse>* scalar = nullptr;
  Responder<ReadOnlyRequest, ReadOnlyResponse>* fetch = nullptr;  // if instructions are fetched
  Sink<Invalidated>* invalidated = nullptr;
};

inline Invalidate invalidate(std::uint64_t page, std::uint32_t move = 0) {
  return {page, physical(page >= 0x1000 ? 1 : 0, (page + 7) << 12), move};
}

inline TranslateResponse replay(std::uint64_t page, PhysAddr frame = 0) {
  return {page, frame, FoundBy::replay};
}

inline Workload same_for_all(Program program, std::uint32_t threads = 64, int kernels = 1) {
  return hand_workload(std::vector<KernelShape>(static_cast<std::size_t>(kernels), shape(threads)),
                       [program](std::uint64_t, std::uint32_t) { return program; });
}

}  // namespace farfault::sm_bench
