// SPDX-License-Identifier: Apache-2.0
// Saving, loading and hashing of component state, from one description of it.
//
// Persistable types:
// - Bytes (plain data);
// - std::vector, std::array and std::optional of Persistable;
// - an aggregate, whose members are found automatically;
// - a class with archive(Archive&);
// - a class that lists its members: auto members() { return std::tie(first_, second_); }
// - Fixed<T>, a member that never changes, such as parameters, and Remembered<T>, a value that can be
//   recomputed: listed, but neither saved nor hashed.
// The list must be complete: the sizes of the members (and of a pointer, in a class with virtual functions)
// must add up to that of the object, so the class must have no padding. Any other type, a forgotten member or
// padding does not compile; the error names the class and the member (member_list.hpp). The byte stream has
// no padding and is the same on every machine of one endianness.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/engine/event.hpp"
#include "farfault/engine/member_list.hpp"

namespace farfault {

namespace detail {

struct Anything {
  template <class T>
  requires std::is_copy_constructible_v<T>
  operator T&() const;  // NOLINT(google-explicit-constructor): represents an initialiser of any type
  template <class T>
  operator T&&() const;  // NOLINT(google-explicit-constructor)
};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires {
    T{(static_cast<void>(I), Anything{})...};
  };
}
template <class T, std::size_t N = 0>
constexpr std::size_t member_count() {
  if constexpr (takes<T>(std::make_index_sequence<N + 1>{}))
    return member_count<T, N + 1>();
  else
    return N;
}

// Calls f(member...) with every member of an aggregate.
template <class T, class F>
void with_members(T& t, F&& f) {
  constexpr auto n = member_count<T>();
  static_assert(n <= 32, "at most 32 members are supported: split the state into parts");
#define FF_MEMBERS(count, ...)     \
  else if constexpr (n == count) { \
    auto& [__VA_ARGS__] = t;       \
    f(__VA_ARGS__);                \
  }
  if constexpr (n == 0) {
    f();
  }
  FF_MEMBERS(1, a)
  FF_MEMBERS(2, a, b)
  FF_MEMBERS(3, a, b, c)
  FF_MEMBERS(4, a, b, c, d)
  FF_MEMBERS(5, a, b, c, d, e)
  FF_MEMBERS(6, a, b, c, d, e, g)
  FF_MEMBERS(7, a, b, c, d, e, g, h)
  FF_MEMBERS(8, a, b, c, d, e, g, h, i)
  FF_MEMBERS(9, a, b, c, d, e, g, h, i, j)
  FF_MEMBERS(10, a, b, c, d, e, g, h, i, j, k)
  FF_MEMBERS(11, a, b, c, d, e, g, h, i, j, k, l)
  FF_MEMBERS(12, a, b, c, d, e, g, h, i, j, k, l, m)
  FF_MEMBERS(13, a, b, c, d, e, g, h, i, j, k, l, m, o)
  FF_MEMBERS(14, a, b, c, d, e, g, h, i, j, k, l, m, o, p)
  FF_MEMBERS(15, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q)
  FF_MEMBERS(16, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r)
  FF_MEMBERS(17, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s)
  FF_MEMBERS(18, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u)
  FF_MEMBERS(19, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v)
  FF_MEMBERS(20, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w)
  FF_MEMBERS(21, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x)
  FF_MEMBERS(22, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y)
  FF_MEMBERS(23, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z)
  FF_MEMBERS(24, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z, aa)
  FF_MEMBERS(25, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z, aa, ab)
  FF_MEMBERS(26, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z, aa, ab, ac)
  FF_MEMBERS(27, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z, aa, ab, ac, ad)
  FF_MEMBERS(28, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z, aa, ab, ac, ad, ae)
  FF_MEMBERS(29, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z, aa, ab, ac, ad, ae, af)
  FF_MEMBERS(30, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z, aa, ab, ac, ad, ae, af,
             ag)
  FF_MEMBERS(31, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z, aa, ab, ac, ad, ae, af,
             ag, ah)
  FF_MEMBERS(32, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, u, v, w, x, y, z, aa, ab, ac, ad, ae, af,
             ag, ah, ai)
#undef FF_MEMBERS
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::bool_constant<!std::is_same_v<T, bool>> {
  using element = T;
};
template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

}  // namespace detail

class Archive;

// A member that never changes, such as parameters: neither saved nor hashed.
template <class T>
struct Fixed {
  T value;
  T const* operator->() const { return &value; }
  void archive(Archive&) {}
};

// A value cached for speed that can be recomputed from the rest of the state; it holds its inputs as its key.
// Not saved, loaded or hashed: its presence has no observable effect.
template <class T>
struct Remembered {
  T value{};
  void archive(Archive&) {}
};

// Decomposes a value into bytes. One instantiation per type serves saving, loading and hashing: three would
// make large States slow to compile.
class Archive {
 public:
  Archive(Archive const&) = delete;
  Archive& operator=(Archive const&) = delete;
  template <class... T>
  void operator()(T&... fields) {
    (one(fields), ...);
  }

 protected:
  Archive() = default;
  ~Archive() = default;

 private:
  virtual void bytes(std::byte* p, std::size_t n) = 0;
  virtual void size(std::uint64_t& n) = 0;  // elements of a vector; 0 or 1 for an optional

  template <class T>
  void one(T& t) {
    if constexpr (Bytes<T>) {
      if constexpr (!std::is_empty_v<T>) bytes(reinterpret_cast<std::byte*>(&t), sizeof(T));
    } else if constexpr (detail::IsVector<T>::value) {
      std::uint64_t n = t.size();
      size(n);
      t.resize(n);
      if constexpr (Bytes<typename detail::IsVector<T>::element>)
        bytes(reinterpret_cast<std::byte*>(t.data()), n * sizeof(typename detail::IsVector<T>::element));
      else
        for (auto& element : t) one(element);
    } else if constexpr (detail::IsArray<T>::value) {
      for (auto& element : t) one(element);
    } else if constexpr (detail::IsOptional<T>::value) {
      std::uint64_t has = t.has_value() ? 1 : 0;
      size(has);
      if (has != 0 && !t) t.emplace();
      if (has == 0) t.reset();
      if (t) one(*t);
    } else if constexpr (requires { t.archive(*this); }) {
      t.archive(*this);
    } else if constexpr (detail::HasMembers<T>) {
      detail::check_members<T>();
      if constexpr (!detail::lists_constant<T>)
        std::apply([&](auto&... members) { (one(members), ...); }, t.members());
    } else {
      static_assert(std::is_aggregate_v<T>, "this state cannot be saved: add members() to its type");
      detail::with_members(t, [&](auto&... members) { (one(members), ...); });
    }
  }
};

class Saver final : public Archive {
 public:
  explicit Saver(std::vector<std::byte>& out) : out_(out) {}

 private:
  void bytes(std::byte* p, std::size_t n) override { out_.insert(out_.end(), p, p + n); }
  void size(std::uint64_t& n) override { bytes(reinterpret_cast<std::byte*>(&n), sizeof n); }

  std::vector<std::byte>& out_;
};

// Throws UserError if the bytes run out or a size is impossible: the file is corrupt.
class Loader final : public Archive {
 public:
  explicit Loader(std::span<std::byte const> in) : in_(in) {}
  bool at_end() const { return in_.empty(); }

 private:
  void bytes(std::byte* p, std::size_t n) override {
    if (n > in_.size()) throw UserError("saved state is too short for its component");
    if (n != 0) std::memcpy(p, in_.data(), n);
    in_ = in_.subspan(n);
  }
  void size(std::uint64_t& n) override {
    bytes(reinterpret_cast<std::byte*>(&n), sizeof n);
    if (n > in_.size()) throw UserError("saved state has an element count beyond its end");
  }

  std::span<std::byte const> in_;
};

class Hasher final : public Archive {
 public:
  void raw(std::byte const* p, std::size_t n) {
    for (; n >= 8; p += 8, n -= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, 8);
      mix(word);
    }
    std::uint64_t rest = n;
    for (std::size_t i = 0; i < n; ++i) rest = (rest << 8) | static_cast<std::uint64_t>(p[i]);
    if (n != 0) mix(rest);
  }
  void mix(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9E3779B97F4A7C15ULL;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value() const { return value_; }

 private:
  void bytes(std::byte* p, std::size_t n) override { raw(p, n); }
  void size(std::uint64_t& n) override { mix(n); }

  std::uint64_t value_ = 0xCBF29CE484222325ULL;
};

}  // namespace farfault
