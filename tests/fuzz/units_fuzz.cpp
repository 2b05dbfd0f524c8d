// SPDX-License-Identifier: Apache-2.0
// Quantities: the text of an accepted quantity must parse to the same quantity.
#include "farfault/engine/units.hpp"
#include "harness.hpp"

using namespace farfault;

namespace {

template <class Parse>
void read_twice(std::string_view text, Parse parse) {
  try {
    auto const value = parse(text);
    auto const written = to_text(value);
    fuzz::expect(parse(written) == value, "a quantity reads back unchanged from its text", written);
  } catch (UnitError const& refusal) {
    fuzz::expect_sentence(refusal.what());
  }
}

}  // namespace

void fuzz_one(fuzz::Bytes input) {
  auto const text = fuzz::text_of(input);
  read_twice(text, parse_duration);
  read_twice(text, parse_bytes);
  read_twice(text, parse_bandwidth);
  read_twice(text, parse_frequency);
}
