// SPDX-License-Identifier: Apache-2.0
// Checkpoints. The first byte of an input selects the kind of the rest: 0, a whole file; 1, the body after
// the header; 2, changes of a valid file's body, four bytes each: the position (three) and the new value. The
// length and the checksum in the header are corrected, so that the code after these checks is reached, too. A
// readable state is loaded into a small model.
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "../models/run_model.hpp"
#include "farfault/engine/archive.hpp"
#include "farfault/engine/checkpoint.hpp"
#include "harness.hpp"

using namespace farfault;

namespace {

constexpr std::size_t kHeaderBytes = 32;  // magic, version, length of the body, checksum of the body

test::ModelRun small_model() {
  return test::ModelRun(
      "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\nworkload.name = \"stream\"\n"
      "workload.stream.bytes = \"16KiB\"\n[gpu]\nsms = 1\nl1_cache.size = \"4KiB\"\nl2_cache.size = "
      "\"16KiB\"\n"
      "l2_cache.slices = 1\nl2_tlb.entries = 16\nl2_tlb.ways = 4\nl1_tlb.entries = 4\nl1_tlb.ways = "
      "4\n[cpu.llc]\nsize = "
      "\"64KiB\"\n");
}

std::vector<std::uint8_t> sound_file() {
  fuzz::MemoryFolder const folder;
  auto const path = folder.path() + "/checkpoint";
  auto model = small_model();
  model.engine().run_until(Time{2us});
  Checkpoint checkpoint;
  checkpoint.header.time = Time{2us};
  checkpoint.header.components = model.system().component_count();
  checkpoint.header.events = model.engine().pending_events();
  checkpoint.parts = {model.engine().save()};
  write_checkpoint(path, checkpoint);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::uint8_t> const& sound() {
  static auto const file = sound_file();
  return file;
}

std::vector<std::uint8_t> with_header(fuzz::Bytes body) {
  std::vector<std::uint8_t> file(sound().begin(), sound().begin() + kHeaderBytes);
  file.insert(file.end(), body.begin(), body.end());
  Hasher hasher;
  hasher.raw(reinterpret_cast<std::byte const*>(body.data()), body.size());
  std::uint64_t const fields[] = {body.size(), hasher.value()};
  std::memcpy(file.data() + kHeaderBytes - sizeof fields, fields, sizeof fields);
  return file;
}

std::vector<std::uint8_t> changed(fuzz::Bytes changes) {
  std::vector<std::uint8_t> body(sound().begin() + kHeaderBytes, sound().end());
  for (; changes.size() >= 4; changes = changes.subspan(4)) {
    auto const where = changes[0] | std::size_t{changes[1]} << 8U | std::size_t{changes[2]} << 16U;
    body[where % body.size()] = changes[3];
  }
  return with_header(body);
}

std::vector<std::uint8_t> file_of(std::uint8_t kind, fuzz::Bytes rest) {
  switch (kind % 3) {
    case 0:
      return {rest.begin(), rest.end()};
    case 1:
      return with_header(rest);
    default:
      return changed(rest);
  }
}

}  // namespace

void fuzz_one(fuzz::Bytes input) {
  static fuzz::MemoryFile file;
  if (input.empty()) return;
  file.set(file_of(input[0], input.subspan(1)));
  Checkpoint checkpoint;
  if (!fuzz::accepts([&] { checkpoint = read_checkpoint(file.path()); })) return;
  auto model = small_model();
  if (!fuzz::accepts([&] { model.engine().load(checkpoint.parts); })) return;
  static_cast<void>(model.engine().state_digest());
  static_cast<void>(model.engine().save());
}
