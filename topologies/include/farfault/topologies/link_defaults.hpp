// SPDX-License-Identifier: Apache-2.0
// Default latency and bandwidth per kind of link, for links without values in their source.
//
// Units: bandwidth per physical link and direction (an x16 slot, one NVLink, one xGMI link); latency of one
// message over one link, including its share of the switches at its ends.
#pragma once

#include "farfault/engine/params.hpp"
#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

struct LinkDefaults {
  Duration pcie_latency = 70ns;
  Bandwidth pcie_bandwidth{16'000'000'000};
  Duration nvlink_latency = 100ns;
  Bandwidth nvlink_bandwidth{25'000'000'000};
  Bandwidth nvlink1_bandwidth{20'000'000'000};
  Bandwidth nvlink5_bandwidth{50'000'000'000};
  Duration xgmi_latency = 100ns;
  Bandwidth xgmi_bandwidth{50'000'000'000};
  Bandwidth xgmi_mi100_bandwidth{46'000'000'000};
  Bandwidth xgmi_mi300_bandwidth{64'000'000'000};
  Duration cpu_interconnect_latency = 70ns;
  Bandwidth cpu_interconnect_bandwidth{41'600'000'000};
  Duration network_latency = 500ns;
  Bandwidth network_bandwidth{25'000'000'000};
  std::uint32_t gpus_per_host = 4;  // if a cluster file does not list them
  std::uint32_t nvlinks_per_domain_gpu = 18;

  void describe(ParamTable& t);

  Duration latency(LinkKind kind) const;
  Bandwidth bandwidth(LinkKind kind) const;
  // NVLink by compute capability (70, 80, ...; 0: unknown), xGMI by the digits of the gfx name ("908", "942",
  // ...).
  Bandwidth nvlink_for(unsigned compute_capability) const;
  Bandwidth xgmi_for(std::string_view gfx) const;
};

}  // namespace farfault::topologies
