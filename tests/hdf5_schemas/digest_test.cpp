// SPDX-License-Identifier: Apache-2.0
// Coverage of the digest, element by element.
#include "farfault/results/digest.hpp"

#include <doctest/doctest.h>

#include <set>

#include "edit.hpp"
#include "file/value_hash.hpp"
#include "sample.hpp"
#include "sample_digest.hpp"
#include "scratch.hpp"

namespace digest_test {

using namespace farfault;
using namespace farfault::results;

namespace {

bool left_out(std::string const& path) {
  return path.starts_with("/engine/") || path.starts_with("/config/unused/") ||
         path == "/config/command_line" || path == "/config/inputs/path";
}

std::string digest_after_flip(std::string const& path, std::string const& dataset, std::size_t element) {
  {
    edit::File const file(path);
    edit::Elements(file, dataset).flip(element);
  }
  auto const digest = result_digest(path);
  edit::File const file(path);
  edit::Elements(file, dataset).flip(element);
  return digest;
}

std::size_t count_of(std::string const& path, std::string const& dataset) {
  edit::File const file(path);
  return edit::Elements(file, dataset).count();
}

}  // namespace

TEST_CASE("the sample result has its digest with any HDF5 library") {
  Scratch const dir;
  CHECK(sample::write(dir / "a.h5") == sample::kDigest);
}

TEST_CASE("a result of schema_version 2 has the digest that its program stored") {
  Scratch const dir;
  auto const path = dir / "a.h5";
  sample::write(path);
  edit::set_number(path, "schema_version", 2);
  {
    edit::File const file(path);
    edit::Elements(file, "/timeseries/l2_tlb/bin").set(3, 4);
  }
  CHECK(result_digest(path) == sample::kDigestOfVersion2);
}

TEST_CASE("the hash of values does not depend on the number of rows per call, and covers their positions") {
  std::vector<std::uint64_t> const values{1, 0, 1, 0, 7, 0, 7, 0};
  auto const hash = [](std::vector<std::uint64_t> const& all, std::size_t row, std::uint64_t rows_at_once) {
    ValueHash h(row);
    for (std::size_t at = 0; at < all.size(); at += row * rows_at_once) h.add(rows_at_once, all.data() + at);
    return h.value();
  };
  CHECK(hash(values, 2, 1) == hash(values, 2, 4));
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto other = values;
    other[i] += 1;
    CHECK(hash(other, 2, 2) != hash(values, 2, 2));
  }
  CHECK(hash({0, 5, 0, 5}, 2, 1) != hash({5, 0, 5, 0}, 2, 1));
  CHECK(hash({0, 0, 5, 5}, 2, 1) != hash({5, 5, 0, 0}, 2, 1));
}

TEST_CASE("changing any one element of any dataset changes the digest, except in excluded datasets") {
  Scratch dir;
  auto const path = dir / "a.h5";
  auto const base = sample::write(path, 4);
  std::set<std::string> folders;
  std::size_t covered = 0;
  for (auto const& dataset : edit::datasets(path)) {
    CAPTURE(dataset);
    folders.insert(dataset.substr(0, dataset.find('/', 1)));
    auto const count = count_of(path, dataset);
    CHECK(count > 0);
    for (std::size_t element = 0; element < count; ++element) {
      CAPTURE(element);
      CHECK((digest_after_flip(path, dataset, element) == base) == left_out(dataset));
      if (!left_out(dataset)) ++covered;
    }
  }
  CHECK(folders ==
        std::set<std::string>{"/config", "/engine", "/summary", "/tables", "/timeseries", "/topology"});
  CHECK(covered > 100);
  CHECK(result_digest(path) == base);
}

TEST_CASE("the digest covers every piece of a long dataset") {
  Scratch dir;
  auto const path = dir / "a.h5";
  auto header = sample::header();
  header.series[0].instances.resize(300);
  for (std::size_t i = 0; i < 300; ++i) header.series[0].instances[i] = "gpu" + std::to_string(i) + ".l2_tlb";
  ResultWriter writer(path, header);
  std::vector<std::uint64_t> values(300 * 6 + sample::kValues - 2 * 6);
  for (std::uint64_t sample = 0; sample < 1500; ++sample) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = sample * 1000 + i;
    writer.append_sample(Time{Duration{static_cast<std::int64_t>(sample) * 1000}}, values);
  }
  sample::end(writer);
  auto const base = writer.finish("completed");
  // 3.6 MB each, read in pieces of 1 MB.
  for (auto const* dataset : {"/timeseries/l2_tlb/hits", "/timeseries/l2_tlb/occupancy"})
    for (std::size_t const row : {0U, 436U, 437U, 750U, 873U, 874U, 1499U})
      for (std::size_t const column : {0U, 299U}) {
        CAPTURE(row);
        CHECK(digest_after_flip(path, dataset, row * 300 + column) != base);
      }
}

}  // namespace digest_test
