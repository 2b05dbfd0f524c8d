#include "transport_mpi.hpp"

#include "farfault/engine/error.hpp"

#ifdef FARFAULT_MPI
// The C++ bindings of MPI-2 are not used and do not compile under our warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#endif

namespace farfault {

#ifdef FARFAULT_MPI

namespace {

constexpr int kEventTag = 1;

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized == 0) MPI_Init(nullptr, nullptr);
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank_ = static_cast<std::uint32_t>(rank);
    size_ = static_cast<std::uint32_t>(size);
    row_ = 2 + 2 * std::size_t{size_};
    mine_.resize(row_);
    all_.resize(row_ * size_);
    requests_.reserve(2 * std::size_t{size_});
  }
  ~MpiTransport() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Finalize();
  }
  MpiTransport(MpiTransport const&) = delete;
  MpiTransport& operator=(MpiTransport const&) = delete;

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return size_; }

  // A row a rank: next event time, flags, then for every destination how many events come and the earliest of
  // them.
  std::uint64_t exchange(RankState const& mine, std::span<Mailbox> outgoing, std::vector<Event>& incoming,
                         std::vector<RankState>& states) override {
    mine_[0] = static_cast<std::uint64_t>(picoseconds(mine.next));
    mine_[1] = mine.flags;
    for (std::size_t r = 0; r < size_; ++r) {
      mine_[2 + 2 * r] = outgoing[r].events.size();
      mine_[3 + 2 * r] = static_cast<std::uint64_t>(picoseconds(outgoing[r].earliest));
    }
    MPI_Allgather(mine_.data(), static_cast<int>(row_), MPI_UINT64_T, all_.data(), static_cast<int>(row_),
                  MPI_UINT64_T, MPI_COMM_WORLD);
    states.assign(size_, RankState{});
    std::uint64_t arriving = 0;
    for (std::size_t r = 0; r < size_; ++r) {
      states[r].next = Time{Duration{static_cast<std::int64_t>(at(r, 0))}};
      states[r].flags = at(r, 1);
      for (std::size_t s = 0; s < size_; ++s)
        states[r].next =
            std::min(states[r].next, Time{Duration{static_cast<std::int64_t>(at(s, 3 + 2 * r))}});
      arriving += at(r, 2 + 2 * std::size_t{rank_});
    }
    auto position = incoming.size();
    incoming.resize(position + arriving);
    requests_.clear();
    for (std::size_t r = 0; r < size_; ++r) {
      auto const n = at(r, 2 + 2 * std::size_t{rank_});
      if (n == 0) continue;
      start(n, [&](int bytes) {
        MPI_Irecv(incoming.data() + position, bytes, MPI_BYTE, static_cast<int>(r), kEventTag, MPI_COMM_WORLD,
                  &requests_.emplace_back());
      });
      position += n;
    }
    std::uint64_t bytes_sent = row_ * 8 * (size_ - 1);
    for (std::size_t r = 0; r < size_; ++r) {
      auto const n = outgoing[r].events.size();
      if (n == 0) continue;
      bytes_sent += n * sizeof(Event);
      start(n, [&](int bytes) {
        MPI_Isend(outgoing[r].events.data(), bytes, MPI_BYTE, static_cast<int>(r), kEventTag, MPI_COMM_WORLD,
                  &requests_.emplace_back());
      });
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (auto& box : outgoing) box.clear();
    return bytes_sent;
  }

  std::uint64_t sum(std::uint64_t value) override { return reduce(value, MPI_SUM); }
  std::uint64_t max(std::uint64_t value) override { return reduce(value, MPI_MAX); }

  std::vector<std::vector<std::byte>> gather(std::span<std::byte const> bytes) override {
    auto const n = static_cast<int>(bytes.size());
    std::vector<int> sizes(size_);
    MPI_Gather(&n, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<int> offsets(size_);
    int total = 0;
    if (rank_ == 0) {
      for (std::size_t r = 0; r < size_; ++r) {
        offsets[r] = total;
        total += sizes[r];
      }
    }
    std::vector<std::byte> all(static_cast<std::size_t>(total));
    MPI_Gatherv(bytes.data(), n, MPI_BYTE, all.data(), sizes.data(), offsets.data(), MPI_BYTE, 0,
                MPI_COMM_WORLD);
    std::vector<std::vector<std::byte>> parts;
    if (rank_ == 0)
      for (std::size_t r = 0; r < size_; ++r)
        parts.emplace_back(all.begin() + offsets[r], all.begin() + offsets[r] + sizes[r]);
    return parts;
  }

  void broadcast(std::vector<std::byte>& bytes) override {
    std::uint64_t n = bytes.size();
    MPI_Bcast(&n, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    bytes.resize(n);
    MPI_Bcast(bytes.data(), static_cast<int>(n), MPI_BYTE, 0, MPI_COMM_WORLD);
  }

  void abort_all(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  std::uint64_t at(std::size_t rank, std::size_t column) const { return all_[rank * row_ + column]; }

  template <class Post>
  static void start(std::uint64_t events, Post&& post) {
    FF_CHECK(events < (std::uint64_t{1} << 25), "one exchange carries over 2 GiB of events");
    post(static_cast<int>(events * sizeof(Event)));
  }

  static std::uint64_t reduce(std::uint64_t value, MPI_Op op) {
    std::uint64_t result = 0;
    MPI_Allreduce(&value, &result, 1, MPI_UINT64_T, op, MPI_COMM_WORLD);
    return result;
  }

  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
  std::size_t row_;
  std::vector<std::uint64_t> mine_;
  std::vector<std::uint64_t> all_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport() {
  return std::make_unique<MpiTransport>();
}

#else

std::unique_ptr<Transport> make_mpi_transport() {
  return nullptr;
}

#endif

}  // namespace farfault
