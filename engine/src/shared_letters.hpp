// SPDX-License-Identifier: Apache-2.0
// Private to transport_mpi.cpp: letters between ranks of one machine, in shared memory.
//
// A letter is the message from one rank to another in one exchange: a header and the first events. It is
// written at the receiver's place and then numbered; both sides pay for the transfer of a cache line
// between two cores. Each pair of sender and receiver has two letters, used alternately: the sender of
// exchange k + 2 has read the receiver's letter of k + 1, which was written after letter k had been read.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "farfault/engine/event.hpp"

namespace farfault {

inline constexpr std::size_t kLetterSlots = 63;  // the header first; one page with the number

class SharedLetters {
 public:
  struct alignas(64) Letter {
    std::uint64_t number;  // of the letter's exchange, counted from 1
    Event slots[kLetterSlots];
  };
  static_assert(sizeof(Letter) == 4096);

  // Collective over all ranks of this machine. If the memory is unavailable, or not wanted, no rank is
  // reached.
  explicit SharedLetters(bool wanted) {
    if (!wanted) return;
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    int ranks = 0;
    MPI_Comm_size(node, &ranks);
    MPI_Comm_rank(node, &here_);
    auto const bytes = static_cast<MPI_Aint>(2 * static_cast<std::size_t>(ranks) * sizeof(Letter));
    if (ranks > 1 && bytes * ranks <= kMaxBytes) share(node, bytes);
    MPI_Comm_free(&node);
  }
  ~SharedLetters() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  }
  SharedLetters(SharedLetters const&) = delete;
  SharedLetters& operator=(SharedLetters const&) = delete;

  bool reaches(std::uint32_t rank) const { return !places_.empty() && places_[rank] >= 0; }

  // The letter to write to a rank, and sending it.
  Event* begin(std::uint32_t to) { return out(to).slots; }
  void send(std::uint32_t to) {
    auto& letter = out(to);
    std::atomic_ref(letter.number).store(++sent_[to], std::memory_order_release);
  }
  // The next letter of a rank: whether it has arrived, its slots, and marking it as read.
  bool has_arrived(std::uint32_t from) {
    return std::atomic_ref(in(from).number).load(std::memory_order_acquire) == read_[from] + 1;
  }
  Event const* slots(std::uint32_t from) { return in(from).slots; }
  void mark_read(std::uint32_t from) { ++read_[from]; }

 private:
  static constexpr MPI_Aint kMaxBytes = MPI_Aint{64} << 20;

  void share(MPI_Comm node, MPI_Aint bytes) {
    void* mine = nullptr;
    int failed =
        MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node, &mine, &window_) != MPI_SUCCESS ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, node);
    if (failed != 0) {
      window_ = MPI_WIN_NULL;  // on ranks that got one: freeing it is collective
      return;
    }
    std::memset(mine, 0, static_cast<std::size_t>(bytes));
    MPI_Barrier(node);

    int world = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    auto const size = static_cast<std::size_t>(world);
    sent_.resize(size);
    read_.resize(size);
    places_.resize(size);
    letters_.resize(size);
    std::vector<int> all(size);
    for (int r = 0; r < world; ++r) all[static_cast<std::size_t>(r)] = r;
    MPI_Group world_group = MPI_GROUP_NULL;
    MPI_Group node_group = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world_group);
    MPI_Comm_group(node, &node_group);
    MPI_Group_translate_ranks(world_group, world, all.data(), node_group, places_.data());
    MPI_Group_free(&world_group);
    MPI_Group_free(&node_group);
    mine_ = static_cast<Letter*>(mine);
    for (std::size_t r = 0; r < size; ++r) {
      if (places_[r] == MPI_UNDEFINED) {
        places_[r] = -1;
        continue;
      }
      MPI_Aint its_bytes = 0;
      int unit = 0;
      MPI_Win_shared_query(window_, places_[r], &its_bytes, &unit, static_cast<void*>(&letters_[r]));
    }
  }

  Letter& out(std::uint32_t to) { return letters_[to][2 * here_ + static_cast<int>(sent_[to] % 2)]; }
  Letter& in(std::uint32_t from) { return mine_[2 * places_[from] + static_cast<int>(read_[from] % 2)]; }

  MPI_Win window_ = MPI_WIN_NULL;
  int here_ = 0;             // this rank's number on the machine
  std::vector<int> places_;  // by rank: its number; -1: on another machine
  Letter* mine_ = nullptr;
  std::vector<Letter*> letters_;  // by rank: the letters that it reads
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> read_;
};

}  // namespace farfault
