// Statistics, as described to readers of the results.
//
// A component declares each statistic once; the value is a plain integer in its State. A counter only grows,
// a level is a momentary amount, a histogram is `bins` counters whose bin b counts values in [2^(b-1), 2^b)
// (bin 0: zero). Ratios are left to the reader of the results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/engine/time.hpp"

namespace farfault {

enum class StatKind : std::uint8_t { counter, level, histogram };

struct StatInfo {
  std::string name;  // "hits": also the name of the dataset
  std::string unit;  // "count", "ps", "bytes"
  std::string text;  // one sentence
  StatKind kind = StatKind::counter;
  std::uint32_t bins = 1;  // values a sample holds: 1, except for histograms
};

// All components of one kind: /timeseries/<kind>/<metric>[time, instance].
struct SeriesGroup {
  std::string kind;                    // "l2_tlb"
  std::vector<std::string> instances;  // component paths, in declaration order: "gpu0.l2_tlb"
  std::vector<StatInfo> stats;
};

enum class ColumnType : std::uint8_t { u64, i64, text };

struct ColumnInfo {
  std::string name;
  std::string unit;
  std::string text;
  ColumnType type = ColumnType::u64;
};

// /tables/<name>: one row for each occurrence of something (a kernel, a fault batch).
struct TableInfo {
  std::string name;
  std::string text;
  std::vector<ColumnInfo> columns;
};

}  // namespace farfault
