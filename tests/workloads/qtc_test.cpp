// SPDX-License-Identifier: Apache-2.0
// qtc: the clustering compared with plain loops over the matrix of distances.
#include <algorithm>

#include "../../workloads/src/qt_clustering.hpp"
#include "block_runs.hpp"

namespace farfault::workloads::qtc_test {
using namespace test;
using namespace test::grids;
namespace {

// SHOC's kernels as plain loops over a matrix of squared distances, with the elements that they read of it
// and of the masks.
class PlainQt {
 public:
  static constexpr std::uint64_t kFar = ~std::uint64_t{0};

  PlainQt(std::uint32_t points, std::uint64_t seed, std::uint64_t threshold = 1)
      : n_(points), clustered_(points) {
    auto const place = qt_points(points, seed);
    auto const limit = threshold * threshold * kQtUnit * kQtUnit;
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) {
        auto const dx = std::int64_t{place[i].x} - place[j].x, dy = std::int64_t{place[i].y} - place[j].y;
        auto const square = static_cast<std::uint64_t>(dx * dx + dy * dy);
        matrix.push_back(i != j && square < limit ? square : kFar);
      }
    for (std::size_t i = 0; i < n_; ++i) {
      left.push_back(i);
      for (std::size_t j = 0; j < n_; ++j)
        if (matrix[i * n_ + j] != kFar) ++entries;
    }
  }

  std::vector<std::size_t> neighbours(std::size_t p) const {
    std::vector<std::size_t> row;
    for (std::size_t j = 0; j < n_; ++j)
      if (matrix[p * n_ + j] != kFar) row.push_back(j);
    return row;
  }

  // Elements that are read or written, in any order.
  struct Touched {
    std::vector<std::size_t> matrix, mask, clustered, stored;
    std::vector<std::size_t> sizes;    // size of each block's best cluster
    std::size_t seeds = 0, steps = 0;  // number of clusters, and of searches for a next member
  };

  // With `forget`, a neighbour that was found to be taken is not examined again, as in the threads'
  // registers.
  std::vector<std::size_t> gather(std::size_t seed, std::size_t mask, bool forget, Touched& t) const {
    std::vector<std::size_t> members{seed};
    auto row = neighbours(seed);
    std::vector<std::uint64_t> most(row.size());
    std::vector<bool> gone(row.size());
    ++t.seeds;
    while (members.size() < left.size()) {
      ++t.steps;
      std::size_t best = n_;
      std::uint64_t least = kFar;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (gone[i]) continue;
        t.mask.push_back(mask + row[i]);
        bool const taken = std::ranges::count(members, row[i]) != 0;
        if (!taken) t.clustered.push_back(row[i]);
        if (taken || clustered_[row[i]]) {
          gone[i] = forget;
          continue;
        }
        auto const element = row[i] * n_ + members.back();
        t.matrix.push_back(element);
        if (matrix[element] > most[i]) {
          most[i] = matrix[element];
          t.stored.push_back(i);
        }
        if (most[i] < least) {
          least = most[i];
          best = row[i];
        }
      }
      if (best == n_) break;
      members.push_back(best);
    }
    return members;
  }

  // Tries all seeds, then returns the winner.
  std::vector<std::size_t> round(Touched& t) const {
    std::vector<std::size_t> winner;
    auto const blocks = std::min<std::size_t>(256, left.size());
    for (std::size_t b = 0; b < blocks; ++b) {
      std::size_t best = 0;
      for (auto i = b; i < left.size(); i += blocks) {
        if (best != 0 && neighbours(left[i]).size() <= best) continue;
        auto const members = gather(left[i], b * n_, true, t);
        best = std::max(best, members.size());
        if (members.size() > winner.size()) winner = members;
      }
      t.sizes.push_back(best);
    }
    return winner;
  }

  void take(std::vector<std::size_t> const& members) {
    for (auto const m : members) clustered_[m] = true;
    std::erase_if(left, [&](auto p) { return clustered_[p]; });
  }

  std::vector<std::uint64_t> matrix;
  std::vector<std::size_t> left;
  std::size_t entries = 0;

 private:
  std::size_t n_;
  std::vector<bool> clustered_;
};

// Elements of a buffer loaded or stored by a kernel, ascending.
std::vector<std::size_t> elements(Kernel const& kernel, std::uint32_t width, Op op, Buffer const& b,
                                  std::size_t bytes) {
  std::vector<std::size_t> list;
  for (auto const a : addresses(kernel, width, op))
    if (within(b, a)) list.push_back((a - b.base) / bytes);
  std::ranges::sort(list);
  return list;
}

std::vector<std::size_t> sorted(std::vector<std::size_t> list) {
  std::ranges::sort(list);
  return list;
}

}  // namespace

TEST_CASE("qtc: in each round the kernels read masks and distances like the algorithm on the same points") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto context = of_width(width);
    context.seed = 3;
    auto const w = build("qtc", {{"points", "300"}, {"clusters", "3"}}, context);
    PlainQt plain(300, 3);
    auto const &matrix = buffer(w, "distances"), &mask = buffer(w, "mask"),
               &clustered = buffer(w, "clustered"), &list = buffer(w, "left"), &result = buffer(w, "result"),
               &to_cluster = buffer(w, "to_cluster");
    REQUIRE(w.kernel_count() == 1 + 3 * 4);
    std::vector<std::size_t> memory = plain.left;  // the list of points
    for (std::size_t k = 1; k < w.kernel_count(); k += 4) {
      PlainQt::Touched tried, trimmed;
      auto const winner = plain.round(tried);
      CHECK(winner.size() > 4);
      CHECK(elements(w.kernel(k), width, Op::load, matrix, 4) == sorted(tried.matrix));
      CHECK(elements(w.kernel(k), width, Op::load, mask, 1) == sorted(tried.mask));
      CHECK(elements(w.kernel(k), width, Op::load, clustered, 1) == sorted(tried.clustered));
      // Per search two barriers in the reduction and one after it; per seed one at its beginning, one before
      // and one after the searches.
      CHECK(counts_of(w.kernel(k), width).barriers == 64 / width * 3 * (tried.seeds + tried.steps));
      std::vector<std::size_t> compared;  // each block's size, and the seed of each block that is better
      for (std::size_t b = 0, most = 0; b < tried.sizes.size(); most = std::max(most, tried.sizes[b++])) {
        compared.push_back(2 * b);
        if (tried.sizes[b] > most) compared.push_back(2 * b + 1);
      }
      CHECK(elements(w.kernel(k + 1), width, Op::load, buffer(w, "sizes"), 4) == compared);
      CHECK(plain.gather(winner.front(), 0, false, trimmed) == winner);
      auto const& trim = w.kernel(k + 2);
      for (auto const p : plain.left) trimmed.mask.push_back(p);  // again, for the list
      CHECK(elements(trim, width, Op::load, matrix, 4) == sorted(trimmed.matrix));
      CHECK(elements(trim, width, Op::load, mask, 1) == sorted(trimmed.mask));
      CHECK(elements(trim, width, Op::load, clustered, 1) == sorted(trimmed.clustered));
      // One store per entry of the row clears it.
      auto const row = to_cluster.bytes / 4 / 256;
      for (std::size_t i = 0; i < row; ++i) trimmed.stored.push_back(i);
      CHECK(elements(trim, width, Op::store, to_cluster, 4) == sorted(trimmed.stored));
      std::vector<std::size_t> numbers(winner.size());
      for (std::size_t i = 0; i < winner.size(); ++i) numbers[i] = i;
      CHECK(elements(trim, width, Op::store, result, 4) == numbers);
      // Members are marked after the whole mask is cleared.
      auto marks = winner;
      for (std::size_t p = 0; p < 300; ++p) marks.push_back(p);
      CHECK(elements(trim, width, Op::store, mask, 1) == sorted(marks));

      // The list: threads write the points that they have read and keep; then the first thread writes the
      // remaining points in order.
      plain.take(winner);
      std::vector<std::size_t> held(64);
      std::vector<std::size_t> staying;
      std::size_t read_in = 0, next = 0;
      run_blocks(trim, width, [&](auto, auto warp, auto phase, WarpInstruction const& in) {
        if (in.op != Op::load && in.op != Op::store) return;
        each_lane(in, [&](auto lane, VirtAddr at) {
          if (!within(list, at)) return;
          auto const e = (at - list.base) / 4;
          if (in.op == Op::load) {
            if (read_in != phase) staying.clear(), next = 0;
            read_in = phase;
            held[warp * width + lane] = memory[e];
            if (std::ranges::count(plain.left, memory[e]) != 0) staying.push_back(memory[e]);
          } else {
            memory[e] = phase == read_in ? held[warp * width + lane] : staying.at(next++);
          }
        });
      });
      memory.resize(plain.left.size());
      CHECK(memory == plain.left);
      memory.resize(300);
    }
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("qtc: a cluster that takes all remaining points needs no unsuccessful search") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto context = of_width(width);
    context.seed = 5;
    auto const w = build("qtc", {{"points", "60"}, {"threshold", "20"}, {"clusters", "100"}}, context);
    PlainQt plain(60, 5, 20);
    std::size_t k = 1;
    for (bool all = false; !all; k += 4) {
      REQUIRE(k + 3 < w.kernel_count());
      PlainQt::Touched tried;
      auto const winner = plain.round(tried);
      CHECK(elements(w.kernel(k), width, Op::load, buffer(w, "distances"), 4) == sorted(tried.matrix));
      CHECK(counts_of(w.kernel(k), width).barriers == 64 / width * 3 * (tried.seeds + tried.steps));
      all = winner.size() == plain.left.size();
      if (all) CHECK(winner.size() > 1);
      plain.take(winner);
    }
    CHECK(k == w.kernel_count());
  }
}

TEST_CASE("qtc: clusters are formed until one has a single point, and each point is in one") {
  QtClustering clustering(qt_points(200, 1), 1);
  clustering.run(256, 1000);
  std::vector<int> in(200);
  std::size_t last = 201, ones = 0;
  for (auto const& round : clustering.rounds()) {
    auto const& members = clustering.candidate(round.winner).members;
    CHECK(members.size() <= last);
    last = members.size();
    ones += last == 1 ? 1 : 0;
    for (auto const a : members) {
      ++in[a];
      for (auto const b : members) CHECK((a == b || clustering.near(a, b)));
    }
  }
  CHECK(ones == (std::ranges::count(in, 0) == 0 && last > 1 ? 0 : 1));
  CHECK(std::ranges::count_if(in, [](int i) { return i > 1; }) == 0);
}

TEST_CASE("qtc: kernels, blocks and the accesses of the small kernels follow from the points") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const points : {130U, 270U}) {
      auto const w =
          build("qtc", {{"points", points == 130 ? "130" : "270"}, {"clusters", "1"}}, of_width(width));
      PlainQt const plain(static_cast<std::uint32_t>(points), 1);
      REQUIRE(w.kernel_count() == 5);
      auto const blocks = std::min<std::uint64_t>(points, 256);
      for (std::size_t k = 0; k < 5; ++k) CHECK(w.kernel(k).shape().blocks == (k < 2 ? blocks : 1));
      auto const row = buffer(w, "neighbours").bytes / 4 / points;
      CHECK(buffer(w, "distances").bytes == 4 * points * points);
      CHECK(all_equal(touches(w, buffer(w, "neighbours"), Op::load, width, 4, 0, 1), 1));
      CHECK(all_equal(touches(w, buffer(w, "degrees"), Op::store, width, 4, 0, 1), 1));
      CHECK(counts_of(w.kernel(0), width).loaded == points * row);
      // The neighbours of each seed are read once, and each block clears its masks for every seed.
      auto const tried = elements(w.kernel(1), width, Op::load, buffer(w, "neighbours"), 4);
      if (points == 130) CHECK(tried.size() == plain.entries);
      CHECK(std::ranges::adjacent_find(tried) == tried.end());
      CHECK(elements(w.kernel(1), width, Op::load, buffer(w, "left"), 4).size() == points * (64 / width));
      CHECK(elements(w.kernel(1), width, Op::store, buffer(w, "sizes"), 4).size() == 2 * blocks);
      auto const best = elements(w.kernel(2), width, Op::load, buffer(w, "sizes"), 4);
      CHECK(std::ranges::count_if(best, [](auto e) { return e % 2 == 0; }) ==
            static_cast<std::int64_t>(blocks));
      CHECK(elements(w.kernel(2), width, Op::store, buffer(w, "sizes"), 4) == std::vector<std::size_t>{0, 1});
      for (auto const* const name : {"mask", "clustered"}) {
        auto const loads = touches(w, buffer(w, name), Op::load, width, 1, 4, 5);
        CHECK(std::ranges::count(loads, 1U) == static_cast<std::int64_t>(points));
      }
      CHECK(all_equal(touches(w, buffer(w, "clustered"), Op::store, width, 1, 4, 5), 1));
    }
}

TEST_CASE("qtc: a point with more neighbours than a block keeps in registers is rejected") {
  CHECK(error_of([] {
          build("qtc", {{"points", "1000"}, {"threshold", "20"}});
        }).starts_with("threshold = 20 must be lower, because a point has 9"));
  CHECK(error_of([] {
          build("qtc", {{"points", "1000"}, {"threshold", "20"}});
        }).ends_with(" neighbours within it, more than the 768 that a block keeps in registers"));
}

}  // namespace farfault::workloads::qtc_test
