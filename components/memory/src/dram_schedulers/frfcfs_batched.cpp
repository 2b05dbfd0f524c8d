// SPDX-License-Identifier: Apache-2.0
// FR-FCFS with batched writes, to reduce turn-arounds: it serves reads until write_high writes or no reads
// are queued; then writes until at most write_low are left and a read is queued (Ramulator 2, DRAMsim3:
// watermarks of a write queue; here one queue holds reads and writes).
#include "farfault/memory/dram_scheduler.hpp"

namespace farfault::dram_schedulers {
namespace {

class FrFcfsBatched final : public DramScheduler {
 public:
  struct Params {
    std::uint32_t write_high = 32;
    std::uint32_t write_low = 8;
    void describe(ParamTable& t) {
      t.count("write_high", write_high, {1, 4096}, "Queued writes that start a batch of writes",
              "assumed: half of the queue; Ramulator 2: 0.8 of a write queue of 32");
      t.count("write_low", write_low, {0, 4095}, "Queued writes at which a batch of writes ends",
              "assumed: an eighth of the queue; Ramulator 2: 0.2 of a write queue");
    }
  };

  FrFcfsBatched(Params const& p, Setup const& setup) : params_{p} {
    auto const wrong = "write_high = " + std::to_string(p.write_high) + " must be ";
    if (p.write_low >= p.write_high)
      throw UserError(wrong + "above write_low, " + std::to_string(p.write_low));
    if (p.write_high > setup.queue)
      throw UserError(wrong + "at most the DRAM's queue (gpu.dram.queue or cpu.dram.queue), " +
                      std::to_string(setup.queue));
  }

  std::size_t pick(View const& v) override {
    auto const wanted = turn(v);
    return first_ready(v, [wanted](MemRequest const& r) { return r.access == wanted; });
  }

  auto members() { return std::tie(params_); }

 private:
  Access turn(View const& v) const {
    if (v.writes == 0) return Access::read;
    if (v.writes == v.lines) return Access::write;
    auto const most = v.last == Access::read ? params_->write_high - 1 : params_->write_low;
    return v.writes > most ? Access::write : Access::read;
  }

  Fixed<Params> params_;
};

}  // namespace

void frfcfs_batched(PolicyList<DramScheduler>& list) {
  list.add<FrFcfsBatched>("frfcfs_batched", "as frfcfs, with writes in batches");
}

}  // namespace farfault::dram_schedulers
