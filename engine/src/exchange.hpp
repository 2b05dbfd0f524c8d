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
// docs/developing/engine.md, "Bounds between ranks", shows that these bounds are safe and grow.
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
