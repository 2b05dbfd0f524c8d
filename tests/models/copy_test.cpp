// SPDX-License-Identifier: Apache-2.0
// The copy engine of a GPU on a whole machine: achieved link bandwidth, and the effect of trains.
#include <doctest/doctest.h>

#include <string>

#include "copies.hpp"

namespace copy_test {

using namespace farfault;
using test::Copies;
using test::done_at;

namespace {

constexpr std::uint32_t kPage = 64 * 1024;
constexpr PhysAddr kGpu = physical(0, 0);
constexpr PhysAddr kCpu = physical(kFirstCpu, 0);

Copies::Orders pages(std::uint32_t n, bool in, bool out, std::uint32_t bytes = kPage) {
  Copies::Orders orders;
  for (std::uint32_t i = 0; i < n; ++i) {
    auto const a = std::uint64_t{i} * kPage, b = (std::uint64_t{1} << 28) + a;
    if (in) orders.push_back({Time{1us}, {kCpu + a, kGpu + a, bytes, 2 * i}});
    if (out) orders.push_back({Time{1us}, {kGpu + b, kCpu + b, bytes, 2 * i + 1}});
  }
  return orders;
}

std::string const kOneGpu = "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\n";

std::string trains_of(std::uint32_t lines) {
  return "memory.train = " + std::to_string(lines) + "\n";
}

// A stream of copies, measured from 100 us to 300 us.
struct Stream {
  Stream(std::string const& toml, bool in, bool out, Bandwidth link = {}) {
    Copies c(toml, pages(256, in, out), link);
    auto const& s = c.copies().state();
    auto const& gpu = c.find<Rdma>("gpu0.rdma").state();
    auto const& cpu = c.find<CpuPort>("cpu0.port").state();
    c.run_until(Time{100us});
    auto const up_before = gpu.sum(&EgressStats::busy_ps), down_before = cpu.sum(&EgressStats::busy_ps);
    auto const lines_before = s.lines_in + s.lines_out, events_before = c.events();
    c.run_until(Time{300us});
    up = static_cast<double>(gpu.sum(&EgressStats::busy_ps) - up_before) / 200e6;
    down = static_cast<double>(cpu.sum(&EgressStats::busy_ps) - down_before) / 200e6;
    lines = s.lines_in + s.lines_out - lines_before;
    events_per_line = static_cast<double>(c.events() - events_before) / static_cast<double>(lines);
    CHECK(s.orders < (in && out ? 512 : 256));  // the stream has not ended
  }
  double up = 0;  // utilization of the link
  double down = 0;
  std::uint64_t lines = 0;
  double events_per_line = 0;
};

}  // namespace

TEST_CASE("copies: one line takes the sum of its stages, with and without trains") {
  topologies::MachineConfig c;
  Config file(topologies::find_preset);
  file.read_text(kOneGpu, "test");
  c.bind(file);
  auto const gpu = [](std::uint64_t n) { return Duration{std::chrono::nanoseconds(n)}; };
  auto const cpu = [&](std::uint64_t n) { return c.cpu.clock.clock().cycles(n); };
  auto const link = [](std::uint32_t bytes) { return Bandwidth{16'000'000'000}.time_for(bytes) + 70ns; };
  auto const& d = c.cpu_dram;
  auto const read = 2 * link(24) + cpu(1) + cpu(c.cpu_llc.latency) + cpu(1) + d.t_rcd + d.t_cl +
                    d.bandwidth.time_for(64) + d.controller_latency + cpu(1) + cpu(1) + 2 * link(88);
  auto const write = 2 * gpu(c.gpu.crossbar_latency) + gpu(c.l2_cache.latency);
  auto const expected = Time{1us} + gpu(c.gpu.crossbar_latency) + read + gpu(c.gpu.crossbar_latency) + write;
  for (auto const train : {1U, 4U})
    CHECK(done_at(kOneGpu + trains_of(train), {kCpu, kGpu, 64, 0}) == expected);
}

TEST_CASE("copies: a few lines take exactly the same time with and without trains") {
  for (std::uint32_t const bytes : {256U, 512U, 700U})
    for (bool const in : {true, false}) {
      CAPTURE(bytes);
      CAPTURE(in);
      CopyOrder const order{in ? kCpu : kGpu, in ? kGpu : kCpu, bytes, 0};
      CHECK(done_at(kOneGpu + trains_of(4), order) == done_at(kOneGpu + trains_of(1), order));
    }
}

TEST_CASE("copies: a single page takes the time of its bytes on the link, and a round trip") {
  for (auto const train : {1U, 4U}) {
    auto const page = done_at(kOneGpu + trains_of(train), {kCpu, kGpu, kPage, 0});
    auto const line = done_at(kOneGpu + trains_of(train), {kCpu, kGpu, 64, 0});
    auto const wire = 1023 * Bandwidth{16'000'000'000}.time_for(88);
    CHECK(page - line >= wire);
    CHECK(page - line < wire + wire / 50);
  }
}

TEST_CASE("copies: pages of 64 KiB saturate a link of 15.75 GB/s, in either direction and in both") {
  constexpr Bandwidth kLink{15'750'000'000};
  for (auto const train : {1U, 4U}) {
    CAPTURE(train);
    auto const toml = kOneGpu + trains_of(train);
    Stream const in(toml, true, false, kLink), out(toml, false, true, kLink), both(toml, true, true, kLink);
    MESSAGE("trains of ", train, ": events per line ", in.events_per_line, " in, ", out.events_per_line,
            " out, ", both.events_per_line, " both; link up ", both.up, ", down ", both.down);
    CHECK(in.down >= 0.98);
    CHECK(out.up >= 0.98);
    CHECK(both.up >= 0.95);
    CHECK(both.down >= 0.95);
    // A line takes 64 of 88 bytes; with the same number of lines in the other direction, and their
    // acknowledgements, 64 of 112.
    auto const line_rate = [&](double header) { return 15.75e9 / (64 + header) * 200e-6; };
    CHECK(static_cast<double>(in.lines) >= 0.98 * line_rate(24));
    CHECK(static_cast<double>(both.lines) >= 0.95 * 2 * line_rate(48));
  }
}

TEST_CASE("copies: with trains of four, a stream takes little more than a quarter of the events") {
  for (int way = 1; way < 4; ++way) {
    Stream const lines(kOneGpu + trains_of(1), (way & 1) != 0, (way & 2) != 0);
    Stream const trains(kOneGpu + trains_of(4), (way & 1) != 0, (way & 2) != 0);
    CHECK(trains.events_per_line < 0.28 * lines.events_per_line);
  }
}

TEST_CASE("copies: the default window is the bandwidth-delay product of the links") {
  // 16 GB/s x (2 x 140 ns + 1 us): 20,480 bytes.
  CHECK(Copies(kOneGpu, {}).copies().spec().window == 320);
  CHECK(Copies(kOneGpu + "fabric.service_time = \"2us\"\n", {}).copies().spec().window == 570);
  CHECK(Copies(kOneGpu + "gpu.copy_engine.window = 64\n", {}).copies().spec().window == 64);
  CHECK(Copies(kOneGpu + "gpu.l2_cache.interleave = \"256B\"\n", {}).copies().spec().slice_credits == 80);
  CHECK(Copies(kOneGpu, {}).copies().spec().slice_credits == 128);  // slices of 4 KiB: 5 contain the window
  CHECK(Copies(kOneGpu + "gpu.copy_engine.slice_credits = 5\n", {}).copies().spec().slice_credits == 5);
  // Each link counts with the longest route over it; a switch behind one link does not change the others.
  auto const one = Copies("include = [\"dgx1\"]\n", {}).copies().spec().window;
  CHECK(one > 6 * 25'000 / 128);
}

TEST_CASE("copies: a train is limited by the window and the credits of its slices") {
  auto const spec = [](std::string const& more) { return Copies(kOneGpu + more, {}).copies().spec(); };
  CHECK(spec("").local_train == 4);
  CHECK(spec("").cpu_train == 4);
  CHECK(spec("gpu.copy_engine.window = 8\n").cpu_train == 2);
  CHECK(spec("gpu.copy_engine.window = 3\n").cpu_train == 1);
  CHECK(spec("gpu.copy_engine.slice_credits = 8\n").local_train == 2);
  CHECK(spec("gpu.copy_engine.slice_credits = 8\n").cpu_train == 4);
  // memory_credits applies to the CPU's slices, too: 8 / 4 lines.
  CHECK(spec("fabric.memory_credits = 8\n").cpu_train == 2);
}

TEST_CASE("copies: compressed lines take less bandwidth to a CPU by their ratio; other times are unchanged") {
  auto const compressed = [](std::string const& ratio) {
    return kOneGpu + "fabric.copies = \"compressed\"\nfabric.compressed.ratio = " + ratio + "\n";
  };
  CopyOrder const in{kCpu, kGpu, 64, 0}, out{kGpu, kCpu, 64, 0};
  Bandwidth const link{16'000'000'000};
  for (auto const& order : {in, out}) {
    auto const raw = done_at(kOneGpu, order);
    CHECK(done_at(compressed("1.0"), order) == raw);
    // A 24-byte header, and 32 of 64 bytes of data, over two links.
    CHECK(raw - done_at(compressed("2.0"), order) == 2 * (link.time_for(88) - link.time_for(56)));
    // 64 bytes at a ratio of 3:1 are 22 bytes.
    CHECK(raw - done_at(compressed("3.0"), order) == 2 * (link.time_for(88) - link.time_for(46)));
  }
}

TEST_CASE("copies: compressed lines saturate the link in each direction, with more lines") {
  auto const half = kOneGpu + "fabric.copies = \"compressed\"\nfabric.compressed.ratio = 2.0\n";
  for (bool const in : {true, false}) {
    Stream const raw(kOneGpu, in, !in);
    Stream const compressed(half, in, !in);
    CHECK((in ? compressed.down : compressed.up) > 0.99);
    CHECK(static_cast<double>(compressed.lines) / static_cast<double>(raw.lines) ==
          doctest::Approx(88.0 / 56).epsilon(0.01));
  }
}

TEST_CASE("copies: copies between GPUs are not compressed") {
  auto const two = std::string("include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"two-gpu\"\n");
  CopyOrder const order{physical(1, 0), kGpu, 64, 0};
  CHECK(done_at(two + "fabric.copies = \"compressed\"\n", order) == done_at(two, order));
}

}  // namespace copy_test
