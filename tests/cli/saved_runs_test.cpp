// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a sweep's runs: which ones are used, and which files are removed.
#include "sweep/saved_runs.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/checkpoint.hpp"
#include "run/driver_state.hpp"
#include "small_study.hpp"

namespace saved_runs_test {

namespace fs = std::filesystem;
using namespace farfault;
using namespace farfault::cli;

namespace {

constexpr std::uint64_t kProgram = 77, kConfig = 0xabc;
constexpr char const* kName = "0000000000000abc";

struct Folder {
  fs::path folder;
  std::string checkpoint;

  explicit Folder(std::string const& name) : folder(fresh("saved_" + name)) {
    fs::create_directories(folder / "runs");
    checkpoint = (folder / "runs" / (std::string(kName) + ".checkpoint")).string();
  }
  SavedRuns runs() const { return {folder.string(), kProgram}; }
  std::string text() const {
    auto runs = this->runs();
    auto const* const saved = runs.look_for(3, kName);
    return saved == nullptr ? "none" : text_of(*saved);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (auto const& entry : fs::directory_iterator(folder / "runs"))
      names.push_back(entry.path().filename().string().substr(16));
    std::sort(names.begin(), names.end());
    return names;
  }
};

void save(std::string const& path, Time at, std::uint64_t config = kConfig,
          std::uint64_t program = kProgram) {
  Checkpoint checkpoint;
  checkpoint.header.config_hash = config;
  checkpoint.header.time = at;
  DriverState state;
  state.rows = {1, 2, 3};
  state.program = program;
  Saver saver(checkpoint.run);
  saver(state);
  checkpoint.parts = {std::vector<std::byte>(5000)};
  write_checkpoint(path, std::move(checkpoint));
}

std::string const kRestarts = "; the next execution starts from the beginning";

}  // namespace

TEST_CASE("saved runs: a run continues from the checkpoint of the same configuration and program") {
  Folder const f("usable");
  CHECK(f.text() == "none");
  save(f.checkpoint, Time{1870us});
  CHECK(f.text() == "stopped at 1.87 ms; the next execution continues from the checkpoint");
  auto runs = f.runs();
  CHECK(runs.find(3) == nullptr);
  REQUIRE(runs.look_for(3, kName) != nullptr);
  CHECK(runs.find(3)->at == Time{1870us});
  CHECK(runs.find(3)->why_not == "");
  CHECK(runs.find(4) == nullptr);
  CHECK(runs.usable() == 1);
  CHECK(runs.unusable() == 0);
}

TEST_CASE("saved runs: a checkpoint of another configuration or program is not used") {
  Folder const f("others");
  save(f.checkpoint, Time{1us}, kConfig + 1);
  CHECK(f.text() == "its checkpoint is from a different configuration or input file" + kRestarts);
  save(f.checkpoint, Time{1us}, kConfig, kProgram + 1);
  CHECK(f.text() == "its checkpoint is from a different farfault version" + kRestarts);
  Checkpoint other;
  other.header.config_hash = kConfig;
  other.run = {std::byte{1}};
  write_checkpoint(f.checkpoint, other);
  CHECK(f.text() == "its checkpoint is from a different farfault version" + kRestarts);
  auto runs = f.runs();
  runs.look_for(3, kName);
  CHECK(runs.usable() == 0);
  CHECK(runs.unusable() == 1);
}

TEST_CASE("saved runs: the previous checkpoint replaces a truncated one, and a half-written one is ignored") {
  Folder const f("truncated");
  save(f.checkpoint + ".writing", Time{3us});
  CHECK(f.text() == "none");
  save(f.checkpoint, Time{1us});
  save(f.checkpoint, Time{2us});
  fs::resize_file(f.checkpoint, 200);
  CHECK(f.text() == "stopped at 1 us; the next execution continues from the checkpoint");
  fs::remove(f.checkpoint);
  CHECK(f.text() == "stopped at 1 us; the next execution continues from the checkpoint");
  fs::resize_file(f.checkpoint + ".previous", 100);
  auto const previous = "checkpoint " + f.checkpoint + ".previous is damaged: expected ";
  CHECK(f.text().starts_with(previous));
  CHECK(f.text().ends_with(" bytes, found 68" + kRestarts));
  std::ofstream(f.checkpoint) << "mine";
  CHECK(f.text() == "checkpoint " + f.checkpoint + " is too short for a checkpoint" + kRestarts);
}

TEST_CASE("saved runs: a run that another process executes is not a saved run") {
  Folder const f("locked");
  save(f.checkpoint, Time{1us});
  for (std::string const ending : {".log", ".h5.partial"}) {
    auto const lock = create_locked((f.folder / "runs" / (kName + ending)).string());
    CHECK(f.text() == "none");
  }
  CHECK(f.text() == "stopped at 1 us; the next execution continues from the checkpoint");
}

TEST_CASE("saved runs: a checkpoint that cannot be opened is kept, and does not count as damaged") {
  Folder const f("unreadable");
  fs::create_directory(f.checkpoint);
  CHECK(f.text() == "stopped; the next execution continues from the checkpoint");
}

TEST_CASE("saved runs: all files of a run's checkpoints are removed, and no others") {
  Folder const f("removed");
  save(f.checkpoint, Time{1us});
  save(f.checkpoint, Time{2us});
  for (std::string const ending : {".writing", ".lock"}) std::ofstream(f.checkpoint + ending) << "left";
  std::ofstream(f.folder / "runs" / "0000000000000abd.checkpoint.previous") << "of another run";
  std::ofstream(f.folder / "runs" / "0000000000000abe.h5") << "a result";
  auto runs = f.runs();
  CHECK(runs.names() == std::set<std::string>{kName, "0000000000000abd"});
  runs.look_for(3, kName);
  runs.remove(3, kName);
  CHECK(runs.find(3) == nullptr);
  CHECK_FALSE(runs.has(kName));
  CHECK(f.files() == std::vector<std::string>{".checkpoint.previous", ".h5"});
}

}  // namespace saved_runs_test
