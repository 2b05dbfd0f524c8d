// SPDX-License-Identifier: Apache-2.0
#include "agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/error.hpp"
#include "model/model.hpp"
#include "process/build_id.hpp"
#include "process/counted.hpp"

namespace farfault::cli {

namespace {

std::vector<char> letters(std::string const& text) {
  return {text.begin(), text.end()};
}

std::vector<std::byte> packed(std::vector<Fact> const& facts) {
  std::vector<std::byte> bytes;
  Saver saver(bytes);
  for (auto const& fact : facts)
    for (auto const* text : {&fact.subject, &fact.value, &fact.origin}) {
      auto content = letters(*text);
      saver(content);
    }
  return bytes;
}

std::vector<Fact> unpacked(std::span<std::byte const> bytes) {
  std::vector<Fact> facts;
  Loader loader(bytes);
  while (!loader.at_end()) {
    Fact fact;
    for (auto* text : {&fact.subject, &fact.value, &fact.origin}) {
      std::vector<char> content;
      loader(content);
      text->assign(content.begin(), content.end());
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::uint64_t hash_of(std::vector<Fact> const& facts) {
  Hasher hasher;
  for (auto const& fact : facts)
    for (auto const* text : {&fact.subject, &fact.value}) {
      auto content = letters(*text);
      hasher(content);
    }
  return hasher.value();
}

Fact const* find(std::vector<Fact> const& facts, std::string const& subject) {
  auto const it =
      std::find_if(facts.begin(), facts.end(), [&](Fact const& f) { return f.subject == subject; });
  return it == facts.end() ? nullptr : &*it;
}

std::string shown_value(Fact const& fact) {
  return shown(fact.value) + (fact.origin.empty() ? "" : " (" + one_line(fact.origin) + ")");
}

std::string sentence(std::size_t rank, std::string const& subject, Fact const* theirs, Fact const* ours) {
  auto const has =
      theirs == nullptr ? "no " + one_line(subject) : one_line(subject) + " = " + shown_value(*theirs);
  return fmt::format("rank {} has {} where rank 0 has {}; all ranks must simulate the same model", rank, has,
                     ours == nullptr ? "none" : shown_value(*ours));
}

// Ranks may have different current folders.
std::string origin_of(std::string const& where) {
  if (where.empty()) return "default";
  auto const file = where.substr(0, where.rfind(':'));
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return where;
  auto const whole = std::filesystem::absolute(file, error).lexically_normal();
  return error ? where : whole.string() + where.substr(file.size());
}

std::string or_none(std::string const& text) {
  return text.empty() ? "none" : text;
}

}  // namespace

std::optional<std::string> disagreement(std::vector<std::vector<Fact>> const& by_rank) {
  if (by_rank.empty()) return std::nullopt;
  auto const& ours = by_rank[0];
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    auto const& theirs = by_rank[rank];
    for (auto const& fact : ours) {
      auto const* other = find(theirs, fact.subject);
      if (other == nullptr || other->value != fact.value) return sentence(rank, fact.subject, other, &fact);
    }
    for (auto const& fact : theirs)
      if (find(ours, fact.subject) == nullptr) return sentence(rank, fact.subject, &fact, nullptr);
  }
  return std::nullopt;
}

bool agree(Transport& transport, std::vector<Fact> const& facts) {
  auto const hash = hash_of(facts);
  auto const greatest = transport.max(hash);
  auto const least = ~transport.max(~hash);
  if (greatest == least) return true;
  std::vector<std::vector<Fact>> by_rank;
  for (auto const& part : transport.gather(packed(facts))) by_rank.push_back(unpacked(part));
  if (transport.rank() != 0) return false;
  throw UserError(disagreement(by_rank).value_or("the ranks do not simulate the same model"));
}

std::vector<Fact> facts_of_program() {
  return {{"program version", FARFAULT_VERSION, ""}, {"program build", or_none(build_id()), ""}};
}

namespace {

std::vector<Fact> facts_of_options(RunOptions const& options) {
  auto const time = [](auto const& t) { return t ? to_text(*t) : std::string("none"); };
  auto const until = options.until ? std::optional(options.until->time_since_epoch()) : std::nullopt;
  std::string partitions = "auto";
  for (auto const* word : {"one", "device", "split"})
    if (granularity(word) == options.partitions) partitions = word;
  return {{"--output", or_none(options.output), ""},
          {"--until", time(until), ""},
          {"--partitions", partitions, ""},
          {"--no-merge", options.merge_lanes ? "no" : "yes", ""},
          {"--critical-path", options.critical_path ? "yes" : "no", ""},
          {"--profile", or_none(options.profile), ""},
          {"--checkpoint", or_none(options.checkpoint), ""},
          {"--checkpoint-every", time(options.checkpoint_every), ""},
          {"--checkpoint-minutes",
           options.checkpoint_minutes ? fmt::format("{}", *options.checkpoint_minutes) : "none", ""},
          {"--resume", or_none(options.resume), ""},
          {"--summary-json", or_none(options.summary_json), ""},
          {"--trace", options.trace ? text_of(*options.trace) : "none", ""},
          {"--trace-output", or_none(options.trace ? options.trace->output : ""), ""},
          {"--trace-sample", options.trace ? fmt::format("{}", options.trace->one_in) : "none", ""},
          {"--trace-limit", options.trace ? fmt::format("{}", options.trace->most) : "none", ""}};
}

Fact fact_of(ModelInput const& input, std::size_t number) {
  std::error_code error;
  return {fmt::format("input file {} ({})", number, input.parameter),
          fmt::format("{} bytes with hash {:016x}", input.bytes, input.hash),
          std::filesystem::absolute(input.path, error).lexically_normal().string()};
}

bool names_file(Model const& model, std::string const& parameter) {
  return model.applications.names_file(parameter) ||
         std::ranges::any_of(model.inputs, [&](auto const& input) { return input.parameter == parameter; });
}

}  // namespace

std::vector<Fact> facts_of_configuration(RunOptions const& options, Model const& model) {
  auto facts = facts_of_options(options);
  for (auto const& parameter : model.config.bound())
    if (!names_file(model, parameter.key))
      facts.push_back({parameter.key, parameter.value, origin_of(model.config.where(parameter.key))});
  for (auto const& input : model.inputs) facts.push_back(fact_of(input, 1));
  return facts;
}

std::vector<Fact> facts_of_workloads(Model const& model) {
  std::vector<Fact> facts;
  auto const& set = model.applications;
  for (auto const& input : model.inputs)
    if (set.names_file(input.parameter)) facts.push_back(fact_of(input, facts.size() + 1));
  for (std::size_t a = 0; a < set.all().size(); ++a) {
    auto const& workload = set.workload(a);
    std::uint64_t blocks = 0;
    for (std::size_t k = 0; k < workload.kernel_count(); ++k) blocks += workload.kernel(k).shape().blocks;
    facts.push_back({set.all()[a].key,
                     fmt::format("{} of {} in total, {} bytes", counted(workload.kernel_count(), "kernel"),
                                 counted(blocks, "block"), workload.footprint()),
                     ""});
  }
  return facts;
}

std::vector<Fact> facts_of_components(System const& system, Placement const& placement) {
  Hasher places;
  auto copy = placement;
  places(copy.partition_of, copy.partitions, copy.rank_of);
  return {
      {"model",
       fmt::format("{} components with hash {:016x}", system.component_count(), system.structure_hash()), ""},
      {"placement", fmt::format("{} partitions with hash {:016x}", placement.partitions, places.value()),
       ""}};
}

Fact fact_of_checkpoint(Checkpoint const& checkpoint) {
  Hasher hasher;
  auto copy = checkpoint.run;
  hasher(copy);
  for (auto const& part : checkpoint.parts) {
    hasher.mix(part.size());
    hasher.raw(part.data(), part.size());
  }
  return {"checkpoint to resume from",
          fmt::format("the state at {} with hash {:016x}", to_text(checkpoint.header.time.time_since_epoch()),
                      hasher.value()),
          ""};
}

}  // namespace farfault::cli
