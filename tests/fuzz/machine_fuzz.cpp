// SPDX-License-Identifier: Apache-2.0
// Machine files of all formats, detected from the content.
#include "farfault/topologies/description.hpp"
#include "farfault/topologies/graphml.hpp"
#include "farfault/topologies/load.hpp"
#include "harness.hpp"

using namespace farfault;
using namespace farfault::topologies;

void fuzz_one(fuzz::Bytes input) {
  constexpr std::size_t kMaxDescribed = 500;  // routes are computed between all GPUs
  auto const limits = fuzz::small_limits();
  Machine machine;
  if (!fuzz::accepts([&] { machine = parse_machine(fuzz::text_of(input), "f", {}, limits); })) return;
  fuzz::expect(fuzz::accepts([&] { validate(machine, "f"); }), "a machine that was read is valid");
  if (machine.nodes.size() > kMaxDescribed) return;
  static_cast<void>(describe_text(machine));
  fuzz::expect_clean(describe_json(machine));
  static_cast<void>(describe_dot(machine));
  static_cast<void>(write_graphml(machine));
}
