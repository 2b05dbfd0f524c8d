// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/simulation.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string_view>

#include "agreement.hpp"
#include "farfault/cli/exit_codes.hpp"
#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/error.hpp"
#include "model/model.hpp"
#include "model/unused_settings.hpp"
#include "opening.hpp"
#include "path_checks.hpp"
#include "process/launcher.hpp"
#include "process/signals.hpp"
#include "process/together.hpp"
#include "run_driver.hpp"
#include "run_outcome.hpp"

namespace farfault::cli {
namespace {

// Null if the transport cannot be created and the first rank reports the error.
std::unique_ptr<Transport> start_transport() {
  try {
    return make_transport();
  } catch (RunError const&) {
    if (launched_rank() == 0) throw;
    return nullptr;
  }
}

std::vector<ReadFile> files_read(Model const& model) {
  std::vector<ReadFile> files;
  for (auto const& path : model.config.files()) files.push_back({"the configuration", path});
  for (auto const& input : model.inputs) files.push_back({"the file of " + input.parameter, input.path});
  return files;
}

// The exit code and the text that exit_code_of() prints for `failure`.
RunOutcome failed_by(std::exception_ptr const& failure) {
  std::ostringstream printed;
  RunOutcome outcome;
  outcome.end_reason = "failed";
  outcome.exit_code = exit_code_of([&]() -> int { std::rethrow_exception(failure); }, printed);
  constexpr std::string_view kPrefix = "farfault: ";
  std::istringstream lines(printed.str());
  for (std::string line; std::getline(lines, line);) outcome.errors.push_back(line.substr(kPrefix.size()));
  return outcome;
}

int run_noting(OutcomeFile& outcome, RunOptions const& options, std::ostream& out, std::ostream& err) {
  // A job chain loses nothing by an early stop: its next job starts at the same point.
  bool const in_chain = !options.resume.empty() && options.resume == options.checkpoint;
  bool const reports = launched_rank() == 0;
  EarlySignals signals(!reports ? kDone : in_chain ? kSaved : kRunFailed, reports);
  // The launcher ends the other ranks after the rank that knows the error has reported it.
  auto const reported_by_another_rank = [&] {
    signals.be_silent(kDone);
    return kDone;
  };
  auto const transport = start_transport();
  if (!transport) return kDone;
  auto const missing = missing_mpi(transport->ranks(), [](char const* name) { return std::getenv(name); });
  if (missing && launched_rank() == 0) throw UserError(*missing);
  if (missing || !agree(*transport, facts_of_program())) return reported_by_another_rank();

  bool const writes = transport->rank() == 0;
  auto const print_line = [&](std::string const& line) {
    if (writes && options.progress != ProgressMode::off) err << line << std::flush;
  };
  bool const several = transport->ranks() > 1;
  std::optional<CheckpointLock> lock;
  // Checked before the model is built, which may take long.
  if (!together(*transport, [&] {
        if (writes) check_paths(options, {});
        if (writes && !options.checkpoint.empty()) lock.emplace(options.checkpoint);
        outcome.open(writes);
      }))
    return reported_by_another_rank();
  std::optional<Model> model;
  std::vector<Fact> facts;
  if (!together(*transport, [&] {
        model.emplace(options);
        if (writes) check_paths(options, files_read(*model));
        if (writes) warn_of_unused(model->config, err);
        if (several) facts = facts_of_configuration(options, *model);
      }))
    return reported_by_another_rank();
  if (!agree(*transport, facts)) return reported_by_another_rank();
  print_line(machine_line(*model));
  if (!together(*transport, [&] {
        model->build_workloads();
        if (writes) check_paths(options, files_read(*model));
        if (several) facts = facts_of_workloads(*model);
      }))
    return reported_by_another_rank();
  if (!agree(*transport, facts)) return reported_by_another_rank();
  print_line(workloads_line(*model, transport->ranks(), RunDriver::threads(options)));

  auto const threads = transport->max(RunDriver::threads(options));
  std::optional<RunDriver> driver;
  if (!together(*transport, [&] {
        model->assemble();
        auto const partitions =
            granularity_for(options, model->assembly->gpus(), transport->ranks(), threads);
        driver.emplace(options, partitions, *transport, *model, out, err);
      }))
    return reported_by_another_rank();
  if (!agree(*transport, driver->facts())) return reported_by_another_rank();
  auto const code = driver->execute();
  if (writes && driver->outcome().end_reason != "running") outcome.write(driver->outcome());
  return code;
}

}  // namespace

int run(RunOptions const& options, std::ostream& out, std::ostream& err) {
  OutcomeFile outcome(options.summary_json, out);
  try {
    return run_noting(outcome, options, out, err);
  } catch (...) {
    auto const failure = std::current_exception();
    try {
      outcome.write(failed_by(failure));
    } catch (RunError const&) {  // the first error is reported
    }
    std::rethrow_exception(failure);
  }
}

}  // namespace farfault::cli
