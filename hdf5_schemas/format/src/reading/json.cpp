// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "farfault/results/reader.hpp"

namespace farfault::results {
namespace {

using Json = nlohmann::ordered_json;

Json const& to_json(Json const& value) {
  return value;
}

// An object whose members keep the order of insertion. Json itself searches all members for each name.
template <class T>
class Members {
 public:
  T& operator[](std::string const& name) {
    auto const [at, is_new] = places_.try_emplace(name, all_.size());
    if (is_new) all_.emplace_back(name, T{});
    return all_[at->second].second;
  }
  friend Json to_json(Members const& members) {
    auto json = Json::object();
    auto& object = json.get_ref<Json::object_t&>();
    for (auto const& [name, value] : members.all_) object.emplace_back(name, to_json(value));
    return json;
  }

 private:
  std::vector<std::pair<std::string, T>> all_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace

std::string to_json(ResultSummary const& s) {
  Members<Json> series, tables;
  Members<Members<Members<Json>>> summary;
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
              {"timeseries", to_json(series)},
              {"tables", to_json(tables)},
              {"summary", to_json(summary)}};
  if (!s.machines.empty()) {
    all["machines"] = s.machines;
    all["hosts"] = s.hosts;
    all["drivers"] = s.drivers;
  }
  return all.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace farfault::results
