// SPDX-License-Identifier: Apache-2.0
// Private: oneTBB threads that share the tasks of a round.
//
// One member leads; the others help when they have arrived. Any member may run any task of a round, so
// the result is independent of the number of threads that oneTBB provides, and no member waits for one that
// has not arrived. A task is first offered to one worker, the same in every round, then to all; tasks with
// the highest cost, to within a factor of two, are taken first. Members that wait long sleep: if rounds are
// too sparse to be shared, or threads outnumber cores, they leave the core to the others.
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
  // `bind`: binds each member to its own core while it runs.
  Workers(std::uint32_t threads, std::uint32_t tasks, bool bind);
  ~Workers();
  Workers(Workers const&) = delete;
  Workers& operator=(Workers const&) = delete;

  std::uint32_t threads() const { return threads_; }
  // True if the threads of the ranks on this machine outnumber its cores. They then sleep immediately instead
  // of polling for a round, and waking them costs more than a small round.
  bool crowded() const { return crowded_; }

  // Runs `lead` on one of the threads, while the others wait for rounds until it returns. An exception of
  // `lead` or a task (e.g. out of memory) is rethrown.
  void run(std::function<void()> const& lead);

  struct Turn {
    std::uint32_t task;
    std::uint64_t cost;  // estimate, in any unit
  };
  // Called from `lead`: runs task(i) for every i of `turns`, shared with the present members; returns when
  // all are done.
  void round(std::span<Turn const> turns, std::function<void(std::uint32_t)> const& task);

 private:
  // The turns first offered to one member, in descending order of cost: positions in order_. Round, end and
  // next position are one word, so that a latecomer to a round takes nothing of the next one.
  struct alignas(64) Offer {
    std::atomic<std::uint64_t> word{0};
  };

  void join();
  void help(std::uint32_t member);
  void sleep(std::uint64_t seen);  // until there is a round after `seen`, or the run is over
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
  std::atomic<std::uint32_t> members_{0};  // that joined this run
  std::atomic<std::uint32_t> gone_{0};     // of these, that have left
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<std::uint32_t> bell_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  std::unique_ptr<Affinity const> affinity_;  // null: not bound
  std::unique_ptr<Arena> arena_;              // null: one thread, the caller's
};

}  // namespace farfault
