// SPDX-License-Identifier: Apache-2.0
// Locks of VA blocks (2 MiB) between batches that are served side by side.
//
// - A worker holds the lock of a block while the driver works on it, not during the copies of its pages.
//   Source: NVIDIA's driver (uvm_gpu_replayable_faults.c), which holds the block's mutex for one block's
//   service until the copies have been pushed.
// - Order: who wanted the block first. If two workers want it at the same time, the one whose GPU has the
//   lower number. NVIDIA's driver has no such rule.
// - Work is planned. A batch that begins changes the plan of other batches' work that has not begun.
// - Not modelled: that the lock is dropped while a victim is evicted, and the service of the block restarts.
#pragma once

#include <vector>

#include "farfault/engine/time.hpp"
#include "farfault/paging/batch_worker.hpp"

namespace farfault {

// Sets the end of the work on every block of the batches that are served, except work that has begun. `done`:
// work of batches that have ended.
void lock_blocks(std::vector<BatchWorker>& workers, std::vector<IncomingBlock> const& done, Time now);

// Time that the worker of a planned batch waits for locks.
Duration lock_wait(BatchWorker const& worker);

}  // namespace farfault
