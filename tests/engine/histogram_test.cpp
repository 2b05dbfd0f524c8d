// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/histogram.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "farfault/engine/probes.hpp"

namespace histogram_test {

using namespace farfault;

namespace {

using Small = Histogram<3, 6>;
using FromOctave5 = Histogram<5, 7>;

template <class H>
std::vector<std::uint64_t> edges_of() {
  return bin_edges(H::kBins, H::kFirst);
}

// Every value up to `last` is in the bin whose edges contain it.
template <class H>
bool agree_up_to(std::uint64_t last) {
  auto const edges = edges_of<H>();
  for (std::uint64_t v = 0; v <= last; ++v)
    if (std::ptrdiff_t{H::bin_of(v)} != std::ranges::upper_bound(edges, v) - edges.begin() - 1) return false;
  return true;
}

}  // namespace

TEST_CASE("integers below 8 have a bin each, and later octaves have 8 bins each") {
  CHECK(edges_of<Small>() == std::vector<std::uint64_t>{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                        11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26,
                                                        28, 30, 32, 36, 40, 44, 48, 52, 56, 60, 64});
  CHECK(agree_up_to<Small>(70));
}

TEST_CASE("8 bins of equal width precede the first octave") {
  CHECK(edges_of<FromOctave5>() == std::vector<std::uint64_t>{0,  4,  8,  12,  16,  20,  24, 28, 32,
                                                              36, 40, 44, 48,  52,  56,  60, 64, 72,
                                                              80, 88, 96, 104, 112, 120, 128});
  CHECK(agree_up_to<FromOctave5>(140));
}

TEST_CASE("the last bin has all larger values") {
  Small h;
  for (auto const v :
       {std::uint64_t{63}, std::uint64_t{64}, std::uint64_t{65}, std::numeric_limits<std::uint64_t>::max()})
    h.add(v);
  h.add(2, 10);
  CHECK(h.bins[Small::kBins - 2] == 1);
  CHECK(h.bins[Small::kBins - 1] == 3);
  CHECK(h.bins[2] == 10);
}

TEST_CASE("latencies and depths have edges up to 4.2 ms and 1,024") {
  CHECK(LatencyHistogram::kBins == 161);
  CHECK(edges_of<LatencyHistogram>().back() == 1U << 22);
  CHECK(agree_up_to<LatencyHistogram>(100'000));
  CHECK(DepthHistogram::kBins == 65);
  CHECK(edges_of<DepthHistogram>().back() == 1024);
  CHECK(agree_up_to<DepthHistogram>(2000));
}

TEST_CASE("a bin is at most an eighth as wide as its smallest value, from the first octave on") {
  auto const edges = edges_of<Histogram<10, 34>>();
  CHECK(edges.size() == 201);
  for (std::size_t b = kBinsPerOctave; b + 1 < edges.size(); ++b)
    CHECK((edges[b + 1] - edges[b]) * kBinsPerOctave <= edges[b]);
}

TEST_CASE("a statistic of a histogram declares its bins and writes their counts") {
  struct State {
    FromOctave5 waits;
  };
  auto const stat = Stat<State>::of_histogram(
      "waits", "ns", "Waits", [](State const& s) -> auto const& { return s.waits; });
  CHECK(stat.info().kind == StatKind::histogram);
  CHECK(stat.info().bins == FromOctave5::kBins);
  CHECK(stat.info().first_octave == 5);
  State state;
  state.waits.add(70, 3);
  std::vector<std::uint64_t> out(FromOctave5::kBins + 1, 7);
  CHECK(stat.write(state, out.data()) == out.data() + FromOctave5::kBins);
  CHECK(out[FromOctave5::bin_of(70)] == 3);
  CHECK(std::ranges::count(out, std::uint64_t{0}) == std::ptrdiff_t{FromOctave5::kBins} - 1);
  CHECK(out.back() == 7);
  CHECK(stat.add(state, out.data()) == out.data() + FromOctave5::kBins);
  CHECK(out[FromOctave5::bin_of(70)] == 6);
}

TEST_CASE("a latency is counted in whole nanoseconds") {
  CHECK(nanoseconds_of(Duration{0}) == 0);
  CHECK(nanoseconds_of(Duration{999}) == 0);
  CHECK(nanoseconds_of(Duration{1000}) == 1);
  CHECK(nanoseconds_of(Duration{1'999'999}) == 1999);
}

}  // namespace histogram_test
