// SPDX-License-Identifier: Apache-2.0
#include "path_checks.hpp"

#include <filesystem>

#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/results/writer.hpp"
#include "run_outcome.hpp"
#include "trace/recording.hpp"

namespace farfault::cli {

namespace {

constexpr char const* kProfile = "the profile";
constexpr char const* kCheckpoint = "the checkpoint";

struct WrittenFile {
  std::string option;  // as in messages: "--output 'a.h5'"
  std::string path;
};

bool writes_summary(RunOptions const& options) {
  return !options.summary_json.empty() && options.summary_json != "-";
}

std::vector<WrittenFile> written_files(RunOptions const& options) {
  auto const output = output_path(options);
  auto const named = (options.output.empty() ? "the output '" : "--output '") + output + "'";
  std::vector<WrittenFile> files;
  for (auto const* suffix : {"", ".partial", ".partial.new"}) files.push_back({named, output + suffix});
  if (!options.checkpoint.empty())
    for (auto const* suffix : {"", ".previous", ".writing", ".lock"})
      files.push_back({"--checkpoint '" + options.checkpoint + "'", options.checkpoint + suffix});
  if (writes_summary(options))
    for (auto const* suffix : {"", ".writing"})
      files.push_back({"--summary-json '" + options.summary_json + "'", options.summary_json + suffix});
  if (options.trace) {
    auto const trace = trace_path(*options.trace, output);
    auto const option = (options.trace->output.empty() ? "the trace '" : "--trace-output '") + trace + "'";
    for (auto const& path : {trace, writing_trace(trace)}) files.push_back({option, path});
  }
  return files;
}

// A checkpoint may replace the one that the run resumes from, and a result the one that gave its profile.
bool may_replace(RunOptions const& options, std::string const& written, ReadFile const& read) {
  if (read.what == kProfile) return written == output_path(options);
  return read.what == kCheckpoint &&
         (written == options.checkpoint || written == previous_checkpoint(options.checkpoint));
}

// Throws UserError if writing `path` would destroy a file of another kind. `option`: the output, for the
// message; `kind`: the kind that may be replaced.
template <class IsOfKind>
void check_is(std::string const& path, std::string const& option, char const* kind, IsOfKind is_of_kind) {
  std::error_code error;
  bool const empty = std::filesystem::file_size(path, error) == 0;
  bool const link = std::filesystem::is_symlink(path, error);  // refused when it is opened
  if (!exists(path) || error || empty || link || is_of_kind(path)) return;
  auto const what =
      option.find("'" + path + "'") == option.npos ? "'" + path + "', a file" : std::string("a file");
  throw UserError(option + " would overwrite " + what + " that is not " + kind +
                  "; choose another name or remove the file");
}

// Links in it are not followed.
std::string absolute_path(std::string const& path) {
  std::error_code error;
  auto const whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

void check_file_place(std::string const& path) {
  // The file represents a device, like /dev/stdout, whatever it currently refers to.
  auto const place = absolute_path(path);
  bool const device = place.starts_with("/dev/") && !place.starts_with("/dev/shm/");
  if (device || place.starts_with("/proc/"))
    throw UserError("cannot write '" + one_line(path) + "': it is not a regular file");
  check_replaceable(path);
}

void check_checkpoint_place(RunOptions const& options) {
  auto const& path = options.checkpoint;
  for (auto const& name : {path, previous_checkpoint(path)}) check_file_place(name);
  check_not_a_link(path);
  auto const option = "--checkpoint '" + path + "'";
  for (auto const& name : {path, previous_checkpoint(path), path + ".writing"})
    if (options.resume != name)  // --resume handles a damaged one
      check_is(name, option, "a checkpoint", looks_like_checkpoint);
  check_is(path + ".lock", option, "the lock of a checkpoint", [](std::string const&) { return false; });
}

void check_summary_place(std::string const& path) {
  check_file_place(path);
  check_not_a_link(path);
  for (auto const& name : {path, path + ".writing"})
    check_is(name, "--summary-json '" + path + "'", "the summary of a run", looks_like_outcome);
}

void check_trace_place(std::string const& path) {
  check_file_place(path);
  check_not_a_link(path);
  for (auto const& name : {path, writing_trace(path)})
    check_is(name, "the trace '" + path + "'", "a trace of Farfault", looks_like_trace);
}

void check_output_place(RunOptions const& options) {
  auto const path = output_path(options);
  check_file_place(path);
  check_not_a_link(path);
  auto const lost = results::unreplaceable_file(path);
  if (lost.empty()) return;
  auto const option = (options.output.empty() ? "the output '" : "--output '") + path + "'";
  auto const what = lost == path ? std::string("a file") : "'" + lost + "', a file";
  throw UserError(option + " would overwrite " + what +
                  " that is not the result of a run; choose another name or remove the file");
}

}  // namespace

std::string output_path(RunOptions const& options) {
  if (!options.output.empty()) return options.output;
  return std::filesystem::path(options.config_path).stem().string() + ".h5";
}

void check_paths(RunOptions const& options, std::vector<ReadFile> const& inputs) {
  auto const written = written_files(options);
  for (std::size_t i = 0; i < written.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (written[i].option != written[j].option && same_file(written[i].path, written[j].path))
        throw UserError(written[j].option + " and " + written[i].option + " would both write '" +
                        written[j].path + "'");
  auto read = inputs;
  read.push_back({"the configuration", options.config_path});
  if (!options.profile.empty()) read.push_back({kProfile, options.profile});
  if (!options.resume.empty()) {
    read.push_back({kCheckpoint, options.resume});
    read.push_back({kCheckpoint, previous_checkpoint(options.resume)});
  }
  for (auto const& r : read)
    for (auto const& w : written)
      if (exists(r.path) && same_file(w.path, r.path) && !may_replace(options, w.path, r))
        throw UserError(w.option + " would overwrite " + r.what + " '" + r.path + "'");
  check_output_place(options);
  if (!options.checkpoint.empty()) check_checkpoint_place(options);
  if (writes_summary(options)) check_summary_place(options.summary_json);
  if (options.trace) check_trace_place(trace_path(*options.trace, output_path(options)));
}

}  // namespace farfault::cli
