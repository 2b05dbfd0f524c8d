// SPDX-License-Identifier: Apache-2.0
// Tables of sweeps that HDF5 can read but that Farfault did not write: an input is a list of changes of a
// sound table, eight bytes each. Readers of tables may accept it. Readers of results must refuse it, because
// no change of a table makes it a result.
#include "farfault/analysis/compare.hpp"
#include "farfault/analysis/explain.hpp"
#include "farfault/analysis/live.hpp"
#include "farfault/analysis/report.hpp"
#include "farfault/analysis/sweep_pivot.hpp"
#include "farfault/results/digest.hpp"
#include "farfault/results/reading/handle.hpp"
#include "farfault/results/sweep.hpp"
#include "harness.hpp"
#include "result_changes.hpp"

using namespace farfault;

namespace {

results::SweepTable table() {
  using Texts = std::vector<std::string>;
  using Numbers = std::vector<std::uint64_t>;
  using Reals = std::vector<double>;
  results::SweepTable t;
  t.runs = {{"state", "", "1", "done, failed or missing", Texts{"done", "done", "failed", "missing"}},
            {"gpu.sms", "parameter", "1", "SMs of each GPU", Texts{"4", "8", "4", "8"}},
            {"seed", "parameter", "1", "seed", Texts{"1", "1", "2", "2"}},
            {"end", "figure", "ps", "end", Numbers{10, 20, results::kNoFigure, results::kNoFigure}},
            {"baseline", "", "1", "run of the baseline", Numbers{0, 0, 2, 2}},
            {"speedup", "ratio", "1", "speedup", Reals{1, 0.5, 0.0, 0.0}},
            {"wall_time", "", "s", "time that it took", Reals{0.5, 1.5, 0.0, 0.0}}};
  t.spread = {{"gpu.sms", "parameter", "1", "SMs of each GPU", Texts{"4", "8"}},
              {"end_mean", "figure", "ps", "end", Reals{10, 20}}};
  t.means = {{"seed", "parameter", "1", "seed", Texts{"1", "2"}},
             {"speedup", "ratio", "1", "mean", Reals{0.7, 0.0}}};
  t.baseline = "gpu.sms = 4";
  t.mean_over = "gpu.sms";
  return t;
}

// True if read_sweep accepts the file.
bool read_all_of(std::string const& path, fuzz::Secrets const& secrets) {
  auto const& sound = secrets.sound();
  bool const is_sweep = results::looks_like_sweep(path);
  bool const read = fuzz::reads(secrets, [&] {
    auto const summary = results::read_sweep(path);
    fuzz::expect_clean(results::to_json(summary));
    fuzz::expect(summary.done + summary.failed <= summary.runs, "at most as many runs as rows", path);
    return results::to_json(summary) + results::to_text(summary);
  });
  fuzz::expect(is_sweep || !read, "a file read as the table of a sweep is recognized as one");
  fuzz::reads(secrets, [&] {
    auto const whole = results::read_sweep_table(path, {"end"});
    auto all = whole.baseline + whole.mean_over;
    for (auto const& column : whole.runs)
      for (std::size_t row = 0; row < analysis::rows_of(whole.runs); ++row)
        all += column.name + analysis::cell_text(column, row);
    if (auto const key = analysis::sweep_curve_key(whole); !key.empty())
      for (auto const& line : analysis::sweep_curves(whole, key, analysis::main_figure(whole)).lines)
        all += analysis::short_text(line.others);
    return all;
  });
  auto const refuses = [&](char const* who, auto&& reader) {
    bool const is_read = fuzz::reads(secrets, [&] {
      reader();
      return std::string();
    });
    fuzz::expect(!is_read, "the table of a sweep is not read as a result", who);
  };
  refuses("read_summary", [&] { static_cast<void>(results::read_summary(path)); });
  refuses("explain", [&] { static_cast<void>(analysis::explain(path)); });
  refuses("report", [&] { static_cast<void>(analysis::report_data(path, {.points = 20})); });
  refuses("compare", [&] { static_cast<void>(analysis::compare({sound, path})); });
  refuses("read_swept_run", [&] { static_cast<void>(results::read_swept_run(path)); });
  refuses("diff", [&] { static_cast<void>(results::diff(path, sound)); });
  fuzz::reads(secrets, [&] { return results::result_digest(path); });
  fuzz::reads(secrets, [&] {
    std::string all;
    for (auto const& point : analysis::read_live(path, {{"l2_tlb", "hits"}}, 0, 4).points)
      for (auto const total : point.totals) all += std::to_string(total) + " ";
    return all;
  });
  fuzz::reads(secrets, [&] {
    std::string all;
    for (auto const& problem : results::validate(path)) {
      fuzz::expect_sentence(problem);
      all += problem;
    }
    return all;
  });
  return read;
}

}  // namespace

void fuzz_one(fuzz::Bytes input) {
  static fuzz::Secrets const secrets([](std::string const& path) { results::write_sweep(path, table()); });
  auto const changed = secrets.fresh_copy();
  bool const is_changed = fuzz::change_file(changed, input, secrets.targets());
  bool const accepted = read_all_of(changed, secrets);
  fuzz::expect(is_changed || accepted, "a valid table is read");
}
