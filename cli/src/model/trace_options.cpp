// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/trace_options.hpp"

#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::cli {

namespace {

std::vector<std::string> parts_of(std::string const& text) {
  std::vector<std::string> parts(1);
  for (auto const c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

Time time_of(std::string const& text) {
  try {
    return Time{parse_duration(text)};
  } catch (UnitError const& e) {
    throw UserError(std::string("--trace ") + e.what());
  }
}

}  // namespace

TraceOptions trace_window(std::string const& text) {
  auto parts = parts_of(text);
  if (parts.size() < 2)
    throw UserError("--trace '" + shown(text) + "' is not a time window; write two times, such as 10us,20us");
  TraceOptions trace;
  trace.from = time_of(parts[0]);
  trace.to = time_of(parts[1]);
  if (trace.to <= trace.from) throw UserError("--trace '" + shown(text) + "' must end after its start");
  for (auto p = parts.begin() + 2; p != parts.end(); ++p) {
    if (p->empty()) throw UserError("--trace '" + shown(text) + "' contains an empty component name");
    trace.components.push_back(std::move(*p));
  }
  return trace;
}

std::string text_of(TraceOptions const& trace) {
  auto text = to_text(trace.from.time_since_epoch()) + "," + to_text(trace.to.time_since_epoch());
  for (auto const& component : trace.components) text += "," + component;
  return text;
}

bool path_matches(std::string_view pattern, std::string_view path) {
  if (pattern.find_first_of("*?") == pattern.npos)
    return path == pattern || (path.starts_with(pattern) && path[pattern.size()] == '.');
  // Only the last star needs backtracking.
  std::size_t p = 0;
  std::size_t star = pattern.npos;
  std::size_t after = 0;
  for (std::size_t i = 0; i < path.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = i;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == path[i])) {
      ++p;
      ++i;
    } else if (star != pattern.npos) {
      p = star + 1;
      i = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace farfault::cli
