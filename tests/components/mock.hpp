// SPDX-License-Identifier: Apache-2.0
// Endpoints for a component under test. Sources send a script's messages at the script's times; sinks record
// the messages and their times; responders answer after a delay; clients keep a number of requests
// outstanding.
//
// Every link of a Bench has a latency of 1 ns by default. A script's times are arrival times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "farfault/engine/engine.hpp"

namespace farfault::mock {

template <Message M>
struct Record {
  Time at;
  M message;
};

struct Nothing {};
struct Step {
  std::uint64_t index;
};

template <Message M>
struct SourceSpec {
  std::vector<Record<M>> script;
};

// Connected over a link of 1 ns, it sends 1 ns ahead of the script's time.
template <Message M>
class Source final : public Component<SourceSpec<M>, Nothing> {
 public:
  using Base = Component<SourceSpec<M>, Nothing>;
  using Base::Base;
  using typename Base::Cx;
  Self<Step> next = this->template timer<&Source::on_next>("next");
  Out<M> out_port = this->template out<M>("out");
  std::string_view kind() const override { return "source"; }
  void on_next(Step const& s, Cx& cx) const { cx.send(out_port, this->spec().script[s.index].message); }
};

template <Message M>
struct SinkState {
  std::vector<Record<M>> records;
};

template <Message M>
class Sink final : public Component<Nothing, SinkState<M>> {
 public:
  using Base = Component<Nothing, SinkState<M>>;
  using Base::Base;
  using typename Base::Cx;
  In<M> in_port = this->template in<&Sink::on_message>("in");
  std::string_view kind() const override { return "sink"; }
  void on_message(M const& m, Cx& cx) const { cx.state().records.push_back({cx.now(), m}); }

  std::vector<Record<M>> const& records() const { return this->state().records; }
  std::size_t count() const { return records().size(); }
  std::vector<std::int64_t> picoseconds() const {
    std::vector<std::int64_t> all;
    for (auto const& r : records()) all.push_back(farfault::picoseconds(r.at));
    return all;
  }
  // For times in whole nanoseconds.
  std::vector<std::int64_t> nanoseconds() const {
    auto all = picoseconds();
    for (auto& t : all) t = t % 1000 == 0 ? t / 1000 : -1;
    return all;
  }
};

template <Message Request, Message Response>
struct ResponderSpec {
  std::function<Response(Request const&)> reply;
  std::function<Duration(std::uint64_t)> delay;  // of the n-th request
  std::function<std::uint32_t(Request const&)> port = [](Request const&) { return 0U; };
};

template <Message Request, Message Response>
class Responder final : public Component<ResponderSpec<Request, Response>, SinkState<Request>> {
 public:
  using Base = Component<ResponderSpec<Request, Response>, SinkState<Request>>;
  using Base::Base;
  using typename Base::Cx;
  In<Request> request = this->template in<&Responder::on_request>("request");
  Out<Response> response = this->template out<Response>("response");
  std::string_view kind() const override { return "responder"; }
  void on_request(Request const& m, Cx& cx) const {
    auto& records = cx.state().records;
    auto const n = records.size();
    records.push_back({cx.now(), m});
    auto const& spec = this->spec();
    cx.send(response, spec.port(m), spec.reply(m), spec.delay(n));
  }

  std::vector<Record<Request>> const& records() const { return this->state().records; }
  std::vector<std::int64_t> nanoseconds() const {
    std::vector<std::int64_t> all;
    for (auto const& r : records())
      all.push_back(picoseconds(r.at) % 1000 == 0 ? picoseconds(r.at) / 1000 : -1);
    return all;
  }
};

template <Message Request, Message Response>
struct ClientSpec {
  std::uint64_t total = 0;
  std::uint64_t window = 1;  // maximum outstanding requests
  std::function<Request(std::uint64_t)> request;
  std::function<bool(Response const&)> right = [](Response const&) { return true; };
  std::function<std::uint32_t(Response const&)> tag = [](Response const& m) {
    if constexpr (requires { m.tag; })
      return m.tag;
    else
      return 0U;
  };
};
struct ClientState {
  std::uint64_t sent = 0;
  std::uint64_t responded = 0;
  std::uint64_t wrong = 0;  // wrong responses
  Time last{};
  std::vector<std::uint32_t> responses;  // by tag
};

// Sends requests 0, 1, ... that get one response each, tagged with the request's number.
template <Message Request, Message Response>
class Client final : public Component<ClientSpec<Request, Response>, ClientState> {
 public:
  using Base = Component<ClientSpec<Request, Response>, ClientState>;
  using Base::Base;
  using typename Base::Cx;
  In<Response> response = this->template in<&Client::on_response>("response");
  Self<Step> begin = this->template timer<&Client::on_begin>("begin");
  Out<Request> request = this->template out<Request>("request");
  std::string_view kind() const override { return "client"; }
  ClientState initial() const override {
    ClientState s;
    s.responses.resize(this->spec().total);
    return s;
  }
  void on_begin(Step const&, Cx& cx) const {
    for (std::uint64_t i = 0; i < this->spec().window; ++i) send_next(cx);
  }
  void on_response(Response const& m, Cx& cx) const {
    ++cx.state().responded;
    if (!this->spec().right(m)) ++cx.state().wrong;
    cx.state().last = cx.now();
    ++cx.state().responses[this->spec().tag(m)];
    send_next(cx);
  }
  bool each_answered_once() const {
    for (auto const n : this->state().responses)
      if (n != 1) return false;
    return this->state().responded == this->spec().total && this->state().wrong == 0;
  }

 private:
  void send_next(Cx& cx) const {
    if (cx.state().sent < this->spec().total) cx.send(request, this->spec().request(cx.state().sent++));
  }
};

inline constexpr Duration kLink = 1ns;

// A system around a component under test.
struct Bench {
  System system;
  std::unique_ptr<Transport> transport = make_single_transport();
  std::unique_ptr<Engine> engine;
  int names = 0;

  std::string name(std::string const& what) { return what + std::to_string(names++); }

  // Messages arrive at `to` at the script's times, which must be at least 1 ns.
  template <Message M>
  void feed(In<M> to, std::vector<Record<M>> script) {
    auto& source = system.add<Source<M>>(name("source"), {script});
    system.connect(source.out_port, to, Latency{kLink});
    for (std::uint64_t i = 0; i < script.size(); ++i) system.post(source.next, Step{i}, script[i].at - kLink);
  }
  // Ports that receive nothing in this test.
  template <Message... M>
  void idle(In<M>... ports) {
    (feed<M>(ports, {}), ...);
  }
  template <Message M>
  Sink<M>& sink(Out<M>& from, Duration latency = kLink) {
    auto& s = system.add<Sink<M>>(name("sink"));
    system.connect(from, s.in_port, Latency{latency});
    return s;
  }
  // `n` sinks; the sender selects one for each message.
  template <Message M>
  std::vector<Sink<M>*> sinks(Out<M>& from, std::size_t n, Duration latency = kLink) {
    std::vector<Sink<M>*> all;
    std::vector<In<M>> ports;
    for (std::size_t i = 0; i < n; ++i) {
      all.push_back(&system.add<Sink<M>>(name("sink")));
      ports.push_back(all.back()->in_port);
    }
    system.connect(from, system.family(ports), Latency{latency});
    return all;
  }
  template <Message M>
  void join(Out<M>& from, In<M> to, Duration latency = kLink) {
    system.connect(from, to, Latency{latency});
  }
  // The same for senders that select a port.
  template <Message M>
  void join_family(Out<M>& from, std::vector<In<M>> const& to, Duration latency = kLink) {
    system.connect(from, system.family(to), Latency{latency});
  }
  template <Message Request, Message Response>
  Responder<Request, Response>& responder(ResponderSpec<Request, Response> spec, In<Response> to) {
    auto& r = system.add<Responder<Request, Response>>(name("responder"), std::move(spec));
    join_family(r.response, {to});
    return r;
  }
  void begin(auto& client, Time when = Time{100ns}) { system.post(client.begin, Step{0}, when); }

  // Runs to the end. The state of every component can be inspected afterwards.
  RunState run(Time end = Time::max()) {
    if (!engine) engine = std::make_unique<Engine>(system, Placement{}, EngineOptions{}, *transport);
    return engine->run_until(end);
  }
};

inline std::function<Duration(std::uint64_t)> always(Duration d) {
  return [d](std::uint64_t) { return d; };
}
// Delays that look random and are identical in every run.
inline std::function<Duration(std::uint64_t)> scattered(Duration most, std::uint64_t seed) {
  return [most, seed](std::uint64_t n) {
    auto x = (n + 1) * 0x9E3779B97F4A7C15ULL ^ seed * 0xD1B54A32D192ED03ULL;
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9ULL;
    return Duration{static_cast<std::int64_t>((x ^ x >> 32) % static_cast<std::uint64_t>(most.count()))};
  };
}

}  // namespace farfault::mock
