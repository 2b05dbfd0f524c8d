// SPDX-License-Identifier: Apache-2.0
// Tables of the fabric at the end of a run: traffic per link, and traffic between devices.
#include "farfault/fabric/fabric.hpp"

namespace farfault {
namespace {

TableInfo links_table() {
  return {
      "links",
      "links, each direction by itself: what went over it until the end of the run",
      {{"link", "index", "number of the link in /topology/links", ColumnType::u64},
       {"from", "text", "node that sends", ColumnType::text},
       {"to", "text", "node that receives", ColumnType::text},
       {"sender", "text", "component that sends, as in the time series", ColumnType::text},
       {"packets", "count", "packets sent", ColumnType::u64},
       {"bytes", "bytes", "bytes sent, headers included", ColumnType::u64},
       {"busy_time", "ps", "time that the link was busy", ColumnType::u64},
       {"credit_wait_time", "ps", "time that it was idle while a packet waited for credits", ColumnType::u64},
       {"bandwidth", "bytes/s", "bandwidth of the direction", ColumnType::u64}}};
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
           "pairs of devices of which one has sent something to the other: requests, answers, translations "
           "and copies, until the end of the run",
           {{"from", "text", "device that sends", ColumnType::text},
            {"to", "text", "device that receives", ColumnType::text},
            {"packets", "count", "packets sent", ColumnType::u64},
            {"bytes", "bytes", "bytes of data sent, headers not included", ColumnType::u64}}}};
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
