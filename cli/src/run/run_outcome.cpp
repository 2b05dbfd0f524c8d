// SPDX-License-Identifier: Apache-2.0
#include "run_outcome.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <system_error>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBegin = R"({"kind":"run",)";

Json or_null(std::string const& text) {
  return text.empty() ? Json() : Json(text);
}

// Minimum size of the file written at the start of a run, so that the summary of a failed run fits into it.
constexpr std::size_t kRoom = 4096;

// Appends blanks before the end of the line.
std::string padded_to(std::string line, std::size_t size) {
  if (line.size() + 1 < size) line.append(size - line.size() - 1, ' ');
  return line + "\n";
}

// Throws E.
template <class E>
void replace(std::string const& path, std::string const& text) {
  auto const writing = path + ".writing";
  std::string why;
  try {
    auto const file = create_locked(writing, path);
    write_bytes(file, text);
    if (std::rename(writing.c_str(), path.c_str()) == 0) return;
    why = std::strerror(errno);
  } catch (std::system_error const& e) {
    why = e.code().message();
  } catch (UserError const& e) {
    throw E(e.what());
  }
  std::remove(writing.c_str());
  throw E("cannot write '" + path + "': " + why);
}

// Overwrites the text that open() wrote, in place; false if this is not possible.
bool overwrite(std::string const& path, RunOutcome outcome) {
  if (!looks_like_outcome(path)) return false;
  FileHandle const file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return false;
  auto const room = static_cast<std::size_t>(status.st_size);
  auto text = to_json(outcome);
  if (text.size() >= room) {
    outcome.errors.resize(1);
    outcome.errors[0] = shown(outcome.errors[0]);
    text = to_json(outcome);
  }
  if (text.size() >= room) return false;
  text = padded_to(std::move(text), room);
  return ::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::string to_json(RunOutcome const& o) {
  bool const ended = o.end_reason != "running";
  bool const simulated = ended && o.end_reason != "failed";
  Json summary = Json::object();
  for (auto const& row : o.summary)
    if (row.scope != "gpu") summary[row.scope][row.name][row.metric] = row.value;
  auto const if_simulated = [&](auto const& value) { return simulated ? Json(value) : Json(); };
  auto const rate = o.seconds > 0 ? Json(static_cast<double>(o.events) / o.seconds) : Json();
  Json const all = {{"kind", "run"},
                    {"farfault_version", FARFAULT_VERSION},
                    {"end_reason", o.end_reason},
                    {"exit_code", ended ? Json(o.exit_code) : Json()},
                    {"errors", o.errors},
                    {"signal", or_null(o.signal)},
                    {"end_time_ps", if_simulated(o.end_time.time_since_epoch().count())},
                    {"result", or_null(o.result)},
                    {"result_digest", or_null(o.digest)},
                    {"checkpoint", or_null(o.checkpoint)},
                    {"wall_time_s", if_simulated(o.seconds)},
                    {"events", if_simulated(o.events)},
                    {"events_per_second", rate},
                    {"ranks", if_simulated(o.ranks)},
                    {"threads", if_simulated(o.threads)},
                    {"gpus", if_simulated(o.gpus)},
                    {"summary", summary}};
  return all.dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool looks_like_outcome(std::string const& path) {
  return first_bytes(path, kBegin.size()) == kBegin;
}

void OutcomeFile::open(bool creates) {
  if (path_.empty()) return;
  if (creates && path_ != "-") {
    replace<UserError>(path_, padded_to(to_json({}), kRoom));
  }
  open_ = true;
}

void OutcomeFile::write(RunOutcome const& outcome) {
  if (!open_) return;
  if (path_ == "-") {
    out_ << to_json(outcome) << "\n" << std::flush;
    return;
  }
  try {
    replace<RunError>(path_, to_json(outcome) + "\n");
  } catch (RunError const&) {
    // A failed run must not appear as running, even on a full disk.
    if (outcome.end_reason != "failed" || !overwrite(path_, outcome)) throw;
  }
}

}  // namespace farfault::cli
