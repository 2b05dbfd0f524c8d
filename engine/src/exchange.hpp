// SPDX-License-Identifier: Apache-2.0
// Private: what a rank tells its neighbours, the ranks with which it shares links, and what it may conclude.
//
// Exchanges are numbered, and each rank does exchange k once with each neighbour. Rank s sends rank i its
// events for i and one time, the bound B(s,i): s will handle nothing earlier, but for what mail from i, sent
// after this exchange, makes it do. B(s,i) is the least of
//   - the first event pending on s, and
//   - what may yet reach s from its neighbours q other than i: A(q) + shortest link from q to s.
// A(q) is what s knows of q in the same sense: the lesser of B(q,s), as of the last exchange, and of the
// first event that s has sent to q since then.
//
// Safety. Take an event that s handles after exchange k, and follow what caused it back in time, within s, to
// the first such event. It was pending on s at the exchange; or it came from a neighbour q other than i, by a
// later exchange, and A(q) bounds it, unless q was made to send it by mail that s itself sent after the
// exchange - and then an earlier event on s is among its causes, which cannot be as it is the first; or it
// came from i by mail sent later, which B(s,i) leaves out: i counts those itself, by its own first event and
// the shortest way back to it (LaneMap). So what one rank adds to a bound on its way is a link, and nothing
// but its own echo is left out.
//
// Progress. Every bound is a link above the bounds that it is made of, so that even where nothing happens the
// least of them grows by the shortest link with every exchange. Over idle stretches, where the bounds fall
// behind the first event of all, ranks leap: the summary of all ranks, at an exchange that all of them count
// alike, gives that first event, and the first but for a rank's own. Where every two ranks are neighbours,
// the summary needs no further message. It is asked for at every exchange while it leaps, and ever more
// seldom, up to every kLongestGap, where it does not, but no later than the end of the run may be reached. It
// also tells all ranks alike that the run is at its end, or is to stop.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "horizons.hpp"

namespace farfault {

class NeighbourBounds {
 public:
  explicit NeighbourBounds(LaneMap const& map);

  // Neighbours may have events from time zero on.
  void forget();

  // Fills in what goes to each neighbour, besides its mail; `first` is the first event pending here.
  void send(std::vector<Transport::Neighbour>& neighbours, Time first);
  // What this rank contributes to the summary of all.
  Transport::Summary& mine() { return mine_; }
  // Whether the summary must be asked for at this exchange: on all ranks the same.
  bool asks() const { return !map_.all_are_peers() && until_summary_ == 0; }
  // What came: sets the horizons' bounds of peers. Returns the summary of all where it is now known.
  // The run, which goes on until `end` on all ranks, can end at a summary only.
  std::optional<Transport::Summary> receive(std::vector<Transport::Neighbour> const& neighbours,
                                            std::optional<Transport::Summary> all, Time end,
                                            Horizons& horizons);

 private:
  static constexpr std::uint32_t kLongestGap = 16;

  LaneMap const& map_;
  std::vector<Time> known_;  // A(q), by peer
  std::vector<Time> mail_;   // the first event that the last exchange sent, by peer
  Transport::Summary mine_;
  Time reached_{};         // the first event of all as of the last summary: nothing earlier happens anywhere
  std::uint32_t gap_ = 1;  // exchanges from one summary to the next
  std::uint32_t until_summary_ = 0;
};

}  // namespace farfault
