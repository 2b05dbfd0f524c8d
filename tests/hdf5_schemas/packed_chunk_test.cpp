// SPDX-License-Identifier: Apache-2.0
// HDF5 reads back chunks that it has not packed itself.
#include "writing/packed_chunk.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>

#include "scratch.hpp"
#include "writing/rows.hpp"

namespace packed_chunk_test {

using namespace farfault;
using namespace farfault::results;

namespace {

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>(i * 7 + i / 256);
  return all;
}

}  // namespace

TEST_CASE("bytes are shuffled like in HDF5, for any number and width of values") {
  for (std::size_t const width : {1U, 3U, 8U, 32U})
    for (std::size_t const count : {0U, 1U, 7U, 8U, 9U, 64U, 1000U}) {
      auto const values = numbered(count * width);
      std::vector<std::byte> out(values.size()), expected;
      for (std::size_t byte = 0; byte < width; ++byte)
        for (std::size_t i = 0; i < count; ++i) expected.push_back(values[i * width + byte]);
      shuffle_bytes(values, width, out);
      CAPTURE(width);
      CAPTURE(count);
      CHECK(out == expected);
    }
}

TEST_CASE("rows of any shape are read back unchanged, with flushes at any time") {
  Scratch dir;
  quiet();
  Handle const file(H5Fcreate((dir / "a.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "no file");
  // Chunks with many rows, one row, or part of a row; and the same with bins.
  std::vector<std::vector<hsize_t>> const shapes{{},     {3},      {64},      {8192},
                                                 {8193}, {20'000}, {700, 24}, {3, 9000}};
  for (auto const& shape : shapes)
    for (std::uint64_t const flush_after : {1U, 5U, 1000U}) {
      auto const width = std::accumulate(shape.begin(), shape.end(), hsize_t{1}, std::multiplies<>{});
      auto const rows = 1 + 200'000 / width;
      auto const name =
          std::to_string(width) + "_" + std::to_string(shape.size()) + "_" + std::to_string(flush_after);
      std::vector<std::uint64_t> values(rows * width);
      for (std::size_t i = 0; i < values.size(); ++i) {
        auto const row = i / width;
        bool const last = i % width == width - 1;  // in two of three rows nothing else changes
        values[i] = row % 3 == 2 ? i * i : last ? row : 5;
      }
      RowDataset dataset(file, name, Element::u64, shape, std::nullopt, {"1", "of a test"});
      for (std::uint64_t row = 0; row < rows;) {
        auto const n = std::min<std::uint64_t>(1 + row % 4, rows - row);
        dataset.append(n, values.data() + row * width);
        row += n;
        if (row % flush_after == 0) dataset.write_tail();
      }
      dataset.write_tail();
      std::vector<std::uint64_t> back(values.size());
      CAPTURE(name);
      REQUIRE(H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, back.data()) >= 0);
      CHECK(back == values);
    }
}

TEST_CASE("rows that are all known at creation are read back unchanged, in any number of chunks") {
  Scratch dir;
  quiet();
  Handle const file(H5Fcreate((dir / "a.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "no file");
  // One value to 3 MB per row; chunks have at most 1 MiB.
  std::vector<std::vector<hsize_t>> const shapes{{}, {3}, {144}, {700, 24}, {3, 90'000}, {400'000}};
  for (auto const& shape : shapes)
    for (std::uint64_t const rows : {1U, 2U, 40U, 300U})
      for (std::uint64_t const most : {0U, 200U, 70'000U}) {
        auto const width = std::accumulate(shape.begin(), shape.end(), hsize_t{1}, std::multiplies<>{});
        if (rows * width > 2'000'000) continue;
        auto const name = std::to_string(width) + "_" + std::to_string(rows) + "_" + std::to_string(most);
        std::vector<std::uint64_t> values(rows * width);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = most == 0 ? 0 : (i * i) % most;
        RowDataset dataset(file, name, Element::u64, shape, rows, {"1", "of a test"});
        dataset.append(rows, values.data());
        std::vector<std::uint64_t> back(values.size());
        CAPTURE(name);
        REQUIRE(H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, back.data()) >= 0);
        CHECK(back == values);
      }
}

TEST_CASE("a dataset of zeros that fits in a chunk stores nothing, and is read back") {
  Scratch dir;
  quiet();
  Handle const file(H5Fcreate((dir / "a.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "no file");
  std::vector<std::uint64_t> values(100 * 144);
  auto const stored = [&](std::string const& name) {
    RowDataset dataset(file, name, Element::u64, {144}, 100, {"1", "of a test"});
    dataset.append(100, values.data());
    std::vector<std::uint64_t> back(values.size(), 1);
    REQUIRE(H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, back.data()) >= 0);
    CHECK(back == values);
    return H5Dget_storage_size(dataset.get());
  };
  CHECK(stored("zeros") == 0);
  for (std::size_t const at : {std::size_t{0}, std::size_t{1}, values.size() - 1}) {
    values[at] = 1;
    CHECK(stored(std::to_string(at)) > 0);
    values[at] = 0;
  }
}

TEST_CASE("a chunk equal to the previous one is packed equally, and a different one is not") {
  PackedChunk chunk;
  auto const a = numbered(65536), b = std::vector<std::byte>(65536);
  auto const pack = [&](auto const& bytes) {
    auto const packed = chunk.pack(bytes, 8);
    return std::vector<std::byte>(packed.begin(), packed.end());
  };
  auto const first = pack(a);
  CHECK(pack(a) == first);
  CHECK(pack(b) != first);
  CHECK(pack(a) == first);
  for (std::size_t const at : {0U, 32767U, 32768U, 65535U}) {
    auto c = a;
    c[at] ^= std::byte{1};
    CHECK(pack(c) != first);
    CHECK(pack(a) == first);
  }
}

}  // namespace packed_chunk_test
