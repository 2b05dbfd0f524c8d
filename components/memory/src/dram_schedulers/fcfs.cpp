// SPDX-License-Identifier: Apache-2.0
#include "farfault/memory/dram_scheduler.hpp"

namespace farfault::dram_schedulers {
namespace {

struct Fcfs final : DramScheduler {
  std::size_t pick(View const&) override { return 0; }
};

}  // namespace

void fcfs(PolicyList<DramScheduler>& list) {
  list.add<Fcfs>("fcfs", "oldest request first");
}

}  // namespace farfault::dram_schedulers
