// SPDX-License-Identifier: Apache-2.0
// Counters of a component kept separately for each application, declared once.
//
//   struct Counts {
//     std::uint64_t hits = 0;
//     static std::span<Stat<Counts> const> list();  // name, unit, text and value of each
//   };
//   struct State { ByApplication<Counts> counts; };   // ++state.counts[application].hits
//   ApplicationStats application_stats() const override {
//     return counted_by_application<&State::counts>(spec().applications);  // their names
//   }
//
// - The component's own statistics have the sum of each counter over all applications. If there are several
//   applications, their counters are additional statistics (Component::stat_groups).
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/engine/probes.hpp"

namespace farfault {

// Counts must be plain counters, with a list() of all of them. Applications are numbered from 0.
template <class Counts>
class ByApplication {
 public:
  using Of = Counts;

  ByApplication() = default;
  explicit ByApplication(std::uint32_t applications) : others_(applications == 0 ? 0 : applications - 1) {}

  // At least 1, also for ByApplication(0).
  std::uint32_t size() const { return static_cast<std::uint32_t>(others_.size()) + 1; }
  Counts& operator[](std::uint32_t application) {
    FF_INVARIANT(application < size(), "application index out of range");
    return application == 0 ? first_ : others_[application - 1];
  }
  Counts const& operator[](std::uint32_t application) const {
    return application == 0 ? first_ : others_[application - 1];
  }
  // Sum over all applications.
  std::uint64_t total(std::uint64_t Counts::*counter) const {
    auto sum = first_.*counter;
    for (auto const& other : others_) sum += other.*counter;
    return sum;
  }

  auto members() { return std::tie(first_, others_); }

 private:
  Counts first_{};  // of application 0, stored inline because most runs have one application
  std::vector<Counts> others_;
};

// Counters by stream number, declared with the application of each stream:
//   return counted_by_application<&State::counts>(names, application_of_stream);
template <class Counts>
using ByStream = ByApplication<Counts>;

}  // namespace farfault
