// SPDX-License-Identifier: Apache-2.0
// Samples of a large machine with many values each: some kinds fill their own chunks, others do not.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "farfault/results/reader.hpp"
#include "sample.hpp"
#include "scratch.hpp"
#include "writing/packed_chunk.hpp"

namespace wide_samples_test {

using namespace farfault;
using namespace farfault::results;

namespace {

constexpr std::size_t kSms = 300'000, kGmmus = 64;

RunHeader header() {
  auto h = sample::header();
  h.tables.clear();
  h.series = {{"sm", {}, {{"instructions", "count", "Instructions.", StatKind::counter, 1}}},
              {"gmmu", {}, {{"walks", "count", "Page walks.", StatKind::counter, 1}}}};
  for (std::size_t i = 0; i < kSms; ++i) h.series[0].instances.push_back("sm" + std::to_string(i));
  for (std::size_t i = 0; i < kGmmus; ++i) h.series[1].instances.push_back("gmmu" + std::to_string(i));
  return h;
}

// SM values that compress well, and GMMU values that do not compress.
std::vector<std::uint64_t> values(std::uint64_t number) {
  std::vector<std::uint64_t> v(kSms + kGmmus, number / 10);
  auto random = number;
  for (std::size_t i = kSms; i < v.size(); ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    v[i] = random ^ random >> 29;
  }
  return v;
}

void append(ResultWriter& writer, std::uint64_t from, std::uint64_t to) {
  for (auto number = from; number < to; ++number)
    writer.append_sample(Time{Duration{static_cast<std::int64_t>(number)}}, values(number));
}

// Bytes that this process has passed to write calls.
std::uint64_t bytes_written() {
  std::ifstream io("/proc/self/io");
  for (std::string word; io >> word;)
    if (std::uint64_t bytes = 0; word == "wchar:" && io >> bytes) return bytes;
  return 0;
}

}  // namespace

TEST_CASE("a chunk is written when it is complete, and not before, for any number of samples per buffer") {
  if (!std::ifstream("/proc/self/io")) return;  // the count is unavailable here
  Scratch dir;
  ResultWriter writer(dir / "a.h5", header());
  auto const before = bytes_written();
  append(writer, 0, 140);
  writer.flush();
  // A chunk of equal SM values takes about 330 bytes.
  constexpr auto kRandom = 140 * kGmmus * 8, kChunks = 140 * kSms * 8 / (64 << 10);
  auto const written = bytes_written() - before;
  CHECK(written > kRandom);
  CHECK(written < 2 * kRandom + 352 * kChunks);
}

TEST_CASE("constant values are compressed once, at any number of chunks per row") {
  auto h = header();
  h.series.resize(1);
  std::vector<std::uint64_t> still(kSms);
  for (std::size_t i = 0; i < kSms; ++i) still[i] = i * 6364136223846793005;  // no two chunks are equal
  Scratch dir;
  ResultWriter writer(dir / "a.h5", h);
  auto const packed = PackedChunk::compressed();
  for (std::int64_t i = 0; i < 20; ++i) writer.append_sample(Time{Duration{i}}, still);
  writer.flush();
  constexpr auto kChunksOfRow = (kSms * 8 + (64 << 10) - 1) / (64 << 10);
  auto const times = PackedChunk::compressed() - packed;
  CHECK(times >= kChunksOfRow);
  CHECK(times <= kChunksOfRow + 1);
}

TEST_CASE("buffered samples of a killed run do not affect the last flush") {
  Scratch dir;
  auto const path = dir / "a.h5";
  auto const pid = ::fork();
  if (pid == 0) {
    ResultWriter writer(path, header());
    append(writer, 0, 5);
    writer.flush();
    append(writer, 5, 25);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(pid, nullptr, 0);
  CHECK(validate(path + ".partial") ==
        std::vector<std::string>{"the run did not finish: result_digest is missing"});
  for (auto const& series : read_summary(path + ".partial").series) CHECK(series.samples == 5);
}

TEST_CASE("a result does not depend on buffering and flushing") {
  Scratch dir;
  auto const digest = [&](std::string const& name, std::uint64_t flush_after) {
    ResultWriter writer(dir / name, header());
    for (std::uint64_t i = 0; i < 135; ++i) {
      append(writer, i, i + 1);
      if (i % flush_after == flush_after - 1) writer.flush();
    }
    return writer.finish("completed");
  };
  auto const never = digest("a.h5", 1000);
  CHECK(digest("b.h5", 1) == never);
  CHECK(digest("c.h5", 50) == never);
}

}  // namespace wide_samples_test
