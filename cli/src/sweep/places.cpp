// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/results/sweep.hpp"

namespace farfault::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "farfault: ";
constexpr std::size_t kMaxOfLog = std::size_t{1} << 20, kMaxOfHeading = std::size_t{1} << 20;

std::string in(std::string const& folder, std::string const& name) {
  return (fs::path(folder) / name).string();
}

std::string first_line(std::string const& path) {
  auto line = first_bytes(path, kMaxOfHeading);
  line.resize(std::min(line.size(), line.find('\n')));
  return line;
}

// Identified by its heading, so that a user may delete sweep.h5 alone.
bool is_table_of_sweep(std::string const& csv) {
  auto const heading = first_line(csv);
  auto const begins = [&](std::string_view with) { return heading.starts_with(with); };
  auto const has = [&](char const* column) {
    return ("," + heading + ",").find(column) != std::string::npos;
  };
  constexpr std::string_view kFacts = "state,error,result,result_digest,";
  return begins("run," + std::string(kFacts)) || begins("run,name," + std::string(kFacts)) ||
         (begins("point,") && has(",seeds,")) || (begins("group,") && has(",speedup_error,"));
}

bool is_script_of_sweep(std::string const& script) {
  return first_bytes(script, kScriptHead.size()) == kScriptHead;
}

// Empty or unreadable files hold no data to lose; links and devices are refused elsewhere.
bool is_nonempty(std::string const& path) {
  std::error_code error;
  return exists(path) && fs::is_regular_file(fs::symlink_status(path, error)) &&
         fs::file_size(path, error) != 0 && !error;
}

template <class IsOurs>
void refuse_foreign(std::string const& path, IsOurs is_ours) {
  for (auto const& name : {path, path + ".partial"})
    if (is_nonempty(name) && !is_ours(name))
      throw UserError("the sweep would overwrite '" + one_line(name) + "', which no sweep has written");
}

}  // namespace

std::string folder_of_sweep(SweepOptions const& options, Study const& study) {
  return options.output.empty() ? study.output : options.output;
}

std::string result_name(std::string const& name) {
  return "runs/" + name + ".h5";
}

std::string result_path(std::string const& folder, std::string const& name) {
  return in(folder, result_name(name));
}

std::string log_path(std::string const& folder, std::string const& name) {
  return in(folder, "runs/" + name + ".log");
}

std::string checkpoint_path(std::string const& folder, std::string const& name) {
  return in(folder, "runs/" + name + std::string(kCheckpointEnding));
}

std::set<std::string> runs_with(std::string const& folder, std::vector<std::string> const& endings) {
  std::set<std::string> names;
  std::error_code error;
  for (auto entry = fs::directory_iterator(in(folder, "runs"), error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    auto const file = entry->path().filename().string();
    for (auto const& ending : endings)
      if (file.ends_with(ending)) names.insert(file.substr(0, file.size() - ending.size()));
  }
  return names;
}

std::string failure_path(std::string const& folder, std::string const& name) {
  return in(folder, "runs/" + name + ".failed");
}

std::string sentence_in(std::string const& line) {
  return line.starts_with(kPrefix) ? one_line(line.substr(kPrefix.size(), 1000)) : std::string();
}

std::string failure_in(std::string const& log) {
  // A folder from another person may contain links to any file.
  std::error_code error;
  if (fs::is_symlink(log, error)) return {};
  std::istringstream file(first_bytes(log, kMaxOfLog));
  std::string line, sentence;
  // Lines before the last one are remarks.
  while (std::getline(file, line))
    if (auto latest = sentence_in(line); !latest.empty()) sentence = std::move(latest);
  return sentence;
}

std::string table_path(std::string const& folder) {
  return in(folder, "sweep.h5");
}

std::string csv_path(std::string const& folder) {
  return in(folder, "sweep.csv");
}

std::string spread_path(std::string const& folder) {
  return in(folder, "sweep_spread.csv");
}

std::string means_path(std::string const& folder) {
  return in(folder, "sweep_means.csv");
}

std::string run_list_path(std::string const& folder) {
  return in(folder, "sweep.runs");
}

std::string checked_path(std::string const& folder) {
  return in(folder, "sweep.checked");
}

std::string lock_path(std::string const& folder) {
  return in(folder, "sweep.lock");
}

std::string script_path(std::string const& folder) {
  return in(folder, "sweep.sbatch");
}

std::string collector_path(std::string const& folder) {
  return in(folder, "collect.sbatch");
}

void check_folder(std::string const& folder) {
  std::error_code error;
  auto const status = fs::status(folder, error);
  if (fs::exists(status) && !fs::is_directory(status))
    throw UserError("cannot write the results of the sweep to '" + one_line(folder) +
                    "': it is not a folder");
  check_replaceable(table_path(folder));
  check_replaceable(csv_path(folder));
  bool const ours = results::looks_like_sweep(table_path(folder));
  if (exists(table_path(folder)) && !ours)
    throw UserError("the sweep would overwrite '" + one_line(table_path(folder)) +
                    "', which is not the table of a sweep");
  for (auto const& csv : {csv_path(folder), spread_path(folder), means_path(folder)})
    refuse_foreign(csv, is_table_of_sweep);
  for (auto const& script : {script_path(folder), collector_path(folder)})
    refuse_foreign(script, is_script_of_sweep);
  auto const begins_with = [](std::string_view line) {
    return [line](std::string const& path) { return first_line(path) == line; };
  };
  refuse_foreign(lock_path(folder),
                 [](std::string const& path) { return first_line(path).starts_with("process "); });
  refuse_foreign(run_list_path(folder), begins_with(kRunListHead));
  refuse_foreign(checked_path(folder), begins_with(kCheckedHead));
}

void make_folder(std::string const& folder) {
  std::error_code error;
  fs::create_directories(fs::path(folder) / "runs", error);
  if (error) throw UserError("cannot create folder '" + one_line(folder) + "': " + error.message());
}

void write_whole(std::string const& path, std::string const& text) {
  auto const partial = path + ".partial";
  check_not_a_link(partial);
  {
    std::ofstream file(partial, std::ios::binary);
    file << text << std::flush;
    if (file && std::rename(partial.c_str(), path.c_str()) == 0) return;
  }
  auto const why = std::strerror(errno);
  std::remove(partial.c_str());
  throw RunError("cannot write '" + one_line(path) + "': " + why);
}

}  // namespace farfault::cli
