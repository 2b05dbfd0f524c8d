// SPDX-License-Identifier: Apache-2.0
// Movement of a mouse's heart in ultrasound images, from Rodinia (heartwall): a kernel per frame, a block per
// point of the heart's walls, 256 threads. The first frame gives each point a pattern, its surroundings. In
// all other frames a block searches for its pattern in a larger area: products of both at every offset, sums
// of the area and of its squares under the pattern (by sums down padded columns and along rows), deviations,
// correlations, and the maximum correlation near the previous position. Every tenth frame patterns are
// updated, and points move to the positions found. Most time is spent in the products, which read the area
// from memory and the pattern from shared memory.
//
// All frames show the same picture: every point is found at its previous position, so that addresses do not
// depend on the image; in the suite's film points move by a few pixels. Points are on two circles around the
// middle, with radii of 18% and 26% of the shorter side, similar to the suite's. The suite has separate
// arrays for positions and patterns of the inner and the outer wall.
//
// The published code has no barrier between the differences of squares and their sums along rows; this one
// has. Sizes and the arrays' addresses are in constant memory. The order of accesses and the registers are
// from nvcc 13.0 -O3 for sm_75; counts are the source's terms, and address computation is assumed.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "heartwall_phases.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::heartwall {
namespace {

struct Spec {
  std::uint64_t rows = 609;
  std::uint64_t cols = 590;
  std::uint32_t points = 51;
  std::uint32_t pattern_half = 10;
  std::uint32_t search_half = 16;
  std::uint32_t frames = 2;

  void describe(ParamTable& t) {
    t.count("frame_rows", rows, {64, 1ULL << 14}, "Frame rows", "Rodinia, heartwall: test.avi");
    t.count("frame_cols", cols, {64, 1ULL << 14}, "Frame columns", "Rodinia, heartwall: test.avi");
    t.count("points", points, {1, 1U << 16}, "Points of the heart's walls, two fifths on the inner wall",
            "Rodinia, heartwall: 20 and 31");
    t.count("pattern_half", pattern_half, {1, 64},
            "Elements of a pattern on each side of its centre (published: 25)",
            "assumed, smaller than published to shorten runs");
    t.count("search_half", search_half, {1, 128},
            "Elements of the search area on each side of the point (published: 40)",
            "assumed, smaller than published to shorten runs");
    t.count("frames", frames, {1, 1000}, "Frames, one kernel each (Rodinia: 104)",
            "assumed, smaller than published to shorten runs");
  }
};

struct Run {
  std::array<VirtAddr, static_cast<std::size_t>(Array::count)> base{};
  std::array<std::uint64_t, static_cast<std::size_t>(Array::count)> pitch{};  // bytes between points
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;  // row and column of each point, from 1
  std::uint64_t frame_rows = 0;
};

// Bounds of a convolution's loop for one coordinate of an element, from 1.
struct Bounds {
  std::uint32_t first, last;
};
Bounds bounds(Phase const& p, std::uint32_t number) {
  auto const j = number + p.offset;
  return {j + 1 > p.second ? j + 1 - p.second : 1, std::min(p.first, j)};
}

class Frame final : public Kernel {
 public:
  Frame(std::uint32_t frame, Sizes const& sizes, std::uint32_t warp_width, std::shared_ptr<Run const> run)
      : shape_{"kernel_frame" + std::to_string(frame), run->places.size(), kThreads, 55, 11'872},
        warp_width_(warp_width),
        side_(sizes.offsets()),
        phases_(phases_of(frame, sizes)),
        run_(std::move(run)) {
    // The first step of each phase per warp, and the rounds of its convolutions.
    for (std::uint32_t warp = 0; warp * warp_width_ < kThreads; ++warp) {
      std::uint64_t step = 2;
      for (auto const& p : phases_) {
        begins_.push_back(step);
        first_round_.push_back(rounds_.size());
        if (p.kind != Kind::convolve) {
          lengths_.push_back(steps(p, warp));
          step += lengths_.back() + p.barrier;
          continue;
        }
        auto const first = step;
        for (std::uint64_t r = 0; r < rounds(p, warp); ++r) {
          rounds_.push_back(loops(p, warp, r));
          rounds_.back().begin = step - first;
          step += 1 + rounds_.back().iterations() * 2 + p.accesses.size();
        }
        lengths_.push_back(step - first);
        step += p.barrier;
      }
    }
  }

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step == 0) return set_arguments(out, 1);
    if (step == 1) return set_compute(out, {.vector = 6, .scalar = 8}, kWait);
    auto const begin = begins_.begin() + static_cast<std::ptrdiff_t>(warp * phases_.size());
    auto const after = std::upper_bound(begin, begin + static_cast<std::ptrdiff_t>(phases_.size()), step);
    auto const number = static_cast<std::size_t>(after - begins_.begin()) - 1;
    auto const& p = phases_[number % phases_.size()];
    step -= begins_[number];
    auto const own = lengths_[number];
    if (step >= own) {
      if (step == own && p.barrier) return set_barrier(out);
      return set_end(out);
    }
    if (p.kind != Kind::convolve) return phase_step(p, block, warp, step, out);
    auto const rounds_end =
        rounds_.begin() + static_cast<std::ptrdiff_t>(first_round_[number] + rounds(p, warp));
    auto const rounds_begin = rounds_.begin() + static_cast<std::ptrdiff_t>(first_round_[number]);
    auto const round = std::prev(
        std::partition_point(rounds_begin, rounds_end, [step](Round const& r) { return r.begin <= step; }));
    convolve_step(p, block, warp, *round, static_cast<std::uint64_t>(round - rounds_begin),
                  step - round->begin, out);
  }

 private:
  std::uint32_t first_thread(std::uint32_t warp) const { return warp * warp_width_; }

  // Number of elements that a thread of the warp processes one after the other.
  std::uint64_t rounds(Phase const& p, std::uint32_t warp) const {
    auto const first = first_thread(warp);
    return first < p.elements ? ceil_div(p.elements - first, kThreads) : 0;
  }

  // The elements that a warp processes side by side in a convolution: the iterations of both loops for the
  // lanes with the most iterations.
  struct Round {
    std::uint64_t begin;  // first step within the phase
    std::uint32_t outer, inner;

    std::uint64_t iterations() const { return std::uint64_t{outer} * inner; }
  };
  Round loops(Phase const& p, std::uint32_t warp, std::uint64_t round) const {
    Round longest{0, 0, 0};
    auto const first = first_thread(warp) + round * kThreads;
    for (auto e = first; e < std::min<std::uint64_t>(first + warp_width_, p.elements); ++e) {
      auto const r = bounds(p, static_cast<std::uint32_t>(e % side_) + 1);
      auto const c = bounds(p, static_cast<std::uint32_t>(e / side_) + 1);
      longest.outer = std::max(longest.outer, c.last + 1 - c.first);
      longest.inner = std::max(longest.inner, r.last + 1 - r.first);
    }
    return longest;
  }

  std::uint64_t steps(Phase const& p, std::uint32_t warp) const {
    switch (p.kind) {
      case Kind::one_thread:
        return warp == 0 ? p.accesses.size() + 1 : 0;
      case Kind::each_warp:
        return p.accesses.size() + 1;
      case Kind::map:
        return rounds(p, warp) * (p.accesses.size() + 1);
      case Kind::walk:
        return rounds(p, warp) * p.positions * (p.accesses.size() + 1);
      default:
        return 0;
    }
  }

  void phase_step(Phase const& p, std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                  WarpInstruction& out) const {
    // Loads, computation, stores.
    auto const count = p.accesses.size() + 1;
    auto const i = step % count;
    std::size_t loads = 0;
    while (loads < p.accesses.size() && p.accesses[loads].op == Op::load) ++loads;
    if (i == loads) return set_compute(out, p.work, kWait);
    auto const& a = p.accesses[i < loads ? i : i - 1];
    auto const wait = p.kind != Kind::map && p.kind != Kind::walk && a.op == Op::store;
    if (p.kind == Kind::walk) {
      auto const position = step / count % p.positions;
      return elements(p, a, block, warp, step / count / p.positions, out,
                      [&](std::uint64_t e) { return e * p.element_step + position * p.position_step; });
    }
    if (a.index == Index::point) return set_uniform(out, a.op, 4, address(a, block, 0), wait);
    elements(p, a, block, warp, step / count, out, [](std::uint64_t e) { return e; });
  }

  // A group of computation, two steps for each iteration, the accesses at the end.
  void convolve_step(Phase const& p, std::uint64_t block, std::uint32_t warp, Round const& loop,
                     std::uint64_t round, std::uint64_t step, WarpInstruction& out) const {
    if (take(step, 1)) return set_compute(out, {.vector = 40, .special = 4, .scalar = 6});
    if (!take(step, 2 * loop.iterations()))
      return elements(p, p.accesses[step], block, warp, round, out, [](std::uint64_t e) { return e; });
    if (step % 2 != 0) return set_compute(out, p.work, kWait);
    auto const o = static_cast<std::uint32_t>(step / 2 / loop.inner),
               u = static_cast<std::uint32_t>(step / 2 % loop.inner);
    auto const first = first_thread(warp) + round * kThreads;
    std::uint64_t lanes = 0;
    for (std::uint32_t lane = 0; lane < warp_width_ && first + lane < p.elements; ++lane) {
      auto const row = static_cast<std::uint32_t>((first + lane) % side_) + 1;
      auto const column = static_cast<std::uint32_t>((first + lane) / side_) + 1;
      auto const r = bounds(p, row), c = bounds(p, column);
      auto const ia = r.first + u, ja = c.first + o;
      if (ia > r.last || ja > c.last) continue;
      // Numbers from 1: in the first window, or the position in the second window below it.
      auto const i = p.reads_second ? row + p.offset + 1 - ia : ia;
      auto const j = p.reads_second ? column + p.offset + 1 - ja : ja;
      lanes |= std::uint64_t{1} << lane;
      out.address[lane] = of_point(p.read, block) +
                          4 * (std::uint64_t{p.reads_second ? p.second : p.first} * (j - 1) + i - 1);
    }
    if (lanes == 0) return set_compute(out, {.scalar = 1});  // the branch around the access
    set_access(out, Op::load, 4, lanes);
  }

  VirtAddr of_point(Array array, std::uint64_t block) const {
    auto const i = static_cast<std::size_t>(array);
    return run_->base[i] + block * run_->pitch[i];
  }

  static constexpr VirtAddr kNowhere = ~VirtAddr{0};

  VirtAddr address(Access const& a, std::uint64_t block, std::uint64_t e) const {
    auto const base = of_point(a.array, block);
    auto const row = a.rows == 0 ? 0 : e % a.rows, column = a.rows == 0 ? 0 : e / a.rows;
    switch (a.index) {
      case Index::window:
        return base + 4 * ((column + a.column) * a.source_rows + row + a.row);
      case Index::image:
        return base + 4 * ((column + run_->places[block].second - a.column) * run_->frame_rows + row +
                           run_->places[block].first - a.row);
      case Index::rotated:
        return base + 4 * ((a.rows - 1 - column) * a.rows + a.rows - 1 - row);
      case Index::padding:
        if (row < a.row || row >= a.row + a.source_rows || column < a.column ||
            column >= a.column + a.source_rows)
          return kNowhere;
        return base + 4 * ((column - a.column) * a.source_rows + row - a.row);
      case Index::point:
        return base + 4 * std::uint64_t{a.row};
      default:
        return base + 4 * e;
    }
  }

  // The elements of a round, each at index(element) of its array, or as the access defines.
  template <class Where>
  void elements(Phase const& p, Access const& a, std::uint64_t block, std::uint32_t warp, std::uint64_t round,
                WarpInstruction& out, Where where) const {
    auto const first = first_thread(warp) + round * kThreads;
    std::uint64_t lanes = 0;
    for (std::uint32_t lane = 0; lane < warp_width_ && first + lane < p.elements; ++lane) {
      auto const to = address(a, block, where(first + lane));
      if (to == kNowhere) continue;
      lanes |= std::uint64_t{1} << lane;
      out.address[lane] = to;
    }
    if (lanes == 0) return set_compute(out, {.scalar = 1});  // the branch around the access
    set_access(out, a.op, 4, lanes);
  }

  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint32_t side_;  // side of the products, column by column
  std::vector<Phase> phases_;
  std::shared_ptr<Run const> run_;
  // Per warp and phase: the first step, the number of steps, and the first round.
  std::vector<std::uint64_t> begins_, lengths_;
  std::vector<std::size_t> first_round_;
  std::vector<Round> rounds_;
};

std::int64_t root_of(std::int64_t square) {
  std::int64_t r = 0;
  while ((r + 1) * (r + 1) <= square) ++r;
  return r;
}

// Two of five points are on an inner circle, the others on an outer one.
std::vector<std::pair<std::uint64_t, std::uint64_t>> places(Spec const& spec) {
  auto const side = static_cast<std::int64_t>(std::min(spec.rows, spec.cols));
  auto const inner = std::max<std::int64_t>(1, spec.points * 2 / 5), all = std::int64_t{spec.points};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> list;
  for (std::int64_t i = 0; i < all; ++i) {
    auto const count = i < inner ? inner : all - inner;
    auto const radius = side * (i < inner ? 18 : 26) / 100;
    // Position along a square rotated by 45 degrees, then projected to the circle.
    constexpr std::int64_t kUnit = 256;
    auto const along = 4 * kUnit * (i < inner ? i : i - inner) / count;
    auto const part = along % kUnit;
    std::int64_t x = kUnit - part, y = part;
    for (auto quarter = along / kUnit; quarter > 0; --quarter) x = std::exchange(y, x), x = -x;
    auto const length = root_of((x * x + y * y) * 10'000);
    list.emplace_back(
        static_cast<std::uint64_t>(static_cast<std::int64_t>(spec.rows / 2) + 100 * radius * x / length),
        static_cast<std::uint64_t>(static_cast<std::int64_t>(spec.cols / 2) + 100 * radius * y / length));
  }
  return list;
}

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Run>();
  run->places = places(spec);
  run->frame_rows = spec.rows;
  auto const margin = std::uint64_t{std::max(spec.pattern_half, spec.search_half)} + 1;
  for (auto const& [row, column] : run->places)
    if (row < margin || column < margin || row + margin > spec.rows || column + margin > spec.cols)
      throw UserError("heartwall: the area of a point at row " + std::to_string(row) + " and column " +
                      std::to_string(column) + " exceeds the frame of " + std::to_string(spec.rows) + " x " +
                      std::to_string(spec.cols) +
                      " pixels; increase frame_rows and frame_cols, or lower pattern_half and search_half");
  Sizes const sizes{spec.pattern_half, spec.search_half, spec.frames};
  BufferLayout layout(context.buffers);
  constexpr std::uint64_t kPiece = 512;  // granularity of separate arrays in bytes; assumed
  char const* const names[] = {
      "frame", "row",           "column",  "row_found", "column_found", "pattern", "pattern_squared",
      "area",  "area_squared",  "product", "padded",    "padded_low",   "sums",    "sums_low",
      "local", "local_squared", "mask",    "masked"};
  for (std::size_t i = 0; i < run->base.size(); ++i) {
    auto const array = static_cast<Array>(i);
    auto const own = bytes_of(array, sizes);
    // Positions and patterns of all points share one array.
    auto const pitch = i <= static_cast<std::size_t>(Array::pattern) ? own : ceil_div(own, kPiece) * kPiece;
    if (array == Array::frame) {
      run->base[i] = layout.add(names[i], 4 * spec.rows * spec.cols);
      continue;
    }
    run->pitch[i] = pitch;
    bool const given = array == Array::row || array == Array::column;
    auto const bytes = pitch * spec.points;
    run->base[i] = given ? layout.add(names[i], bytes) : layout.add_result(names[i], bytes);
  }
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t f = 0; f < spec.frames; ++f)
    kernels.push_back(std::make_unique<Frame>(f, sizes, context.warp_width, run));
  return {"heartwall", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"heartwall",
          "Tracking of points on a heart's walls by correlation, one block per point (Rodinia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"pattern_half", "5"}, {"search_half", "8"}, {"frames", "1"}}},
           {kMedium, {}},
           {kPaper,
            {{"pattern_half", "25"}, {"search_half", "40"}, {"frames", "104"}},
            "Rodinia, heartwall, as in TLB compression (PACT 2020): 51^2 in 81^2, 104 frames"}}};
}

}  // namespace farfault::workloads::heartwall
