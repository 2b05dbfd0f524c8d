// SPDX-License-Identifier: Apache-2.0
// Common policy choices for tests of parts, and helpers of the policies' contract tests.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/policy.hpp"
#include "farfault/parts/replacement.hpp"

namespace farfault::test {

inline PolicyChoice<Replacement> const kLru("lru");

template <class I>
std::vector<std::string> names_of_known() {
  std::vector<std::string> names;
  auto const list = I::known();
  for (auto const& entry : list.entries()) names.push_back(entry.name);
  return names;
}

// A parameter of an implementation, such as "random.seed".
template <class I>
void set_parameter(PolicyChoice<I>& choice, std::string const& name, std::string const& value) {
  ParamTable table;
  choice.describe(table, "policy", "of a test", "assumed");
  table.find(name)->set(value);
}

// Saves `from` and loads the result into `to`.
template <class T>
void copy_state(T& from, T& to) {
  std::vector<std::byte> bytes;
  Saver save(bytes);
  save(from);
  Loader load(bytes);
  load(to);
}

template <class T>
std::uint64_t hash_of(T& t) {
  Hasher hasher;
  hasher(t);
  return hasher.value();
}

}  // namespace farfault::test
