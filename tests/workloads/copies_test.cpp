// SPDX-License-Identifier: Apache-2.0
// Copies that are removed from a program or added to it.
#include "farfault/workloads/copies.hpp"

#include <doctest/doctest.h>

#include "program_text.hpp"

namespace farfault::workloads::copies_test {
using test::program;
using test::text;

TEST_CASE(
    "copies: data written by the host is copied in before the first kernel, results back after the last") {
  auto w = program(2, {});
  add_copies(w);
  CHECK(text(w) == "0:in0+100 0:in8192+60 0:kernel0 0:kernel1 0:out4096+50");
  auto in_place = program(1, {}, {{"data", 0, 100, true}});
  add_copies(in_place);
  CHECK(text(in_place) == "0:in0+100 0:kernel0 0:out0+100");
}

TEST_CASE("copies: streams wait for the copies before them, and later copies wait for all streams") {
  auto w = program(3, {Operation::launch(0, 0), Operation::launch(1, 1), Operation::wait_for(1, 0),
                       Operation::launch(2, 0)});
  add_copies(w);
  CHECK(text(w) ==
        "0:in0+100 0:in8192+60 1:wait1 0:kernel0 1:kernel1 0:wait4 0:kernel2 0:wait4 0:out4096+50");
}

TEST_CASE("copies: a program with copies keeps its own, and is unchanged without them") {
  std::vector<Operation> const own{Operation::copy_to_gpus(0, 10), Operation::launch(0, 0),
                                   Operation::wait_for(1, 1),      Operation::copy_to_gpus(20, 10, 1),
                                   Operation::wait_for(3, 2),      Operation::launch(1, 2)};
  auto w = program(2, own);
  add_copies(w);
  CHECK(text(w) == "0:in0+10 0:kernel0 1:wait1 1:in20+10 2:wait3 2:kernel1");
  exclude_copies(w);
  // The copy in stream 1 did not end before the preceding wait.
  CHECK(text(w) == "0:kernel0 1:wait0 2:wait1 2:kernel1");
}

TEST_CASE("copies: a stream that only copies is omitted with them, and no stream waits for it") {
  auto w =
      program(1, {Operation::copy_to_gpus(0, 10, 0), Operation::wait_for(0, 1), Operation::launch(0, 1)});
  exclude_copies(w);
  CHECK(text(w) == "0:kernel0");
  CHECK(w.streams() == 1);
  auto only = program(0, {Operation::copy_to_gpus(0, 10, 0)});
  exclude_copies(only);
  CHECK(only.operations().empty());
}

}  // namespace farfault::workloads::copies_test
