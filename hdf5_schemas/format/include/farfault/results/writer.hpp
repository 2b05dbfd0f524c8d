// SPDX-License-Identifier: Apache-2.0
// Writes the HDF5 file of one run. Layout: docs/reference/hdf5.md; failures: docs/reference/failures.md.
//
// - Output is written to "<path>.partial"; finish() renames it to <path>, which is not touched before.
// - Only results are replaced: <path> and "<path>.partial" must be missing, empty, or results of a run. A
//   "<path>.partial" that is a link, and a <path> that is not a regular file, are refused.
// - After a kill at any moment between flushes, "<path>.partial" has the state of the last flush.
// - Equal calls produce equal bytes: no timestamps, no addresses, no order except the order of calls.
// - A failed write (a full disk) throws one RunError. Every later call except the destructor throws it again,
//   and "<path>.partial" keeps its last flush.
// - Errors: UserError at construction if the path is not writable or another run is writing it; ResumeError
//   (resume) if the earlier file is missing, damaged or does not fit; RunError afterwards.
// - Not thread-safe. With several ranks, only rank 0 has a writer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/engine/table_rows.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/results/schema.hpp"

namespace farfault::results {

using farfault::Cell;

// Appended data in memory, with the samples as changes from the previous sample; beyond it, complete chunks
// are written. Nothing refers to them until the next flush, and the space of replaced chunks is reused only
// after the flush that makes it unreachable.
inline constexpr std::size_t kBufferBytes = std::size_t{8} << 20;

// The amount of data in a file. A checkpoint stores it, and a resumed run appends from there.
struct Position {
  std::uint64_t samples = 0;
  std::vector<std::uint64_t> rows;  // per table
};

// The first of "<path>", "<path>.partial" and "<path>.partial.new" that is neither empty nor the result of a
// run of any version of Farfault, so that a run with this output would destroy it. Empty: none. A partial
// file may also be unreadable, because its run never flushed.
std::string unreplaceable_file(std::string const& path);

class ResultWriter {
 public:
  ResultWriter(std::string path, RunHeader const& header);

  // Resumes a stopped run: copies the data of "<path>.partial" (or of <path> if the partial file is missing)
  // up to `position` and drops later data. The earlier file remains unchanged until the copy is complete.
  static ResultWriter resume(std::string path, RunHeader const& header, Position const& position);

  ResultWriter(ResultWriter&&) noexcept;
  ResultWriter& operator=(ResultWriter&&) noexcept;
  // Never throws, and leaves "<path>.partial" in place.
  ~ResultWriter();

  // Appending copies into memory. Values in the order of the description: group, stat, instance, bin.
  void append_sample(Time time, std::span<std::uint64_t const> values);
  void append_row(std::size_t table, std::span<Cell const> row);

  // The caller decides how often to flush.
  void flush();
  Position position() const;  // of the appended data; call flush() before relying on it

  void summary(std::vector<SummaryRow> const& rows);
  // Adds to /engine. A value with an existing name replaces the earlier one.
  void engine(std::vector<EngineValue> const& values);

  // Writes the remaining data, the reason and the digest. The file of a complete run is renamed to its final
  // name; the file of a failed run remains "<path>.partial". Returns the digest.
  std::string finish(std::string const& end_reason, bool whole = true);

 private:
  struct Impl;
  explicit ResultWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace farfault::results
