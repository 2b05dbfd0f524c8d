// SPDX-License-Identifier: Apache-2.0
#include "run_outcome.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBegin = R"({"kind":"run",)";

Json or_null(std::string const& text) {
  return text.empty() ? Json() : Json(text);
}

// Throws E.
template <class E>
void replace(std::string const& path, std::string const& text) {
  auto const writing = path + ".writing";
  auto const fail = [&] {
    std::string const why = std::strerror(errno);
    std::remove(writing.c_str());
    throw E("cannot write '" + path + "': " + why);
  };
  std::ofstream file(writing, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file) fail();
  file.close();
  if (!file || std::rename(writing.c_str(), path.c_str()) != 0) fail();
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
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool looks_like_outcome(std::string const& path) {
  std::string begin(kBegin.size(), ' ');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file && begin == kBegin;
}

void OutcomeFile::open(bool creates) {
  if (path_.empty()) return;
  if (creates && path_ != "-") {
    check_not_a_link(path_ + ".writing");
    replace<UserError>(path_, to_json({}) + "\n");
  }
  open_ = true;
}

void OutcomeFile::write(RunOutcome const& outcome) {
  if (!open_) return;
  if (path_ == "-")
    out_ << to_json(outcome) << "\n" << std::flush;
  else
    replace<RunError>(path_, to_json(outcome) + "\n");
}

}  // namespace farfault::cli
