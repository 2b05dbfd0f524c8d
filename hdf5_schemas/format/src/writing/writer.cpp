// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/writer.hpp"

#include <hdf5.h>

#include <algorithm>

#include "farfault/engine/files.hpp"
#include "farfault/results/reading/open.hpp"
#include "file/new_file.hpp"
#include "layout.hpp"
#include "reading/digest_of.hpp"
#include "store.hpp"
#include "writer_impl.hpp"

namespace farfault::results {
namespace {

constexpr char const* kComment =
    "Groups: config (the resolved configuration in TOML, command line, input files), topology (nodes and "
    "links of "
    "the machine), timeseries (statistics over simulated time, by kind of component), tables (a row per "
    "kernel, "
    "fault batch, migration, link and others), summary (totals of the machine, each GPU and each "
    "application), "
    "engine (self-profile of the simulator in wall-clock time; not part of the digest). Simulated times are "
    "in ps.";

// Limit of waiting samples that change little.
constexpr std::size_t kMaxWholeBytes = std::size_t{64} << 20;

}  // namespace

ResultWriter::Impl::Impl(std::string target, std::string written, RunHeader const& header)
    : path(std::move(target)), partial(std::move(written)), file((quiet(), partial)) {
  for (auto const& group : header.series) {
    if (group.instances.empty() || group.stats.empty()) continue;
    series.emplace_back(group);
    values_per_sample += series.back().values_per_sample();
  }
  waiting = Samples(values_per_sample);
  for (auto const& table : header.tables) tables.emplace_back(table);
  attempt([&] {
    hdf5 = create_file(file, partial);
    auto const root = open_group(hdf5, "/");
    set_attribute(root, "Conventions", std::string("CF-1.10"));
    set_attribute(root, "title", header.title);
    set_attribute(root, "comment", std::string(kComment));
    set_attribute(root, "farfault_version", std::string(FARFAULT_VERSION));
    set_attribute(root, "schema_version", kSchemaVersion);
    set_attribute(root, "end_reason", std::string("running"));
    write_header(hdf5, header);
    timeseries = create_group(hdf5, "timeseries", series.size());
    table_root = create_group(hdf5, "tables", tables.size());
    flush();
  });
}

ResultWriter::Impl::~Impl() {
  if (finished || broken) return;
  try {
    attempt([&] { flush(); });
  } catch (...) {
    // The file keeps its last flush. The caller that destroys the writer early reports its own reason.
  }
}

std::string ResultWriter::Impl::failure(std::string const& why) const {
  return (file.failed() ? file.failure() : "cannot write '" + partial + "': " + why) + what_remains();
}

std::string ResultWriter::Impl::what_remains() const {
  return (flushed ? "; '" + partial + "' has the result up to the last flush" : std::string()) +
         "; nothing was written to '" + path + "'";
}

void ResultWriter::Impl::write_much() {
  if (waiting.bytes() + waiting_row_bytes >= kBufferBytes || waiting.whole_bytes() >= kMaxWholeBytes)
    write_waiting(false);
}

void ResultWriter::Impl::write_waiting(bool last) {
  std::size_t offset = 0;
  for (auto& group : series) {
    group.append(timeseries, waiting, offset, last);
    offset += group.values_per_sample();
  }
  waiting.clear();
  for (auto& table : tables) table.write(table_root, last);
  waiting_row_bytes = 0;
}

void ResultWriter::Impl::flush(bool last) {
  write_waiting(last);
  for (auto& group : series) group.write_tails();
  for (auto& table : tables) table.write_tails();
  check(H5Fflush(hdf5, H5F_SCOPE_LOCAL), "HDF5 cannot flush it");
  for (auto& group : series) group.release_replaced(file);
  for (auto& table : tables) table.release_replaced(file);
  file.commit();
  flushed = true;
}

ResultWriter::ResultWriter(std::string path, RunHeader const& header) {
  if (path.empty()) throw UserError("the file name of the result is empty");
  check_replaceable(path);
  refuse_unreplaceable(path);
  auto const partial = path + ".partial";
  impl_ = std::make_unique<Impl>(std::move(path), partial, header);
}

ResultWriter::ResultWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ResultWriter::ResultWriter(ResultWriter&&) noexcept = default;
ResultWriter& ResultWriter::operator=(ResultWriter&&) noexcept = default;
ResultWriter::~ResultWriter() = default;

void ResultWriter::append_sample(Time time, std::span<std::uint64_t const> values) {
  auto& w = *impl_;
  w.attempt([&] {
    FF_CHECK(values.size() == w.values_per_sample,
             "the number of values of a sample differs from its description");
    FF_CHECK(time >= w.last_sample, "a sample is earlier than the previous one");
    w.last_sample = time;
    ++w.samples;
    auto const at = picoseconds(time);
    if (!w.series.empty() && w.series[0].is_in_file()) {
      auto const* part = values.data();
      for (auto& group : w.series) {
        group.append(at, part);
        part += group.values_per_sample();
      }
      return;
    }
    w.waiting.add(at, values);
    w.write_much();
  });
}

void ResultWriter::append_row(std::size_t table, std::span<Cell const> row) {
  auto& w = *impl_;
  w.attempt([&] {
    FF_CHECK(table < w.tables.size(), "a row is appended to an undeclared table");
    w.waiting_row_bytes += w.tables[table].add(row);
    w.write_much();
  });
}

void ResultWriter::flush() {
  impl_->attempt([&] { impl_->flush(); });
}

Position ResultWriter::position() const {
  Position position{impl_->samples, {}};
  for (auto const& table : impl_->tables) position.rows.push_back(table.rows());
  return position;
}

void ResultWriter::summary(std::vector<SummaryRow> const& rows) {
  impl_->attempt([&] { impl_->summary = write_summary(impl_->hdf5, rows); });
}

void ResultWriter::engine(std::vector<EngineValue> const& values) {
  auto& all = impl_->engine_values;
  for (auto const& value : values) {
    auto const known =
        std::find_if(all.begin(), all.end(), [&](auto const& v) { return v.name == value.name; });
    if (known == all.end())
      all.push_back(value);
    else
      *known = value;
  }
  impl_->attempt([&] { write_engine(impl_->hdf5, all); });
}

std::string ResultWriter::finish(std::string const& end_reason, bool whole) {
  auto& w = *impl_;
  std::string digest;
  w.attempt([&] {
    w.flush(true);
    auto known = std::move(w.summary);
    for (auto const& group : w.series) group.add_known(known);
    for (auto const& table : w.tables) table.add_known(known);
    // HDF5 before 1.10.9 and 1.12.2 applies no filter when it reads the only chunk of a dataset, written by
    // H5Dwrite_chunk, until the dataset has been closed (HDFGroup/hdf5, pull request 1261).
    w.series.clear();
    w.tables.clear();
    {
      auto const root = open_group(w.hdf5, "/");
      set_attribute(root, "end_reason", end_reason);
      check(H5Fflush(w.hdf5, H5F_SCOPE_LOCAL), "HDF5 cannot flush it");
      digest = digest_of(w.hdf5, known);
      set_attribute(root, "result_digest", digest);
    }
    check(H5Fflush(w.hdf5, H5F_SCOPE_LOCAL), "HDF5 cannot flush it");
    w.timeseries.reset();
    w.table_root.reset();
    close_file(w.hdf5);
    w.file.commit();
    if (whole) w.file.rename_to(w.path);
  });
  w.finished = true;
  return digest;
}

}  // namespace farfault::results
