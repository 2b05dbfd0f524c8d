// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/input_limits.hpp"

#include <doctest/doctest.h>

namespace input_limits_test {

using namespace farfault;

TEST_CASE("the memory of a batch job is limited by each of its control groups") {
  using Files = std::vector<std::string>;
  CHECK(cgroup_limit_files("0::/system.slice/job_7/step_0\n") ==
        Files{"/sys/fs/cgroup/system.slice/job_7/step_0/memory.max",
              "/sys/fs/cgroup/system.slice/job_7/memory.max", "/sys/fs/cgroup/system.slice/memory.max",
              "/sys/fs/cgroup/memory.max"});
  CHECK(cgroup_limit_files("9:name=systemd:/x\n4:memory:/slurm/job_7\n0::/\n") ==
        Files{"/sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes",
              "/sys/fs/cgroup/memory/slurm/memory.limit_in_bytes",
              "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"});
  CHECK(cgroup_limit_files("").empty());
  CHECK(cgroup_limit_files("no groups\n1:cpu").empty());
}

TEST_CASE("a limit of 0 is a share of the memory, and at least one") {
  auto const l = InputLimits{}.of_memory(ByteSize{std::uint64_t{16} << 30});
  CHECK(l.names == ByteSize{std::uint64_t{256} << 20});
  CHECK(l.nodes == 1'000'000);  // rounded down from 2^20: larger than any machine
  CHECK(l.links == 4'000'000);  // rounded down from 2^22
  CHECK(l.vertices == 1U << 27);
  CHECK(l.edges == 1U << 28);
  CHECK(l.unpacked == ByteSize{std::uint64_t{16} << 30});
  CHECK(l.model == ByteSize{std::uint64_t{12} << 30});
  CHECK(InputLimits{}.of_memory(ByteSize{std::uint64_t{1} << 30}).nodes == 1U << 16);
  CHECK(InputLimits{}.of_memory(ByteSize{1}).edges == 1);
  CHECK(usable_memory().bytes > 1U << 20);
}

TEST_CASE("an explicit limit is kept at any memory size") {
  InputLimits set;
  set.edges = 7;
  set.unpacked = ByteSize{3};
  auto const l = set.of_memory(ByteSize{std::uint64_t{16} << 30});
  CHECK(l.edges == 7);
  CHECK(l.unpacked == ByteSize{3});
  CHECK(l.nodes == 1'000'000);
}

TEST_CASE("the default values are the same on every machine") {
  InputLimits limits;
  ParamTable table;
  limits.describe(table);
  CHECK(table.all().size() == 7);
  for (auto const& p : table.all()) {
    CAPTURE(p.name);
    CHECK((p.default_value == "0" || p.default_value == "0 B"));
  }
}

TEST_CASE("a message has the current limit and how to raise it, unless it is at its maximum") {
  CHECK(limit_text("edges", std::uint64_t{5}) == "limits.edges (now 5); --set limits.edges=N raises it");
  CHECK(limit_text("names", ByteSize{2048}) == "limits.names (now 2 KiB); --set limits.names=N raises it");
  CHECK(limit_text("nodes", std::uint64_t{999'999}) ==
        "limits.nodes (now 999999); --set limits.nodes=N raises it");
  CHECK(limit_text("nodes", std::uint64_t{1'000'000}) == "limits.nodes, whose maximum is 1000000");
  CHECK(limit_text("links", std::uint64_t{4'000'000}) == "limits.links, whose maximum is 4000000");
}

}  // namespace input_limits_test
