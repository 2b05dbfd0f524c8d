// SPDX-License-Identifier: Apache-2.0
// FR-FCFS+Cap: row hits are served first, but at most `cap` of them before the oldest request. Mutlu and
// Moscibroda, "Stall-Time Fair Memory Access Scheduling for Chip Multiprocessors", MICRO 2007.
#include <farfault/memory/dram_scheduler.hpp>
#include <farfault/program.hpp>

namespace {

using namespace farfault;

class CappedRowHits final : public DramScheduler {
 public:
  struct Params {
    std::uint64_t cap = 4;
    void describe(ParamTable& t) {
      t.count("cap", cap, {0, 4096}, "Maximum younger requests served before the oldest", "assumed");
    }
  };

  CappedRowHits(Params const& p, Setup const& channel) : params_{p} {
    if (p.cap >= channel.queue)
      throw UserError("cap = " + std::to_string(p.cap) + " must be below the channel's queue, " +
                      std::to_string(channel.queue));
  }

  std::size_t pick(View const& channel) override {
    auto const next = first_ready(channel, [](MemRequest const&) { return true; });
    bool const capped = next != 0 && passed_ == params_->cap;
    if (capped) ++capped_;
    passed_ = next == 0 || capped ? 0 : passed_ + 1;
    return capped ? 0 : next;
  }

  auto members() { return std::tie(params_, passed_, capped_); }
  static auto stats() {
    return std::array<Stat<CappedRowHits>, 1>{
        {{"capped", "count", "Oldest requests served before a request that was ready earlier",
          StatKind::counter, [](CappedRowHits const& s) { return s.capped_; }}}};
  }

 private:
  Fixed<Params> params_;
  std::uint64_t passed_ = 0;  // younger requests since the oldest one was served
  std::uint64_t capped_ = 0;
};

}  // namespace

void capped_row_hits(Extensions& all) {
  all.policy<CappedRowHits>("capped_row_hits", "Row hits first, with a limit before the oldest request");
}
