// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "farfault/analysis/explain_pair.hpp"

namespace farfault::analysis {
namespace {

using PairJson = nlohmann::ordered_json;

PairJson json_of(PairedRun const& r) {
  return {{"path", r.path},        {"end_reason", r.end_reason}, {"farfault_version", r.farfault_version},
          {"commit", r.commit},    {"end_ps", r.end_ps},         {"on_gpus_ps", r.on_gpus_ps},
          {"launches", r.launches}};
}

PairJson json_of(PairSetting const& s) {
  return {{"name", s.name}, {"a", s.a}, {"b", s.b}, {"follows", s.follows}, {"unreached", s.unreached}};
}

PairJson json_of(StageChange const& s) {
  return {{"name", s.name}, {"what", s.what}, {"a", s.per_access.a}, {"b", s.per_access.b}, {"ps", s.ps}};
}

PairJson json_of(PartChange const& p) {
  PairJson json{{"kind", p.kind}, {"name", p.name}, {"what", p.what},
                {"a_ps", p.a_ps}, {"b_ps", p.b_ps}, {"ps", p.ps}};
  if (p.kind != "kernel") return json;
  auto const both = [&](char const* name, std::uint64_t a, std::uint64_t b) {
    json["a_" + std::string(name)] = a;
    json["b_" + std::string(name)] = b;
  };
  both("launches", p.a_launches, p.b_launches);
  both("shared_ps", p.a_shared_ps, p.b_shared_ps);
  both("accesses", p.a_accesses, p.b_accesses);
  json["stages"] = PairJson::array();
  for (auto const& s : p.stages) json["stages"].push_back(json_of(s));
  return json;
}

PairJson json_of(Cause const& c) {
  PairJson json{{"name", c.name},         {"what", c.what},        {"per", c.per}, {"units", c.unit},
                {"a", c.figure.a},        {"b", c.figure.b},       {"ps", c.ps},   {"modelled", c.modelled},
                {"settings", c.settings}, {"indirect", c.indirect}};
  if (!c.resource.empty())
    json["resource"] = {
        {"what", c.resource}, {"busiest", c.resource_name}, {"a_busy", c.busy.a}, {"b_busy", c.busy.b}};
  return json;
}

PairJson json_of(CauseGroup const& g) {
  return {{"settings", g.settings}, {"causes", g.causes}, {"ps", g.ps}};
}

PairJson json_of(ActivityChange const& s) {
  return {{"name", s.name}, {"what", s.what}, {"a", s.per_sm.a}, {"b", s.per_sm.b}, {"ps", s.ps}};
}

PairJson json_of(SourceChange const& s) {
  return {{"name", s.name}, {"what", s.what}, {"a", s.a}, {"b", s.b}, {"ps", s.ps}};
}

PairJson json_of(ResourceChange const& r) {
  return {{"what", r.what},      {"a_busiest", r.a_name}, {"b_busiest", r.b_name}, {"a_busy", r.busy.a},
          {"b_busy", r.busy.b},  {"a_max", r.max.a},      {"b_max", r.max.b},      {"ps", r.ps},
          {"matters", r.matters}};
}

PairJson json_of(IdleChange const& c) {
  return {{"what", c.what}, {"units", c.unit}, {"a", c.figure.a}, {"b", c.figure.b}, {"ps", c.ps}};
}

template <class Row>
PairJson list_of(std::vector<Row> const& rows) {
  auto list = PairJson::array();
  for (auto const& row : rows) list.push_back(json_of(row));
  return list;
}

}  // namespace

std::string to_json(PairExplanation const& e) {
  auto const* first = first_cause(e);
  PairJson const all{{"kind", "pair_explanation"},
                     {"a", json_of(e.a)},
                     {"b", json_of(e.b)},
                     {"change_ps", e.change_ps},
                     {"first_cause", first == nullptr ? PairJson() : PairJson(first->name)},
                     {"below_resolution", e.below_resolution},
                     {"caveat", e.caveat},
                     {"gpu", e.gpu},
                     {"not_split", e.not_split},
                     {"settings", list_of(e.settings)},
                     {"parts", list_of(e.parts)},
                     {"causes", list_of(e.causes)},
                     {"groups", list_of(e.groups)},
                     {"sms", list_of(e.sms)},
                     {"sms_rest_ps", e.sms_rest_ps},
                     {"stages", list_of(e.stages)},
                     {"stages_rest_ps", e.stages_rest_ps},
                     {"sources", list_of(e.sources)},
                     {"resources", list_of(e.resources)},
                     {"without_effect", list_of(e.idle)}};
  return all.dump(-1, ' ', true, PairJson::error_handler_t::replace);
}

}  // namespace farfault::analysis
