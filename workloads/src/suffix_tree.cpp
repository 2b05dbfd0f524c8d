// SPDX-License-Identifier: Apache-2.0
#include "suffix_tree.hpp"

#include <algorithm>
#include <bit>

#include "random.hpp"

namespace farfault::workloads {
namespace {

constexpr std::uint32_t kRoot = SuffixTree::kRoot;

// Positions start from 0, ends are exclusive; both are renumbered at the end.
class Ukkonen {
 public:
  explicit Ukkonen(std::vector<std::uint8_t> const& bases) : text_(bases) {
    text_.push_back(kEndMark);
    end_ = static_cast<std::uint32_t>(text_.size());
    nodes_.reserve(2 * text_.size() + 2);
    nodes_.resize(2);
    nodes_[kRoot].suffix = kRoot;
    for (std::uint32_t i = 0; i < end_; ++i) extend(i);
  }

  SuffixTree take() {
    std::vector<std::uint32_t> order{kRoot};  // breadth-first
    std::vector<std::uint32_t> number(nodes_.size());
    order.reserve(nodes_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      number[order[i]] = static_cast<std::uint32_t>(i) + kRoot;
      for (auto const child : nodes_[order[i]].children)
        if (child != 0) order.push_back(child);
    }
    SuffixTree tree;
    tree.nodes.resize(nodes_.size());
    for (auto const old : order) {
      auto const& from = nodes_[old];
      auto& to = tree.nodes[number[old]];
      if (old != kRoot) to = {from.start + 1, from.end, 0, {}};
      to.suffix = number[from.suffix];
      for (std::size_t c = 0; c < to.children.size(); ++c) to.children[c] = number[from.children[c]];
    }
    return tree;
  }

 private:
  std::uint32_t add(std::uint32_t start, std::uint32_t end) {
    nodes_.push_back({start, end, 0, {}});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  // The suffix link of the last inner node of this phase points to the next one.
  void link(std::uint32_t to) {
    if (unlinked_ > kRoot) nodes_[unlinked_].suffix = to;
    unlinked_ = to;
  }

  // Extends the tree by the character at i. Leaves end at the end of the text.
  void extend(std::uint32_t i) {
    unlinked_ = 0;
    ++open_;
    while (open_ > 0) {
      if (along_ == 0) edge_ = i;
      auto const next = nodes_[at_].children[text_[edge_]];
      if (next == 0) {
        auto const leaf = add(i, end_);
        nodes_[at_].children[text_[edge_]] = leaf;
        link(at_);
      } else {
        auto const long_ = nodes_[next].end - nodes_[next].start;
        if (along_ >= long_) {
          edge_ += long_;
          along_ -= long_;
          at_ = next;
          continue;
        }
        if (text_[nodes_[next].start + along_] == text_[i]) {
          ++along_;
          link(at_);
          return;
        }
        auto const split = add(nodes_[next].start, nodes_[next].start + along_);
        auto const leaf = add(i, end_);
        nodes_[at_].children[text_[edge_]] = split;
        nodes_[split].children[text_[i]] = leaf;
        nodes_[next].start += along_;
        nodes_[split].children[text_[nodes_[next].start]] = next;
        nodes_[split].suffix = kRoot;
        link(split);
      }
      --open_;
      if (at_ == kRoot && along_ > 0) {
        --along_;
        edge_ = i - open_ + 1;
      } else if (at_ != kRoot) {
        at_ = nodes_[at_].suffix;
      }
    }
  }

  std::vector<std::uint8_t> text_;
  std::vector<SuffixTree::Node> nodes_;
  std::uint32_t end_ = 0;
  std::uint32_t at_ = kRoot, edge_ = 0, along_ = 0;  // end of the longest open suffix
  std::uint32_t open_ = 0;                           // suffixes without a leaf
  std::uint32_t unlinked_ = 0;
};

// A warp of queries in lockstep.
class Warp {
 public:
  Warp(SuffixTree const& tree, std::vector<std::uint8_t> const& sequence, std::uint32_t length,
       std::uint32_t shortest, TreeWalk& walk)
      : tree_(tree), sequence_(sequence), length_(length), shortest_(shortest), walk_(walk) {}

  void run(std::uint8_t const* queries, std::uint32_t lanes) {
    std::uint64_t const all = lanes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lanes) - 1;
    for (std::uint32_t i = 0; i < lanes; ++i) threads_[i] = {queries + std::uint64_t{i} * length_};
    for (start_ = 0; start_ + shortest_ <= length_; ++start_) {
      each(all, [&](Thread& t) {
        if (t.at == 0 || t.next < 1) {
          t.at = kRoot;
          t.next = 1;
          t.skip = 0;
        }
      });
      read_bases(all);
      descend(all);
      record(Fetch::suffix, all, [](Thread const& t) { return t.parent; });
      each(all, [&](Thread& t) { t.at = tree_.nodes[t.parent].suffix; });
    }
  }

 private:
  struct Thread {
    std::uint8_t const* query = nullptr;
    std::uint32_t at = 0;  // node; 0: start at the root
    std::uint32_t parent = 0;
    std::uint32_t next = 0;       // the next base, relative to the start, from 1
    std::uint32_t skip = 0;       // bases known to match
    std::uint32_t reference = 0;  // position
    std::uint8_t base = 0;        // the end mark after the last base
  };

  static std::size_t lane_of(std::uint64_t lanes) {
    return static_cast<std::size_t>(std::countr_zero(lanes));
  }
  template <class Use>
  void each(std::uint64_t lanes, Use use) {
    for (auto left = lanes; left != 0; left &= left - 1) use(threads_[lane_of(left)]);
  }
  template <class Test>
  std::uint64_t which(std::uint64_t lanes, Test test) {
    std::uint64_t found = 0;
    for (auto left = lanes; left != 0; left &= left - 1)
      if (test(threads_[lane_of(left)])) found |= left & (~left + 1);
    return found;
  }
  template <class Value>
  void record(Fetch fetch, std::uint64_t lanes, Value value) {
    if (lanes == 0) return;
    walk_.steps.push_back({lanes, walk_.values.size(), fetch});
    each(lanes, [&](Thread const& t) { walk_.values.push_back(value(t)); });
  }

  void read_bases(std::uint64_t lanes) {
    record(Fetch::base, lanes, [&](Thread const& t) { return start_ + t.next; });
    each(lanes, [&](Thread& t) {
      auto const i = start_ + t.next - 1;
      t.base = i < length_ ? t.query[i] : kEndMark;
    });
  }

  void results(std::uint64_t lanes) {
    record(Fetch::result, which(lanes, [&](Thread const& t) { return t.next > shortest_; }),
           [&](Thread const&) { return start_; });
  }

  void descend(std::uint64_t lanes) {
    auto const all = lanes;
    std::uint64_t without_edge = 0;
    while (lanes != 0) {
      record(Fetch::children, lanes, [](Thread const& t) { return t.at; });
      each(lanes, [&](Thread& t) {
        t.parent = t.at;
        t.at = tree_.nodes[t.at].children[t.base];
      });
      auto const ended = which(lanes, [](Thread const& t) { return t.at == 0; });
      results(ended);
      each(ended, [](Thread& t) {
        --t.next;
        t.skip = 0;
      });
      without_edge |= ended;
      lanes &= ~ended;
      record(Fetch::node, lanes, [](Thread const& t) { return t.at; });
      each(lanes, [&](Thread& t) {
        auto const& node = tree_.nodes[t.at];
        // The first base of an edge was compared when the edge was selected.
        auto const known = std::min(std::max(t.skip, 1U), node.end - node.start + 1);
        t.reference = node.start + known;
        t.next += known;
        t.skip = t.skip > known ? t.skip - known : 0;
      });
      read_bases(lanes);
      lanes = along_edges(lanes);
    }
    auto const matched = all & ~without_edge;
    results(matched);
    each(matched, [&](Thread& t) {
      t.skip = t.reference - tree_.nodes[t.at].start;
      t.next -= t.skip + 1;
    });
  }

  // Returns the lanes that reach the next node.
  std::uint64_t along_edges(std::uint64_t lanes) {
    auto const on_edge = [&](Thread const& t) {
      return t.reference <= tree_.nodes[t.at].end && t.base != kEndMark;
    };
    std::uint64_t differs = 0;
    for (auto walking = which(lanes, on_edge); walking != 0; walking = which(walking, on_edge)) {
      record(Fetch::reference, walking, [](Thread const& t) { return t.reference; });
      auto const other = which(walking, [&](Thread const& t) {
        return t.reference > sequence_.size() || sequence_[t.reference - 1] != t.base;
      });
      differs |= other;
      walking &= ~other;
      each(walking, [](Thread& t) {
        ++t.next;
        ++t.reference;
      });
      read_bases(walking);
    }
    return which(lanes & ~differs, [](Thread const& t) { return t.base != kEndMark; });
  }

  SuffixTree const& tree_;
  std::vector<std::uint8_t> const& sequence_;
  std::uint32_t length_, shortest_;
  TreeWalk& walk_;
  std::uint32_t start_ = 0;
  std::array<Thread, 64> threads_{};
};

}  // namespace

SuffixTree build_suffix_tree(std::vector<std::uint8_t> const& bases) {
  return Ukkonen(bases).take();
}

std::vector<std::uint8_t> random_bases(std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint8_t> bases(count);
  Random random(seed);
  for (auto& b : bases) b = static_cast<std::uint8_t>(random.below(kBases));
  return bases;
}

std::vector<std::uint8_t> make_queries(std::vector<std::uint8_t> const& sequence, std::uint64_t count,
                                       std::uint32_t length, double foreign, std::uint64_t seed) {
  constexpr std::uint64_t kUnit = 1ULL << 30;
  std::vector<std::uint8_t> queries;
  queries.reserve(count * length);
  Random random(seed ^ 0x51);
  for (std::uint64_t q = 0; q < count; ++q) {
    if (static_cast<double>(random.below(kUnit)) < foreign * static_cast<double>(kUnit)) {
      for (std::uint32_t i = 0; i < length; ++i)
        queries.push_back(static_cast<std::uint8_t>(random.below(kBases)));
    } else {
      auto const* const from = sequence.data() + random.below(sequence.size() - length + 1);
      queries.insert(queries.end(), from, from + length);
    }
  }
  return queries;
}

TreeWalk walk_tree(SuffixTree const& tree, std::vector<std::uint8_t> const& sequence,
                   std::vector<std::uint8_t> const& queries, std::uint32_t length, std::uint32_t shortest,
                   std::uint32_t warp_width) {
  TreeWalk walk;
  Warp warp(tree, sequence, length, shortest, walk);
  auto const count = queries.size() / length;
  for (std::uint64_t q = 0; q < count; q += warp_width) {
    walk.first_step.push_back(walk.steps.size());
    warp.run(queries.data() + q * length,
             static_cast<std::uint32_t>(std::min<std::uint64_t>(warp_width, count - q)));
  }
  walk.first_step.push_back(walk.steps.size());
  return walk;
}

}  // namespace farfault::workloads
