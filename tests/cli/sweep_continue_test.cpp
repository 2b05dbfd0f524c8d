// SPDX-License-Identifier: Apache-2.0
// A sweep continues stopped runs from their checkpoints. tests/cli/sweep_continue.sh stops sweeps by signals.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "farfault/cli/readable.hpp"
#include "farfault/engine/archive.hpp"
#include "farfault/engine/checkpoint.hpp"
#include "run/driver_state.hpp"
#include "small_study.hpp"

namespace sweep_continue_test {

namespace fs = std::filesystem;
using namespace farfault;
using namespace farfault::cli;

namespace {

constexpr char const* kOneRun =
    "[sweep.grid]\nworkload.stream.bytes = [\"64 KiB\"]\nrun.sample_interval = [\"100ns\"]\n";
constexpr char const* kOne = "run 0 (workload.stream.bytes = 64 KiB, run.sample_interval = 100ns)";

constexpr char const* kStopped =
    "run paper-gmmu-bypass --set gpu.sms=2 --set workload.name=stream --set workload.stream.bytes=64KiB "
    "--set run.sample_interval=100ns --checkpoint-every 1us --until 4us --threads 1 --progress off";

// A study of one run, which was stopped in the middle as by a signal.
struct StoppedStudy : SmallStudy {
  fs::path result, partial, checkpoint;
  Time at{};

  explicit StoppedStudy(std::string const& name) : SmallStudy("continue_" + name, kOneRun) {
    REQUIRE(sweep().code == 0);
    result = out / column("result")[0];
    partial = result.string() + ".partial";
    checkpoint = fs::path(result).replace_extension(".checkpoint");
    fs::remove(result);
    std::istringstream line(kStopped);
    std::vector<std::string> words(std::istream_iterator<std::string>(line), {});
    words.insert(words.end(), {"--output", result.string(), "--checkpoint", checkpoint.string()});
    auto const stopped = farfault_program(words);
    REQUIRE_MESSAGE(stopped.code == 0, stopped.err);
    auto const json = nlohmann::json::parse(farfault_program({"inspect", result.string(), "--json"}).out);
    REQUIRE(json["end_reason"] == "time_limit");
    fs::rename(result, partial);
    REQUIRE(fs::exists(checkpoint));
    REQUIRE(fs::exists(checkpoint.string() + ".previous"));
    at = read_checkpoint(checkpoint.string()).header.time;
    REQUIRE(at > Time{1us});
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (auto const& entry : fs::directory_iterator(out / "runs"))
      names.push_back(entry.path().filename().string());
    return names;
  }
  bool is_complete() const { return files() == Words{result.filename().string()}; }

  // Executes the sweep, which must restart the run for this reason, with the table of an uninterrupted one.
  void restarts(std::string const& why, std::string const& table) const {
    auto const r = sweep();
    CHECK(r.code == 0);
    CHECK(r.err == "farfault: " + std::string(kOne) + " starts from the beginning: " + why + "\n");
    CHECK(lines_of(r.out)[0] == "  1 run: 1 completed, 0 cached, 0 failed, 0 missing");
    CHECK(r.out.find("resumed") == std::string::npos);
    CHECK(csv() == table);
    CHECK(is_complete());
  }
};

std::string uninterrupted() {
  static auto const table = [] {
    SmallStudy const s("continue_uninterrupted", kOneRun);
    REQUIRE(s.sweep().code == 0);
    return s.csv();
  }();
  return table;
}

}  // namespace

TEST_CASE("sweep: a stopped run continues from its checkpoint, with the result of an uninterrupted run") {
  StoppedStudy const s("stopped");
  // Commands that execute nothing keep the checkpoint and state it.
  auto r = s.sweep({"--collect"});
  CHECK(r.code == 1);
  CHECK(lines_of(r.out)[0] == "  1 run: 0 completed, 0 cached, 0 failed, 1 missing");
  CHECK(lines_of(r.out)[1] == "  saved     1 unfinished run has a checkpoint");
  CHECK(s.column("state") == Words{"missing"});
  CHECK(s.column("error") == Words{"stopped at " + for_people(s.at.time_since_epoch()) +
                                   "; the next execution continues from the checkpoint"});
  r = s.sweep({"--dry-run"});
  CHECK(r.code == 0);
  CHECK(lines_of(r.out)[0] == "  1 run, 0 cached");
  CHECK(lines_of(r.out)[1] == "  saved     1 unfinished run has a checkpoint");
  CHECK(lines_of(r.out)[2] == "  missing   1");
  auto const watched = farfault_program({"watch", "--once", s.out.string()}).out;
  CHECK(watched.find("0 done, 0 failed, 0 running, 1 pending, 1 of them saved") != std::string::npos);
  REQUIRE(fs::exists(s.checkpoint));

  r = s.sweep();
  CHECK(r.code == 0);
  CHECK(r.err == "");
  CHECK(lines_of(r.out)[0] == "  1 run: 1 completed, 0 cached, 0 failed, 0 missing");
  CHECK(lines_of(r.out)[1] == "  resumed   1 run continued from its checkpoint");
  CHECK(s.csv() == uninterrupted());
  CHECK(s.is_complete());
  // The time of a resumed run is not an estimate: it does not include the time before the checkpoint.
  s.write(std::string(kOneRun) + "gpu.l2_tlb.entries = [512, 256]\n");
  r = s.sweep({"--dry-run"});
  CHECK(lines_of(r.out)[0] == "  2 runs, 1 cached");
  CHECK(r.out.find("if all take as long as the first") != std::string::npos);
}

TEST_CASE("sweep: a run whose checkpoints are damaged starts from the beginning, with one sentence") {
  auto const table = uninterrupted();
  StoppedStudy const s("damaged");
  auto const damage = [](fs::path const& file) {
    auto bytes = content(file);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::ofstream(file, std::ios::binary) << bytes;
  };
  damage(s.checkpoint);
  auto r = s.sweep();  // from the previous one
  CHECK(r.err == "");
  CHECK(lines_of(r.out)[1] == "  resumed   1 run continued from its checkpoint");
  CHECK(s.csv() == table);
  CHECK(s.is_complete());

  StoppedStudy const both("both_damaged");
  auto const previous = both.checkpoint.string() + ".previous";
  damage(both.checkpoint);
  damage(previous);
  both.restarts("checkpoint " + both.checkpoint.string() + " is damaged: checksum mismatch; checkpoint " +
                    previous + " is damaged: checksum mismatch",
                table);

  StoppedStudy const cut("cut");
  auto const bytes = fs::file_size(cut.checkpoint) - 32;  // without the header
  fs::resize_file(cut.checkpoint, 50);
  fs::remove(cut.checkpoint.string() + ".previous");
  r = cut.sweep({"--collect"});
  auto const why = "checkpoint " + cut.checkpoint.string() + " is damaged: expected " +
                   std::to_string(bytes) + " bytes, found 18";
  CHECK(lines_of(r.out)[1] ==
        "  unusable  1 checkpoint is outdated or damaged; its run starts from the beginning");
  CHECK(cut.column("error") == Words{why + "; the next execution starts from the beginning"});
  CHECK(fs::exists(cut.checkpoint));
  cut.restarts(why, table);
}

TEST_CASE("sweep: a checkpoint of another program or configuration is not used") {
  auto const table = uninterrupted();
  auto const change = [](StoppedStudy const& s, auto how) {
    auto checkpoint = read_checkpoint(s.checkpoint.string());
    DriverState state;
    Loader loader(checkpoint.run);
    loader(state);
    how(checkpoint.header, state);
    checkpoint.run.clear();
    Saver saver(checkpoint.run);
    saver(state);
    write_checkpoint(s.checkpoint.string(), checkpoint);
  };
  StoppedStudy const program("other_program");
  change(program, [](CheckpointHeader&, DriverState& state) { ++state.program; });
  program.restarts("its checkpoint is from a different farfault version", table);
  StoppedStudy const configuration("other_configuration");
  change(configuration, [](CheckpointHeader& header, DriverState&) { ++header.config_hash; });
  configuration.restarts("its checkpoint is from a different configuration or input file", table);
}

TEST_CASE("sweep: a run whose unfinished result does not fit its checkpoint starts from the beginning") {
  auto const table = uninterrupted();
  StoppedStudy const missing("missing_partial");
  fs::remove(missing.partial);
  missing.restarts("nothing to resume: neither '" + missing.partial.string() + "' nor '" +
                       missing.result.string() + "' exists",
                   table);

  StoppedStudy const damaged("damaged_partial");
  std::ofstream(damaged.partial, std::ios::binary) << content(damaged.partial).substr(0, 3000);
  auto const r = damaged.sweep();
  CHECK(r.code == 0);
  CHECK(r.err.starts_with("farfault: " + std::string(kOne) + " starts from the beginning: "));
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  CHECK(damaged.csv() == table);
  CHECK(damaged.is_complete());

  StoppedStudy const shorter("shorter_partial");
  auto checkpoint = read_checkpoint(shorter.checkpoint.string());
  DriverState state;
  Loader loader(checkpoint.run);
  loader(state);
  REQUIRE(state.samples > 0);
  REQUIRE(state.samples < 1000);
  state.samples = 1000;
  checkpoint.run.clear();
  Saver saver(checkpoint.run);
  saver(state);
  write_checkpoint(shorter.checkpoint.string(), checkpoint);
  auto const again = shorter.sweep();
  CHECK(again.code == 0);
  CHECK(again.err.find(" rows, but the checkpoint needs 1000\n") != std::string::npos);
  CHECK(shorter.csv() == table);
}

TEST_CASE("sweep: a half-written checkpoint is ignored, and removed with its run") {
  auto const table = uninterrupted();
  StoppedStudy const s("half_written");
  fs::rename(s.checkpoint, s.checkpoint.string() + ".writing");
  fs::remove(s.checkpoint.string() + ".previous");
  auto const r = s.sweep();
  CHECK(r.code == 0);
  CHECK(r.err == "");
  CHECK(r.out.find("resumed") == std::string::npos);
  CHECK(s.csv() == table);
  CHECK(s.is_complete());
}

TEST_CASE("sweep: a checkpoint whose result is complete is removed, and one of no run of the study is kept") {
  StoppedStudy const s("leftover");
  auto const kept = s.folder / "kept";
  fs::copy_file(s.checkpoint, kept);
  REQUIRE(s.sweep().code == 0);
  REQUIRE(s.is_complete());
  fs::copy_file(kept, s.checkpoint);  // of a sweep that was killed before it removed the checkpoint
  auto const other = s.out / "runs" / "0123456789abcdef.checkpoint";
  fs::copy_file(kept, other);
  auto const r = s.sweep();
  CHECK(r.code == 0);
  CHECK(r.out.find("saved") == std::string::npos);
  CHECK_FALSE(fs::exists(s.checkpoint));
  CHECK(content(other) == content(kept));
}

}  // namespace sweep_continue_test
