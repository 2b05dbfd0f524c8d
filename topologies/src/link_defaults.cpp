// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/link_defaults.hpp"

#include "farfault/protocols/facts.hpp"

namespace farfault::topologies {
namespace {

constexpr farfault::Fact kPcieLatency{"a PCIe link without a stated latency"};
constexpr farfault::Fact kPcieBandwidth{"a PCIe link without a stated speed or width"};
constexpr farfault::Fact kNvlinkLatency{"an NVLink without a stated latency"};
constexpr farfault::Fact kNvlinkBandwidth{"an NVLink 2, 3 or 4 without a stated bandwidth"};
constexpr farfault::Fact kNvlink1Bandwidth{"an NVLink 1 without a stated bandwidth"};
constexpr farfault::Fact kNvlink5Bandwidth{"an NVLink 5 without a stated bandwidth"};
constexpr farfault::Fact kXgmiLatency{"an xGMI link without a stated latency"};
constexpr farfault::Fact kXgmiBandwidth{
    "an xGMI link of an MI50, MI200 or unknown generation without a stated bandwidth"};
constexpr farfault::Fact kXgmiMi100Bandwidth{"an xGMI link of an MI100 without a stated bandwidth"};
constexpr farfault::Fact kXgmiMi300Bandwidth{"an xGMI link of an MI300 without a stated bandwidth"};
constexpr farfault::Fact kCpuLatency{"a link between CPUs without a stated latency"};
constexpr farfault::Fact kCpuBandwidth{"a link between CPUs without a stated bandwidth"};
constexpr farfault::Fact kNetworkLatency{"a network link without a stated latency"};
constexpr farfault::Fact kNetworkBandwidth{"a network link without a stated bandwidth"};
constexpr farfault::Fact kGpusPerHost{"a cluster file that does not list the GPUs of a host"};
constexpr farfault::Fact kNvlinksPerDomainGpu{"a cluster file with NVLink domains"};

// Calls f(value, fact) for each default.
template <class Defaults, class F>
void each_default(Defaults& d, F&& f) {
  f(d.pcie_latency, kPcieLatency);
  f(d.pcie_bandwidth, kPcieBandwidth);
  f(d.nvlink_latency, kNvlinkLatency);
  f(d.nvlink_bandwidth, kNvlinkBandwidth);
  f(d.nvlink1_bandwidth, kNvlink1Bandwidth);
  f(d.nvlink5_bandwidth, kNvlink5Bandwidth);
  f(d.xgmi_latency, kXgmiLatency);
  f(d.xgmi_bandwidth, kXgmiBandwidth);
  f(d.xgmi_mi100_bandwidth, kXgmiMi100Bandwidth);
  f(d.xgmi_mi300_bandwidth, kXgmiMi300Bandwidth);
  f(d.cpu_interconnect_latency, kCpuLatency);
  f(d.cpu_interconnect_bandwidth, kCpuBandwidth);
  f(d.network_latency, kNetworkLatency);
  f(d.network_bandwidth, kNetworkBandwidth);
  f(d.gpus_per_host, kGpusPerHost);
  f(d.nvlinks_per_domain_gpu, kNvlinksPerDomainGpu);
}

// Every link of the kind has the scale, also a link with stated values.
Condition unstated(farfault::Fact fact, LinkKind kind, std::string_view quantity) {
  return Condition(fact).else_use("links.scale." + std::string(name_of(kind)) + "." + std::string(quantity));
}

}  // namespace

void LinkDefaults::describe(ParamTable& t) {
  Range<Duration> const latencies{Duration{1}, kLongestLatency};
  Range<Bandwidth> const bandwidths{kLowestBandwidth, kHighestBandwidth};
  auto const latency = [&](std::string_view name, LinkDefault<Duration>& value, std::string_view text,
                           std::string_view source, farfault::Fact fact, LinkKind kind) {
    t.duration(name, value.field(), latencies, text, source).only_when(unstated(fact, kind, "latency"));
  };
  auto const bandwidth = [&](std::string_view name, LinkDefault<Bandwidth>& value, std::string_view text,
                             std::string_view source, farfault::Fact fact, LinkKind kind) {
    t.bandwidth(name, value.field(), bandwidths, text, source).only_when(unstated(fact, kind, "bandwidth"));
  };
  {
    auto const if_present = t.only_when(facts::kPcieLinks);
    latency("pcie_latency", pcie_latency, "Latency of a PCIe link without a stated latency",
            "half of the 140 ns switch of MGPUSim's PCIe connector; for real machines assumed", kPcieLatency,
            LinkKind::pcie);
    bandwidth("pcie_bandwidth", pcie_bandwidth,
              "Bandwidth per direction of a PCIe slot without a stated speed or width",
              "PCIe 3.0: 8 GT/s x 16 lanes / 8 (16 GB/s, as GMMU Bypass (NPC 2020) counts it)",
              kPcieBandwidth, LinkKind::pcie);
  }
  {
    auto const if_present = t.only_when(facts::kNvlinks);
    latency("nvlink_latency", nvlink_latency, "Latency of an NVLink without a stated latency", "assumed",
            kNvlinkLatency, LinkKind::nvlink);
    bandwidth("nvlink_bandwidth", nvlink_bandwidth,
              "Bandwidth per direction of one NVLink 2, 3 or 4 (V100, A100, H100) without a stated bandwidth",
              "NVIDIA V100, A100 and H100 white papers: 50 GB/s per link, both directions together",
              kNvlinkBandwidth, LinkKind::nvlink);
    bandwidth("nvlink1_bandwidth", nvlink1_bandwidth,
              "Bandwidth per direction of one NVLink 1 (P100) without a stated bandwidth",
              "NVIDIA P100 white paper: 40 GB/s per link, both directions together", kNvlink1Bandwidth,
              LinkKind::nvlink);
    bandwidth("nvlink5_bandwidth", nvlink5_bandwidth,
              "Bandwidth per direction of one NVLink 5 (B200) without a stated bandwidth",
              "NVIDIA Blackwell: 18 links give 1.8 TB/s, both directions together", kNvlink5Bandwidth,
              LinkKind::nvlink);
  }
  {
    auto const if_present = t.only_when(facts::kXgmiLinks);
    latency("xgmi_latency", xgmi_latency,
            "Latency of an xGMI (Infinity Fabric) link without a stated latency", "assumed", kXgmiLatency,
            LinkKind::xgmi);
    bandwidth("xgmi_bandwidth", xgmi_bandwidth,
              "Bandwidth per direction of one xGMI link of an MI50, MI200 or unknown generation without a "
              "stated bandwidth",
              "ROCm documentation, MI250: 25 GT/s x 16 bits", kXgmiBandwidth, LinkKind::xgmi);
    bandwidth("xgmi_mi100_bandwidth", xgmi_mi100_bandwidth,
              "Bandwidth per direction of one xGMI link of an MI100 without a stated bandwidth",
              "ROCm documentation, MI100: 23 GT/s x 16 bits", kXgmiMi100Bandwidth, LinkKind::xgmi);
    bandwidth("xgmi_mi300_bandwidth", xgmi_mi300_bandwidth,
              "Bandwidth per direction of one xGMI link of an MI300 without a stated bandwidth",
              "MI300X data sheet: 32 GT/s x 16 bits", kXgmiMi300Bandwidth, LinkKind::xgmi);
  }
  {
    auto const if_present = t.only_when(facts::kCpuLinks);
    latency("cpu_interconnect_latency", cpu_interconnect_latency,
            "Latency between two CPUs of a node without a stated latency", "assumed", kCpuLatency,
            LinkKind::cpu_interconnect);
    bandwidth("cpu_interconnect_bandwidth", cpu_interconnect_bandwidth,
              "Bandwidth per direction between two CPUs of a node without a stated bandwidth",
              "two UPI links of 10.4 GT/s x 16 bits (Intel Xeon Scalable); number of links assumed",
              kCpuBandwidth, LinkKind::cpu_interconnect);
  }
  {
    auto const if_present = t.only_when(facts::kNetwork);
    latency("network_latency", network_latency, "Latency of a network link without a stated latency",
            "assumed", kNetworkLatency, LinkKind::network);
    bandwidth("network_bandwidth", network_bandwidth,
              "Bandwidth per direction of a network link, if neither the link nor its NIC states one",
              "InfiniBand HDR: 200 Gbit/s", kNetworkBandwidth, LinkKind::network);
  }
  t.count("gpus_per_host", gpus_per_host.field(), {1, 64},
          "GPUs per host, if a cluster's file does not list them", "GB200 NVL72: 18 compute trays of 4 GPUs")
      .only_when(kGpusPerHost);
  t.count("nvlinks_per_domain_gpu", nvlinks_per_domain_gpu.field(), {1, 64},
          "NVLinks from each GPU to its NVLink domain", "GB200 NVL72: 18 links per GPU")
      .only_when(kNvlinksPerDomainGpu);
}

std::vector<std::pair<farfault::Fact, bool>> LinkDefaults::facts() const {
  std::vector<std::pair<farfault::Fact, bool>> all;
  each_default(*this,
               [&](auto const& value, farfault::Fact fact) { all.emplace_back(fact, value.is_taken()); });
  return all;
}

void LinkDefaults::forget() {
  each_default(*this, [](auto& value, farfault::Fact) { value.forget(); });
}

LinkDefault<Duration> const& LinkDefaults::latency(LinkKind kind) const {
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

LinkDefault<Bandwidth> const& LinkDefaults::bandwidth(LinkKind kind) const {
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
  return (compute_capability >= 100 ? nvlink5_bandwidth : nvlink_bandwidth).take();
}

Bandwidth LinkDefaults::xgmi_for(std::string_view gfx) const {
  if (gfx.starts_with("gfx")) gfx.remove_prefix(3);
  if (gfx == "908") return xgmi_mi100_bandwidth;
  return (gfx.starts_with("94") ? xgmi_mi300_bandwidth : xgmi_bandwidth).take();
}

}  // namespace farfault::topologies
