// SPDX-License-Identifier: Apache-2.0
#include "kernel_model.hpp"

#include <algorithm>
#include <array>

#include "access_counts.hpp"
#include "stage_terms.hpp"

namespace farfault::analysis {
namespace {

// Stages that take cycles of the GPU's clock.
constexpr std::array<std::string_view, 6> kClocked{"sm_time_in_l1_tlb",     "sm_time_in_l2_tlb",
                                                   "sm_time_in_walk_queue", "sm_time_in_walk",
                                                   "sm_time_in_l1_cache",   "sm_time_in_l2_cache"};
constexpr std::array<std::string_view, 4> kStalled{"memory_stall_time", "fault_stall_time",
                                                   "load_store_stall_time", "barrier_stall_time"};
// Other activities of SMs with thread blocks, and the names of their causes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNotStalled{
    {{"active_time", "execution"},
     {"scalar_stall_time", "scalar_stall"},
     {"fetch_stall_time", "fetch_stall"},
     {"stopped_time", "stopped"}}};

// Reduces figures of both runs to the mean of two amounts of work.
struct EqualWork {
  EqualWork(Amount work_a, Amount work_b)
      : a{work_a + work_b, work_a + work_a}, b{work_a + work_b, work_b + work_b} {}

  Amount change(Amount of_a, Amount of_b) const { return scaled(of_b, b) - scaled(of_a, a); }

  Ratio a, b;
};

class PairOfRuns {
 public:
  PairOfRuns(ModelledRun const& a, ModelledRun const& b)
      : a_(a), b_(b), equal_(a.instructions, b.instructions) {}

  bool comparable() const {
    return all_positive([](ModelledRun const& run) {
      return std::array{run.on_gpus, run.instructions, run.with_blocks()};
    });
  }
  Amount work() const {
    return at_mean(b_.instructions - a_.instructions, {a_.on_gpus, a_.instructions},
                   {b_.on_gpus, b_.instructions});
  }
  Amount of_activity(std::string_view name) const {
    return to_end(equal_.change(a_.gpu.at(name), b_.gpu.at(name)));
  }
  // The part of the change of execution that is due to the clock.
  Amount execution_of_clock(Amount execution) const {
    auto const name = "active_time";
    return at_most(to_end(of_clock(scaled(a_.gpu.at(name), equal_.a), scaled(b_.gpu.at(name), equal_.b))),
                   execution);
  }
  // The part of `occupancy` that is due to another number of SMs: it counts as far as all SMs have thread
  // blocks in both runs, and at least as far as the smaller number of SMs is too small for the shorter time.
  Amount part_of_sms(Amount occupancy) const {
    if (a_.sms.sign() <= 0 || b_.sms.sign() <= 0) return occupancy;
    auto const with_blocks = [](ModelledRun const& run) {
      return Ratio{scaled(run.with_blocks(), {Amount(1), run.sms}), run.on_gpus};
    };
    auto const likely = scaled(scaled(occupancy, with_blocks(a_)), with_blocks(b_));
    auto const least =
        scaled(std::min(a_.with_blocks(), b_.with_blocks()), {Amount(1), std::min(a_.sms, b_.sms)}) -
        std::min(a_.on_gpus, b_.on_gpus);
    auto const size = std::min(std::max(Amount::of(likely.size()), least), Amount::of(occupancy.size()));
    return occupancy.sign() < 0 ? -size : size;
  }
  // The parts of the change of stalled time, which is `stalled` of the end; the last one is in_flight.
  std::vector<ModelPart> of_accesses(Amount stalled) const {
    auto const n_a = a_.gpu.at("transactions"), n_b = b_.gpu.at("transactions");
    bool const split = all_positive([](ModelledRun const& run) {
      return std::array{run.gpu.at("transactions"), run.stalled(), run.behind()};
    });
    if (!split) return {{"memory_stall", {}, stalled}, {"in_flight", {}, {}}};
    EqualWork const per_access(scaled(n_a, equal_.a), scaled(n_b, equal_.b));
    Ratio const scale_a{per_access.a.over, n_a + n_a}, scale_b{per_access.b.over, n_b + n_b};
    auto const more = at_mean(equal_.change(n_a, n_b), {a_.stalled(), n_a}, {b_.stalled(), n_b});
    std::vector<ModelPart> parts{{"accesses", {}, to_end(more)}};
    for (auto const& stage : stage_infos()) add_stage(stage, scale_a, scale_b, parts);
    auto rest = stalled;
    for (auto const& p : parts) rest -= p.ps;
    parts.push_back({"in_flight", {}, rest});
    return parts;
  }

 private:
  template <class Figures>
  bool all_positive(Figures figures) const {
    for (auto const* run : {&a_, &b_})
      for (auto const amount : figures(*run))
        if (amount.sign() <= 0) return false;
    return true;
  }
  // From time of SMs to time of the run.
  Amount to_end(Amount of_sms) const {
    return at_mean(of_sms, {a_.on_gpus, a_.with_blocks()}, {b_.on_gpus, b_.with_blocks()});
  }
  // From time of accesses to time of the run.
  Amount stalls(Amount of_accesses) const {
    return to_end(at_mean(of_accesses, {a_.stalled(), a_.behind()}, {b_.stalled(), b_.behind()}));
  }
  // The numbers of accesses that reach the stage, by the share that changed, and their time in it.
  void add_stage(StageInfo const& stage, Ratio scale_a, Ratio scale_b, std::vector<ModelPart>& parts) const {
    std::string const name(stage.name);
    for (auto const& term : terms_of(stage, a_, b_)) {
      auto const time_a = scaled(term.time_a, scale_a), time_b = scaled(term.time_b, scale_b);
      auto longer = stalls(time_b - time_a);
      for (auto const count : term.counts)
        for (auto const& [cause, change] : changes_of(count, a_.gpu, scale_a, b_.gpu, scale_b)) {
          auto const ps = stalls(time_of_visits(term, change));
          parts.push_back({std::string(info_of(cause).name), name, ps});
          longer -= ps;
        }
      if (std::ranges::count(kClocked, stage.name) != 0) {
        auto const clock = at_most(stalls(of_clock(time_a, time_b)), longer);
        parts.push_back({"clock", name, clock});
        longer -= clock;
      }
      parts.push_back({term.cause, name, longer});
    }
  }
  // Time in the term of `change` more accesses that reach it.
  static Amount time_of_visits(StageTerm const& term, Amount change) {
    auto const &v_a = term.visits_a, &v_b = term.visits_b;
    if (v_a.sign() > 0 && v_b.sign() > 0) return at_mean(change, {term.time_a, v_a}, {term.time_b, v_b});
    return v_a.sign() == 0 ? scaled(change, {term.time_b, v_b}) : scaled(change, {term.time_a, v_a});
  }
  // The change of these times by the clock alone, if all of them are cycles of it.
  Amount of_clock(Amount time_a, Amount time_b) const {
    auto const clock_a = Amount::of(a_.latencies.clock), clock_b = Amount::of(b_.latencies.clock);
    if (clock_a == clock_b || clock_a.sign() == 0 || clock_b.sign() == 0) return {};
    auto const twice =
        (scaled(time_a, {clock_a, clock_b}) - time_a) + (time_b - scaled(time_b, {clock_b, clock_a}));
    return scaled(twice, {Amount(1), Amount(2)});
  }
  // `part`, but at most `whole`, and 0 if their signs differ.
  static Amount at_most(Amount part, Amount whole) {
    if (part.sign() != whole.sign()) return {};
    return part.size() < whole.size() ? part : whole;
  }

  ModelledRun const& a_;
  ModelledRun const& b_;
  EqualWork equal_;
};

}  // namespace

Amount ModelledRun::stalled() const {
  Amount sum;
  for (auto const name : kStalled) sum += gpu.at(name);
  return sum;
}

Amount ModelledRun::with_blocks() const {
  auto sum = stalled();
  for (auto const& [name, cause] : kNotStalled) sum += gpu.at(name);
  return sum;
}

Amount ModelledRun::behind() const {
  Amount sum;
  for (auto const& stage : stage_infos()) sum += gpu.at(stage.figure());
  return sum;
}

KernelModel model_kernels(ModelledRun const& a, ModelledRun const& b, DifferingKinds const& kinds) {
  PairOfRuns const pair(a, b);
  auto const change = b.on_gpus - a.on_gpus;
  KernelModel model;
  if (!pair.comparable()) {
    model.work = change;
    model.parts.push_back({"work", {}, change});
    return model;
  }
  model.work = pair.work();
  model.occupancy = change - model.work;
  auto const add_activity = [&](std::string_view name) {
    auto const ps = pair.of_activity(name);
    model.activities.emplace_back("sm_" + std::string(name), ps);
    model.occupancy -= ps;
    return ps;
  };
  for (auto const& [name, cause] : kNotStalled)
    model.parts.push_back({std::string(cause), {}, add_activity(name)});
  Amount stalled;
  for (auto const name : kStalled) stalled += add_activity(name);
  auto occupancy = model.occupancy;
  auto& execution = model.parts.front().ps;
  auto const clock = pair.execution_of_clock(execution);
  execution -= clock;
  auto of_accesses = pair.of_accesses(stalled);
  auto in_flight = of_accesses.back().ps;
  of_accesses.pop_back();
  offset(occupancy, in_flight);
  bool const overlap =
      kinds.any && !kinds.execution;  // less of the execution overlaps, as accesses take longer
  if (kinds.sms || overlap) offset(occupancy, execution);
  spread(std::span(of_accesses).subspan(1), in_flight, kinds.limits);
  if (overlap) spread(std::span(of_accesses).subspan(1), execution, false);
  model.parts.insert(model.parts.end(), of_accesses.begin(), of_accesses.end());
  model.parts.push_back({"in_flight", {}, in_flight});
  model.parts.push_back({"clock", {}, clock});
  spread(model.parts, occupancy, true);
  if (kinds.sms && !kinds.occupancy) {
    auto const direct = pair.part_of_sms(occupancy);
    if (add_to_same_sign(model.parts, occupancy - direct)) occupancy = direct;
  }
  model.parts.push_back({"occupancy", {}, occupancy});
  model.parts.push_back({"work", {}, model.work});
  return model;
}

}  // namespace farfault::analysis
