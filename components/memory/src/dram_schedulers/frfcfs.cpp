// SPDX-License-Identifier: Apache-2.0
// First ready, first come, first served: Rixner et al., "Memory Access Scheduling", ISCA 2000.
#include "farfault/memory/dram_scheduler.hpp"

namespace farfault::dram_schedulers {
namespace {

struct FrFcfs final : DramScheduler {
  std::size_t pick(View const& v) override {
    return first_ready(v, [](MemRequest const&) { return true; });
  }
};

}  // namespace

void frfcfs(PolicyList<DramScheduler>& list) {
  list.add<FrFcfs>("frfcfs", "the oldest whose row is open, else the one whose bank can deliver first");
}

}  // namespace farfault::dram_schedulers
