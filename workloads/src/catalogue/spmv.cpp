// SPDX-License-Identifier: Apache-2.0
// Sparse matrix-vector product, from Parboil (spmv, version `cuda`): a thread per row, the matrix in jagged
// diagonals. Rows are sorted by length, longest first, in groups of 32 that are padded to the longest of the
// group. The k-th elements of all rows are adjacent, so that a warp reads values and columns coalesced, and
// gathers from the vector. The result is written to the row's original position.
//
// The lengths of groups and the starts of diagonals are in constant memory. The loop is software-pipelined as
// in the source: the column of an element is loaded one round before its value and the vector's element.
// Padding has column 0. The matrix is either a graph, with an entry per edge, or a generated mesh: a cube of
// points, each with an entry for itself and for each neighbour including edges and corners, up to 27.
//
// Counts: a multiply-add, the end of the loop; address computation is assumed. Registers per thread are from
// nvcc 13.0 -O3 for sm_75.
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_input.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::spmv {
namespace {

constexpr std::uint64_t kGroup = 32;  // rows padded to the same length

struct Spec {
  std::string file;
  std::uint64_t side = 32;
  std::uint32_t iterations = 1;
  std::uint32_t block = 192;

  void describe(ParamTable& t) {
    t.file("graph", file,
           "Matrix or graph file (Matrix Market, SNAP or METIS; plain, .gz or .xz), one entry per edge and "
           "direction. Empty: generated mesh. Parboil's largest matrix: Dubcova3, 146,689 rows, mean 24.8 "
           "entries",
           "simulator setting");
    t.count("side", side, {1, 128},
            "Points along each side of the generated mesh; default: 32,768 rows with a mean of 25.3 entries",
            "assumed: a regular mesh with rows about as long as Dubcova3's")
        .only_when(sibling("graph").is(""));
    t.count("iterations", iterations, {1, 100'000}, "Products, in sequence (Parboil: 50)",
            "assumed, smaller than published to shorten runs");
    t.count("block", block, {32, 1024}, "Threads per block, a multiple of the warp width",
            "Parboil, spmv: 1,536 threads in 8 blocks per multiprocessor");
  }
};

CsrGraph mesh(std::uint64_t side) {
  CsrGraph g;
  g.vertices = side * side * side;
  g.offsets.push_back(0);
  auto const range = [side](std::uint64_t i) { return std::pair{i - (i != 0), std::min(i + 1, side - 1)}; };
  for (std::uint64_t v = 0; v < g.vertices; ++v) {
    auto const [x0, x1] = range(v % side);
    auto const [y0, y1] = range(v / side % side);
    auto const [z0, z1] = range(v / side / side);
    for (auto z = z0; z <= z1; ++z)
      for (auto y = y0; y <= y1; ++y)
        for (auto x = x0; x <= x1; ++x)
          g.targets.push_back(static_cast<std::uint32_t>((z * side + y) * side + x));
    g.offsets.push_back(g.targets.size());
  }
  return g;
}

// A matrix in jagged diagonals.
struct Jagged {
  std::uint64_t rows = 0;
  std::vector<std::uint32_t> row;     // position of the result of a thread's row
  std::vector<std::uint64_t> length;  // per group, at least 1
  std::vector<std::uint64_t> first;   // first element of each diagonal
  std::vector<std::uint32_t> column;  // per element
  VirtAddr values = 0, columns = 0, places = 0, lengths = 0, starts = 0, x = 0, y = 0;

  std::uint64_t length_at(std::uint64_t thread) const { return length[thread / kGroup]; }
};

Jagged jagged(CsrGraph const& g) {
  Jagged m;
  m.rows = g.vertices;
  auto const size = [&](std::uint64_t v) { return g.offsets[v + 1] - g.offsets[v]; };
  m.row.resize(g.vertices);
  std::iota(m.row.begin(), m.row.end(), 0U);
  std::stable_sort(m.row.begin(), m.row.end(), [&](auto a, auto b) { return size(a) > size(b); });
  for (std::uint64_t i = 0; i < m.rows; i += kGroup)
    m.length.push_back(std::max<std::uint64_t>(size(m.row[i]), 1));
  for (std::uint64_t k = 0, groups = m.length.size(); k < m.length[0]; ++k) {
    m.first.push_back(m.column.size());
    while (m.length[groups - 1] <= k) --groups;
    for (std::uint64_t i = 0; i < groups * kGroup; ++i) {
      bool const real = i < m.rows && k < size(m.row[i]);
      m.column.push_back(real ? g.targets[g.offsets[m.row[i]] + k] : 0);
    }
  }
  return m;
}

class Product final : public LinearKernel {
 public:
  Product(std::uint32_t warp_width, std::uint32_t block, std::shared_ptr<Jagged const> matrix)
      : LinearKernel({"spmv_jds", ceil_div(matrix->rows, block), block, 34, 0}, warp_width, matrix->rows),
        m_(std::move(matrix)) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (take(step, 1)) return set_arguments(out, 4);
    if (take(step, 1)) return set_compute(out, {.vector = 4, .special = 1, .scalar = 4}, kWait);
    if (t.lanes == 0) return set_end(out);
    auto const group = t.first / kGroup;
    auto const groups = static_cast<std::uint32_t>(ceil_div(t.lanes, kGroup));
    if (take(step, 1)) return set_scalar_load(out, m_->lengths + 4 * group, 4 * groups);
    auto const longest = m_->length[group];  // the groups of a warp have descending lengths
    if (take(step, 1)) return start(out, 0);
    if (take(step, 1)) return elements(out, t, m_->values, 0, kWait);
    if (take(step, 1)) return elements(out, t, m_->columns, 0);
    if (take(step, 1)) return gather(out, t, 0, kWait);
    if (longest > 1) {
      if (take(step, 1)) return start(out, 1);
      if (take(step, 1)) return elements(out, t, m_->columns, 1, kWait);
      if (take(step, 5 * (longest - 2))) {
        auto const k = step / 5 + 2;
        switch (step % 5) {
          case 0:
            return elements(out, t, m_->values, k - 1);
          case 1:
            return start(out, k);
          case 2:
            return elements(out, t, m_->columns, k, kWait);
          case 3:
            return gather(out, t, k - 1);
          default:  // the product of the round before last, three addresses, the loop
            return set_compute(out, {.vector = 13, .scalar = 3}, kWait);
        }
      }
      if (take(step, 1)) return elements(out, t, m_->values, longest - 1);
      if (take(step, 1)) return gather(out, t, longest - 1, kWait);
      if (take(step, 1)) return set_compute(out, {.vector = 1});
    }
    if (take(step, 1)) return set_compute(out, {.vector = 5}, kWait);
    if (take(step, 1)) return set_linear(out, Op::load, 4, m_->places + 4 * t.first, 4, t.lanes);
    if (take(step, 1)) return set_compute(out, {.vector = 4}, kWait);
    if (take(step, 1)) {
      set_access(out, Op::store, 4, low_lanes(t.lanes));
      for (std::uint32_t lane = 0; lane < t.lanes; ++lane)
        out.address[lane] = m_->y + std::uint64_t{4} * m_->row[t.first + lane];
      return;
    }
    set_end(out);
  }

 private:
  void start(WarpInstruction& out, std::uint64_t k) const { set_scalar_load(out, m_->starts + 4 * k, 4); }

  // The lanes whose rows have a k-th element or padding.
  std::uint64_t lanes(ThreadRange const& t, std::uint64_t k) const {
    std::uint64_t mask = 0;
    for (std::uint32_t lane = 0; lane < t.lanes; ++lane)
      if (k < m_->length_at(t.first + lane)) mask |= std::uint64_t{1} << lane;
    return mask;
  }

  void elements(WarpInstruction& out, ThreadRange const& t, VirtAddr base, std::uint64_t k,
                bool wait = false) const {
    set_access(out, Op::load, 4, lanes(t, k), wait);
    for (std::uint32_t lane = 0; lane < t.lanes; ++lane)
      out.address[lane] = base + 4 * (m_->first[k] + t.first + lane);
  }

  void gather(WarpInstruction& out, ThreadRange const& t, std::uint64_t k, bool wait = false) const {
    auto const mask = lanes(t, k);
    set_access(out, Op::load, 4, mask, wait);
    for (std::uint32_t lane = 0; lane < t.lanes; ++lane)
      if ((mask >> lane & 1) != 0)
        out.address[lane] = m_->x + std::uint64_t{4} * m_->column[m_->first[k] + t.first + lane];
  }

  std::shared_ptr<Jagged const> m_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  check_whole_warps(spec.block, context);
  std::vector<InputFile> inputs;
  GraphSpec graph;
  graph.file = spec.file;
  graph.undirected = true;
  auto const m = std::make_shared<Jagged>(
      jagged(spec.file.empty() ? mesh(spec.side) : load_graph(graph, context, inputs)));
  BufferLayout layout(context.buffers);
  m->values = layout.add("values", 4 * m->column.size());
  m->columns = layout.add("columns", 4 * m->column.size());
  m->places = layout.add("places", 4 * m->rows);
  m->x = layout.add("x", 4 * m->rows);
  m->y = layout.add_result("y", 4 * m->rows);
  m->starts = layout.add("starts", 4 * m->first.size());
  m->lengths = layout.add("lengths", 4 * m->length.size());
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t i = 0; i < spec.iterations; ++i)
    kernels.push_back(std::make_unique<Product>(context.warp_width, spec.block, m));
  return {"spmv", layout.take(), std::move(kernels), std::move(inputs)};
}

}  // namespace

WorkloadInfo info() {
  return {"spmv",
          "Sparse matrix-vector product, jagged diagonals, one thread per row (Parboil)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"side", "20"}}},
           {kMedium, {}},
           {kPaper,
            {{"side", "53"}, {"iterations", "50"}},
            "Parboil, spmv, large input: Dubcova3, 146,689 rows, 50 products; assumed: the closest generated "
            "mesh"}}};
}

}  // namespace farfault::workloads::spmv
