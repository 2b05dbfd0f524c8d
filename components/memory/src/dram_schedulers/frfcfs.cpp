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
  list.add<FrFcfs>("frfcfs", "oldest request to an open row, else the request whose bank is ready first");
}

}  // namespace farfault::dram_schedulers
