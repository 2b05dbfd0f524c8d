// SPDX-License-Identifier: Apache-2.0
#include "transport_mpi.hpp"

#include "farfault/engine/error.hpp"
#include "farfault/engine/mpi_library.hpp"

#ifdef FARFAULT_MPI
// The C++ bindings of MPI-2 are not used and do not compile under our warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include "backoff.hpp"
#include "host.hpp"
#include "shared_letters.hpp"
#endif

namespace farfault {

#ifdef FARFAULT_MPI

namespace {

// Any thread may lead a run and call MPI, one at a time.
void start_mpi() {
  int initialized = 0;
  int given = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialized);
  if (initialized != 0)
    MPI_Query_thread(&given);
  else
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
  if (given >= MPI_THREAD_SERIALIZED) return;
  MPI_Finalize();
  throw RunError(std::string("the MPI library provides thread support ") +
                 (given == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED") +
                 ", but a run on several ranks requires MPI_THREAD_SERIALIZED");
}

class MpiTransport final : public Transport {
 public:
  MpiTransport(std::size_t max_at_once, bool share_memory)
      : max_at_once_(std::max(max_at_once, sizeof(Event)) / sizeof(Event) * sizeof(Event)),
        backoff_(ranks_on_host() <= cores_of_process()) {
    start_mpi();
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank_ = static_cast<std::uint32_t>(rank);
    size_ = static_cast<std::uint32_t>(size);
    MPI_Type_contiguous(sizeof(Summary), MPI_BYTE, &summary_);
    MPI_Type_commit(&summary_);
    MPI_Op_create(&add_all, 1, &add_summaries_);
    shared_.emplace(share_memory);
  }
  ~MpiTransport() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    shared_.reset();
    MPI_Op_free(&add_summaries_);
    MPI_Type_free(&summary_);
    MPI_Finalize();
  }
  MpiTransport(MpiTransport const&) = delete;
  MpiTransport& operator=(MpiTransport const&) = delete;

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return size_; }

  // One message to each neighbour: a header and the first events, in the size that MPI sends eagerly, or in
  // shared memory. Further events follow in separate messages.
  Exchanged exchange(std::span<Neighbour> neighbours, Summary const& mine, bool of_all,
                     std::vector<Event>& incoming) override {
    Exchanged done;
    first_.clear();
    rest_.clear();
    inbox_.resize(kLetterSlots * neighbours.size());
    outbox_.resize(kLetterSlots * neighbours.size());
    for (std::size_t k = 0; k < neighbours.size(); ++k)
      if (auto const from = neighbours[k].rank; !shared_->reaches(from))
        MPI_Irecv(inbox(k), kLetterSlots * sizeof(Event), MPI_BYTE, static_cast<int>(from), kFirstTag,
                  MPI_COMM_WORLD, &first_.emplace_back());
    for (std::size_t k = 0; k < neighbours.size(); ++k) {
      auto const& to = neighbours[k];
      auto const& events = to.mail->events;
      auto const early = std::min(events.size(), kEarly);
      Header const header{events.size(), to.bound, mine};
      bool const shared = shared_->reaches(to.rank);
      auto* const letter = shared ? shared_->begin(to.rank) : outbox(k);
      std::memcpy(static_cast<void*>(letter), &header, sizeof(header));
      std::copy_n(events.begin(), early, letter + 1);
      if (shared)
        shared_->send(to.rank);
      else
        MPI_Isend(letter, static_cast<int>((1 + early) * sizeof(Event)), MPI_BYTE, static_cast<int>(to.rank),
                  kFirstTag, MPI_COMM_WORLD, &first_.emplace_back());
      send(std::as_bytes(std::span(events).subspan(early)), to.rank, kRestTag, rest_);
      done.bytes_sent += (1 + events.size()) * sizeof(Event);
    }
    done.messages_sent = neighbours.size();
    if (of_all) {
      done.all = Summary{};
      MPI_Iallreduce(&mine, &*done.all, 1, summary_, add_summaries_, MPI_COMM_WORLD, &first_.emplace_back());
    }
    std::size_t come = 0;
    std::uint32_t polls = 0;
    backoff_.wait_until([&] {
      for (; come < neighbours.size(); ++come)
        if (auto const from = neighbours[come].rank; shared_->reaches(from) && !shared_->has_arrived(from)) {
          if (++polls % kPollsPerProbe == 0) let_mpi_work();
          return false;
        }
      return all_done(first_);
    });

    std::uint64_t arriving = 0;
    for (std::size_t k = 0; k < neighbours.size(); ++k)
      arriving += header_of(letter_from(neighbours[k].rank, k)).count;
    auto position = incoming.size();
    incoming.resize(position + arriving);
    for (std::size_t k = 0; k < neighbours.size(); ++k) {
      auto const* const letter = letter_from(neighbours[k].rank, k);
      auto const theirs = header_of(letter);
      neighbours[k].their_bound = theirs.bound;
      neighbours[k].theirs = theirs.summary;
      auto const early = std::min<std::uint64_t>(theirs.count, kEarly);
      std::copy_n(letter + 1, early, incoming.data() + position);
      if (shared_->reaches(neighbours[k].rank)) shared_->mark_read(neighbours[k].rank);
      receive(std::as_writable_bytes(std::span(incoming).subspan(position + early, theirs.count - early)),
              neighbours[k].rank, kRestTag, rest_);
      position += theirs.count;
    }
    wait(rest_);
    for (auto& n : neighbours) n.mail->clear();
    return done;
  }

  std::uint64_t sum(std::uint64_t value) override { return reduce(value, MPI_SUM); }
  std::uint64_t max(std::uint64_t value) override { return reduce(value, MPI_MAX); }

  std::vector<std::vector<std::byte>> gather(std::span<std::byte const> bytes) override {
    std::uint64_t const mine = bytes.size();
    std::vector<std::uint64_t> sizes(size_);
    wait([&](MPI_Request* request) {
      MPI_Igather(&mine, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD, request);
    });
    std::vector<std::vector<std::byte>> parts;
    std::vector<MPI_Request> requests;
    if (rank_ == 0) {
      for (auto const n : sizes) parts.emplace_back(n);
      std::copy(bytes.begin(), bytes.end(), parts[0].begin());
      for (std::uint32_t r = 1; r < size_; ++r) receive(parts[r], r, kGatherTag, requests);
    } else {
      send(bytes, 0, kGatherTag, requests);
    }
    wait(requests);
    return parts;
  }

  void broadcast(std::vector<std::byte>& bytes) override {
    std::uint64_t n = bytes.size();
    wait([&](MPI_Request* request) { MPI_Ibcast(&n, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD, request); });
    bytes.resize(n);
    for_each_piece(n, [&](std::size_t at, int count) {
      wait([&](MPI_Request* request) {
        MPI_Ibcast(bytes.data() + at, count, MPI_BYTE, 0, MPI_COMM_WORLD, request);
      });
    });
  }

  void abort_all(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  static constexpr int kFirstTag = 1;
  static constexpr int kRestTag = 2;
  static constexpr int kGatherTag = 3;
  static constexpr std::size_t kEarly = kLetterSlots - 1;  // events below the 4 KiB that MPI sends eagerly

  static constexpr std::uint32_t kPollsPerProbe = 16;

  struct Header {
    std::uint64_t count = 0;  // of events for the receiver
    Time bound{};
    Summary summary;
    std::uint64_t unused = 0;
  };
  static_assert(sizeof(Header) == sizeof(Event) && std::is_trivially_copyable_v<Header>);

  Event* inbox(std::size_t neighbour) { return inbox_.data() + neighbour * kLetterSlots; }
  Event* outbox(std::size_t neighbour) { return outbox_.data() + neighbour * kLetterSlots; }
  Event const* letter_from(std::uint32_t rank, std::size_t neighbour) {
    return shared_->reaches(rank) ? shared_->slots(rank) : inbox(neighbour);
  }
  static Header header_of(Event const* letter) {
    Header h;
    std::memcpy(static_cast<void*>(&h), letter, sizeof(h));
    return h;
  }

  // Messages may progress only while this rank calls MPI, including messages that others wait for.
  static void let_mpi_work() {
    int come = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &come, MPI_STATUS_IGNORE);
  }

  static void add_all(void* from, void* to, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i) static_cast<Summary*>(to)[i].add(static_cast<Summary const*>(from)[i]);
  }

  // MPI counts in int, so longer data is sent in pieces; both sides split it alike.
  template <class F>
  void for_each_piece(std::size_t bytes, F&& f) const {
    for (std::size_t at = 0; at < bytes; at += max_at_once_)
      f(at, static_cast<int>(std::min(max_at_once_, bytes - at)));
  }
  void send(std::span<std::byte const> bytes, std::uint32_t to, int tag, std::vector<MPI_Request>& requests) {
    for_each_piece(bytes.size(), [&](std::size_t at, int count) {
      MPI_Isend(bytes.data() + at, count, MPI_BYTE, static_cast<int>(to), tag, MPI_COMM_WORLD,
                &requests.emplace_back());
    });
  }
  void receive(std::span<std::byte> bytes, std::uint32_t from, int tag, std::vector<MPI_Request>& requests) {
    for_each_piece(bytes.size(), [&](std::size_t at, int count) {
      MPI_Irecv(bytes.data() + at, count, MPI_BYTE, static_cast<int>(from), tag, MPI_COMM_WORLD,
                &requests.emplace_back());
    });
  }

  // MPI's own wait would keep the core busy.
  void wait(std::vector<MPI_Request>& requests) {
    backoff_.wait_until([&] { return all_done(requests); });
  }
  static bool all_done(std::vector<MPI_Request>& requests) {
    if (requests.empty()) return true;
    int done = 0;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
  }
  template <class Start>
  void wait(Start const& start) {
    std::vector<MPI_Request> request(1);
    start(request.data());
    wait(request);
  }

  std::uint64_t reduce(std::uint64_t value, MPI_Op op) {
    std::uint64_t result = 0;
    wait([&](MPI_Request* request) {
      MPI_Iallreduce(&value, &result, 1, MPI_UINT64_T, op, MPI_COMM_WORLD, request);
    });
    return result;
  }

  std::size_t max_at_once_;
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
  Backoff backoff_;
  MPI_Datatype summary_ = MPI_DATATYPE_NULL;
  MPI_Op add_summaries_ = MPI_OP_NULL;
  std::optional<SharedLetters> shared_;
  std::vector<Event> inbox_;  // [neighbour][slot], the header first
  std::vector<Event> outbox_;
  std::vector<MPI_Request> first_;
  std::vector<MPI_Request> rest_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(std::size_t max_at_once, bool share_memory) {
  return std::make_unique<MpiTransport>(max_at_once, share_memory);
}

std::string mpi_library() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  return text.substr(0, text.find_first_of(",\n"));
}

#else

std::unique_ptr<Transport> make_mpi_transport(std::size_t, bool) {
  return nullptr;
}

std::string mpi_library() {
  return "none";
}

#endif

}  // namespace farfault
