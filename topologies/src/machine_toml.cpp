// Machine TOML: a name, [[node]] tables and [[link]] tables. The only file here that includes toml++.
#include <toml++/toml.h>

#include <algorithm>
#include <initializer_list>

#include "farfault/engine/error.hpp"
#include "importers.hpp"
#include "link_tally.hpp"

namespace farfault::topologies {
namespace {

// toml++ nests one table per dot of a key, and destroys them recursively: no machine file has lines like
// these.
constexpr std::size_t kLongestLine = 4096;
constexpr std::ptrdiff_t kMostDots = 64;

class Reader {
 public:
  Reader(std::string const& where, LinkDefaults const& defaults, MachineBuilder& builder)
      : where_(where), defaults_(defaults), builder_(builder) {}

  void read(toml::table const& root) {
    only(root, {"name", "node", "link"});
    if (auto const name = text(root, "name")) builder_.machine().name = *name;
    for (auto const* node : tables(root, "node")) read_node(*node);
    for (auto const* link : tables(root, "link")) read_link(*link);
    tally_.tell(builder_, defaults_);
  }

 private:
  [[noreturn]] void fail(toml::node const& at, std::string const& what) const {
    throw UserError(where_ + ":" + std::to_string(at.source().begin.line) + ": " + what);
  }

  void only(toml::table const& table, std::initializer_list<std::string_view> known) const {
    for (auto const& [key, value] : table) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      auto const near = nearest_name(key.str(), known);
      fail(value, "unknown key '" + std::string(key.str()) + "'" +
                      (near.empty() ? std::string() : "; did you mean '" + near + "'?"));
    }
  }

  std::vector<toml::table const*> tables(toml::table const& root, std::string_view key) const {
    std::vector<toml::table const*> found;
    auto const* value = root.get(key);
    if (!value) return found;
    auto const* list = value->as_array();
    if (!list) fail(*value, "'" + std::string(key) + "' must be written as [[" + std::string(key) + "]]");
    for (auto const& element : *list) {
      if (!element.is_table())
        fail(element, "'" + std::string(key) + "' must be written as [[" + std::string(key) + "]]");
      found.push_back(element.as_table());
    }
    return found;
  }

  std::optional<std::string> text(toml::table const& table, std::string_view key) const {
    auto const* value = table.get(key);
    if (!value) return std::nullopt;
    auto const* string = value->as_string();
    if (!string) fail(*value, "'" + std::string(key) + "' must be a string");
    return string->get();
  }

  std::string required(toml::table const& table, std::string_view key, std::string_view of) const {
    auto value = text(table, key);
    if (!value) fail(table, "a " + std::string(of) + " needs '" + std::string(key) + "'");
    return *value;
  }

  std::int64_t number(toml::table const& table, std::string_view key, std::int64_t fallback, std::int64_t low,
                      std::int64_t high) const {
    auto const* value = table.get(key);
    if (!value) return fallback;
    auto const* integer = value->as_integer();
    if (!integer || integer->get() < low || integer->get() > high) {
      fail(*value, "'" + std::string(key) + "' must be a whole number from " + std::to_string(low) + " to " +
                       std::to_string(high));
    }
    return integer->get();
  }

  template <class Parse>
  auto quantity(toml::table const& table, std::string_view key, Parse parse) const
      -> std::optional<decltype(parse(std::string_view{}))> {
    auto const written = text(table, key);
    if (!written) return std::nullopt;
    try {
      return parse(*written);
    } catch (std::exception const& error) {
      fail(*table.get(key), "'" + std::string(key) + "' is '" + *written + "': " + error.what());
    }
  }

  void read_node(toml::table const& table) {
    only(table, {"name", "kind", "numa", "sm_count", "model"});
    MachineNode node;
    node.name = required(table, "name", "node");
    auto const kind = required(table, "kind", "node");
    auto const known = node_kind_of(kind);
    if (!known) {
      fail(*table.get("kind"),
           "'" + kind + "' is not a kind of node: gpu, cpu, pcie_switch, nvswitch, nic or network_switch");
    }
    node.kind = *known;
    node.numa = static_cast<int>(number(table, "numa", -1, -1, 1'000'000));
    node.sm_count = static_cast<std::uint32_t>(number(table, "sm_count", 0, 0, 100'000));
    node.model = text(table, "model").value_or("");
    auto const name = node.name;
    if (builder_.machine().nodes.size() == kMostNodes) {
      fail(table, "a machine may have at most " + std::to_string(kMostNodes) + " nodes");
    }
    if (!index_.try_emplace(name, builder_.add_node(std::move(node))).second) {
      fail(table, "a second node is named '" + name + "', but names must be unique");
    }
  }

  std::uint32_t end(toml::table const& table, std::string_view key) const {
    auto const name = required(table, key, "link");
    auto const found = index_.find(name);
    if (found == index_.end()) {
      fail(*table.get(key),
           "'" + std::string(key) + "' is '" + name + "', but there is no node of that name");
    }
    return found->second;
  }

  void read_link(toml::table const& table) {
    only(table, {"a", "b", "kind", "latency", "bandwidth", "forward", "backward", "count"});
    auto const a = end(table, "a");
    auto const b = end(table, "b");
    if (a == b) fail(table, "the link joins '" + builder_.machine().nodes[a].name + "' to itself");
    auto const kind_name = required(table, "kind", "link");
    auto const kind = link_kind_of(kind_name);
    if (!kind) {
      fail(*table.get("kind"),
           "'" + kind_name + "' is not a kind of link: pcie, nvlink, xgmi, cpu_interconnect or network");
    }
    auto const count = static_cast<std::uint32_t>(number(table, "count", 1, 1, kMostParallelLinks));
    auto const latency = quantity(table, "latency", parse_duration);
    auto const both = quantity(table, "bandwidth", parse_bandwidth);
    auto const forward = quantity(table, "forward", parse_bandwidth);
    auto const backward = quantity(table, "backward", parse_bandwidth);
    if (both && (forward || backward))
      fail(table, "give either 'bandwidth' or 'forward' and 'backward', not both");
    if (forward.has_value() != backward.has_value()) fail(table, "'forward' and 'backward' go together");
    if (!latency) tally_.no_latency(*kind, count);
    if (!both && !forward) tally_.no_bandwidth(*kind, count);
    auto const fallback = both.value_or(defaults_.bandwidth(*kind));
    auto const ahead = forward.value_or(fallback);
    auto const back = backward.value_or(fallback);
    if (ahead.bytes_per_second == 0 || back.bytes_per_second == 0) fail(table, "the link has no bandwidth");
    builder_.add_link(a, b, *kind, latency.value_or(defaults_.latency(*kind)), ahead, back, count);
  }

  std::string const& where_;
  LinkDefaults const& defaults_;
  MachineBuilder& builder_;
  std::map<std::string, std::uint32_t, std::less<>> index_;
  LinkTally tally_;
};

// toml++ 3.3 takes for granted that a key follows the bracket of a table header (an assertion in debug
// builds, undefined behaviour in others). No line of a machine file opens with a bracket for another reason.
bool opens_badly(std::string_view line) {
  auto const skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skip_blanks();
  if (!line.starts_with('[')) return false;
  line.remove_prefix(line.starts_with("[[") ? 2 : 1);
  skip_blanks();
  auto const c = line.empty() ? '\0' : line.front();
  return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '"' || c == '\'');
}

// toml++ 3.3 also misjudges letters of U+00A1 to U+0499 outside comments (undefined behaviour again).
bool has_foreign_letter(std::string_view line) {
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    auto const c = line[i];
    if (static_cast<unsigned char>(c) >= 0x80) return true;
    if (quote == '\0') {
      if (c == '#') return false;
      if (c == '"' || c == '\'') quote = c;
    } else if (c == '\\' && quote == '"') {
      ++i;
      if (i < line.size() && static_cast<unsigned char>(line[i]) >= 0x80) return true;
    } else if (c == quote) {
      quote = '\0';
    }
  }
  return false;
}

void check_lines(std::string_view text, std::string const& where) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (std::size_t line = 1; !text.empty(); ++line) {
    auto const end = std::min(text.find('\n'), text.size());
    auto const content = text.substr(0, end);
    auto const at = where + ":" + std::to_string(line) + ": ";
    if (content.size() > kLongestLine || std::ranges::count(content, '.') > kMostDots) {
      throw UserError(at + "a line may have at most " + std::to_string(kLongestLine) + " characters and " +
                      std::to_string(kMostDots) + " dots");
    }
    if (has_foreign_letter(content))
      throw UserError(at + "only comments may hold characters that are not ASCII");
    if (opens_badly(content))
      throw UserError(at + "not valid TOML: a table header needs a name, as in [[node]]");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

MachineBuilder parse_toml_machine(std::string_view text, std::string const& where,
                                  LinkDefaults const& defaults) {
  check_lines(text, where);
  MachineBuilder builder(where, "toml");
  try {
    auto const root = toml::parse(text, where);
    Reader(where, defaults, builder).read(root);
  } catch (toml::parse_error const& error) {
    throw UserError(where + ":" + std::to_string(error.source().begin.line) +
                    ": not valid TOML: " + std::string(error.description()));
  }
  return builder;
}

}  // namespace farfault::topologies
