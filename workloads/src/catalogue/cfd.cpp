// SPDX-License-Identifier: Apache-2.0
// Flow around a body, from Rodinia (cfd, euler3d): the Euler equations on an unstructured mesh of tetrahedra,
// one thread per element, which has four faces.
//
// Kernels: three fill arrays with the far field. Each iteration then copies the variables, computes a step
// per element, and three times the fluxes through all faces and the new variables. All arrays are stored
// variable by variable. The flux kernel reads the element's variables and, face by face, the neighbour's
// number, the face's normal and, by a gather, the neighbour's five variables; a face at the wall reads no
// variables, a face at the far field reads constants. The number of elements is rounded up to whole blocks;
// the added elements copy the last one.
//
// The mesh is a graph from a file, with at most four neighbours per vertex (faces without one are at the far
// field), or the regular mesh of a cube of cubes of six tetrahedra each, whose lower side is the wall.
//
// Counts are from the source's arithmetic: a division is a reciprocal and a product. The element's index,
// addresses and registers are assumed. The copy of device memory is one thread per float.
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cfd_mesh.hpp"
#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_input.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::cfd {
namespace {

constexpr std::uint32_t kVariables = 5;  // density, momentum (3), energy
constexpr std::uint32_t kStages = 3;     // stages of the Runge-Kutta method

struct Spec {
  std::string file;
  std::uint64_t side = 25;
  std::uint32_t iterations = 2;
  std::uint32_t block = 192;

  void describe(ParamTable& t) {
    t.file(
        "graph", file,
        "Graph file (Matrix Market, SNAP or METIS; plain, .gz or .xz); its vertices are the elements, with "
        "at most 4 neighbours each. Empty: generated mesh",
        "simulator setting");
    t.count("side", side, {1, 256},
            "Cubes of six elements along each side of the generated mesh (default: 93,750 elements; Rodinia: "
            "about 97,000, as with side 25, and 193,000, as with side 32)",
            "Rodinia, cfd: fvcorr.domn.097K; a regular mesh is assumed")
        .only_when(sibling("graph").is(""));
    t.count("iterations", iterations, {1, 100'000}, "Time steps (Rodinia: 2000)", "assumed");
    t.count("block", block, {32, 1024}, "Threads per block, a multiple of the warp width", "Rodinia, cfd");
  }
};

// Faces as in cfd_mesh.hpp, padded to whole blocks of elements.
struct Mesh {
  std::uint64_t elements = 0;
  std::vector<std::int32_t> behind;
};

Mesh make_mesh(Spec const& spec, BuildContext const& context, std::vector<InputFile>& inputs) {
  std::vector<std::int32_t> given;
  if (spec.file.empty()) {
    given = regular_faces(static_cast<std::int64_t>(spec.side));
  } else {
    GraphSpec graph;
    graph.file = spec.file;
    graph.undirected = true;
    given = faces_of_graph(load_graph(graph, context, inputs), spec.file);
  }
  auto const count = given.size() / kFaces;
  Mesh mesh;
  mesh.elements = ceil_div(count, spec.block) * spec.block;
  mesh.behind.reserve(kFaces * mesh.elements);
  for (std::uint32_t f = 0; f < kFaces; ++f)
    for (std::uint64_t e = 0; e < mesh.elements; ++e)
      mesh.behind.push_back(given[f * count + std::min<std::uint64_t>(e, count - 1)]);
  return mesh;
}

struct Buffers {
  VirtAddr variables = 0, old_variables = 0, fluxes = 0, step_factors = 0, areas = 0, neighbours = 0,
           normals = 0, far_field = 0;
};

// Base of all kernels: whole blocks of elements, one thread each.
class ElementKernel : public LinearKernel {
 protected:
  ElementKernel(char const* name, std::uint32_t registers, Spec const& spec, std::uint64_t threads,
                std::uint32_t warp_width)
      : LinearKernel({.name = name,
                      .blocks = threads / spec.block,
                      .threads_per_block = spec.block,
                      .registers_per_thread = registers},
                     warp_width, threads) {}

  // A row of an array with a row per variable, a float per element.
  void row(WarpInstruction& out, Op op, VirtAddr array, std::uint64_t variable, ThreadRange t) const {
    set_linear(out, op, 4, array + 4 * (variable * items() + t.first), 4, t.lanes);
  }
};

class Initialize final : public ElementKernel {
 public:
  Initialize(Spec const& spec, std::uint64_t elements, std::uint32_t warp_width, VirtAddr array,
             VirtAddr far_field)
      : ElementKernel("initialize_variables", 12, spec, elements, warp_width),
        array_(array),
        far_field_(far_field) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (t.lanes == 0) return set_end(out);
    switch (step) {
      case 0:
        return set_arguments(out, 2);
      case 1:
        return set_scalar_load(out, far_field_, 4 * kVariables);
      case 2:  // index, first address
        return set_compute(out, {.vector = 3, .special = 1, .scalar = 6}, kWait);
      default:
        return step - 3 < kVariables ? row(out, Op::store, array_, step - 3, t) : set_end(out);
    }
  }

 private:
  VirtAddr array_, far_field_;
};

class Copy final : public ElementKernel {
 public:
  Copy(Spec const& spec, std::uint64_t floats, std::uint32_t warp_width, VirtAddr from, VirtAddr to)
      : ElementKernel("copy_variables", 12, spec, floats, warp_width), from_(from), to_(to) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (t.lanes == 0) return set_end(out);
    switch (step) {
      case 0:
        return set_arguments(out, 2);
      case 1:  // index, both addresses
        return set_compute(out, {.vector = 5, .special = 1, .scalar = 2}, kWait);
      case 2:
        return row(out, Op::load, from_, 0, t);
      case 3:
        row(out, Op::store, to_, 0, t);
        out.wait_loads = true;
        return;
      default:
        return set_end(out);
    }
  }

 private:
  VirtAddr from_, to_;
};

class StepFactor final : public ElementKernel {
 public:
  StepFactor(Spec const& spec, std::uint64_t elements, std::uint32_t warp_width, Buffers const& at)
      : ElementKernel("compute_step_factor", 24, spec, elements, warp_width), at_(at) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (t.lanes == 0) return set_end(out);
    if (step-- == 0) return set_arguments(out, 4);
    if (step-- == 0)  // index, addresses
      return set_compute(out, {.vector = 7, .special = 1, .scalar = 7}, kWait);
    if (step < kVariables) return row(out, Op::load, at_.variables, step, t);
    switch (step - kVariables) {
      case 0:
        return row(out, Op::load, at_.areas, 0, t);
      case 1:  // velocity (3 divisions), its square (3), pressure (3), speed of sound (2 and a division, a
               // root), two roots, sum, product, division
        return set_compute(out, {.vector = 15, .special = 8}, kWait);
      case 2:
        return row(out, Op::store, at_.step_factors, 0, t);
      default:
        return set_end(out);
    }
  }

 private:
  Buffers at_;
};

// The lanes of a warp by the kind of element behind a face.
struct Faces {
  std::array<std::uint64_t, kFaces> neighbour{}, wall{}, far_field{};
};

class Flux final : public ElementKernel {
 public:
  Flux(Spec const& spec, std::shared_ptr<Mesh const> mesh, std::shared_ptr<std::vector<Faces> const> faces,
       std::uint32_t warp_width, Buffers const& at)
      : ElementKernel("compute_flux", 64, spec, mesh->elements, warp_width),
        mesh_(std::move(mesh)),
        faces_(std::move(faces)),
        at_(at) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (t.lanes == 0) return set_end(out);
    if (step-- == 0) return set_arguments(out, 5);
    if (step-- == 0) return set_compute(out, {.vector = 6, .special = 1, .scalar = 6}, kWait);  // index
    if (step < kVariables) return row(out, Op::load, at_.variables, step, t);
    step -= kVariables;
    if (step-- == 0)  // velocity, its square and length, pressure, speed of sound, fluxes (10), zeros (5)
      return set_compute(out, {.vector = 26, .special = 6}, kWait);
    auto const& faces = (*faces_)[t.first / warp_width()];
    for (std::uint32_t f = 0; f < kFaces; ++f) {
      auto const steps = steps_of(faces, f);
      if (step < steps) return face(out, faces, f, step, t);
      step -= steps;
    }
    if (step < kVariables) return row(out, Op::store, at_.fluxes, step, t);
    set_end(out);
  }

 private:
  static constexpr std::uint64_t kGather = kVariables + 1;
  static constexpr std::uint64_t kBorder = 3;

  static std::uint64_t steps_of(Faces const& faces, std::uint32_t f) {
    return 5 + (faces.neighbour[f] != 0 ? kGather : 0) + (faces.wall[f] != 0 ? 1 : 0) +
           (faces.far_field[f] != 0 ? kBorder : 0);
  }

  void face(WarpInstruction& out, Faces const& faces, std::uint32_t f, std::uint64_t step,
            ThreadRange t) const {
    if (step-- == 0) return row(out, Op::load, at_.neighbours, f, t);
    if (step < 3) return row(out, Op::load, at_.normals, f + kFaces * step, t);
    if (step == 3)  // the normal's length, two comparisons, addresses
      return set_compute(out, {.vector = 11, .special = 1, .scalar = 4}, kWait);
    step -= 4;
    if (faces.neighbour[f] != 0) {
      if (step < kVariables) return gather(out, faces.neighbour[f], f, step, t);
      // As for the element itself (21 and 6), viscosity (16 and a root, without the length), three directions
      // of 11 each.
      if (step == kVariables) return set_compute(out, {.vector = 70, .special = 6, .scalar = 1}, kWait);
      step -= kGather;
    }
    if (faces.wall[f] != 0 && step-- == 0) return set_compute(out, {.vector = 3, .scalar = 2});
    switch (step) {
      case 0:
        return set_scalar_load(out, at_.far_field, 4 * kVariables);
      case 1:  // the fluxes of the far field, four vectors
        return set_scalar_load(out, at_.far_field + kArgumentBlock, 48);
      default:
        return set_compute(out, {.vector = 33, .scalar = 2}, kWait);
    }
  }

  void gather(WarpInstruction& out, std::uint64_t lanes, std::uint32_t f, std::uint64_t variable,
              ThreadRange t) const {
    set_access(out, Op::load, 4, lanes);
    auto const* const behind = mesh_->behind.data() + f * items() + t.first;
    auto const base = at_.variables + 4 * variable * items();
    for (std::uint32_t i = 0; i < t.lanes; ++i)
      if ((lanes >> i & 1) != 0) out.address[i] = base + 4 * static_cast<std::uint64_t>(behind[i]);
  }

  std::shared_ptr<Mesh const> mesh_;
  std::shared_ptr<std::vector<Faces> const> faces_;
  Buffers at_;
};

class TimeStep final : public ElementKernel {
 public:
  TimeStep(Spec const& spec, std::uint64_t elements, std::uint32_t warp_width, Buffers const& at)
      : ElementKernel("time_step", 20, spec, elements, warp_width), at_(at) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    constexpr std::array<std::uint64_t, kVariables> order{0, 4, 1, 2, 3};
    auto const t = threads(block, warp);
    if (t.lanes == 0) return set_end(out);
    if (step-- == 0) return set_arguments(out, 6);
    if (step-- == 0) return set_compute(out, {.vector = 9, .special = 1, .scalar = 7}, kWait);  // index
    if (step-- == 0) return row(out, Op::load, at_.step_factors, 0, t);
    if (step-- == 0) return set_compute(out, {.vector = 1, .special = 1}, kWait);  // a division
    if (step >= 4 * kVariables) return set_end(out);
    auto const variable = order[step / 4];
    switch (step % 4) {
      case 0:
        return row(out, Op::load, at_.old_variables, variable, t);
      case 1:
        return row(out, Op::load, at_.fluxes, variable, t);
      case 2:
        return set_compute(out, {.vector = 1}, kWait);  // multiply-add
      default:
        return row(out, Op::store, at_.variables, variable, t);
    }
  }

 private:
  Buffers at_;
};

std::shared_ptr<std::vector<Faces> const> faces_of(Mesh const& mesh, std::uint32_t width) {
  auto list = std::make_shared<std::vector<Faces>>(ceil_div(mesh.elements, width));
  for (std::uint32_t f = 0; f < kFaces; ++f)
    for (std::uint64_t e = 0; e < mesh.elements; ++e) {
      auto const behind = mesh.behind[f * mesh.elements + e];
      auto& faces = (*list)[e / width];
      auto& lanes = behind >= 0 ? faces.neighbour : behind == kWall ? faces.wall : faces.far_field;
      lanes[f] |= std::uint64_t{1} << (e % width);
    }
  return list;
}

Workload build(Spec const& spec, BuildContext const& context) {
  check_whole_warps(spec.block, context);
  std::vector<InputFile> inputs;
  auto const mesh = std::make_shared<Mesh const>(make_mesh(spec, context, inputs));
  auto const width = context.warp_width;
  auto const faces = faces_of(*mesh, width);
  auto const n = mesh->elements;
  BufferLayout layout(context.buffers);
  Buffers at;
  at.areas = layout.add("areas", 4 * n);
  at.neighbours = layout.add("neighbours", 4 * kFaces * n);
  at.normals = layout.add("normals", std::uint64_t{4} * 3 * kFaces * n);
  at.variables = layout.add_result("variables", 4 * kVariables * n);
  at.old_variables = layout.add_result("old_variables", 4 * kVariables * n);
  at.fluxes = layout.add_result("fluxes", 4 * kVariables * n);
  at.step_factors = layout.add_result("step_factors", 4 * n);
  at.far_field = layout.add("far_field", 2 * kArgumentBlock);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (auto const array : {at.variables, at.old_variables, at.fluxes})
    kernels.push_back(std::make_unique<Initialize>(spec, n, width, array, at.far_field));
  for (std::uint32_t i = 0; i < spec.iterations; ++i) {
    kernels.push_back(std::make_unique<Copy>(spec, kVariables * n, width, at.variables, at.old_variables));
    kernels.push_back(std::make_unique<StepFactor>(spec, n, width, at));
    for (std::uint32_t s = 0; s < kStages; ++s) {
      kernels.push_back(std::make_unique<Flux>(spec, mesh, faces, width, at));
      kernels.push_back(std::make_unique<TimeStep>(spec, n, width, at));
    }
  }
  return {"cfd", layout.take(), std::move(kernels), std::move(inputs)};
}

}  // namespace

WorkloadInfo info() {
  return {"cfd",
          "Flow around a body on a tetrahedral mesh: fluxes through faces (Rodinia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"side", "8"}}},
           {kMedium, {}},
           {kPaper,
            {{"side", "32"}, {"iterations", "2000"}},
            "Rodinia, cfd, as in Mosaic (MICRO 2017): about 193,000 elements, 2,000 iterations"}}};
}

}  // namespace farfault::workloads::cfd
