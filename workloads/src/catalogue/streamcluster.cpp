// SPDX-License-Identifier: Apache-2.0
// Streamcluster of Rodinia: clustering by local search. For each candidate centre one kernel (pgain) computes
// the saving of every point, one thread per point.
//
// Thread 0 of a block reads the candidate's coordinates into shared memory, each from another row of the
// array, which is stored dimension by dimension. After a barrier all threads read their point's coordinates,
// coalesced, and sum the squared distance. A point that is nearer to the candidate than to its centre then
// marks itself and adds to the last entry of its row of `work`; any other point reads the index of its
// centre's entry and adds there. The path of a thread, the number of centres and the candidates are from the
// real search on generated points. Before each kernel the program clears `work` and the marks and copies the
// points again, which is omitted here.
//
// Counts: a coordinate of the candidate takes its address; a coordinate of a point takes a difference, a
// multiply-add and its address. Address computation and registers are assumed.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_input.hpp"
#include "spec_builder.hpp"
#include "streamcluster_search.hpp"

namespace farfault::workloads::streamcluster {
namespace {

// A point in memory: weight, a pointer of 8 bytes, the centre's number, the cost.
constexpr std::uint64_t kPoint = 32;
constexpr std::uint64_t kWeight = 0;
constexpr std::uint64_t kCentre = 16;
constexpr std::uint64_t kCost = 24;

struct Spec {
  std::uint64_t points = 16'384;
  std::uint32_t dimensions = 64;
  std::uint32_t fewest = 10;
  std::uint32_t most = 20;
  std::uint32_t evaluations = 12;
  std::uint32_t block = 512;

  void describe(ParamTable& t) {
    t.count("points", points, {32, 1ULL << 24},
            "Points of the stream's single chunk, a multiple of `block` (Rodinia: 65536)", "assumed");
    t.count("dimensions", dimensions, {1, 4096}, "Coordinates per point (Rodinia: 256)", "assumed");
    t.count("fewest", fewest, {2, 4096}, "Minimum centres", "Rodinia, streamcluster");
    t.count("most", most, {2, 4096}, "Maximum centres", "Rodinia, streamcluster");
    t.count("evaluations", evaluations, {1, 100'000},
            "Maximum evaluated candidates, one kernel each (a complete search of 4096 points with 256 "
            "coordinates: 1611)",
            "assumed");
    t.count("block", block, {32, 1024}, "Threads per block, a multiple of the warp width",
            "Rodinia, streamcluster");
  }
};

struct Buffers {
  VirtAddr points = 0, coordinates = 0, work = 0, table = 0, marks = 0;
};

class Gain final : public LinearKernel {
 public:
  Gain(KernelShape shape, std::uint32_t warp_width, Spec const& spec, Buffers const& at,
       std::shared_ptr<Evaluation const> evaluation)
      : LinearKernel(std::move(shape), warp_width, spec.points),
        dimensions_(spec.dimensions),
        at_(at),
        evaluation_(std::move(evaluation)) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 5);
    // Block from both dimensions of the grid, thread; test for the first thread of the block.
    if (step-- == 0) return set_compute(out, {.vector = 5, .special = 2, .scalar = 8}, kWait);
    auto const t = threads(block, warp);
    if (t.lanes == 0) return set_end(out);
    auto const row = 4 * items();
    if (warp == 0) {
      if (step < std::uint64_t{2} * dimensions_) {
        if (step % 2 == 0)
          return set_uniform(out, Op::load, 4,
                             at_.coordinates + step / 2 * row + 4ULL * evaluation_->candidate);
        return set_compute(out, {.vector = 2, .scalar = 2, .shared = 1}, kWait);  // address, loop
      }
      step -= std::uint64_t{2} * dimensions_;
    }
    if (step-- == 0) return set_barrier(out);
    if (step < std::uint64_t{2} * dimensions_) {
      if (step % 2 == 0)
        return set_linear(out, Op::load, 4, at_.coordinates + step / 2 * row + 4 * t.first, 4, t.lanes);
      // The candidate's coordinate, difference, multiply-add, address, loop.
      return set_compute(out, {.vector = 4, .scalar = 2, .shared = 1}, kWait);
    }
    finish(step - std::uint64_t{2} * dimensions_, t, out);
  }

 private:
  // The steps after the distance.
  void finish(std::uint64_t step, ThreadRange t, WarpInstruction& out) const {
    auto const first = at_.points + kPoint * t.first;
    switch (step) {
      case 0:
        return set_linear(out, Op::load, 4, first + kWeight, kPoint, t.lanes);
      case 1:
        return set_linear(out, Op::load, 4, first + kCost, kPoint, t.lanes);
      case 2:  // product, comparison, row of `work`
        return set_compute(out, {.vector = 6, .special = 1, .scalar = 2}, kWait);
      default:
        step -= 3;
    }
    std::uint64_t nearer = 0;
    for (std::uint32_t i = 0; i < t.lanes; ++i)
      nearer |= std::uint64_t{evaluation_->switches[t.first + i]} << i;
    auto const others = low_lanes(t.lanes) & ~nearer;
    if (nearer != 0) {
      switch (step) {
        case 0:
          set_linear(out, Op::store, 1, at_.marks + t.first, 1, t.lanes);
          out.lanes = nearer;
          return;
        case 1:
          return entries(out, Op::load, t, nearer, true);
        case 2:  // the difference, the sum
          return set_compute(out, {.vector = 2, .scalar = 1}, kWait);
        case 3:
          return entries(out, Op::store, t, nearer, true);
        default:
          step -= 4;
      }
    }
    if (others == 0) return set_end(out);
    switch (step) {
      case 0:
        set_linear(out, Op::load, 8, first + kCentre, kPoint, t.lanes);
        out.lanes = others;
        return;
      case 1:
        return set_compute(out, {.vector = 2}, kWait);  // address
      case 2:
        set_access(out, Op::load, 4, others);
        for (std::uint32_t i = 0; i < t.lanes; ++i)
          out.address[i] = at_.table + 4ULL * evaluation_->before->centre[t.first + i];
        return;
      case 3:
        return set_compute(out, {.vector = 2}, kWait);  // address
      case 4:
        return entries(out, Op::load, t, others, false);
      case 5:
        return set_compute(out, {.vector = 2}, kWait);  // the difference, the sum
      case 6:
        return entries(out, Op::store, t, others, false);
      default:
        return set_end(out);
    }
  }

  // An access to the points' rows of `work`: to the candidate's entry, which is the last, or to the entry of
  // their centre.
  void entries(WarpInstruction& out, Op op, ThreadRange t, std::uint64_t lanes, bool candidate) const {
    auto const& before = *evaluation_->before;
    set_access(out, op, 4, lanes);
    for (std::uint32_t i = 0; i < t.lanes; ++i) {
      auto const point = t.first + i;
      auto const entry = candidate ? before.centres : before.number[before.centre[point]];
      out.address[i] = at_.work + 4 * (point * (before.centres + 1ULL) + entry);
    }
  }

  std::uint32_t dimensions_;
  Buffers at_;
  std::shared_ptr<Evaluation const> evaluation_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  check_whole_warps(spec.block, context);
  if (spec.points % spec.block != 0)
    throw ParameterError("points", spec.points, "must be a multiple of block, " + std::to_string(spec.block));
  if (spec.fewest > spec.most)
    throw ParameterError("fewest", spec.fewest,
                         "must not exceed the maximum, most = " + std::to_string(spec.most));
  if (spec.most >= spec.points)
    throw ParameterError("most", spec.most, "must be below points, " + std::to_string(spec.points));
  auto const set = generate_points(spec.points, spec.dimensions, context.seed);
  auto evaluations = search_centres(set, {spec.fewest, spec.most, spec.evaluations}, context.seed);
  std::uint64_t entries = spec.most + 1;  // entries in a row of `work`
  for (auto const& e : evaluations) entries = std::max<std::uint64_t>(entries, e.before->centres + 1);

  BufferLayout layout(context.buffers);
  Buffers at;
  at.coordinates = layout.add("coordinates", 4 * spec.points * spec.dimensions);
  at.points = layout.add("points", kPoint * spec.points);
  at.table = layout.add("centre_table", 4 * spec.points);
  at.work = layout.add("work", 4 * spec.points * entries);
  at.marks = layout.add("switch_membership", spec.points);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (auto& e : evaluations)
    kernels.push_back(std::make_unique<Gain>(
        KernelShape{"pgain", spec.points / spec.block, spec.block, 20, std::uint64_t{4} * spec.dimensions},
        context.warp_width, spec, at, std::make_shared<Evaluation const>(std::move(e))));
  return {"streamcluster", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"streamcluster",
          "Clustering by local search: the saving of a candidate centre (Rodinia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"points", "2048"}, {"dimensions", "32"}}},
           {kMedium, {}},
           {kPaper,
            {{"points", "65536"}, {"dimensions", "256"}},
            "Rodinia, streamcluster, as in Mosaic (MICRO 2017): 65,536 points of 256 coordinates; 12 "
            "candidates"}}};
}

}  // namespace farfault::workloads::streamcluster
