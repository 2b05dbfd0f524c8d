// SPDX-License-Identifier: Apache-2.0
// Communication between ranks: a single process, or MPI. Only transport_mpi.cpp and its shared_letters.hpp
// use MPI.
//
// All functions except exchange() are collective: every rank calls the same ones in the same order. A failed
// rank ends all of them through abort_all(), with one message.
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
  // The state of one rank, or the combined state of several.
  struct Summary {
    Time first = EventQueue::kNever;   // the first pending event, including events just sent
    std::uint64_t first_of = 0;        // the rank of that event
    Time second = EventQueue::kNever;  // the first pending event on the other ranks
    Time bound =
        EventQueue::kNever;  // minimum over ranks of the time before which nothing will happen to the rank
    std::uint64_t flags = 0;

    // Combines both summaries; commutative.
    void add(Summary const& other);
  };
  // Data sent to and received from a neighbour.
  struct Neighbour {
    std::uint32_t rank = 0;
    Mailbox* mail = nullptr;  // sent, and cleared
    // Lower bound on the events that the sender may yet handle, except events caused by the receiver's mail.
    Time bound{};
    Time their_bound{};
    Summary theirs;
  };
  struct Exchanged {
    std::uint64_t messages_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::optional<Summary> all;  // of all ranks, identical on every rank; if requested
  };

  virtual ~Transport() = default;
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;

  // One message to each neighbour and one from each, so that neighbours are never more than one exchange
  // apart. The neighbour relation is symmetric and fixed. Appends received events to `incoming`, by
  // neighbour. `of_all`: requests the summary of all ranks; all ranks must do so at the same exchange.
  virtual Exchanged exchange(std::span<Neighbour> neighbours, Summary const& mine, bool of_all,
                             std::vector<Event>& incoming) = 0;

  virtual std::uint64_t sum(std::uint64_t value) = 0;
  virtual std::uint64_t max(std::uint64_t value) = 0;
  // Rank 0 receives every rank's bytes, in rank order; the others receive nothing.
  virtual std::vector<std::vector<std::byte>> gather(std::span<std::byte const> bytes) = 0;
  virtual void broadcast(std::vector<std::byte>& bytes) = 0;  // from rank 0
  [[noreturn]] virtual void abort_all(int exit_code) = 0;
};

// MPI if this process was started by an MPI launcher (mpirun, srun) and the build supports it; otherwise a
// single process.
std::unique_ptr<Transport> make_transport();
// The rank assigned by the launcher, without starting MPI; 0 without a launcher.
std::uint32_t launched_rank();
// A single process, regardless of the launcher.
std::unique_ptr<Transport> make_single_transport();

}  // namespace farfault
