// SPDX-License-Identifier: Apache-2.0
#include "run_driver.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <thread>
#include <utility>

#include "driver_state.hpp"
#include "engine_values.hpp"
#include "farfault/cli/exit_codes.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/engine/archive.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/results/reader.hpp"
#include "path_checks.hpp"
#include "process/signals.hpp"
#include "process/together.hpp"
#include "resume_source.hpp"
#include "run_header.hpp"

namespace farfault::cli {

namespace {

std::uint32_t default_threads() {
  auto const cores = std::max(1U, std::thread::hardware_concurrency());
  auto const* const local = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  auto const ranks = local == nullptr ? 1 : std::max(1, std::atoi(local));
  return std::max(1U, cores / static_cast<std::uint32_t>(ranks));
}

// If one rank reports an error and exits with its code, the others exit silently with this code: a launcher
// that saw their failure first could kill the reporting rank.
constexpr int kReportedByAnotherRank = 0;

// True if a run that ended for this reason replaces an earlier result.
bool is_whole(std::string const& reason) {
  return reason != "stopped" && reason != "deadlock";
}

}  // namespace

std::uint32_t RunDriver::threads(RunOptions const& options) {
  return options.threads.value_or(default_threads());
}

RunDriver::RunDriver(RunOptions const& options, topologies::Granularity partitions, Transport& transport,
                     Model& model, std::ostream& out, std::ostream& err)
    : options_(options),
      out_(out),
      err_(err),
      transport_(transport),
      model_(model),
      placement_(model.assembly->placement(partitions, transport.ranks(),
                                           options.profile.empty()
                                               ? std::vector<std::uint64_t>{}
                                               : results::read_engine(options.profile, "node_messages"))),
      facts_of_start_(transport.ranks() > 1 ? facts_of_components(model.assembly->system(), placement_)
                                            : std::vector<Fact>{}),
      engine_(model.assembly->system(), placement_,
              {.threads = threads(options),
               .merge_lanes = options.merge_lanes,
               .run_sparse_merged = true,
               .bind_threads = options.bind_threads,
               .record_path = options.critical_path},
              transport),
      signals_(engine_),
      sampler_(model.assembly->system(), engine_, transport, model.assembly->gpus_of_components(),
               model.assembly->device_names().gpus),
      tables_(*model.assembly, engine_, transport),
      progress_(progress_on_stderr(transport.rank() == 0 ? options.progress : ProgressMode::off)),
      blocks_(model.applications.blocks() * model.assembly->instances().size()),
      schedule_(model.run.sample_interval, model.run.sample_doubling, sampler_.values_per_sample()),
      last_checkpoint_wall_(WallClock::now()) {
  if (!options.resume.empty()) resume();
  if (options.trace) open_trace();
}

// Events before the checkpoint are not simulated again.
void RunDriver::open_trace() {
  auto const& trace = *options_.trace;
  if (resume_at_ && last_checkpoint_ > trace.from) {
    if (transport_.rank() == 0)
      fmt::print(err_, "farfault: trace skipped: its window starts at {}, before the checkpoint ({})\n",
                 to_text(trace.from.time_since_epoch()), to_text(last_checkpoint_.time_since_epoch()));
    return;
  }
  trace_.emplace(trace, trace_path(trace, output_path(options_)), model_, engine_, transport_, sampler_);
}

std::string RunDriver::close_trace() {
  if (!trace_) return {};
  try {
    trace_->write(end_);  // all ranks; the first one writes
  } catch (RunError const& e) {
    return e.what();
  }
  if (!trace_->remark().empty()) fmt::print(err_, "farfault: {}\n", trace_->remark());
  return {};
}

void RunDriver::resume() {
  auto const source = find_resume_source(options_.resume, options_.checkpoint);
  if (source.checkpoint) {
    auto const& saved = *source.checkpoint;
    if (saved.header.config_hash != model_.hash())
      throw ResumeError("checkpoint " + source.path +
                        " belongs to a different run: its configuration or input files do not match " +
                        options_.config_path);
    if (transport_.ranks() > 1) facts_of_start_.push_back(fact_of_checkpoint(saved));
    DriverState state;
    try {
      engine_.load(saved.parts);
      Loader loader(saved.run);
      loader(state);
    } catch (UserError const& e) {
      // Its checksum matches, so another version of a component saved it, or the file was edited.
      throw ResumeError("checkpoint " + source.path +
                            " was saved by a different version of farfault, or is damaged (" + e.what() + ")",
                        "; resume with the version that saved it, or omit --resume to start the run from the "
                        "beginning");
    }
    schedule_.restore(state.schedule);
    events_before_ = state.events;
    samples_before_ = state.samples;
    last_checkpoint_ = saved.header.time;
    resume_at_ = results::Position{state.samples, state.rows};
    if (same_file(source.path, options_.checkpoint)) saved_ = saved.header.time;
  } else {
    facts_of_start_.push_back({"checkpoint to resume from", "none", ""});
  }
  if (transport_.rank() == 0 && !source.note.empty()) fmt::print(err_, "farfault: {}\n", source.note);
}

void RunDriver::open_result() {
  if (transport_.rank() != 0) return;
  auto const header = header_of(model_, options_, sampler_, tables_);
  if (resume_at_)
    writer_.emplace(results::ResultWriter::resume(output_path(options_), header, *resume_at_));
  else
    writer_.emplace(output_path(options_), header);
  flushes_.emplace(WatchMark(mark_path(output_path(options_))));
  bool relaunched = false;  // unknown number of times
  auto const& all = model_.applications.applications();
  for (std::uint32_t a = 0; a < all.count(); ++a) relaunched = relaunched || all[a].relaunch;
  writer_->engine(start_values(threads(options_), transport_.ranks(), relaunched ? 0 : blocks_,
                               resume_at_ ? last_checkpoint_ : Time{}));
}

int RunDriver::execute() {
  if (!together(transport_, [&] { open_result(); })) return kReportedByAnotherRank;
  if (resume_at_) {
    sampler_.sample(last_checkpoint_, true);
    transactions_before_ = sampler_.total("sm", "transactions");
    done_before_ = share_done();
    progress_.resumed(done_before_);
    if (options_.report_share) options_.report_share({done_before_, done_before_});
  }
  if (transport_.ranks() > 1)
    engine_.watch_exchanges(RankDensity::kCheckInterval, [this] { report_sparse_ranks(); });
  began_ = WallClock::now();
  std::string reason;
  if (!simulate(reason)) return kReportedByAnotherRank;
  seconds_ = std::chrono::duration<double>(WallClock::now() - began_).count();
  progress_.finish();
  if (reason == "stopped" && !options_.checkpoint.empty()) return stop();
  return conclude(reason);
}

void RunDriver::report_sampling_cost() {
  constexpr std::uint64_t kFirstCheck = 4096;
  bool const bounded = model_.run.sample_doubling != 0;
  if (bounded || cost_reported_ || samples_ < kFirstCheck || !std::has_single_bit(samples_)) return;
  auto const events = transport_.sum(engine_.profile().events);
  cost_reported_ = samples_ * sampler_.values_per_sample() > SampleSchedule::kValuesPerEvent * events;
  if (!cost_reported_ || transport_.rank() != 0) return;
  progress_.finish();
  fmt::print(err_,
             "farfault: sampling costs more than the simulation ({} samples of {} values each for {} events "
             "so far); set run.sample_interval above {}\n",
             samples_, sampler_.values_per_sample(), events, to_text(model_.run.sample_interval));
}

std::uint64_t RunDriver::events_so_far() {
  return events_before_ + transport_.sum(engine_.profile().events);
}

RankDensity RunDriver::density() {
  auto const profile = engine_.profile();
  auto const ranks = std::uint64_t{transport_.ranks()};
  auto const events = transport_.sum(profile.events);
  auto const waited = transport_.sum(static_cast<std::uint64_t>(1e6 * profile.blocked_seconds));
  auto const seconds = std::chrono::duration<double>(WallClock::now() - began_).count();
  return {ranks, events, profile.exchanges,
          std::min(1.0, static_cast<double>(waited) / 1e6 / static_cast<double>(ranks) / seconds)};
}

void RunDriver::report_sparse_ranks() {
  if (sparse_reported_) return;
  auto const now = density();
  sparse_reported_ = now.sparse();
  if (!sparse_reported_ || transport_.rank() != 0) return;
  progress_.finish();
  fmt::print(err_, "farfault: warning: {} ranks process too few events per exchange so far ({}); {}\n",
             now.ranks, text_of(now), instead_of(now, threads(options_)));
}

bool RunDriver::record(Time at, bool last) {
  sampler_.sample(at, last || (samples_before_ + samples_) % kHistogramsEvery == 0);
  if (trace_) trace_->sampled(at);
  tables_.take();
  ++samples_;
  report_sampling_cost();
  return together(transport_, [&] {
    if (!writer_) return;
    writer_->append_sample(at, sampler_.values());
    tables_.append(*writer_);
    if (flushes_->due()) {
      writer_->flush();
      flushes_->done();
    }
  });
}

bool RunDriver::simulate(std::string& reason) {
  auto const end = options_.until.value_or(Time::max());
  for (;;) {
    auto const stop = std::min(schedule_.next(), end);
    auto const pause = trace_ ? trace_->next() : Time::max();
    auto const state = engine_.run_until(std::min(stop, pause));
    if (state == RunState::reached && pause <= stop) {
      trace_->reached();
      if (pause < stop) continue;
    }
    if (state == RunState::stopped) {
      // Ranks and lanes have stopped at different times: the moment after the latest event is one that all
      // can reach. With frequent samples, the latest sample may be later.
      end_ = std::max({engine_.last_event() + Duration{1}, end_, last_checkpoint_});
      reason = "stopped";
      while (engine_.run_until(end_) == RunState::stopped) {
      }
      if (!options_.checkpoint.empty()) return true;
    } else if (state == RunState::drained) {
      end_ = engine_.last_event();
      reason = "completed";
    } else if (schedule_.next() < end) {
      end_ = schedule_.next();
      schedule_.advance(events_so_far());
    } else {
      end_ = end;
      reason = "time_limit";
    }
    if (!record(end_, !reason.empty())) return false;
    if (!reason.empty()) return true;
    if (checkpoint_due(end_)) {
      std::string failure;
      if (!checkpoint(end_, failure)) return false;
      if (!failure.empty()) {
        progress_.finish();
        fmt::print(err_, "farfault: {}; the run continues{}\n", failure, latest_checkpoint());
      }
    }
    report_progress();
  }
}

void RunDriver::report_progress() {
  auto const done = share_done();
  progress_.report({end_, engine_.profile().events, done});
  if (options_.report_share) options_.report_share({done_before_, done});
}

// Relaunches of an application are not counted: their number is unknown.
double RunDriver::share_done() const {
  if (blocks_ == 0) return 0.0;
  auto done = sampler_.total("sm", "blocks");
  auto const& all = model_.applications.applications();
  auto const instances = model_.assembly->instances().size();
  for (std::uint32_t a = 0; all.count() > 1 && a < all.count(); ++a) {
    if (!all[a].relaunch) continue;
    auto const of_it = sampler_.total_of(all[a].name, "sm.by_application", "blocks");
    done -= of_it - std::min(of_it, model_.applications.blocks_of(a) * instances);
  }
  return static_cast<double>(done) / static_cast<double>(blocks_);
}

bool RunDriver::checkpoint_due(Time at) {
  if (options_.checkpoint.empty()) return false;
  bool due = options_.checkpoint_every && at - last_checkpoint_ >= *options_.checkpoint_every;
  if (options_.checkpoint_minutes)
    due = due || WallClock::now() - last_checkpoint_wall_ >=
                     std::chrono::duration<double, std::ratio<60>>(*options_.checkpoint_minutes);
  return transport_.max(due ? 1 : 0) != 0;
}

bool RunDriver::checkpoint(Time at, std::string& failure) {
  last_checkpoint_ = at;
  last_checkpoint_wall_ = WallClock::now();
  if (!together(transport_, [&] {
        if (!writer_) return;
        writer_->flush();
        flushes_->done();
      }))
    return false;
  auto const no_memory = "checkpoint " + options_.checkpoint + " cannot be written: out of memory";
  Checkpoint c;
  try {
    c.parts = transport_.gather(engine_.save());
  } catch (std::bad_alloc const&) {
    if (transport_.ranks() > 1) throw;  // the others wait for this part
    failure = no_memory;
    return true;
  }
  c.header.events = transport_.sum(engine_.pending_events());
  auto const events = events_so_far();
  if (transport_.rank() != 0) return true;
  c.header.config_hash = model_.hash();
  c.header.time = at;
  c.header.components = model_.assembly->system().component_count();
  try {
    auto const position = writer_->position();
    DriverState state{.schedule = schedule_.state(),
                      .events = events,
                      .samples = position.samples,
                      .rows = position.rows,
                      .program = program_hash(!options_.extensions.empty())};
    Saver saver(c.run);
    saver(state);
    write_checkpoint(options_.checkpoint, std::move(c));
    saved_ = at;
  } catch (RunError const& e) {
    failure = e.what();
  } catch (std::bad_alloc const&) {
    failure = no_memory;
  }
  return true;
}

std::string RunDriver::latest_checkpoint() const {
  if (!saved_) return " without a checkpoint";
  return fmt::format("; the latest checkpoint is {} (at {})", options_.checkpoint,
                     to_text(saved_->time_since_epoch()));
}

// The signal may have been delivered to any rank.
std::string RunDriver::stopping_signal() {
  return signal_name(static_cast<int>(transport_.max(static_cast<std::uint64_t>(signals_.received()))));
}

// A signal ended the run: it leaves a checkpoint, and the unfinished file is kept for a resumed run.
int RunDriver::stop() {
  auto const signal = stopping_signal();
  outcome_.events = transport_.sum(engine_.profile().events);
  std::string failure;
  if (!checkpoint(end_, failure)) return kReportedByAnotherRank;
  auto const no_trace = close_trace();
  if (transport_.rank() != 0) return kReportedByAnotherRank;
  auto const stopped = fmt::format("stopped by {} at {}", signal, to_text(end_.time_since_epoch()));
  bool const in_chain = !options_.resume.empty() && same_file(options_.resume, options_.checkpoint);
  auto const sentence = failure.empty()
                            ? fmt::format("{} and saved; to continue {}, run the same command {}", stopped,
                                          one_line(result_file("stopped")),
                                          in_chain ? "again" : "with --resume " + options_.checkpoint)
                            : fmt::format("{}; the run was {}{}", failure, stopped, latest_checkpoint());
  fmt::print(err_, "farfault: {}\n", sentence);
  outcome_.signal = signal;
  if (saved_) outcome_.checkpoint = options_.checkpoint;
  if (!no_trace.empty()) report_lost_trace(no_trace);
  return failure.empty() ? ended("stopped", kSaved, "") : ended("stopped", kRunFailed, sentence);
}

std::string RunDriver::waiting() {
  std::string mine;
  auto& system = model_.assembly->system();
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    if (!engine_.is_local(id)) continue;
    auto const text = system.component(id).waiting_for();
    if (!text.empty()) mine += "  " + system.component(id).path() + ": " + text + "\n";
  }
  std::string all;
  for (auto const& part : transport_.gather(std::as_bytes(std::span(mine))))
    all.append(reinterpret_cast<char const*>(part.data()), part.size());
  return all;
}

// The load of each node of the machine, for the placement of a later run.
std::vector<std::uint64_t> RunDriver::node_loads() {
  auto const nodes = model_.assembly->nodes_of_components();
  std::vector<std::uint64_t> loads(model_.machine.nodes.size());
  for (ComponentId id = 0; id < nodes.size(); ++id)
    if (engine_.is_local(id)) loads[nodes[id]] += model_.assembly->system().component(id).messages_sent();
  std::vector<std::uint64_t> all(loads.size());
  for (auto const& part : transport_.gather(std::as_bytes(std::span(loads)))) {
    std::vector<std::uint64_t> one(loads.size());
    std::memcpy(one.data(), part.data(), std::min(part.size(), one.size() * 8));
    for (std::size_t n = 0; n < all.size(); ++n) all[n] += one[n];
  }
  return all;
}

// Collected from all hosts, on any rank.
std::vector<ApplicationSpan> RunDriver::application_spans() {
  std::vector<ApplicationSpan> spans(model_.applications.applications().count());
  for (std::size_t a = 0; a < spans.size(); ++a) {
    auto first = Time::max();
    Time last{};
    std::uint64_t unfinished = 0, started = 0;
    for (auto const& instance : model_.assembly->instances()) {
      if (!instance.host->has_state()) continue;
      first = std::min(first, instance.host->state().runs[a].first_launch);
      last = std::max(last, instance.host->state().runs[a].last_end);
      started += instance.host->state().runs[a].launches;
      auto const number = static_cast<std::uint32_t>(a);
      if (!instance.host->has_finished(number) || instance.host->is_running(number)) unfinished = 1;
    }
    spans[a].kernels_started = transport_.sum(started);
    auto const before_end = transport_.max(count_of(Time::max()) - count_of(first));
    if (before_end != 0)
      spans[a].start = Time{Duration{picoseconds(Time::max()) - static_cast<std::int64_t>(before_end)}};
    last = Time{Duration{static_cast<std::int64_t>(transport_.max(count_of(last)))}};
    spans[a].end = before_end == 0 ? Time{} : transport_.max(unfinished) != 0 ? end_ : last;
  }
  return spans;
}

int RunDriver::conclude(std::string reason) {
  auto const signal = stopping_signal();
  auto const stuck = reason == "completed" ? waiting() : std::string{};
  if (reason == "completed" && transport_.max(stuck.empty() ? 0 : 1) != 0) reason = "deadlock";
  spans_ = application_spans();
  node_loads_ = node_loads();
  density_ = density();
  auto const profile = engine_.profile();
  auto const events = transport_.sum(profile.events);
  std::string digest;
  tables_.take_final();
  if (!together(transport_, [&] {
        if (writer_) digest = write_end(reason, profile, events);
      }))
    return kReportedByAnotherRank;
  auto const no_trace = close_trace();
  if (transport_.rank() != 0) return kReportedByAnotherRank;
  if (!no_trace.empty()) report_lost_trace(no_trace);
  if (options_.summary_json != "-") print_summary(reason, digest, events);
  outcome_.digest = digest;
  outcome_.events = events;
  outcome_.summary = summary_rows(sampler_, run_facts());
  if (is_whole(reason)) return ended(reason, no_trace.empty() ? kDone : kRunFailed, "");
  auto const at = to_text(end_.time_since_epoch());
  std::string sentence;
  if (reason == "deadlock") {
    sentence = fmt::format("deadlock at {}; stalled components:", at);
    fmt::print(err_, "farfault: {}\n{}", sentence, stuck);
  } else {
    outcome_.signal = signal;
    sentence = fmt::format("stopped by {} at {} without a checkpoint; '{}' is unchanged", signal, at,
                           output_path(options_));
    fmt::print(err_, "farfault: {}\n", sentence);
  }
  return ended(reason, kRunFailed, sentence);
}

void RunDriver::report_lost_trace(std::string const& why) {
  fmt::print(err_, "farfault: {}; the trace of this run is lost\n", why);
  outcome_.errors.push_back(why);
  trace_.reset();
}

int RunDriver::ended(std::string const& reason, int code, std::string const& error) {
  outcome_.end_reason = reason;
  outcome_.exit_code = code;
  if (!error.empty()) outcome_.errors.push_back(error);
  outcome_.end_time = end_;
  outcome_.result = result_file(reason);
  outcome_.seconds = seconds_;
  outcome_.ranks = transport_.ranks();
  outcome_.threads = threads(options_);
  outcome_.gpus = model_.assembly->gpus();
  return code;
}

std::string RunDriver::result_file(std::string const& reason) const {
  return output_path(options_) + (is_whole(reason) ? "" : ".partial");
}

RunFacts RunDriver::run_facts() const {
  return {.applications = model_.applications.applications(),
          .instances = model_.assembly->instances().size(),
          .gpus = model_.assembly->gpus(),
          .gpu_names = model_.assembly->device_names().gpus,
          .clock = model_.machine_config.gpu.clock.clock(),
          .spans = spans_,
          .end = end_};
}

std::string RunDriver::write_end(std::string const& reason, EngineProfile const& profile,
                                 std::uint64_t events) {
  tables_.append(*writer_);
  writer_->summary(summary_rows(sampler_, run_facts()));
  writer_->engine(work_values(profile, seconds_, events, node_loads_));
  if (density_.ranks > 1) writer_->engine(density_values(density_));
  if (auto const path = engine_.critical_path()) writer_->engine(critical_path_values(*path));
  return writer_->finish(reason, is_whole(reason));
}

// Three lines: the bound of any schedule, the reachable speed-up for this number of cores, and the busiest
// partition.
std::string RunDriver::path_text(PathProfile const& p) const {
  auto const events = static_cast<double>(p.events);
  auto const at = [&](std::uint32_t cores) {
    for (std::size_t i = 0; i < PathProfile::kCores.size(); ++i)
      if (PathProfile::kCores[i] == cores) return events / static_cast<double>(p.list_schedule[i]);
    return 0.0;
  };
  std::string busiest = "?";
  for (ComponentId id = 0; id < placement_.partition_of.size(); ++id) {
    if (placement_.partition_of[id] != p.busiest_partition) continue;
    busiest = model_.assembly->system().component(id).path();
    break;
  }
  return fmt::format(
             "  {:<22}{} of {} events in a dependency chain: speedup at most {:.1f} x ({:.1f} x by host "
             "time)\n",
             "critical path", for_people(static_cast<double>(p.path)), for_people(events),
             events / static_cast<double>(p.path), p.host_ns / p.host_path_ns) +
         fmt::format(
             "  {:<22}2: {:.2f} x, 4: {:.2f} x, 16: {:.2f} x, 64: {:.2f} x, 1024: {:.2f} x; one partition "
             "per component: {:.1f} x\n",
             "bound by cores", at(2), at(4), at(16), at(64), at(1024),
             events / static_cast<double>(p.component_path)) +
         fmt::format("  {:<22}partition of {}, {:.1f}% of all events\n", "busiest", busiest,
                     100 * static_cast<double>(p.busiest) / events);
}

void RunDriver::print_summary(std::string const& reason, std::string const& digest, std::uint64_t events) {
  auto const transactions = sampler_.total("sm", "transactions") - transactions_before_;
  out_ << summary_text(sampler_, run_facts());
  out_ << fmt::format("  {:<22}{}, digest {}\n", "ended", reason, digest);
  out_ << fmt::format("  {:<22}{:.2f} s, {} events/s, {} memory transactions/s\n", "took", seconds_,
                      for_people(static_cast<double>(events) / seconds_),
                      for_people(static_cast<double>(transactions) / seconds_));
  if (density_.ranks > 1) out_ << fmt::format("  {:<22}{}, {}\n", "ranks", density_.ranks, text_of(density_));
  if (density_.sparse())
    out_ << fmt::format("  {:<22}too few events per exchange: {}\n", "warning",
                        instead_of(density_, threads(options_)));
  if (auto const path = engine_.critical_path()) out_ << path_text(*path);
  if (trace_) out_ << fmt::format("  {:<22}{}\n", "trace", one_line(trace_->path()));
  out_ << fmt::format("  {:<22}{}\n", "result", one_line(result_file(reason))) << std::flush;
}

}  // namespace farfault::cli
