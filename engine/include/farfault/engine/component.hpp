// SPDX-License-Identifier: Apache-2.0
// Components: the active parts of a model.
//
//   struct BankSpec { Duration access = 40ns; };                 // immutable; defaults written once
//   struct BankState { Time free_at{}; std::uint64_t served = 0; };   // everything that changes
//   class Bank final : public Component<BankSpec, BankState> {
//    public:
//     using Component::Component;
//     In<MemReq> req = in<&Bank::on_req>("req");
//     Out<MemRsp> rsp = out<MemRsp>("rsp");
//     void on_req(MemReq const& m, Cx& cx) const { cx.send(rsp, MemRsp{m.tag}, spec().access); }
//   };
//
// - Statistics: a static list() of the State (probes.hpp). Links: System::connect() (system.hpp).
// - Requirements: handlers are const, change only the State and must not throw. The `extra` delay of a send
//   is not negative.
// - Guarantees: a message arrives at now + the link's latency + `extra`. A timer reaches only its own
//   component, strictly later than now. State exists only on the rank (MPI process) that owns the component;
//   State that cannot be saved does not compile (archive.hpp).
// - Cost: handlers are template arguments, so dispatch is one table look-up.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/by_application.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/event.hpp"
#include "farfault/engine/histogram.hpp"
#include "farfault/engine/lane.hpp"
#include "farfault/engine/probes.hpp"
#include "farfault/engine/table_rows.hpp"

namespace farfault {

// An in-port of messages M.
template <Message M>
struct In {
  PortId id = 0;
};

struct FamilyPorts {
  std::vector<PortId> ids;
  bool linked = false;  // an out-port is connected to it
};

// Several in-ports of one message type; the sender selects one per message. Example: a crossbar's outputs.
template <Message M>
struct Family {
  FamilyPorts* ports = nullptr;  // owned by the System
};

// An out-port of messages M; System::connect() links it to an In or a Family, with a latency.
template <Message M>
struct Out {
  PortId id = 0;
  PortId to = 0;  // of an In
  Duration latency{};
  PortId const* family = nullptr;  // the in-ports of a Family
  std::uint32_t family_size = 0;
};

// A timer: messages from a component to itself (Context::wake).
template <Message M>
struct Self {
  PortId in = 0;
  PortId out = 0;
};

class System;
template <class State>
class Context;

// Aligned to cache lines: a lane prefetches the first two (lane.cpp).
class alignas(64) AnyComponent {
 public:
  AnyComponent(AnyComponent const&) = delete;
  AnyComponent& operator=(AnyComponent const&) = delete;
  virtual ~AnyComponent() = default;

  ComponentId id() const { return id_; }
  // Messages and timers sent so far: approximates the component's cost, independent of the placement.
  std::uint64_t messages_sent() const { return sequence_; }
  std::string const& path() const { return *path_; }

  // The name shared by all components of this class, under which its statistics are stored ("l2_tlb").
  virtual std::string_view kind() const = 0;
  // The event that the component waits for, as one clause; empty if it has no outstanding work. For the
  // deadlock report.
  virtual std::string waiting_for() const { return {}; }

  virtual void create_state() = 0;
  virtual bool has_state() const = 0;
  virtual void archive(Archive&) = 0;  // saves, loads or hashes the State
  // Its own statistics, with counters by application summed; the counters of each application, if there are
  // several; the statistics of its policies.
  virtual std::vector<StatGroup> stat_groups() const = 0;
  // Advances time-based counters to `at`, the time of the next sample; all earlier events are done. Returns
  // true if these counters also grow without events: it is then called before every sample.
  virtual bool settle(Time at) = 0;
  // Writes the values of each statistic of stat_groups(). Without `histograms`, places of histograms may keep
  // their values.
  void sample(std::uint64_t* out, bool histograms = true) const { read_stats(out, histograms); }
  // Its tables, and the rows since the last call.
  virtual std::vector<TableInfo> tables() const { return {}; }
  virtual void take_rows(TableRows& rows) { static_cast<void>(rows); }
  // Rows on the state at the end of the run; called once.
  virtual void final_rows(TableRows& rows) const { static_cast<void>(rows); }

 protected:
  AnyComponent(System& system, ComponentId id, std::string const& path)
      : system_(system), path_(&path), id_(id) {}

  friend class System;
  template <class>
  friend class Context;

  friend class Engine;
  friend class Lane;

  System& system_;
  std::string const* path_;
  ComponentId id_;
  bool has_worked_ = false;  // in its lane's list of worked components
  std::uint64_t sequence_ = 0;

 private:
  virtual void read_stats(std::uint64_t* out, bool histograms) const = 0;
};

// The arguments that System::add() passes to a component's constructor.
template <class Spec>
struct Slot {
  System& system;
  ComponentId id;
  std::string const& path;
  Spec spec;
};

// Everything that a handler may access.
template <class StateT>
class Context {
 public:
  Context(StateT& state, AnyComponent& component, Lane& lane, Time now)
      : state_(state), component_(component), lane_(lane), now_(now) {}

  Time now() const { return now_; }
  StateT& state() { return state_; }

  template <Message M>
  void send(Out<M> const& port, M const& message, Duration extra = {}) {
    emit(port.id, port.to, now_ + port.latency + extra, message, extra);
  }
  template <Message M>
  void send(Out<M> const& port, std::uint32_t which, M const& message, Duration extra = {}) {
    FF_INVARIANT(which < port.family_size, "message to a port outside the family");
    emit(port.id, port.family[which], now_ + port.latency + extra, message, extra);
  }
  template <Message M>
  void wake(Self<M> const& timer, M const& message, Latency in) {
    emit(timer.out, timer.in, now_ + in.get(), message, Duration::zero());
  }
  template <Message M>
  void wake_at(Self<M> const& timer, M const& message, Time when) {
    FF_CHECK(when > now_, component_.path() + ": a timer must be later than now");
    emit(timer.out, timer.in, when, message, Duration::zero());
  }

 private:
  template <Message M>
  void emit(PortId from, PortId to, Time when, M const& message, Duration extra) {
    FF_CHECK(extra >= Duration::zero(), component_.path() + ": a negative delay would break the lookahead");
    auto& e = lane_.send(when, component_.sequence_++, to, from);
    constexpr auto used = std::is_empty_v<M> ? 0 : sizeof(M);
    // memcpy would build the message on the stack and reload it in wider pieces, which stalls on the stores.
    if constexpr (used != 0) ::new (e.payload.data()) M(message);
    if constexpr (used != kPayloadBytes) std::memset(e.payload.data() + used, 0, kPayloadBytes - used);
  }

  StateT& state_;
  AnyComponent& component_;
  Lane& lane_;
  Time now_;
};

namespace detail {

template <class>
struct HandlerOf;
template <class C, class M, class S>
struct HandlerOf<void (C::*)(M const&, Context<S>&) const> {
  using component = C;
  using message = M;
  using state = S;
};

// Ports are declared during a component's construction; these are the only functions of System used there.
PortId declare_in(System& system, AnyComponent& component, Handler handler, std::string_view name,
                  bool timer);
PortId declare_out(System& system, AnyComponent& component, std::string_view name, bool timer, PortId to);

}  // namespace detail

template <class SpecT, class StateT>
class Component : public AnyComponent {
 public:
  using Spec = SpecT;
  using State = StateT;
  using Cx = Context<State>;

  explicit Component(Slot<Spec> slot)
      : AnyComponent(slot.system, slot.id, slot.path), spec_(std::move(slot.spec)) {}

  Spec const& spec() const { return spec_; }
  State const& state() const { return *state_; }

  // The state at time zero; override it if sizes depend on the Spec.
  virtual State initial() const { return State{}; }
  // The policies in the State that have statistics: their group, and the part of the State.
  struct PolicyStats {
    StatGroup group;
    StatSource const& (*source)(State const&);
  };
  virtual std::vector<PolicyStats> policy_stats() const { return {}; }

  // Counters by application (by_application.hpp), and the applications' names.
  struct ApplicationStats {
    std::vector<std::string> names;
    std::vector<std::uint32_t> application_of = {};  // by stream, if counters are kept by stream
    std::vector<bool> exists = {};                   // by counter; empty: all exist
    // Append the description of each counter.
    void (*describe)(ApplicationStats const&, std::vector<StatInfo>&) = nullptr;
    // Write the value of each counter: of one application, and summed over all.
    std::uint64_t* (*of_one)(State const&, ApplicationStats const&, std::uint32_t, std::uint64_t*) = nullptr;
    std::uint64_t* (*of_all)(State const&, ApplicationStats const&, std::uint64_t*) = nullptr;

    // Number of applications with separate statistics; 0 if there is only one.
    std::uint32_t apart() const { return names.size() > 1 ? static_cast<std::uint32_t>(names.size()) : 0; }
  };
  virtual ApplicationStats application_stats() const { return {}; }

  void create_state() final {
    Sampled sampled{application_stats(), policy_stats(), existing(own_stats())};
    std::erase_if(sampled.policies, [](PolicyStats const& p) { return p.group.values() == 0; });
    sampled_ = std::make_unique<Sampled const>(std::move(sampled));
    if constexpr (kStateInside)
      state_.emplace(initial());
    else
      state_ = std::make_unique<State>(initial());
  }
  bool has_state() const final { return static_cast<bool>(state_); }
  void archive(Archive& a) final { a(sequence_, *state_); }
  std::vector<StatGroup> stat_groups() const final {
    auto const counted = application_stats();
    auto const own = own_stats();
    auto const exists = existing(own);
    std::vector<StatInfo> by_application;
    if (counted.describe != nullptr) counted.describe(counted, by_application);
    std::vector<StatGroup> groups(1);
    groups[0].kind = kind();
    groups[0].stats.reserve(by_application.size() + own.size());
    groups[0].stats = by_application;
    each_existing(own, exists, [&](Stat<State> const& s) { groups[0].stats.push_back(s.info()); });
    for (std::uint32_t i = 0; i < counted.apart(); ++i)
      groups.push_back({std::string(kind()) + ".by_application", by_application, counted.names[i]});
    for (auto& policy : policy_stats()) groups.push_back(std::move(policy.group));
    return groups;
  }
  bool settle(Time at) final { return settle(*state_, at); }
  void take_rows(TableRows& rows) final { take_rows(*state_, rows); }

 protected:
  // For components that count durations (part_time.hpp). Must not affect events.
  virtual bool settle(State& state, Time at) const {
    static_cast<void>(state);
    static_cast<void>(at);
    return false;
  }
  // Moves the rows since the last call to `rows`.
  virtual void take_rows(State& state, TableRows& rows) const {
    static_cast<void>(state);
    static_cast<void>(rows);
  }

  // For the ByApplication that is this member of the State, or the ByStream, with the application of each
  // stream.
  template <auto Member>
  ApplicationStats counted_by_application(std::vector<std::string> names,
                                          std::vector<std::uint32_t> application_of = {}) const {
    using Counts = typename std::remove_cvref_t<decltype(std::declval<State>().*Member)>::Of;
    ApplicationStats all;
    all.names = std::move(names);
    all.application_of = std::move(application_of);
    all.exists = existing(std::span<Stat<Counts> const>(Counts::list()));
    all.describe = [](ApplicationStats const& declared, std::vector<StatInfo>& infos) {
      each_existing(std::span<Stat<Counts> const>(Counts::list()), declared.exists,
                    [&](Stat<Counts> const& counter) { infos.push_back(counter.info()); });
    };
    all.of_one = [](State const& s, ApplicationStats const& declared, std::uint32_t application,
                    std::uint64_t* out) {
      auto const& of = declared.application_of;
      return write_sums(s.*Member, declared.exists, out,
                        [&](std::uint32_t i) { return (of.empty() ? i : of[i]) == application; });
    };
    all.of_all = [](State const& s, ApplicationStats const& declared, std::uint64_t* out) {
      return write_sums(s.*Member, declared.exists, out, [](std::uint32_t) { return true; });
    };
    return all;
  }

  // Called from member initialisers, in the order in which ports are numbered.
  template <auto H>
  auto in(std::string_view name) {
    using M = typename detail::HandlerOf<decltype(H)>::message;
    return In<M>{detail::declare_in(system_, *this, &call<H>, name, false)};
  }
  template <auto H>
  auto timer(std::string_view name) {
    using M = typename detail::HandlerOf<decltype(H)>::message;
    auto const id = detail::declare_in(system_, *this, &call<H>, name, true);
    return Self<M>{id, detail::declare_out(system_, *this, name, true, id)};
  }
  template <Message M>
  Out<M> out(std::string_view name) {
    return Out<M>{.id = detail::declare_out(system_, *this, name, false, 0)};
  }

 private:
  static std::span<Stat<State> const> own_stats() {
    if constexpr (requires { State::list(); })
      return State::list();
    else
      return {};
  }
  // By statistic: whether this component has it. Empty if it has all, as most have.
  template <class S>
  std::vector<bool> existing(std::span<Stat<S> const> all) const {
    auto const exists = [this](Stat<S> const& s) { return s.exists(spec_); };
    if (std::all_of(all.begin(), all.end(), exists)) return {};
    std::vector<bool> by_number(all.size());
    std::transform(all.begin(), all.end(), by_number.begin(), exists);
    return by_number;
  }
  template <class S, class F>
  static void each_existing(std::span<Stat<S> const> all, std::vector<bool> const& exists, F&& f) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (exists.empty() || exists[i]) f(all[i]);
  }
  // Writes the value of each existing counter, summed over the selected numbers.
  template <class Counts, class Wanted>
  static std::uint64_t* write_sums(ByApplication<Counts> const& by, std::vector<bool> const& exists,
                                   std::uint64_t* out, Wanted&& wanted) {
    each_existing(std::span<Stat<Counts> const>(Counts::list()), exists, [&](Stat<Counts> const& counter) {
      auto* const at = out;
      bool written = false;
      for (std::uint32_t i = 0; i < by.size(); ++i) {
        if (!wanted(i)) continue;
        out = written ? counter.add(by[i], at) : counter.write(by[i], at);
        written = true;
      }
      if (!written) out = std::fill_n(at, counter.bins, std::uint64_t{0});
    });
    return out;
  }

  void read_stats(std::uint64_t* out, bool histograms) const final {
    auto const& applications = sampled_->applications;
    if (applications.of_all != nullptr) out = applications.of_all(*state_, applications, out);
    each_existing(own_stats(), sampled_->exists, [&](Stat<State> const& s) {
      out = histograms || s.kind != StatKind::histogram ? s.write(*state_, out) : out + s.bins;
    });
    for (std::uint32_t i = 0; i < applications.apart(); ++i)
      out = applications.of_one(*state_, applications, i, out);
    for (auto const& policy : sampled_->policies) {
      auto const values = policy.group.values();
      std::fill_n(out, values, std::uint64_t{0});
      policy.source(*state_).sample(out);
      out += values;
    }
  }

  template <auto H>
  static void call(AnyComponent& any, Lane& lane, Event const& e) {
    using Traits = detail::HandlerOf<decltype(H)>;
    using C = typename Traits::component;
    auto& self = static_cast<C&>(any);
    Cx cx(*static_cast<Component&>(self).state_, any, lane, e.when);
    (std::as_const(self).*H)(e.message<typename Traits::message>(), cx);
  }

  // Data used only by sample(): allocated separately, so that the first cache lines hold what handlers read.
  struct Sampled {
    ApplicationStats applications;
    std::vector<PolicyStats> policies;
    std::vector<bool> exists;  // by statistic of the State; empty: all exist
  };

  // A large State is allocated separately, so that it takes no memory on ranks where the component does not
  // run.
  static constexpr bool kStateInside = sizeof(State) <= 64;

  std::conditional_t<kStateInside, std::optional<State>, std::unique_ptr<State>> state_;
  std::unique_ptr<Sampled const> sampled_;
  Spec const spec_;
};

}  // namespace farfault
