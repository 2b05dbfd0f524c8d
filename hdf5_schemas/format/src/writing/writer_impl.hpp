// SPDX-License-Identifier: Apache-2.0
// State of a ResultWriter: writer.cpp writes with it, resume.cpp fills it from an earlier file.
#pragma once

#include <string>
#include <vector>

#include "farfault/results/writer.hpp"
#include "file/commit_file.hpp"
#include "series.hpp"
#include "table.hpp"

namespace farfault::results {

// Throws UserError if unreplaceable_file names a file.
void refuse_unreplaceable(std::string const& path);
void refuse_unreplaceable_sweep(std::string const& path);  // the same for the table of a sweep

struct ResultWriter::Impl {
  Impl(std::string target, std::string written, RunHeader const& header);
  ~Impl();

  // Wraps every call: an error of HDF5 or the disk becomes one RunError.
  template <class Action>
  void attempt(Action action) {
    FF_CHECK(!finished, "a finished result was written to");
    if (broken) throw RunError(failure("an earlier write failed, see the first error"));
    try {
      action();
    } catch (Hdf5Failure const& problem) {
      broken = true;
      throw RunError(failure(problem.what()));
    } catch (RunError const& problem) {
      broken = true;
      throw RunError(problem.what() + what_remains());
    }
    if (file.failed()) {
      broken = true;
      throw RunError(failure({}));
    }
  }
  std::string failure(std::string const& why) const;
  std::string what_remains() const;  // second half of an error message

  void write_much();  // the waiting data, if it has reached its limit
  void write_waiting(bool last);
  void flush(bool last = false);
  // The rows of `source` up to `position`. Throws UserError if they do not fit, Hdf5Failure if they are
  // unreadable.
  void copy_from(std::string const& source, Position const& position);

  std::string path, partial;
  CommitFile file;  // outlives the handles below
  Handle hdf5, timeseries, table_root;
  std::vector<Series> series;
  std::vector<Table> tables;
  KnownDatasets summary;  // written
  std::vector<EngineValue> engine_values;
  std::size_t values_per_sample = 0;
  Samples waiting{0};
  std::size_t waiting_row_bytes = 0;
  std::uint64_t samples = 0;  // appended
  Time last_sample = Time::min();
  bool broken = false, finished = false;
  bool flushed = false;  // the file can be opened
};

}  // namespace farfault::results
