// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"
#include "writer_impl.hpp"

namespace farfault::results {
namespace {

ResumeError mismatch_error(std::string const& source, std::string const& what) {
  return ResumeError("cannot resume from '" + source + "': " + what);
}

struct Part {
  Handle dataset;
  Shape shape;  // of the rows to copy
};

Part part_of(ObjectId earlier, std::string const& source, std::string const& name, std::uint64_t rows,
             std::uint64_t row_values) {
  Part part{open_dataset(earlier, name), {}};
  part.shape = shape_of_dataset(part.dataset);
  if (part.shape.extents.empty() || part.shape.row_values != row_values)
    throw mismatch_error(source, "'" + name + "' has a different shape in this run");
  if (part.shape.rows() < rows)
    throw mismatch_error(source, "'" + name + "' has " + std::to_string(part.shape.rows()) +
                                     " rows, but the checkpoint needs " + std::to_string(rows));
  part.shape.extents[0] = rows;
  return part;
}

std::vector<Cell> cells(Part const& part, ColumnType type, std::uint64_t row, std::uint64_t rows) {
  std::vector<Cell> result;
  if (type == ColumnType::text) {
    for (auto& text : read_texts(part.dataset, part.shape, row, rows)) result.emplace_back(std::move(text));
    return result;
  }
  for (auto const word : read_words(part.dataset, part.shape, row, rows)) {
    if (type == ColumnType::i64)
      result.emplace_back(static_cast<std::int64_t>(word));
    else
      result.emplace_back(word);
  }
  return result;
}

// Throws ResumeError if the file is damaged, UserError if it cannot be opened.
void check_sound(std::string const& source) {
  try {
    check_readable(source);
  } catch (UserError const& e) {
    if (!why_not_readable(source).empty()) throw;
    throw ResumeError(e.what());
  }
}

}  // namespace

void ResultWriter::Impl::copy_from(std::string const& source, Position const& position) {
  auto const earlier = open_to_read(source, "cannot open the earlier file");
  if (position.rows.size() != tables.size())
    throw mismatch_error(source, "the checkpoint has a different number of tables");
  for (auto& group : series) {
    if (position.samples == 0) break;
    group.grow(timeseries, position.samples);
    auto const folder = "/timeseries/" + group.info().kind + "/";
    auto const copy = [&](std::string const& name, std::uint64_t row_values, RowDataset& to) {
      auto const part = part_of(earlier, source, folder + name, group.rows(position.samples), row_values);
      for_pieces(part.shape, [&](std::uint64_t row, std::uint64_t rows) {
        to.append(rows, read_words(part.dataset, part.shape, row, rows).data());
      });
    };
    for (std::size_t m = 0; m < group.info().stats.size(); ++m)
      copy(std::string(group.info().stats[m].name), group.width(m), group.metric(m));
    copy("time_ps", 1, group.times());
  }
  for (std::size_t t = 0; t < tables.size(); ++t) {
    auto& table = tables[t];
    auto const& columns = table.info().columns;
    auto const rows = position.rows[t];
    std::vector<Part> parts;
    for (std::size_t c = 0; c < columns.size() && rows > 0; ++c)
      parts.push_back(
          part_of(earlier, source, "/tables/" + table.info().name + "/" + columns[c].name, rows, 1));
    constexpr std::uint64_t kStep = 4096;
    for (std::uint64_t row = 0; row < rows; row += kStep) {
      auto const n = std::min(kStep, rows - row);
      std::vector<std::vector<Cell>> block;
      for (std::size_t c = 0; c < parts.size(); ++c)
        block.push_back(cells(parts[c], columns[c].type, row, n));
      std::vector<Cell> line(columns.size());
      for (std::uint64_t i = 0; i < n; ++i) {
        for (std::size_t c = 0; c < line.size(); ++c) line[c] = std::move(block[c][i]);
        table.add(line);
      }
      table.write(table_root, false);
    }
  }
  samples = position.samples;
}

ResultWriter ResultWriter::resume(std::string path, RunHeader const& header, Position const& position) {
  check_replaceable(path);
  refuse_unreplaceable(path);
  auto const partial = path + ".partial";
  if (is_locked(partial)) throw UserError("cannot write '" + partial + "': another run is writing it");
  auto const source = exists(partial) ? partial : path;
  if (!exists(source))
    throw ResumeError("nothing to resume: neither '" + partial + "' nor '" + path + "' exists",
                      "; a checkpoint continues the result of its run: copy that file here, or start the run "
                      "from the beginning");
  check_sound(source);
  auto const fresh = partial + ".new";
  std::unique_ptr<Impl> impl;
  auto const discard = [&] {
    if (impl) impl->broken = true;
    std::error_code ignored;
    std::filesystem::remove(fresh, ignored);
  };
  try {
    impl = std::make_unique<Impl>(path, fresh, header);
    impl->copy_from(source, position);
  } catch (Hdf5Failure const& problem) {
    discard();
    throw mismatch_error(source, problem.what());
  } catch (...) {
    discard();
    throw;
  }
  try {
    impl->flush();
    impl->file.rename_to(partial);
    impl->partial = partial;
  } catch (std::exception const& problem) {
    discard();
    throw RunError(std::string(problem.what()) + "; '" + source + "' is unchanged");
  }
  return ResultWriter(std::move(impl));
}

}  // namespace farfault::results
