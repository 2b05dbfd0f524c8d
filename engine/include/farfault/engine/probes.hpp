// SPDX-License-Identifier: Apache-2.0
// Statistics and their descriptions.
//
// - Declaration: once, in the static list() of a component's State, or of the struct that holds its counters.
//   The value is a plain integer there.
// - counter: never decreases. level: the value at the time of the sample. histogram: `bins` counters, in the
//   bins of histogram.hpp.
// - Ratios are not stored: compute them from the results.
// - A statistic that exists only in some configurations names the property of the component's Spec:
//   Stat<State>{...}.only_when<&Spec::in_batches>().
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/engine/histogram.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

enum class StatKind : std::uint8_t { counter, level, histogram };

// Its texts are literals: a large machine repeats them for many components.
struct StatInfo {
  std::string_view name;  // "hits": also the name of the dataset
  std::string_view unit;  // "count", "ps", "bytes"
  std::string_view text;  // one sentence
  StatKind kind = StatKind::counter;
  std::uint32_t bins = 1;   // values per sample: 1, except for histograms
  bool summed = false;      // stored as the sum over the components of this kind on a device
  bool in_summary = false;  // of a level: included in the summary, because its last value is meaningful
  std::uint32_t first_octave = kBinsPerOctaveLog2;  // of a histogram: Histogram::kFirst
};
static_assert(std::is_trivially_copyable_v<StatInfo>, "copied for each component of a machine");

namespace detail {

template <class T>
struct OwnerOf;
template <class T, class Owner>
struct OwnerOf<T Owner::*> {
  using type = Owner;
};
// Its address stands for a type in a constant expression.
template <class T>
inline constexpr char kTypeMark = 0;

}  // namespace detail

// One statistic of a State: its description and how to read its value. A histogram, declared with
// of_histogram(), has `bins` values; its unit is that of the counted values. Its texts are literals: they
// outlive every result.
template <class State>
struct Stat {
  std::string_view name;
  std::string_view unit;
  std::string_view text;
  StatKind kind;
  std::uint64_t (*value)(State const&);
  std::uint32_t bins = 1;
  std::span<std::uint64_t const> (*histogram)(State const&) = nullptr;
  bool summed = false;
  bool in_summary = false;
  bool (*condition)(void const* spec) = nullptr;
  void const* spec_type = nullptr;
  std::uint32_t first_octave = kBinsPerOctaveLog2;

  // A Histogram in the State: `of` is a lambda without captures that returns it.
  template <class Of>
  static constexpr Stat of_histogram(std::string_view name, std::string_view unit, std::string_view text,
                                     Of /*of*/) {
    using Kind = std::remove_cvref_t<std::invoke_result_t<Of, State const&>>;
    return {.name = name,
            .unit = unit,
            .text = text,
            .kind = StatKind::histogram,
            .value = nullptr,
            .bins = Kind::kBins,
            .histogram = [](State const& state) { return std::span<std::uint64_t const>(Of{}(state).bins); },
            .first_octave = Kind::kFirst};
  }
  StatInfo info() const {
    return {.name = name,
            .unit = unit,
            .text = text,
            .kind = kind,
            .bins = bins,
            .summed = summed,
            .in_summary = in_summary,
            .first_octave = first_octave};
  }
  constexpr Stat stored_summed() const {
    auto s = *this;
    s.summed = true;
    return s;
  }
  constexpr Stat stored_in_summary() const {
    auto s = *this;
    s.in_summary = true;
    return s;
  }
  // It exists only in components with a Spec for which this member, a flag or a function, is true.
  template <auto Member>
  constexpr Stat only_when() const {
    using Spec = typename detail::OwnerOf<decltype(Member)>::type;
    auto s = *this;
    s.condition = [](void const* spec) -> bool {
      return std::invoke(Member, *static_cast<Spec const*>(spec));
    };
    s.spec_type = &detail::kTypeMark<Spec>;
    return s;
  }
  template <class Spec>
  bool exists(Spec const& spec) const {
    if (condition == nullptr) return true;
    FF_CHECK(spec_type == &detail::kTypeMark<Spec>,
             "statistic " + std::string(name) + " depends on another component's Spec");
    return condition(&spec);
  }
  // Writes its value or bins at `out`, or adds them to the values there; returns the next place.
  std::uint64_t* write(State const& state, std::uint64_t* out) const {
    if (kind == StatKind::histogram) return std::ranges::copy(histogram(state), out).out;
    *out = value(state);
    return out + 1;
  }
  std::uint64_t* add(State const& state, std::uint64_t* out) const {
    if (kind != StatKind::histogram) {
      *out += value(state);
      return out + 1;
    }
    for (auto const count : histogram(state)) *out++ += count;
    return out;
  }
};

// The statistics of one component that are stored together, as /timeseries/<kind>.
struct StatGroup {
  std::string kind;
  std::vector<StatInfo> stats;
  std::string application = {};  // the application counted; empty: all

  std::size_t values() const {  // per sample of one instance
    std::size_t n = 0;
    for (auto const& s : stats) n += s.bins;
    return n;
  }
};

// A part of a State with its own statistics. sample() adds its values to the values in `out`.
class StatSource {
 public:
  virtual ~StatSource() = default;
  virtual void sample(std::uint64_t* out) const = 0;

 protected:
  StatSource() = default;
  StatSource(StatSource const&) = default;
  StatSource(StatSource&&) = default;
  StatSource& operator=(StatSource const&) = default;
  StatSource& operator=(StatSource&&) = default;
};

// True for the coordinates of a group in a result (bin, bin_2, ... of histograms), which no statistic may be
// named after: all names that start with "bin" are reserved.
inline bool is_coordinate(std::string_view name) {
  return name == "time_ps" || name == "instance" || name == "application" || name.starts_with("bin");
}

// The same statistics of all components of a kind: /timeseries/<kind>/<statistic>[time, instance].
struct SeriesGroup {
  std::string kind;                    // "l2_tlb"
  std::vector<std::string> instances;  // component paths, in declaration order: "gpu0.l2_tlb"; for one
                                       // application, followed by its name: "gpu0.l2_tlb/bfs"
  std::vector<StatInfo> stats;
  std::vector<std::string> applications = {};  // by instance, if each counts one application
  std::uint32_t every = 1;  // stored in each n-th sample from the first one, and in the last
};

enum class ColumnType : std::uint8_t { u64, i64, text };

struct ColumnInfo {
  std::string name;
  std::string unit;
  std::string text;
  ColumnType type = ColumnType::u64;
};

// /tables/<name>: one row per occurrence (a kernel, a fault batch).
struct TableInfo {
  std::string name;
  std::string text;
  std::vector<ColumnInfo> columns;
};

}  // namespace farfault
