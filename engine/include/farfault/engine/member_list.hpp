// SPDX-License-Identifier: Apache-2.0
// Checks members(), a class's list of its members: auto members() { return std::tie(first_, second_); }
//
// - Complete: the sizes of the listed members (and of a pointer, in a class with virtual functions) add up to
// the
//   size of the object. Padding would hide a forgotten member.
// - Errors stop the compilation, one sentence each with the remedy. The compiler's note on the failed
//   instantiation names the class, and the number, the type and the size of the member:
//     In instantiation of 'struct PaddingBeforeMember<Bank, member 1, unsigned long, bytes 4>'
//   listed() gives the member's name instead of its number:
//     auto members() { return farfault::listed<&Bank::open_, &Bank::rows_>(*this); }
//     In instantiation of 'struct PaddingBeforeMember<Bank, &Bank::rows_, unsigned long, bytes 4>'
// - The layout follows the order of the list, which should be the order of declaration.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace farfault {

// References to the members, as std::tie returns, with their names in the type.
template <class Class, auto... Pointers>
struct Listed : std::tuple<decltype((std::declval<Class&>().*Pointers))...> {
  using std::tuple<decltype((std::declval<Class&>().*Pointers))...>::tuple;
};
template <auto... Pointers, class Class>
Listed<Class, Pointers...> listed(Class& object) {
  return {(object.*Pointers)...};
}

}  // namespace farfault

template <class Class, auto... Pointers>
struct std::tuple_size<farfault::Listed<Class, Pointers...>>
    : std::integral_constant<std::size_t, sizeof...(Pointers)> {};
template <std::size_t I, class Class, auto... Pointers>
struct std::tuple_element<I, farfault::Listed<Class, Pointers...>>
    : std::tuple_element<I, std::tuple<decltype((std::declval<Class&>().*Pointers))...>> {};

namespace farfault::detail {

template <class T>
concept HasMembers = requires(T& t) {
  t.members();
};

enum class member : std::size_t {};  // number in the list, from 0
enum class bytes : std::size_t {};

// Objects in the order of the list, and the bytes of padding before each and at the end.
template <std::size_t N>
struct Layout {
  std::array<std::size_t, N + 1> padding{};
  std::size_t size = 0;  // of the object, padding included
  std::size_t listed = 0;
};

template <class T, class... M>
constexpr Layout<sizeof...(M)> layout_of(std::tuple<M&...> const*) {
  Layout<sizeof...(M)> layout;
  std::size_t i = 0;
  layout.size = layout.listed = std::is_polymorphic_v<T> ? sizeof(void*) : 0;
  auto const align = [&layout](std::size_t at, std::size_t to) {
    layout.padding[at] = (to - layout.size % to) % to;
    layout.size += layout.padding[at];
  };
  auto const add = [&](std::size_t size, std::size_t to) {
    align(i++, to);
    layout.size += size;
    layout.listed += size;
  };
  (add(sizeof(M), alignof(M)), ...);
  align(i, alignof(T));
  return layout;
}

template <HasMembers T>
using ListOf = decltype(std::declval<T&>().members());
template <HasMembers T>
inline constexpr auto kLayout = layout_of<T>(static_cast<ListOf<T> const*>(nullptr));

template <HasMembers T>
inline constexpr bool lists_all_members = kLayout<T>.listed == sizeof(T);

template <class... M>
constexpr bool is_any_constant(std::tuple<M&...> const*) {
  return (std::is_const_v<M> || ...);
}
template <HasMembers T>
inline constexpr bool lists_constant = is_any_constant(static_cast<ListOf<T> const*>(nullptr));

// What an error calls member I: its number in a list by std::tie, its pointer in one by listed().
template <std::size_t I, class... M>
constexpr auto name_of_member(std::tuple<M&...> const*) {
  return member{I};
}
template <std::size_t I, class Class, auto... Pointers>
constexpr auto name_of_member(Listed<Class, Pointers...> const*) {
  return std::get<I>(std::tuple{Pointers...});
}

// Each fails when it is instantiated.
template <class...>
inline constexpr bool never = false;
template <class Class, bytes Forgotten>
struct ForgottenMembers {
  static_assert(
      never<Class>,
      "members() omits members of this size: list every member, in the order of declaration; declare a "
      "constant one, such as parameters, as Fixed<T>");
};
template <class Class>
struct RepeatedMember {
  static_assert(never<Class>, "members() lists a member twice, or a member and a part of it: list each once");
};
template <class Class, auto Which, class Member>
struct ConstantMember {
  static_assert(
      never<Class>,
      "members() lists this constant member, which cannot be loaded: declare it as Fixed<T> without "
      "const; a Fixed<T> is neither saved nor hashed");
};
template <class Class, auto Which, class Member, bytes Padding>
struct PaddingBeforeMember {
  static_assert(
      never<Class>,
      "members() omits a member before this one, or the class has padding there: list the member, or "
      "make the members before this one larger, such as counters of 64 bits; farfault::listed gives the "
      "member's name instead of its number");
};
template <class Class, bytes Padding>
struct PaddingAtEnd {
  static_assert(
      never<Class>,
      "members() omits the last member, or the class has padding after it: list the member, or make a "
      "member larger, such as a counter of 64 bits");
};

template <class T, std::size_t I>
constexpr void check_member() {
  using Member = std::remove_reference_t<std::tuple_element_t<I, ListOf<T>>>;
  constexpr auto& layout = kLayout<T>;
  constexpr auto which = name_of_member<I>(static_cast<ListOf<T> const*>(nullptr));
  if constexpr (std::is_const_v<Member>) static_cast<void>(ConstantMember<T, which, Member>{});
  if constexpr (layout.size == sizeof(T) && layout.padding[I] != 0)
    static_cast<void>(PaddingBeforeMember<T, which, Member, bytes{layout.padding[I]}>{});
}

template <class T, std::size_t... I>
constexpr void check_list(std::index_sequence<I...>) {
  constexpr auto& layout = kLayout<T>;
  (check_member<T, I>(), ...);
  if constexpr (layout.listed > sizeof(T))
    static_cast<void>(RepeatedMember<T>{});
  else if constexpr (layout.listed < sizeof(T) && layout.size != sizeof(T))
    static_cast<void>(ForgottenMembers<T, bytes{sizeof(T) - layout.listed}>{});
  else if constexpr (layout.padding[sizeof...(I)] != 0 && layout.size == sizeof(T))
    static_cast<void>(PaddingAtEnd<T, bytes{layout.padding[sizeof...(I)]}>{});
}

template <HasMembers T>
constexpr void check_members() {
  check_list<T>(std::make_index_sequence<std::tuple_size_v<ListOf<T>>>{});
}

}  // namespace farfault::detail
