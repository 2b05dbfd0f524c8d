// SPDX-License-Identifier: Apache-2.0
#include "path_checks.hpp"

#include <filesystem>

#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "run_outcome.hpp"
#include "trace/recording.hpp"

namespace farfault::cli {

namespace {

constexpr char const* kProfile = "the profile";
constexpr char const* kCheckpoint = "the checkpoint";

struct WrittenFile {
  std::string option;  // as a sentence names it: "--output 'a.h5'"
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

// A checkpoint takes the place of the one resumed from, and a result of the one that gave its profile.
bool may_replace(RunOptions const& options, std::string const& written, ReadFile const& read) {
  if (read.what == kProfile) return written == output_path(options);
  return read.what == kCheckpoint &&
         (written == options.checkpoint || written == previous_checkpoint(options.checkpoint));
}

void check_checkpoint_place(RunOptions const& options) {
  auto const& path = options.checkpoint;
  check_replaceable(path);
  std::error_code error;
  bool const empty = std::filesystem::file_size(path, error) == 0;
  if (is_there(path) && !error && !empty && !looks_like_checkpoint(path) &&
      !(options.resume == path))  // a damaged one, which --resume judges
    throw UserError("--checkpoint '" + path + "' would overwrite a file that is not a checkpoint");
}

// Links in it are not followed.
std::string absolute_path(std::string const& path) {
  std::error_code error;
  auto const whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

void check_file_place(std::string const& path) {
  // What is there stands for something else, like /dev/stdout, whatever it leads to now.
  auto const place = absolute_path(path);
  bool const device = place.starts_with("/dev/") && !place.starts_with("/dev/shm/");
  if (device || place.starts_with("/proc/"))
    throw UserError("cannot write '" + path + "': it is not a regular file");
  check_replaceable(path);
}

void check_summary_place(std::string const& path) {
  check_file_place(path);
  std::error_code error;
  bool const empty = std::filesystem::file_size(path, error) == 0;
  if (is_there(path) && !error && !empty && !looks_like_outcome(path))
    throw UserError("--summary-json '" + path + "' would overwrite a file that is not the summary of a run");
}

void check_trace_place(std::string const& path) {
  check_file_place(path);
  std::error_code error;
  bool const empty = std::filesystem::file_size(path, error) == 0;
  if (is_there(path) && !error && !empty && !looks_like_trace(path))
    throw UserError("the trace '" + path + "' would overwrite a file that is no trace of Farfault");
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
      if (is_there(r.path) && same_file(w.path, r.path) && !may_replace(options, w.path, r))
        throw UserError(w.option + " would overwrite " + r.what + " '" + r.path + "'");
  check_file_place(output_path(options));
  if (!options.checkpoint.empty()) check_checkpoint_place(options);
  if (writes_summary(options)) check_summary_place(options.summary_json);
  if (options.trace) check_trace_place(trace_path(*options.trace, output_path(options)));
}

}  // namespace farfault::cli
