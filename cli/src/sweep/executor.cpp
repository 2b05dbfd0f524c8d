// SPDX-License-Identifier: Apache-2.0
#include "executor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <streambuf>
#include <string_view>

#include "farfault/cli/exit_codes.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/cli/simulation.hpp"
#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/results/writer.hpp"
#include "places.hpp"
#include "process/counted.hpp"
#include "process/huge_pages.hpp"
#include "process/signals.hpp"

namespace farfault::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kProgressInterval = 0.25;  // s
constexpr int kNotResumable = 124;          // exit code of a child that cannot continue from its checkpoint

// Forwards its input to another buffer, and keeps the last sentence of the program.
class SentenceKeeper : public std::streambuf {
 public:
  explicit SentenceKeeper(std::streambuf& to) : to_(to) {}
  std::string sentence() const { return sentence_; }

 private:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    auto const one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }
  // A write error of the log must not suppress the sentence.
  std::streamsize xsputn(char const* text, std::streamsize n) override {
    for (auto const c : std::string_view(text, static_cast<std::size_t>(n))) {
      if (c != '\n') {
        if (line_.size() < kMaxOfLine) line_ += c;
        continue;
      }
      if (auto latest = sentence_in(line_); !latest.empty()) sentence_ = std::move(latest);
      line_.clear();
    }
    to_.sputn(text, n);
    return n;
  }
  int sync() override {
    to_.pubsync();
    return 0;
  }

  static constexpr std::size_t kMaxOfLine = 4096;
  std::streambuf& to_;
  std::string line_, sentence_;
};

// In the child: executes the run, with remarks and the last sentence on standard error. Runs are never MPI
// ranks, even if a launcher started the sweep.
int run_in_child(RunOptions options, ChildReport const& report) {
  for (auto const* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"})
    ::unsetenv(name);
  std::ostringstream nowhere;
  SentenceKeeper keeper(*std::cerr.rdbuf());
  std::ostream errors(&keeper);
  ask_for_huge_pages();
  options.report_share = [&](RunShare share) { report.record(share); };
  std::string why_not_resumed;
  auto const code = exit_code_of(
      [&] {
        try {
          return run(options, nowhere, errors);
        } catch (ResumeError const& e) {
          why_not_resumed = e.reason();
          return kNotResumable;
        }
      },
      errors);
  report.record(code == kNotResumable ? one_line(why_not_resumed) : keeper.sentence());
  return code;
}

std::string sentence_of(JobEnd const& end, std::string const& log) {
  if (end.signal != 0)
    return end.signal == SIGKILL ? std::string("killed by SIGKILL (out of memory?)")
                                 : "ended by " + signal_name(end.signal);
  if (!end.sentence.empty()) return end.sentence;
  auto const latest = failure_in(log);
  return latest.empty() ? fmt::format("ended with exit code {}", end.exit_code) : latest;
}

// Appends as far as there is space; skips FIFOs, which would block until a reader opens them.
void append(std::string const& path, std::string const& text) {
  try {
    check_not_a_link(path);
    FileHandle const file(::open(
        path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666));
    if (file.is_open()) write_bytes(file, text);
  } catch (std::exception const&) {
  }
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Executor::Executor(Plan& plan, SweepOptions const& options, FolderLock& lock, std::uint32_t jobs,
                   std::ostream& err)
    : plan_(plan),
      options_(options),
      lock_(lock),
      at_a_time_(jobs),
      err_(err),
      progress_(progress_on_stderr(options.progress)) {}

int Executor::run(std::vector<std::size_t> runs) {
  sort(runs);
  waiting_.assign(runs.begin(), runs.end());
  all_ = runs.size();
  double cost = 0;
  for (auto const run : runs) cost += plan_.cost(run);
  work_ = SweepWork(cost);
  begin_ = std::chrono::steady_clock::now();
  Jobs jobs(at_a_time_, options_.memory);
  while (jobs.running() > 0 || (!waiting_.empty() && jobs.stopped_by() == 0)) {
    while (!waiting_.empty() && !jobs.full() && jobs.stopped_by() == 0) {
      auto const run = waiting_.front();
      waiting_.pop_front();
      start(jobs, run);
    }
    if (auto const end = jobs.wait(kProgressInterval)) ended(jobs, *end);
    report_progress(jobs);
  }
  progress_.finish();
  return jobs.stopped_by();
}

// Among runs that never started, short runs are last, so that no core waits long for the final ones. A
// requeued job must not spend its time on a run that always fails.
void Executor::sort(std::vector<std::size_t>& runs) const {
  auto const turn = [&](std::size_t run) {
    if (plan_.table().state(run) == RunTable::State::failed) return 2;
    return plan_.saved().find(run) != nullptr ? 0 : 1;
  };
  std::stable_sort(runs.begin(), runs.end(), [&](std::size_t a, std::size_t b) {
    return turn(a) != turn(b) ? turn(a) < turn(b) : plan_.cost(a) > plan_.cost(b);
  });
}

void Executor::start(Jobs& jobs, std::size_t run) {
  auto const& name = name_of(run);
  auto const path = result_path(plan_.folder(), name);
  auto& saved = plan_.saved();
  // Another part, or a run that an ended sweep left behind, executes it, or has saved or completed it since
  // the plan was made.
  if (is_locked(path + ".partial") || saved.has(name) != (saved.find(run) != nullptr)) {
    work_.skip(plan_.cost(run));
    ++skipped_;
    return;
  }
  if (auto const* const checkpoint = saved.find(run); checkpoint != nullptr && !checkpoint->why_not.empty())
    restart(run, std::string(checkpoint->why_not));
  std::remove(failure_path(plan_.folder(), name).c_str());
  // The names of results in its folder belong to the sweep: a damaged file is replaced.
  for (auto damaged = results::unreplaceable_file(path);
       !damaged.empty() && std::remove(damaged.c_str()) == 0;)
    damaged = results::unreplaceable_file(path);
  auto options = plan_.run_options(run, path);
  options.checkpoint = checkpoint_path(plan_.folder(), name);
  options.checkpoint_minutes = options_.checkpoint_minutes.value_or(kCheckpointMinutes);
  if (saved.find(run) != nullptr) {
    options.resume = options.checkpoint;
    resumed_.insert(run);
  }
  work_.start(run, plan_.cost(run), seconds());
  jobs.start(run, log_path(plan_.folder(), name), [&](ChildReport const& report) {
    lock_.leave();
    return run_in_child(options, report);
  });
}

// The checkpoints are removed: a later one must not have them as its previous one.
void Executor::restart(std::size_t run, std::string const& why) {
  plan_.saved().remove(run, name_of(run));
  remove_unfinished(run);
  resumed_.erase(run);
  plan_.table().set_missing(run, "");
  print(fmt::format("{} starts from the beginning: {}", plan_.table().name_of(run), why));
}

void Executor::ended(Jobs& jobs, JobEnd const& end) {
  auto const run = end.number;
  if (end.taken) {
    work_.put_back(run);
    work_.skip(plan_.cost(run));
    resumed_.erase(run);
    ++skipped_;
  } else if (end.signal == 0 && end.exit_code == kNotResumable) {
    work_.put_back(run);
    restart(run, end.sentence);
    waiting_.push_front(run);
  } else if (jobs.stopped_by() != 0 && !end.done()) {
    work_.put_back(run);
    stopped(end);
  } else {
    work_.end(run);
    concluded(end);
  }
}

// A result is either complete, or unfinished with a checkpoint, or absent.
void Executor::remove_unfinished(std::size_t run) {
  if (plan_.saved().has(name_of(run))) return;
  std::remove((result_path(plan_.folder(), name_of(run)) + ".partial").c_str());
  plan_.saved().remove(run, name_of(run));
}

void Executor::stopped(JobEnd const& end) {
  auto const run = end.number;
  auto& table = plan_.table();
  std::remove(log_path(plan_.folder(), name_of(run)).c_str());
  if (end.signal == 0 && end.exit_code != kSaved && !end.sentence.empty())
    print(fmt::format("{} is not saved: {}", table.name_of(run), end.sentence));
  remove_unfinished(run);
  table.set_missing(run, "");
  plan_.look_for_checkpoint(run);
  if (plan_.saved().find(run) != nullptr) ++saved_;
}

void Executor::concluded(JobEnd const& end) {
  auto const run = end.number;
  auto const& name = name_of(run);
  auto const log = log_path(plan_.folder(), name);
  auto& table = plan_.table();
  std::string why;
  if (end.done()) {
    try {
      table.set_done(run, result_name(name), results::read_swept_run(result_path(plan_.folder(), name)));
      plan_.checked().made(name);
      plan_.saved().remove(run, name);
      std::remove(log.c_str());
      ++made_;
      return;
    } catch (UserError const& e) {
      why = e.what();
    }
  } else {
    why = sentence_of(end, log);
  }
  ++failed_;
  remove_unfinished(run);  // frees space for the log on a full disk
  table.set_failed(run, why);
  plan_.saved().look_for(run, name);
  print(fmt::format("{} has failed: {}", table.name_of(run), why));
  // The complete log, with the sentence last, for the sweep that writes the table.
  append(log, fmt::format("farfault: {}\n", why));
  if (why_not_readable(log).empty()) std::rename(log.c_str(), failure_path(plan_.folder(), name).c_str());
}

void Executor::print(std::string const& sentence) {
  progress_.finish();
  fmt::print(err_, "farfault: {}\n", sentence);
  err_.flush();
}

double Executor::seconds() const {
  return seconds_since(begin_);
}

void Executor::report_progress(Jobs const& jobs) {
  for (auto const& [run, share] : jobs.shares()) work_.report(run, share);
  progress_.report(work_.done(), [&](double) {
    std::vector<std::string> phrases{
        fmt::format("{} of {}", made_ + failed_ + skipped_, counted(all_, "run"))};
    if (failed_ != 0) phrases.push_back(fmt::format("{} failed", failed_));
    if (auto const left = work_.time_left(seconds())) phrases.push_back(wall_time(*left) + " left");
    phrases.push_back(fmt::format("{} running", jobs.running()));
    return phrases;
  });
}

Probe measure(Plan const& plan, std::size_t run, SweepOptions const& options, double longest) {
  auto pattern = (fs::temp_directory_path() / "farfault-sweep-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw RunError("cannot create a folder for the probe run in '" + pattern + "'");
  struct Removed {
    std::string folder;
    ~Removed() {
      std::error_code ignored;
      fs::remove_all(folder, ignored);
    }
  } const removed{pattern};
  auto const log = pattern + "/log";
  auto const probe_options = plan.run_options(run, pattern + "/probe.h5");
  auto const begin = std::chrono::steady_clock::now();
  Jobs jobs(1, options.memory);
  jobs.start(run, log, [&](ChildReport const& report) { return run_in_child(probe_options, report); });
  Probe probe;
  while (jobs.running() > 0) {
    auto const end = jobs.wait(kProgressInterval);
    probe.stopped_by = jobs.stopped_by();
    if (!end) {
      for (auto const& [number, share] : jobs.shares()) probe.share = share.now;
      if (seconds_since(begin) > longest) return probe;  // the destructor of `jobs` ends the child
      continue;
    }
    probe.ended = true;
    probe.seconds = seconds_since(begin);
    probe.peak_bytes = end->peak_bytes;
    if (!end->done() && probe.stopped_by == 0) probe.failure = sentence_of(*end, log);
  }
  return probe;
}

}  // namespace farfault::cli
