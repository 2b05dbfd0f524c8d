// SPDX-License-Identifier: Apache-2.0
// The implementations of a policy interface (policy.hpp) as one type per interface, from which objects are
// created. Users of policies need only policy.hpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/engine/policy_facts.hpp"
#include "farfault/engine/probes.hpp"

namespace farfault {

// The parameters of one implementation, and all operations on its objects.
template <class I>
class PolicyMaker {
 public:
  using Facts = typename detail::FactsOf<I>::type;
  virtual ~PolicyMaker() = default;
  virtual std::unique_ptr<PolicyMaker> copy() const = 0;
  virtual void describe(ParamTable& t) = 0;
  virtual Facts facts() const = 0;
  virtual std::unique_ptr<I> make(typename I::Setup const& setup) const = 0;
  virtual std::vector<StatInfo> stats() const = 0;
  virtual void sample(I const& object, std::uint64_t* out) const = 0;
  virtual void archive(I& object, Archive& a) const = 0;
};

namespace detail {

struct NoParams {
  void describe(ParamTable&) {}
};
template <class T>
struct ParamsOf {
  using type = NoParams;
};
template <class T>
requires requires {
  typename T::Params;
}
struct ParamsOf<T> {
  using type = typename T::Params;
};

template <class T>
class MakerOf final : public PolicyMaker<typename T::Interface> {
  using I = typename T::Interface;
  using Params = typename ParamsOf<T>::type;
  using Facts = typename FactsOf<I>::type;
  static_assert(std::derived_from<T, I>, "a policy must derive from its interface");
  static_assert(FactsAreKnown<T, Params, Facts>,
                "a policy must state the needed facts of its interface: static constexpr Facts facts(Params "
                "const&) or facts(), a public function that returns the Facts of the interface");
  static_assert(HasMembers<T> || sizeof(T) == sizeof(I),
                "a policy with state must list it: auto members() { return std::tie(...); }");

 public:
  std::unique_ptr<PolicyMaker<I>> copy() const override { return std::make_unique<MakerOf>(*this); }
  void describe(ParamTable& t) override { params_.describe(t); }
  Facts facts() const override { return facts_of<T, Params, Facts>(params_); }
  std::unique_ptr<I> make(typename I::Setup const& setup) const override {
    if constexpr (std::constructible_from<T, Params const&, typename I::Setup const&>)
      return std::make_unique<T>(params_, setup);
    else if constexpr (std::constructible_from<T, Params const&>)
      return std::make_unique<T>(params_);
    else if constexpr (std::constructible_from<T, typename I::Setup const&>)
      return std::make_unique<T>(setup);
    else
      return std::make_unique<T>();
  }
  std::vector<StatInfo> stats() const override {
    std::vector<StatInfo> infos;
    if constexpr (requires { T::stats(); })
      for (auto const& s : T::stats()) infos.push_back(s.info());
    return infos;
  }
  void sample(I const& object, std::uint64_t* out) const override {
    if constexpr (requires { T::stats(); })
      for (auto const& s : T::stats()) out = s.add(static_cast<T const&>(object), out);
  }
  void archive(I& object, Archive& a) const override {
    if constexpr (HasMembers<T>) a(static_cast<T&>(object));
  }

 private:
  Params params_;
};

// An implementation that has facts only, and no parameters.
template <class I>
class FactsOnly final : public PolicyMaker<I> {
  using Facts = typename PolicyMaker<I>::Facts;

 public:
  explicit FactsOnly(Facts facts) : facts_(std::move(facts)) {}
  std::unique_ptr<PolicyMaker<I>> copy() const override { return std::make_unique<FactsOnly>(*this); }
  void describe(ParamTable&) override {}
  Facts facts() const override { return facts_; }
  std::unique_ptr<I> make(typename I::Setup const&) const override { return std::make_unique<I>(); }
  std::vector<StatInfo> stats() const override { return {}; }
  void sample(I const&, std::uint64_t*) const override {}
  void archive(I&, Archive&) const override {}

 private:
  Facts facts_;
};

}  // namespace detail

}  // namespace farfault
