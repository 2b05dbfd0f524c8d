// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/translation_levels.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace farfault::topologies {
namespace {

std::string table_of(std::string_view name) {
  return std::string(TranslationLevels::kSection) + "." + std::string(name);
}

std::string number_of(std::uint64_t count, std::string const& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// A valid name ends with "tlb", and so differs from all other kinds of components. It does not begin with a
// kind that has statistics of TLBs: "sm_l2_tlb" with "hits" would be the same figure as "sm" with
// "l2_tlb_hits".
std::string why_no_name(std::string const& name) {
  constexpr std::size_t kLongest = 32;
  auto const is_word = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_word || !name.ends_with("tlb") || name.front() == '_' || name.size() > kLongest)
    return "must have lower-case letters, digits and '_' only, at most " + std::to_string(kLongest) +
           ", and end with 'tlb', e.g. \"utlb\" or \"gpc_tlb\"";
  for (std::string const kind : {"sm_", "scalar_cache_", "instruction_cache_", "iommu_"})
    if (name.starts_with(kind))
      return "must not begin with '" + kind + "', which names other statistics of TLBs";
  return {};
}

}  // namespace

void TlbLevelParams::describe(ParamTable& t) {
  t.text("name", name, "Name of the level; it ends with 'tlb'", "required");
  t.count("sms", sms, {0, 1024},
          "Adjacent SMs per group; each group has TLBs of its own. 0: the SMs of a GPU divided by groups",
          "assumed: 0, all SMs share the level; NVIDIA: 2 per TPC");
  t.count("groups", groups, {0, 1024},
          "Groups per GPU. 0: SMs divided by sms, rounded up; one group if sms is 0", "assumed: 0");
  t.count("banks", banks, {1, 256}, "TLB banks of each group; a page has one of them", "assumed: 1");
  {
    auto const with_banks = t.only_when(sibling("banks").is_above(1));
    t.bytes("interleave", interleave, {ByteSize{4096}, ByteSize{std::uint64_t{1} << 40}},
            "Size of the blocks of memory that are distributed over the banks", "assumed: 2 MiB");
    hash.describe(t, "hash",
                  "Distribution of the blocks over the banks. With turns, a TLB uses all of its sets only if "
                  "interleave is "
                  "at least its sets x the page size",
                  "assumed: exclusive or");
  }
  t.count("request_latency", request_latency, {1, 10000},
          "Latency from the SMs, or the level below, to this level, in cycles, each way", "assumed");
  t.count(
       "far_latency", far_latency, {0, 10000},
       "Additional latency to a bank in another partition of the GPU (gpu.l2_cache.partitions), in cycles, "
       "each way: the banks are distributed over the partitions. 0: none, the banks are near all SMs",
       "assumed: 0; MGvm (MICRO 2022): 360 between chiplets")
      .only_when(facts::kChiplets);
  {
    auto const if_far = t.only_when(sibling("far_latency").is_above(0));
    balance.describe(t, "balance",
                     "Switch between the distribution of the level and one of single pages over its banks",
                     "assumed: fixed");
  }
  t.text("next", next,
         "Level that receives the misses, or \"gmmu\". \"\": the level in the next table, the GMMU after the "
         "last",
         "assumed: the order of the tables");
  L2TlbParams::describe(t);
}

std::string TlbLevelParams::section() const {
  return table_of(name);
}

std::uint32_t TlbLevelParams::groups_of(std::uint32_t gpu_sms) const {
  if (groups != 0) return groups;
  return sms == 0 ? 1 : std::max((gpu_sms + sms - 1) / sms, 1U);
}

std::uint32_t TlbLevelParams::group_of(std::uint32_t sm, std::uint32_t gpu_sms) const {
  if (sms != 0) return sm / sms;
  return static_cast<std::uint32_t>(std::uint64_t{sm} * groups_of(gpu_sms) / gpu_sms);
}

TlbLevelParams const* TranslationLevels::find(std::string_view name) const {
  auto const found = std::ranges::find(listed_, name, &TlbLevelParams::name);
  return found == listed_.end() ? nullptr : &*found;
}

TlbLevelParams const* TranslationLevels::after(TlbLevelParams const& level) const {
  if (!level.next.empty()) return find(level.next);
  return &level == &listed_.back() ? nullptr : &level + 1;
}

void TranslationLevels::read_names(Config& config) {
  std::string const section(kSection);
  auto const count = config.array_size(section);
  listed_.clear();
  if (count == 0) {
    if (auto const keys = config.keys(section); !keys.empty()) {
      config.refuse(keys[0], keys[0] == section
                                 ? section + ": must be tables [[" + section + "]], one for each level"
                                 : keys[0] + ": belongs to no table [[" + section +
                                       "]]; write the heading of the table in double brackets");
      config.forget(section);
    }
    return;
  }
  std::string first_place;
  std::map<std::string, std::string> places;  // by name
  for (std::size_t i = 0; i < count; ++i) {
    auto const number = std::to_string(i), numbered = table_of(number);
    if (i == kMax) {
      config.name_table(section, i, number);
      config.refuse(numbered, numbered + ": " + std::to_string(count) +
                                  " levels of TLBs are defined; at most " + std::to_string(kMax) +
                                  " are possible");
      for (auto more = i; more < count; ++more) config.forget(table_of(std::to_string(more)));
      break;
    }
    auto const entry = config.peek(numbered + ".name");
    auto const name = entry ? entry->value : std::string();
    std::string mistake;
    if (!entry || !entry->is_string)
      mistake = "needs a name, e.g. name = \"utlb\"";
    else if (auto const why = why_no_name(name); !why.empty())
      mistake = "name = '" + shown(name) + "' " + why;
    else if (auto const first = places.find(name); first != places.end())
      mistake = "level '" + name + "' already exists (" + first->second + ")";
    auto const good = mistake.empty();
    config.name_table(section, i, good ? name : number);
    if (i == 0) first_place = config.where(table_of(good ? name : number));
    if (!good) {
      config.refuse(entry ? numbered + ".name" : numbered, numbered + ": " + mistake);
      config.forget(numbered);
      continue;
    }
    places[name] = config.where(table_of(name));
    listed_.emplace_back().name = name;
  }
  for (auto const& level : listed_)
    if (auto const other = config.peek(level.section() + ".name"); other && other->value != level.name) {
      config.refuse(level.section() + ".name",
                    level.section() + ".name: is the name of the table and cannot be changed");
      config.forget(level.section() + ".name");
    }
  std::set<std::string> told;
  for (auto const& key : config.keys(section)) {
    if (key.size() <= section.size()) continue;
    auto const start = section.size() + 1;
    auto const name = key.substr(start, std::min(key.find('.', start), key.size()) - start);
    if (places.contains(name) || !told.insert(name).second) continue;
    std::vector<std::string> names;
    for (auto const& [known, place] : places) names.push_back(known);
    auto const near = nearest_name(name, names);
    config.refuse(key, key + ": unknown level '" + shown(name) + "'" +
                           (near.empty() ? "" : "; did you mean '" + near + "'?"));
    config.forget(table_of(name));
  }
  if (auto const keys = config.keys("gpu.l2_tlb"); !keys.empty()) {
    config.refuse(keys[0], keys[0] + ": [[" + section + "]] (" + first_place +
                               ") replaces [gpu.l2_tlb]; set the parameters of a level instead, such as " +
                               (listed_.empty() ? table_of("NAME") : listed_.back().section()) + ".entries");
    config.forget("gpu.l2_tlb");
  }
}

std::vector<TlbLevelParams const*> TranslationLevels::chain() const {
  std::vector<TlbLevelParams const*> chain;
  if (listed_.empty()) return chain;
  for (auto const* level = &listed_.front(); level != nullptr && chain.size() < listed_.size();
       level = after(*level))
    chain.push_back(level);
  return chain;
}

void TranslationLevels::check(Config& config, ByteSize page, ByteSize largest_page) const {
  for (auto const& level : listed_) {
    auto const key = level.section() + ".next";
    if (!level.next.empty() && level.next != kGmmu && find(level.next) == nullptr) {
      std::vector<std::string> names{std::string(kGmmu)};
      for (auto const& other : listed_) names.push_back(other.name);
      auto const near = nearest_name(level.next, names);
      config.refuse_value(key, "must be the name of a level or \"gmmu\"" +
                                   (near.empty() ? std::string() : "; did you mean '" + near + "'?"));
      return;
    }
    if (level.banks > 1) {
      auto const least = std::max(page, largest_page);
      if (!std::has_single_bit(level.interleave.bytes) || level.interleave.bytes < least.bytes)
        config.refuse_value(level.section() + ".interleave",
                            "must be a power of two, and at least the largest page, " + to_text(least));
    }
  }
  std::vector<TlbLevelParams const*> seen;
  for (auto const* level = listed_.empty() ? nullptr : &listed_.front(); level != nullptr;
       level = after(*level)) {
    if (std::ranges::find(seen, level) != seen.end()) {
      auto const& last = *seen.back();
      auto const key = last.section() + ".next";
      std::string way;
      for (auto const* each : seen) way += each->name + " -> ";
      config.refuse(config.where(key).empty() ? last.section() : key,
                    last.section() + ": misses go in a cycle, " + way + level->name +
                        "; the last level must have next = \"gmmu\"");
      return;
    }
    seen.push_back(level);
  }
  for (auto const& level : listed_)
    if (std::ranges::find(seen, &level) == seen.end())
      config.refuse(level.section(), level.section() +
                                         ": no level sends its misses here; the SMs send theirs to '" +
                                         listed_.front().name + "', the first table");
}

void TranslationLevels::fit_to(std::uint32_t gpu_sms, std::uint32_t partitions, Config& config) const {
  auto const levels = chain();
  for (auto const* level : levels) {
    auto const section = level->section();
    auto const groups = level->groups_of(gpu_sms);
    if (std::uint64_t{groups} * level->banks > kMaxTlbs) {
      config.refuse_value(section + ".banks", "must be at most " + std::to_string(kMaxTlbs / groups) + ": " +
                                                  number_of(groups, "group") + " of the level have at most " +
                                                  std::to_string(kMaxTlbs) + " TLBs");
      return;
    }
    if (level->far_latency != 0 && (groups != 1 || level->banks % partitions != 0)) {
      config.refuse_value(section + ".far_latency",
                          "needs one group whose number of banks is a multiple of gpu.l2_cache.partitions, " +
                              std::to_string(partitions) + "; the level has " + number_of(groups, "group") +
                              " of " + number_of(level->banks, "bank"));
      return;
    }
    if (groups > gpu_sms) {
      config.refuse_value(section + ".groups",
                          "must be at most the SMs of a GPU, " + std::to_string(gpu_sms));
      return;
    }
    if (level->sms != 0 && level->groups != 0 && std::uint64_t{level->sms} * groups < gpu_sms) {
      config.refuse_value(section + ".groups",
                          "must be at least " + std::to_string((gpu_sms + level->sms - 1) / level->sms) +
                              ": SM " + std::to_string(level->sms * groups) + " of " +
                              std::to_string(gpu_sms) + " is in no group of " + number_of(level->sms, "SM"));
      return;
    }
    if (level->sms != 0 && (groups - 1) * std::uint64_t{level->sms} >= gpu_sms) {
      config.refuse_value(section + ".groups",
                          "must be at most " + std::to_string((gpu_sms + level->sms - 1) / level->sms) +
                              ": " + number_of(level->sms, "SM") + " each, of " + std::to_string(gpu_sms));
      return;
    }
  }
  for (std::size_t i = 0; i + 1 < levels.size(); ++i)
    for (std::uint32_t sm = 1; sm < gpu_sms; ++sm) {
      auto const &here = *levels[i], &next = *levels[i + 1];
      auto const same = here.group_of(sm - 1, gpu_sms) == here.group_of(sm, gpu_sms);
      if (!same || next.group_of(sm - 1, gpu_sms) == next.group_of(sm, gpu_sms)) continue;
      config.refuse(next.section(), next.section() + ": SMs " + std::to_string(sm - 1) + " and " +
                                        std::to_string(sm) + " are in one group of level '" + here.name +
                                        "' but in two groups of level '" + next.name +
                                        "', which receives its misses");
      return;
    }
}

}  // namespace farfault::topologies
