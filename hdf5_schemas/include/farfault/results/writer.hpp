// SPDX-License-Identifier: Apache-2.0
// Writes the HDF5 file of one run; the layout is described in hdf5_schemas/README.md.
//
// Guarantees:
// - Everything goes to "<path>.partial" and is renamed over <path> by finish(); <path> is never touched
//   before that. A link named "<path>.partial" is refused, and so is a <path> that is no regular file.
// - No file but a result is replaced: <path> and "<path>.partial" are missing, empty, or results of a run.
// - A process killed at any moment between flushes leaves "<path>.partial" as it was at the last one, to a
//   reader. Space of replaced chunks is reused only after the flush that made it unreachable.
// - Appending is a copy into memory. Once kBufferBytes have gathered, chunks that are complete are written,
//   where nothing refers to them until the next flush. Whoever appends flushes as often as a loss asks for.
// - Equal calls give equal bytes: no timestamps, no addresses, no order but that of the calls.
// - A failed write (a full disk) is thrown as RunError once; after it every call but the destructor throws
//   RunError again and "<path>.partial" keeps its last flush. The destructor never throws: it leaves
//   "<path>.partial" behind.
// Errors: UserError at construction when the path cannot be written, is written by another run, or (resume)
// when the earlier file does not fit; RunError afterwards. Not thread-safe. In a run of several ranks only
// rank 0 has one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/engine/probes.hpp"
#include "farfault/engine/table_rows.hpp"
#include "farfault/engine/time.hpp"

namespace farfault::results {

inline constexpr std::int64_t kSchemaVersion = 2;
inline constexpr std::size_t kBufferBytes = std::size_t{8} << 20;

// A file that the run read. Its content is part of the digest, its name is not.
struct InputRecord {
  std::string parameter;  // that named it: "workload.bfs.graph"
  std::string path;
  std::uint64_t bytes = 0;
  std::string hash;
};

struct NodeRow {
  std::string name;
  std::string kind;
  // Of a cluster.
  std::string machine = {};  // that the node belongs to: "m0"; empty: a switch between machines
  std::string host =
      {};  // paths of the components that run its kernels and manage its memory; empty: neither
  std::string driver = {};  // GPU nor CPU
};

struct LinkRow {
  std::uint32_t a = 0;  // index into the nodes
  std::uint32_t b = 0;
  std::string kind;
  std::uint64_t latency_ps = 0;
  std::uint64_t forward_bytes_per_s = 0;   // from a to b
  std::uint64_t backward_bytes_per_s = 0;  // from b to a
};

struct RunHeader {
  std::string resolved_config;
  std::string command_line;
  std::uint64_t seed = 0;
  std::vector<InputRecord> inputs;
  bool cluster = false;  // whether nodes belong to machines
  std::vector<NodeRow> nodes;
  std::vector<LinkRow> links;
  std::vector<SeriesGroup> series;
  std::vector<TableInfo> tables;
};

using farfault::Cell;

// One figure of the summary: /summary/<scope>/<metric>, at the place of `name`.
struct SummaryRow {
  std::string scope;  // "machine", "gpu", "application"
  std::string name;   // "machine", "gpu0", "bfs"
  std::string metric;
  std::string unit;
  std::string text;
  std::uint64_t value = 0;
};

// One figure of the self-profile: /engine/<name>. Outside the digest.
struct EngineValue {
  std::string name;
  std::string unit;
  std::string text;
  std::variant<double, std::uint64_t, std::string, std::vector<double>, std::vector<std::uint64_t>> value;
};

// How much a file holds: kept in a checkpoint, so that a resumed run appends from there.
struct Position {
  std::uint64_t samples = 0;
  std::vector<std::uint64_t> rows;  // of each table
};

// The first file that a run with this output would replace ("<path>", "<path>.partial", "<path>.partial.new")
// and that is neither empty nor the result of a run, of any version of Farfault. Empty: no such file. A
// partial file may also be one without a first flush, which is unreadable.
std::string would_be_lost(std::string const& path);

class ResultWriter {
 public:
  ResultWriter(std::string path, RunHeader const& header);

  // Resumes a run that was stopped: copies what "<path>.partial" (or <path>, if that is all there
  // is) holds up to `position` and forgets what came later. The earlier file stays as it is until all of it
  // has been copied.
  static ResultWriter resume(std::string path, RunHeader const& header, Position const& position);

  ResultWriter(ResultWriter&&) noexcept;
  ResultWriter& operator=(ResultWriter&&) noexcept;
  ~ResultWriter();

  // Values in the order of the description: group, stat, instance, bin.
  void append_sample(Time time, std::span<std::uint64_t const> values);
  void append_row(std::size_t table, std::span<Cell const> row);

  void flush();
  Position position() const;  // of what has been appended; call flush() before relying on it

  void summary(std::vector<SummaryRow> const& rows);
  // Adds to /engine; a value whose name is there already takes the place of the earlier one.
  void engine(std::vector<EngineValue> const& values);

  // Writes what is left, the reason and the digest. A whole run's file gets its name; one of a run that
  // failed remains "<path>.partial". Returns the digest.
  std::string finish(std::string const& end_reason, bool whole = true);

 private:
  struct Impl;
  explicit ResultWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace farfault::results
