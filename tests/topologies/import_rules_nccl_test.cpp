// SPDX-License-Identifier: Apache-2.0
#include "import_case.hpp"

namespace farfault::topologies::import_rules_nccl_test {
namespace {

std::string const kLink = " link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"";

std::string system(std::string const& cpus) {
  return "<system version=\"1\">" + cpus + "</system>";
}
std::string cpu(std::string const& inside, std::string const& attributes = "numaid=\"0\" arch=\"x86_64\"") {
  return "<cpu " + attributes + ">" + inside + "</cpu>";
}
std::string machine(std::string const& inside) {
  return system(cpu(inside));
}
std::string pci(std::string const& busid, std::string const& pci_class, std::string const& inside = "",
                std::string const& more = kLink) {
  auto const of_class = pci_class.empty() ? "" : " class=\"" + pci_class + "\"";
  return "<pci busid=\"" + busid + "\"" + of_class + more + ">" + inside + "</pci>";
}
std::string ids(std::string const& vendor, std::string const& device) {
  return kLink + " vendor=\"" + vendor + "\" device=\"" + device + "\"";
}
std::string const kNvidia = ids("0x10de", "0x2330");
std::string const kAmd = ids("0x1002", "0x74a1");

std::string gpu(std::string const& busid, std::string const& links = "", std::string const& more = kNvidia) {
  return pci(busid, "0x030200", "<gpu dev=\"0\" sm=\"90\" rank=\"0\">" + links + "</gpu>", more);
}
std::string amd(std::string const& busid, std::string const& links) {
  return pci(busid, "0x120000", "<gpu dev=\"0\" sm=\"304\" gcn=\"gfx942\">" + links + "</gpu>", kAmd);
}
std::string nvlink(std::string const& target, std::string const& target_class,
                   std::string const& count = "18") {
  auto const of_class = target_class.empty() ? "" : " tclass=\"" + target_class + "\"";
  return "<nvlink target=\"" + target + "\" count=\"" + count + "\"" + of_class + "/>";
}
std::string xgmi(std::string const& target) {
  return "<xgmi target=\"" + target + "\" count=\"1\" tclass=\"0x120000\"/>";
}
std::string net(std::string const& name, std::string const& more = "guid=\"0x0\"") {
  return "<net name=\"" + name + "\" dev=\"0\" speed=\"200000\" port=\"1\" " + more + "/>";
}
std::string nic(std::string const& busid, std::string const& more = "guid=\"0x0\"") {
  return pci(busid, "0x020700", "<nic>" + net("mlx5_0", more) + "</nic>");
}
// A GPU, and a NIC with these ports.
std::string ports(std::string const& nets) {
  return machine(pci("1", "0x030200", "<gpu sm=\"90\"/>") + pci("2", "0x020700", "<nic>" + nets + "</nic>"));
}
std::string port(std::string const& name, std::string const& speed) {
  return "<net name=\"" + name + "\" dev=\"0\" port=\"1\" speed=\"" + speed + "\"/>";
}
std::string broadcom(std::string const& busid, std::string const& subsystem, std::string const& inside) {
  return pci(busid, "0x060400", inside,
             ids("0x1000", "0xc030") + " subsystem_vendor=\"0x1000\" subsystem_device=\"" + subsystem + "\"");
}

}  // namespace

std::vector<ImportCase> cases() {
  std::string const one = "1 gpu, 1 cpu | 1 pcie";
  std::string const nvswitch = "1 gpu, 1 cpu, 1 nvswitch | 1 pcie, 18 nvlink";
  std::string const two = gpu("0000:01:00.0") + gpu("0000:02:00.0");
  return {
      {"nccl:gpu-element", machine(pci("1", "", "<gpu sm=\"90\"/>", kNvidia)), one},
      {"nccl:nic-element", machine(gpu("1") + pci("2", "0x060400", "<nic>" + net("a") + "</nic>")),
       "1 gpu, 1 cpu, 1 nic | 2 pcie"},
      {"nccl:nvswitch",
       machine(gpu("1", nvlink("0000:05:00.0", "0x068000")) + pci("0000:05:00.0", "0x068000", "", kNvidia)),
       nvswitch,
       "the PCIe links of NVSwitches serve management only and are ignored: 0000:05:00.0 (class 0x068000)"},
      {"nccl:bridge", machine(gpu("1") + pci("0000:05:00.0", "0x068000", "", kNvidia)), one,
       "bridges of PCI class 0x0680 that no NVLink leads to are ignored: 0000:05:00.0 (class 0x068000)"},
      {"nccl:gpu-class", machine(pci("1", "0x030200") + pci("2", "0x120000", "", kAmd)),
       "2 gpu, 1 cpu | 2 pcie",
       "devices of a GPU's PCI class without a <gpu> element are taken as GPUs: 1 (class 0x030200) and 1 "
       "more"},
      {"nccl:display", machine(gpu("1") + pci("2", "0x030000", "", ids("0x1a03", "0x2000"))), one,
       "display controllers and accelerators of other vendors than NVIDIA and AMD are ignored: 2 (class "
       "0x030000)"},
      {"nccl:nic-class", machine(gpu("1") + pci("2", "0x020700") + pci("3", "0x028000")),
       "1 gpu, 1 cpu, 2 nic | 3 pcie",
       "devices of a network PCI class without a <nic> element are taken as NICs: 2 (class 0x020700) and 1 "
       "more"},
      {"nccl:switch-inner",
       machine(
           broadcom("2", "0x0072", broadcom("3", "0x1003", gpu("4")) + broadcom("5", "0x1004", nic("6")))),
       "1 gpu, 1 cpu, 1 pcie_switch, 1 nic | 3 pcie",
       "the two levels of a Broadcom PCIe switch are one switch: 3 (class 0x060400) and 1 more"},
      {"nccl:switch", machine(pci("2", "0x060400", gpu("1"))), "1 gpu, 1 cpu, 1 pcie_switch | 2 pcie"},
      {"nccl:other-above", machine(pci("2", "0x080100", gpu("1"))), "1 gpu, 1 cpu, 1 pcie_switch | 2 pcie",
       "PCI devices of other classes, with devices below them, are taken as PCIe switches: 2 (class "
       "0x080100)"},
      {"nccl:class-open", machine(gpu("1") + pci("2", "")), one,
       "PCI devices without a class are ignored: 2"},
      {"nccl:other", machine(gpu("1") + pci("2", "0x010802")), one,
       "PCI devices that are neither GPU, NIC nor switch are ignored: 2 (class 0x010802)"},
      {"nccl:gpu-partition",
       machine(pci("1", "0x030200",
                   "<gpu sm=\"107\" mlopart=\"0\">" + nvlink("fffffff:ff:ff.0", "0x068000") +
                       "</gpu><gpu sm=\"107\" mlopart=\"1\">" + nvlink("fffffff:ff:ff.0", "0x068000") +
                       "</gpu>",
                   kNvidia)),
       nvswitch, "several <gpu> elements in one PCI device are partitions of one GPU: 'gpu0'"},
      {"nccl:gpu-first", machine(gpu("1")), one},
      {"nccl:maker-by-gfx",
       machine(pci("1", "0x038000", "<gpu sm=\"104\" gcn=\"910\"/>")),
       one,
       {},
       "(gpu, NUMA node 0, 104 SMs, gfx90a)"},
      {"nccl:maker-amd",
       machine(pci("1", "0x038000", "<gpu sm=\"104\"/>", kAmd)),
       one,
       {},
       "(gpu, NUMA node 0, 104 SMs, 1002:74a1)"},
      {"nccl:maker-nvidia", machine(gpu("1")), one, {}, "(gpu, NUMA node 0, sm_90)"},
      {"nccl:maker-by-sm", machine(gpu("1", "", kLink)), one,
       "GPUs with an 'sm' and no vendor are taken as NVIDIA's: 'gpu0'", "(gpu, NUMA node 0, sm_90)"},
      {"nccl:maker-open", machine(pci("1", "0x030200")), one,
       "the vendor of GPUs is not in the file: 'gpu0'"},
      {"nccl:cpu-repeated", system(cpu(gpu("1")) + cpu(gpu("2"))), "2 gpu, 1 cpu | 2 pcie",
       "<cpu> elements of one host and numaid are one CPU: 'cpu0'"},
      {"nccl:cpu-numa-open", system(cpu(gpu("1"), "numaid=\"-1\"")), one,
       "the NUMA node of CPUs is not in the file: 'cpu0'"},
      {"nccl:cpu", machine(gpu("1")), one},
      {"nccl:nic-empty", machine(gpu("1") + "<nic/>"), one,
       "<nic> elements without a PCI slot and a <net> are ignored: below 'cpu0'"},
      {"nccl:nic-fused", machine(gpu("1") + nic("2") + "<nic>" + net("mlx5_0+mlx5_1") + "</nic>"),
       "1 gpu, 1 cpu, 1 nic | 2 pcie", "NICs that NCCL fused from others are ignored: 'mlx5_0+mlx5_1'"},
      {"nccl:nic-repeated",
       system(cpu(gpu("1") + "<nic>" + net("eth0") + "</nic>") +
              cpu("<nic>" + net("eth0") + "</nic>", "numaid=\"1\"")),
       "1 gpu, 2 cpu, 1 nic | 2 pcie, 1 cpu_interconnect",
       "network interfaces listed below several CPUs are taken once: 'eth0'"},
      {"nccl:nic-slotless", machine(gpu("1") + "<nic>" + net("eth0") + "</nic>"),
       "1 gpu, 1 cpu, 1 nic | 2 pcie",
       "NICs without a PCI slot in the file are joined to their CPU by an assumed PCIe link: 'eth0'"},
      {"nccl:nic-function", machine(gpu("1") + nic("0000:0e:00.0") + nic("0000:0e:00.1")),
       "1 gpu, 1 cpu, 1 nic | 2 pcie", "PCI functions of one adapter are one NIC: 'nic0'"},
      {"nccl:nic-whole", machine(gpu("1") + nic("0000:0e:00.0") + nic("0000:0f:00.0")),
       "1 gpu, 1 cpu, 2 nic | 3 pcie"},
      {"nccl:guid-shared",
       machine(gpu("1") + nic("0000:0e:00.0", "guid=\"0xa1\"") + nic("0000:0f:00.0", "guid=\"0xa1\"")),
       "1 gpu, 1 cpu, 2 nic | 3 pcie",
       "NICs with one GUID but separate PCI slots are separate NICs: 'nic0' and 'nic1'"},
      {"nccl:guid", machine(gpu("1") + nic("0000:0e:00.0", "guid=\"0xa1\"")), "1 gpu, 1 cpu, 1 nic | 2 pcie"},
      {"nccl:net-repeated", ports(port("a", "200000") + port("a", "200000")), "1 gpu, 1 cpu, 1 nic | 2 pcie",
       "ports of a NIC that are listed several times are counted once: 'a' of 'nic0' (200000 Mbit/s)",
       "(nic, NUMA node 0, 25 GB/s, a)"},
      {"nccl:net-absurd",
       ports(port("cxi0", "200000000") + port("b", "7") + port("c", "99999999999999999999")),
       "1 gpu, 1 cpu, 1 nic | 2 pcie",
       "implausible speeds of network ports are ignored: 'cxi0' of 'nic0' (200000000 Mbit/s) and 2 more",
       "(nic, NUMA node 0, cxi0)"},
      {"nccl:net-speed",
       ports(port("a", "400000") + port("b", "200000")),
       "1 gpu, 1 cpu, 1 nic | 2 pcie",
       {},
       "(nic, NUMA node 0, 75 GB/s, a)"},
      {"nccl:net-open", ports(port("a", "-1") + port("b", "0") + port("c", "") + port("d", "fast")),
       "1 gpu, 1 cpu, 1 nic | 2 pcie",
       "the speed of network ports is not in the file: 'a' of 'nic0' (-1 Mbit/s) and 3 more",
       "(nic, NUMA node 0, a)"},
      {"nccl:busid-repeated", machine(pci("c5", "0x060400", gpu("1")) + pci("c5", "0x060400", gpu("2"))),
       "2 gpu, 1 cpu, 2 pcie_switch | 4 pcie", "PCI devices with the same busid are separate devices: c5"},
      {"nccl:busid", machine(gpu("1")), one},
      {"nccl:misplaced", system("<gpu sm=\"80\"/>" + cpu(gpu("1"))), one,
       "elements where NCCL reads none are ignored: <gpu> in <system>"},
      {"nccl:link-self",
       machine(gpu("0000:0a:00.0", nvlink("00000000:0A:00.0", "0x030200", "12")) + gpu("2")),
       "2 gpu, 1 cpu | 2 pcie",
       "links that lead to the GPU itself (a virtual machine hides the peer) are ignored: 'gpu0' (12 to "
       "00000000:0a:00.0)"},
      {"nccl:link-ambiguous", machine(pci("c5", "0x060400") + pci("c5", "0x060400") + amd("1", xgmi("c5"))),
       "f: GPU 1 has a <xgmi> to 'c5', but several devices of the file have that busid"},
      {"nccl:link-named",
       machine(gpu("0000:01:00.0", nvlink("00000000:02:00.0", "0x030200", "4")) +
               gpu("0000:02:00.0", nvlink("0000:01:00.0", "0x030200", "4"))),
       "2 gpu, 1 cpu | 2 pcie, 4 nvlink"},
      {"nccl:link-nvswitch-hidden",
       machine(gpu("1", nvlink("fffffff:ffff:ff", "0x068000")) +
               gpu("2", nvlink("fffffff:ffff:ff", "0x068000"))),
       "2 gpu, 1 cpu, 1 nvswitch | 2 pcie, 36 nvlink",
       "the NVSwitches are hidden, and one NVSwitch is assumed: 'gpu0' (18 to fffffff:ffff:ff) and 1 more"},
      {"nccl:link-power",
       system(cpu(gpu("1", nvlink("0004:00:01.0", "0x068001", "3")), "numaid=\"0\" arch=\"ppc64\"")),
       "1 gpu, 1 cpu | 1 pcie, 3 nvlink"},
      {"nccl:link-nvswitch",
       machine(gpu("1", nvlink("0000:c4:00.0", "0x068000", "9") + nvlink("0000:c5:00.0", "0x068000", "9"))),
       "1 gpu, 1 cpu, 2 nvswitch | 1 pcie, 18 nvlink"},
      {"nccl:link-power-bridge",
       system(cpu(gpu("1", nvlink("0004:00:00.0", "0x060400", "3")), "numaid=\"0\" arch=\"ppc64\"")),
       "1 gpu, 1 cpu | 1 pcie, 3 nvlink",
       "NVLinks of a POWER machine to a PCI bridge lead to the CPU: 'gpu0' (3 to 0004:00:00.0)"},
      {"nccl:link-gpu-missing", machine(gpu("1", nvlink("0000:bd:00.0", "0x030000", "4")) + gpu("2")),
       "2 gpu, 1 cpu | 2 pcie",
       "links to GPUs that are not in the file are ignored: 'gpu0' (4 to 0000:bd:00.0)"},
      {"nccl:link-class-open", machine(gpu("1", nvlink("0000:c4:00.0", ""))), nvswitch,
       "NVLinks to a device that is not in the file and has no class lead to an assumed NVSwitch: 'gpu0' "
       "(18 to "
       "0000:c4:00.0)"},
      {"nccl:link-other", machine(gpu("1", nvlink("0000:c4:00.0", "0x060400"))), nvswitch,
       "NVLinks to a device of any other class that is not in the file lead to an assumed NVSwitch: 'gpu0' "
       "(18 to "
       "0000:c4:00.0)"},
      {"nccl:xgmi-missing", machine(amd("1", xgmi("0000:c4:00.0")) + amd("2", "")), "2 gpu, 1 cpu | 2 pcie",
       "xGMI links to devices that are not in the file are ignored: 'gpu0' (1 to 0000:c4:00.0)"},
      {"nccl:c2c", machine(gpu("1", "<c2c bw=\"44712\" count=\"10\"/>")), "1 gpu, 1 cpu | 1 pcie, 10 nvlink"},
      {"nccl:pcilink",
       machine(pci("a", "0x060400", gpu("1") + "<pcilink target=\"b\"/>") +
               pci("b", "0x060400", gpu("2") + "<pcilink target=\"a\"/>")),
       "2 gpu, 1 cpu, 2 pcie_switch | 5 pcie"},
      {"nccl:pcilink-missing", machine(pci("a", "0x060400", gpu("1") + "<pcilink target=\"b\"/>")),
       "1 gpu, 1 cpu, 1 pcie_switch | 2 pcie",
       "<pcilink> elements to switches that are not in the file are ignored: a to b"},
      {"nccl:pcie-stated", machine(gpu("1")), one, {}, "1 pcie: 70 ns, 31507692307 B/s"},
      {"nccl:pcie-width-open",
       machine(pci("1", "0x030200", "", " link_speed=\"32.0 GT/s PCIe\" link_width=\"255\"")), one,
       "PCIe links with a speed and no width are assumed to have 16 lanes: 'gpu0'",
       "1 pcie: 70 ns, 63015384615 B/s"},
      {"nccl:pcie-speed-open", machine(pci("1", "0x030200", "", " link_speed=\"Unknown\" link_width=\"8\"")),
       one,
       "PCIe links with a width and no speed have the default bandwidth of 16 lanes, scaled to their width: "
       "'gpu0'",
       "1 pcie: 70 ns, 8 GB/s"},
      {"nccl:pcie-open",
       machine(pci("1", "0x030200", "", " link_speed=\"\" link_width=\"0\"")),
       one,
       {},
       "1 pcie: 70 ns, 16 GB/s"},
      {"nccl:c2c-stated",
       machine(gpu("1", "<c2c bw=\"44712\" count=\"10\"/>")),
       "1 gpu, 1 cpu | 1 pcie, 10 nvlink",
       {},
       "1 nvlink of 10 in parallel: 100 ns, 447120 MB/s"},
      {"nccl:c2c-open", machine(gpu("1", "<c2c/>")), "1 gpu, 1 cpu | 1 pcie, 1 nvlink",
       "the bandwidth of C2C links is not in the file, and that of an NVLink is assumed: 'gpu0'",
       "1 nvlink: 100 ns, 25 GB/s"},
      {"nccl:count-differs",
       machine(gpu("1", nvlink("2", "0x030200", "2")) + gpu("2", nvlink("1", "0x030200", "1"))),
       "2 gpu, 1 cpu | 2 pcie, 2 nvlink", "'gpu0' lists 2 nvlink links to 'gpu1', which lists 1: 2 assumed"},
      {"nccl:count", machine(gpu("1", nvlink("2", "0x030200", "2")) + gpu("2", nvlink("1", "0x030200", "2"))),
       "2 gpu, 1 cpu | 2 pcie, 2 nvlink"},
      {"nccl:link-rate", machine(gpu("1", nvlink("2", "0x030200")) + gpu("2", nvlink("1", "0x030200"))),
       "2 gpu, 1 cpu | 2 pcie, 18 nvlink",
       "the bandwidth of 18 nvlink links is not in the file: 25 GB/s per physical link and direction, by the "
       "GPU's "
       "generation",
       "1 nvlink of 18 in parallel: 100 ns, 450 GB/s"},
      {"nccl:emulated-switch",
       machine(pci("a", "0x060400", gpu("1"), " link_speed=\"2.5 GT/s PCIe\" link_width=\"1\"")),
       "1 gpu, 1 cpu, 1 pcie_switch | 2 pcie",
       "PCIe switches keep an uplink slower than that of a device below them (an emulated bridge?): "
       "'switch0'",
       "1 pcie: 70 ns, 250 MB/s"},
      {"nccl:switch-rate", machine(pci("a", "0x060400", gpu("1"))), "1 gpu, 1 cpu, 1 pcie_switch | 2 pcie"},
      {"nccl:no-gpu-links", machine(two), "2 gpu, 1 cpu | 2 pcie",
       "the file lists no NVLink or xGMI link between GPUs (NCCL finds NVLinks at run time): the GPUs are "
       "joined by "
       "PCIe only"},
      {"nccl:gpu-links", machine(amd("1", xgmi("2")) + amd("2", xgmi("1"))), "2 gpu, 1 cpu | 2 pcie, 1 xgmi"},
      {"nccl:host-without-nic",
       system(cpu(gpu("1") + nic("2"), "numaid=\"0\" host_hash=\"0xa\"") +
              cpu(gpu("1"), "numaid=\"0\" host_hash=\"0xb\"")),
       "2 gpu, 2 cpu, 2 nic, 1 network_switch | 4 pcie, 2 network",
       "a NIC on a PCIe link of the first CPU is assumed for hosts without a NIC: 'host1.cpu0'"},
      {"nccl:host-with-nic",
       system(cpu(gpu("1") + nic("2"), "numaid=\"0\" host_hash=\"0xa\"") +
              cpu(gpu("1") + nic("2"), "numaid=\"0\" host_hash=\"0xb\"")),
       "2 gpu, 2 cpu, 2 nic, 1 network_switch | 4 pcie, 2 network"},
      {"nccl:hosts-apart",
       system(cpu(gpu("1") + nic("2"), "numaid=\"0\" host_hash=\"0xa\"") +
              cpu(gpu("1") + nic("2"), "numaid=\"0\" host_hash=\"0xb\"")),
       "2 gpu, 2 cpu, 2 nic, 1 network_switch | 4 pcie, 2 network",
       "the file does not join its hosts: a network switch between their NICs is assumed"},
      {"nccl:hosts",
       system(cpu(gpu("1", nvlink("fffffff:ff:ff.0", "0x068000")), "numaid=\"0\" host_hash=\"0xa\"") +
              cpu(gpu("1", nvlink("fffffff:ff:ff.0", "0x068000")), "numaid=\"0\" host_hash=\"0xb\"")),
       "2 gpu, 2 cpu, 1 nvswitch | 2 pcie, 36 nvlink"},
      {"any:latency", machine(gpu("1")), one, "the latency of 1 pcie link is not in the file: 70 ns assumed"},
      {"any:bandwidth", machine(pci("1", "0x030200", "", "")), one,
       "the bandwidth of 1 pcie link is not in the file: 16 GB/s per physical link and direction assumed"},
      {"any:nic-open", ports(port("a", "0")), "1 gpu, 1 cpu, 1 nic | 2 pcie",
       "the bandwidth of 1 NIC is not in the file: 25 GB/s on the link to a network assumed"},
      {"any:nic", ports(port("a", "400000")), "1 gpu, 1 cpu, 1 nic | 2 pcie"},
      {"any:cpu-mesh", system(cpu(gpu("1")) + cpu("", "numaid=\"1\"") + cpu("", "numaid=\"2\"")),
       "1 gpu, 3 cpu | 1 pcie, 3 cpu_interconnect",
       "links between the 3 CPUs are not in the file: a full mesh is assumed"},
      {"any:one-cpu", machine(gpu("1")), one},
  };
}

}  // namespace farfault::topologies::import_rules_nccl_test
