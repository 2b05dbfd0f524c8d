// SPDX-License-Identifier: Apache-2.0
// K-means of Hetero-Mark: one kernel transposes the points (swap), then one kernel per round finds each
// point's nearest centre; the host moves the centres between rounds.
//
// The number of rounds is that of the real algorithm on points generated from the seed, up to `max_rounds`.
// Only this number depends on the data; the addresses of a round do not. The host clusters at most `sample`
// points, so that a large workload is built quickly.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "kmeans_cluster.hpp"
#include "random.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::kmeans {
namespace {

struct Spec {
  ByteSize size{64ULL << 20};
  std::uint32_t features = 32;
  std::uint32_t clusters = 5;
  std::uint32_t max_rounds = 5;
  std::uint64_t sample = 4096;
  std::uint32_t block = 64;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{1024}, ByteSize{1ULL << 40}},
            "Total size of points, transposed points and memberships; determines the number of points",
            "GMMU Bypass (NPC 2020), Table 2");
    t.count("features", features, {1, 4096}, "Coordinates per point", "MGPUSim, KMeans");
    t.count("clusters", clusters, {1, 4096}, "Clusters", "MGPUSim, KMeans");
    t.count("max_rounds", max_rounds, {1, 10'000}, "Maximum rounds", "MGPUSim, KMeans");
    t.count("sample", sample, {1, 1ULL << 24}, "Points clustered by the host to find the number of rounds",
            "assumed");
    t.count("block", block, {1, 1024}, "Threads per block", "MGPUSim, KMeans");
  }
};

// Vector instructions for the addresses of one moved coordinate.
constexpr std::uint32_t kMove = 14;

class Swap final : public LinearKernel {
 public:
  Swap(KernelShape shape, std::uint32_t warp_width, std::uint64_t points, std::uint32_t features,
       VirtAddr feature, VirtAddr swapped)
      : LinearKernel(std::move(shape), warp_width, points),
        features_(features),
        feature_(feature),
        swapped_(swapped) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 4);
    auto const t = threads(block, warp);
    if (step == 0)  // index, compare (4 vector, 5 scalar); row address
      return set_compute(out, {.vector = t.lanes ? 5U : 4U, .special = t.lanes ? 1U : 0U, .scalar = 5},
                         kWait);
    auto const f = (step - 1) / 3;
    if (t.lanes == 0 || f >= features_) return set_end(out);
    switch ((step - 1) % 3) {
      case 0:
        return set_linear(out, Op::load, 4, feature_ + 4 * (t.first * features_ + f),
                          std::uint64_t{4} * features_, t.lanes);
      case 1:
        return set_linear(out, Op::store, 4, swapped_ + 4 * (f * items() + t.first), 4, t.lanes, kWait);
      default:
        return set_compute(out, {.vector = kMove, .scalar = 2});  // addresses, loop
    }
  }

 private:
  std::uint32_t features_;
  VirtAddr feature_, swapped_;
};

class Distance final : public LinearKernel {
 public:
  Distance(KernelShape shape, std::uint32_t warp_width, std::uint64_t points, Spec const& spec,
           VirtAddr swapped, VirtAddr centres, VirtAddr membership)
      : LinearKernel(std::move(shape), warp_width, points),
        features_(spec.features),
        clusters_(spec.clusters),
        swapped_(swapped),
        centres_(centres),
        membership_(membership) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 6);
    auto const t = threads(block, warp);
    if (step == 0)  // index, compare (3 vector, 4 scalar), first distance and addresses
      return set_compute(out, {.vector = t.lanes ? 14U : 3U, .scalar = t.lanes ? 10U : 4U}, kWait);
    if (t.lanes == 0) return set_end(out);
    auto const body = step - 1;
    // One cluster: per feature two loads and the sum; at the end the comparison.
    auto const per_cluster = std::uint64_t{3} * features_ + 1;
    auto const c = body / per_cluster;
    if (c < clusters_) {
      auto const in_cluster = body - c * per_cluster;
      if (in_cluster == per_cluster - 1)
        return set_compute(out, {.vector = 13, .scalar = 2});  // compare, selects, loop
      auto const f = in_cluster / 3;
      switch (in_cluster % 3) {
        case 0:
          return set_linear(out, Op::load, 4, swapped_ + 4 * (f * items() + t.first), 4, t.lanes);
        case 1:
          return set_scalar_load(out, centres_ + 4 * (c * features_ + f), 4);
        default:
          return set_compute(out, {.vector = 14, .scalar = 2}, kWait);  // addresses, difference, square, loop
      }
    }
    if (body == clusters_ * per_cluster)
      return set_linear(out, Op::store, 4, membership_ + 4 * t.first, 4, t.lanes);
    set_end(out);
  }

 private:
  std::uint32_t features_, clusters_;
  VirtAddr swapped_, centres_, membership_;
};

std::uint32_t rounds_of(Spec const& spec, std::uint64_t points, std::uint64_t seed) {
  auto const n = std::min(points, std::max<std::uint64_t>(spec.sample, spec.clusters));
  std::vector<float> values(n * spec.features);
  Random random(seed);
  // Integers, so that sums do not depend on the compiler's order of operations.
  for (auto& v : values) v = static_cast<float>(random.below(256));
  return cluster(values, spec.features, spec.clusters, spec.max_rounds).rounds;
}

Workload build(Spec const& spec, BuildContext const& context) {
  auto const points = spec.size.bytes / (8 * std::uint64_t{spec.features} + 4);
  if (points < spec.clusters)
    throw ParameterError("size", spec.size,
                         "must hold at least one point per cluster, " + std::to_string(spec.clusters) +
                             ", but holds " + std::to_string(points) + " of " +
                             std::to_string(spec.features) + " features");
  BufferLayout layout(context.buffers);
  auto const feature = layout.add("feature", 4 * points * spec.features);
  auto const swapped = layout.add_result("feature_swap", 4 * points * spec.features);
  auto const membership = layout.add_result("membership", 4 * points);
  auto const centres = layout.add("clusters", std::uint64_t{4} * spec.clusters * spec.features);
  auto const blocks = ceil_div(points, spec.block);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<Swap>(KernelShape{"kmeans_swap", blocks, spec.block, 16, 0},
                                           context.warp_width, points, spec.features, feature, swapped));
  auto const rounds = rounds_of(spec, points, context.seed);
  for (std::uint32_t r = 0; r < rounds; ++r)
    kernels.push_back(std::make_unique<Distance>(KernelShape{"kmeans_compute", blocks, spec.block, 20, 0},
                                                 context.warp_width, points, spec, swapped, centres,
                                                 membership));
  return {"kmeans", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"kmeans",
          "k-means: transpose of the points, then nearest centres in each round (Hetero-Mark)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"size", "512KiB"}}},
           {kMedium, {{"size", "8MiB"}}},
           {kPaper, {}, "GMMU Bypass (NPC 2020), Table 2: 64 MB"}}};
}

}  // namespace farfault::workloads::kmeans
