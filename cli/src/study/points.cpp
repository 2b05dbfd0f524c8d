// SPDX-License-Identifier: Apache-2.0
#include "points.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

// In TOML syntax: values other than numbers are quoted. Quantities need no escapes.
StudyValue drawn(RandomAxis const& axis, std::uint64_t bits) {
  if (!axis.range) return axis.choices[below(axis.choices.size(), bits)];
  auto const text = axis.range->value(bits);
  switch (axis.range->quantity()) {
    case RandomRange::Quantity::count:
      return {text, text, ValueKind::count};
    case RandomRange::Quantity::number:
      return {text, text, ValueKind::number};
    default:
      return {"\"" + text + "\"", text, ValueKind::text};
  }
}

}  // namespace

std::string text_of(std::vector<StudySetting> const& settings) {
  std::string text;
  for (auto const& s : settings)
    text += (text.empty() ? "" : ", ") + shown(s.key) + " = " + shown(s.value.text);
  return text;
}

Points::Points(Study const& study) : study_(study), seeds_(std::max<std::uint64_t>(study.seeds.size(), 1)) {
  auto const add_key = [&](std::string const& key) {
    if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) keys_.push_back(key);
  };
  auto const times = [&](std::uint64_t n) {
    // At most kMax^2 before the check.
    if (n != 0) count_ *= n;
    if (count_ > kMax)
      throw UserError(
          fmt::format("{}: the study has more than {} runs, the maximum", one_line(study.path), kMax));
  };
  for (auto const& point : study.list)
    for (auto const& setting : point.settings) add_key(setting.key);
  of_list_ = keys_.size();
  times(study.list.size());
  for (auto const& axis : study.random) add_key(axis.key);
  times(study.samples);
  for (auto const& axis : study.grid) {
    add_key(axis.key);
    times(axis.values.size());
  }
  if (!study.seeds.empty()) add_key(kSeedKey);
  times(study.seeds.size());
}

StudyPoint const* Points::point_of(std::uint64_t number) const {
  return study_.list.empty() ? nullptr : &study_.list[number / (count_ / study_.list.size())];
}

std::string Points::name(std::uint64_t number) const {
  auto const* point = point_of(number);
  return point == nullptr ? std::string() : point->name;
}

double Points::cost(std::uint64_t number) const {
  auto const* point = point_of(number);
  return point == nullptr ? 1 : point->cost;
}

std::vector<StudySetting> Points::settings(std::uint64_t number) const {
  auto left = number;
  auto const digit = [&](std::uint64_t n) {
    auto const d = left % n;
    left /= n;
    return d;
  };
  auto const seed = digit(seeds_);
  std::vector<std::uint64_t> places(study_.grid.size());
  for (auto axis = study_.grid.size(); axis-- > 0;) places[axis] = digit(study_.grid[axis].values.size());
  auto const sample = digit(std::max<std::uint64_t>(study_.samples, 1));

  std::vector<StudySetting> all;
  if (auto const* point = point_of(number)) {
    auto const& own = point->settings;
    for (std::size_t key = 0; key < of_list_; ++key) {
      auto const is_key = [&](StudySetting const& s) { return s.key == keys_[key]; };
      auto const at = std::find_if(own.begin(), own.end(), is_key);
      if (at != own.end()) all.push_back(*at);
    }
  }
  for (auto const& axis : study_.random)
    all.push_back({axis.key, drawn(axis, draw_bits(study_.random_seed, sample, axis.key)), axis.line});
  for (std::size_t axis = 0; axis < places.size(); ++axis)
    all.push_back({study_.grid[axis].key, study_.grid[axis].values[places[axis]], study_.grid[axis].line});
  if (!study_.seeds.empty()) {
    auto const text = std::to_string(study_.seeds[seed]);
    all.push_back({kSeedKey, {text, text, ValueKind::count}, study_.seeds_line});
  }
  return all;
}

}  // namespace farfault::cli
