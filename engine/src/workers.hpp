// SPDX-License-Identifier: Apache-2.0
// Private: oneTBB threads that share the tasks of a round.
//
// One member leads; the others help when they are there. A round is complete whoever ran its tasks, so
// nothing depends on how many threads oneTBB really gives, and no member waits for one that has not come. A
// task is first offered to one worker, the same in every round, then to all; those with the highest cost, to
// within a factor of two, are taken first. Members that wait long sleep: where rounds are too sparse to be
// shared, or threads outnumber cores, they leave the core to the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace farfault {

class Affinity;
class Arena;

class Workers {
 public:
  // `bind`: each member to a core of its own while it runs.
  Workers(std::uint32_t threads, std::uint32_t tasks, bool bind);
  ~Workers();
  Workers(Workers const&) = delete;
  Workers& operator=(Workers const&) = delete;

  std::uint32_t threads() const { return threads_; }
  // Whether the threads of the ranks on this machine outnumber its cores. They then sleep at once where they
  // would else look out for a round, and waking them costs more than a small round.
  bool crowded() const { return crowded_; }

  // Runs `lead` on one of the threads, while the others wait for rounds until it returns. What it or a
  // task throws (there may be no memory left) is thrown on.
  void run(std::function<void()> const& lead);

  struct Turn {
    std::uint32_t task;
    std::uint64_t cost;  // in any unit, as far as it is known
  };
  // From `lead`: runs task(i) for every i of `turns`, shared with whoever is there; returns when all are
  // done.
  void round(std::span<Turn const> turns, std::function<void(std::uint32_t)> const& task);

 private:
  // The turns first offered to one member, from the highest cost on: positions in order_. Round, end and next
  // position are one word, so that whoever comes late to a round takes nothing of the one after.
  struct alignas(64) Offer {
    std::atomic<std::uint64_t> word{0};
  };

  void join();
  void help(std::uint32_t member);
  void sleep(std::uint64_t seen);  // until there is a round after `seen`, or no more
  void ring();                     // wakes sleepers
  void offer(std::span<Turn const> turns, std::uint64_t round);
  void work(std::uint32_t member, std::uint64_t round);
  void keep_failure();

  std::uint32_t threads_;
  std::uint32_t tasks_;
  bool crowded_;
  int spins_;
  std::vector<Offer> offers_;          // by member
  std::vector<std::uint32_t> order_;   // the tasks of a round, member by member
  std::vector<std::uint32_t> bounds_;  // of members and costs in order_
  std::function<void()> const* lead_ = nullptr;
  std::function<void(std::uint32_t)> const* task_ = nullptr;
  alignas(64) std::atomic<std::uint64_t> round_{0};
  alignas(64) std::atomic<std::uint32_t> left_{0};
  alignas(64) std::atomic<bool> over_{false};
  std::atomic<std::uint32_t> members_{0};  // that came to this run
  std::atomic<std::uint32_t> gone_{0};     // of them, that are through
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<std::uint32_t> bell_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  std::unique_ptr<Affinity const> affinity_;  // null: not bound
  std::unique_ptr<Arena> arena_;              // null: one thread, the caller's
};

}  // namespace farfault
