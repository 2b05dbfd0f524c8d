// SPDX-License-Identifier: Apache-2.0
#include "unused_keys.hpp"

#include <fmt/format.h>

#include "farfault/engine/error.hpp"
#include "model/unused_settings.hpp"

namespace farfault::cli {

void UnusedKeys::note(std::vector<std::string> const& varied, std::vector<std::string> const& common,
                      Config const* config) {
  for (auto const& name : varied) note(name, true, config);
  for (auto const& name : common) note(name, false, config);
}

void UnusedKeys::note(std::string const& name, bool varies, Config const* config) {
  auto const [number, fresh] = numbers_.try_emplace(name, keys_.size());
  if (fresh) keys_.push_back({name, varies});
  auto& key = keys_[number->second];
  ++key.runs;
  auto const found = config == nullptr ? std::nullopt : config->find_unused(name);
  if (found && key.unused++ == 0) key.first = *found;
}

void UnusedKeys::refuse() const {
  std::string lines;
  for (auto const& key : keys_)
    if (key.varies && key.unused == key.runs)
      lines += fmt::format("{}{}: {} varies but has no effect in any run: {}", lines.empty() ? "" : "\n",
                           one_line(key.first.place), key.name, reason_of(key.first));
  if (!lines.empty()) throw ConfigErrors(lines);
}

std::vector<std::string> UnusedKeys::warnings() const {
  std::vector<std::string> all;
  for (auto const& key : keys_) {
    if (key.unused == 0 || (!key.varies && key.unused < key.runs)) continue;
    all.push_back(fmt::format(
        "{} ({}) has no effect in {}: {}", key.name, one_line(key.first.place),
        key.varies ? fmt::format("{} of the {} runs that set it", key.unused, key.runs) : "any run",
        reason_of(key.first)));
  }
  return all;
}

}  // namespace farfault::cli
