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
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/results/writer.hpp"
#include "places.hpp"
#include "process/huge_pages.hpp"
#include "process/signals.hpp"

namespace farfault::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kProgressInterval = 0.25;  // s

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
int run_in_child(RunOptions const& options, LastLine const& word) {
  for (auto const* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"})
    ::unsetenv(name);
  std::ostringstream nowhere;
  SentenceKeeper keeper(*std::cerr.rdbuf());
  std::ostream errors(&keeper);
  ask_for_huge_pages();
  auto const code = exit_code_of([&] { return run(options, nowhere, errors); }, errors);
  word.record(keeper.sentence());
  return code;
}

std::string sentence_of(JobEnd const& end, std::string const& log) {
  if (end.signal != 0)
    return end.signal == SIGKILL ? std::string("killed by SIGKILL (out of memory?)")
                                 : "ended by " + signal_name(end.signal);
  if (!end.last_sentence.empty()) return end.last_sentence;
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
  // Short runs last, so that no core waits long for the final ones.
  std::stable_sort(runs.begin(), runs.end(),
                   [&](std::size_t a, std::size_t b) { return plan_.cost(a) > plan_.cost(b); });
  all_ = runs.size();
  for (auto const run : runs) cost_ += plan_.cost(run);
  Jobs jobs(at_a_time_, options_.memory);
  std::size_t next = 0;
  while (jobs.running() > 0 || (next < runs.size() && jobs.stopped_by() == 0)) {
    while (next < runs.size() && !jobs.full() && jobs.stopped_by() == 0) {
      auto const run = runs[next++];
      auto const& name = plan_.run(run).name;
      auto const path = result_path(plan_.folder(), name);
      // Another part, or a run that an ended sweep left behind, is executing it.
      if (is_locked(path + ".partial")) {
        skip(run);
        continue;
      }
      std::remove(failure_path(plan_.folder(), name).c_str());
      // The names of results in its folder belong to the sweep: a damaged file is replaced.
      for (auto damaged = results::unreplaceable_file(path);
           !damaged.empty() && std::remove(damaged.c_str()) == 0;)
        damaged = results::unreplaceable_file(path);
      auto const options = plan_.run_options(run, path);
      jobs.start(run, log_path(plan_.folder(), name), [&](LastLine const& word) {
        lock_.leave();
        return run_in_child(options, word);
      });
    }
    auto const end = jobs.wait(kProgressInterval);
    if (end && end->taken) {
      skip(end->number);
    } else if (end && jobs.stopped_by() != 0 && !end->done()) {
      std::remove(log_path(plan_.folder(), plan_.run(end->number).name).c_str());
      remove_unfinished(end->number);
    } else if (end) {
      ended(*end);
    }
    report_progress(jobs.running());
  }
  progress_.finish();
  return jobs.stopped_by();
}

void Executor::skip(std::size_t run) {
  ++skipped_;
  cost_ended_ += plan_.cost(run);
}

// A result is either complete or absent.
void Executor::remove_unfinished(std::size_t run) {
  std::remove((result_path(plan_.folder(), plan_.run(run).name) + ".partial").c_str());
}

void Executor::ended(JobEnd const& end) {
  cost_ended_ += plan_.cost(end.number);
  auto const& name = plan_.run(end.number).name;
  auto const log = log_path(plan_.folder(), name);
  auto& table = plan_.table();
  std::string why;
  if (end.done()) {
    try {
      table.set_done(end.number, result_name(name),
                     results::read_swept_run(result_path(plan_.folder(), name)));
      plan_.checked().made(name);
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
  remove_unfinished(end.number);  // frees space for the log on a full disk
  table.set_failed(end.number, why);
  progress_.finish();
  fmt::print(err_, "farfault: {} has failed: {}\n", table.name_of(end.number), why);
  err_.flush();
  // The complete log, with the sentence last, for the sweep that writes the table.
  append(log, fmt::format("farfault: {}\n", why));
  if (why_not_readable(log).empty()) std::rename(log.c_str(), failure_path(plan_.folder(), name).c_str());
}

void Executor::report_progress(std::size_t running) {
  auto const ended = made_ + failed_ + skipped_;
  progress_.report(cost_ended_ / cost_, [&](double elapsed) {
    std::vector<std::string> phrases{fmt::format("{} of {} runs", ended, all_)};
    if (failed_ != 0) phrases.push_back(fmt::format("{} failed", failed_));
    if (ended >= at_a_time_)
      phrases.push_back(wall_time(elapsed * (cost_ - cost_ended_) / cost_ended_) + " left");
    phrases.push_back(fmt::format("{} running", running));
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
  jobs.start(run, log, [&](LastLine const& word) { return run_in_child(probe_options, word); });
  Probe probe;
  while (jobs.running() > 0) {
    auto const end = jobs.wait(kProgressInterval);
    probe.stopped_by = jobs.stopped_by();
    if (!end) {
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
