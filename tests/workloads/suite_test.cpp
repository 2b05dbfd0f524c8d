// SPDX-License-Identifier: Apache-2.0
// Workloads of the benchmark suites with more than one loop over elements.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <set>

#include "../../workloads/src/aes256.hpp"
#include "../../workloads/src/kmeans_cluster.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads::suite_test {
using namespace test;
namespace {

std::array<std::uint8_t, 256> plain_sbox() {
  auto const times = [](unsigned a, unsigned b) {
    unsigned product = 0;
    for (; b != 0; b >>= 1, a = (a << 1) ^ ((a & 0x80) != 0 ? 0x11b : 0))
      if ((b & 1) != 0) product ^= a;
    return product & 0xff;
  };
  std::array<std::uint8_t, 256> box{};
  for (unsigned v = 0; v < 256; ++v) {
    unsigned inverse = 0;
    for (unsigned c = 1; c < 256 && v != 0; ++c)
      if (times(v, c) == 1) inverse = c;
    unsigned out = 0x63;
    for (unsigned i = 0; i < 8; ++i)
      for (unsigned const k : {0U, 4U, 5U, 6U, 7U}) out ^= (inverse >> ((i + k) % 8) & 1) << i;
    box[v] = static_cast<std::uint8_t>(out);
  }
  return box;
}

// Sub bytes, shift rows and mix columns, as defined in FIPS-197.
AesBlock plain_round(AesBlock const& s, std::array<std::uint8_t, 256> const& box, bool mix) {
  AesBlock shifted, out;
  for (std::size_t i = 0; i < 16; ++i) shifted[i] = box[s[(i + 4 * (i % 4)) % 16]];
  if (!mix) return shifted;
  auto const two = [](int v) { return (v << 1 ^ ((v & 0x80) != 0 ? 0x11b : 0)) & 0xff; };
  for (std::size_t c = 0; c < 16; c += 4)
    for (std::size_t r = 0; r < 4; ++r) {
      int const a = shifted[c + r], b = shifted[c + (r + 1) % 4];
      out[c + r] = static_cast<std::uint8_t>(two(a) ^ two(b) ^ b ^ shifted[c + (r + 2) % 4] ^
                                             shifted[c + (r + 3) % 4]);
    }
  return out;
}

}  // namespace

TEST_CASE("aes: the cipher reproduces the vector of FIPS-197, appendix C.3") {
  AesKey key;
  AesBlock plain;
  for (std::size_t i = 0; i < 32; ++i) key[i] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < 16; ++i) plain[i] = static_cast<std::uint8_t>(0x11 * i);
  auto const trace = Aes256(key).encrypt(plain);
  CHECK(trace.cipher == AesBlock{0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf, 0xea, 0xfc, 0x49, 0x90, 0x4b,
                                 0x49, 0x60, 0x89});
  CHECK(trace.lookups[0] == AesBlock{0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80, 0x90, 0xa0, 0xb0,
                                     0xc0, 0xd0, 0xe0, 0xf0});
}

TEST_CASE("aes: the S-box addresses of all threads are consistent with one key") {
  auto const box = plain_sbox();
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("aes", {{"size", "2 KiB"}, {"pattern", "1 KiB"}}, of_width(width));
    auto const& sbox = buffer(w, "sbox");
    std::vector<std::vector<std::uint8_t>> indices(128);
    walk(w.kernel(0), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
      if (in.op != Op::load) return;
      each_lane(in, [&](auto lane, VirtAddr a) {
        if (a >= sbox.base && a < sbox.base + 256)
          indices[block * 64 + warp * width + lane].push_back(static_cast<std::uint8_t>(a - sbox.base));
      });
    });
    std::set<std::vector<std::uint8_t>> different;
    for (std::size_t thread = 0; thread < 128; ++thread) {
      REQUIRE(indices[thread].size() == 14 * 16);
      CHECK(indices[thread] == indices[thread % 64]);  // the plaintext repeats
      different.insert(indices[thread]);
      auto const state = [&](std::size_t t, std::size_t round) {
        AesBlock s;
        std::copy_n(indices[t].begin() + static_cast<std::ptrdiff_t>(16 * round), 16, s.begin());
        return s;
      };
      for (std::size_t round = 0; round + 1 < 14; ++round) {
        auto const mine = plain_round(state(thread, round), box, true);
        auto const first = plain_round(state(0, round), box, true);
        for (std::size_t b = 0; b < 16; ++b)
          REQUIRE((mine[b] ^ state(thread, round + 1)[b]) == (first[b] ^ state(0, round + 1)[b]));
      }
    }
    CHECK(different.size() == 64);
  }
}

TEST_CASE("aes: every byte of the text is read once and written once, and each round reads its key") {
  auto const w = build("aes", {{"size", "4 KiB"}});
  CHECK(all_equal(touches(w, buffer(w, "text"), Op::load, 32, 1), 1));
  CHECK(all_equal(touches(w, buffer(w, "text"), Op::store, 32, 1), 1));
  CHECK(buffer(w, "expanded_key").bytes == 240);
  CHECK(all_equal(touches(w, buffer(w, "expanded_key"), Op::load, 32, 1), 8));  // 8 warps
}

TEST_CASE(
    "fft: the stages applied to the loaded points give the discrete Fourier transform at the stored "
    "addresses") {
  using Complex = std::complex<double>;
  auto const turn = [](double part) { return std::polar(1.0, -2 * std::numbers::pi * part); };
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("fft", {{"size", "8 KiB"}, {"passes", "1"}}, of_width(width));
    auto const& work = buffer(w, "work");
    std::vector<Complex> memory(1024), result(1024);
    for (std::size_t i = 0; i < 1024; ++i) memory[i] = {std::sin(double(i * i)), std::cos(3.0 * double(i))};
    // data[block][thread][i]: the value of a thread's i-th load, by its address.
    std::vector<std::array<std::array<Complex, 8>, 64>> data(2);
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> loads, stores;
    walk(w.kernel(0), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
      if (in.op != Op::load) return;
      auto const i = loads[{block, warp}]++;
      each_lane(in, [&](auto lane, VirtAddr a) {
        data[block][warp * width + lane][i] = memory[(a - work.base) / 8];
      });
    });
    for (auto& block : data) {
      auto const stage = [&](auto twiddle) {
        for (std::uint32_t t = 0; t < 64; ++t) {
          std::array<Complex, 8> out{};
          for (int k = 0; k < 8; ++k) {
            for (int i = 0; i < 8; ++i) out[std::size_t(k)] += block[t][std::size_t(i)] * turn(i * k / 8.0);
            out[std::size_t(k)] *= twiddle(t, k);
          }
          block[t] = out;
        }
      };
      auto exchanged = block;
      stage([&](std::uint32_t t, int k) { return turn(double(t) * k / 512); });
      // First exchange: thread 8 k1 + lo gets the eight values of frequency k1 with that low part.
      for (std::size_t t = 0; t < 64; ++t)
        for (std::size_t k = 0; k < 8; ++k) exchanged[8 * k + t % 8][t / 8] = block[t][k];
      block = exchanged;
      stage([&](std::uint32_t t, int k) { return turn(double(t % 8) * k / 64); });
      // Second exchange: thread k1 + 8 k2 gets the eight low parts.
      for (std::size_t t = 0; t < 64; ++t)
        for (std::size_t k = 0; k < 8; ++k) exchanged[t / 8 + 8 * k][t % 8] = block[t][k];
      block = exchanged;
      stage([](std::uint32_t, int) { return Complex(1); });
    }
    walk(w.kernel(0), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
      if (in.op != Op::store) return;
      auto const i = stores[{block, warp}]++;
      each_lane(in, [&](auto lane, VirtAddr a) {
        result[(a - work.base) / 8] = data[block][warp * width + lane][i];
      });
    });
    double worst = 0;
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t k = 0; k < 512; ++k) {
        Complex sum = 0;
        for (std::size_t n = 0; n < 512; ++n) sum += memory[512 * b + n] * turn(double(n * k % 512) / 512);
        worst = std::max(worst, std::abs(sum - result[512 * b + k]));
      }
    CHECK(worst < 1e-9);
  }
}

TEST_CASE("fft: each pass reads and writes every point once, with seven barriers a warp") {
  auto const w = build("fft", {{"size", "16 KiB"}, {"passes", "3"}});
  CHECK(w.kernel_count() == 3);
  CHECK(w.kernel(1).shape().name == "ifft1d_512");
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(all_equal(touches(w, buffer(w, "work"), Op::load, 32, 8, k, k + 1), 1));
    CHECK(all_equal(touches(w, buffer(w, "work"), Op::store, 32, 8, k, k + 1), 1));
  }
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> barriers;
  walk(w.kernel(0), 32, [&](auto block, auto warp, auto, WarpInstruction const& in) {
    barriers[{block, warp}] += in.op == Op::barrier;
  });
  CHECK(barriers.size() == 8);
  for (auto const& [where, count] : barriers) CHECK(count == 7);
}

TEST_CASE("kmeans: the host's clustering separates two groups and stops when nothing changes") {
  // Five points on a line; the first two, both in the left group, are the first centres.
  auto const c = cluster({0, 1, 2, 100, 102}, 1, 2, 10);
  CHECK(c.membership == std::vector<std::uint32_t>{0, 0, 0, 1, 1});
  CHECK(c.centres == std::vector<float>{1, 101});
  // Rounds: {0 | 1 2 100 102}, {0 1 2 | 100 102}, the same again.
  CHECK(c.rounds == 3);
  CHECK(cluster({0, 1, 2, 100, 102}, 1, 2, 2).rounds == 2);
}

TEST_CASE("kmeans: a cluster that loses its points keeps its centre, and ties are assigned to the first") {
  auto const c = cluster({5, 5, 5, 5}, 1, 2, 10);
  CHECK(c.membership == std::vector<std::uint32_t>{0, 0, 0, 0});
  CHECK(c.centres == std::vector<float>{5, 5});
  CHECK(c.rounds == 2);
}

TEST_CASE("kmeans: swap writes the transpose, and a round reads each coordinate once per cluster") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w =
        build("kmeans", {{"size", "8 KiB"}, {"features", "6"}, {"clusters", "3"}, {"max_rounds", "2"}},
              of_width(width));
    std::uint64_t const points = 8192 / 52;
    REQUIRE(w.kernel_count() == 3);
    auto const loads = addresses(w.kernel(0), width, Op::load);
    auto const stores = addresses(w.kernel(0), width, Op::store);
    REQUIRE(loads.size() == points * 6);
    REQUIRE(stores.size() == points * 6);
    std::set<VirtAddr> distinct(loads.begin(), loads.end());
    CHECK(distinct.size() == loads.size());
    for (std::size_t i = 0; i < loads.size(); ++i) {
      auto const from = (loads[i] - buffer(w, "feature").base) / 4;
      auto const to = (stores[i] - buffer(w, "feature_swap").base) / 4;
      REQUIRE(to == from % 6 * points + from / 6);
    }
    auto const warps =
        (points + 63) / 64 * (64 / width) - (width == 32 && points % 64 <= 32 && points % 64 != 0 ? 1 : 0);
    CHECK(all_equal(touches(w, buffer(w, "feature_swap"), Op::load, width, 4, 1, 2), 3));
    CHECK(all_equal(touches(w, buffer(w, "clusters"), Op::load, width, 4, 1, 2),
                    static_cast<std::uint32_t>(warps)));
    CHECK(all_equal(touches(w, buffer(w, "membership"), Op::store, width, 4, 1, 2), 1));
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE(
    "stencil2d: a block reads its tile and halo once and writes its tile, alternating between two arrays") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w =
        build("stencil2d", {{"rows", "32"}, {"cols", "128"}, {"iterations", "3"}}, of_width(width));
    std::uint64_t const pitch = 144;  // 130 columns padded to 16
    CHECK(buffer(w, "data0").bytes == 4 * 34 * pitch);
    CHECK(inside_buffers(w, width));
    for (std::size_t k = 0; k < 3; ++k) {
      auto const from = buffer(w, k % 2 == 0 ? "data0" : "data1").base;
      auto const to = buffer(w, k % 2 == 0 ? "data1" : "data0").base;
      std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> read(4), written(4);
      std::map<std::pair<std::uint64_t, std::uint32_t>, int> barriers;
      walk(w.kernel(k), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
        if (in.op == Op::barrier) ++barriers[{block, warp}];
        if (in.op != Op::load && in.op != Op::store) return;
        CHECK(barriers[{block, warp}] == (in.op == Op::load ? 0 : 1));
        each_lane(in, [&](auto, VirtAddr a) {
          auto const e = (a - (in.op == Op::load ? from : to)) / 4;
          (in.op == Op::load ? read : written)[block].push_back({e / pitch, e % pitch});
        });
      });
      for (std::uint64_t block = 0; block < 4; ++block) {
        std::uint64_t const top = block % 2 * 16, left = block / 2 * 64;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> tile, inner;
        for (std::uint64_t y = 0; y < 18; ++y)
          for (std::uint64_t x = 0; x < 66; ++x) {
            tile.push_back({top + y, left + x});
            if (y > 0 && y < 17 && x > 0 && x < 65) inner.push_back({top + y, left + x});
          }
        std::sort(read[block].begin(), read[block].end());
        std::sort(written[block].begin(), written[block].end());
        CHECK(read[block] == tile);
        CHECK(written[block] == inner);
      }
    }
  }
}

TEST_CASE(
    "maxpool: each output reads its window, clipped at the plane's border, and writes value and position "
    "once") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("maxpool",
                         {{"size", "8 KiB"},
                          {"height", "11"},
                          {"width", "13"},
                          {"window", "3"},
                          {"stride", "2"},
                          {"pad", "1"}},
                         of_width(width));
    std::uint64_t const out_h = 6, out_w = 7;
    std::uint64_t const planes = 8192 / (4 * (11 * 13 + 2 * 42));
    CHECK(buffer(w, "top").bytes == 4 * planes * 42);
    CHECK(all_equal(touches(w, buffer(w, "top"), Op::store, width, 4), 1));
    CHECK(all_equal(touches(w, buffer(w, "mask"), Op::store, width, 4), 1));
    std::vector<VirtAddr> expected;
    for (std::uint64_t p = 0; p < planes; ++p)
      for (std::uint64_t y = 0; y < out_h; ++y)
        for (std::uint64_t x = 0; x < out_w; ++x)
          for (int dy = -1; dy < 2; ++dy)
            for (int dx = -1; dx < 2; ++dx) {
              auto const h = static_cast<int>(2 * y) + dy, v = static_cast<int>(2 * x) + dx;
              if (h < 0 || h >= 11 || v < 0 || v >= 13) continue;
              expected.push_back(buffer(w, "bottom").base +
                                 4 * (p * 143 + static_cast<std::uint64_t>(h * 13 + v)));
            }
    auto seen = addresses(w.kernel(0), width, Op::load);
    std::sort(seen.begin(), seen.end());
    std::sort(expected.begin(), expected.end());
    CHECK(seen == expected);
  }
}

TEST_CASE("suites: the nine workloads of the GMMU Bypass paper take 60 to 70 MiB by default") {
  for (auto const* name :
       {"relu", "fir", "maxpool", "aes", "pagerank", "transpose", "fft", "kmeans", "stencil2d"}) {
    CAPTURE(name);
    auto const bytes = build(name, {}).footprint();
    CHECK(bytes >= 60ULL << 20);
    CHECK(bytes <= 70ULL << 20);
  }
}

TEST_CASE("suites: incompatible parameters are rejected") {
  CHECK(error_of([] {
          build("maxpool", {{"pad", "2"}});
        }) == "pad = 2 must be below window, 2; otherwise some windows are empty");
  CHECK(error_of([] {
          build("maxpool", {{"size", "4 KiB"}});
        }) == "size = 4 KiB must be at least one plane with its output and mask, 96 KiB");
  CHECK(error_of([] { build("aes", {{"pattern", "3000 B"}}); }).ends_with(" must be a power of two"));
  CHECK(error_of([] { build("stencil2d", {{"rows", "20"}}); }) == "rows = 20 must be a multiple of 16");
  CHECK(error_of([] {
          build("kmeans", {{"size", "1 KiB"}});
        }) == "size = 1 KiB must hold at least one point per cluster, 5, but holds 3 of 32 features");
}

}  // namespace farfault::workloads::suite_test
