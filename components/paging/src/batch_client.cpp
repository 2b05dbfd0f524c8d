// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/batch_client.hpp"

#include <algorithm>

#include "farfault/paging/block_locks.hpp"
#include "farfault/paging/paging_driver_state.hpp"

namespace farfault {

BatchClient::BatchClient(PagingDriverSpec const& spec)
    : interrupts_(spec.devices.gpus() + 1),
      prefetch_(spec.batch.prefetch.make({spec.page_bits})),
      workers_(spec.batch_workers),
      thrashing_(spec.detects_thrashing() ? ThrashingPages(spec.page_bits, spec.spaces) : ThrashingPages()) {
  for (std::uint32_t g = 0; g < spec.devices.gpus(); ++g)
    of_gpu_.push_back(
        {.served_blocks = PageRecords<std::uint64_t>(spec.page_bits, spec.spaces),
         .stays = spec.pages_stay_for_replay() ? ReplayStays(spec.page_bits, spec.spaces) : ReplayStays()});
}

std::string BatchClient::waiting_for(PagingDriverSpec const& spec, PagingDriverState const& s) const {
  std::string all;
  for (auto const& w : workers_) all += w.waiting_for(spec, s);
  return all;
}

std::size_t BatchClient::serving() const {
  return static_cast<std::size_t>(std::ranges::count_if(workers_, &BatchWorker::is_serving));
}

Duration BatchClient::time_until(Time at) const {
  Duration sum{};
  for (auto const& w : workers_) sum += w.time_until(at);
  return sum;
}

void BatchClient::interrupted(FaultInterrupt const& m, DriverTurn& t) {
  interrupts_.push(t.spec.devices.number_of(m.gpu));
  assign(t.spec.batch.interrupt_time, t);
}

void BatchClient::assign(Duration after, DriverTurn& t) {
  for (std::size_t w = 0; w < workers_.size() && !interrupts_.empty(); ++w) {
    if (!workers_[w].is_idle()) continue;
    auto const gpu = interrupts_.front();
    interrupts_.pop();
    of_gpu_[gpu].worker = w;
    workers_[w].take(gpu, after, t);
  }
}

void BatchClient::entry_arrived(FaultEntry const& m, DriverTurn& t) {
  auto& worker = worker_of(t.spec.devices.number_of(m.gpu));
  worker.add({.page = m.page,
              .raised = m.raised,
              .client = m.client,
              .application = m.application,
              .access = m.access});
  if (worker.has_all_entries()) begin(worker, t);
}

void BatchClient::drained(FaultsDrained const& m, DriverTurn& t) {
  auto& worker = worker_of(t.spec.devices.number_of(m.gpu));
  worker.expect(m.entries);
  if (worker.has_all_entries()) begin(worker, t);
}

void BatchClient::begin(BatchWorker& worker, DriverTurn& t) {
  FF_CHECK(worker.is_reading(), "fault-buffer entries arrived from a GPU whose buffer is not read");
  if (worker.entries() == 0) {
    worker.order_replay(FaultReplay::Point::buffer_empty, t);
    worker.release();
    assign({}, t);
    if (is_serving()) serve(t);  // a page may have waited for this replay
    return;
  }
  worker.begin(t);
  lock_blocks(workers_, done_, t.now);
  serve(t);
}

void BatchClient::worked(DriverTurn& t) {
  bool reads = false;
  for (auto& w : workers_) reads = w.read_when_due(t) || reads;
  if (!reads || is_serving()) serve(t);
}

void BatchClient::serve(DriverTurn& t) {
  t.s.programs.start_pages(t);
  // A worker may have waited for a page, a number or a frame that a later worker frees.
  for (bool replayed = true; replayed;) {
    bool const alone = serving() <= 1;
    for (bool more = true; more;) {
      more = false;
      for (auto& w : workers_) more = (w.is_serving() && w.serve(t)) || more;
      more = (more && !alone) || end_deadlock(t);
    }
    replayed = false;
    for (auto& w : workers_) {
      if (!w.is_serving() || !w.is_complete(t)) continue;
      end(w, t);
      replayed = !alone && t.spec.pages_stay_for_replay();
    }
  }
  for (auto& w : workers_)
    if (w.is_serving()) w.wake_for_work(t);
}

void BatchClient::record_work(BatchWorker const& ended, DriverTurn const& t) {
  auto earliest = Time::max();  // begin of a further plan
  for (auto const& w : workers_)
    if (w.is_reading()) earliest = std::min(earliest, w.record().began + t.spec.batch.time);
  for (auto const& block : ended.incoming().blocks())
    if (block.takes != Duration::zero()) done_.push_back(block);
  std::erase_if(done_, [&](IncomingBlock const& block) { return block.worked <= earliest; });
}

void BatchClient::end(BatchWorker& worker, DriverTurn& t) {
  if (workers_.size() > 1) record_work(worker, t);
  worker.end(t);
  // If accesses are replayed only when the buffer is empty, this GPU's buffer is read until then, so that no
  // other GPU's batch takes its pages earlier.
  auto const gpu = worker.gpu();
  bool const replays_when_empty = t.facts.replay.buffer_empty != FaultReplay::Action::none;
  if (replays_when_empty && of_gpu_[gpu].replay_pending != 0) return worker.read_buffer(t);
  interrupts_.push(static_cast<std::uint32_t>(gpu));
  worker.release();
  assign({}, t);
}

}  // namespace farfault
