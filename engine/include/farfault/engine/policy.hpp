// SPDX-License-Identifier: Apache-2.0
// Policies: alternative algorithms behind one interface, selected by name in the configuration.
//
// A policy interface is an abstract class; its header states when each function is called, the information
// available to it and the invariants that it must keep:
//
//   class Queueing {
//    public:
//     using Interface = Queueing;
//     struct Setup {};                                // what its owner passes to a new object
//     struct Facts { bool keeps_order = false; };     // optional (policy_facts.hpp)
//     static PolicyList<Queueing> known();            // the implementations of this project
//     virtual ~Queueing() = default;
//     virtual std::size_t next(Waiting const& w, Time now) = 0;
//   };
//
// An implementation is a class in a separate file, inside or outside the project:
//
//   struct ByAge final : Queueing {
//     struct Params {                                 // optional: parameters "<section>.by_age.classes"
//       std::uint32_t classes = 16;
//       void describe(ParamTable& t) { t.count("classes", classes, {1, 1 << 20}, "...", "assumed"); }
//     };
//     static constexpr Facts facts(Params const& p) { return {.keeps_order = p.classes == 1}; }  // optional
//     explicit ByAge(Params const& p) : last_(p.classes) {}  // or (Params, Setup), (Setup), ()
//     std::size_t next(Waiting const& w, Time now) override;
//     auto members() { return std::tie(last_, seen_); }   // every member; omitted without state
//     static auto stats() { return std::array<Stat<ByAge>, 1>{{...}}; }   // optional
//   };
//
// An interface may consist of facts only, without functions to implement. An implementation without
// parameters then needs no class: list.add("by_age", "...", {.keeps_order = true}).
//
// Guarantees: parameters of all implementations are read and checked; state and statistics exist only for the
// selected one.
// Errors: the constructor throws UserError if parameters and setup are inconsistent; the message begins with
// the parameter ("classes = 4 must be above ..."). It is called when the configuration is checked.
// Cost: one virtual call per decision.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/engine/policy_maker.hpp"
#include "farfault/engine/probes.hpp"

namespace farfault {

// The implementations of one interface, in the order in which they were added.
template <class I>
class PolicyList {
 public:
  struct Entry {
    std::string name;
    std::string text;  // its behaviour, as one clause
    std::unique_ptr<PolicyMaker<I>> maker;
  };

  template <class T>
  PolicyList& add(std::string name, std::string text) {
    entries_.push_back({std::move(name), std::move(text), std::make_unique<detail::MakerOf<T>>()});
    return *this;
  }
  // An implementation without parameters of an interface that has facts only.
  PolicyList& add(std::string name, std::string text,
                  typename PolicyMaker<I>::Facts facts) requires(!std::is_abstract_v<I>) {
    entries_.push_back(
        {std::move(name), std::move(text), std::make_unique<detail::FactsOnly<I>>(std::move(facts))});
    return *this;
  }
  std::vector<Entry>& entries() { return entries_; }
  std::vector<Entry> const& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

namespace detail {

// The properties of an implementation that Policies::check() examines.
struct PolicyNames {
  std::vector<std::string> taken;  // by the implementations of this project
  std::vector<StatInfo> stats;
};

// Throws UserError if its parameters are invalid.
template <class I>
PolicyNames policy_names(void const* maker) {
  auto const& known = *static_cast<PolicyMaker<I> const*>(maker);
  ParamTable table;
  known.copy()->describe(table);
  table.check_conditions();
  PolicyNames names{{}, known.stats()};
  auto const list = I::known();
  for (auto const& entry : list.entries()) names.taken.push_back(entry.name);
  return names;
}

}  // namespace detail

// Implementations from outside the project.
class Policies {
 public:
  // T's interface is T::Interface, which it inherits.
  template <class T>
  Policies&& add(std::string const& name, std::string const& text) && {
    return std::move(add<T>(name, text));
  }
  template <class T>
  Policies& add(std::string const& name, std::string const& text) & {
    return more<typename T::Interface>(name, text, std::make_shared<detail::MakerOf<T>>());
  }
  // An implementation without parameters of the interface I, which has facts only.
  template <class I>
  requires(!std::is_abstract_v<I>) Policies &&
      add(std::string const& name, std::string const& text, typename I::Facts facts) && {
    return std::move(add<I>(name, text, std::move(facts)));
  }
  template <class I>
  requires(!std::is_abstract_v<I>) Policies& add(std::string const& name, std::string const& text,
                                                 typename I::Facts facts) & {
    return more<I>(name, text, std::make_shared<detail::FactsOnly<I>>(std::move(facts)));
  }

  // Throws UserError for the first invalid implementation: its name is not a key, or equals that of another
  // implementation of its interface; a parameter or a statistic is declared twice, or has an invalid name.
  void check() const;

  // Calls f(name, text, maker) for each implementation of I.
  template <class I, class F>
  void each(F&& f) const {
    for (auto const& a : added_)
      if (a.interface == std::type_index(typeid(I)))
        f(a.name, a.text, *static_cast<PolicyMaker<I> const*>(a.maker.get()));
  }

 private:
  struct Added {
    std::type_index interface;
    std::string name;
    std::string text;
    std::shared_ptr<void const> maker;  // a PolicyMaker of the interface
    detail::PolicyNames (*names)(void const* maker);
  };

  template <class I>
  Policies& more(std::string const& name, std::string const& text,
                 std::shared_ptr<PolicyMaker<I> const> maker) {
    added_.push_back({.interface = std::type_index(typeid(I)),
                      .name = name,
                      .text = text,
                      .maker = std::static_pointer_cast<void const>(maker),
                      .names = &detail::policy_names<I>});
    return *this;
  }

  std::vector<Added> added_;
};

inline Policies policies() {
  return {};
}

// An object of the selected implementation, in a component's State. Its PolicyChoice, or a
// copy of it, must outlive it, and must not be described again.
template <class I>
class Policy final : public StatSource {
 public:
  Policy() = default;
  Policy(PolicyMaker<I> const& maker, typename I::Setup const& setup)
      : maker_(&maker), object_(maker.make(setup)) {}

  I* operator->() { return object_.get(); }
  I const* operator->() const { return object_.get(); }
  I& operator*() { return *object_; }
  I const& operator*() const { return *object_; }

  void sample(std::uint64_t* out) const override {
    if (object_) maker_->sample(*object_, out);
  }
  void archive(Archive& a) {
    if (object_) maker_->archive(*object_, a);
  }

 private:
  PolicyMaker<I> const* maker_ = nullptr;
  std::unique_ptr<I> object_;
};

// Several objects of one choice, indexed by number; their statistics are summed.
template <class I>
class PolicyArray final : public StatSource {
 public:
  PolicyArray() = default;
  PolicyArray(PolicyArray&&) noexcept = default;
  PolicyArray& operator=(PolicyArray&&) noexcept = default;

  void add(Policy<I> object) { objects_.push_back(std::move(object)); }
  std::size_t size() const { return objects_.size(); }
  I& operator[](std::size_t i) { return *objects_[i]; }
  I const& operator[](std::size_t i) const { return *objects_[i]; }

  void sample(std::uint64_t* out) const override {
    for (auto const& object : objects_) object.sample(out);
  }
  void archive(Archive& a) { a(objects_); }

 private:
  std::vector<Policy<I>> objects_;
};

// A parameter that selects an implementation, with the parameters of all. Copies (one per component, of many)
// share parameter values; describe() gives a copy its own. Values must therefore be set before copies
// are made. The header of an interface may declare
//   extern template class PolicyChoice<Queueing>;
// so that the functions below are compiled only in the file that defines known().
template <class I>
class PolicyChoice {
 public:
  explicit PolicyChoice(std::string_view name);

  std::string const& name() const { return chosen_; }
  // Section of the selected implementation's parameters, relative to the section of the choice.
  std::string section() const { return prefix_ + chosen_; }
  // Selects another implementation, with its default parameters.
  PolicyChoice& choose(std::string_view name);
  Policy<I> make(typename I::Setup const& setup) const;
  // Facts of the selected implementation. To be read when a machine is configured or built, not in handlers.
  typename PolicyMaker<I>::Facts facts() const;
  std::vector<StatInfo> stats() const;
  // Why parameters and setup are inconsistent; empty if they are consistent.
  std::string why_not(typename I::Setup const& setup) const;

  // Declares the parameter `name`, and each implementation's parameters below its name. A section with
  // several choices of one interface gives them prefixes ("read_"): read_by_age.classes.
  ParamTable::Declared describe(ParamTable& t, std::string_view name, std::string_view text,
                                std::string_view source, std::string_view prefix = {});

 private:
  struct Alternative;
  using Alternatives = std::vector<Alternative>;

  static std::shared_ptr<Alternatives> const& built_in();
  Alternative const* find(std::string_view name) const;
  PolicyMaker<I> const* maker() const;
  std::string names() const;

  std::string chosen_;
  std::string prefix_;  // of the sections of the implementations' parameters
  std::shared_ptr<Alternatives> alternatives_;
  bool adopted_ = false;  // implementations from outside the project were added
};

template <class I>
struct PolicyChoice<I>::Alternative {
  std::string name;
  std::string text;
  std::unique_ptr<PolicyMaker<I>> maker;

  Alternative(std::string n, std::string what, std::unique_ptr<PolicyMaker<I>> m)
      : name(std::move(n)), text(std::move(what)), maker(std::move(m)) {}
  Alternative(Alternative const& other) : name(other.name), text(other.text), maker(other.maker->copy()) {}
  Alternative(Alternative&&) noexcept = default;
  Alternative& operator=(Alternative const& other) { return *this = Alternative(other); }
  Alternative& operator=(Alternative&&) noexcept = default;
  ~Alternative() = default;
};

template <class I>
PolicyChoice<I>::PolicyChoice(std::string_view name) : chosen_(name), alternatives_(built_in()) {
  FF_CHECK(find(chosen_) != nullptr, "unknown policy " + chosen_);
}

template <class I>
PolicyChoice<I>& PolicyChoice<I>::choose(std::string_view name) {
  if (find(name) == nullptr) throw UserError("'" + shown(name) + "' is not " + names());
  chosen_ = name;
  return *this;
}

template <class I>
Policy<I> PolicyChoice<I>::make(typename I::Setup const& setup) const {
  return {*maker(), setup};
}

template <class I>
typename PolicyMaker<I>::Facts PolicyChoice<I>::facts() const {
  return maker()->facts();
}

template <class I>
std::vector<StatInfo> PolicyChoice<I>::stats() const {
  return maker()->stats();
}

template <class I>
std::string PolicyChoice<I>::why_not(typename I::Setup const& setup) const {
  try {
    maker()->make(setup);
  } catch (UserError const& e) {
    return e.what();
  }
  return {};
}

template <class I>
ParamTable::Declared PolicyChoice<I>::describe(ParamTable& t, std::string_view name, std::string_view text,
                                               std::string_view source, std::string_view prefix) {
  prefix_ = prefix;
  if (alternatives_.use_count() > 1) alternatives_ = std::make_shared<Alternatives>(*alternatives_);
  if (t.policies() != nullptr && !std::exchange(adopted_, true))
    t.policies()->template each<I>(
        [&](std::string const& n, std::string const& what, PolicyMaker<I> const& m) {
          if (find(n) != nullptr) throw UserError("policy '" + shown(n) + "' already exists");
          alternatives_->push_back({n, what, m.copy()});
        });
  std::vector<ParamTable::Alternative> described;
  for (auto& a : *alternatives_) {
    auto const describe_it = [maker = a.maker.get()](ParamTable& table) { maker->describe(table); };
    auto& alternative = described.emplace_back(ParamTable::Alternative{a.name, a.text, prefix_, describe_it});
    for (auto const& s : a.maker->stats()) alternative.statistics.emplace_back(s.name, s.text);
  }
  return t.alternatives(name, chosen_, described, text, source);
}

template <class I>
auto PolicyChoice<I>::built_in() -> std::shared_ptr<Alternatives> const& {
  static auto const all = [] {
    auto alternatives = std::make_shared<Alternatives>();
    auto known = I::known();
    for (auto& e : known.entries())
      alternatives->push_back({std::move(e.name), std::move(e.text), std::move(e.maker)});
    return alternatives;
  }();
  return all;
}

template <class I>
auto PolicyChoice<I>::find(std::string_view name) const -> Alternative const* {
  for (auto const& a : *alternatives_)
    if (a.name == name) return &a;
  return nullptr;
}

template <class I>
PolicyMaker<I> const* PolicyChoice<I>::maker() const {
  return find(chosen_)->maker.get();
}

template <class I>
std::string PolicyChoice<I>::names() const {
  std::string list = "one of: ";
  for (auto const& a : *alternatives_) list += (&a == &alternatives_->front() ? "" : ", ") + a.name;
  return list;
}

}  // namespace farfault
