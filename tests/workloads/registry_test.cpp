// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "warp_walk.hpp"

namespace farfault::workloads::registry_test {
using namespace test;

TEST_CASE("registry: names are unique and described, and create their workload") {
  std::set<std::string> names;
  for (auto const& info : all()) {
    CHECK(names.insert(std::string(info.name)).second);
    CHECK_FALSE(info.text.empty());
    auto const builder = make(info.name);
    ParamTable table;
    builder->describe(table);
    CHECK_FALSE(table.all().empty());
    for (auto const& param : table.all()) {
      CHECK_MESSAGE(!param.source.empty(), std::string(info.name) << "." << param.name);
      CHECK_FALSE(param.text.empty());
    }
  }
}

TEST_CASE(
    "registry: parameters of a generated graph have an effect without a graph file, its format with one") {
  int generated = 0, formats = 0;
  for (auto const& info : all()) {
    CAPTURE(std::string(info.name));
    auto const builder = info.make();
    ParamTable table;
    builder->describe(table);
    if (table.find("graph") == nullptr) continue;
    for (auto const& param : table.all()) {
      CAPTURE(param.name);
      bool const is_generated = param.name.starts_with("rmat.") || param.name == "side";
      bool const is_format = param.name == "format";
      REQUIRE(param.only_when.size() == std::size_t{is_generated || is_format});
      if (is_generated) CHECK(param.only_when[0].text() == "graph = \"\"");
      if (is_format) CHECK(param.only_when[0].text() == "graph other than \"\"");
      generated += is_generated ? 1 : 0;
      formats += is_format ? 1 : 0;
    }
  }
  CHECK(formats > 10);
  CHECK(generated == 6 * formats + 2);
}

TEST_CASE("registry: an unknown name is answered with the nearest one") {
  CHECK(error_of([] { make("vectorad"); }) == "unknown workload 'vectorad'; did you mean 'vectoradd'?");
}

TEST_CASE("registry: an unsupported warp width is rejected") {
  BuildContext context;
  context.warp_width = 48;
  CHECK(error_of([&] { build("vectoradd", {}, context); }) == "warp width 48 is not one of: 32, 64");
}

TEST_CASE("registry: buffers start at 4 GiB, 2 MiB apart at least, and do not overlap") {
  auto const w = build("vectoradd", {{"elements", "1000000"}});
  REQUIRE(w.buffers().size() == 3);
  CHECK(w.buffers()[0].base == 0x1'0000'0000);
  CHECK(w.buffers()[1].base == 0x1'0040'0000);
  CHECK(w.buffers()[2].base == 0x1'0080'0000);
  CHECK(w.buffers()[0].bytes == 4'000'000);
  CHECK(w.footprint() == 12'000'000);
}

TEST_CASE("registry: every workload places its buffers from the first address of its context on") {
  for (auto const& info : all()) {
    if (info.name == "trace") continue;  // its input defines the addresses
    CAPTURE(std::string(info.name));
    auto const builder = info.make();
    ParamTable table;
    builder->describe(table);
    for (auto const& [key, value] :
         {std::pair{"size", "128 KiB"}, {"rmat.scale", "8"}, {"rows", "64"}, {"cols", "128"}})
      if (auto const* const param = table.find(key)) param->set(value);
    BuildContext context;
    context.buffers.next = 0x5'0020'0000;
    auto const w = builder->build(context);
    CHECK(w.buffers().front().base == context.buffers.next);
    auto const inside = [&](VirtAddr a) {
      for (auto const& b : w.buffers())
        if (a >= b.base && a < b.base + b.bytes) return true;
      return false;
    };
    WarpInstruction i;
    for (std::uint64_t step = 0; step < 24; ++step) {
      w.kernel(0).instruction(0, 0, step, i);
      if (i.op == Op::load || i.op == Op::store) each_lane(i, [&](auto, VirtAddr a) { CHECK(inside(a)); });
    }
  }
}

TEST_CASE("registry: buffers beyond the end of the address space are rejected") {
  BuildContext context;
  context.buffers.next = (1ULL << 47) - (2ULL << 20);
  CHECK(error_of([&] {
          build("vectoradd", {{"elements", "1000"}}, context);
        }) ==
        "buffer 'b' of 4 kB does not fit: buffers must be below address 2^47 (128 TiB); make them smaller");
}

TEST_CASE("registry: small buffers are in a separate segment if configured, and kernels access them") {
  BuildContext context;
  context.buffers.small_below = 128 << 10;
  auto const w = build("spmv", {}, context);
  VirtAddr next = kFirstAddress, next_small = kFirstSmallAddress;
  std::size_t small = 0;
  for (auto const& b : w.buffers()) {
    CAPTURE(b.name);
    bool const is_small = b.bytes < 128 << 10;
    small += is_small ? 1 : 0;
    auto& expected = is_small ? next_small : next;
    CHECK(b.base == expected);
    expected += (b.bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  }
  CHECK(small > 0);
  CHECK(small < w.buffers().size());
  std::size_t accesses = 0;
  WarpInstruction i;
  for (std::uint64_t step = 0; step < 24; ++step) {
    w.kernel(0).instruction(0, 0, step, i);
    if (i.op == Op::load || i.op == Op::store)
      each_lane(i, [&](auto, VirtAddr a) {
        ++accesses;
        CHECK(std::ranges::any_of(w.buffers(),
                                  [&](auto const& b) { return a >= b.base && a - b.base < b.bytes; }));
      });
  }
  CHECK(accesses > 0);
}

TEST_CASE("registry: small buffers that exceed their segment are rejected") {
  BuildContext context;
  context.buffers.small_below = 128 << 10;
  context.buffers.next_small = kFirstAddress;
  CHECK(error_of([&] {
          build("vectoradd", {{"elements", "1000"}}, context);
        }) ==
        "buffer 'a' of 4 kB does not fit: the segment of small buffers is 3 GiB, and each buffer takes a "
        "multiple of 2 MiB; lower small_buffers");
}

TEST_CASE("registry: any step may be read in any order and gives the same instruction") {
  for (auto const& info : all()) {
    if (info.name == "trace") continue;
    CAPTURE(std::string(info.name));
    auto const builder = info.make();
    ParamTable table;
    builder->describe(table);
    for (auto const& [key, value] : {std::pair{"size", "128 KiB"},
                                     {"rmat.scale", "8"},
                                     {"width", "128"},
                                     {"height", "128"},
                                     {"rows", "64"},
                                     {"cols", "128"},
                                     {"elements", "1000"}})
      if (auto const* const param = table.find(key)) param->set(value);
    auto const w = builder->build({});
    auto const& kernel = w.kernel(w.kernel_count() - 1);
    WarpInstruction forward[24];
    WarpInstruction backward[24];
    for (std::uint64_t s = 0; s < 24; ++s) kernel.instruction(0, 0, s, forward[s]);
    for (std::uint64_t s = 24; s-- > 0;) kernel.instruction(0, 0, s, backward[s]);
    for (int s = 0; s < 24; ++s) {
      REQUIRE(forward[s].op == backward[s].op);
      if (forward[s].op == Op::compute)
        CHECK(forward[s].work.instructions() == backward[s].work.instructions());
      if (forward[s].op != Op::load && forward[s].op != Op::store) continue;
      REQUIRE(forward[s].lanes == backward[s].lanes);
      each_lane(forward[s], [&](auto lane, VirtAddr a) { CHECK(backward[s].address[lane] == a); });
    }
  }
}

}  // namespace farfault::workloads::registry_test
