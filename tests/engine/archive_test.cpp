// SPDX-License-Identifier: Apache-2.0
// Which State can be saved, and that no member can be omitted.
#include "farfault/engine/archive.hpp"

#include <doctest/doctest.h>

#include <tuple>
#include <vector>

namespace archive_test {

using namespace farfault;

namespace {

class Complete {
 public:
  Complete() = default;
  Complete(std::uint32_t a, std::uint32_t b, std::vector<std::uint64_t> c) : a_(a), b_(b), c_(std::move(c)) {}
  auto members() { return std::tie(a_, b_, c_); }
  bool operator==(Complete const&) const = default;

 private:
  std::uint32_t a_ = 0;
  std::uint32_t b_ = 0;
  std::vector<std::uint64_t> c_;
};

class OneForgotten {
 public:
  auto members() { return std::tie(a_, c_); }
  std::uint32_t a_ = 0;
  std::uint32_t b_ = 0;
  std::vector<std::uint64_t> c_;
};

// Padding could hide an omitted member, so types with padding are rejected.
class Padded {
 public:
  auto members() { return std::tie(a_, c_); }
  std::uint32_t a_ = 0;
  std::vector<std::uint64_t> c_;
};

struct Aggregate {
  std::uint8_t a = 0;
  std::uint64_t b = 0;
  Complete c;
};

template <class T>
std::vector<std::byte> saved(T& t) {
  std::vector<std::byte> bytes;
  Saver{bytes}(t);
  return bytes;
}
template <class T>
std::uint64_t hash_of(T& t) {
  Hasher hasher;
  hasher(t);
  return hasher.value();
}

}  // namespace

// The archives assert the same for every type that they process.
static_assert(detail::lists_all_members<Complete>);
static_assert(!detail::lists_all_members<OneForgotten>);
static_assert(!detail::lists_all_members<Padded>);

TEST_CASE("a class is saved, loaded and hashed by its list of members") {
  Complete from(1, 2, {3, 4});
  auto const bytes = saved(from);
  CHECK(bytes.size() == 4 + 4 + 8 + 2 * 8);
  Complete to;
  Loader loader(bytes);
  loader(to);
  CHECK(loader.at_end());
  CHECK(to == from);
  CHECK(hash_of(to) == hash_of(from));
  for (auto other :
       {Complete(9, 2, {3, 4}), Complete(1, 9, {3, 4}), Complete(1, 2, {3, 9}), Complete(1, 2, {3})})
    CHECK(hash_of(other) != hash_of(from));
}

TEST_CASE("an aggregate is saved member by member, without padding") {
  Aggregate from{7, 8, Complete(1, 2, {3})};
  auto const bytes = saved(from);
  CHECK(bytes.size() == 1 + 8 + (4 + 4 + 8 + 8));
  Aggregate to;
  Loader loader(bytes);
  loader(to);
  CHECK(to.a == 7);
  CHECK(to.b == 8);
  CHECK(to.c == from.c);
}

}  // namespace archive_test
