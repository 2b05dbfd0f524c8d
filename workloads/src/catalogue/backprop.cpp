// SPDX-License-Identifier: Apache-2.0
// Backpropagation of Rodinia: one training step of a network with one hidden layer of 16 units. Blocks of 16
// x 16 threads process 16 inputs each.
// - `layerforward` multiplies the inputs with their weights in shared memory and sums each hidden unit by
//   halving. It writes the remaining values back to the weights, as the source does, and one partial sum per
//   hidden unit.
// - `adjust_weights` reads the weights, which the host has copied again, the changes of the previous step,
//   inputs and deltas, and writes weights and changes; block 0 also updates the thresholds.
// - Rows of weights have 17 elements; the first belongs to no input.
//
// The host computes the rest between the kernels: the hidden layer's activation, the output layer, the
// deltas. Its copies are omitted.
//
// Counts: constants of the source are doubles, so that a change of a weight is two products and a sum of
// doubles with conversions. The power of two of a halving is computed by an exponential. Address computation
// is assumed. Registers and repeated reads are from nvcc 13.0 -O3 for sm_75.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::backprop {
namespace {

constexpr std::uint32_t kHidden = 16;  // hidden units, and threads along a block's side
constexpr std::uint32_t kHalvings = 4;

struct Spec {
  std::uint64_t inputs = 65'536;

  void describe(ParamTable& t) {
    t.count("inputs", inputs, {kHidden, 1ULL << 26}, "Units of the input layer, a multiple of 16",
            "Rodinia, backprop: 65,536; Mosaic, published code: the same");
  }
};

struct Network {
  VirtAddr inputs, weights, changes, deltas, partial_sums;
};

class LayerKernel : public Kernel {
 public:
  KernelShape const& shape() const override { return shape_; }

 protected:
  LayerKernel(KernelShape shape, std::uint32_t warp_width, Network const& network)
      : shape_(std::move(shape)), warp_width_(warp_width), network_(network) {}

  Network const& network() const { return network_; }
  std::uint32_t warp_width() const { return warp_width_; }

  // An access by the warp's threads for which chosen(x, y) is true, each at address(x, y).
  template <class Chosen, class Address>
  void access(WarpInstruction& out, Op op, std::uint32_t warp, Chosen chosen, Address address,
              bool wait = false) const {
    std::uint64_t lanes = 0;
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const thread = warp * warp_width_ + lane;
      auto const x = thread % kHidden;
      auto const y = thread / kHidden;
      if (!chosen(x, y)) continue;
      lanes |= std::uint64_t{1} << lane;
      out.address[lane] = address(x, y);
    }
    set_access(out, op, 4, lanes, wait);
  }

  // Offset of the weight from the block's y-th input to hidden unit x, both from 0.
  static std::uint64_t weight(std::uint64_t block, std::uint32_t x, std::uint32_t y) {
    return 4 * ((block * kHidden + y + 1) * (kHidden + 1) + x + 1);
  }
  static std::uint64_t input(std::uint64_t block, std::uint32_t y) { return 4 * (block * kHidden + y + 1); }

  static constexpr auto all = [](auto, auto) { return true; };
  static constexpr auto first_column = [](auto x, auto) { return x == 0; };
  static constexpr auto first_row = [](auto, auto y) { return y == 0; };

 private:
  KernelShape shape_;
  std::uint32_t warp_width_;
  Network network_;
};

class LayerForward final : public LayerKernel {
 public:
  LayerForward(std::uint64_t blocks, std::uint32_t warp_width, Network const& network)
      : LayerKernel({"bpnn_layerforward", blocks, kHidden * kHidden, 20,
                     std::uint64_t{4} * (kHidden + kHidden * kHidden)},
                    warp_width, network) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const& n = network();
    auto const weights = [&](auto x, auto y) { return n.weights + weight(block, x, y); };
    if (take(step, 1)) return set_arguments(out, 5);
    // Thread's row and column, addresses of the input and the weight (a product each).
    if (take(step, 1)) return set_compute(out, {.vector = 14, .special = 2, .scalar = 4}, kWait);
    if (take(step, 1))
      return access(out, Op::load, warp, first_column,
                    [&](auto, auto y) { return n.inputs + input(block, y); });
    if (take(step, 1)) return set_compute(out, {.shared = 1}, kWait);
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1)) return access(out, Op::load, warp, all, weights);
    if (take(step, 1)) return set_compute(out, {.shared = 1}, kWait);
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1)) return set_compute(out, {.vector = 1, .shared = 3});  // the product
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 2 * kHalvings)) {
      if (step % 2 != 0) return set_barrier(out);
      // The power, a modulo, the sum by the rows that are multiples of the power.
      auto const power = 2U << (step / 2);
      auto const first = warp * warp_width() / kHidden;
      auto const rows = warp_width() / kHidden;
      bool const adds = (first + rows - 1) / power * power >= first;
      return set_compute(out, {.vector = 26, .special = 3, .scalar = 3, .shared = adds ? 3U : 0U});
    }
    if (take(step, 1)) return set_compute(out, {.shared = 1});
    if (take(step, 1)) return access(out, Op::store, warp, all, weights);
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1)) return set_compute(out, {.vector = 6, .special = 1, .scalar = 2, .shared = 1});
    if (take(step, 1))
      return access(out, Op::store, warp, first_column,
                    [&](auto, auto y) { return n.partial_sums + 4 * (block * kHidden + y); });
    set_end(out);
  }
};

class AdjustWeights final : public LayerKernel {
 public:
  AdjustWeights(std::uint64_t blocks, std::uint32_t warp_width, Network const& network)
      : LayerKernel({"bpnn_adjust_weights", blocks, kHidden * kHidden, 28, 0}, warp_width, network) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const& n = network();
    auto const of_weight = [&](VirtAddr base) {
      return [=](auto x, auto y) { return base + weight(block, x, y); };
    };
    auto const of_unit = [](VirtAddr base) {
      return [=](auto x, auto) { return base + std::uint64_t{4} * (x + 1); };
    };
    auto const of_input = [&](auto, auto y) { return n.inputs + input(block, y); };
    if (take(step, 1)) return set_arguments(out, 5);
    // Thread's row and column, addresses of the delta, the input and the weight (a product each).
    if (take(step, 1)) return set_compute(out, {.vector = 18, .special = 2, .scalar = 4}, kWait);
    // The change is computed twice, from values read again after the store of the weight, because the
    // compiler must assume that the store changed them.
    if (take(step, 1)) return access(out, Op::load, warp, all, of_unit(n.deltas));
    if (take(step, 1)) return access(out, Op::load, warp, all, of_input);
    if (take(step, 1)) return access(out, Op::load, warp, all, of_weight(n.changes));
    if (take(step, 1)) return access(out, Op::load, warp, all, of_weight(n.weights));
    if (take(step, 1)) return set_compute(out, {.vector = kChange + 3}, kWait);
    if (take(step, 1)) return access(out, Op::store, warp, all, of_weight(n.weights));
    if (take(step, 1)) return access(out, Op::load, warp, all, of_unit(n.deltas));
    if (take(step, 1)) return access(out, Op::load, warp, all, of_input);
    if (take(step, 1)) return access(out, Op::load, warp, all, of_weight(n.changes));
    if (take(step, 1)) return set_compute(out, {.vector = kChange}, kWait);
    if (take(step, 1)) return access(out, Op::store, warp, all, of_weight(n.changes));
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1)) return set_compute(out, {.vector = 4, .scalar = 3});
    // The thresholds, updated by the first row of the first block.
    if (block != 0 || warp != 0) return set_end(out);
    auto const first = [&](Op op, VirtAddr base) { access(out, op, warp, first_row, of_unit(base)); };
    if (take(step, 1)) return first(Op::load, n.deltas);
    if (take(step, 1)) return first(Op::load, n.changes);
    if (take(step, 1)) return first(Op::load, n.weights);
    if (take(step, 1)) return set_compute(out, {.vector = kChange + 2}, kWait);
    if (take(step, 1)) return first(Op::store, n.weights);
    if (take(step, 1)) return first(Op::load, n.deltas);
    if (take(step, 1)) return first(Op::load, n.changes);
    if (take(step, 1)) return set_compute(out, {.vector = kChange - 1}, kWait);
    if (take(step, 1)) return first(Op::store, n.changes);
    set_end(out);
  }

 private:
  // Three conversions to double, three products or sums, one conversion back.
  static constexpr std::uint32_t kChange = 7;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.inputs % kHidden != 0) throw ParameterError("inputs", spec.inputs, "must be a multiple of 16");
  BufferLayout layout(context.buffers);
  auto const weights = 4 * (spec.inputs + 1) * (kHidden + 1);
  Network network{};
  network.inputs = layout.add("inputs", 4 * (spec.inputs + 1));
  network.weights = layout.add("weights", weights);
  network.partial_sums = layout.add_result("partial_sums", 4 * spec.inputs);
  network.deltas = layout.add("deltas", 4 * (kHidden + 1));
  network.changes = layout.add("changes", weights);
  auto const blocks = spec.inputs / kHidden;
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<LayerForward>(blocks, context.warp_width, network));
  kernels.push_back(std::make_unique<AdjustWeights>(blocks, context.warp_width, network));
  return {"backprop", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"backprop",
          "Training step of a network with one hidden layer (Rodinia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"inputs", "8192"}}},
           {kMedium, {}},
           {kPaper, {}, "Mosaic (MICRO 2017), published code: 65,536 inputs"}}};
}

}  // namespace farfault::workloads::backprop
