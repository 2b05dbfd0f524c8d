// SPDX-License-Identifier: Apache-2.0
// Ray tracing of a small scene (RAY of the ISPASS-2009 benchmarks of GPGPU-Sim): a thread per pixel follows a
// ray and at most `depth` reflections, in blocks of 16x8. At each reflection it tests all four objects and
// reads the nearest one again. To determine whether that point is lit it tests objects until one blocks the
// lamp; then it reflects the ray. The image is cleared at the beginning, and read and written at the end.
//
// The paths of real rays are traced when the workload is built (ray_paths.hpp). A warp continues as
// long as one of its rays has hit an object.
//
// The scene and the camera are in constant memory. Intersection tests read it uniformly (scalar loads).
// Shading reads the object that each lane has hit, field by field, here through the L1 cache. The stack of
// colours, 80 bytes of local memory per thread, has no addresses here.
//
// Counts are from the expressions of the kernel: a dot product is three instructions, a normalization a dot
// product, a special instruction and three products; a power two special ones. The fields read at each place,
// and the registers, are from nvcc 13.0 -O3 for sm_75.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "ray_paths.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::ray {
namespace {

constexpr std::uint32_t kX = 16, kY = 8;  // threads of a block, and its pixels
constexpr std::uint64_t kNode = 40;       // bytes of an object: centre, radius, four of colour, two children
constexpr std::uint64_t kChild = 32;      // offset of the first child, which identifies a plane
constexpr std::uint64_t kView = 48;       // bytes of the camera's matrix

struct Spec {
  std::uint32_t width = 256;
  std::uint32_t height = 256;
  std::uint32_t depth = 5;

  void describe(ParamTable& t) {
    constexpr auto source = "ISPASS-2009 benchmarks, RAY";
    t.count("width", width, {kX, 4096}, "Pixels per row, a multiple of 16", source);
    t.count("height", height, {kY, 4096}, "Image rows, a multiple of 8", source);
    t.count("depth", depth, {1, 16}, "Maximum objects that a ray meets, one per reflection", source);
  }
};

// The work of a warp at one depth: that of the lane with the most work.
struct Level {
  bool traced = false, hit = false, hits_sphere = false, lit = false;
  std::uint8_t tests = 0;

  std::uint32_t fields() const;
  std::uint32_t steps() const;
};

constexpr std::uint32_t kStepsOfTrace = 2;  // per object: its kind, the intersection
constexpr std::uint32_t kStepsOfTest = 4;   // per object of a shadow test: three additional loads
// Fields that shading reads: colour, kind, and for spheres the centre.
constexpr std::array<std::uint64_t, 8> kFields{16, 20, 24, 28, kChild, 0, 4, 8};
constexpr std::uint32_t kFieldsOfPlane = 5;

std::uint32_t Level::fields() const {
  return hits_sphere ? static_cast<std::uint32_t>(kFields.size()) : kFieldsOfPlane;
}

std::uint32_t Level::steps() const {
  if (!traced) return 0;
  std::uint32_t const trace = kStepsOfTrace * RayScene::kObjects;
  return hit ? trace + fields() + 1 + kStepsOfTest * tests + (lit ? 1 : 0) + 1 : trace;
}

struct Image {
  std::uint32_t width = 0, height = 0, depth = 0;
  std::vector<RayHit> hits;   // pixel by pixel
  std::vector<Level> levels;  // warp by warp
  VirtAddr scene = 0, view = 0, result = 0;
};

class Render final : public Kernel {
 public:
  Render(std::shared_ptr<Image const> image, std::uint32_t warp_width)
      : image_(std::move(image)),
        shape_{"render", std::uint64_t{image_->width / kX} * (image_->height / kY), kX * kY, 53, 0},
        warp_width_(warp_width) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    switch (step) {
      case 0:
        return set_arguments(out, 6);
      case 1:  // position and pixel, the stack's first values
        return set_compute(out, {.vector = 34, .scalar = 4}, kWait);
      case 2:
        return pixels(out, Op::store, block, warp);
      case 3:
        return set_scalar_load(out, image_->view, kView, 3);
      case 4:  // the ray
        return set_compute(out, {.vector = 28, .special = 3, .scalar = 4}, kWait);
      case 5:
        return set_barrier(out);
      // Centres and radii of all objects, which are kept in registers.
      case 6:
        return set_scalar_load(out, image_->scene, 64, 8);
      case 7:
        return set_scalar_load(out, image_->scene + 64, 64, 6);
      case 8:
        return set_scalar_load(out, image_->scene + 128, 32, 2);
      default:
        break;
    }
    auto body = step - 9;
    auto const* const levels = &image_->levels[(block * (kX * kY / warp_width_) + warp) * image_->depth];
    std::uint32_t depth = 0;
    for (; depth < image_->depth && body >= levels[depth].steps(); ++depth) body -= levels[depth].steps();
    if (depth < image_->depth) return at_depth(out, block, warp, depth, levels[depth], body);
    switch (body) {
      case 0: {  // colours from the last to the first, four products and sums each; to bytes
        std::uint32_t hits = 0;
        while (hits < image_->depth && levels[hits].hit) ++hits;
        return set_compute(out, {.vector = 4 * hits + 22, .scalar = hits + 1});
      }
      case 1:
        return pixels(out, Op::load, block, warp);
      case 2:
        return set_compute(out, {.vector = 1}, kWait);
      case 3:
        return pixels(out, Op::store, block, warp);
      default:
        return set_end(out);
    }
  }

 private:
  void at_depth(WarpInstruction& out, std::uint64_t block, std::uint32_t warp, std::uint32_t depth,
                Level const& level, std::uint64_t body) const {
    if (body < kStepsOfTrace * RayScene::kObjects) {
      auto const object = body / kStepsOfTrace;
      if (body % kStepsOfTrace == 0) return kind(out, object);
      return intersection(out, object);
    }
    body -= kStepsOfTrace * RayScene::kObjects;
    if (body < level.fields()) return shading(out, block, warp, depth, body);
    body -= level.fields();
    // The point, three normalizations, the colour, a dot product and the branch.
    if (body-- == 0) return set_compute(out, {.vector = 45, .special = 3, .scalar = 3}, kWait);
    if (body < kStepsOfTest * level.tests) {
      auto const object = body / kStepsOfTest;
      auto const in_test = body % kStepsOfTest;
      if (in_test == 2) return kind(out, object);
      if (in_test == 3) return intersection(out, object);
      return set_scalar_load(out, image_->scene + kNode * object + 8 * in_test, 8);  // centre, radius
    }
    body -= kStepsOfTest * level.tests;
    if (level.lit && body-- == 0)  // half vector, its power, the colour
      return set_compute(out, {.vector = 26, .special = 3, .scalar = 1});
    return set_compute(out, {.vector = 24, .special = 1, .scalar = 2});  // the reflected ray
  }

  void kind(WarpInstruction& out, std::uint64_t object) const {
    set_scalar_load(out, image_->scene + kNode * object + kChild, 4);
  }

  void intersection(WarpInstruction& out, std::uint64_t object) const {
    if (object == RayScene::kPlane) return set_compute(out, {.vector = 15, .special = 2, .scalar = 4}, kWait);
    set_compute(out, {.vector = 20, .special = 1, .scalar = 6}, kWait);
  }

  std::uint64_t pixel(std::uint64_t block, std::uint32_t thread) const {
    auto const blocks_x = image_->width / kX;
    return (block / blocks_x * kY + thread / kX) * image_->width + block % blocks_x * kX + thread % kX;
  }

  void shading(WarpInstruction& out, std::uint64_t block, std::uint32_t warp, std::uint32_t depth,
               std::uint64_t field) const {
    std::uint64_t lanes = 0;
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const& hit = image_->hits[pixel(block, warp * warp_width_ + lane) * image_->depth + depth];
      if (!hit.hit || (field >= kFieldsOfPlane && hit.object == RayScene::kPlane)) continue;
      lanes |= std::uint64_t{1} << lane;
      out.address[lane] = image_->scene + kNode * hit.object + kFields[field];
    }
    set_access(out, Op::load, 4, lanes);
  }

  void pixels(WarpInstruction& out, Op op, std::uint64_t block, std::uint32_t warp) const {
    set_access(out, op, 4, low_lanes(warp_width_));
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane)
      out.address[lane] = image_->result + 4 * pixel(block, warp * warp_width_ + lane);
  }

  std::shared_ptr<Image const> image_;
  KernelShape shape_;
  std::uint32_t warp_width_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  struct Side {
    char const* name;
    std::uint32_t value, multiple;
  };
  for (auto const& s : {Side{"width", spec.width, kX}, {"height", spec.height, kY}})
    if (s.value % s.multiple != 0)
      throw ParameterError(s.name, s.value, "must be a multiple of " + std::to_string(s.multiple));
  auto image = std::make_shared<Image>();
  image->width = spec.width;
  image->height = spec.height;
  image->depth = spec.depth;
  auto const pixels = std::uint64_t{spec.width} * spec.height;
  image->hits.resize(pixels * spec.depth);
  image->levels.resize(pixels / context.warp_width * spec.depth);
  RayScene const scene(spec.width, spec.height);
  auto const warps = kX * kY / context.warp_width;
  for (std::uint32_t y = 0; y < spec.height; ++y)
    for (std::uint32_t x = 0; x < spec.width; ++x) {
      auto* const hits = &image->hits[(std::uint64_t{y} * spec.width + x) * spec.depth];
      scene.trace(x, y, spec.depth, hits);
      auto const block = std::uint64_t{y / kY} * (spec.width / kX) + x / kX;
      auto const warp = (y % kY * kX + x % kX) / context.warp_width;
      auto* const levels = &image->levels[(block * warps + warp) * spec.depth];
      for (std::uint32_t d = 0; d < spec.depth; ++d) {
        levels[d].traced |= d == 0 || hits[d - 1].hit;
        levels[d].hit |= hits[d].hit;
        levels[d].hits_sphere |= hits[d].hit && hits[d].object != RayScene::kPlane;
        levels[d].lit |= hits[d].lit;
        levels[d].tests = std::max(levels[d].tests, hits[d].tests);
      }
    }
  BufferLayout layout(context.buffers);
  image->scene = layout.add("scene", kNode * RayScene::kObjects);
  image->view = layout.add("view", kView);
  image->result = layout.add_result("image", 4 * pixels);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<Render>(std::move(image), context.warp_width));
  return {"ray", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"ray",
          "Ray tracing of a plane and three spheres, with reflections (RAY of ISPASS-2009)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"width", "128"}, {"height", "128"}}},
           {kMedium, {}},
           {kPaper, {}, "ISPASS-2009 benchmarks, RAY, as in Mosaic (MICRO 2017): 256 x 256"}}};
}

}  // namespace farfault::workloads::ray
