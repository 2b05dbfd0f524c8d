// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/block_locks.hpp"

#include <algorithm>
#include <tuple>

namespace farfault {

namespace {

// A batch, whose first `planned` blocks have their final times.
struct Batch {
  std::vector<IncomingBlock>* blocks;
  std::uint64_t gpu;
  std::size_t planned;
  Time wants;  // the next block, from this time on

  bool has_next() const { return planned < blocks->size(); }
  IncomingBlock const* planned_work_on(std::uint64_t first) const {
    auto const end = blocks->begin() + static_cast<std::ptrdiff_t>(planned);
    auto const at = std::ranges::lower_bound(blocks->begin(), end, first, {}, &IncomingBlock::first);
    return at != end && at->first == first && at->takes != Duration::zero() ? &*at : nullptr;
  }
};

Batch batch_of(BatchWorker& worker, Time now) {
  auto& blocks = worker.incoming().blocks();
  Batch batch{&blocks, worker.gpu(), 0, worker.work_begins()};
  while (batch.has_next() && blocks[batch.planned].begins() < now)
    batch.wants = blocks[batch.planned++].worked;
  return batch;
}

// The first time at which no other batch's planned or completed work on the block overlaps.
Time begin_of_next(Batch const& batch, std::vector<Batch> const& all,
                   std::vector<IncomingBlock> const& done) {
  auto const& block = (*batch.blocks)[batch.planned];
  auto begins = batch.wants;
  bool moved = true;
  auto const pass = [&](IncomingBlock const& held) {
    if (begins >= held.worked || held.begins() >= begins + block.takes) return;
    begins = held.worked;
    moved = true;
  };
  while (moved) {
    moved = false;
    for (auto const& held : done)
      if (held.first == block.first) pass(held);
    for (auto const& other : all)
      if (auto const* held = &other != &batch ? other.planned_work_on(block.first) : nullptr) pass(*held);
  }
  return begins;
}

}  // namespace

void lock_blocks(std::vector<BatchWorker>& workers, std::vector<IncomingBlock> const& done, Time now) {
  std::vector<Batch> batches;
  for (auto& w : workers)
    if (w.is_serving()) batches.push_back(batch_of(w, now));
  auto const before = [](Batch const& a, Batch const& b) {
    if (a.has_next() != b.has_next()) return a.has_next();
    return std::tie(a.wants, a.gpu) < std::tie(b.wants, b.gpu);
  };
  while (true) {
    auto const next = std::ranges::min_element(batches, before);
    if (next == batches.end() || !next->has_next()) return;
    auto& block = (*next->blocks)[next->planned];
    block.worked = begin_of_next(*next, batches, done) + block.takes;
    next->wants = block.worked;
    ++next->planned;
  }
}

Duration lock_wait(BatchWorker const& worker) {
  auto waited = worker.work_ends() - worker.work_begins();
  for (auto const& block : worker.incoming().blocks()) waited -= block.takes;
  return waited;
}

}  // namespace farfault
