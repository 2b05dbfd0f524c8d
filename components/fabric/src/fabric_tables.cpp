// SPDX-License-Identifier: Apache-2.0
// Tables of the fabric at the end of a run: traffic per link, and traffic between devices.
#include "farfault/fabric/fabric.hpp"

namespace farfault {
namespace {

TableInfo links_table() {
  return {"links",
          "One row per link and direction: traffic until the end of the run",
          {{"link", "index", "Link number in /topology/links", ColumnType::u64},
           {"from", "text", "Sending node", ColumnType::text},
           {"to", "text", "Receiving node", ColumnType::text},
           {"sender", "text", "Sending component, as in the time series", ColumnType::text},
           {"packets", "count", "Packets sent", ColumnType::u64},
           {"bytes", "bytes", "Bytes sent, headers included", ColumnType::u64},
           {"busy_time", "ps", "Time the link was busy", ColumnType::u64},
           {"credit_wait_time", "ps", "Time the link was idle while a packet waited for credits",
            ColumnType::u64},
           {"bandwidth", "bytes/s", "Bandwidth of this direction", ColumnType::u64}}};
}

void add_link(TableRows& rows, std::string const& sender, FabricNodeSpec const& node, std::size_t link,
              EgressStats const& sent) {
  auto const& end = node.links[link];
  rows.add(0, {std::uint64_t{end.number}, node.name, end.far_name, sender, sent.packets, sent.bytes,
               sent.busy_so_far(), sent.credit_wait_ps, end.bandwidth.bytes_per_second});
}

}  // namespace

std::vector<TableInfo> SwitchOutput::tables() const {
  return {links_table()};
}

void SwitchOutput::final_rows(TableRows& rows) const {
  add_link(rows, path(), spec().fabric, spec().link, state().egress.stats());
}

std::vector<TableInfo> FabricPort::tables() const {
  return {links_table(),
          {"traffic",
           "One row per pair of communicating devices: requests, responses, translations and copies until "
           "the end of the run",
           {{"from", "text", "Sending device", ColumnType::text},
            {"to", "text", "Receiving device", ColumnType::text},
            {"packets", "count", "Packets sent", ColumnType::u64},
            {"bytes", "bytes", "Payload bytes sent, headers excluded", ColumnType::u64}}}};
}

void FabricPort::final_rows(TableRows& rows) const {
  auto const& s = state();
  for (std::size_t i = 0; i < s.egress.size(); ++i)
    add_link(rows, path(), spec().fabric, i, s.egress[i].stats());
  auto const& nodes = *spec().nodes;
  auto const name = [this](DeviceId device) { return name_of(spec().names, device); };
  auto const add = [&](std::vector<NodeId> const& devices, DeviceId first) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      auto const& sent = s.sent[devices[i]];
      if (sent.packets == 0) continue;
      rows.add(1, {name(spec().device), name(static_cast<DeviceId>(first + i)), sent.packets, sent.bytes});
    }
  };
  add(nodes.gpus, 0);
  add(nodes.cpus, kFirstCpu);
  add(nodes.nics, kFirstNic);
}

}  // namespace farfault
