// How ranks talk: one process alone, or MPI. The only file that knows MPI is transport_mpi.cpp.
//
// All functions are collective: every rank calls the same ones in the same order. A rank that fails ends all
// of them through abort_all(), with one message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "farfault/engine/lane.hpp"

namespace farfault {

class Transport {
 public:
  struct RankState {
    Time next = EventQueue::kNever;  // the first event pending on the rank, those from here included
    Time mail = EventQueue::kNever;  // the first event that it has just sent to ranks other than this one
    std::uint64_t flags = 0;         // or-ed over ranks by the caller
  };
  struct Exchanged {
    std::uint64_t bytes_sent = 0;
    Time first = EventQueue::kNever;  // the first event pending anywhere, on every rank the same
  };

  virtual ~Transport() = default;
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;

  // Sends outgoing[r] to rank r (and clears it), appends what others sent here to `incoming`, and fills
  // `states` (by rank) from every rank's own next time and flags.
  virtual Exchanged exchange(RankState const& mine, std::span<Mailbox> outgoing, std::vector<Event>& incoming,
                             std::vector<RankState>& states) = 0;

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
