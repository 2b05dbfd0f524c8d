// SPDX-License-Identifier: Apache-2.0
// Guarantees of the MPI transport, on any number of ranks; called by transport.sh.
//
//   transport_check pieces        a message above the size limit arrives complete, in pieces
//   transport_check wait          a waiting rank uses no CPU time
//   transport_check level N       with an MPI library that provides thread support N
//
// The MPI functions defined here precede the library's (its profiling interface) and record their arguments.
// Exit code 0: all guarantees hold; 1: one does not, with a sentence on standard error.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

#include "farfault/engine/error.hpp"
#include "transport_mpi.hpp"

namespace {

int required_level = -1;
int given_level = -1;  // instead of the library's; -1: the library's
int letters = 0;       // first messages of exchanges sent by MPI
int longest = 0;       // longest message since the last reset to 0, in bytes

int note(int count) {
  longest = std::max(longest, count);
  return count;
}

}  // namespace

extern "C" int MPI_Init(int* argc, char*** argv) {
  required_level = MPI_THREAD_SINGLE;
  return PMPI_Init(argc, argv);
}
extern "C" int MPI_Init_thread(int* argc, char*** argv, int level, int* given) {
  required_level = level;
  auto const result = PMPI_Init_thread(argc, argv, level, given);
  if (given_level >= 0) *given = given_level;
  return result;
}
extern "C" int MPI_Isend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  if (tag == 1) ++letters;
  return PMPI_Isend(data, tag == 1 ? count : note(count), type, to, tag, comm, request);
}
extern "C" int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm,
                          MPI_Request* request) {
  return PMPI_Ibcast(data, type == MPI_BYTE ? note(count) : count, type, root, comm, request);
}

namespace {

using namespace farfault;

void must(bool holds, std::string const& what) {
  if (holds) return;
  std::fprintf(stderr, "not as promised: %s\n", what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

std::vector<std::byte> bytes_of(std::uint32_t rank, std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(rank * 31 + i * 7 + i / 251);
  return bytes;
}

Event event(std::uint32_t from, std::uint32_t to, std::uint32_t n) {
  return {.when = Time{Duration{1000 + n}}, .sequence = n, .to = to, .from = from, .payload = {}};
}

// Every rank sends `n` events to every other one; they arrive complete and in order, by sending rank.
void check_exchange(Transport& transport, std::uint32_t n) {
  std::vector<Mailbox> outgoing(transport.ranks());
  std::vector<Transport::Neighbour> neighbours;
  for (std::uint32_t to = 0; to < transport.ranks(); ++to) {
    if (to == transport.rank()) continue;
    for (std::uint32_t i = 0; i < n; ++i) outgoing[to].put(event(transport.rank(), to, i));
    neighbours.push_back({.rank = to,
                          .mail = &outgoing[to],
                          .bound = Time{Duration{100 * transport.rank() + to}},
                          .theirs = {}});
  }
  std::vector<Event> incoming;
  auto const first = [](std::uint32_t rank) { return Time{Duration{500 + rank}}; };
  bool const of_all = n % 2 == 0;
  auto const done = transport.exchange(neighbours,
                                       {.first = first(transport.rank()),
                                        .first_of = transport.rank(),
                                        .second = EventQueue::kNever,
                                        .bound = {},
                                        .flags = 1U << transport.rank()},
                                       of_all, incoming);
  must(done.all.has_value() == of_all, "a summary where one was asked for");
  if (done.all) {
    must(done.all->first == first(0) && done.all->first_of == 0, "the first event of all");
    must(done.all->second == first(1), "the first event of the other ranks");
    must(done.all->flags == (1U << transport.ranks()) - 1, "the flags of all");
  }
  must(done.messages_sent == transport.ranks() - 1, "the number of messages");
  for (auto const& from : neighbours) {
    must(from.mail->events.empty(), "mail that was sent is gone");
    must(from.their_bound == Time{Duration{100 * from.rank + transport.rank()}}, "a neighbour's bound");
    must(from.theirs.first == first(from.rank), "a neighbour's first event");
  }
  must(incoming.size() == std::size_t{n} * (transport.ranks() - 1), "the number of events exchanged");
  std::size_t i = 0;
  for (std::uint32_t from = 0; from < transport.ranks(); ++from)
    for (std::uint32_t k = 0; from != transport.rank() && k < n; ++k, ++i)
      must(incoming[i].sequence == k && incoming[i].from == from && incoming[i].to == transport.rank(),
           "event " + std::to_string(k) + " from rank " + std::to_string(from));
}

void check_gather(Transport& transport, std::size_t n) {
  auto const parts = transport.gather(bytes_of(transport.rank(), n * transport.rank()));
  must(parts.size() == (transport.rank() == 0 ? transport.ranks() : 0), "the number of parts gathered");
  for (std::uint32_t r = 0; r < parts.size(); ++r)
    must(parts[r] == bytes_of(r, n * r), "the part of rank " + std::to_string(r));
}

void check_broadcast(Transport& transport, std::size_t n) {
  auto bytes = transport.rank() == 0 ? bytes_of(0, n) : bytes_of(1, 3);
  transport.broadcast(bytes);
  must(bytes == bytes_of(0, n), "what was broadcast");
}

void check_pieces(Transport& transport, int limit) {
  for (std::uint32_t const n : {0U, 1U, 62U, 63U, 64U, 65U, 200U, 5000U}) {
    longest = 0;
    check_exchange(transport, n);
    check_gather(transport, n);
    check_broadcast(transport, n);
    must(longest <= limit, "a message of " + std::to_string(longest) + " bytes where " +
                               std::to_string(limit) + " are the most");
  }
  must(longest == limit, "messages as long as they may be");
  must(transport.sum(transport.rank() + 1) == transport.ranks() * (transport.ranks() + 1) / 2, "a sum");
  must(transport.max(transport.rank()) == transport.ranks() - 1, "a maximum");
}

// The others wait for rank 0, two seconds in total: in an exchange and in each of the collective functions.
void check_wait() {
  using namespace std::chrono_literals;
  auto const transport = make_mpi_transport();
  auto const late = [&] {
    if (transport->rank() == 0) std::this_thread::sleep_for(500ms);
  };
  timespec before{};
  timespec after{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  late();
  check_exchange(*transport, 1);
  late();
  transport->max(1);
  late();
  check_broadcast(*transport, 100);
  late();
  transport->gather(bytes_of(0, 10));
  transport->max(1);
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  auto const ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1'000'000;
  must(ms < 300, std::to_string(ms) + " ms of CPU time in two seconds of waiting; under 300 are promised");
}

int check_level(int level) {
  given_level = level;
  try {
    auto const transport = make_mpi_transport();
    must(required_level == MPI_THREAD_SERIALIZED, "the thread support asked for");
    return 0;
  } catch (RunError const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string const what = argc > 1 ? argv[1] : "";
  if (what == "level" && argc > 2) {
    auto const name = std::string(argv[2]);
    return check_level(name == "single"       ? MPI_THREAD_SINGLE
                       : name == "funneled"   ? MPI_THREAD_FUNNELED
                       : name == "serialized" ? MPI_THREAD_SERIALIZED
                                              : MPI_THREAD_MULTIPLE);
  }
  if (what == "wait") {
    check_wait();
    return 0;
  }
  if (what != "pieces") return 2;
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
  for (bool const share_memory : {false, true})
    for (int const limit : {64, 192, 1024}) {
      // The transport's destructor finalizes MPI, so these are not destroyed.
      auto* const transport = make_mpi_transport(static_cast<std::size_t>(limit), share_memory).release();
      check_pieces(*transport, limit);
      must((letters == 0) == share_memory,
           "first messages by MPI where memory is not shared, and only there");
      letters = 0;
    }
  MPI_Finalize();
  return 0;
}
