// SPDX-License-Identifier: Apache-2.0
// Tables of sweeps by hand, with figures whose ratios are exact.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "farfault/results/sweep.hpp"

namespace sweep_tables {

using Texts = std::vector<std::string>;
using Counts = std::vector<std::uint64_t>;

inline farfault::results::SweepColumn parameter(std::string key, Texts values, std::string with = {}) {
  return {.name = std::move(key),
          .role = "parameter",
          .unit = "1",
          .text = "A parameter",
          .values = std::move(values),
          .varies_with = std::move(with)};
}
inline farfault::results::SweepColumn parameter(std::string key, Counts values) {
  return {.name = std::move(key),
          .role = "parameter",
          .unit = "1",
          .text = "A parameter",
          .values = std::move(values)};
}
inline farfault::results::SweepColumn figure(std::string name, std::string unit, Counts values) {
  return {.name = std::move(name),
          .role = "figure",
          .unit = std::move(unit),
          .text = "A figure",
          .values = std::move(values)};
}

// A list of three workloads, and two policies each: speedups 2, 4 and 8 of `bypass`.
inline farfault::results::SweepTable workloads() {
  farfault::results::SweepTable t;
  t.runs = {
      {"name", "", "1", "Name", Texts{"bfs", "bfs", "stream", "stream", "spmv", "spmv"}},
      {"state", "", "1", "State", Texts(6, "done")},
      parameter("policy", Texts{"distributed", "bypass", "distributed", "bypass", "distributed", "bypass"}),
      figure("end", "ps", {8000, 4000, 4000, 1000, 16000, 2000}),
      figure("walks", "1", {10, 5, 0, 3, 4, 0}),
      parameter("workload.name", Texts{"bfs", "bfs", "stream", "stream", "spmv", "spmv"}, "name"),
      parameter("workload.bfs.scale", Texts{"12", "12", "", "", "", ""}, "name")};
  return t;
}

inline farfault::results::SweepColumn& column(farfault::results::SweepTable& table, std::string const& name) {
  for (auto& c : table.runs)
    if (c.name == name) return c;
  throw std::out_of_range(name);
}
inline void set(farfault::results::SweepTable& table, std::string const& name, std::size_t run,
                std::string const& text) {
  std::get<Texts>(column(table, name).values).at(run) = text;
}
inline void set(farfault::results::SweepTable& table, std::string const& name, std::size_t run,
                std::uint64_t count) {
  std::get<Counts>(column(table, name).values).at(run) = count;
}

}  // namespace sweep_tables
