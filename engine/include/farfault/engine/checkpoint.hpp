// SPDX-License-Identifier: Apache-2.0
// Checkpoint files: the complete state of a run, to continue on any number of threads, ranks and partitions.
//
// Guarantees: a file is written as "<path>.writing", synced, and only then renamed; its predecessor is
// kept as "<path>.previous", unless it was truncated. The reader checks length, a 64-bit hash and the
// format version.
// Units: time in picoseconds. Layout: docs/developing/engine.md.
// Errors: write_checkpoint throws RunError (a full disk) and leaves existing files unchanged; the readers
// throw ResumeError for a damaged file, and UserError for a file that cannot be opened: one sentence with the
// cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

// The files of a stopped run are damaged, or do not belong to this run: every attempt to resume from them
// fails. what() is the reason, followed by the remedy of the command line.
class ResumeError : public UserError {
 public:
  explicit ResumeError(std::string const& reason, std::string const& remedy = {})
      : UserError(reason + remedy), reason_bytes_(printable(reason).size()) {}
  std::string reason() const { return std::string(what()).substr(0, reason_bytes_); }

 private:
  std::size_t reason_bytes_;
};

struct CheckpointHeader {
  std::uint64_t config_hash =
      0;        // of everything that affects the result: rejects a checkpoint of another run
  Time time{};  // every earlier event has been handled
  std::uint64_t components = 0;
  std::uint64_t events = 0;  // pending
};

struct Checkpoint {
  CheckpointHeader header;
  std::vector<std::byte> run;                 // the driver's own data: samples written, next sample
  std::vector<std::vector<std::byte>> parts;  // engine state, one part per rank that saved it
};

void write_checkpoint(std::string const& path, Checkpoint checkpoint);
Checkpoint read_checkpoint(std::string const& path);
// The checkpoint without its parts, from the first bytes of the file: checks the length and the format
// version, but not the hash.
Checkpoint read_checkpoint_head(std::string const& path);

std::string previous_checkpoint(std::string const& path);  // the name of the previous checkpoint

// Reserves the checkpoints of one run, through "<path>.lock". Throws UserError if they cannot be
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

// True if the file begins like a checkpoint; never throws, never blocks.
bool looks_like_checkpoint(std::string const& path);

}  // namespace farfault
