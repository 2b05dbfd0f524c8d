#include "transport_mpi.hpp"

#include "farfault/engine/error.hpp"

#ifdef FARFAULT_MPI
// The C++ bindings of MPI-2 are not used and do not compile under our warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#endif

namespace farfault {

#ifdef FARFAULT_MPI

namespace {

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
    inbox_.resize(kSlots * size_);
    outbox_.resize(kSlots * size_);
    first_.reserve(2 * std::size_t{size_});
    rest_.reserve(2 * std::size_t{size_});
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

  // One message to every other rank: a header and the first events, in the size that MPI sends at once. What
  // is more follows in a second one.
  Exchanged exchange(RankState const& mine, std::span<Mailbox> outgoing, std::vector<Event>& incoming,
                     std::vector<RankState>& states) override {
    Exchanged done;
    auto header = header_for(mine, outgoing);
    first_.clear();
    rest_.clear();
    for (std::uint32_t r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      MPI_Irecv(inbox(r), kSlots * sizeof(Event), MPI_BYTE, static_cast<int>(r), kFirstTag, MPI_COMM_WORLD,
                &first_.emplace_back());
    }
    for (std::uint32_t r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      auto const& events = outgoing[r].events;
      auto const early = std::min(events.size(), kEarly);
      header.count = events.size();
      std::memcpy(static_cast<void*>(outbox(r)), &header, sizeof(header));
      std::copy_n(events.begin(), early, outbox(r) + 1);
      MPI_Isend(outbox(r), bytes_of(1 + early), MPI_BYTE, static_cast<int>(r), kFirstTag, MPI_COMM_WORLD,
                &first_.emplace_back());
      if (early < events.size())
        MPI_Isend(events.data() + early, bytes_of(events.size() - early), MPI_BYTE, static_cast<int>(r),
                  kRestTag, MPI_COMM_WORLD, &rest_.emplace_back());
      done.bytes_sent += (1 + events.size()) * sizeof(Event);
    }
    MPI_Waitall(static_cast<int>(first_.size()), first_.data(), MPI_STATUSES_IGNORE);

    std::uint64_t arriving = 0;
    for (std::uint32_t r = 0; r < size_; ++r)
      if (r != rank_) arriving += header_of(r).count;
    auto position = incoming.size();
    incoming.resize(position + arriving);
    states.assign(size_, RankState{});
    states[rank_] = mine;
    done.first = std::min(mine.next, time_of(header.mail));
    for (std::uint32_t r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      auto const theirs = header_of(r);
      states[r].next = std::min(time_of(theirs.next), outgoing[r].earliest);
      states[r].mail = time_of(theirs.mail_to == rank_ ? theirs.mail_elsewhere : theirs.mail);
      states[r].flags = theirs.flags;
      done.first = std::min({done.first, time_of(theirs.next), time_of(theirs.mail)});
      auto const early = std::min<std::uint64_t>(theirs.count, kEarly);
      std::copy_n(inbox(r) + 1, early, incoming.data() + position);
      if (early < theirs.count)
        MPI_Irecv(incoming.data() + position + early, bytes_of(theirs.count - early), MPI_BYTE,
                  static_cast<int>(r), kRestTag, MPI_COMM_WORLD, &rest_.emplace_back());
      position += theirs.count;
    }
    MPI_Waitall(static_cast<int>(rest_.size()), rest_.data(), MPI_STATUSES_IGNORE);
    for (auto& box : outgoing) box.clear();
    return done;
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
  static constexpr int kFirstTag = 1;
  static constexpr int kRestTag = 2;
  static constexpr std::size_t kEarly =
      62;  // with the header and MPI's own, below the 4 KiB it sends at once
  static constexpr std::size_t kSlots = kEarly + 1;

  // Times in ps.
  struct Header {
    std::uint64_t count = 0;  // of events for the receiver
    std::uint64_t flags = 0;
    std::int64_t next = 0;            // the first pending event here
    std::int64_t mail = 0;            // the first event sent to anybody
    std::int64_t mail_elsewhere = 0;  // the first sent to any rank but mail_to
    std::uint64_t mail_to = 0;        // whom `mail` is for
    std::array<std::uint64_t, 2> unused{};
  };
  static_assert(sizeof(Header) == sizeof(Event));

  Event* inbox(std::size_t rank) { return inbox_.data() + rank * kSlots; }
  Event* outbox(std::size_t rank) { return outbox_.data() + rank * kSlots; }
  Header header_of(std::size_t rank) {
    Header h;
    std::memcpy(static_cast<void*>(&h), inbox(rank), sizeof(h));
    return h;
  }
  static Time time_of(std::int64_t ps) { return Time{Duration{ps}}; }

  static Header header_for(RankState const& mine, std::span<Mailbox const> outgoing) {
    auto first = EventQueue::kNever;
    auto elsewhere = EventQueue::kNever;
    std::size_t to = 0;
    for (std::size_t r = 0; r < outgoing.size(); ++r) {
      if (outgoing[r].earliest < first) {
        elsewhere = first;
        first = outgoing[r].earliest;
        to = r;
      } else {
        elsewhere = std::min(elsewhere, outgoing[r].earliest);
      }
    }
    return {0, mine.flags, picoseconds(mine.next), picoseconds(first), picoseconds(elsewhere), to, {}};
  }

  static int bytes_of(std::uint64_t events) {
    FF_CHECK(events < (std::uint64_t{1} << 25), "one exchange carries over 2 GiB of events");
    return static_cast<int>(events * sizeof(Event));
  }

  static std::uint64_t reduce(std::uint64_t value, MPI_Op op) {
    std::uint64_t result = 0;
    MPI_Allreduce(&value, &result, 1, MPI_UINT64_T, op, MPI_COMM_WORLD);
    return result;
  }

  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
  std::vector<Event> inbox_;  // [rank][slot], the header first
  std::vector<Event> outbox_;
  std::vector<MPI_Request> first_;
  std::vector<MPI_Request> rest_;
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
