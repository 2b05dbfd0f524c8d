// SPDX-License-Identifier: Apache-2.0
// The text is read as a stream of events, without a tree, and aliases are refused: memory is bounded by the
// names, which the limits bound.
#include "topograph_model.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <sstream>

#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"
#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {
namespace {

constexpr std::size_t kLongestText = 8U << 20U;
constexpr std::size_t kDeepest = 32;
constexpr std::size_t kMaxOpenBrackets = 1000;
constexpr std::size_t kLongestRange = 4096;  // bytes
constexpr std::uint64_t kMaxHosts = InputLimits::kMaxNodes;
constexpr std::size_t kNone = SIZE_MAX;

// Fills a model from the events of one document.
class Reader final : public YAML::EventHandler {
 public:
  Reader(std::string const& where, InputLimits const& limits, Decisions& decisions)
      : where_(where), limits_(limits.of_this_machine()), decisions_(decisions) {}

  TopographModel take() { return std::move(model_); }

  void OnDocumentStart(YAML::Mark const&) override {}
  void OnDocumentEnd() override {}
  void OnNull(YAML::Mark const& mark, YAML::anchor_t) override { word(mark, {}); }
  void OnAlias(YAML::Mark const& mark, YAML::anchor_t) override {
    fail(mark, "aliases ('*') are not supported");
  }
  void OnScalar(YAML::Mark const& mark, std::string const&, YAML::anchor_t,
                std::string const& value) override {
    word(mark, value);
  }
  void OnSequenceStart(YAML::Mark const& mark, std::string const&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    begin(mark, false);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(YAML::Mark const& mark, std::string const&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    begin(mark, true);
  }
  void OnMapEnd() override { end(); }

 private:
  // An open map or list; for a map, the key whose value is being read.
  struct Level {
    bool map;
    bool has_key = false;
    std::string key;
  };

  [[noreturn]] void fail(YAML::Mark const& mark, std::string const& what) const {
    throw UserError(where_ + ":" + std::to_string(mark.line + 1) + ": " + what);
  }

  bool in(std::string_view section) const { return !levels_.empty() && levels_[0].key == section; }
  bool in_blocks() const { return in("blocks") || in("capacity_blocks"); }
  // True if the innermost map or list is at `depth`.
  bool at(std::size_t depth) const { return levels_.size() == depth; }
  // The key of an element, "switches" of "sw1: {switches: [...]}"; empty above that level.
  std::string_view field() const { return levels_.size() < 3 ? std::string_view{} : levels_[2].key; }

  void begin(YAML::Mark const& mark, bool map) {
    if (levels_.size() == kDeepest) fail(mark, "lists and maps nest deeper than " + std::to_string(kDeepest));
    if (!levels_.empty() && levels_.back().map && !levels_.back().has_key)
      fail(mark, "a key must be a word, not a list or map");
    if (levels_.empty() && !map) fail(mark, "expected 'switches:' and 'blocks:', found a list");
    if (at(1) && in("blocks") && map) fail(mark, "'blocks' must be a list");
    if (at(3) && in("switches") && (field() == "switches" || field() == "nodes") && map)
      fail(mark, "the " + std::string(field()) + " below a switch must be a list");
    if (at(3) && in_blocks() && field() == "nodes" && map) fail(mark, "the nodes of a block must be a list");
    if (at(1)) host_ = kNone;
    if (at(2)) begin_element(mark, map);
    // A GPU of "attributes: {gpus: [{...}]}".
    if (map && at(5) && in("nodes") && levels_[3].key == "gpus" && !levels_[4].map && host_ != kNone)
      ++model_.hosts[host_].gpus;
    levels_.push_back({map, false, {}});
  }

  // An element of a section: a switch, a block or a node.
  void begin_element(YAML::Mark const& mark, bool map) {
    if (in_blocks()) {
      if (!map) fail(mark, "a block must be a map, with 'switch' and 'nodes'");
      model_.blocks.emplace_back();
      if (levels_[1].map) model_.blocks.back().name = named(mark, levels_[1].key);
    }
    if (in("switches") && !levels_[1].map) {
      decide_path("switches/*/name", {});
      model_.switches.emplace_back();
    }
    if (in("nodes") && levels_[1].map) {
      host(mark, levels_[1].key);
      host_ = host_numbers_[levels_[1].key];
    }
  }

  void end() {
    levels_.pop_back();
    if (!levels_.empty()) levels_.back().has_key = false;
  }

  void word(YAML::Mark const& mark, std::string const& text) {
    if (levels_.empty()) fail(mark, "expected 'switches:' and 'blocks:', found a word");
    auto& level = levels_.back();
    if (level.map && !level.has_key) {
      level.key = text;
      level.has_key = true;
      if (at(2) && in("switches")) {
        decide_path("switches/*", text);
        model_.switches.push_back({named(mark, text), {}, {}, {}});
      }
      return;
    }
    value(mark, text);
    level.has_key = false;
  }

  ImportAs decide_path(std::string_view path, std::string const& name) {
    return decisions_.decide({FileFormat::topograph_yaml, path}, "'" + shown(name) + "'");
  }

  void value(YAML::Mark const& mark, std::string const& text) {
    if (at(1) && in("switches") && !text.empty()) fail(mark, "'switches' must be a map of switches");
    if (at(1) && in("blocks") && !text.empty()) fail(mark, "'blocks' must be a list");
    if (in("switches")) of_switch(mark, text);
    if (in_blocks()) of_block(mark, text);
    if (in("nodes")) of_node(mark, text);
  }

  void of_switch(YAML::Mark const& mark, std::string const& text) {
    if (model_.switches.empty()) return;
    auto& s = model_.switches.back();
    bool const item = at(4) && !levels_[3].map;
    if (at(3) && field() == "name") s.name = named(mark, text);
    if (item && field() == "switches") {
      decide_path("switches/*/switches/*", text);
      s.below.push_back(named(mark, text));
    }
    if (item && field() == "nodes")
      each_host(mark, text, "switches/*/nodes/*", [&](auto& h) { h.leaf = s.name; });
    if (item && field() == "capacity_blocks") s.blocks.push_back(named(mark, text));
    read_domain(mark, text, s.domain);
  }

  void of_block(YAML::Mark const& mark, std::string const& text) {
    if (at(2) && in("blocks")) fail(mark, "a block must be a map, with 'switch' and 'nodes'");
    if (at(2) || model_.blocks.empty()) return;  // only a name
    auto& block = model_.blocks.back();
    if (at(3)) {
      if (field() == "nodes" && !text.empty()) fail(mark, "the nodes of a block must be a list");
      if (field() == "switch") block.leaf = named(mark, text);
      if (field() == "name") block.name = named(mark, text);
      if (field() == "type") block.gpu = named(mark, text);
    }
    if (at(4) && !levels_[3].map && field() == "nodes") {
      auto const number = model_.blocks.size() - 1;
      auto const path = in("blocks") ? "blocks/*/nodes/*" : "capacity_blocks/*/nodes/*";
      each_host(mark, text, path, [&](TopographHost& h) {
        if (h.in_block != kNone)
          fail(mark, "the node '" + shown(h.name) + "' is listed twice, but a node belongs to one block");
        h.in_block = number;
      });
    }
    read_domain(mark, text, block.domain);
  }

  void of_node(YAML::Mark const& mark, std::string const& text) {
    if (host_ == kNone || levels_.size() < 3) return;
    auto& node = model_.hosts[host_];
    if (at(3) && field() == "capacity_block_id") node.block = named(mark, text);
    if (at(6) && levels_[3].key == "gpus" && levels_[5].key == "model") node.gpu = named(mark, text);
    read_domain(mark, text, node.domain);
  }

  // "nvlink: nv1" of an element, and the entries of its annotations, labels and attributes.
  void read_domain(YAML::Mark const& mark, std::string const& text, std::string& domain) {
    bool const own = at(3) && field() == "nvlink";
    bool const entry = at(4) && levels_[3].map &&
                       (field() == "annotations" || field() == "labels" || field() == "attributes");
    if (!own && !entry) return;
    auto const import_as = decisions_.decide({FileFormat::topograph_yaml, "domain", levels_.back().key},
                                             "'" + shown(levels_.back().key) + "'");
    if (import_as == ImportAs::nvswitch) domain = named(mark, text);
  }

  // Counts a name against the limits.
  std::string const& named(YAML::Mark const& mark, std::string const& name) {
    if (name.size() > kLongestName)
      fail(mark, "the name '" + shown(name) + "' has " + std::to_string(name.size()) +
                     " bytes, but it may have at most " + std::to_string(kLongestName));
    name_bytes_ += name.size();
    if (name_bytes_ > limits_.names.bytes)
      fail(mark, "the names up to here take more than " + limit_text("names", limits_.names));
    return name;
  }

  TopographHost& host(YAML::Mark const& mark, std::string const& name) {
    auto const [it, fresh] = host_numbers_.try_emplace(name, model_.hosts.size());
    if (fresh) {
      if (model_.hosts.size() + 1 > limits_.nodes)
        fail(mark, "there are more nodes than " + limit_text("nodes", limits_.nodes));
      model_.hosts.push_back({});
      model_.hosts.back().name = named(mark, name);
    }
    return model_.hosts[it->second];
  }

  // "node[1101-1118,1120]" names nineteen nodes.
  template <class F>
  void each_host(YAML::Mark const& mark, std::string const& text, std::string_view path, F f) {
    auto const open = text.find('[');
    if (open == text.npos) {
      decide_path(path, text);
      f(host(mark, text));
      return;
    }
    auto const no_range = [&] {
      fail(mark, "'" + shown(text) + "' is not a range of at most " + std::to_string(kMaxHosts) + " nodes");
    };
    auto const close = text.find(']', open);
    if (close == text.npos || text.size() > kLongestRange) no_range();
    std::string_view items = std::string_view(text).substr(open + 1, close - open - 1);
    for (bool more = true; more;) {
      auto const comma = items.find(',');
      auto const item = items.substr(0, comma);
      more = comma != items.npos;
      if (more) items.remove_prefix(comma + 1);
      auto const dash = item.find('-');
      std::uint64_t first = 0;
      std::uint64_t last = 0;
      auto const number = [](std::string_view digits, std::uint64_t& result) {
        auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
        return error == std::errc{} && end == digits.data() + digits.size();
      };
      if (!number(item.substr(0, dash), first)) no_range();
      last = first;
      if (dash != item.npos && !number(item.substr(dash + 1), last)) no_range();
      if (first > last || last - first >= kMaxHosts) no_range();
      auto const width = item.substr(0, dash).size();
      for (auto i = first; i <= last; ++i) {
        auto digits = std::to_string(i);
        digits.insert(0, width > digits.size() ? width - digits.size() : 0, '0');
        each_host(mark, text.substr(0, open) + digits + text.substr(close + 1), path, f);
      }
    }
  }

  std::string const& where_;
  InputLimits limits_;
  Decisions& decisions_;
  TopographModel model_;
  std::map<std::string, std::size_t> host_numbers_;
  std::size_t host_ = kNone;  // in the section 'nodes'
  std::vector<Level> levels_;
  std::uint64_t name_bytes_ = 0;
};

// The scanner keeps half a kilobyte for each open bracket, before any event. Brackets are therefore counted
// first, approximately: brackets in words and comments count too.
void check_brackets(std::string_view text, std::string const& where) {
  std::size_t open = 0;
  for (auto const c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kMaxOpenBrackets)
      throw UserError(where + ": more than " + std::to_string(kMaxOpenBrackets) +
                      " brackets are open at the same time");
  }
}

}  // namespace

TopographModel read_topograph(std::string_view text, std::string const& where, InputLimits const& limits,
                              Decisions& decisions) {
  if (text.size() > kLongestText)
    throw UserError(where + ": a cluster model of " + to_text(ByteSize{text.size()}) +
                    ", but it may have at most " + to_text(ByteSize{kLongestText}));
  check_brackets(text, where);
  Reader reader(where, limits, decisions);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    parser.HandleNextDocument(reader);
  } catch (YAML::Exception const& e) {
    throw UserError(where + ":" + std::to_string(e.mark.line + 1) + ": not valid YAML: " + one_line(e.msg));
  }
  return reader.take();
}

}  // namespace farfault::topologies
