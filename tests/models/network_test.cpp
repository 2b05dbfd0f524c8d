// SPDX-License-Identifier: Apache-2.0
// A network between machines: latency of a line, and bandwidth of copies through a NIC.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "copies.hpp"
#include "run_model.hpp"

namespace network_test {

using namespace farfault;
using test::Copies;
using test::done_at;
using test::ModelRun;

namespace {

constexpr std::uint32_t kPage = 64 * 1024;
constexpr PhysAddr kHere = physical(0, 0);
constexpr PhysAddr kThere = physical(1, 0);
constexpr Bandwidth kPcie{64'000'000'000};

// Two machines of a GPU and a NIC on a PCIe switch; `nic`: further settings of the NIC.
std::string cluster(std::string const& nic, std::string const& more = {}) {
  auto const folder = std::filesystem::path(FARFAULT_BINARY_DIR) / "network_test";
  std::filesystem::create_directories(folder);
  auto const file = folder / "node.toml";
  std::ofstream out(file);
  for (std::string const kind : {"gpu", "cpu", "nic", "pcie_switch"})
    out << "[[node]]\nname = \"" << kind << "0\"\nkind = \"" << kind << "\"\n" << (kind == "nic" ? nic : "");
  for (std::string const end : {"gpu", "cpu", "nic"})
    out << "[[link]]\na = \"pcie_switch0\"\nb = \"" << end
        << "0\"\nkind = \"pcie\"\nlatency = \"70ns\"\nbandwidth = \"64GB/s\"\n";
  return "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"" + file.string() +
         "\"\nmachine.cluster.machines = 2\n" + more;
}

// Arrival time of a 64-byte line from a GPU of the other machine, over network links of `rate` with `header`
// bytes per packet.
Time expected(Bandwidth rate, std::uint32_t header) {
  topologies::MachineConfig c;
  Config file(topologies::find_preset);
  file.read_text("include = [\"paper-gmmu-bypass\"]\n", "test");
  c.bind(file);
  auto const gpu = [](std::uint64_t n) { return Duration{std::chrono::nanoseconds(n)}; };
  auto const way = [&](std::uint32_t payload) {
    return 4 * (kPcie.time_for(24 + payload) + 70ns) + 2 * (rate.time_for(header + payload) + 500ns);
  };
  auto const& d = c.dram;
  auto const memory = gpu(c.gpu.crossbar_latency) + gpu(c.l2_cache.latency) + gpu(1) + d.t_rcd + d.t_cl +
                      d.bandwidth.time_for(64) + d.controller_latency + gpu(1) + gpu(c.gpu.crossbar_latency);
  auto const write = 2 * gpu(c.gpu.crossbar_latency) + gpu(c.l2_cache.latency);
  return Time{1us} + 2 * gpu(c.gpu.crossbar_latency) + way(0) + memory + way(64) + write;
}

// Bytes per second that copies move from 100 us to 300 us.
double copied(std::string const& toml) {
  Copies::Orders orders;
  for (std::uint32_t i = 0; i < 256; ++i)
    orders.push_back(
        {Time{1us}, {kThere + std::uint64_t{i} * kPage, kHere + std::uint64_t{i} * kPage, kPage, i}});
  Copies c(toml, orders);
  auto const& s = c.copies().state();
  c.run_until(Time{100us});
  auto const before = s.lines_in + s.lines_out;
  c.run_until(Time{300us});
  CHECK(s.orders < 256);  // it has not ended
  return static_cast<double>((s.lines_in + s.lines_out - before) * c.config().gpu.line_bytes) / 200e-6;
}

}  // namespace

TEST_CASE(
    "network: a line between GPUs of two machines takes the sum of its stages, by the NICs' bandwidth") {
  CopyOrder const order{kThere, kHere, 64, 0};
  for (std::uint64_t const gigabytes : {10U, 25U, 50U, 100U}) {
    CAPTURE(gigabytes);
    auto const nic = "bandwidth = \"" + std::to_string(gigabytes) + "GB/s\"\n";
    Bandwidth const rate{gigabytes * 1'000'000'000};
    // A header of 26 bytes per 4 KiB, shared in proportion by each line of 64 bytes.
    CHECK(done_at(cluster(nic), order) == expected(rate, 1));
    CHECK(done_at(cluster(nic, "fabric.network_mtu = \"64 B\"\n"), order) == expected(rate, 26));
    CHECK(done_at(cluster(nic, "fabric.network_header_bytes = 82\n"), order) == expected(rate, 2));
  }
}

TEST_CASE("network: without a NIC bandwidth, its links and packets have the defaults") {
  CopyOrder const order{kThere, kHere, 64, 0};
  CHECK(done_at(cluster(""), order) == expected(Bandwidth{25'000'000'000}, 24));
  CHECK(done_at(cluster("", "links.network_bandwidth = \"50GB/s\"\n"), order) ==
        expected(Bandwidth{50'000'000'000}, 24));
}

TEST_CASE("network: a line over scaled links takes exactly the scaled times of their stages") {
  CopyOrder const order{kThere, kHere, 64, 0};
  auto const at = [&](std::string const& scale) {
    return done_at(cluster("bandwidth = \"50GB/s\"\n", scale), order);
  };
  Bandwidth const rate{50'000'000'000};
  auto const plain = expected(rate, 1);
  CHECK(at("links.scale.network.bandwidth = 1\n") == plain);
  CHECK(at("links.scale.network.bandwidth = 0.5\n") == expected(Bandwidth{25'000'000'000}, 1));
  // Each way has two links of the network and four of PCIe; a packet of 24 bytes there, one of 88 back.
  CHECK(at("links.scale.network.latency = 2\n") == plain + 4 * 500ns);
  CHECK(at("links.scale.pcie.latency = 0.5\n") == plain - 8 * 35ns);
  CHECK(at("links.scale.pcie.bandwidth = 0.5\n") == plain + 4 * (kPcie.time_for(24) + kPcie.time_for(88)));
  auto const one = std::string("links.scale.by_name = \"m0.gpu0-m0.pcie_switch0 latency=3\"\n");
  CHECK(at(one) == plain + 2 * 140ns);
}

TEST_CASE("network: copies between two machines saturate a NIC's link, with 64 of 65 bytes as data") {
  for (std::uint64_t const gigabytes : {12U, 25U}) {
    auto const all = static_cast<double>(gigabytes) * 1e9 * 64 / 65;
    auto const got = copied(cluster("bandwidth = \"" + std::to_string(gigabytes) + "GB/s\"\n"));
    CHECK(got <= all + 64 / 200e-6);  // one line more, at the ends of the interval
    CHECK(got >= 0.99 * all);
  }
}

TEST_CASE("network: GPUs of two dgx-h100 get over 45 of the 50 GB/s of a NIC, as on NVIDIA's machines") {
  for (std::string const access : {"read", "write"}) {
    constexpr std::uint64_t kBytes = 4U << 20U;
    ModelRun run(
        "include = [\"dgx-h100\"]\ngpu.sms = 64\nmachine.cluster.machines = 2\nmemory.scope = \"cluster\"\n"
        "memory.page_size = \"2MiB\"\nmemory.placement = \"contiguous\"\nhost.block_order = \"contiguous\"\n"
        "workload.name = \"exchange\"\nworkload.exchange.parts = 16\nworkload.exchange.bytes = \"64 MiB\"\n"
        "workload.exchange.pattern = \"pair\"\nworkload.exchange.to = 8\nworkload.exchange.access = \"" +
        access + "\"\n");
    run.run();
    auto const record = run.kernel(1);
    auto const& host = run.config().host;
    auto const time = record.finished - record.launched - host.launch_latency - host.done_latency;
    auto const rate = static_cast<double>(kBytes) * 1e3 / static_cast<double>(picoseconds(time));
    std::printf("  a pair of dgx-h100: %s %.4g GB/s\n", access.c_str(), rate);
    CHECK(rate >= 45);
    CHECK(rate <= 50.0 * 128 / 129);
  }
}

}  // namespace network_test
