// SPDX-License-Identifier: Apache-2.0
#include "application_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "farfault/cli/run_options.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/workloads/allocations.hpp"
#include "farfault/workloads/copies.hpp"
#include "workload_defaults.hpp"

namespace farfault::cli {

namespace {

constexpr char const* kSection = "application";

std::string table_of(std::string const& name) {
  return std::string(kSection) + "." + name;
}

std::string default_name(Config const& config, std::string const& table) {
  for (auto const* key : {".name", ".workload"})
    if (auto const entry = config.peek(table + key)) return entry->value;
  return {};
}

bool is_name(std::string const& word) {
  return is_key(word) && word.find_first_not_of("0123456789") != word.npos;
}

std::string placed(std::string const& where) {
  return where.empty() ? "" : " (" + where + ")";
}

// The parameter that names a file, below `section`.
std::string file_parameter(workloads::WorkloadBuilder& builder, std::string const& section) {
  ParamTable table;
  builder.describe(table);
  std::string name;
  for (auto const& param : table.all())
    if (param.kind == ParamKind::file) name = section + "." + param.name;
  return name;
}

// Null, with an error in `config`, if the workload does not exist.
std::unique_ptr<workloads::WorkloadBuilder> make_builder(Config& config, std::string const& key,
                                                         std::string const& name,
                                                         std::vector<workloads::WorkloadInfo> const& known) {
  try {
    return workloads::make(name, known);
  } catch (UserError const& e) {
    config.refuse(key, key + ": " + e.what());
    return nullptr;
  }
}

bool share_a_gpu(ApplicationSet::One const& a, ApplicationSet::One const& b) {
  if (a.gpu_numbers.empty() || b.gpu_numbers.empty()) return true;
  return std::ranges::find_first_of(a.gpu_numbers, b.gpu_numbers) != a.gpu_numbers.end();
}

// `gpus`: the GPUs of the host.
bool have_the_same_gpus(ApplicationSet::One const& a, ApplicationSet::One const& b, std::uint32_t gpus) {
  auto const is_all = [&](ApplicationSet::One const& one) {
    return one.gpu_numbers.empty() || one.gpu_numbers.size() == gpus;
  };
  return a.gpu_numbers == b.gpu_numbers || (is_all(a) && is_all(b));
}

}  // namespace

void ApplicationSet::bind(Config& config, std::vector<workloads::WorkloadInfo> const& known,
                          Policies const* policies) {
  listed_ = config.array_size(kSection) > 0;
  if (!listed_) {
    if (auto const keys = config.keys(kSection); !keys.empty()) {
      config.refuse(
          keys[0],
          keys[0] +
              ": belongs to no table [[application]]; write the heading of the table in double brackets");
      config.forget(kSection);
    }
    return bind_workload(config, known, policies);
  }
  name_tables(config, known);
  if (auto const keys = config.keys("workload"); !keys.empty()) {
    config.refuse(keys[0], keys[0] + ": [[application]]" + placed(config.where(all_.front().key)) +
                               " excludes [workload]; remove one of them");
    config.forget("workload");
  }
  for (auto& one : all_) bind_listed(config, one, known, policies);
  number_spaces();
}

void ApplicationSet::bind_workload(Config& config, std::vector<workloads::WorkloadInfo> const& known,
                                   Policies const* policies) {
  WorkloadChoice choice;
  ParamTable table(policies);
  choice.describe(table);
  config.bind("workload", table);
  auto& one = all_.emplace_back();
  one.key = "workload";
  one.params.name = one.params.workload = choice.name;
  one.params.program = choice.program;
  for (auto const& info : known) {
    auto builder = info.make();
    auto const section = "workload." + info.name;
    ParamTable own(policies);
    builder->describe(own);
    if (info.name == choice.name) set_defaults(config, "workload", section, info, choice.size, own);
    config.bind(section, own, Config::Spec::lasting);
    if (info.name == choice.name) {
      one.file = file_parameter(*builder, section);
      one.builder = std::move(builder);
    } else {
      config.exclude(section, "workload.name = \"" + info.name + "\"");
      not_chosen_.push_back(std::move(builder));
    }
  }
  if (!one.builder) make_builder(config, "workload.name", choice.name, known);
}

void ApplicationSet::name_tables(Config& config, std::vector<workloads::WorkloadInfo> const& known) {
  auto const count = config.array_size(kSection);
  std::map<std::string, std::string> places;  // by name
  std::vector<std::string> tables;
  for (std::size_t i = 0; i < count; ++i) {
    auto const number = std::to_string(i), numbered = table_of(number);
    if (i == Applications::kMax) {
      config.name_table(kSection, i, number);
      config.refuse(numbered, fmt::format("{} applications are defined; at most {} can run concurrently",
                                          count, Applications::kMax));
      for (auto more = i; more < count; ++more) config.forget(table_of(std::to_string(more)));
      break;
    }
    auto name = default_name(config, numbered);
    auto const first = places.find(name);
    std::string mistake;
    bool const is_meant = config.peek(numbered + ".name") ||
                          std::ranges::find(known, name, &workloads::WorkloadInfo::name) != known.end();
    if (is_meant && !is_name(name))
      mistake =
          "'" + shown(name) + "' is not a valid name; use letters, digits, '_' and '-', not only digits";
    else if (first != places.end())
      mistake = "application '" + shown(name) + "' already exists" + placed(first->second);
    bool const good = mistake.empty() && is_name(name);
    config.name_table(kSection, i, good ? name : number);
    if (!mistake.empty()) config.refuse(numbered + ".name", numbered + ".name: " + mistake);
    auto& one = all_.emplace_back();
    one.key = table_of(good ? name : number);
    one.params.name = good ? name : number;
    tables.push_back(one.params.name);
    if (!good) continue;
    places[name] = config.where(one.key);
    if (auto const other = config.peek(one.key + ".name"); other && other->value != name) {
      config.refuse_value(one.key + ".name", "must be the name of its table");
      config.forget(one.key + ".name");
    }
  }
  std::vector<std::string> names;
  for (auto const& [name, place] : places) names.push_back(name);
  std::set<std::string> told;
  for (auto const& key : config.keys(kSection)) {
    if (key == kSection) continue;
    auto const start = table_of("").size();
    auto const name = key.substr(start, std::min(key.find('.', start), key.size()) - start);
    if (std::ranges::find(tables, name) != tables.end() || !told.insert(name).second) continue;
    auto const near = nearest_name(name, names);
    config.refuse(key, key + ": unknown application '" + shown(name) + "'" +
                           (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  for (auto const& name : told) config.forget(table_of(name));
}

void ApplicationSet::bind_listed(Config& config, One& one, std::vector<workloads::WorkloadInfo> const& known,
                                 Policies const* policies) {
  ParamTable table(policies);
  one.params.describe(table);
  config.bind(one.key, table, Config::Spec::lasting);
  for (auto const* name : {".name", ".workload", ".size"}) config.keep(one.key + name);
  derive(config, one);

  auto const key = one.key + ".workload";
  if (one.params.workload.empty())
    config.refuse(key, key + " is missing; set it to the workload to run");
  else
    one.builder = make_builder(config, key, one.params.workload, known);
  if (!one.builder) {
    for (auto const& inner : config.tables(one.key)) config.forget(one.key + "." + inner);
    return;
  }
  for (auto const& info : known) {
    auto const section = one.key + "." + info.name;
    bool const chosen = info.name == one.params.workload;
    if (!chosen) not_chosen_.push_back(info.make());
    ParamTable own(policies);
    (chosen ? one.builder : not_chosen_.back())->describe(own);
    if (chosen) set_defaults(config, one.key, section, info, one.params.size, own);
    config.bind(section, own, Config::Spec::lasting);
    if (chosen)
      one.file = file_parameter(*one.builder, section);
    else
      config.exclude(section, key + " = \"" + info.name + "\"");
  }
}

void ApplicationSet::derive(Config& config, One& one) {
  auto const checked = [&](std::string const& name, auto const& read) {
    auto const key = one.key + "." + name;
    try {
      read();
    } catch (UserError const& e) {
      config.refuse(key, key + ": " + e.what());
    }
  };
  checked("space", [&] { one.space = space_number(one.params.space); });
  checked("gpus", [&] { one.gpus = Share::all_or_list(one.params.gpus); });
  checked("sms", [&] { one.sms = Share::of(one.params.sms); });
}

void ApplicationSet::derive(Config& config) {
  for (auto& one : all_) {
    one.gpu_numbers.clear();
    one.sm_numbers.clear();
    if (listed_) derive(config, one);
  }
  if (listed_) number_spaces();
}

// Numbers from 0 in the order of the applications: the numbers in a configuration only state which
// applications share a space.
void ApplicationSet::number_spaces() {
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::uint32_t next = 0;
  for (auto& one : all_) {
    if (one.space == kOwnSpace) {
      one.space = next++;
      continue;
    }
    auto const [number, fresh] = numbers.try_emplace(one.space, next);
    if (fresh) ++next;
    one.space = number->second;
  }
}

void ApplicationSet::share(Config& config, std::uint32_t gpus, std::uint32_t sms) {
  bool are_known = true;
  for (auto& one : all_) {
    auto const refuse = [&](std::string const& name, std::string const& value, std::string const& rule) {
      auto const key = one.key + "." + name;
      config.refuse(key, invalid_value(key, shown(value), rule));
      are_known = false;
    };
    if (one.gpus.is_list() && gpus > 0) {
      if (one.gpus.last() < gpus)
        one.gpu_numbers = one.gpus.numbers();
      else
        refuse("gpus", one.params.gpus, fmt::format("must be within 0 to {}, the GPUs of a host", gpus - 1));
    }
    if (one.sms.is_list()) {
      if (one.sms.last() < sms)
        one.sm_numbers = one.sms.numbers();
      else
        refuse("sms", one.params.sms, fmt::format("must be within 0 to {}, the SMs of a GPU", sms - 1));
    }
    if (one.sms.is_count() && (one.sms.count() == 0 || one.sms.count() > sms)) {
      refuse("sms", one.params.sms, fmt::format("must be 1 to {}, the SMs of a GPU", sms));
      one.sms = Share();
    }
  }
  for (auto& one : all_)
    if (one.sms.is_count()) share_sms(config, one, sms);
  if (are_known) share_equally(config, gpus, sms);
}

std::vector<std::uint32_t> ApplicationSet::sms_left(One const& one, std::uint32_t sms) const {
  std::vector<bool> taken(sms);
  for (auto const& other : all_)
    if (!other.sms.is_equal() && share_a_gpu(one, other))
      for (auto const sm : other.sm_numbers) taken[sm] = true;
  std::vector<std::uint32_t> left;
  for (std::uint32_t sm = 0; sm < sms; ++sm)
    if (!taken[sm]) left.push_back(sm);
  return left;
}

void ApplicationSet::share_sms(Config& config, One& one, std::uint32_t sms) const {
  auto left = sms_left(one, sms);
  if (one.sms.count() <= left.size()) {
    left.resize(one.sms.count());
    one.sm_numbers = std::move(left);
    return;
  }
  auto const key = one.key + ".sms";
  config.refuse(key,
                fmt::format("{} = {}: lists and earlier counts of applications on the same GPUs leave {} "
                            "of the {} SMs of a GPU",
                            key, one.sms.count(), left.size(), sms));
}

void ApplicationSet::share_equally(Config& config, std::uint32_t gpus, std::uint32_t sms) {
  std::vector<One*> unassigned;
  for (auto& one : all_)
    if (one.sms.is_equal()) unassigned.push_back(&one);
  while (!unassigned.empty()) {
    auto const& first = *unassigned.front();
    std::vector<One*> together, others;
    for (auto* one : unassigned) (share_a_gpu(first, *one) ? together : others).push_back(one);
    unassigned = others;
    auto const different = std::ranges::find_if(
        together, [&](One const* one) { return !have_the_same_gpus(first, *one, gpus); });
    if (different != together.end()) {
      auto const& one = **different;
      config.refuse(one.key + ".sms",
                    fmt::format("{}.sms = equal: application '{}' also has an equal share of one of these "
                                "GPUs, but its GPUs are {}, not {}; equal shares require the same GPUs",
                                one.key, first.params.name, first.params.gpus, one.params.gpus));
      continue;
    }
    auto const left = sms_left(first, sms);
    if (left.size() < together.size()) {
      config.refuse(first.key + ".sms",
                    fmt::format("{}.sms = equal: lists and counts of applications on the same GPUs leave {} "
                                "of the {} SMs of a GPU, fewer than the applications that share them ({})",
                                first.key, left.size(), sms, together.size()));
      continue;
    }
    auto const part = left.size() / together.size(), more = left.size() % together.size();
    auto next = left.begin();
    for (std::size_t i = 0; i < together.size(); ++i) {
      auto const end = next + static_cast<std::ptrdiff_t>(part + (i < more ? 1 : 0));
      together[i]->sm_numbers.assign(next, end);
      next = end;
    }
  }
}

void ApplicationSet::build(Config const& config, workloads::BuildContext context,
                           std::function<std::string(std::string const& parameter)> const& folder_of) {
  std::map<std::uint32_t, workloads::BufferSegments> next;  // by space: end of the buffers placed so far
  std::vector<Application> all;
  for (auto const& one : all_) {
    context.base_folder = folder_of(one.file);
    context.buffers = next[one.space];
    context.buffers.small_below = one.params.program.small_buffers.bytes;
    try {
      workloads_.push_back(one.builder->build(context));
    } catch (workloads::ParameterError const& e) {
      auto const table = one.key + "." + one.params.workload + ".";
      auto const key = table + e.name();
      throw UserError(config.with_place(config.where(key).empty() ? one.key : key, table + e.what()));
    } catch (UserError const& e) {
      if (!listed_) throw;
      throw UserError("application '" + one.params.name + "': " + e.what());
    }
    auto& workload = workloads_.back();
    auto const& program = one.params.program;
    program.copies ? workloads::add_copies(workload) : workloads::exclude_copies(workload);
    if (program.allocates) workloads::add_allocations(workload);
    check_overlap(config, workloads_.size() - 1, context.page_bytes);
    if (workload.kernel_count() * std::uint64_t{one.params.repeats} >= Applications::kMaxLaunches)
      throw UserError(
          fmt::format("{}.repeats = {} must be at most {}; each execution launches {} kernels, and the "
                      "total must be below {}",
                      one.key, one.params.repeats, (Applications::kMaxLaunches - 1) / workload.kernel_count(),
                      workload.kernel_count(), Applications::kMaxLaunches));
    // Buffers with addresses from the workload's input do not determine the next free address.
    auto const& buffers = workload.buffers();
    auto const is_first = [&](VirtAddr a) {
      return a == context.buffers.next || a == context.buffers.next_small;
    };
    bool const is_laid_here = !buffers.empty() && is_first(buffers.front().base);
    if (context.buffers.small_below != 0 && !is_laid_here)
      throw UserError(
          fmt::format("{}.small_buffers = {}: the input of workload '{}' defines the addresses of the "
                      "buffers; remove this parameter",
                      one.key, to_text(program.small_buffers), workload.name()));
    if (is_laid_here)
      for (auto const& b : buffers) {
        auto const units = (b.base + b.bytes + workloads::kBufferAlignment - 1) / workloads::kBufferAlignment;
        bool const is_small = b.base < workloads::kFirstAddress;
        auto& behind = is_small ? next[one.space].next_small : next[one.space].next;
        behind = std::max(behind, units * workloads::kBufferAlignment);
      }
    all.push_back({.name = listed_ ? one.params.name : workload.name(),
                   .workload = &workload,
                   .space = one.space,
                   .gpus = one.gpu_numbers,
                   .sms = one.sm_numbers,
                   .start = Time{one.params.start},
                   .repeats = one.params.repeats,
                   .relaunch = one.params.relaunch});
  }
  std::size_t streams = 0;
  for (auto const& workload : workloads_) streams += workload.streams();
  if (streams > kMaxStreams)
    throw UserError(fmt::format("the applications have {} streams in total; at most {} can run concurrently",
                                streams, kMaxStreams));
  applications_ = Applications(std::move(all));
}

void ApplicationSet::check_overlap(Config const& config, std::size_t application,
                                   std::uint64_t page_bytes) const {
  struct PlacedBuffers {
    VirtAddr base, end;
    std::size_t application;
    std::string const* name;
  };
  std::vector<PlacedBuffers> laid;
  for (std::size_t a = 0; a <= application; ++a)
    if (all_[a].space == all_[application].space)
      for (auto const& b : workloads_[a].buffers())
        if (b.bytes > 0)
          laid.push_back({b.base / page_bytes * page_bytes,
                          (b.base + b.bytes + page_bytes - 1) / page_bytes * page_bytes, a, &b.name});
  std::ranges::stable_sort(laid, {}, &PlacedBuffers::base);
  // Buffers of one application do not overlap, nor do the buffers of the applications before it.
  for (std::size_t i = 1; i < laid.size(); ++i) {
    auto const &low = laid[i - 1], &high = laid[i];
    if (high.base >= low.end || low.application == high.application) continue;
    auto const& mine = low.application == application ? low : high;
    auto const& other = low.application == application ? high : low;
    auto const key = all_[application].key + ".space";
    throw UserError(config.with_place(
        key,
        fmt::format("{} = {}: buffer '{}' of application '{}' (pages from {:#x} to {:#x}) overlaps buffer "
                    "'{}' of application '{}' (pages from {:#x} to {:#x}); give the applications different "
                    "values of space",
                    key, all_[application].params.space, shown(*mine.name), all_[application].params.name,
                    mine.base, mine.end - 1, shown(*other.name), all_[other.application].params.name,
                    other.base, other.end - 1)));
  }
}

bool ApplicationSet::names_file(std::string const& parameter) const {
  return std::ranges::any_of(all_, [&](One const& one) { return one.file == parameter; });
}

std::uint64_t ApplicationSet::footprint() const {
  std::uint64_t sum = 0;
  for (auto const& workload : workloads_) sum += workload.footprint();
  return sum;
}

std::uint64_t ApplicationSet::blocks() const {
  std::uint64_t sum = 0;
  for (std::uint32_t a = 0; a < applications_.count(); ++a) sum += blocks_of(a);
  return sum;
}

std::uint64_t ApplicationSet::blocks_of(std::uint32_t application) const {
  auto const& a = applications_[application];
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < a.workload->kernel_count(); ++k) sum += a.workload->kernel(k).shape().blocks;
  return sum * a.repeats;
}

}  // namespace farfault::cli
