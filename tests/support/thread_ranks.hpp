// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process: the engine across ranks in a test program without MPI.
//
//   run_on_ranks(3, [](farfault::Transport& transport) { ... });   // once on each rank, concurrently
#pragma once

#include <barrier>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "farfault/engine/transport.hpp"

class ThreadRanks {
 public:
  explicit ThreadRanks(std::uint32_t ranks) : ranks_(ranks), posted_(ranks), meet_(ranks) {
    for (std::uint32_t i = 0; i < ranks * ranks; ++i) letters_.push_back(std::make_unique<Letters>());
  }

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
    farfault::Transport::Summary summary;
    std::uint64_t value = 0;
    std::span<std::byte const> bytes;
  };

  struct Letter {
    farfault::Time bound;
    farfault::Transport::Summary summary;
    std::vector<farfault::Event> events;
  };
  // From one rank to another, in order.
  struct Letters {
    std::mutex mutex;
    std::condition_variable came;
    std::deque<Letter> letters;

    void put(Letter letter) {
      std::scoped_lock const lock(mutex);
      letters.push_back(std::move(letter));
      came.notify_one();
    }
    Letter take() {
      std::unique_lock lock(mutex);
      came.wait(lock, [&] { return !letters.empty(); });
      auto letter = std::move(letters.front());
      letters.pop_front();
      return letter;
    }
  };

  class Rank final : public farfault::Transport {
   public:
    Rank(ThreadRanks& all, std::uint32_t rank) : all_(all), rank_(rank) {}
    std::uint32_t rank() const override { return rank_; }
    std::uint32_t ranks() const override { return all_.ranks_; }

    Exchanged exchange(std::span<Neighbour> neighbours, Summary const& mine, bool of_all,
                       std::vector<farfault::Event>& incoming) override {
      Exchanged done;
      for (auto& to : neighbours) {
        done.bytes_sent += to.mail->events.size() * sizeof(farfault::Event);
        all_.letters(rank_, to.rank).put({to.bound, mine, to.mail->events});
        to.mail->clear();
      }
      done.messages_sent = neighbours.size();
      for (auto& from : neighbours) {
        auto const letter = all_.letters(from.rank, rank_).take();
        from.their_bound = letter.bound;
        from.theirs = letter.summary;
        incoming.insert(incoming.end(), letter.events.begin(), letter.events.end());
      }
      if (!of_all) return done;
      all_.posted_[rank_].summary = mine;
      all_.meet_.arrive_and_wait();
      done.all = mine;
      for (std::uint32_t r = 0; r < ranks(); ++r)
        if (r != rank_) done.all->add(all_.posted_[r].summary);
      all_.meet_.arrive_and_wait();
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

  Letters& letters(std::uint32_t from, std::uint32_t to) { return *letters_[from * ranks_ + to]; }

  std::uint32_t ranks_;
  std::vector<Posted> posted_;
  std::vector<std::unique_ptr<Letters>> letters_;
  std::barrier<> meet_;
};

inline void run_on_ranks(std::uint32_t ranks, std::function<void(farfault::Transport&)> const& body) {
  ThreadRanks(ranks).run(body);
}
