// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "transport_mpi.hpp"

namespace farfault {

namespace {

class SingleTransport final : public Transport {
 public:
  std::uint32_t rank() const override { return 0; }
  std::uint32_t ranks() const override { return 1; }
  Exchanged exchange(std::span<Neighbour>, Summary const& mine, bool, std::vector<Event>&) override {
    return {0, 0, mine};
  }
  std::uint64_t sum(std::uint64_t value) override { return value; }
  std::uint64_t max(std::uint64_t value) override { return value; }
  std::vector<std::vector<std::byte>> gather(std::span<std::byte const> bytes) override {
    return {std::vector<std::byte>(bytes.begin(), bytes.end())};
  }
  void broadcast(std::vector<std::byte>&) override {}
  void abort_all(int exit_code) override { std::exit(exit_code); }
};

}  // namespace

void Transport::Summary::add(Summary const& other) {
  auto const& earlier = std::pair(other.first, other.first_of) < std::pair(first, first_of) ? other : *this;
  auto const& later = &earlier == this ? other : *this;
  auto const next = std::min(earlier.second, later.first);
  *this = {.first = earlier.first,
           .first_of = earlier.first_of,
           .second = next,
           .bound = std::min(bound, other.bound),
           .flags = flags | other.flags};
}

std::unique_ptr<Transport> make_single_transport() {
  return std::make_unique<SingleTransport>();
}

std::uint32_t launched_rank() {
  for (auto const* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (auto const* rank = std::getenv(name))
      return static_cast<std::uint32_t>(std::strtoul(rank, nullptr, 10));
  return 0;
}

std::unique_ptr<Transport> make_transport() {
  // Starting MPI costs more than a small run, so it is done only under a launcher.
  for (auto const* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"})
    if (std::getenv(name) != nullptr)
      if (auto mpi = make_mpi_transport()) return mpi;
  return make_single_transport();
}

}  // namespace farfault
