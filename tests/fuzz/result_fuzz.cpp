// SPDX-License-Identifier: Apache-2.0
// Results that HDF5 can read but that Farfault did not write: an input is a list of changes of a sound
// result, eight bytes each. They are read in this process; nothing of HDF5's own is damaged.
#include "../hdf5_schemas/sample.hpp"
#include "farfault/results/compare.hpp"
#include "farfault/results/digest.hpp"
#include "farfault/results/explain.hpp"
#include "farfault/results/live.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/report.hpp"
#include "handle.hpp"
#include "harness.hpp"
#include "result_changes.hpp"

using namespace farfault;

namespace {

void read_all_of(std::string const& path, std::string const& sound, bool changed_first) {
  fuzz::accepts([&] {
    auto const summary = results::read_summary(path);
    fuzz::expect_clean(results::to_json(summary));
    static_cast<void>(results::to_text(summary));
  });
  fuzz::accepts([&] {
    for (auto const& problem : results::validate(path)) fuzz::expect_sentence(problem);
  });
  fuzz::accepts([&] { static_cast<void>(results::result_digest(path)); });
  fuzz::accepts([&] {
    static_cast<void>(results::read_live(path, {{"l2_tlb", "hits"}, {"driver", "batches"}}, 0, 4));
  });
  fuzz::accepts([&] { fuzz::expect_clean(results::report_data(path, {.points = 20})); });
  fuzz::accepts([&] { fuzz::expect_clean(results::to_json(results::explain(path))); });
  fuzz::accepts([&] { fuzz::expect_clean(results::to_json(results::compare({sound, path}))); });
  fuzz::accepts([&] { static_cast<void>(results::read_engine(path, "partition_load")); });
  fuzz::accepts([&] {
    auto const found = changed_first ? results::diff(path, sound) : results::diff(sound, path);
    if (found.difference) fuzz::expect_sentence(found.difference->text);
  });
}

}  // namespace

void fuzz_one(fuzz::Bytes input) {
  static fuzz::MemoryFolder const folder;
  static auto const sound = [] {
    results::quiet();
    auto path = folder.path() + "/sound.h5";
    results::sample::write(path);
    return path;
  }();
  static auto const image = fuzz::file_image(sound);
  static fuzz::MemoryFile changed;
  changed.set(fuzz::changed_image(image, input));
  read_all_of(changed.path(), sound, input.size() % 16 < 8);
}
