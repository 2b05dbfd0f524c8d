// SPDX-License-Identifier: Apache-2.0
// Results that HDF5 can read but that Farfault did not write: an input is a list of changes of a sound
// result, eight bytes each. They are read in this process, because their HDF5 structures are undamaged.
#include "../hdf5_schemas/sample.hpp"
#include "farfault/analysis/compare.hpp"
#include "farfault/analysis/explain.hpp"
#include "farfault/analysis/explain_pair.hpp"
#include "farfault/analysis/live.hpp"
#include "farfault/analysis/report.hpp"
#include "farfault/results/digest.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/reading/handle.hpp"
#include "harness.hpp"
#include "result_changes.hpp"

using namespace farfault;

namespace {

std::string clean(std::string text) {
  fuzz::expect_clean(text);
  return text;
}

std::string joined(std::vector<std::uint64_t> const& numbers) {
  std::string text;
  for (auto const number : numbers) text += std::to_string(number) + " ";
  return text;
}

// True if read_summary accepts the file.
bool read_all_of(std::string const& path, fuzz::Secrets const& secrets, bool changed_first) {
  auto const& sound = secrets.sound();
  bool const accepted = fuzz::reads(secrets, [&] {
    auto const summary = results::read_summary(path);
    return clean(results::to_json(summary)) + results::to_text(summary);
  });
  fuzz::reads(secrets, [&] {
    std::string all;
    for (auto const& problem : results::validate(path)) {
      fuzz::expect_sentence(problem);
      all += problem;
    }
    return all;
  });
  fuzz::reads(secrets, [&] { return results::result_digest(path); });
  fuzz::reads(secrets, [&] {
    std::string all;
    for (auto const& point :
         analysis::read_live(path, {{"l2_tlb", "hits"}, {"driver", "batches"}}, 0, 4).points)
      all += joined(point.totals);
    return all;
  });
  fuzz::reads(secrets, [&] { return clean(analysis::report_data(path, {.points = 20})); });
  fuzz::reads(secrets, [&] { return clean(analysis::to_json(analysis::explain(path))); });
  fuzz::reads(secrets, [&] { return clean(analysis::to_json(analysis::compare({sound, path}))); });
  fuzz::reads(secrets, [&] { return clean(analysis::to_json(analysis::explain_pair(path, path))); });
  fuzz::reads(secrets, [&] { return joined(results::read_engine(path, "partition_load")); });
  fuzz::reads(secrets, [&] {
    auto const found = changed_first ? results::diff(path, sound) : results::diff(sound, path);
    std::string all;
    for (auto const& setting : found.settings) all += setting.a + setting.b;
    if (!found.difference) return all;
    fuzz::expect_sentence(found.difference->text);
    return all + found.difference->text;
  });
  return accepted;
}

}  // namespace

void fuzz_one(fuzz::Bytes input) {
  static fuzz::Secrets const secrets([](std::string const& path) { results::sample::write(path); });
  auto const changed = secrets.fresh_copy();
  bool const is_changed = fuzz::change_file(changed, input, secrets.targets());
  bool const accepted = read_all_of(changed, secrets, input.size() % 16 < 8);
  fuzz::expect(is_changed || accepted, "a valid result is read");
}
