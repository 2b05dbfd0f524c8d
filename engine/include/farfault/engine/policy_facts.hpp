// SPDX-License-Identifier: Apache-2.0
// Facts of a policy (policy.hpp): properties of an implementation that other parts of a model need to know.
// They depend on its parameters only.
//
// An interface declares the facts, with defaults; every implementation states a Needed one. An implementation
// states the facts that differ next to its parameters, with facts() if no fact depends on a parameter:
//
//   struct Facts { Needed<bool> moves_pages; Duration latency{}; };
//   static constexpr Facts facts(Params const& p) { return {.moves_pages = true, .latency = p.latency}; }
//
// PolicyChoice::facts() returns the facts of the selected implementation; no object is created.
// Guarantees: an implementation without facts() has the defaults. It does not compile if a needed fact is
// missing, if its facts() has another signature, or if its interface declares no facts.
#pragma once

#include <concepts>
#include <utility>

namespace farfault {

// A fact without a default.
template <class T>
class Needed {
 public:
  constexpr Needed(T value) : value_(std::move(value)) {}
  constexpr operator T const&() const { return value_; }

 private:
  T value_;
};

namespace detail {

struct NoFacts {};
template <class I>
struct FactsOf {
  using type = NoFacts;
};
template <class I>
requires requires {
  typename I::Facts;
}
struct FactsOf<I> {
  using type = typename I::Facts;
};

template <class T>
concept HasFactsMember = requires {
  &T::facts;
};
template <class T, class Facts>
concept StatesFacts = requires {
  { T::facts() } -> std::same_as<Facts>;
};
template <class T, class Params, class Facts>
concept StatesFactsOfParams = requires(Params const& p) {
  { T::facts(p) } -> std::same_as<Facts>;
};
// T states the facts of its interface, or the defaults are complete.
template <class T, class Params, class Facts>
concept FactsAreKnown = StatesFacts<T, Facts> || StatesFactsOfParams<T, Params, Facts> ||
    (!HasFactsMember<T> && std::default_initializable<Facts>);

template <class T, class Params, class Facts>
Facts facts_of(Params const& params) {
  if constexpr (StatesFacts<T, Facts>) {
    constexpr Facts facts = T::facts();
    return facts;
  } else if constexpr (StatesFactsOfParams<T, Params, Facts>) {
    return T::facts(params);
  } else {
    return {};
  }
}

}  // namespace detail
}  // namespace farfault
