// SPDX-License-Identifier: Apache-2.0
// Private: the data that a rank sends to its neighbours, the ranks with which it shares links, and the bounds
// that follow from it.
//
// Exchanges are numbered, and each rank does exchange k once with each neighbour. Rank s sends rank i its
// events for i and one time, the bound B(s,i): s will handle no earlier event, except events caused by mail
// from i sent after this exchange. B(s,i) is the minimum of
//   - the first event pending on s, and
//   - over s's neighbours q other than i: A(q) + shortest link from q to s.
// A(q) is s's bound for q: the minimum of B(q,s), as of the last exchange, and of the
// first event that s has sent to q since then.
//
// Safety. Consider an event that s handles after exchange k, and follow its causes back in time, within s, to
// the first event on s after exchange k. There are three cases. (1) It was pending on s at the exchange. (2)
// It arrived from a neighbour q other than i, by a later exchange. Then A(q) bounds it, unless q sent it
// because of mail that s itself sent after the exchange; in that case an earlier event on s is among its
// causes, a contradiction. (3) It arrived from i by mail sent later, which B(s,i) excludes: i accounts for it
// by its own first event and the shortest path back to it (LaneMap). A bound therefore grows by one link per
// rank on its path, and excludes nothing but the receiver's own echo.
//
// Progress. Every bound is a link above the bounds that it is computed from, so even without events the
// minimum grows by the shortest link with every exchange. Over idle stretches, where the bounds lag behind
// the first event of all, ranks skip ahead: the summary of all ranks, at an exchange whose number is known to
// all, gives that first event, and the first one outside a rank. If every two ranks are neighbours, the
// summary needs no further message. It is requested at every exchange while it skips ahead, and otherwise at
// growing intervals, up to every kLongestGap, but no later than the end of the run may be reached. It also
// announces the end of the run, or a stop, to all ranks alike.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "horizons.hpp"

namespace farfault {

class NeighbourBounds {
 public:
  explicit NeighbourBounds(LaneMap const& map);

  // Resets: neighbours may have events from time zero on.
  void forget();

  // Fills in the data for each neighbour, except its mail; `first` is the first event pending here.
  void send(std::vector<Transport::Neighbour>& neighbours, Time first);
  // This rank's contribution to the summary of all.
  Transport::Summary& mine() { return mine_; }
  // True if the summary must be requested at this exchange; identical on all ranks.
  bool asks() const { return !map_.all_are_peers() && until_summary_ == 0; }
  // Processes received data: sets the horizons' bounds of peers. Returns the summary of all if it is known.
  // A run, with the same `end` on all ranks, can end only at a summary.
  std::optional<Transport::Summary> receive(std::vector<Transport::Neighbour> const& neighbours,
                                            std::optional<Transport::Summary> all, Time end,
                                            Horizons& horizons);

 private:
  static constexpr std::uint32_t kLongestGap = 16;

  LaneMap const& map_;
  std::vector<Time> known_;  // A(q), by peer
  std::vector<Time> mail_;   // the first event that the last exchange sent, by peer
  Transport::Summary mine_;
  Time reached_{};         // the first event of all as of the last summary
  std::uint32_t gap_ = 1;  // exchanges from one summary to the next
  std::uint32_t until_summary_ = 0;
};

}  // namespace farfault
