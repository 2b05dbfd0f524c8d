#include "farfault/results/writer.hpp"

#include <algorithm>
#include <filesystem>

#include "commit_file.hpp"
#include "digest_of.hpp"
#include "guard.hpp"
#include "layout.hpp"
#include "store.hpp"
#include "walk.hpp"

namespace farfault::results {
namespace {

struct Series {
  GrowingDataset times;
  std::vector<GrowingDataset> metrics;
  std::size_t values = 0;  // of one sample
};

// The rows of a table that wait for the next flush, column by column.
struct PendingColumn {
  ColumnType type = ColumnType::u64;
  std::vector<std::uint64_t> words;
  std::vector<std::string> texts;
};

struct Table {
  TableInfo info;
  GrowingDataset index;
  std::vector<GrowingDataset> columns;
  std::vector<PendingColumn> pending;
  std::uint64_t rows = 0;  // appended so far
  std::uint64_t waiting() const { return rows - index.rows(); }
};

Element element_of(ColumnType type) {
  switch (type) {
    case ColumnType::u64:
      return Element::u64;
    case ColumnType::i64:
      return Element::i64;
    case ColumnType::text:
      return Element::text;
  }
  return Element::u64;
}

// Scale of the bins of a histogram: bin 0 counts zeros, bin b the values in [2^(b-1), 2^b).
Handle write_bins(hid_t group, std::string const& name, std::uint32_t bins) {
  std::vector<std::uint64_t> lower{0};
  for (std::uint32_t b = 1; b < bins; ++b)
    lower.push_back(std::uint64_t{1} << std::min(b - 1, std::uint32_t{63}));
  auto scale = write_column(
      group, name, lower,
      {"as bin_unit of the histogram", "Smallest value of the bin; the next bin's is the first above."});
  make_scale(scale, name);
  return scale;
}

Series make_series(hid_t root, SeriesGroup const& info) {
  FF_CHECK(is_object_name(info.kind), "a series has no valid kind");
  auto const group = create_group(root, info.kind);
  set_attribute(group, "description", "Statistics of every " + info.kind + ", sampled over simulated time.");
  GrowingDataset times(group, "time_ps", Element::i64, {}, {"ps", "Simulated time of the sample."});
  make_scale(times.get(), "time_ps");
  auto const instance = write_column(group, "instance", info.instances, {"text", "Path of the component."});
  make_scale(instance, "instance");

  Series series{std::move(times), {}, 0};
  std::vector<std::pair<std::uint32_t, Handle>> bin_scales;
  for (auto const& stat : info.stats) {
    FF_CHECK(is_object_name(stat.name) && stat.name != "time_ps" && stat.name != "instance" &&
                 !stat.name.starts_with("bin"),
             "a statistic has no valid name");
    std::vector<hsize_t> shape{info.instances.size()};
    bool const histogram = stat.kind == StatKind::histogram;
    if (histogram) shape.push_back(stat.bins);
    GrowingDataset dataset(group, stat.name, Element::u64, shape,
                           {histogram ? "count" : stat.unit, stat.text});
    set_attribute(dataset.get(), "kind",
                  histogram                      ? "histogram"
                  : stat.kind == StatKind::level ? "level"
                                                 : "counter");
    attach_scale(dataset.get(), series.times.get(), 0);
    attach_scale(dataset.get(), instance, 1);
    if (histogram) {
      set_attribute(dataset.get(), "bin_unit", stat.unit);
      auto known = std::find_if(bin_scales.begin(), bin_scales.end(),
                                [&](auto const& b) { return b.first == stat.bins; });
      if (known == bin_scales.end()) {
        auto const name = bin_scales.empty() ? std::string("bin") : "bin_" + std::to_string(stat.bins);
        bin_scales.emplace_back(stat.bins, write_bins(group, name, stat.bins));
        known = std::prev(bin_scales.end());
      }
      attach_scale(dataset.get(), known->second, 2);
    }
    series.values += dataset.values_per_row();
    series.metrics.push_back(std::move(dataset));
  }
  return series;
}

Table make_table(hid_t root, TableInfo const& info) {
  FF_CHECK(is_object_name(info.name), "a table has no valid name");
  auto const group = create_group(root, info.name);
  set_attribute(group, "description", info.text);
  GrowingDataset index(group, "row", Element::u64, {},
                       {"index", "Number of the row, in the order of happening."});
  make_scale(index.get(), "row");
  Table table{info, std::move(index), {}, {}, 0};
  for (auto const& column : info.columns) {
    FF_CHECK(is_object_name(column.name) && column.name != "row", "a column of a table has no valid name");
    table.columns.emplace_back(group, column.name, element_of(column.type), std::vector<hsize_t>{},
                               Description{column.unit, column.text});
    attach_scale(table.columns.back().get(), table.index.get(), 0);
    table.pending.push_back({column.type, {}, {}});
  }
  return table;
}

void write_pending(Table& table) {
  auto const rows = table.waiting();
  if (rows == 0) return;
  std::vector<std::uint64_t> index(rows);
  for (std::uint64_t i = 0; i < rows; ++i) index[i] = table.index.rows() + i;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    auto& pending = table.pending[c];
    if (pending.type == ColumnType::text) {
      std::vector<char const*> texts;
      for (auto const& text : pending.texts) texts.push_back(text.c_str());
      table.columns[c].append(rows, texts.data());
    } else {
      table.columns[c].append(rows, pending.words.data());
    }
    pending.words.clear();
    pending.texts.clear();
  }
  table.index.append(rows, index.data());
}

}  // namespace

struct ResultWriter::Impl {
  Impl(std::string target, std::string written, RunHeader const& header);
  ~Impl();

  // Every call goes through here: what HDF5 or the disk refuses becomes one RunError.
  template <class Action>
  void attempt(Action action) {
    FF_CHECK(!finished, "a result was written to after it was finished");
    if (broken) throw RunError(failure("an earlier write failed"));
    try {
      action();
    } catch (Hdf5Failure const& problem) {
      broken = true;
      throw RunError(failure(problem.what()));
    } catch (RunError const&) {
      broken = true;
      throw RunError(failure(""));
    }
    if (file.failed()) {
      broken = true;
      throw RunError(failure(""));
    }
  }
  std::string failure(std::string const& why) const {
    auto const cause = file.failed() ? file.failure() : "cannot write '" + partial + "': " + why;
    return cause + "; it holds the run up to its last flush, and '" + path + "' is untouched";
  }

  void write_waiting();
  void flush_now();
  void take_over(std::string const& source, RunHeader const& header, Position const& position);

  std::string path, partial;
  CommitFile file;  // outlives the handles below
  Handle hdf5;
  std::vector<Series> series;
  std::vector<Table> tables;
  std::size_t values_per_sample = 0;
  std::vector<std::int64_t> waiting_times;
  std::vector<std::uint64_t> waiting_values;
  std::size_t waiting_row_bytes = 0;
  std::uint64_t samples = 0;
  Time last_sample = Time::min();
  bool broken = false, finished = false;
};

ResultWriter::Impl::Impl(std::string target, std::string written, RunHeader const& header)
    : path(std::move(target)), partial(std::move(written)), file((quiet(), partial)) {
  attempt([&] {
    Handle const create(H5Pcreate(H5P_FILE_CREATE), "no file properties");
    // No part of HDF5 may hand out freed space: the CommitFile does, when that is safe.
    check(H5Pset_file_space_strategy(create, H5F_FSPACE_STRATEGY_NONE, false, 1), "no file properties");
    check(H5Pset_obj_track_times(create, false), "no file properties");
    auto const access = file.access_list();
    hdf5 = Handle(H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, create, access), "no file");
    Handle const root(H5Gopen2(hdf5, "/", H5P_DEFAULT), "no root group");
    set_attribute(root, "farfault_version", std::string(FARFAULT_VERSION));
    set_attribute(root, "schema_version", kSchemaVersion);
    set_attribute(
        root, "conventions",
        std::string("netCDF-4 dimension scales; every dataset has the attributes unit and description"));
    set_attribute(root, "end_reason", std::string("running"));
    write_header(hdf5, header);
    auto const timeseries = create_group(hdf5, "timeseries");
    for (auto const& group : header.series) {
      if (group.instances.empty() || group.stats.empty()) continue;
      series.push_back(make_series(timeseries, group));
      values_per_sample += series.back().values;
    }
    auto const table_root = create_group(hdf5, "tables");
    for (auto const& table : header.tables) tables.push_back(make_table(table_root, table));
    flush_now();
  });
}

ResultWriter::Impl::~Impl() {
  if (finished || broken) return;
  try {
    attempt([&] { flush_now(); });
  } catch (...) {
    // The file keeps its last flush; whoever destroys the writer early has a better reason to report.
  }
}

void ResultWriter::Impl::write_waiting() {
  auto const rows = waiting_times.size();
  std::size_t offset = 0;
  std::vector<std::uint64_t> block;
  for (auto& group : series) {
    for (auto& metric : group.metrics) {
      auto const width = metric.values_per_row();
      block.clear();
      block.reserve(rows * width);
      for (std::size_t row = 0; row < rows; ++row) {
        auto const from =
            waiting_values.begin() + static_cast<std::ptrdiff_t>(row * values_per_sample + offset);
        block.insert(block.end(), from, from + static_cast<std::ptrdiff_t>(width));
      }
      metric.append(rows, block.data());
      offset += width;
    }
    // Last, so that a reader of a killed run's file finds every time with its values.
    group.times.append(rows, waiting_times.data());
  }
  waiting_times.clear();
  waiting_values.clear();
  for (auto& table : tables) write_pending(table);
  waiting_row_bytes = 0;
}

void ResultWriter::Impl::flush_now() {
  write_waiting();
  check(H5Fflush(hdf5, H5F_SCOPE_LOCAL), "flushing failed");
  for (auto& group : series) {
    group.times.release_replaced(file);
    for (auto& metric : group.metrics) metric.release_replaced(file);
  }
  for (auto& table : tables) {
    table.index.release_replaced(file);
    for (auto& column : table.columns) column.release_replaced(file);
  }
  file.commit();
}

ResultWriter::ResultWriter(std::string path, RunHeader const& header) {
  if (path.empty()) throw UserError("a result needs a file name, not an empty one");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw UserError("cannot write '" + path + "': it is a directory");
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
             "a sample has another number of values than its description");
    FF_CHECK(time >= w.last_sample, "a sample lies before the one before it");
    w.last_sample = time;
    w.waiting_times.push_back(picoseconds(time));
    w.waiting_values.insert(w.waiting_values.end(), values.begin(), values.end());
    ++w.samples;
    if ((w.waiting_values.size() + w.waiting_times.size()) * 8 + w.waiting_row_bytes >= kBufferBytes)
      w.flush_now();
  });
}

void ResultWriter::append_row(std::size_t table_number, std::span<Cell const> row) {
  auto& w = *impl_;
  w.attempt([&] {
    FF_CHECK(table_number < w.tables.size(), "a row goes to a table that was not declared");
    auto& table = w.tables[table_number];
    FF_CHECK(row.size() == table.columns.size(), "a row has another number of cells than its table");
    for (std::size_t c = 0; c < row.size(); ++c) {
      auto& column = table.pending[c];
      FF_CHECK(row[c].index() == static_cast<std::size_t>(column.type),
               "a cell has another type than its column");
      if (auto const* u = std::get_if<std::uint64_t>(&row[c])) column.words.push_back(*u);
      if (auto const* i = std::get_if<std::int64_t>(&row[c]))
        column.words.push_back(static_cast<std::uint64_t>(*i));
      if (auto const* s = std::get_if<std::string>(&row[c])) {
        column.texts.push_back(*s);
        w.waiting_row_bytes += sizeof(std::string) + s->size();
      } else {
        w.waiting_row_bytes += 8;
      }
    }
    ++table.rows;
    w.waiting_row_bytes += 8;
    if (w.waiting_values.size() * 8 + w.waiting_row_bytes >= kBufferBytes) w.flush_now();
  });
}

void ResultWriter::flush() {
  impl_->attempt([&] { impl_->flush_now(); });
}

Position ResultWriter::position() const {
  Position position{impl_->samples, {}};
  for (auto const& table : impl_->tables) position.rows.push_back(table.rows);
  return position;
}

void ResultWriter::summary(std::vector<SummaryRow> const& rows) {
  impl_->attempt([&] { write_summary(impl_->hdf5, rows); });
}

void ResultWriter::engine(std::vector<EngineValue> const& values) {
  impl_->attempt([&] { write_engine(impl_->hdf5, values); });
}

std::string ResultWriter::finish(std::string const& end_reason) {
  auto& w = *impl_;
  std::string digest;
  w.attempt([&] {
    w.flush_now();
    {
      Handle const root(H5Gopen2(w.hdf5, "/", H5P_DEFAULT), "no root group");
      set_attribute(root, "end_reason", end_reason);
      check(H5Fflush(w.hdf5, H5F_SCOPE_LOCAL), "flushing failed");
      digest = digest_of(w.hdf5);
      set_attribute(root, "result_digest", digest);
    }
    check(H5Fflush(w.hdf5, H5F_SCOPE_LOCAL), "flushing failed");
    w.series.clear();
    w.tables.clear();
    auto const id = w.hdf5.get();
    check(H5Iinc_ref(id), "no file");
    w.hdf5.reset();
    check(H5Fclose(id), "closing failed");
    w.file.commit();
    w.file.rename_to(w.path);
  });
  w.finished = true;
  return digest;
}

void ResultWriter::Impl::take_over(std::string const& source, RunHeader const& header,
                                   Position const& position) {
  auto const misfit = [&](std::string const& what) {
    return UserError("cannot go on with '" + source + "': " + what);
  };
  Handle const earlier(H5Fopen(source.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
                       "the earlier file cannot be opened");
  auto const rows_of = [&](std::string const& name, std::uint64_t rows, GrowingDataset const& like) {
    Handle dataset(H5Dopen2(earlier, name.c_str(), H5P_DEFAULT), "a dataset is missing");
    auto const shape = shape_of_dataset(dataset);
    if (shape.extents.empty() || shape.row_values != like.values_per_row())
      throw misfit("'" + name + "' has another shape in this run");
    if (shape.rows() < rows)
      throw misfit("'" + name + "' has " + std::to_string(shape.rows()) + " rows and the checkpoint needs " +
                   std::to_string(rows));
    return std::pair(std::move(dataset), shape);
  };
  auto const copy = [&](std::string const& name, std::uint64_t rows, GrowingDataset& to) {
    auto [dataset, shape] = rows_of(name, rows, to);
    shape.extents[0] = rows;
    for_pieces(shape, [&, &from = dataset, &piece_shape = shape](std::uint64_t row, std::uint64_t n) {
      if (piece_shape.kind == Kind::text) {
        auto const texts = read_texts(from, piece_shape, row, n);
        std::vector<char const*> pointers;
        for (auto const& text : texts) pointers.push_back(text.c_str());
        to.append(n, pointers.data());
      } else {
        to.append(n, read_words(from, piece_shape, row, n).data());
      }
    });
  };
  if (position.rows.size() != tables.size()) throw misfit("the checkpoint knows another number of tables");
  std::size_t next = 0;
  for (auto const& info : header.series) {
    if (info.instances.empty() || info.stats.empty()) continue;
    auto& group = series[next++];
    auto const folder = "/timeseries/" + info.kind + "/";
    for (std::size_t m = 0; m < info.stats.size(); ++m)
      copy(folder + info.stats[m].name, position.samples, group.metrics[m]);
    copy(folder + "time_ps", position.samples, group.times);
  }
  for (std::size_t t = 0; t < tables.size(); ++t) {
    auto& table = tables[t];
    auto const folder = "/tables/" + table.info.name + "/";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      copy(folder + table.info.columns[c].name, position.rows[t], table.columns[c]);
    copy(folder + "row", position.rows[t], table.index);
    table.rows = position.rows[t];
  }
  samples = position.samples;
}

ResultWriter ResultWriter::resume(std::string path, RunHeader const& header, Position const& position) {
  auto const partial = path + ".partial";
  std::error_code ignored;
  auto const source = std::filesystem::exists(partial, ignored) ? partial : path;
  check_readable(source);
  auto impl = std::make_unique<Impl>(path, partial + ".new", header);
  try {
    impl->take_over(source, header, position);
  } catch (Hdf5Failure const& problem) {
    impl->broken = true;
    std::filesystem::remove(partial + ".new", ignored);
    throw UserError("cannot go on with '" + source + "': " + problem.what());
  } catch (...) {
    impl->broken = true;
    std::filesystem::remove(partial + ".new", ignored);
    throw;
  }
  impl->attempt([&] {
    impl->flush_now();
    impl->file.rename_to(partial);
    impl->partial = partial;
  });
  return ResultWriter(std::move(impl));
}

}  // namespace farfault::results
