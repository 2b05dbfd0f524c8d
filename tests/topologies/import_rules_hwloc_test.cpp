// SPDX-License-Identifier: Apache-2.0
#include "import_case.hpp"

namespace farfault::topologies::import_rules_hwloc_test {
namespace {

std::string topology(std::string const& inside, std::string const& version = "2.0") {
  return "<topology version=\"" + version + "\">" + inside + "</topology>";
}
std::string object(std::string const& type, std::string const& attributes, std::string const& inside = "") {
  return "<object type=\"" + type + "\" " + attributes + ">" + inside + "</object>";
}
std::string info(std::string const& name, std::string const& value) {
  return "<info name=\"" + name + "\" value=\"" + value + "\"/>";
}
std::string package(std::string const& inside = "", std::string const& index = "1") {
  return object("Package", "gp_index=\"" + index + "\"", inside);
}
std::string device(std::string const& busid, std::string const& type, std::string const& inside = "",
                   std::string const& more = "", std::string const& rate = "15.753846") {
  return object("PCIDev",
                "pci_busid=\"" + busid + "\" gp_index=\"" + busid + "\" pci_type=\"" + type +
                    " [0000:0000] 00\" pci_link_speed=\"" + rate + "\" " + more,
                inside);
}
std::string gpu(std::string const& busid, std::string const& inside = "") {
  return device(busid, "0302 [10de:1db8]", inside);
}
std::string nic(std::string const& busid, std::string const& inside = "") {
  return device(busid, "0207 [15b3:1019]", inside);
}
std::string os(std::string const& name, std::string const& kind, std::string const& subtype = "",
               std::string const& inside = "") {
  return object("OSDev",
                "name=\"" + name + "\" gp_index=\"" + name + "\" osdev_type=\"" + kind + "\" subtype=\"" +
                    subtype + "\"",
                inside);
}
std::string bridge(std::string const& type, std::string const& inside, std::string const& rate = "15.753846",
                   std::string const& busid = "0000:00:01.0") {
  return object("Bridge",
                "bridge_type=\"" + type + "\" pci_busid=\"" + busid + "\" pci_link_speed=\"" + rate + "\"",
                inside);
}
std::string matrix(std::string const& name, std::string const& n, std::string const& objects,
                   std::string const& values) {
  return "<distances2hetero nbobjs=\"" + n + "\" name=\"" + name + "\"><indexes>" + objects +
         "</indexes><u64values>" + values + "</u64values></distances2hetero>";
}
std::string hops(std::string const& values) {
  return "<distances2 type=\"PCIDev\" nbobjs=\"3\" name=\"XGMIHops\"><indexes>1 2 3</indexes><u64values>" +
         values + "</u64values></distances2>";
}
std::string amd(std::string const& busid, std::string const& inside = "") {
  return device(busid, "0380 [1002:740c]", inside);
}

}  // namespace

std::vector<ImportCase> cases() {
  std::string const one = "1 gpu, 1 cpu | 1 pcie";
  std::string const with_nic = "1 gpu, 1 cpu, 1 nic | 2 pcie";
  std::string const nvswitch = device("9", "0680 [10de:1ac2]", "", "subtype=\"NVSwitch\"");
  std::string const nvswitch2 = device("8", "0680 [10de:1ac2]", "", "subtype=\"NVSwitch\"");
  std::string const pair = "PCIDev:1 PCIDev:2";
  return {
      {"hwloc:package", topology(object("Socket", "", gpu("1"))), one},
      {"hwloc:no-package", topology(gpu("1")), one, "the file names no CPU package: one CPU is assumed"},
      {"hwloc:machines",
       topology(
           object("System", "", object("Machine", "", package(gpu("1"))) + object("Machine", "", package()))),
       "f: the file contains several machines, but an hwloc file must contain one"},
      {"hwloc:machine", topology(object("Machine", "", package(gpu("1")))), one},
      {"hwloc:host-bridge", topology(package(bridge("0-1", gpu("1")))), one},
      {"hwloc:switch",
       topology(package(
           bridge("0-1", bridge("1-1", bridge("1-1", bridge("1-1", gpu("1")) + bridge("1-1", nic("2"))))))),
       "1 gpu, 1 cpu, 1 pcie_switch, 1 nic | 3 pcie"},
      {"hwloc:port", topology(package(bridge("0-1", bridge("1-1", gpu("1"))))), one},
      {"hwloc:switch-empty",
       topology(package(gpu("1") + bridge("0-1", bridge("1-1", bridge("1-1", device("2", "0108 [144d:a822]"),
                                                                      "1", "0000:81:00.0"))))),
       one, "PCIe switches that lead to no GPU, NIC or NVSwitch are ignored: 0000:81:00.0"},
      {"hwloc:gpu-slotless", topology(package() + os("cuda0", "5", "CUDA") + os("nvml0", "1", "NVML")), one,
       "GPUs without a PCI device in the file are joined to their CPU by an assumed PCIe link: 'cuda0'"},
      {"hwloc:nic-slotless", topology(package(gpu("1")) + os("eth0", "2", "")), one,
       "network interfaces without a PCI device in the file are ignored: 'eth0'"},
      {"hwloc:osdev-alone", topology(package(gpu("1")) + os("nvml0", "1", "NVML")), one},
      {"hwloc:driver-gpu", topology(package(device("1", "0380 [8086:0bd5]", os("ze0", "5", "LevelZero")))),
       one},
      {"hwloc:driver-nic",
       topology(package(gpu("1") + device("2", "0b40 [8086:37c8]", os("mlx5_0", "48", "")) +
                        device("3", "0b40 [8086:37c8]", os("pmem0", "3", "NVM"))),
                "3.0"),
       with_nic},
      {"hwloc:driver-other",
       topology(package(gpu("1") + device("2", "0108 [144d:a822]", os("nvme0n1", "0", "Disk")))), one},
      {"hwloc:nvswitch-marked", topology(package(gpu("1") + nvswitch)), "1 gpu, 1 cpu, 1 nvswitch | 2 pcie"},
      {"hwloc:nvswitch-class", topology(package(gpu("1") + device("9", "0680 [10de:22a3]"))),
       "1 gpu, 1 cpu, 1 nvswitch | 2 pcie",
       "NVIDIA's bridges of PCI class 0680 are taken as NVSwitches: 9 (class 0680, 10de:22a3)"},
      {"hwloc:gpu-driver", topology(package(device("1", "0b40 [1d94:53b7]", os("rsmi0", "1", "RSMI")))), one},
      {"hwloc:display-onboard", topology(package(gpu("1") + device("2", "0300 [1002:515e]"))), one,
       "display controllers of a server's management are ignored: 2 (class 0300, 1002:515e)"},
      {"hwloc:gpu-class", topology(package(gpu("1") + amd("2") + device("3", "1200 [1002:74a0]"))),
       "3 gpu, 1 cpu | 3 pcie"},
      {"hwloc:gpu-display", topology(package(device("1", "0300 [10de:2684]"))), one,
       "display controllers made by NVIDIA or AMD are taken as GPUs: 1 (class 0300, 10de:2684)"},
      {"hwloc:gpu-intel", topology(package(device("1", "0380 [8086:0bd5]"))), one,
       "Intel's display controllers of PCI class 0380 are taken as GPUs: 1 (class 0380, 8086:0bd5)"},
      {"hwloc:display",
       topology(package(gpu("1") + device("2", "0300 [1a03:2000]") + device("3", "0300 [8086:9bc8]"))), one,
       "display controllers of other vendors than NVIDIA and AMD are ignored: 2 (class 0300, 1a03:2000) and "
       "1 more"},
      {"hwloc:accelerator", topology(package(gpu("1") + device("2", "1200 [10ee:5020]"))), one,
       "accelerators of other vendors than NVIDIA and AMD are ignored: 2 (class 1200, 10ee:5020)"},
      {"hwloc:nic-virtual",
       topology(
           package(gpu("1") + nic("0000:02:00.0") +
                   device("0000:02:10.0", "0200 [15b3:101e]", info("PCIDevice", "mlx5 Virtual Function")))),
       with_nic, "virtual functions of NICs are ignored: 0000:02:10.0 (class 0200, 15b3:101e)"},
      {"hwloc:nic-virtual-only",
       topology(package(gpu("1") + device("2", "0207 [15b3:101e]", "", "name=\"mlx5Gen Virtual Function\""))),
       with_nic,
       "virtual functions of NICs whose adapter is not in the file are taken as NICs: 2 (class 0207, "
       "15b3:101e)"},
      {"hwloc:nic-class",
       topology(package(gpu("1") + device("2", "0208 [8086:24f0]") + device("3", "0c06 [15b3:6746]"))),
       "1 gpu, 1 cpu, 2 nic | 3 pcie"},
      {"hwloc:nic-driver", topology(package(gpu("1") + device("2", "0b40 [8086:37c8]", os("eth0", "2")))),
       with_nic,
       "devices with a network driver, of another PCI class, are taken as NICs: 2 (class 0b40, 8086:37c8)"},
      {"hwloc:other", topology(package(gpu("1") + device("2", "0108 [144d:a822]"))), one,
       "PCI devices that are neither GPU, NIC nor switch are ignored: 2 (class 0108, 144d:a822)"},
      {"hwloc:nic-function", topology(package(gpu("1") + nic("0000:05:00.0") + nic("0000:05:00.1"))),
       with_nic, "PCI functions of one adapter are one NIC: 'nic0'"},
      {"hwloc:nic-whole", topology(package(gpu("1") + nic("0000:05:00.0") + nic("0000:06:00.0"))),
       "1 gpu, 1 cpu, 2 nic | 3 pcie"},
      {"hwloc:nic-down",
       topology(package(gpu("1") + nic("2", object("OSDev", "name=\"mlx5_0\" osdev_type=\"3\"",
                                                   info("Port1State", "1"))))),
       with_nic, "NICs whose ports are not active in the file are kept: 'nic0'"},
      {"hwloc:nic-port",
       topology(package(gpu("1") + nic("2", object("OSDev", "name=\"mlx5_0\" osdev_type=\"3\"",
                                                   info("Port1State", "4"))))),
       with_nic},
      {"hwloc:gpu-partition",
       topology(
           package(device("1", "1200 [1002:74a0]", os("rsmi0", "1", "RSMI") + os("rsmi1", "1", "RSMI")))),
       one, "several OS devices of one driver in a PCI device are partitions of one GPU: 'gpu0'"},
      {"hwloc:gpu-whole", topology(package(gpu("1", os("cuda0", "5", "CUDA") + os("nvml0", "1", "NVML")))),
       one},
      {"hwloc:locality-open", topology(package() + package("", "2") + bridge("0-1", gpu("0000:01:00.0"))),
       "1 gpu, 2 cpu | 1 pcie, 1 cpu_interconnect",
       "PCI devices shared by several CPUs are assumed to be attached to the first CPU: "
       "0000:01:00.0"},
      {"hwloc:locality",
       topology(package() + object("Group", "", package("", "2") + bridge("0-1", gpu("1")))),
       "1 gpu, 2 cpu | 1 pcie, 1 cpu_interconnect"},
      {"hwloc:nvlinks",
       topology(package(gpu("1") + gpu("2")) + matrix("NVLinkBandwidth", "2", pair, "0 50000 50000 0")),
       "2 gpu, 1 cpu | 2 pcie, 2 nvlink"},
      {"hwloc:xgmi-links",
       topology(package(amd("1") + amd("2")) + matrix("XGMIBandwidth", "2", pair, "0 50000 50000 0")),
       "2 gpu, 1 cpu | 2 pcie, 1 xgmi"},
      {"hwloc:xe-links",
       topology(package(device("1", "0380 [8086:0bd5]") + device("2", "0380 [8086:0bd5]")) +
                matrix("XeLinkBandwidth", "2", pair, "0 50000 50000 0")),
       "2 gpu, 1 cpu | 2 pcie, 1 xgmi", "Intel's Xe Links are read as xGMI links of the stated bandwidth"},
      {"hwloc:matrix-other",
       topology(package(gpu("1") + gpu("2")) +
                matrix("NUMALatency", "2", "NUMANode:1 NUMANode:2", "10 20 20 10")),
       "2 gpu, 1 cpu | 2 pcie"},
      {"hwloc:end-named",
       topology(package(gpu("1", os("nvml0", "1", "NVML")) + gpu("2")) +
                matrix("NVLinkBandwidth", "2", "OSDev:nvml0 PCIDev:2", "0 25000 25000 0")),
       "2 gpu, 1 cpu | 2 pcie, 1 nvlink"},
      {"hwloc:end-cpu",
       topology(package(gpu("1"), "7") +
                matrix("NVLinkBandwidth", "2", "PCIDev:1 Package:7", "0 40000 40000 0")),
       "1 gpu, 1 cpu | 1 pcie, 2 nvlink"},
      {"hwloc:end-missing",
       topology(package(gpu("1") + gpu("2")) + matrix("NVLinkBandwidth", "3", "PCIDev:1 PCIDev:2 PCIDev:3",
                                                      "0 25000 25000 25000 0 0 25000 0 0")),
       "2 gpu, 1 cpu | 2 pcie, 1 nvlink",
       "links to objects other than GPUs, NVSwitches and CPUs of the file are ignored: 'PCIDev:3'"},
      {"hwloc:pair-far",
       topology(package(amd("1") + amd("2") + amd("3")) +
                matrix("XGMIBandwidth", "3", "PCIDev:1 PCIDev:2 PCIDev:3",
                       "0 50000 50000 50000 0 50000 50000 50000 0") +
                hops("0 1 2 1 0 1 2 1 0")),
       "3 gpu, 1 cpu | 3 pcie, 2 xgmi",
       "pairs of GPUs more than one hop apart (XGMIHops) have no direct link: 'gpu0' and 'gpu2'"},
      {"hwloc:pair-constant",
       topology(package(amd("1") + amd("2")) + matrix("XGMIBandwidth", "2", pair, "0 100000 100000 0")),
       "2 gpu, 1 cpu | 2 pcie, 2 xgmi",
       "XGMIBandwidth states 100 GB/s for every pair of GPUs, as hwloc does for any links; a link is assumed "
       "for every pair",
       "1 xgmi of 2 in parallel: 100 ns, 100 GB/s"},
      {"hwloc:pair",
       topology(package(amd("1") + amd("2")) + matrix("XGMIBandwidth", "2", pair, "0 50000 50000 0")),
       "2 gpu, 1 cpu | 2 pcie, 1 xgmi"},
      {"hwloc:one-way",
       topology(package(gpu("1") + gpu("2")) + matrix("NVLinkBandwidth", "2", pair, "0 25000 0 0")),
       "2 gpu, 1 cpu | 2 pcie, 1 nvlink",
       "bandwidths stated for one direction are assumed for both: 'gpu0' and 'gpu1'",
       "1 nvlink: 100 ns, 25 GB/s"},
      {"hwloc:both-ways",
       topology(package(gpu("1") + gpu("2")) + matrix("NVLinkBandwidth", "2", pair, "0 25000 25000 0")),
       "2 gpu, 1 cpu | 2 pcie, 1 nvlink"},
      {"hwloc:pcie-ends-differ", topology(package(bridge("0-1", bridge("1-1", gpu("1"), "1.969231")))), one,
       "PCIe links whose ends state different bandwidths take the lower one: 'gpu0'",
       "1 pcie: 70 ns, 1969231 kB/s"},
      {"hwloc:pcie-idle", topology(package(device("1", "0302 [10de:1db8]", "", "", "4.000000"))), one,
       "PCIe links of GPUs keep a rate of 4 GB/s or less, although an idle GPU lowers its rate: 'gpu0'",
       "1 pcie: 70 ns, 4 GB/s"},
      {"hwloc:pcie-stated",
       topology(package(bridge("0-1", bridge("1-1", gpu("1"))))),
       one,
       {},
       "1 pcie: 70 ns, 15753846 kB/s"},
      {"hwloc:pcie-open",
       topology(package(device("1", "0302 [10de:1db8]", "", "", "0.000000"))),
       one,
       {},
       "1 pcie: 70 ns, 16 GB/s"},
      {"hwloc:nvswitch-management",
       topology(package(gpu("1") + nvswitch) +
                matrix("NVLinkBandwidth", "2", "PCIDev:1 PCIDev:9", "0 25000 25000 0")),
       "1 gpu, 1 cpu, 1 nvswitch | 1 pcie, 1 nvlink",
       "the PCIe links of 1 NVSwitches serve management only and are ignored"},
      {"hwloc:nvswitch-unlinked", topology(package(gpu("1") + nvswitch)), "1 gpu, 1 cpu, 1 nvswitch | 2 pcie",
       "the NVLinks of 1 NVSwitches are not in the file"},
      {"hwloc:no-trunks",
       topology(package(gpu("1") + nvswitch + nvswitch2) + matrix("NVLinkBandwidth", "3",
                                                                  "PCIDev:1 PCIDev:8 PCIDev:9",
                                                                  "0 25000 25000 25000 0 0 25000 0 0")),
       "1 gpu, 1 cpu, 2 nvswitch | 1 pcie, 2 nvlink",
       "the file lists no NVLink between NVSwitches: GPUs that share none are joined by PCIe only"},
      {"hwloc:trunks",
       topology(package(gpu("1") + nvswitch + nvswitch2) + matrix("NVLinkBandwidth", "3",
                                                                  "PCIDev:1 PCIDev:8 PCIDev:9",
                                                                  "0 25000 0 25000 0 200000 0 200000 0")),
       "1 gpu, 1 cpu, 2 nvswitch | 1 pcie, 9 nvlink"},
      {"hwloc:no-gpu-links", topology(package(gpu("1") + gpu("2"))), "2 gpu, 1 cpu | 2 pcie",
       "the file lists no NVLink or xGMI link: the GPUs are joined by PCIe only"},
      {"hwloc:gpu-links",
       topology(package(gpu("1") + gpu("2")) + matrix("NVLinkBandwidth", "2", pair, "0 25000 25000 0")),
       "2 gpu, 1 cpu | 2 pcie, 1 nvlink"},
  };
}

}  // namespace farfault::topologies::import_rules_hwloc_test
