// SPDX-License-Identifier: Apache-2.0
// The neural network of the ISPASS-2009 benchmarks that recognizes handwritten digits: four layers, one
// kernel each. A block computes one map of one image, or one neuron, with a thread for each of its neurons.
// The first layers are 6 maps of 13x13 and 50 maps of 5x5, each from windows of 5x5 at every second position
// of all maps below. They are followed by 100 and 10 neurons that are connected to everything below them and
// have a block of one thread each. A neuron is its bias and the products of inputs and weights, through tanh.
//
// Weights are the same for all threads of a block, but are read through the L1 cache like the loads of the
// CUDA kernel: one lane reads them. The offsets of a window's inputs are tables in constant memory, which are
// scalar loads here.
//
// Counts: the address of an input by its offset and its product are from LLVM 14 for gfx803; tanh in doubles
// and the registers are from nvcc 13.0's intermediate code (for sm_75). The number of inputs loaded before
// the first use is assumed: as many as the registers hold.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::nn {
namespace {

struct Spec {
  std::uint64_t images = 4;

  void describe(ParamTable& t) {
    t.count("images", images, {1, 1 << 16},
            "Images of 29x29 pixels (published: 28, which takes 7 times as long)", "assumed");
  }
};

constexpr std::uint32_t kAtOnce = 25;  // inputs loaded before the first use
constexpr std::uint32_t kWindow = 5;   // inputs along a window's side

struct Layer {
  char const* name;
  std::uint32_t registers;
  std::uint32_t blocks;   // maps or neurons per image
  std::uint32_t side;     // threads along a block's side, and neurons along the side of its map
  std::uint32_t below;    // neurons along the side of a map below; 0 if a neuron has all of them as inputs
  std::uint32_t maps;     // maps in the layer below
  std::uint32_t inputs;   // inputs of a neuron
  std::uint32_t neurons;  // neurons in the layer below, per image
  std::uint32_t weights;  // stride of weights between blocks: the second layer leaves five unused

  bool has_windows() const { return below != 0; }
};

constexpr Layer kLayers[] = {{"nn_first_layer", 64, 6, 13, 29, 1, 25, 29 * 29, 26},
                             {"nn_second_layer", 70, 50, 5, 13, 6, 150, 6 * 13 * 13, 6 * 26},
                             {"nn_third_layer", 61, 100, 1, 0, 0, 1250, 50 * 5 * 5, 1251},
                             {"nn_fourth_layer", 61, 10, 1, 0, 0, 100, 100, 101}};

class NeuralLayer final : public Kernel {
 public:
  NeuralLayer(Layer const& layer, std::uint64_t images, std::uint32_t warp_width, VirtAddr table,
              VirtAddr weights, VirtAddr in, VirtAddr out)
      : layer_(layer),
        shape_{.name = layer.name,
               .blocks = images * layer.blocks,
               .threads_per_block = layer.side * layer.side,
               .registers_per_thread = layer.registers},
        warp_width_(warp_width),
        table_(table),
        weights_(weights),
        in_(in),
        out_(out) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const first = warp * warp_width_;
    if (first >= shape_.threads_per_block) return set_end(out);
    auto const lanes = std::min(warp_width_, shape_.threads_per_block - first);
    auto const map = block % layer_.blocks;
    auto const image = block / layer_.blocks;
    auto const bias = weights_ + 4 * map * layer_.weights;
    if (step-- == 0) return set_arguments(out, 3);
    if (step-- == 0)  // first weight, the window's corner
      return set_compute(out, {.vector = layer_.has_windows() ? 5U : 2U, .scalar = 10}, kWait);
    if (layer_.has_windows()) {  // 25 offsets, in two lines
      if (step-- == 0) return set_scalar_load(out, table_, 64);
      if (step-- == 0) return set_scalar_load(out, table_ + 64, 4 * kWindow * kWindow - 64);
    }
    if (step-- == 0) return set_uniform(out, Op::load, 4, bias);
    if (step-- == 0) return set_compute(out, {.vector = 1 + 5 * kAtOnce}, kWait);  // bias, addresses
    constexpr std::uint64_t kSteps = 2 * kAtOnce + 1;
    auto const group = step / kSteps;
    if (group < layer_.inputs / kAtOnce) {
      auto const in_group = static_cast<std::uint32_t>(step % kSteps);
      if (in_group == kSteps - 1)  // products; addresses of the next inputs, loop
        return set_compute(out, {.vector = 6 * kAtOnce, .scalar = 3}, kWait);
      auto const k = static_cast<std::uint32_t>(group) * kAtOnce + in_group / 2;
      if (in_group % 2 == 1) return set_uniform(out, Op::load, 4, bias + 4 + 4 * k);
      return inputs(out, in_ + 4 * (image * layer_.neurons + offset(k)), first, lanes);
    }
    step -= layer_.inputs / kAtOnce * kSteps;
    // tanh by an exponential and a quotient or by a polynomial, both factors in doubles; the address of the
    // result.
    if (step-- == 0) return set_compute(out, {.vector = 33, .special = 2, .scalar = 4});
    if (step == 0)
      return set_linear(out, Op::store, 4,
                        out_ + 4 * ((image * layer_.blocks + map) * shape_.threads_per_block + first), 4,
                        lanes);
    set_end(out);
  }

 private:
  // Offset of a neuron's k-th input from the corner of its window, in the kernels' order: the same position
  // of every map, then the next position.
  std::uint32_t offset(std::uint32_t k) const {
    if (!layer_.has_windows()) return k;
    auto const place = k / layer_.maps;
    return k % layer_.maps * layer_.below * layer_.below + place / kWindow * layer_.below + place % kWindow;
  }

  void inputs(WarpInstruction& out, VirtAddr input, std::uint32_t first, std::uint32_t lanes) const {
    set_access(out, Op::load, 4, low_lanes(lanes));
    auto x = first % layer_.side;
    auto y = first / layer_.side;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      out.address[lane] = input + 4 * (std::uint64_t{2} * y * layer_.below + 2 * x);
      if (++x == layer_.side) {
        x = 0;
        ++y;
      }
    }
  }

  Layer layer_;
  KernelShape shape_;
  std::uint32_t warp_width_;
  VirtAddr table_, weights_, in_, out_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto in = layout.add("neurons1", 4 * spec.images * kLayers[0].neurons);
  for (auto const& layer : kLayers) {
    auto const n = std::to_string(&layer - kLayers + 1);
    auto const weights = layout.add("weights" + n, std::uint64_t{4} * layer.blocks * layer.weights);
    auto const out = layout.add_result("neurons" + std::to_string(&layer - kLayers + 2),
                                       4 * spec.images * layer.blocks * layer.side * layer.side);
    auto const table = layer.has_windows() ? layout.add("offsets" + n, 4 * kWindow * kWindow) : 0;
    kernels.push_back(
        std::make_unique<NeuralLayer>(layer, spec.images, context.warp_width, table, weights, in, out));
    in = out;
  }
  return {"nn", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"nn",
          "Digit-recognition neural network, four layers, one kernel each (ISPASS-2009)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"images", "1"}}},
           {kMedium, {}},
           {kPaper, {{"images", "28"}}, "ISPASS-2009 benchmarks, NN, as in Mosaic (MICRO 2017): 28 images"}}};
}

}  // namespace farfault::workloads::nn
