// SPDX-License-Identifier: Apache-2.0
// Address-space-aware scheduler of MASK (Ausavarungnirun et al., ASPLOS 2018, section 5.4). Page-walk reads
// use the golden queue, first come, first served; reads of warps use the silver or the normal queue, each
// FR-FCFS. Golden has priority over silver, and silver over normal.
//
// - Priority per bank (`priority`): a request precedes other requests for its bank. While it waits for the
//   bank, the bus carries data of other banks, in the same order of queues. The published code does so
//   (CMU-SAFARI/Mosaic, v3.x/src/gpgpu-sim/dram_sched.cc: a request is chosen for each bank). Priority per
//   channel: the bus waits for it. The paper has "always", without the scope.
// - The silver queue serves one application at a time, until its quota of lines has entered. A quota is a
//   share of thresh_max (Equation 1), weighted by the application's WalkPressure (messages.hpp): concurrent
//   walks x stalled warps. Weights arrive after each epoch; before the first, and if no warp waited for a
//   walk, shares are equal. Quotas are rounded down, and an application without a quota is skipped.
// - Assumed, not in the paper: a request that finds its queue full waits in order and delays only requests
//   for the same queue. The silver queue also advances at each epoch, so that an application that has ended
//   does not keep it. All requests other than reads of walks and of warps (write-backs, copies, contexts,
//   page-table writes) use the normal queue. A read of the silver queue's application that finds that queue
//   full waits, or uses the normal queue (`overflow`).
#include <algorithm>
#include <array>
#include <bitset>

#include "farfault/memory/dram_scheduler.hpp"

namespace farfault::dram_schedulers {
namespace {

class AddressSpaceAware final : public DramScheduler {
 public:
  enum class Before : std::uint64_t { bank, channel };
  enum class Overflow : std::uint64_t { normal, waits };
  struct Params {
    std::uint32_t golden = 16;
    std::uint32_t silver = 64;
    std::uint32_t normal = 192;
    std::uint32_t queues = 3;
    std::uint32_t thresh_max = 500;
    std::uint32_t epoch = 100'000;
    Before priority = Before::bank;
    Overflow overflow = Overflow::normal;
    void describe(ParamTable& t) {
      t.count("golden", golden, {1, 4096}, "Lines of the golden queue, for page-walk reads",
              "MASK (ASPLOS 2018), section 7.4: 16")
          .only_when(sibling("queues").is_above(1));
      t.count("silver", silver, {1, 4096},
              "Lines of the silver queue, for reads of one application at a time",
              "MASK (ASPLOS 2018), section 7.4: 64")
          .only_when(sibling("queues").is(3));
      t.count("normal", normal, {1, 4096}, "Lines of the normal queue, for requests of neither other queue",
              "MASK (ASPLOS 2018), section 7.4: 192");
      t.count("queues", queues, {1, 3},
              "Number of queues. 3: golden, silver and normal; 2: golden and normal; 1: normal (FR-FCFS)",
              "MASK (ASPLOS 2018), section 5.4: 3");
      t.count("thresh_max", thresh_max, {0, 1'000'000},
              "Sum of all applications' quotas of the silver queue, in lines per DRAM channel (MASK: "
              "Thresh_max). 0: the silver queue is not used",
              "MASK (ASPLOS 2018), section 6: 500")
          .only_when(sibling("queues").is(3));
      t.count("epoch", epoch, {1, 1'000'000'000},
              "Epoch length in GPU cycles: time between updates of the applications' quotas",
              "MASK (ASPLOS 2018), sections 5.2 and 5.4: 100K cycles")
          .only_when(sibling("queues").is(3));
      t.choice(
           "priority", priority,
           {{"bank", Before::bank, "over requests for the same bank only"},
            {"channel", Before::channel, "over all requests, the bus waits for it"}},
           "Scope of the priority between queues",
           "CMU-SAFARI/Mosaic, dram_sched.cc: bank; MASK (ASPLOS 2018), section 5.4: always, without a scope")
          .only_when(sibling("queues").is_above(1));
      t.choice("overflow", overflow,
               {{"normal", Overflow::normal, "use the normal queue"},
                {"waits", Overflow::waits, "wait for an entry"}},
               "Reads of the silver queue's application if this queue is full",
               "assumed: normal; MASK (ASPLOS 2018), section 5.4: waits (the normal queue has the requests "
               "\"from all other applications\")")
          .only_when(sibling("queues").is(3));
    }
  };

  static constexpr Facts facts(Params const& p) { return {.pressure_epoch = p.queues == 3 ? p.epoch : 0}; }

  AddressSpaceAware(Params const& p, Setup const& s)
      : params_{p}, weights_(s.applications), quotas_(s.applications) {
    share_out();
  }

  std::size_t pick(View const& v) override {
    queue_of_.resize(v.queue.size(), kOutside);
    bring_in(v);
    auto const chosen = params_->priority == Before::bank ? by_bank(v) : of_queue(first_queue(), v, {});
    auto const queue = queue_of_[chosen];
    auto const& request = v.queue[chosen].request;
    auto const lines = request.train.lines();
    lines_[queue] -= lines;
    served_[queue] += lines;
    auto const waited = lines * static_cast<std::uint64_t>(picoseconds(v.now - v.queue[chosen].since));
    if (is_walk(request.requester.kind)) walk_wait_ += waited;
    if (request.requester.kind == RequestKind::data && request.access == Access::read) data_wait_ += waited;
    queue_of_.erase(queue_of_.begin() + static_cast<std::ptrdiff_t>(chosen));
    return chosen;
  }

  void pressure(WalkPressure const& m) override {
    for (std::size_t i = 0; i < m.of.size() && m.first + i < weights_.size(); ++i)
      weights_[m.first + i] = m.of[i];
    share_out();
    if (m.first == 0) next_turn();
  }

  auto members() {
    return std::tie(params_, weights_, quotas_, queue_of_, lines_, served_, walk_wait_, data_wait_, turn_,
                    taken_);
  }
  static auto stats() {
    using A = AddressSpaceAware const&;
    return std::array<Stat<AddressSpaceAware>, 5>{{
        {"golden_lines", "count", "Lines read for requests of the golden queue (page-walk reads)",
         StatKind::counter, [](A a) { return a.served_[kGolden]; }},
        {"silver_lines", "count", "Lines read for requests of the silver queue (reads of warps)",
         StatKind::counter, [](A a) { return a.served_[kSilver]; }},
        {"normal_lines", "count", "Lines read or written for requests of the normal queue (all others)",
         StatKind::counter, [](A a) { return a.served_[kNormal]; }},
        {"walk_wait", "ps", "Queueing time of lines read for page walks, summed over lines",
         StatKind::counter, [](A a) { return a.walk_wait_; }},
        {"data_wait", "ps", "Queueing time of lines read for warps, summed over lines", StatKind::counter,
         [](A a) { return a.data_wait_; }},
    }};
  }

 private:
  static constexpr std::size_t kGolden = 0;
  static constexpr std::size_t kSilver = 1;
  static constexpr std::size_t kNormal = 2;
  static constexpr std::uint8_t kOutside = 3;  // waits for room in its queue

  // Admits requests to each queue independently: the oldest one without room blocks later ones of the same
  // queue.
  void bring_in(View const& v) {
    std::array<bool, 3> full{};
    for (std::size_t i = 0; i < queue_of_.size(); ++i) {
      if (queue_of_[i] != kOutside) continue;
      auto const& request = v.queue[i].request;
      auto const queue = queue_for(request);
      full[queue] = full[queue] || !has_room(queue, request);
      if (full[queue]) continue;
      enqueue(queue, request);
      queue_of_[i] = static_cast<std::uint8_t>(queue);
    }
  }
  bool has_room(std::size_t queue, MemRequest const& m) const {
    auto const sizes = std::array{params_->golden, params_->silver, params_->normal};
    // A train that exceeds the queue's size is admitted to an empty queue.
    return lines_[queue] == 0 || lines_[queue] + m.train.lines() <= sizes[queue];
  }
  std::size_t queue_for(MemRequest const& m) const {
    auto const& by = m.requester;
    if (params_->queues >= 2 && is_walk(by.kind)) return kGolden;
    bool const silver = params_->queues == 3 && by.kind == RequestKind::data && by.application == turn_ &&
                        taken_ < quotas_[turn_] &&
                        (params_->overflow == Overflow::waits || has_room(kSilver, m));
    return silver ? kSilver : kNormal;
  }
  void enqueue(std::size_t queue, MemRequest const& m) {
    lines_[queue] += m.train.lines();
    if (queue != kSilver) return;
    taken_ += m.train.lines();
    if (taken_ >= quotas_[turn_]) next_turn();
  }
  std::size_t first_of(std::size_t queue) const {
    return static_cast<std::size_t>(std::ranges::find(queue_of_, queue) - queue_of_.begin());
  }
  std::size_t first_queue() const {
    return lines_[kGolden] != 0 ? kGolden : lines_[kSilver] != 0 ? kSilver : kNormal;
  }

  using OfBanks = std::bitset<1024>;  // maximum banks of a channel
  // Next request of a non-empty queue, except requests for a bank that is `taken`.
  std::size_t of_queue(std::size_t queue, View const& v, OfBanks const& taken) const {
    if (queue == kGolden) return first_of(kGolden);
    return first_ready_place(v,
                             [&](std::size_t i) { return queue_of_[i] == queue && !taken[v.queue[i].bank]; });
  }
  // Request of the first queue that has one whose data keeps the bus busy; otherwise, the request with the
  // earliest data.
  std::size_t by_bank(View const& v) const {
    auto const bus_free = v.now + v.timing.t_rp + v.timing.t_rcd + v.timing.t_cl;
    OfBanks taken;
    std::size_t best = 0;
    auto earliest = Time::max();
    for (auto queue = first_queue(); queue <= kNormal; ++queue) {
      OfBanks wanted;
      for (std::size_t i = 0; i < queue_of_.size(); ++i)
        if (queue_of_[i] == queue) wanted.set(v.queue[i].bank);
      if ((wanted & ~taken).none()) continue;
      auto const i = of_queue(queue, v, taken);
      auto const data = v.banks.earliest_data(v.queue[i].bank, v.queue[i].row, v.now, v.timing);
      if (data <= bus_free) return i;
      if (data < earliest) {
        earliest = data;
        best = i;
      }
      if (queue == kGolden)
        taken.set(v.queue[i].bank);
      else
        taken |= wanted;
    }
    return best;
  }

  // Equation 1.
  void share_out() {
    std::uint64_t sum = 0;
    for (auto const w : weights_) sum += w;
    for (std::size_t a = 0; a < quotas_.size(); ++a)
      quotas_[a] = sum == 0 ? params_->thresh_max / quotas_.size() : params_->thresh_max * weights_[a] / sum;
  }
  // Advances to the next application with a quota; stays if no other has one.
  void next_turn() {
    taken_ = 0;
    for (std::size_t i = 0; i < quotas_.size(); ++i) {
      turn_ = (turn_ + 1) % quotas_.size();
      if (quotas_[turn_] != 0) return;
    }
  }

  Fixed<Params> params_;
  std::vector<std::uint64_t> weights_;  // by application
  std::vector<std::uint64_t> quotas_;
  std::vector<std::uint8_t> queue_of_;    // by request of the channel
  std::array<std::uint64_t, 3> lines_{};  // by queue
  std::array<std::uint64_t, 3> served_{};
  std::uint64_t walk_wait_ = 0;
  std::uint64_t data_wait_ = 0;
  std::uint64_t turn_ = 0;   // application that uses the silver queue
  std::uint64_t taken_ = 0;  // of its quota
};

}  // namespace

void address_space_aware(PolicyList<DramScheduler>& list) {
  list.add<AddressSpaceAware>(
      "address_space_aware",
      "page-walk reads first, then reads of one application at a time, then all other requests");
}

}  // namespace farfault::dram_schedulers
