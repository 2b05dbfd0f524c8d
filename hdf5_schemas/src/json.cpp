// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "farfault/results/reader.hpp"

namespace farfault::results {

std::string to_json(ResultSummary const& s) {
  using Json = nlohmann::ordered_json;
  Json series = Json::object(), tables = Json::object(), summary = Json::object();
  for (auto const& group : s.series)
    series[group.kind] = {
        {"samples", group.samples}, {"instances", group.instances}, {"metrics", group.metrics}};
  for (auto const& table : s.tables) tables[table.name] = {{"rows", table.rows}, {"columns", table.columns}};
  for (auto const& row : s.summary) summary[row.scope][row.name][row.metric] = row.value;
  Json all = {{"kind", "result"},
              {"schema_version", s.schema_version},
              {"farfault_version", s.farfault_version},
              {"result_digest", s.result_digest},
              {"end_reason", s.end_reason},
              {"commit", s.commit},
              {"host", s.host},
              {"start_time", s.start_time},
              {"command_line", s.command_line},
              {"seed", s.seed},
              {"last_time_ps", s.last_time_ps},
              {"nodes", s.nodes},
              {"links", s.links},
              {"timeseries", series},
              {"tables", tables},
              {"summary", summary}};
  if (!s.machines.empty()) {
    all["machines"] = s.machines;
    all["hosts"] = s.hosts;
    all["drivers"] = s.drivers;
  }
  return all.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace farfault::results
