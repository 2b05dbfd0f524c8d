// SPDX-License-Identifier: Apache-2.0
#include "facts_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "amounts.hpp"
#include "farfault/engine/error.hpp"
#include "html.hpp"
#include "sections.hpp"

namespace farfault::cli {
namespace {

using FactJson = nlohmann::ordered_json;

constexpr std::size_t kWorkloadParameters = 8;
constexpr std::size_t kPolicies = 6;
constexpr std::size_t kApplications = 4;
constexpr std::size_t kDistinctTexts = 3;  // of runs, named in the header
constexpr char const *kWorkload = "Workload", *kMachine = "Machine", *kPolicyLabel = "Policies";

// "1,024 GPUs"
std::string counted_text(double n, std::string const& one) {
  auto digits = fmt::format("{:.0f}", n);
  constexpr std::size_t kGroup = 3;
  for (auto at = digits.size(); at > kGroup;) digits.insert(at -= kGroup, ",");
  return digits + " " + one + (n == 1 || one.empty() ? "" : "s");
}

void join(std::string& to, std::string const& text, char const* between = ", ") {
  if (!text.empty()) to += (to.empty() ? "" : between) + text;
}

// The value of a parameter without quotes; empty if the result lacks it.
std::string setting(FactJson const& data, std::string const& key) {
  auto const& all = data["settings"];
  auto const found = all.find(key);
  if (found == all.end()) return {};
  auto const toml = found->get<std::string>();
  bool const quoted = toml.size() > 1 && toml.front() == '"' && toml.back() == '"';
  return quoted ? toml.substr(1, toml.size() - 2) : toml;
}

double figure_value(FactJson const& data, std::string const& metric) {
  for (auto const& f : data["summary"])
    if (f["metric"] == metric) return f["value"].get<double>();
  return 0;
}

FactJson engine_value(FactJson const& data, std::string const& name) {
  for (auto const& v : data["engine"])
    if (v["name"] == name) return v["value"];
  return {};
}

std::string engine_text(FactJson const& data, std::string const& name) {
  auto const value = engine_value(data, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// The parameters below `prefix`, and the input files that they name: "graph copter2.graph (4.2 MB), source
// 0".
std::string parameters_below(FactJson const& data, std::string const& prefix) {
  std::vector<std::string> all;
  for (auto const& input : data["inputs"]) {
    auto const key = input["parameter"].get<std::string>();
    if (key.starts_with(prefix))
      all.push_back(key.substr(prefix.size()) + " " + input["path"].get<std::string>() + " (" +
                    amount_text(input["bytes"].get<double>(), "byte") + ")");
  }
  for (auto const& [key, value] : data["settings"].items())
    if (auto const text = setting(data, key); key.starts_with(prefix) && !text.empty())
      all.push_back(key.substr(prefix.size()) + " " + text);
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kWorkloadParameters); ++i) join(text, all[i]);
  if (all.size() > kWorkloadParameters) text += fmt::format(" and {} more", all.size() - kWorkloadParameters);
  return text;
}

// Each application: its name and workload.
std::string applications_text(FactJson const& data) {
  std::string text;
  std::size_t count = 0;
  constexpr std::string_view kPrefix = "application.", kEnd = ".workload";
  for (auto const& [key, value] : data["settings"].items()) {
    if (!key.starts_with(kPrefix) || !key.ends_with(kEnd)) continue;
    if (++count > kApplications) continue;
    auto const table = key.substr(0, key.size() - kEnd.size());
    auto const workload = setting(data, key), name = setting(data, table + ".name");
    auto const parameters = parameters_below(data, table + "." + workload + ".");
    join(text,
         (name.empty() || name == workload ? workload : name + ": " + workload) +
             (parameters.empty() ? "" : " (" + parameters + ")"),
         "; ");
  }
  if (count > kApplications) text += fmt::format("; {} more", count - kApplications);
  return text;
}

std::string workload_text(FactJson const& data) {
  auto const name = setting(data, "workload.name");
  std::string text = applications_text(data);
  if (text.empty() && !name.empty()) {
    text = name;
    join(text, parameters_below(data, "workload." + name + "."), ": ");
  }
  std::string sizes;
  if (data.contains("kernels"))
    join(sizes, counted_text(data["kernels"]["rows"].get<double>(), "completed kernel"));
  if (auto const blocks = figure_value(data, "dispatcher_blocks_dispatched"); blocks > 0)
    join(sizes, counted_text(blocks, "thread block"));
  if (data.contains("placement")) {
    auto const& placement = data["placement"];
    double pages = 0;
    for (auto const& buffer : placement["buffers"]) pages += buffer["all"].get<double>();
    auto const rows = placement["rows"].get<std::size_t>(), shown_rows = placement["buffers"].size();
    join(sizes, counted_text(static_cast<double>(rows), "buffer") + " of " +
                    (shown_rows < rows ? "more than " : "") + counted_text(pages, "page"));
  }
  join(text, sizes, "; ");
  return text;
}

std::string machine_text(FactJson const& data) {
  std::map<std::string, double> kinds, links;
  std::set<std::string> machines;
  for (auto const& node : data["nodes"]) {
    ++kinds[node[1].get<std::string>()];
    if (auto const machine = node[2].get<std::string>(); !machine.empty()) machines.insert(machine);
  }
  for (auto const& link : data["links"]) ++links[link[2].get<std::string>()];
  std::string text;
  if (auto const topology = setting(data, "machine.topology"); !topology.empty()) join(text, shown(topology));
  if (machines.size() > 1) join(text, counted_text(static_cast<double>(machines.size()), "machine"));
  auto gpus = counted_text(kinds["gpu"], "GPU");
  if (auto const sms = setting(data, "gpu.sms"); !sms.empty()) gpus += " of " + shown(sms) + " SMs";
  if (auto const size = setting(data, "gpu.dram.capacity"); !size.empty()) gpus += " and " + shown(size);
  join(text, gpus);
  join(text, counted_text(kinds["cpu"], "CPU"));
  std::string joined_links;
  for (auto const& [kind, n] : links) join(joined_links, counted_text(n, "") + kind);
  if (!joined_links.empty()) join(text, "links: " + joined_links, "; ");
  if (auto const page = setting(data, "memory.page_size"); !page.empty())
    join(text, "pages of " + shown(page), "; ");
  return text;
}

std::string policies_text(PresetMatch const& match) {
  std::string text, named;
  std::size_t policies = 0;
  for (auto const& d : match.differences) {
    if (!d.is_policy) continue;
    if (++policies <= kPolicies)
      join(named, shown(d.key) + " = " + shown(d.value) + " (preset: " + shown(d.preset) + ")");
  }
  if (policies > kPolicies) named += fmt::format(" and {} more", policies - kPolicies);
  text = (match.is_named ? "preset " : "nearest preset: ") + shown(match.name) +
         (named.empty() ? ", no policy differs" : "; differing: " + named);
  auto const others = match.differences.size() - policies;
  if (others > 0)
    text += fmt::format("; {} {}parameter{} differ{}", others, policies == 0 ? "" : "other ",
                        others == 1 ? "" : "s", others == 1 ? "s" : "");
  return text;
}

std::string program_text(FactJson const& data) {
  auto text = "Farfault " + data["farfault_version"].get<std::string>();
  constexpr std::size_t kCommit = 10;
  if (auto const commit = engine_text(data, "commit"); !commit.empty())
    join(text, "commit " + std::string(first_characters(commit, kCommit)));
  return text;
}

// When, where and by how many threads and MPI ranks the run was simulated.
std::string simulation_text(FactJson const& data) {
  auto text = engine_text(data, "start_time");
  if (auto const host = engine_text(data, "host"); !host.empty()) text += " on " + host;
  auto const ranks = engine_value(data, "ranks"), threads = engine_value(data, "threads");
  if (threads.is_number() && ranks.is_number())
    join(text, (ranks.get<double>() > 1 ? counted_text(ranks.get<double>(), "rank") + " of " : "") +
                   counted_text(threads.get<double>(), "thread"));
  return text;
}

}  // namespace

std::string run_title(FactJson const& data) {
  auto const title = data["title"].get<std::string>();
  constexpr std::string_view kBegin = "Farfault run: ";
  if (!title.empty()) return title.starts_with(kBegin) ? title.substr(kBegin.size()) : title;
  // An earlier result, without a title.
  auto const workload = setting(data, "workload.name");
  if (workload.empty()) return "Farfault";
  auto const gpus =
      std::ranges::count_if(data["nodes"], [](FactJson const& node) { return node[1] == "gpu"; });
  return shown(workload) + " on " + counted_text(static_cast<double>(gpus), "GPU");
}

std::vector<RunFact> facts_of(FactJson const& data, std::optional<PresetMatch> const& preset) {
  auto const digest = data["digest"].get<std::string>();
  std::vector<RunFact> facts{
      {kWorkload, workload_text(data)},
      {kMachine, machine_text(data)},
  };
  if (preset) facts.push_back({kPolicyLabel, policies_text(*preset)});
  facts.push_back({"Result", data["end_reason"].get<std::string>() + " after " +
                                 time_text(data["end_ps"].get<double>()) + " of simulated time, seed " +
                                 std::to_string(data["seed"].get<std::uint64_t>()) +
                                 (digest.empty() ? ", no digest" : ", digest " + digest)});
  facts.push_back({"Program", program_text(data)});
  facts.push_back({"Simulated", simulation_text(data)});
  facts.push_back({"Command", data["command_line"].get<std::string>(), true});
  std::erase_if(facts, [](RunFact const& f) { return f.text.empty(); });
  return facts;
}

std::string facts_section(std::vector<RunFact> const& facts) {
  std::string html = "<dl class=\"facts\">\n";
  for (auto const& f : facts)
    html += "<dt>" + escaped(f.label) + "</dt><dd>" + (f.is_code ? "<code>" : "") + escaped(f.text) +
            (f.is_code ? "</code>" : "") + "</dd>\n";
  return html + "</dl>\n";
}

std::vector<RunFact> common_facts(std::vector<std::vector<RunFact>> const& runs) {
  std::vector<RunFact> common;
  if (runs.empty()) return common;
  for (auto const& fact : runs[0]) {
    std::vector<std::string> texts;  // distinct ones, with the runs
    std::vector<std::string> of;
    for (std::size_t run = 0; run < runs.size(); ++run) {
      auto const other = std::ranges::find(runs[run], fact.label, &RunFact::label);
      auto const text = other == runs[run].end() ? std::string("-") : other->text;
      auto const known = std::ranges::find(texts, text);
      if (known == texts.end()) {
        texts.push_back(text);
        of.push_back(run_letters(run));
      } else {
        of[static_cast<std::size_t>(known - texts.begin())] += ", " + run_letters(run);
      }
    }
    if (texts.size() == 1) {
      common.push_back(fact);
      continue;
    }
    std::string text;
    if (texts.size() <= kDistinctTexts && runs.size() <= 2 * kDistinctTexts)
      for (std::size_t i = 0; i < texts.size(); ++i) join(text, of[i] + ": " + texts[i], "\n");
    else if (fact.label == kWorkload || fact.label == kMachine || fact.label == kPolicyLabel)
      text = fmt::format("{} different, see each run", texts.size());
    if (!text.empty()) common.push_back({fact.label, text, false});
  }
  return common;
}

}  // namespace farfault::cli
