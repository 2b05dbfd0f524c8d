// SPDX-License-Identifier: Apache-2.0
#include "outstanding.hpp"

#include "columns.hpp"
#include "farfault/results/reading/open.hpp"

namespace farfault::analysis {

std::string OutstandingOperation::text() const {
  std::string what = operation == "kernel"     ? "kernel " + name
                     : operation == "to_gpus"  ? "copy to the GPUs"
                     : operation == "to_host"  ? "copy to the host"
                     : operation == "allocate" ? "buffer allocation"
                     : operation == "free"     ? "buffer release"
                                               : operation;
  return of.empty() ? what : what + " of " + of;
}

std::vector<OutstandingOperation> read_outstanding(ObjectId file) {
  std::string const folder = "tables/outstanding";
  for (auto const* column : {"operation", "name", "stream", "started", "reached"})
    if (!has(file, folder + "/" + column)) return {};
  Columns const table(file, folder, "started");
  auto const operation = table.texts("operation"), name = table.texts("name");
  auto const stream = table.numbers("stream"), started = table.numbers("started"),
             reached = table.numbers("reached");
  std::vector<std::string> of(operation.size());
  for (auto const* column : {"application", "machine"}) {
    if (!table.has(column)) continue;
    auto const owner = table.texts(column);
    for (std::size_t i = 0; i < of.size(); ++i) of[i] += (of[i].empty() ? "" : " on ") + owner[i];
  }
  std::vector<OutstandingOperation> all;
  for (std::size_t i = 0; i < operation.size(); ++i)
    all.push_back({.operation = operation[i],
                   .name = name[i],
                   .of = of[i],
                   .stream = stream[i],
                   .started = started[i],
                   .reached = reached[i]});
  return all;
}

}  // namespace farfault::analysis
