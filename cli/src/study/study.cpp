// SPDX-License-Identifier: Apache-2.0
#include "study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "farfault/engine/config.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/engine/toml.hpp"
#include "point_names.hpp"
#include "slurm_options.hpp"

namespace farfault::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxOfStudy = std::uint64_t{16} << 20;
constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxName = 500, kMaxKeys = 1000, kMaxRatios = 100;
constexpr std::int64_t kMaxSamples = 100'000, kMaxParts = 100'000;

std::string toml_text(toml::node const& node) {
  std::ostringstream text;
  node.visit([&](auto const& n) { text << n; });
  return text.str();
}

// A floating-point number stays recognizable as one.
std::string number_text(double x) {
  std::array<char, 32> buffer;
  std::string text(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

int line_of(toml::node const& node) {
  return static_cast<int>(node.source().begin.line);
}

class Reader {
 public:
  explicit Reader(std::string const& path) { study_.path = path; }

  Study read() {
    auto const root = parse_toml(read_text_file(study_.path, kMaxOfStudy), study_.path);
    check_names(root, "", {"base", "config", "sweep"});
    if (auto const* base = root.get(kBaseKey))
      study_.base = {kBaseKey, {"", text(*base, kBaseKey), ValueKind::text}, line_of(*base)};
    if (auto const* config = root.get("config"))
      for (auto const& [key, node] : leaves(table(*config, "config")))
        study_.shared.push_back(setting(key, *node));
    auto const* sweep = root.get("sweep");
    if (sweep == nullptr) refuse(1, "[sweep] is missing; it defines what varies");
    read_sweep(table(*sweep, "sweep"));
    check_axes();
    return std::move(study_);
  }

 private:
  using Leaf = std::pair<std::string, toml::node const*>;

  [[noreturn]] void refuse(int line, std::string const& why) const {
    throw UserError(one_line(study_.path) + ":" + std::to_string(line) + ": " + why);
  }

  // Adds line and key to the errors of a function that knows neither.
  template <class Make>
  auto at_line(int line, std::string const& key, Make make) const {
    try {
      return make();
    } catch (UserError const& e) {
      refuse(line, shown(key) + ": " + e.what());
    }
  }

  void check_names(toml::table const& t, std::string const& prefix,
                   std::vector<std::string> const& known) const {
    for (auto const& [key, node] : t) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      auto const near = nearest_name(key.str(), known);
      refuse(line_of(node), "unknown key '" + shown(prefix + std::string(key.str())) + "' of a study" +
                                (near.empty() ? "" : "; did you mean '" + prefix + near + "'?"));
    }
  }

  toml::table const& table(toml::node const& node, std::string const& name) const {
    auto const* t = node.as_table();
    if (t == nullptr) refuse(line_of(node), name + " must be a table, [" + name + "]");
    return *t;
  }

  std::string text(toml::node const& node, std::string const& name) const {
    auto const* s = node.as_string();
    if (s == nullptr || s->get().empty()) refuse(line_of(node), name + " must be a name in quotes");
    if (s->get().find('\0') != std::string::npos)
      refuse(line_of(node), name + " '" + shown(s->get()) + "' contains a NUL character");
    return s->get();
  }

  std::uint64_t count(toml::node const& node, std::string const& name, std::int64_t low,
                      std::int64_t high) const {
    auto const* i = node.as_integer();
    if (i == nullptr || i->get() < low || i->get() > high)
      refuse(line_of(node), name + " must be a number from " + std::to_string(low) + " to " +
                                std::to_string(high) + ", not " + shown(toml_text(node)));
    return static_cast<std::uint64_t>(i->get());
  }

  StudyValue value(toml::node const& node, std::string const& key) const {
    if (auto const* s = node.as_string()) return {toml_text(node), s->get(), ValueKind::text};
    if (key == kBaseKey) refuse(line_of(node), "base must be the name of a file or preset, in quotes");
    if (auto const* i = node.as_integer()) {
      auto const number = std::to_string(i->get());
      return {number, number, i->get() < 0 ? ValueKind::number : ValueKind::count};
    }
    if (auto const* f = node.as_floating_point()) {
      auto const number = number_text(f->get());
      return {number, number, ValueKind::number};
    }
    if (node.is_boolean() || node.is_array()) return {toml_text(node), toml_text(node), ValueKind::text};
    refuse(line_of(node), "'" + shown(key) + "' must be text, a number, a boolean or an array");
  }

  StudySetting setting(std::string const& key, toml::node const& node) const {
    StudySetting s{key, value(node, key), line_of(node)};
    auto const* array = node.as_array();
    if (array == nullptr || !array->is_array_of_tables() || !is_plain(key)) return s;
    s.placed_toml = "[";
    int line = 1, number = 0;
    for (auto const& element : *array) {
      auto const own = line_of(element);
      s.placed_toml.append(static_cast<std::size_t>(std::max(own - line, 0)), '\n');
      line = std::max(line, own);
      toml::table in_line = *element.as_table();
      in_line.is_inline(true);
      s.placed_toml += toml_text(in_line) + ",";
      auto const prefix = key + "." + std::to_string(number++) + ".";
      for (auto const& [name, leaf] : leaves(*element.as_table()))
        if (leaf->is_string() || leaf->is_number() || leaf->is_boolean())
          if (is_plain(name)) s.inner.push_back({prefix + name, value(*leaf, name), line_of(*leaf)});
    }
    s.placed_toml += "]";
    return s;
  }

  // Other characters are refused once, as an invalid key.
  static bool is_plain(std::string_view key) {
    return std::all_of(key.begin(), key.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
             c == '-' || c == '.';
    });
  }

  static bool is_range(toml::node const& node) {
    auto const* t = node.as_table();
    return t != nullptr && (t->contains("low") || t->contains("high"));
  }

  // The values of nested tables by their full keys, in the order of the file: a.b = 1, "a.b" = 1 and [a] b =
  // 1 are equivalent.
  std::vector<Leaf> leaves(toml::table const& t) const {
    std::vector<Leaf> all;
    gather(t, "", 0, all);
    std::stable_sort(all.begin(), all.end(), [](Leaf const& a, Leaf const& b) {
      auto const &x = a.second->source().begin, &y = b.second->source().begin;
      return std::pair(x.line, x.column) < std::pair(y.line, y.column);
    });
    return all;
  }
  void gather(toml::table const& t, std::string const& prefix, int depth, std::vector<Leaf>& all) const {
    if (depth > kMaxDepth) refuse(line_of(t), "tables are nested too deeply");
    for (auto const& [key, node] : t) {
      auto const name = prefix + std::string(key.str());
      if (node.is_table() && !is_range(node))
        gather(*node.as_table(), name + ".", depth + 1, all);
      else
        all.emplace_back(name, &node);
    }
  }

  std::vector<StudyValue> values(toml::node const& node, std::string const& key) const {
    auto const* array = node.as_array();
    if (array == nullptr || array->empty())
      refuse(line_of(node), "'" + shown(key) + "' must be an array of values, such as [1, 2]");
    std::vector<StudyValue> all;
    for (auto const& element : *array) all.push_back(value(element, key));
    return all;
  }

  void read_sweep(toml::table const& sweep) {
    check_names(sweep, "sweep.",
                {"output", "baseline", "mean_over", "figures", "grid", "list", "random", "seeds", "slurm"});
    auto const output = sweep.get("output");
    study_.output = output == nullptr
                        ? fs::path(study_.path).stem().string()
                        : (fs::path(study_.path).parent_path() / text(*output, "sweep.output")).string();
    if (auto const* list = sweep.get("list")) read_list(*list);
    if (auto const* grid = sweep.get("grid")) {
      auto const keys = leaves(table(*grid, "sweep.grid"));
      if (keys.size() > kMaxKeys)
        refuse(line_of(*grid),
               fmt::format("[sweep.grid] has {} keys; at most {} are allowed", keys.size(), kMaxKeys));
      for (auto const& [key, node] : keys) study_.grid.push_back({key, values(*node, key), line_of(*node)});
    }
    if (auto const* random = sweep.get("random")) read_random(table(*random, "sweep.random"));
    if (auto const* seeds = sweep.get("seeds")) read_seeds(*seeds);
    if (auto const* baseline = sweep.get("baseline")) read_baseline(*baseline);
    if (auto const* over = sweep.get("mean_over")) {
      study_.mean_over = text(*over, "sweep.mean_over");
      study_.mean_over_line = line_of(*over);
    }
    if (auto const* figures = sweep.get("figures")) read_figures(*figures);
    if (auto const* slurm = sweep.get("slurm")) read_slurm(table(*slurm, "sweep.slurm"));
  }

  void read_list(toml::node const& node) {
    auto const* array = node.as_array();
    if (array == nullptr || !array->is_array_of_tables())
      refuse(line_of(node), "sweep.list must be tables [[sweep.list]], one per point");
    for (auto const& element : *array) {
      auto& point = study_.list.emplace_back();
      point.line = line_of(element);
      for (auto const& [key, leaf] : leaves(*element.as_table()))
        if (key == "name")
          point.name = name_of_point(*leaf);
        else if (key == "cost")
          point.cost = cost(*leaf);
        else
          point.settings.push_back(setting(key, *leaf));
      if (point.settings.empty() && point.name.empty())
        refuse(point.line, "this [[sweep.list]] sets nothing");
    }
    check_names_of_points();
  }

  std::string name_of_point(toml::node const& node) const {
    auto const name = text(node, "name");
    if (one_line(name) != name || name.size() > kMaxName)
      refuse(line_of(node), "name '" + shown(name) + "' must be one line of at most " +
                                std::to_string(kMaxName) + " characters");
    if (as_seen(name).empty()) refuse(line_of(node), "name '" + shown(name) + "' is blank");
    if (has_blank_end(name))
      refuse(line_of(node),
             "name '" + shown(name) + "' must not begin or end with a blank or an invisible character");
    return name;
  }

  double cost(toml::node const& node) const {
    // value<double>() is empty for whole numbers that a double would round.
    auto const cost = node.is_integer() ? std::optional(static_cast<double>(node.as_integer()->get()))
                                        : node.value<double>();
    if (!node.is_number() || !cost || !(*cost > 0) || !std::isfinite(*cost))
      refuse(line_of(node), "cost must be a number above 0, not " + shown(toml_text(node)));
    return *cost;
  }

  void check_names_of_points() const {
    std::map<std::string, StudyPoint const*> points;
    for (auto const& point : study_.list) {
      if (point.name.empty() != study_.list[0].name.empty())
        refuse(point.line, "some points [[sweep.list]] have a name and some have none; name all or none");
      if (point.name.empty()) continue;
      auto const [first, fresh] = points.emplace(as_seen(point.name), &point);
      if (fresh) continue;
      auto const& other = *first->second;
      auto const at =
          "the point at line " + std::to_string(other.line) + " has the name '" + shown(other.name) + "', ";
      refuse(point.line, other.name == point.name
                             ? at + "too"
                             : at + "which looks like the name of this point, '" + shown(point.name) + "'");
    }
  }

  void read_random(toml::table const& random) {
    auto const* samples = random.get("samples");
    if (samples == nullptr)
      refuse(line_of(random), "sweep.random.samples is missing; set it to the number of samples");
    study_.samples = count(*samples, "sweep.random.samples", 1, kMaxSamples);
    if (auto const* seed = random.get("seed"))
      study_.random_seed = count(*seed, "sweep.random.seed", 0, std::numeric_limits<std::int64_t>::max());
    for (auto const& [key, node] : leaves(random)) {
      if (key == "samples" || key == "seed") continue;
      RandomAxis axis{key, std::nullopt, {}, line_of(*node)};
      if (is_range(*node))
        axis.range = range(*node->as_table(), key);
      else
        axis.choices = values(*node, key);
      study_.random.push_back(std::move(axis));
    }
    if (study_.random.empty()) refuse(line_of(random), "[sweep.random] contains no parameter");
  }

  RandomRange::End end(toml::node const& node, std::string const& key) const {
    if (auto const* i = node.as_integer()) {
      if (i->get() < 0) refuse(line_of(node), "'" + shown(key) + "': a whole number must not be negative");
      return RandomRange::end_of_count(static_cast<std::uint64_t>(i->get()));
    }
    if (auto const* f = node.as_floating_point()) return RandomRange::end_of_number(f->get());
    auto const* s = node.as_string();
    if (s == nullptr)
      refuse(line_of(node), "'" + shown(key) + "': the end of a range must be a number or a quantity");
    return at_line(line_of(node), key, [&] { return RandomRange::end_of_text(s->get()); });
  }

  RandomRange range(toml::table const& t, std::string const& key) const {
    check_names(t, key + ".", {"low", "high", "scale", "step"});
    auto const *low = t.get("low"), *high = t.get("high");
    if (low == nullptr || high == nullptr)
      refuse(line_of(t), "'" + shown(key) + "': a range needs both ends, such as {low = 1, high = 8}");
    auto scale = RandomRange::Scale::linear;
    if (auto const* word = t.get("scale")) {
      auto const name = text(*word, key + ".scale");
      if (name == "log")
        scale = RandomRange::Scale::log;
      else if (name == "powers_of_two")
        scale = RandomRange::Scale::powers_of_two;
      else if (name != "linear")
        refuse(line_of(*word), "'" + shown(name) + "' is not one of: linear, log, powers_of_two");
    }
    auto const* step = t.get("step");
    auto const first = end(*low, key), last = end(*high, key),
               stride = step == nullptr ? RandomRange::End{} : end(*step, key);
    if (step != nullptr && stride.units == 0 && stride.real == 0)
      refuse(line_of(*step), "'" + shown(key) + "': the step of a range must be above 0");
    return at_line(line_of(t), key, [&] { return RandomRange(first, last, scale, stride); });
  }

  void read_seeds(toml::node const& node) {
    study_.seeds_line = line_of(node);
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    if (auto const* array = node.as_array()) {
      if (array->empty()) refuse(study_.seeds_line, "sweep.seeds is empty");
      for (auto const& element : *array) study_.seeds.push_back(count(element, "a seed", 0, kMax));
      if (std::set(study_.seeds.begin(), study_.seeds.end()).size() != study_.seeds.size())
        refuse(study_.seeds_line, "sweep.seeds has a seed twice");
      return;
    }
    auto const n = count(node, "sweep.seeds", 1, kMaxSamples);
    for (std::uint64_t seed = 1; seed <= n; ++seed) study_.seeds.push_back(seed);
  }

  void read_baseline(toml::node const& node) {
    study_.baseline_line = line_of(node);
    if (node.is_string()) {
      auto const name = text(node, "sweep.baseline");
      study_.baseline.push_back({kNameKey, {toml_text(node), name, ValueKind::text}, line_of(node)});
      return;
    }
    auto const* keys = node.as_table();
    if (keys == nullptr || keys->empty())
      refuse(line_of(node),
             "sweep.baseline must be the name of a point in quotes, or keys and values such as "
             "{ gpu.router.policy = \"distributed\" }");
    for (auto const& [key, leaf] : leaves(*keys)) study_.baseline.push_back(setting(key, *leaf));
  }

  void read_figures(toml::node const& node) {
    study_.figures_line = line_of(node);
    auto const* array = node.as_array();
    if (array == nullptr || array->empty() || array->size() > kMaxRatios)
      refuse(study_.figures_line, fmt::format("sweep.figures must be an array of 1 to {} figures, such as "
                                              "[\"iommu_walks\"]",
                                              kMaxRatios));
    for (auto const& element : *array) {
      auto name = text(element, "a figure of sweep.figures");
      if (std::find(study_.figures.begin(), study_.figures.end(), name) != study_.figures.end())
        refuse(line_of(element), "sweep.figures has '" + shown(name) + "' twice");
      study_.figures.push_back(std::move(name));
    }
  }

  void read_slurm(toml::table const& slurm) {
    check_names(slurm, "sweep.slurm.", {"parts", "options"});
    if (auto const* parts = slurm.get("parts"))
      study_.slurm_parts = count(*parts, "sweep.slurm.parts", 1, kMaxParts);
    auto const* options = slurm.get("options");
    if (options == nullptr) return;
    auto const* array = options->as_array();
    if (array == nullptr) refuse(line_of(*options), "sweep.slurm.options must be an array of words");
    for (auto const& element : *array) {
      auto const word = text(element, "an option of sbatch");
      if (auto const why_not = why_no_slurm_option(word); !why_not.empty())
        refuse(line_of(element), "'" + shown(word) + "' " + why_not);
      study_.slurm_options.push_back(word);
    }
  }

  // Each key varies in one place.
  void check_axes() const {
    std::set<std::string> keys;
    for (auto const& point : study_.list)
      for (auto const& setting : point.settings) keys.insert(setting.key);
    auto const add = [&](std::string const& key, int line) {
      if (!keys.insert(key).second)
        refuse(line,
               "'" + shown(key) +
                   "' varies twice; it may appear in only one of sweep.list, sweep.random and sweep.grid");
    };
    for (auto const& axis : study_.random) add(axis.key, axis.line);
    for (auto const& axis : study_.grid) add(axis.key, axis.line);
    if (!study_.seeds.empty()) add(kSeedKey, study_.seeds_line);
    if (study_.base.value.text.empty() && !keys.contains(kBaseKey))
      refuse(1, "base is missing; set it to the configuration of all runs, a file or preset");
    if (keys.empty())
      refuse(
          1,
          "the study varies nothing: it needs [sweep.grid], [[sweep.list]], [sweep.random] or sweep.seeds");
  }

  Study study_;
};

}  // namespace

Study read_study(std::string const& path) {
  return Reader(path).read();
}

}  // namespace farfault::cli
