// SPDX-License-Identifier: Apache-2.0
// Light paths in the scene of RAY (ISPASS-2009 benchmarks of GPGPU-Sim, by Boroujerdi): a plane and three
// spheres under a lamp, seen by a camera, in single precision as in its kernel. Determines for each pixel the
// objects that its ray hits, one reflection after the other, and their lighting.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace farfault::workloads {

struct Vec3 {
  float x = 0, y = 0, z = 0;

  friend Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend Vec3 operator*(Vec3 a, float f) { return {a.x * f, a.y * f, a.z * f}; }
  friend float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
  friend Vec3 cross(Vec3 a, Vec3 b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
  }
  friend Vec3 normalized(Vec3 a) { return a * (1.0F / std::sqrt(dot(a, a))); }
};

struct RaySegment {
  Vec3 from, along;
};

// Result of one segment of a ray.
struct RayHit {
  bool hit = false;
  std::uint8_t object = 0;
  std::uint8_t tests = 0;  // objects tested for a shadow; 0 if the surface faces away from the lamp
  bool lit = false;
};

class RayScene {
 public:
  static constexpr std::uint32_t kObjects = 4;
  static constexpr std::uint32_t kPlane = 0;  // the object that is a plane

  RayScene(std::uint32_t width, std::uint32_t height) : width_(width), height_(height) {}

  // The first `depth` hits of a pixel's ray. After the first miss, all entries are misses.
  void trace(std::uint32_t x, std::uint32_t y, std::uint32_t depth, RayHit* hits) const {
    std::fill_n(hits, depth, RayHit{});
    auto ray = of_pixel(x, y);
    for (std::uint32_t i = 0; i < depth; ++i) {
      float nearest = kFar;
      for (std::uint32_t j = 0; j < kObjects; ++j) {
        auto const t = distance(ray, j);
        if (t <= 0 || t >= nearest) continue;
        nearest = t;
        hits[i].object = static_cast<std::uint8_t>(j);
      }
      if (nearest >= kFar) return;
      hits[i].hit = true;
      auto const at = ray.from + ray.along * nearest;
      auto const to_lamp = normalized(kLamp - at), back = normalized(ray.from - at);
      auto const normal = hits[i].object == kPlane ? kUp : normalized(at - kCentres[hits[i].object]);
      auto const towards_eye = dot(back, normal) < 0 ? normal * -1.0F : normal;
      if (dot(towards_eye, to_lamp) > 0) hits[i].lit = reaches_lamp({at, to_lamp}, hits[i].tests);
      ray.along = normalized(normal * (2 * dot(normal, back)) - back);
      ray.from = at + ray.along * kStep;
    }
  }

 private:
  static constexpr float kFar = 10'000;
  static constexpr float kStep = 0.0001F;  // offset from a surface
  static constexpr Vec3 kLamp{10, 10, 10}, kUp{0, 1, 0};
  static constexpr Vec3 kEye{0, 0.5F, 2};  // looks at the origin, over 65 degrees
  static constexpr std::array<Vec3, kObjects> kCentres{{{0, -1.5F, 0}, {-1, 0, -1}, {1, 0, -1}, {0, 0, -2}}};
  static constexpr std::array<float, kObjects> kRadii{0.5F, 0.5F, 0.5F, 0.75F};

  RaySegment of_pixel(std::uint32_t x, std::uint32_t y) const {
    auto const ahead = normalized(kEye * -1.0F);
    auto const up = normalized(kUp - ahead * dot(ahead, kUp));
    auto const right = normalized(cross(ahead, up));
    auto const focus = static_cast<float>(1 / std::tan(65 * std::numbers::pi / 180 / 2));
    auto const size = 2.0F / static_cast<float>(std::min(width_, height_));
    auto const across = (static_cast<float>(x) - static_cast<float>(width_) * 0.5F) * size;
    auto const upwards = (static_cast<float>(y) - static_cast<float>(height_) * 0.5F) * size;
    return {kEye, normalized(ahead * focus + right * across + up * upwards)};
  }

  // Distance along the ray; 0: miss.
  static float distance(RaySegment const& ray, std::uint32_t object) {
    if (object == kPlane) {
      auto const slope = dot(kUp, ray.along);
      if (std::fabs(slope) < kStep) return 0;
      return std::max(0.0F, -dot(kUp, ray.from - kCentres[object]) / slope);
    }
    auto const to_centre = kCentres[object] - ray.from;
    auto const along = dot(to_centre, ray.along), square = dot(to_centre, to_centre);
    auto const radius2 = kRadii[object] * kRadii[object];
    if (along < 0 && square > radius2) return 0;
    auto const beside = square - along * along;
    if (beside > radius2) return 0;
    auto const half = std::sqrt(radius2 - beside);
    return square > radius2 ? along - half : along + half;
  }

  // True if nothing blocks the lamp. As in the kernel, a blocking object is ignored if it is farther from the
  // origin than the lamp is from the surface.
  static bool reaches_lamp(RaySegment const& ray, std::uint8_t& tests) {
    auto const lamp2 = dot(kLamp - ray.from, kLamp - ray.from);
    RaySegment const off{ray.from + ray.along * kStep, ray.along};
    float t = 0;
    for (std::uint32_t j = 0; j < kObjects && t == 0; ++j, ++tests) {
      t = distance(off, j);
      auto const at = ray.from + ray.along * t;
      if (t > 0 && dot(at, at) > lamp2) t = 0;
    }
    return t == 0;
  }

  std::uint32_t width_, height_;
};

}  // namespace farfault::workloads
