// SPDX-License-Identifier: Apache-2.0
// Private: data shared by the two halves of the NCCL importer. formats/nccl_xml.cpp reads the devices,
// nccl_links.cpp joins them by NVLink, xGMI, C2C and <pcilink>.
#pragma once

#include <cstdint>
#include <map>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/topologies/link_defaults.hpp"
#include "farfault/topologies/machine_builder.hpp"
#include "import_rules.hpp"
#include "link_tally.hpp"

namespace farfault::topologies {

struct NcclGpu {
  std::uint32_t node = 0;
  std::uint32_t cpu = 0;
  std::uint32_t host = 0;
  std::string busid;       // as in the file, in lower case
  pugi::xml_node element;  // <gpu>, or null
  ImportAs maker = ImportAs::unknown;
  std::string arch;  // of its CPU
};

struct NcclPciLink {
  std::uint32_t node = 0;
  std::uint32_t host = 0;
  std::string busid;
  std::string target;
};

struct NcclDevice {
  std::uint32_t node = 0;
  std::uint32_t times = 0;  // number of elements with its busid
};

struct NcclDevices {
  std::string const& where;
  LinkDefaults const& defaults;
  MachineBuilder& builder;
  Decisions decisions = {};
  LinkTally tally = {};
  std::map<std::pair<std::uint32_t, std::string>, NcclDevice> by_busid =
      {};                                                // by host; a GPU has priority over other devices
  std::map<std::string, std::uint32_t> nvswitches = {};  // outside the file's PCI trees
  std::vector<NcclGpu> gpus = {};
  std::vector<NcclPciLink> pci_links = {};
  std::uint32_t hosts = 0;
  std::map<std::string, std::uint32_t> named = {};

  MachineNode& node(std::uint32_t index) { return builder.machine().nodes[index]; }
  std::string quoted(std::uint32_t index) { return "'" + node(index).name + "'"; }
  std::string next_name(char const* stem) { return stem + std::to_string(named[stem]++); }
};

std::string lower(std::string_view text);

// "0000:07:00.0", "00000000:07:00.0" and "07:00.0" are one busid: its digits as a number. Any other text is
// kept, in lower case.
std::string busid_key(std::string_view text);

// Adds the links of all GPUs and the links between PCIe switches.
void join_nccl_devices(NcclDevices& devices);

}  // namespace farfault::topologies
