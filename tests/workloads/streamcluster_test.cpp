// SPDX-License-Identifier: Apache-2.0
// streamcluster, replayed on values and compared with the search on the host.
#include <algorithm>
#include <set>

#include "../../workloads/src/streamcluster_search.hpp"
#include "buffer_accesses.hpp"

namespace farfault::workloads::streamcluster_test {
using namespace test;
using namespace test::meshes;

TEST_CASE("streamcluster: the kernels' sums decide, as on the host, which candidates become centres") {
  constexpr std::uint64_t n = 256;
  constexpr std::uint32_t dims = 3;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("streamcluster",
                         {{"points", "256"},
                          {"dimensions", "3"},
                          {"fewest", "3"},
                          {"most", "6"},
                          {"evaluations", "40"},
                          {"block", "64"}},
                         of_width(width));
    auto const set = generate_points(n, dims, 1);
    auto const search = search_centres(set, {3, 6, 40}, 1);
    REQUIRE(w.kernel_count() == search.size());
    auto const& coordinates = buffer(w, "coordinates");
    auto const& points = buffer(w, "points");
    auto const& table = buffer(w, "centre_table");
    auto const& work = buffer(w, "work");
    auto const& marks = buffer(w, "switch_membership");
    std::vector<std::int64_t> cost(search[0].before->cost.begin(), search[0].before->cost.end());
    std::vector<std::uint64_t> centre(search[0].before->centre.begin(), search[0].before->centre.end());
    std::uint64_t opened = 0;
    for (std::size_t k = 0; k < search.size(); ++k) {
      std::set<std::uint64_t> const centres(centre.begin(), centre.end());
      std::map<std::uint64_t, std::uint64_t> number;
      for (auto const c : centres) number.emplace(c, number.size());
      std::vector<std::int64_t> candidate, distance(n), sums(n * (centres.size() + 1));
      std::vector<std::uint32_t> seen(n);
      std::vector<bool> marked(n);
      std::uint64_t block_now = ~0ULL, x = n, past_barrier = 0;
      walk(w.kernel(k), width, [&](auto block, auto warp, auto step, WarpInstruction const& in) {
        if (block != block_now) candidate.clear();
        block_now = block;
        if (step == 0) past_barrier = 0;
        past_barrier += in.op == Op::barrier;
        if (in.op != Op::load && in.op != Op::store) return;
        each_lane(in, [&](auto lane, VirtAddr a) {
          auto const t = block * 64 + warp * width + lane;
          if (holds(coordinates, a)) {
            auto const e = (a - coordinates.base) / 4;
            auto const value = std::int64_t{set.coordinates[e % n * dims + e / n]};
            if (past_barrier == 0) {
              CHECK(lane == 0);
              CHECK(e / n == candidate.size());
              x = e % n;
              return candidate.push_back(value);
            }
            REQUIRE(candidate.size() == dims);
            CHECK(e % n == t);
            auto const d = value - candidate[seen[t]++];
            distance[t] += d * d;
          } else if (holds(points, a)) {
            CHECK((a - points.base) / 32 == t);
          } else if (holds(table, a)) {
            CHECK((a - table.base) / 4 == centre[t]);
          } else if (holds(marks, a)) {
            CHECK(a - marks.base == t);
            CHECK(in.op == Op::store);
            marked[t] = true;
          } else {
            REQUIRE(holds(work, a));
            auto const row = centres.size() + 1;
            auto const entry = marked[t] ? centres.size() : number.at(centre[t]);
            CHECK((a - work.base) / 4 == t * row + entry);
            if (in.op == Op::store)
              sums[(a - work.base) / 4] += marked[t] ? distance[t] - cost[t] : cost[t] - distance[t];
          }
        });
      });
      CHECK(x == search[k].candidate);
      auto const row = centres.size() + 1;
      double saving = search[k].price;
      std::map<std::uint64_t, double> closing;
      for (auto const c : centres) {
        closing[c] = search[k].price;
        for (std::uint64_t i = 0; i < n; ++i) closing[c] += double(sums[i * row + number[c]]);
        if (closing[c] > 0) saving -= closing[c];
      }
      for (std::uint64_t i = 0; i < n; ++i) {
        CHECK(seen[i] == dims);
        CHECK(marked[i] == (distance[i] < cost[i]));
        saving += double(sums[i * row + centres.size()]);
      }
      CHECK(search[k].opened == (saving < 0));
      if (saving >= 0) continue;
      ++opened;
      for (std::uint64_t i = 0; i < n; ++i)
        if (marked[i] || closing[centre[i]] > 0) {
          cost[i] = distance[i];
          centre[i] = x;
        }
    }
    CHECK(opened > 0);
    CHECK(opened < search.size());
  }
}

TEST_CASE(
    "streamcluster: at first each point belongs to its nearest centre, and the number of centres is "
    "bounded") {
  auto const set = generate_points(500, 5, 3);
  auto const search = search_centres(set, {4, 9, 100'000}, 3);
  auto const& first = *search.front().before;
  CHECK(first.centres >= 4);
  for (std::uint64_t i = 0; i < 500; ++i) {
    std::uint64_t least = ~0ULL;
    for (auto const c : first.centre) least = std::min(least, set.distance(i, c));
    CHECK(first.cost[i] == least);
    CHECK(set.distance(i, first.centre[i]) == least);
  }
  auto const& last = *search.back().before;
  CHECK(last.centres >= 4);
  CHECK(last.centres <= 9);
  CHECK(search.size() < 100'000);
}

TEST_CASE("streamcluster: accesses and barriers follow from points, dimensions and candidates") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const n : {128U, 384U}) {
      auto const w = build(
          "streamcluster",
          {{"points", n == 128 ? "128" : "384"}, {"dimensions", "7"}, {"evaluations", "5"}, {"block", "128"}},
          of_width(width));
      CHECK(w.kernel_count() == 5);
      CHECK(w.kernel(4).shape().blocks == n / 128);
      CHECK(w.kernel(4).shape().shared_bytes_per_block == 28);
      CHECK(barriers(w.kernel(4), width) == 1);
      CHECK(accesses(w, 4, "coordinates", Op::load, width) == 7 * (n + n / 128));
      CHECK(accesses(w, 4, "work", Op::load, width) == n);
      CHECK(accesses(w, 4, "work", Op::store, width) == n);
      auto const marked = accesses(w, 4, "switch_membership", Op::store, width);
      CHECK(accesses(w, 4, "centre_table", Op::load, width) == n - marked);
      CHECK(accesses(w, 4, "points", Op::load, width) == 3 * n - marked);
      CHECK(inside_buffers(w, width));
    }
}

TEST_CASE("streamcluster: incompatible parameters are rejected") {
  CHECK(error_of([] {
          build("streamcluster", {{"points", "1000"}});
        }) == "points = 1000 must be a multiple of block, 512");
  CHECK(error_of([] {
          build("streamcluster", {{"fewest", "30"}});
        }) == "fewest = 30 must not exceed the maximum, most = 20");
}

}  // namespace farfault::workloads::streamcluster_test
