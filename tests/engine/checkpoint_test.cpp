// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/checkpoint.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "farfault/engine/error.hpp"
#include "phold_model.hpp"

namespace checkpoint_test {

using namespace farfault;

namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("farfault_checkpoint_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(std::string const& name) const { return (path / name).string(); }
};

std::vector<std::byte> noise(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(n);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

Checkpoint sample(std::uint64_t config) {
  return {{config, Time{12345ns}, 7, 99}, noise(100, 1), {noise(3000, 2), {}, noise(17, 3)}};
}

std::string slurp(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void spill(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The error of reading the checkpoint, or "read".
std::string verdict(std::string const& path) {
  try {
    static_cast<void>(read_checkpoint(path));
    return "read";
  } catch (UserError const& e) {
    return e.what();
  }
}

bool one_sentence_with(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos && text.find('\n') == std::string::npos;
}

struct PholdRun {
  phold::Model model;
  std::unique_ptr<Transport> transport = make_single_transport();
  Engine engine;
  PholdRun(phold::Parameters const& p, std::uint32_t partitions, EngineOptions options)
      : model(p), engine(model.system, model.placement(partitions), options, *transport) {}
};

}  // namespace

TEST_CASE("a checkpoint is read back unchanged") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  auto const written = sample(42);
  write_checkpoint(path, written);
  auto const c = read_checkpoint(path);
  CHECK(c.header.config_hash == 42);
  CHECK(c.header.time == Time{12345ns});
  CHECK(c.header.components == 7);
  CHECK(c.header.events == 99);
  CHECK(c.run == written.run);
  CHECK(c.parts == written.parts);
  CHECK(looks_like_checkpoint(path));
  CHECK_FALSE(std::filesystem::exists(path + ".writing"));
}

TEST_CASE("the head of a checkpoint is its header and the driver's data, also if its parts are damaged") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  auto written = sample(42);
  written.parts = {noise(std::size_t{2} << 20, 4)};
  write_checkpoint(path, written);
  auto bytes = slurp(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  spill(path, bytes);
  CHECK(one_sentence_with(verdict(path), "is damaged: checksum mismatch"));
  auto const head = read_checkpoint_head(path);
  CHECK(head.header.config_hash == 42);
  CHECK(head.header.time == Time{12345ns});
  CHECK(head.run == written.run);
  CHECK(head.parts.empty());
  spill(path, bytes.substr(0, bytes.size() - 1));
  CHECK_THROWS_AS(static_cast<void>(read_checkpoint_head(path)), ResumeError);
}

TEST_CASE("damage of a checkpoint differs from a checkpoint that cannot be opened") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  auto const is_lasting = [&] {
    try {
      static_cast<void>(read_checkpoint(path));
    } catch (ResumeError const&) {
      return true;
    } catch (UserError const&) {
    }
    return false;
  };
  CHECK_FALSE(is_lasting());
  spill(path, "short");
  CHECK(is_lasting());
  write_checkpoint(path, sample(1));
  CHECK_FALSE(is_lasting());
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  CHECK_FALSE(is_lasting());
}

TEST_CASE("the reason of a resume error does not include the remedy") {
  ResumeError const error("a checkpoint is\ndamaged", "; remove it");
  CHECK(std::string(error.what()) == "a checkpoint is\ndamaged; remove it");
  CHECK(error.reason() == "a checkpoint is\ndamaged");
}

TEST_CASE("the last two checkpoints are kept") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  for (std::uint64_t config = 1; config <= 3; ++config) write_checkpoint(path, sample(config));
  CHECK(read_checkpoint(path).header.config_hash == 3);
  CHECK(read_checkpoint(path + ".previous").header.config_hash == 2);
}

TEST_CASE("a checkpoint with any one byte changed is rejected") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  write_checkpoint(path, sample(2));
  auto const good = slurp(path);
  std::mt19937 random(7);
  for (std::size_t i = 0; i < good.size(); i += i < 64 ? 1 : 1 + random() % 20) {
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ static_cast<char>(1 << random() % 8));
    spill(path, bad);
    CAPTURE(i);
    CHECK(one_sentence_with(verdict(path), "checkpoint " + path + " "));
  }
}

TEST_CASE("a checkpoint truncated anywhere or with trailing bytes is rejected") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  write_checkpoint(path, sample(1));
  auto const good = slurp(path);
  for (std::size_t n = 0; n < good.size(); n += n < 100 ? 1 : 37) {
    spill(path, good.substr(0, n));
    CAPTURE(n);
    CHECK(one_sentence_with(verdict(path), path));
  }
  spill(path, good + "x");
  CHECK(one_sentence_with(verdict(path), "is damaged: expected"));
}

TEST_CASE("a checkpoint with a different format version is rejected with its version") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  write_checkpoint(path, sample(1));
  auto bytes = slurp(path);
  bytes[8] = 77;
  spill(path, bytes);
  CHECK(verdict(path) ==
        "checkpoint " + path + " has format version 77; this version of farfault reads version 4");
}

TEST_CASE("a file that is not a checkpoint is rejected without reading it") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  CHECK(one_sentence_with(verdict(path), "cannot be read: No such file"));
  CHECK(one_sentence_with(verdict(folder.path.string()), "is not a regular file"));
  ::mkfifo(folder.file("fifo").c_str(), 0600);  // without a writer: reading would block forever
  CHECK(verdict(folder.file("fifo")) == "checkpoint " + folder.file("fifo") + " is not a regular file");
  CHECK_FALSE(looks_like_checkpoint(folder.file("fifo")));
  spill(path, "");
  CHECK(one_sentence_with(verdict(path), "is too short for a checkpoint"));
  spill(path, std::string(4096, 'A'));
  CHECK(one_sentence_with(verdict(path), "is not a Farfault checkpoint"));
  CHECK_FALSE(looks_like_checkpoint(path));
  // A checkpoint that claims a length of four exabytes.
  write_checkpoint(path, sample(1));
  auto bytes = slurp(path);
  bytes[23] = 0x40;
  spill(path, bytes);
  CHECK(one_sentence_with(verdict(path), "is damaged: expected 46116860"));
}

TEST_CASE("a checkpoint that cannot be written does not affect existing ones") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  write_checkpoint(path, sample(1));
  std::filesystem::create_directory(path + ".writing");  // blocks writing under this name
  CHECK_THROWS_AS(write_checkpoint(path, sample(2)), RunError);
  CHECK(read_checkpoint(path).header.config_hash == 1);
  CHECK_THROWS_AS(write_checkpoint(folder.file("no/such/folder"), sample(2)), RunError);
  std::filesystem::remove(path + ".writing");
  std::filesystem::create_directory(path + ".previous");  // prevents keeping the existing checkpoint
  CHECK_THROWS_WITH_AS(
      write_checkpoint(path, sample(2)),
      ("checkpoint " + path + " cannot be renamed to " + path + ".previous: Is a directory").c_str(),
      RunError);
  CHECK(read_checkpoint(path).header.config_hash == 1);
  CHECK_FALSE(std::filesystem::exists(path + ".writing"));
}

TEST_CASE("a truncated checkpoint does not replace the previous one") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  write_checkpoint(path, sample(1));
  write_checkpoint(path, sample(2));
  std::filesystem::resize_file(path, 100);
  write_checkpoint(path, sample(3));
  CHECK(read_checkpoint(path).header.config_hash == 3);
  CHECK(read_checkpoint(path + ".previous").header.config_hash == 1);
}

TEST_CASE("a checkpoint is never written through a link") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  spill(folder.file("precious"), "text");
  std::filesystem::create_symlink("precious", path + ".writing");
  CHECK_THROWS_WITH_AS(CheckpointLock{path},
                       ("cannot write '" + path + ".writing': it is a symbolic link").c_str(), UserError);
  write_checkpoint(path, sample(1));
  CHECK(slurp(folder.file("precious")) == "text");
  CHECK(read_checkpoint(path).header.config_hash == 1);
}

TEST_CASE("the checkpoints of a path belong to one run at a time") {
  Folder const folder;
  auto const path = folder.file("run.checkpoint");
  auto const refusal = [](std::string const& p) {
    try {
      CheckpointLock const lock(p);
      return std::string("held");
    } catch (UserError const& e) {
      return std::string(e.what());
    }
  };
  {
    CheckpointLock const first(path);
    CHECK(refusal(path) == "cannot write '" + path + "': another run is writing it");
  }
  CHECK(std::filesystem::is_empty(folder.path));
  spill(path + ".lock", "");  // of a killed run
  CHECK(refusal(path) == "held");
  CHECK(refusal(folder.file("no/folder")) ==
        "cannot write '" + folder.file("no/folder") + "': No such file or directory");
  CHECK(refusal(folder.path.string()) == "cannot write '" + folder.path.string() + "': it is a directory");
  std::filesystem::create_directory(path + ".previous");
  CHECK(refusal(path) == "cannot write '" + path + ".previous': it is a directory");
}

TEST_CASE(
    "PHOLD saved at any time and loaded on other partitions and threads ends like an uninterrupted run") {
  phold::Parameters const p{.processes = 61, .start_events = 3, .remote = 0.5, .lookahead = 0.1};
  auto const end = Time{40us};
  PholdRun whole(p, 1, {});
  whole.engine.run_until(end);
  auto const reference = whole.engine.state_digest();

  struct Shape {
    std::uint32_t partitions;
    EngineOptions options;
  };
  std::vector<Shape> const shapes = {
      {1, {}},
      {2, {.threads = 2}},
      {5, {.threads = 1, .merge_lanes = false, .run_sparse_merged = false}},
      {7, {.threads = 4, .merge_lanes = false}},
      {3, {.threads = 2, .merge_lanes = true, .run_sparse_merged = false}},
  };
  Folder const folder;
  auto const path = folder.file("phold.checkpoint");
  std::mt19937 random(11);
  for (std::size_t from = 0; from < shapes.size(); ++from) {
    for (std::size_t to = 0; to < shapes.size(); ++to) {
      auto const moment = Time{Duration{static_cast<std::int64_t>(random() % 39'000'000) + 1}};
      CAPTURE(from);
      CAPTURE(to);
      CAPTURE(picoseconds(moment));
      {
        PholdRun first(p, shapes[from].partitions, shapes[from].options);
        first.engine.run_until(moment);
        write_checkpoint(path, {{1, moment, p.processes, 0}, {}, {first.engine.save()}});
        // Saving does not affect the running simulation.
        first.engine.run_until(end);
        CHECK(first.engine.state_digest() == reference);
      }
      PholdRun second(p, shapes[to].partitions, shapes[to].options);
      second.engine.load(read_checkpoint(path).parts);
      CHECK(second.engine.state_digest() != reference);
      second.engine.run_until(end);
      CHECK(second.engine.state_digest() == reference);
    }
  }
}

TEST_CASE("the saved state has the same bytes for every placement on one rank") {
  phold::Parameters const p{.processes = 48, .start_events = 2, .remote = 0.5, .lookahead = 0.1};
  auto saved = [&](std::uint32_t partitions, EngineOptions options) {
    PholdRun run(p, partitions, options);
    run.engine.run_until(Time{7us});
    return run.engine.save();
  };
  auto const reference = saved(1, {});
  CHECK(saved(4, {.threads = 2}) == reference);
  CHECK(saved(6, {.threads = 1, .merge_lanes = false, .run_sparse_merged = false}) == reference);
}

TEST_CASE("the state of another model, or a damaged state, is rejected and never crashes") {
  phold::Parameters const p{.processes = 20, .start_events = 2};
  PholdRun run(p, 1, {});
  run.engine.run_until(Time{3us});
  auto const good = run.engine.save();

  phold::Parameters larger = p;
  larger.processes = 21;
  CHECK_THROWS_AS(PholdRun(larger, 1, {}).engine.load({good}), UserError);
  phold::Parameters smaller = p;
  smaller.processes = 19;
  CHECK_THROWS_AS(PholdRun(smaller, 1, {}).engine.load({good}), UserError);
  CHECK_THROWS_AS(PholdRun(p, 1, {}).engine.load({}), UserError);
  CHECK_THROWS_AS(PholdRun(p, 1, {}).engine.load({good, good}), UserError);  // every component twice
  for (std::size_t n = 0; n < good.size(); n += 13)
    CHECK_THROWS_AS(PholdRun(p, 1, {}).engine.load({{good.begin(), good.begin() + static_cast<long>(n)}}),
                    UserError);
}

}  // namespace checkpoint_test
