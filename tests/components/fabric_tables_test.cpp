// SPDX-License-Identifier: Apache-2.0
// Tables of device ports and switches at the end of a run: links, and traffic between devices.
#include <doctest/doctest.h>

#include "fabric_bench.hpp"
#include "farfault/engine/table_rows.hpp"

namespace fabric_tables_test {

using namespace farfault;
using namespace farfault::fabric_bench;

namespace {

using Cells = std::vector<Cell>;

// Rows of one of a component's tables.
std::vector<Cells> rows_of(AnyComponent const& component, std::uint32_t table) {
  TableRows rows;
  component.final_rows(rows);
  std::vector<Cells> all;
  TableRows::read(rows.bytes(), [&](std::uint32_t, std::uint32_t number, Cells const& cells) {
    if (number == table) all.push_back(cells);
  });
  return all;
}

Cell const kNone = std::uint64_t{0};

// gpu0 stores to gpu1's memory (88 bytes in 5.5 ns) and loads from it (a 24-byte header in 1.5 ns). The
// responses have the same sizes.
struct WriteAndRead : TwoGpus {
  explicit WriteAndRead(bool with_switch) : TwoGpus(Sizes{8, 1}, with_switch) {
    feed(gpu[0]->remote_request,
         {{Time{1000ns}, write(physical(1, 0x80), 1)}, {Time{2000ns}, read(physical(1, 0xc0), 2)}});
    feed(gpu[1]->remote_request, {});
    sinks(gpu[0]->remote_response, 1);
    sinks(gpu[1]->remote_response, 1);
  }
};

}  // namespace

TEST_CASE("traffic: payload bytes without headers, per pair of devices and kind") {
  WriteAndRead b(false);
  b.run();
  // In this bench a node is a GPU, the CPU and a NIC at the same time.
  CHECK(rows_of(*b.gpu[0], 1) == std::vector<Cells>{{"gpu0", "gpu1", std::uint64_t{2}, std::uint64_t{64}},
                                                    {"gpu0", "cpu0", std::uint64_t{2}, std::uint64_t{64}},
                                                    {"gpu0", "nic0", std::uint64_t{2}, std::uint64_t{64}}});
  CHECK(rows_of(*b.gpu[1], 1) == std::vector<Cells>{{"gpu1", "gpu0", std::uint64_t{2}, std::uint64_t{64}}});
}

TEST_CASE("links: packets and bytes with headers, each direction by its sender") {
  WriteAndRead b(true);
  b.run();
  auto const row = [](AnyComponent const& sender, std::uint64_t packets, std::uint64_t bytes,
                      std::uint64_t busy) {
    return std::vector<Cells>{{kNone, "", "", sender.path(), packets, bytes, busy, kNone,
                               std::uint64_t{kBandwidth.bytes_per_second}}};
  };
  CHECK(rows_of(*b.gpu[0], 0) == row(*b.gpu[0], 2, 112, 7000));
  CHECK(rows_of(*b.node[1], 0) == row(*b.node[1], 2, 112, 7000));
  CHECK(rows_of(*b.gpu[1], 0) == row(*b.gpu[1], 2, 112, 7000));
  CHECK(rows_of(*b.node[0], 0) == row(*b.node[0], 2, 112, 7000));
}

TEST_CASE("links: in a run stopped during a transmission, busy time is the elapsed part") {
  WriteAndRead b(false);
  b.run(Time{1002ns});
  CHECK(static_cast<AnyComponent&>(*b.gpu[0]).settle(Time{1002ns}));
  auto const rows = rows_of(*b.gpu[0], 0);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0][4] == Cell{std::uint64_t{1}});
  CHECK(rows[0][6] == Cell{std::uint64_t{2000}});
}

}  // namespace fabric_tables_test
