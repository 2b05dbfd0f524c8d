// Ranks that are threads of one process: the engine across ranks, in a test program without MPI.
//
//   run_on_ranks(3, [](farfault::Transport& transport) { ... });   // once on each rank, side by side
#pragma once

#include <barrier>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "farfault/engine/transport.hpp"

class ThreadRanks {
 public:
  explicit ThreadRanks(std::uint32_t ranks) : ranks_(ranks), posted_(ranks), meet_(ranks) {}

  void run(std::function<void(farfault::Transport&)> const& body) {
    std::vector<std::jthread> threads;
    for (std::uint32_t r = 0; r < ranks_; ++r)
      threads.emplace_back([this, r, &body] {
        Rank rank(*this, r);
        body(rank);
      });
  }

 private:
  struct Posted {
    farfault::Transport::RankState state;
    std::span<farfault::Mailbox> outgoing;
    std::uint64_t value = 0;
    std::span<std::byte const> bytes;
  };

  class Rank final : public farfault::Transport {
   public:
    Rank(ThreadRanks& all, std::uint32_t rank) : all_(all), rank_(rank) {}
    std::uint32_t rank() const override { return rank_; }
    std::uint32_t ranks() const override { return all_.ranks_; }

    Exchanged exchange(RankState const& mine, std::span<farfault::Mailbox> outgoing,
                       std::vector<farfault::Event>& incoming, std::vector<RankState>& states) override {
      all_.posted_[rank_].state = mine;
      all_.posted_[rank_].outgoing = outgoing;
      all_.meet_.arrive_and_wait();
      Exchanged done;
      states.assign(ranks(), mine);
      for (std::uint32_t r = 0; r < ranks(); ++r) {
        auto const& theirs = all_.posted_[r];
        done.first = std::min(done.first, theirs.state.next);
        states[r] = theirs.state;
        for (std::uint32_t to = 0; to < ranks(); ++to) {
          auto const& box = theirs.outgoing[to];
          done.first = std::min(done.first, box.earliest);
          if (r == rank_) done.bytes_sent += box.events.size() * sizeof(farfault::Event);
          if (to == rank_) incoming.insert(incoming.end(), box.events.begin(), box.events.end());
          if (r != rank_ && to != rank_) states[r].mail = std::min(states[r].mail, box.earliest);
        }
        if (r != rank_) states[r].next = std::min(states[r].next, outgoing[r].earliest);
      }
      all_.meet_.arrive_and_wait();
      for (auto& box : outgoing) box.clear();
      return done;
    }

    std::uint64_t sum(std::uint64_t value) override {
      std::uint64_t total = 0;
      for (auto const v : values(value)) total += v;
      return total;
    }
    std::uint64_t max(std::uint64_t value) override {
      std::uint64_t most = 0;
      for (auto const v : values(value)) most = std::max(most, v);
      return most;
    }
    std::vector<std::vector<std::byte>> gather(std::span<std::byte const> bytes) override {
      all_.posted_[rank_].bytes = bytes;
      all_.meet_.arrive_and_wait();
      std::vector<std::vector<std::byte>> parts;
      if (rank_ == 0)
        for (auto const& p : all_.posted_) parts.emplace_back(p.bytes.begin(), p.bytes.end());
      all_.meet_.arrive_and_wait();
      return parts;
    }
    void broadcast(std::vector<std::byte>& bytes) override {
      all_.posted_[rank_].bytes = bytes;
      all_.meet_.arrive_and_wait();
      auto const& first = all_.posted_[0].bytes;
      if (rank_ != 0) bytes.assign(first.begin(), first.end());
      all_.meet_.arrive_and_wait();
    }
    void abort_all(int exit_code) override { std::_Exit(exit_code); }

   private:
    std::vector<std::uint64_t> values(std::uint64_t mine) {
      all_.posted_[rank_].value = mine;
      all_.meet_.arrive_and_wait();
      std::vector<std::uint64_t> all;
      for (auto const& p : all_.posted_) all.push_back(p.value);
      all_.meet_.arrive_and_wait();
      return all;
    }

    ThreadRanks& all_;
    std::uint32_t rank_;
  };

  std::uint32_t ranks_;
  std::vector<Posted> posted_;
  std::barrier<> meet_;
};

inline void run_on_ranks(std::uint32_t ranks, std::function<void(farfault::Transport&)> const& body) {
  ThreadRanks(ranks).run(body);
}
