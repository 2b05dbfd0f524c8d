// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/link_scale.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/protocols/facts.hpp"

namespace farfault::topologies {
namespace {

constexpr Range<double> kFactors{0.0001, 10'000};
std::string const kSection = "links.scale.";
std::string const kByName = "links.scale.by_name";

constexpr std::array kFactOfKind = {facts::kPcieLinks, facts::kNvlinks, facts::kXgmiLinks, facts::kCpuLinks,
                                    facts::kNetwork};
static_assert(kFactOfKind.size() == kLinkKinds.size());

std::string_view trimmed(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

// Takes the last word from `text`, if a space precedes it.
std::string_view take_last_word(std::string_view& text) {
  auto const space = text.rfind(' ');
  if (space == text.npos) return {};
  auto const word = text.substr(space + 1);
  text = trimmed(text.substr(0, space));
  return word;
}

// An element of by_name.
struct NamedScale {
  std::string_view text;
  std::string_view link;
  std::optional<LinkKind> kind{};
  std::optional<double> bandwidth{}, latency{};
};

double factor_in(std::string_view word) {
  auto const text = word.substr(word.find('=') + 1);
  double x = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || end != text.data() + text.size() || !(x >= kFactors.low && x <= kFactors.high))
    throw UserError("'" + farfault::shown(word) + "' is not a factor from 0.0001 to 10000");
  return x;
}

// "gpu0-nvswitch1 nvlink bandwidth=0.5 latency=2"; the kind may be omitted.
NamedScale parse_element(std::string_view text) {
  NamedScale named{.text = text, .link = text};
  auto const bad = [&] {
    return UserError("'" + farfault::shown(text) +
                     "' is not LINK bandwidth=FACTOR, LINK latency=FACTOR or LINK bandwidth=FACTOR "
                     "latency=FACTOR, such as gpu0-gpu1 bandwidth=0.5");
  };
  for (;;) {
    auto rest = named.link;
    auto const word = take_last_word(rest);
    bool const is_bandwidth = word.starts_with("bandwidth=");
    if (!is_bandwidth && !word.starts_with("latency=")) break;
    auto& factor = is_bandwidth ? named.bandwidth : named.latency;
    if (factor) throw bad();
    factor = factor_in(word);
    named.link = rest;
  }
  auto rest = named.link;
  auto const word = take_last_word(rest);
  auto const kind = std::ranges::find(kLinkKinds, word, [](LinkKind k) { return name_of(k); });
  if (kind != kLinkKinds.end()) {
    named.kind = *kind;
    named.link = rest;
  }
  if (named.link.empty() || (!named.bandwidth && !named.latency)) throw bad();
  return named;
}

std::vector<NamedScale> parse_names(std::string_view text) {
  std::vector<NamedScale> all;
  for (std::size_t start = 0; start < text.size();) {
    auto const end = std::min(text.find(',', start), text.size());
    all.push_back(parse_element(trimmed(text.substr(start, end - start))));
    start = end + 1;
  }
  return all;
}

std::string name_of_link(Machine const& m, MachineLink const& link) {
  return m.nodes[link.a].name + "-" + m.nodes[link.b].name;
}

UserError unknown_link(Machine const& m, NamedScale const& named) {
  constexpr std::size_t kMost = 1000, kShown = 20;
  auto const of_kind = named.kind ? std::string(name_of(*named.kind)) + " " : std::string();
  std::vector<std::string> names;
  std::size_t count = 0;
  for (auto const& link : m.links) {
    if (named.kind && link.kind != *named.kind) continue;
    ++count;
    if (names.size() < kMost) names.push_back(name_of_link(m, link));
  }
  bool const is_short = named.link.size() <= 2 * kLongestName + 1;
  auto const near = is_short ? nearest_name(std::string(named.link), names) : std::string();
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    list += (i == 0 ? "" : ", ") + farfault::shown(names[i]);
  if (count > kShown) list += " and " + std::to_string(count - kShown) + " more";
  return UserError("the machine has no " + of_kind + "link '" + farfault::shown(named.link) + "'" +
                   (near.empty() ? "" : " (did you mean '" + farfault::shown(near) + "'?)") + "; its " +
                   of_kind + "links are: " + (list.empty() ? "none" : list));
}

// The factors of by_name, by link.
std::vector<LinkScale::Factors> factors_of_names(Machine const& m, std::vector<NamedScale> const& all) {
  std::vector<LinkScale::Factors> factors(m.links.size());
  if (all.empty()) return factors;
  std::unordered_map<std::string_view, std::vector<std::size_t>> numbers;  // of elements
  for (std::size_t i = 0; i < all.size(); ++i) numbers[all[i].link].push_back(i);
  std::vector<bool> is_known(all.size()), has_factors(m.links.size());
  for (std::size_t l = 0; l < m.links.size(); ++l) {
    auto const& link = m.links[l];
    auto const &a = m.nodes[link.a].name, &b = m.nodes[link.b].name;
    std::vector<std::size_t> of_link;
    for (auto const& name : {a + "-" + b, b + "-" + a})
      if (auto const found = numbers.find(name); found != numbers.end())
        of_link.insert(of_link.end(), found->second.begin(), found->second.end());
    std::ranges::sort(of_link);
    for (auto const i : of_link) {
      auto const& named = all[i];
      if (named.kind && link.kind != *named.kind) continue;
      if (has_factors[l])
        throw UserError("'" + farfault::shown(named.text) + "' names the link " +
                        farfault::shown(name_of_link(m, link)) + " a second time");
      is_known[i] = has_factors[l] = true;
      factors[l] = {named.bandwidth.value_or(1), named.latency.value_or(1)};
    }
  }
  auto const unknown = std::ranges::find(is_known, false) - is_known.begin();
  if (unknown < std::ssize(all)) throw unknown_link(m, all[static_cast<std::size_t>(unknown)]);
  return factors;
}

// Scales quantities of links, and refuses the first result outside the limits.
class Scaling {
 public:
  Scaling(Machine const& machine, Config& config) : machine_(machine), config_(config) {}

  void latency(MachineLink& link, double of_kind, double of_name) {
    auto const scaled = scale(picoseconds(link.latency), of_kind * of_name, 1, picoseconds(kLongestLatency));
    if (scaled)
      link.latency = Duration{*scaled};
    else
      refuse(link, "latency", of_kind != 1, to_text(link.latency), "1 ps to " + to_text(kLongestLatency));
  }
  void bandwidth(MachineLink& link, double of_kind, double of_name) {
    for (auto* const direction : {&link.forward, &link.backward}) {
      auto const scaled =
          scale(number(*direction), of_kind * of_name, number(kLowestBandwidth), number(kHighestBandwidth));
      if (scaled)
        direction->bytes_per_second = static_cast<std::uint64_t>(*scaled);
      else
        refuse(link, "bandwidth", of_kind != 1, to_text(*direction),
               to_text(kLowestBandwidth) + " to " + to_text(kHighestBandwidth));
    }
  }

 private:
  static std::int64_t number(Bandwidth b) { return static_cast<std::int64_t>(b.bytes_per_second); }

  // nullopt: below `low` or above `high`.
  static std::optional<std::int64_t> scale(std::int64_t value, double factor, std::int64_t low,
                                           std::int64_t high) {
    if (factor == 1) return value;
    auto const scaled = std::round(static_cast<double>(value) * factor);
    if (!(scaled >= static_cast<double>(low) && scaled <= static_cast<double>(high))) return std::nullopt;
    return static_cast<std::int64_t>(scaled);
  }

  void refuse(MachineLink const& link, std::string const& quantity, bool by_kind, std::string const& value,
              std::string const& limits) {
    if (std::exchange(is_refused_, true)) return;
    auto const kind = std::string(name_of(link.kind));
    config_.refuse_value(by_kind ? kSection + kind + "." + quantity : kByName,
                         "scales the " + quantity + " of the " + kind + " link " +
                             farfault::shown(name_of_link(machine_, link)) + ", " + value +
                             ", to a value outside " + limits);
  }

  Machine const& machine_;
  Config& config_;
  bool is_refused_ = false;
};

}  // namespace

void LinkScale::Factors::describe(ParamTable& t) {
  t.number("bandwidth", bandwidth, kFactors,
           "Factor on the bandwidth of every link of this kind, stated or default, in both directions",
           "simulator setting");
  t.number("latency", latency, kFactors,
           "Factor on the latency of every link of this kind, stated or default", "simulator setting");
}

void LinkScale::describe(ParamTable& t) {
  for (auto const kind : kLinkKinds) {
    auto const i = static_cast<std::size_t>(kind);
    t.section(name_of(kind), kinds[i]).only_when(kFactOfKind[i]);
  }
  t.text("by_name", by_name,
         "Factors of single links, separated by commas: \"gpu0-gpu1 bandwidth=0.5, cpu0-gpu2 latency=2\". A "
         "link is named by the nodes at its ends, in either order, and by its kind if they have several: "
         "\"gpu0-gpu1 nvlink bandwidth=0.5\". Multiplied by the factors of its kind",
         "simulator setting");
}

void LinkScale::apply(Machine& machine, Config& config) const {
  std::vector<Factors> of_name;
  try {
    of_name = factors_of_names(machine, parse_names(by_name));
  } catch (UserError const& e) {
    return config.refuse(kByName, kByName + ": " + e.what());
  }
  Scaling scaling(machine, config);
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    auto& link = machine.links[l];
    auto const& of_kind = kinds[static_cast<std::size_t>(link.kind)];
    scaling.latency(link, of_kind.latency, of_name[l].latency);
    scaling.bandwidth(link, of_kind.bandwidth, of_name[l].bandwidth);
  }
}

}  // namespace farfault::topologies
