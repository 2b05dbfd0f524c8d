// SPDX-License-Identifier: Apache-2.0
// Operations added to a program to allocate and free its memory.
#include "farfault/workloads/allocations.hpp"

#include <doctest/doctest.h>

#include "farfault/workloads/copies.hpp"
#include "program_text.hpp"

namespace farfault::workloads::allocations_test {

TEST_CASE("allocations: every buffer is allocated first, and freed when all streams have completed") {
  auto w = test::program(2, {Operation::launch(0, 0), Operation::launch(1, 1)});
  add_allocations(w);
  CHECK(test::text(w) ==
        "0:allocate0+100 0:allocate4096+50 0:allocate8192+60 1:wait2 0:kernel0 1:kernel1 0:wait5 "
        "0:free0+100 0:free4096+50 0:free8192+60");
}

TEST_CASE("allocations: copies follow them and precede the frees") {
  auto w = test::program(1, {});
  add_copies(w);
  add_allocations(w);
  CHECK(test::text(w) ==
        "0:allocate0+100 0:allocate4096+50 0:allocate8192+60 0:in0+100 0:in8192+60 0:kernel0 0:out4096+50 "
        "0:free0+100 0:free4096+50 0:free8192+60");
}

TEST_CASE("allocations: a program with allocations keeps its own, and empty buffers have none") {
  auto w = test::program(1, {Operation::allocate(4096, 50), Operation::launch(0)});
  add_allocations(w);
  CHECK(test::text(w) == "0:allocate4096+50 0:kernel0");
  auto empty = test::program(1, {}, {{"none", 0, 0, true}, {"some", 4096, 1, true}});
  add_allocations(empty);
  CHECK(test::text(empty) == "0:allocate4096+1 0:kernel0 0:free4096+1");
}

}  // namespace farfault::workloads::allocations_test
