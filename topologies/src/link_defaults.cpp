// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/link_defaults.hpp"

namespace farfault::topologies {

void LinkDefaults::describe(ParamTable& t) {
  Range<Duration> const latencies{Duration{1}, kLongestLatency};
  Range<Bandwidth> const bandwidths{kLowestBandwidth, kHighestBandwidth};
  t.duration("pcie_latency", pcie_latency, latencies, "Latency of a PCIe link without a stated latency",
             "half of the 140 ns switch of MGPUSim's PCIe connector; for real machines assumed");
  t.bandwidth("pcie_bandwidth", pcie_bandwidth, bandwidths,
              "Bandwidth per direction of a PCIe slot without a stated speed or width",
              "PCIe 3.0: 8 GT/s x 16 lanes / 8 (16 GB/s, as GMMU Bypass (NPC 2020) counts it)");
  t.duration("nvlink_latency", nvlink_latency, latencies, "Latency of an NVLink", "assumed");
  t.bandwidth("nvlink_bandwidth", nvlink_bandwidth, bandwidths,
              "Bandwidth per direction of one NVLink 2, 3 or 4 (V100, A100, H100)",
              "NVIDIA V100, A100 and H100 white papers: 50 GB/s per link, both directions together");
  t.bandwidth("nvlink1_bandwidth", nvlink1_bandwidth, bandwidths,
              "Bandwidth per direction of one NVLink 1 (P100)",
              "NVIDIA P100 white paper: 40 GB/s per link, both directions together");
  t.bandwidth("nvlink5_bandwidth", nvlink5_bandwidth, bandwidths,
              "Bandwidth per direction of one NVLink 5 (B200)",
              "NVIDIA Blackwell: 18 links give 1.8 TB/s, both directions together");
  t.duration("xgmi_latency", xgmi_latency, latencies, "Latency of an xGMI (Infinity Fabric) link", "assumed");
  t.bandwidth("xgmi_bandwidth", xgmi_bandwidth, bandwidths,
              "Bandwidth per direction of one xGMI link of an MI50, MI200 or unknown generation",
              "ROCm documentation, MI250: 25 GT/s x 16 bits");
  t.bandwidth("xgmi_mi100_bandwidth", xgmi_mi100_bandwidth, bandwidths,
              "Bandwidth per direction of one xGMI link of an MI100",
              "ROCm documentation, MI100: 23 GT/s x 16 bits");
  t.bandwidth("xgmi_mi300_bandwidth", xgmi_mi300_bandwidth, bandwidths,
              "Bandwidth per direction of one xGMI link of an MI300", "MI300X data sheet: 32 GT/s x 16 bits");
  t.duration("cpu_interconnect_latency", cpu_interconnect_latency, latencies,
             "Latency between two CPUs of a node", "assumed");
  t.bandwidth("cpu_interconnect_bandwidth", cpu_interconnect_bandwidth, bandwidths,
              "Bandwidth per direction between two CPUs of a node",
              "two UPI links of 10.4 GT/s x 16 bits (Intel Xeon Scalable); number of links assumed");
  t.duration("network_latency", network_latency, latencies, "Latency of a network link", "assumed");
  t.bandwidth("network_bandwidth", network_bandwidth, bandwidths,
              "Bandwidth per direction of a network link, if neither the link nor its NIC states one",
              "InfiniBand HDR: 200 Gbit/s");
  t.count("gpus_per_host", gpus_per_host, {1, 64}, "GPUs per host, if a cluster's file does not list them",
          "GB200 NVL72: 18 compute trays of 4 GPUs");
  t.count("nvlinks_per_domain_gpu", nvlinks_per_domain_gpu, {1, 64},
          "NVLinks from each GPU to its NVLink domain", "GB200 NVL72: 18 links per GPU");
}

Duration LinkDefaults::latency(LinkKind kind) const {
  switch (kind) {
    case LinkKind::pcie:
      return pcie_latency;
    case LinkKind::nvlink:
      return nvlink_latency;
    case LinkKind::xgmi:
      return xgmi_latency;
    case LinkKind::cpu_interconnect:
      return cpu_interconnect_latency;
    case LinkKind::network:
      break;
  }
  return network_latency;
}

Bandwidth LinkDefaults::bandwidth(LinkKind kind) const {
  switch (kind) {
    case LinkKind::pcie:
      return pcie_bandwidth;
    case LinkKind::nvlink:
      return nvlink_bandwidth;
    case LinkKind::xgmi:
      return xgmi_bandwidth;
    case LinkKind::cpu_interconnect:
      return cpu_interconnect_bandwidth;
    case LinkKind::network:
      break;
  }
  return network_bandwidth;
}

Bandwidth LinkDefaults::nvlink_for(unsigned compute_capability) const {
  if (compute_capability >= 60 && compute_capability < 70) return nvlink1_bandwidth;
  return compute_capability >= 100 ? nvlink5_bandwidth : nvlink_bandwidth;
}

Bandwidth LinkDefaults::xgmi_for(std::string_view gfx) const {
  if (gfx.starts_with("gfx")) gfx.remove_prefix(3);
  if (gfx == "908") return xgmi_mi100_bandwidth;
  return gfx.starts_with("94") ? xgmi_mi300_bandwidth : xgmi_bandwidth;
}

}  // namespace farfault::topologies
