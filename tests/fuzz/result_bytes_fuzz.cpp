// SPDX-License-Identifier: Apache-2.0
// Result files of arbitrary bytes, read like by the program in a child process, because the HDF5 library
// crashes on some of them.
#include "farfault/results/digest.hpp"
#include "farfault/results/reader.hpp"
#include "harness.hpp"

using namespace farfault;

void fuzz_one(fuzz::Bytes input) {
  static fuzz::MemoryFolder const folder;
  static auto const path = folder.path() + "/input.h5";
  folder.set("input.h5", input);
  fuzz::accepts([&] {
    auto const summary = results::read_summary(path);
    fuzz::expect_clean(results::to_json(summary));
    static_cast<void>(results::to_text(summary));
    for (auto const& problem : results::validate(path)) fuzz::expect_sentence(problem);
  });
}
