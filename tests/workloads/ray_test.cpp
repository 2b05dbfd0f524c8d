// SPDX-License-Identifier: Apache-2.0
// ray: the scene in double precision against the kernel's reads and writes.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "block_runs.hpp"

namespace farfault::workloads::ray_test {
using namespace test;
using namespace test::grids;
namespace {

// The scene of `ray` in double precision: the hits of a pixel's ray, nearest first.
struct PlainHit {
  std::size_t object;
  std::size_t tests = 0;
  bool lit = false;
};

using Point = std::array<double, 3>;

double times(Point a, Point b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
Point sum_of(Point a, double f, Point b) {
  return {a[0] + f * b[0], a[1] + f * b[1], a[2] + f * b[2]};
}
Point unit(Point a) {
  return sum_of({}, 1 / std::sqrt(times(a, a)), a);
}

// The smallest positive distance, or 0.
double meets(Point from, Point along, std::size_t object) {
  if (object == 0) {
    auto const t = std::fabs(along[1]) < 0.0001 ? 0 : (-1.5 - from[1]) / along[1];
    return std::max(t, 0.0);
  }
  constexpr Point centres[] = {{-1, 0, -1}, {1, 0, -1}, {0, 0, -2}};
  auto const radius = object == 3 ? 0.75 : 0.5;
  auto const apart = sum_of(from, -1, centres[object - 1]);
  auto const half = times(along, apart), rest = times(apart, apart) - radius * radius;
  if (half * half < rest || (half > 0 && rest > 0)) return 0;
  auto const root = std::sqrt(half * half - rest);
  return rest > 0 ? -half - root : -half + root;
}

void plain_rays(Point from, Point along, std::size_t depth, std::vector<PlainHit>& hits) {
  if (hits.size() == depth) return;
  std::size_t nearest = 4;
  double t = 10'000;
  for (std::size_t o = 0; o < 4; ++o)
    if (auto const here = meets(from, along, o); here > 0 && here < t) {
      nearest = o;
      t = here;
    }
  if (nearest == 4) return;
  hits.push_back({nearest});
  constexpr Point centres[] = {{}, {-1, 0, -1}, {1, 0, -1}, {0, 0, -2}};
  auto const at = sum_of(from, t, along);
  auto const normal = nearest == 0 ? Point{0, 1, 0} : unit(sum_of(at, -1, centres[nearest]));
  auto const to_lamp = sum_of({10, 10, 10}, -1, at), lamp = unit(to_lamp);
  auto const facing = times(along, normal) > 0 ? -1.0 : 1.0;
  if (facing * times(normal, lamp) > 0) {
    bool free = true;
    for (std::size_t o = 0; o < 4 && free; ++o) {
      ++hits.back().tests;
      auto const in_the_way = meets(sum_of(at, 0.0001, lamp), lamp, o);
      auto const there = sum_of(at, in_the_way, lamp);
      free = in_the_way == 0 || times(there, there) > times(to_lamp, to_lamp);
    }
    hits.back().lit = free;
  }
  auto const mirrored = unit(sum_of(along, -2 * times(along, normal), normal));
  plain_rays(sum_of(at, 0.0001, mirrored), mirrored, depth, hits);
}

std::vector<PlainHit> plain_rays(double x, double y, double width, double height, std::size_t depth) {
  Point const eye{0, 0.5, 2}, ahead = unit(sum_of({}, -1, eye));
  Point const up = unit(sum_of({0, 1, 0}, -ahead[1], ahead));
  Point const right{ahead[1] * up[2] - ahead[2] * up[1], ahead[2] * up[0] - ahead[0] * up[2],
                    ahead[0] * up[1] - ahead[1] * up[0]};
  auto const size = 2 / std::min(width, height);
  auto along = sum_of({}, 1 / std::tan(65 * std::numbers::pi / 360), ahead);
  along = sum_of(along, (x - width / 2) * size, right);
  along = sum_of(along, (y - height / 2) * size, up);
  std::vector<PlainHit> hits;
  plain_rays(eye, unit(along), depth, hits);
  return hits;
}

}  // namespace

TEST_CASE("ray: a pixel reads for shading the objects that its ray hits, in order") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("ray", {{"width", "64"}, {"height", "48"}, {"depth", "4"}}, of_width(width));
    auto const &scene = buffer(w, "scene"), &image = buffer(w, "image");
    CHECK(w.kernel(0).shape().blocks == 24);
    std::vector<std::vector<std::size_t>> path(64 * 48);
    std::vector<std::size_t> steps(24 * 128 / width), pixel(24 * 128);
    walk(w.kernel(0), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
      ++steps[block * (128 / width) + warp];
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto lane, VirtAddr at) {
        auto& mine = pixel[block * 128 + warp * width + lane];
        if (within(image, at)) mine = (at - image.base) / 4;
        if (within(scene, at) && (at - scene.base) % 40 == 16) path[mine].push_back((at - scene.base) / 40);
      });
    });
    std::size_t different = 0, met = 0, deepest = 0;
    std::vector<std::size_t> expected(steps.size(), 0);
    for (std::size_t warp = 0; warp < steps.size(); ++warp) {
      // Steps of this warp per depth: eight for the search; at a hit five or eight fields, the shading, four
      // per shadow test, the light, the reflection.
      struct Level {
        bool traced = false, hit = false, sphere = false, lit = false;
        std::size_t tests = 0;
      };
      std::array<Level, 4> levels{};
      for (std::size_t lane = 0; lane < width; ++lane) {
        auto const p = pixel[warp * width + lane];
        auto const hits = plain_rays(double(p % 64), double(p / 64), 64, 48, 4);
        std::vector<std::size_t> objects;
        for (auto const& h : hits) objects.push_back(h.object);
        different += objects != path[p] ? 1 : 0;
        met += hits.size();
        deepest = std::max(deepest, hits.size());
        for (std::size_t d = 0; d < 4 && d <= hits.size(); ++d) {
          levels[d].traced = true;
          if (d == hits.size()) continue;
          levels[d].hit = true;
          levels[d].sphere |= hits[d].object != 0;
          levels[d].lit |= hits[d].lit;
          levels[d].tests = std::max(levels[d].tests, hits[d].tests);
        }
      }
      expected[warp] = 9 + 4;
      for (auto const& l : levels)
        expected[warp] +=
            (l.traced ? 8U : 0U) + (l.hit ? 7 + 4 * l.tests : 0U) + (l.sphere ? 3U : 0U) + (l.lit ? 1U : 0U);
    }
    CHECK(different == 0);
    CHECK(steps == expected);
    CHECK(met > 2000);
    CHECK(deepest == 4);
    CHECK(all_equal(touches(w, image, Op::store, width, 4), 2));
    CHECK(all_equal(touches(w, image, Op::load, width, 4), 1));
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("ray: the image's size gives blocks and pixels, and no ray exceeds the configured depth") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const depth : {1U, 3U}) {
      auto const w = build("ray", {{"width", "32"}, {"height", "16"}, {"depth", depth == 1 ? "1" : "3"}},
                           of_width(width));
      CHECK(w.kernel(0).shape().blocks == 4);
      CHECK(w.footprint() == 4 * 32 * 16 + 160 + 48);
      CHECK(counts_of(w.kernel(0), width).barriers == 4 * 128 / width);
      std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> depths;  // per warp
      std::size_t deepest = 0;
      auto const& scene = buffer(w, "scene");
      walk(w.kernel(0), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
        if (in.op != Op::load) return;
        bool colour = false;
        each_lane(in, [&](auto, VirtAddr at) { colour = within(scene, at) && (at - scene.base) % 40 == 16; });
        if (colour) deepest = std::max(deepest, ++depths[{block, warp}]);
      });
      CHECK(deepest == depth);
    }
}

TEST_CASE("ray: an image with a fractional number of blocks is rejected") {
  CHECK(error_of([] { build("ray", {{"height", "100"}}); }) == "height = 100 must be a multiple of 8");
}

}  // namespace farfault::workloads::ray_test
