// SPDX-License-Identifier: Apache-2.0
// Checkpoint files: everything a run needs to go on, on any number of threads, ranks and partitions.
//
// Guarantees: a file is written under a temporary name, synced, and only then given its name; the one that
// had it before is kept as "<path>.previous". What is read back is whole and unchanged (length and a 64-bit
// hash are checked) and of this format version. Units: time in picoseconds. Layout: README.md of this folder.
// While it is written it is "<path>.writing". One that was cut short does not take the place of the one
// before. Errors: write_checkpoint throws RunError (a full disk) and leaves the files that were there as they
// are; read_checkpoint throws UserError: one sentence that says what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "farfault/engine/files.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

struct CheckpointHeader {
  std::uint64_t config_hash =
      0;        // of what the result depends on: a checkpoint of another run is refused by it
  Time time{};  // every event before it has been handled
  std::uint64_t components = 0;
  std::uint64_t events = 0;  // pending
};

struct Checkpoint {
  CheckpointHeader header;
  std::vector<std::byte> run;                 // the driver's own: samples written, next sample
  std::vector<std::vector<std::byte>> parts;  // engine state, one part for each rank that saved it
};

void write_checkpoint(std::string const& path, Checkpoint const& checkpoint);
Checkpoint read_checkpoint(std::string const& path);

std::string previous_checkpoint(std::string const& path);  // the name that the one before is kept under

// Keeps the checkpoints of one run to itself, through "<path>.lock". Throws UserError when they cannot be
// written, or another run holds them.
class CheckpointLock {
 public:
  explicit CheckpointLock(std::string const& path);
  CheckpointLock(CheckpointLock const&) = delete;
  CheckpointLock& operator=(CheckpointLock const&) = delete;
  ~CheckpointLock();

 private:
  std::string name_;
  FileHandle file_;
};

// Whether the file begins like a checkpoint; never throws, never waits.
bool looks_like_checkpoint(std::string const& path);

}  // namespace farfault
