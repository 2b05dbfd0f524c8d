// SPDX-License-Identifier: Apache-2.0
#include "kernel_model.hpp"

#include <array>

#include "access_counts.hpp"

namespace farfault::analysis {
namespace {

constexpr std::array<std::string_view, 4> kStalled{"memory_stall_time", "fault_stall_time",
                                                   "load_store_stall_time", "barrier_stall_time"};
// Other activities of SMs with thread blocks, and the names of their causes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNotStalled{
    {{"active_time", "execution"}, {"scalar_stall_time", "scalar_stall"}, {"stopped_time", "stopped"}}};

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
    auto const t_a = a_.gpu.at(stage.figure()), t_b = b_.gpu.at(stage.figure());
    auto const v_a = stage.visits(a_.gpu), v_b = stage.visits(b_.gpu);
    auto longer = stalls(scaled(t_b, scale_b) - scaled(t_a, scale_a));
    std::string const name(stage.name);
    for (auto const count : stage.counts)
      for (auto const& [cause, change] : changes_of(count, a_.gpu, scale_a, b_.gpu, scale_b)) {
        bool const both = v_a.sign() > 0 && v_b.sign() > 0;
        auto const time = both              ? at_mean(change, {t_a, v_a}, {t_b, v_b})
                          : v_a.sign() == 0 ? scaled(change, {t_b, v_b})
                                            : scaled(change, {t_a, v_a});
        auto const ps = stalls(time);
        parts.push_back({std::string(info_of(cause).name), name, ps});
        longer -= ps;
      }
    parts.push_back({stage.cause(), name, longer});
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

KernelModel model_kernels(ModelledRun const& a, ModelledRun const& b, bool limits_differ) {
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
  Amount stalled;
  auto const add_activity = [&](std::string_view name) {
    auto const ps = pair.of_activity(name);
    model.activities.emplace_back("sm_" + std::string(name), ps);
    model.occupancy -= ps;
    return ps;
  };
  for (auto const& [name, cause] : kNotStalled)
    model.parts.push_back({std::string(cause), {}, add_activity(name)});
  for (auto const name : kStalled) stalled += add_activity(name);
  auto of_accesses = pair.of_accesses(stalled);
  auto in_flight = of_accesses.back().ps;
  of_accesses.pop_back();
  spread(std::span(of_accesses).subspan(1), in_flight, limits_differ);
  model.parts.insert(model.parts.end(), of_accesses.begin(), of_accesses.end());
  model.parts.push_back({"in_flight", {}, in_flight});
  auto occupancy = model.occupancy;
  spread(model.parts, occupancy, true);
  model.parts.push_back({"occupancy", {}, occupancy});
  model.parts.push_back({"work", {}, model.work});
  return model;
}

}  // namespace farfault::analysis
