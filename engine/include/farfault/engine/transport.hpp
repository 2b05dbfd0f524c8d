// SPDX-License-Identifier: Apache-2.0
// How ranks talk: one process alone, or MPI. Only transport_mpi.cpp and its shared_letters.hpp know MPI.
//
// All functions but exchange() are collective: every rank calls the same ones in the same order. A rank that
// fails ends all of them through abort_all(), with one message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "farfault/engine/lane.hpp"

namespace farfault {

class Transport {
 public:
  // What one rank knows of itself, or what follows from that of several.
  struct Summary {
    Time first = EventQueue::kNever;   // the first event pending, those that it has just sent included
    std::uint64_t first_of = 0;        // the rank of that event
    Time second = EventQueue::kNever;  // the first event pending on the other ranks
    Time bound =
        EventQueue::kNever;  // the least time before which a rank knows that nothing will happen to it
    std::uint64_t flags = 0;

    // The summary of both; the order does not matter.
    void add(Summary const& other);
  };
  // What goes to a neighbour and what comes from it.
  struct Neighbour {
    std::uint32_t rank = 0;
    Mailbox* mail = nullptr;  // sent, and cleared
    // A bound of what the sender may yet handle, but for what mail from the receiver makes it do.
    Time bound{};
    Time their_bound{};
    Summary theirs;
  };
  struct Exchanged {
    std::uint64_t messages_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::optional<Summary> all;  // of all ranks, on every rank the same; where it was asked for
  };

  virtual ~Transport() = default;
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;

  // One message to each neighbour and one from each, so that neighbours are never more than one exchange
  // apart. Ranks are neighbours of each other, and stay so. Appends what they sent to `incoming`, by
  // neighbour. `of_all`: asks for the summary of all ranks; all of them must do so at the same exchange.
  virtual Exchanged exchange(std::span<Neighbour> neighbours, Summary const& mine, bool of_all,
                             std::vector<Event>& incoming) = 0;

  virtual std::uint64_t sum(std::uint64_t value) = 0;
  virtual std::uint64_t max(std::uint64_t value) = 0;
  // Rank 0 gets every rank's bytes, in rank order; the others get nothing.
  virtual std::vector<std::vector<std::byte>> gather(std::span<std::byte const> bytes) = 0;
  virtual void broadcast(std::vector<std::byte>& bytes) = 0;  // from rank 0
  [[noreturn]] virtual void abort_all(int exit_code) = 0;
};

// MPI when this process was started by an MPI launcher (mpirun, srun) and the build has it; else one process
// alone.
std::unique_ptr<Transport> make_transport();
// The rank that the launcher gave this process, told without starting MPI; 0 without a launcher.
std::uint32_t launched_rank();
// One process alone, whatever started it.
std::unique_ptr<Transport> make_single_transport();

}  // namespace farfault
