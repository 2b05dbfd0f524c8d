// SPDX-License-Identifier: Apache-2.0
// Private: the rules by which importers read machine files. One table (import_rules.cpp) decides the kind of
// a device, the node at the end of a link, and the replacement of a value that the file leaves open.
//
// An importer describes the element it has found (Stated) and follows the first rule that matches. Decisions
// records the rules that were used and lists each assumption once, with an example and a count.
// Guarantees: every element that an importer looks up has a rule that matches anything. Each rule has a case
// in tests/topologies/import_rules_test.cpp, which fails for a rule without one.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/topologies/machine_builder.hpp"

namespace farfault::topologies {

enum class FileFormat : std::uint8_t {
  nccl_xml,
  hwloc_xml,
  graphml,
  toml,
  ibnetdiscover,
  topograph_yaml,
  any
};

enum class ImportAs : std::uint8_t {
  // a device
  gpu,
  cpu,
  pcie_switch,
  nvswitch,
  nic,
  network_switch,
  part,     // of the device above it, or of the earlier device with the same id
  omitted,  // also for links
  refused,
  // the end of a link
  named,      // the device that the file names
  cpu_above,  // the CPU at the root of the GPU's PCIe tree
  // a kind of link
  pcie,
  nvlink,
  xgmi,
  cpu_interconnect,
  network,
  // the maker of a GPU
  nvidia,
  amd,
  unknown,
  // a value
  stated,
  assumed
};

// Further facts of a file; a rule names the facts that it needs and the facts that exclude it.
enum Fact : std::uint32_t {
  kGpuInside = 1U << 0U,     // a <gpu> inside, or an OS device of a GPU driver
  kNicInside = 1U << 1U,     // a <nic> inside, or an OS device of a network driver
  kPciBelow = 1U << 2U,      // more PCI devices below it
  kNvlinkTarget = 1U << 3U,  // an NVLink of the file leads to it
  kRepeated = 1U << 4U,      // the file listed the same device before
  kVirtual = 1U << 5U,       // a virtual PCI function
  kPhysicalToo = 1U << 6U,   // the file also has a physical function of the same vendor
  kNumber = 1U << 7U,        // a number is stated
  kNegative = 1U << 8U,      // the number is below zero
  kAbsurd = 1U << 9U,        // the number exceeds that of any product
  kThere = 1U << 10U,        // the file has the device that a link names
  kSelf = 1U << 11U,         // the link names the device that lists it
  kSeveral = 1U << 12U,      // several devices have the name
  kSpeed = 1U << 13U,        // a link's rate per lane is stated
  kWidth = 1U << 14U,        // a link's number of lanes is stated
  kDefault = 1U << 15U,      // the file states a default for it
  kGfx = 1U << 16U,          // a gfx name is stated
  kInnerHalf = 1U << 17U,    // the inner level of a PCIe switch of two levels
  kPortAbove = 1U << 18U     // the PCI bridge above is a downstream port
};

struct ImportRule {
  std::string_view id;  // names the format first: "nccl:gpu-element"
  FileFormat format;
  std::string_view element;  // pattern of what the importer looks at: an element, a record, a key
  // Patterns of the stated text and of its detail (a vendor and device, "10de:1db1"; a link's target). '|'
  // separates alternatives, and a '*' at either end of an alternative matches anything. Empty: anything.
  std::string_view text;
  std::string_view detail;
  std::uint32_t needs;     // facts
  std::uint32_t excludes;  // facts
  ImportAs import_as;
  // The assumption that inspect lists for the rule; empty: none. "{}" is the first example and the number of
  // further ones, "{n}" the count.
  std::string_view assumed;
};

struct Stated {
  FileFormat format;
  std::string_view element;
  std::string_view text = {};
  std::string_view detail = {};
  std::uint32_t facts = 0;
};

std::span<ImportRule const> import_rules();

// Panics if no rule matches, or for an unknown id.
ImportRule const& import_rule(Stated const& stated);
ImportRule const& import_rule(std::string_view id);

// True if a text matches a rule's pattern.
bool matches_pattern(std::string_view text, std::string_view pattern);

// For a rule that makes a device or a kind of link.
NodeKind node_kind(ImportAs import_as);
LinkKind link_kind(ImportAs import_as);

// The rules that one import used.
class Decisions {
 public:
  // Looks up the rule and records it; `example` names the device or link in the assumption.
  ImportAs decide(Stated const& stated, std::string const& example);
  // The same for a frequently used rule: `example()` is called at its first use only.
  template <std::invocable Example>
  ImportAs decide(Stated const& stated, Example const& example) {
    auto const& rule = import_rule(stated);
    auto& use = use_of(rule);
    if (use.times++ == 0) use.example = example();
    return rule.import_as;
  }
  void note(std::string_view id, std::string const& example = {});
  // Lists the assumption of a rule verbatim, with `values` for "{0}", "{1}" and so on.
  void report(std::string_view id, std::vector<std::string> const& values);
  // Lists the assumptions of all rules used, in the order of the table.
  void write(MachineBuilder& builder) const;

 private:
  struct Use {
    std::uint64_t times = 0;
    std::string example;
    std::vector<std::string> sentences;
  };
  Use& use_of(ImportRule const& rule);
  Use& record(ImportRule const& rule, std::string const& example);

  std::vector<Use> uses_;  // by rule
};

}  // namespace farfault::topologies
