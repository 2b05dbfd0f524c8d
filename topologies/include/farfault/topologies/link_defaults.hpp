// SPDX-License-Identifier: Apache-2.0
// Default latency and bandwidth per kind of link, for links without values in their source.
//
// - Units: bandwidth per physical link and direction (an x16 slot, one NVLink, one xGMI link); latency of one
//   message over one link, including its share of the switches at its ends.
// - Each default records that an importer or a generator took it. A parameter has an effect only if its
//   default was taken: facts().
// - Not thread-safe, not even for reading.
#pragma once

#include <utility>
#include <vector>

#include "farfault/engine/params.hpp"
#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

// A value that records whether it was taken. A copy takes it.
template <class T>
class LinkDefault {
 public:
  LinkDefault(T value) : value_(value) {}
  LinkDefault(LinkDefault const& other) : value_(other.take()) {}
  LinkDefault& operator=(LinkDefault const& other) {
    value_ = other.take();
    return *this;
  }
  ~LinkDefault() = default;

  T take() const {
    taken_ = true;
    return value_;
  }
  operator T() const { return take(); }
  bool is_taken() const { return taken_; }
  void forget() { taken_ = false; }
  // For a message, or to set it: does not take the value.
  T const& shown() const { return value_; }
  T& field() { return value_; }

 private:
  T value_;
  mutable bool taken_ = false;
};

struct LinkDefaults {
  LinkDefault<Duration> pcie_latency{70ns};
  LinkDefault<Bandwidth> pcie_bandwidth{{16'000'000'000}};
  LinkDefault<Duration> nvlink_latency{100ns};
  LinkDefault<Bandwidth> nvlink_bandwidth{{25'000'000'000}};
  LinkDefault<Bandwidth> nvlink1_bandwidth{{20'000'000'000}};
  LinkDefault<Bandwidth> nvlink5_bandwidth{{50'000'000'000}};
  LinkDefault<Duration> xgmi_latency{100ns};
  LinkDefault<Bandwidth> xgmi_bandwidth{{50'000'000'000}};
  LinkDefault<Bandwidth> xgmi_mi100_bandwidth{{46'000'000'000}};
  LinkDefault<Bandwidth> xgmi_mi300_bandwidth{{64'000'000'000}};
  LinkDefault<Duration> cpu_interconnect_latency{70ns};
  LinkDefault<Bandwidth> cpu_interconnect_bandwidth{{41'600'000'000}};
  LinkDefault<Duration> network_latency{500ns};
  LinkDefault<Bandwidth> network_bandwidth{{25'000'000'000}};
  LinkDefault<std::uint32_t> gpus_per_host{4};  // if a cluster file does not list them
  LinkDefault<std::uint32_t> nvlinks_per_domain_gpu{18};

  void describe(ParamTable& t);

  // The facts on which the parameters depend, for the values taken since forget().
  std::vector<std::pair<farfault::Fact, bool>> facts() const;
  void forget();

  LinkDefault<Duration> const& latency(LinkKind kind) const;
  LinkDefault<Bandwidth> const& bandwidth(LinkKind kind) const;
  // NVLink by compute capability (70, 80, ...; 0: unknown), xGMI by the digits of the gfx name ("908", "942",
  // ...).
  Bandwidth nvlink_for(unsigned compute_capability) const;
  Bandwidth xgmi_for(std::string_view gfx) const;
};

}  // namespace farfault::topologies
