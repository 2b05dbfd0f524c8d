// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <ostream>
#include <sstream>
#include <thread>

#include "executor.hpp"
#include "farfault/analysis/sweep_pivot.hpp"
#include "farfault/analysis/sweep_table_json.hpp"
#include "farfault/cli/exit_codes.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/engine/input_limits.hpp"
#include "folder_lock.hpp"
#include "places.hpp"
#include "plan.hpp"
#include "process/counted.hpp"
#include "process/launcher.hpp"
#include "process/signals.hpp"
#include "run_list.hpp"
#include "slurm.hpp"
#include "study/baseline.hpp"
#include "study/points.hpp"
#include "study/study.hpp"
#include "sweep_text/pivot_text.hpp"
#include "sweep_text/ratio_text.hpp"

namespace farfault::cli {
namespace {

constexpr std::size_t kMaxShown = 40;
constexpr double kLongestProbe = 60;   // s
constexpr double kLeastShare = 0.001;  // of a run, for an estimate

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

void check_sets(SweepOptions const& options, Points const& points) {
  for (auto const& set : options.sets) {
    auto const key = key_of_assignment(set);
    if (std::find(points.keys().begin(), points.keys().end(), key) != points.keys().end())
      throw UserError("--set '" + shown(set) + "': the study varies this parameter");
  }
}

// Limited by cores and memory.
std::uint32_t jobs_at_a_time(SweepOptions const& options) {
  auto const cores = std::max(1U, std::thread::hardware_concurrency());
  auto jobs = options.jobs.value_or(std::max(1U, cores / options.threads));
  if (!options.memory) {
    if (options.total_memory) throw UserError("--total-memory requires --memory, the limit of one run");
    return jobs;
  }
  auto const total = options.total_memory.value_or(usable_memory());
  auto const fit = total.bytes / options.memory->bytes;
  if (fit == 0)
    throw UserError(fmt::format("--memory {} exceeds the {:.1f} GiB available for all runs",
                                to_text(*options.memory), static_cast<double>(total.bytes) / 0x1p30));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(jobs, fit));
}

class Sweep {
 public:
  Sweep(SweepOptions const& options, std::ostream& out, std::ostream& err)
      : options_(options),
        out_(options.json ? unused_ : out),
        json_out_(out),
        err_(err),
        jobs_(jobs_at_a_time(options)),
        study_(read_study(options.study)),
        points_(study_),
        baseline_(baseline_of(study_, points_)) {
    check_sets(options, points_);
  }

  int execute() {
    {
      EarlySignals const signals(kSaved, true);
      check_folder(folder_of_sweep(options_, study_));
      if (!options_.dry_run) check_folder_is_free(folder_of_sweep(options_, study_), use());
      auto progress = progress_on_stderr(options_.progress);
      progress.print_within(1);
      plan_.emplace(options_, study_, points_, [&](double done) {
        progress.report(done, [](double) { return std::vector<std::string>{"checking the configurations"}; });
      });
      progress.finish();
      // A part sees only some of the runs.
      if (!options_.part) plan_->unused_keys().refuse();
    }
    if (!options_.part && (baseline_ || !options_.pivot.keys.empty()))
      check_table(plan_->table().table(points_.seeds()));
    if (!options_.part)
      for (auto const& warning : plan_->unused_keys().warnings())
        fmt::print(err_, "farfault: warning: {}\n", warning);
    for (auto const run : plan_->without_input())
      fmt::print(err_, "farfault: {} has failed: {}\n", plan_->table().name_of(run),
                 plan_->table().error_of(run));
    missing_ = plan_->missing();
    already_ = plan_->distinct().size() - missing_.size();
    if (options_.dry_run) return dry_run();
    EarlySignals const signals(kSaved, true);
    make_folder(plan_->folder());
    lock_.emplace(plan_->folder(), use());
    if (!options_.part && !options_.collect) write_list();
    if (options_.slurm) {
      print_head();
      if (missing_.empty()) {
        out_ << "  submitted no: all results are cached\n";
        return conclude(0);
      }
      lock_.reset();  // the parts may start before the submission is complete
      submit(slurm_job(study_, plan_->folder(), plan_->distinct().size()), options_, study_, out_);
      return kDone;
    }
    return options_.collect ? conclude(0) : run();
  }

 private:
  FolderUse use() const {
    return options_.part ? FolderUse::part : options_.collect ? FolderUse::table : FolderUse::whole;
  }

  std::size_t count(RunTable::State state) const { return plan_->table().count(state); }

  void print_head() {
    auto const distinct = plan_->distinct().size();
    auto const of =
        options_.part ? fmt::format(" of part {}/{}", options_.part->number, options_.part->of) : "";
    out_ << fmt::format("  {}{}, {} cached\n", counted(distinct, "run"), of, already_);
    print_stale();
    print_saved();
  }

  // Prints the number of unusable results; the table has the reason for each.
  void print_stale() {
    if (plan_->stale() != 0)
      out_ << fmt::format("  stale     {} {} outdated, modified or incomplete\n",
                          counted(plan_->stale(), "existing result"), chosen(plan_->stale(), "is", "are"));
  }

  // Prints the numbers of checkpoints; the table has the simulated time of each.
  void print_saved() {
    auto const& saved = plan_->saved();
    if (saved.usable() != 0)
      out_ << fmt::format("  saved     {} {} a checkpoint\n", counted(saved.usable(), "unfinished run"),
                          chosen(saved.usable(), "has", "have"));
    if (saved.unusable() != 0)
      out_ << fmt::format("  unusable  {} outdated or damaged; {} from the beginning\n",
                          counted(saved.unusable(), "checkpoint") + chosen(saved.unusable(), " is", " are"),
                          chosen(saved.unusable(), "its run starts", "their runs start"));
  }

  int dry_run() {
    print_head();
    out_ << "  missing   " << missing_.size() << "\n";
    if (auto const signal = missing_.empty() ? 0 : estimate(); signal != 0) {
      fmt::print(err_, "farfault: stopped by {}\n", signal_name(signal));
      return kSaved;
    }
    out_ << "  folder    " << one_line(plan_->folder()) << "\n";
    if (options_.slurm) {
      auto const job = slurm_job(study_, plan_->folder(), plan_->distinct().size());
      out_ << "  slurm     array job of " << counted(job.parts, "part") << ", script " << one_line(job.script)
           << "\n";
      print_part(job.parts);
      print_slurm_options(study_, out_);
    }
    return kDone;
  }

  // Cost of these runs, `jobs` at a time. Equal runs are executed in rounds.
  double cost_of_turns(std::vector<std::size_t> const& runs, std::uint32_t jobs) const {
    double all = 0, longest = 0, shortest = plan_->cost(runs.front());
    for (auto const run : runs) {
      all += plan_->cost(run);
      longest = std::max(longest, plan_->cost(run));
      shortest = std::min(shortest, plan_->cost(run));
    }
    if (shortest < longest) return std::max(all / static_cast<double>(jobs), longest);
    return static_cast<double>((runs.size() + jobs - 1) / jobs) * longest;
  }

  static std::string estimated(double seconds) {
    return seconds < 1 ? "less than a second" : "about " + wall_time(seconds);
  }

  // Estimates the time from cached runs, or from a run that is executed only to be measured. Returns the
  // signal that stopped it, or 0.
  int estimate() {
    auto const less = [&](std::size_t a, std::size_t b) { return plan_->cost(a) < plan_->cost(b); };
    auto const [shortest, longest] = std::minmax_element(missing_.begin(), missing_.end(), less);
    bool const alike = plan_->cost(*shortest) >= plan_->cost(*longest);
    auto const name = alike ? std::string("the first run") : plan_->table().name_of(*shortest);
    time_of_cost_ = plan_->time_of_cost();
    std::string from = "estimated from the cached runs";
    if (time_of_cost_ == 0) {
      auto const probe = measure(*plan_, *shortest, options_, kLongestProbe);
      if (probe.stopped_by != 0) return probe.stopped_by;
      if (!probe.failure.empty()) {
        out_ << "  time      unknown: " << plan_->table().name_of(*shortest) << " fails: " << probe.failure
             << "\n";
        return 0;
      }
      bool const by_share = !probe.ended && probe.share >= kLeastShare;
      is_least_time_ = !probe.ended && !by_share;
      auto const seconds = probe.ended ? probe.seconds
                           : by_share  ? kLongestProbe / probe.share
                                       : kLongestProbe;
      time_of_cost_ = seconds / plan_->cost(*shortest);
      if (is_least_time_) {
        out_ << "  time      more than " << wall_time(kLongestProbe) << " each: " << name
             << " did not complete in that time\n";
        return 0;
      }
      from = alike ? "if all take as long as the first" : "scaled by cost from " + name;
      from += by_share ? fmt::format(", {:.1f}% done in {}", 100 * probe.share, wall_time(kLongestProbe))
                       : fmt::format(", {:.2g} s with {} MiB of memory", probe.seconds,
                                     (probe.peak_bytes >> 20) + 1);
    }
    out_ << fmt::format("  time      {} with {}, {}\n",
                        estimated(time_of_cost_ * cost_of_turns(missing_, jobs_)),
                        counted(jobs_, "concurrent run"), from);
    return 0;
  }

  // Prints the time of the part that takes longest, for --time of the array job.
  void print_part(std::uint64_t parts) {
    if (time_of_cost_ == 0) return;
    auto const asked = options_.jobs.value_or(1);
    auto const jobs = options_.total_memory ? std::min(jobs_, asked) : asked;
    std::vector<std::vector<std::size_t>> runs_of(parts);
    for (auto const run : missing_) runs_of[run % parts].push_back(run);
    double longest = 0;
    std::size_t runs = 0;
    for (auto const& part : runs_of) {
      auto const cost = part.empty() ? 0 : cost_of_turns(part, jobs);
      if (cost <= longest) continue;
      longest = cost;
      runs = part.size();
    }
    auto const time = time_of_cost_ * longest;
    out_ << fmt::format("  part      {} for {}, {} at a time\n",
                        is_least_time_ ? "more than " + wall_time(time) : estimated(time),
                        counted(runs, "run"), jobs);
  }

  int run() {
    Executor executor(*plan_, options_, *lock_, jobs_, err_);
    auto const stopped_by = executor.run(missing_);
    made_ = executor.made();
    resumed_ = executor.resumed();
    saved_ = executor.saved();
    skipped_ = executor.skipped();
    return conclude(stopped_by);
  }

  int conclude(int stopped_by) {
    remove_leftovers();
    plan_->copy_repeated();
    auto const failed = count(RunTable::State::failed);
    auto const distinct = plan_->distinct().size();
    auto const without_input = plan_->without_input().size();
    auto const repeated = options_.part ? 0 : points_.count() - distinct - without_input;
    auto const missing =
        options_.part ? missing_.size() + without_input - made_ - failed : count(RunTable::State::missing);
    out_ << fmt::format("  {}{}: {} completed, {} cached, {} failed, {} missing\n",
                        counted(options_.part ? distinct + without_input : points_.count(), "run"),
                        repeated == 0 ? "" : " (" + counted(repeated, "duplicate") + ")", made_, already_,
                        failed, missing);
    if (resumed_ != 0)
      out_ << fmt::format("  resumed   {} continued from {}\n", counted(resumed_, "run"),
                          chosen(resumed_, "its checkpoint", "their checkpoints"));
    print_stale();
    print_saved();
    if (!options_.part) {
      plan_->checked().write();
      auto const table = with_ratios();
      write_table(table);
      print_table(table);
      out_ << "  table     " << one_line(table_path(plan_->folder())) << ", "
           << one_line(csv_path(plan_->folder())) << "\n";
    }
    if (stopped_by != 0) {
      fmt::print(err_, "farfault: stopped by {}{}; {}\n", signal_name(stopped_by),
                 saved_ == 0 ? "" : fmt::format(", {} saved", counted(saved_, "run")),
                 // The user of an array job never typed the command of a part.
                 options_.part ? "execute the sweep again to submit the missing runs"
                               : "rerun this command to execute the missing runs");
      return kSaved;
    }
    if (skipped_ != 0)
      fmt::print(err_,
                 "farfault: {} {} in progress in another process; rerun this command when it finishes\n",
                 counted(skipped_, "run"), chosen(skipped_, "is", "are"));
    if (options_.collect && missing != 0)
      fmt::print(err_,
                 "farfault: {} {} missing; execute the sweep again without --collect "
                 "(as a Slurm job: with --slurm)\n",
                 counted(missing, "run"), chosen(missing, "is", "are"));
    if (!options_.part) check_figures(study_, plan_->table().table(1));
    return failed == 0 && missing == 0 ? kDone : kRunFailed;
  }

  // A killed sweep leaves the logs and checkpoints of finished runs. Another part of the sweep may still be
  // running.
  void remove_leftovers() {
    auto const run_done = [&](std::string const& name) {
      auto const run = plan_->run_of(name);
      bool const done = run && plan_->table().state(*run) == RunTable::State::done;
      return done && !is_locked(log_path(plan_->folder(), name)) ? run : std::nullopt;
    };
    for (auto const& name : plan_->saved().names())
      if (auto const run = run_done(name)) plan_->saved().remove(*run, name);
    for (auto const& name : runs_with(plan_->folder(), {".log"}))
      if (run_done(name)) std::remove(log_path(plan_->folder(), name).c_str());
  }

  void write_list() {
    std::vector<ListedRun> list;
    for (auto const run : plan_->distinct())
      list.push_back({plan_->run(run).name, plan_->table().name_of(run)});
    for (auto const run : plan_->without_input())
      list.push_back({"", plan_->table().name_of(run), plan_->table().error_of(run)});
    write_run_list(plan_->folder(), list);
  }

  // The keys of the baseline and of the pivot, before the first run.
  void check_table(results::SweepTable const& table) const {
    if (baseline_) check_baseline(study_, table, *baseline_);
    check_figures(study_, table);
    for (auto const& key : options_.pivot.keys) analysis::check_sweep_key(table, key, "--pivot");
  }

  results::SweepTable with_ratios() const {
    auto table = plan_->table().table(points_.seeds());
    if (!baseline_) return table;
    auto baseline = *baseline_;
    baseline.figures = known_figures(study_, table);
    analysis::add_ratios(table, baseline, points_.seeds());
    return table;
  }

  void write_table(results::SweepTable const& table) {
    results::write_sweep(table_path(plan_->folder()), table);
    write_whole(csv_path(plan_->folder()), to_csv("run", table.runs));
    auto const write_or_remove = [](std::string const& path, std::string const& dimension,
                                    auto const& columns) {
      if (!columns.empty())
        write_whole(path, to_csv(dimension, columns));
      else
        std::remove(path.c_str());  // of an earlier study
    };
    write_or_remove(spread_path(plan_->folder()), "point", table.spread);
    write_or_remove(means_path(plan_->folder()), "group", table.means);
  }

  void print_table(results::SweepTable const& table) {
    auto const seeds = points_.seeds();
    auto const& pivot = options_.pivot;
    if (!pivot.keys.empty()) {
      auto const figure = pivot.figure.empty() ? analysis::main_figure(table) : pivot.figure;
      auto const drawn = analysis::sweep_pivot(table, pivot.keys.at(0), pivot.keys.at(1), figure);
      if (options_.json)
        json_out_ << analysis::to_json(drawn) << "\n";
      else
        print_pivot(drawn, out_);
      return;
    }
    if (options_.json) return analysis::print_json(table, json_out_);
    auto const printed = plan_->table().print(out_, seeds, kMaxShown, ratio_columns(table, seeds));
    if (baseline_) print_ratios(table, seeds, {kMaxShown, printed}, out_);
  }

  SweepOptions const& options_;
  std::ostringstream unused_;
  std::ostream& out_;
  std::ostream& json_out_;
  std::ostream& err_;
  std::uint32_t jobs_;
  Study study_;
  Points points_;
  std::optional<analysis::SweepBaseline> baseline_;
  std::optional<Plan> plan_;
  std::optional<FolderLock> lock_;
  std::vector<std::size_t> missing_;
  std::size_t already_ = 0, made_ = 0, resumed_ = 0, saved_ = 0, skipped_ = 0;
  double time_of_cost_ = 0;     // estimated seconds of a run with cost 1; 0: unknown
  bool is_least_time_ = false;  // it takes longer
};

}  // namespace

SweepPart sweep_part(std::string const& text) {
  auto const slash = text.find('/');
  auto const number = number_in(text.substr(0, slash));
  auto const of = slash == text.npos ? 0 : number_in(text.substr(slash + 1));
  if (number == 0 || number > of || of > Points::kMax)
    throw UserError("--part '" + shown(text) + "' is not I/N, such as 1/4 to 4/4");
  return {number, of};
}

int sweep(SweepOptions const& options, std::ostream& out, std::ostream& err) {
  // A write past a size limit is an error, not a signal.
  struct Restored {
    void (*before)(int) = std::signal(SIGXFSZ, SIG_IGN);
    ~Restored() { std::signal(SIGXFSZ, before); }
  } const restored;
  if (auto const copies = missing_mpi(1, [](char const* name) { return std::getenv(name); }))
    throw UserError("a sweep starts its own runs; start it without mpirun or srun, or use --slurm");
  return Sweep(options, out, err).execute();
}

}  // namespace farfault::cli
