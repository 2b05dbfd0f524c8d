// SPDX-License-Identifier: Apache-2.0
// The identity of a run: its configuration and the content of its input files, never their names.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include "capture.hpp"
#include "farfault/engine/checkpoint.hpp"
#include "farfault/engine/event.hpp"
#include "farfault/results/digest.hpp"
#include "farfault/results/reader.hpp"

namespace identity_test {

namespace fs = std::filesystem;

namespace {

// A private folder, initially empty, that is the current folder during the test.
class Folder {
 public:
  Folder() : before_(fs::current_path()), path_(fs::path(FARFAULT_BINARY_DIR) / "identity_test") {
    fs::remove_all(path_);
    fs::create_directories(path_ / "data");
    fs::current_path(path_);
  }
  ~Folder() { fs::current_path(before_); }
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;
  std::string operator/(std::string const& name) const { return (path_ / name).string(); }

 private:
  fs::path before_, path_;
};

void write(std::string const& path, std::string const& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string const kRing = "4 4\n2 4\n1 3\n2 4\n3 1\n";
std::string const kPath = "4 3\n2\n1 3\n2 4\n3\n";

std::string machine(std::string const& latency) {
  return "[[node]]\nname = \"c\"\nkind = \"cpu\"\n[[node]]\nname = \"g\"\nkind = \"gpu\"\n"
         "[[link]]\na = \"c\"\nb = \"g\"\nkind = \"pcie\"\nlatency = \"" +
         latency + "\"\nbandwidth = \"16GB/s\"\n";
}

Called run(std::string const& config, std::vector<std::string> more) {
  std::vector<std::string> words{"run", config,       "--output", "out.h5", "--threads",
                                 "1",   "--progress", "off",      "--set",  "gpu.sms=2"};
  words.insert(words.end(), more.begin(), more.end());
  return farfault_program(words);
}

std::string digest_with(std::string const& config, std::vector<std::string> const& more) {
  auto const r = run(config, more);
  CHECK_MESSAGE(r.code == 0, r.err);
  return farfault::results::result_digest("out.h5");
}

std::string digest_of_graph(std::string const& path) {
  return digest_with("paper-gmmu-bypass",
                     {"--set", "workload.name=bfs", "--set", "workload.bfs.graph=" + path});
}

std::string digest_of_machine(std::string const& path) {
  return digest_with("paper-gmmu-bypass",
                     {"--set", "workload.name=stream", "--set", "workload.stream.bytes=8KiB", "--set",
                      "machine.topology=" + path});
}

}  // namespace

TEST_CASE("a sufficient input limit does not affect the digest") {
  Folder const here;
  write("data/ring.graph", kRing);
  auto const digest = digest_of_graph("data/ring.graph");
  CHECK(digest_with("paper-gmmu-bypass",
                    {"--set", "workload.name=bfs", "--set", "workload.bfs.graph=data/ring.graph", "--set",
                     "limits.edges=1000", "--set", "limits.vertices=1000"}) == digest);
}

TEST_CASE("the digest does not depend on the spelling of a graph's path") {
  Folder const here;
  write("data/ring.graph", kRing);
  write("data/path.graph", kPath);
  fs::copy_file("data/ring.graph", "other-name.graph");
  fs::create_symlink("data/ring.graph", "link.graph");
  auto const digest = digest_of_graph("data/ring.graph");
  fs::rename("out.h5", "first.h5");
  CHECK(digest_of_graph("./data/../data/ring.graph") == digest);
  CHECK(digest_of_graph(here / "data/ring.graph") == digest);
  CHECK(digest_of_graph("other-name.graph") == digest);
  CHECK(digest_of_graph("link.graph") == digest);
  auto const diff = farfault_program({"diff", "first.h5", "out.h5"});
  CHECK(diff.code == 0);
  CHECK(diff.out ==
        "the results are equal; identical input files have different names: workload.bfs.graph\n");
  CHECK(farfault_program({"diff", "first.h5", "first.h5"}).out == "the results are equal\n");
  CHECK(digest_of_graph("data/path.graph") != digest);
}

TEST_CASE("the digest depends on the content of a machine file, not on its path") {
  Folder const here;
  write("data/m.toml", machine("70ns"));
  auto const digest = digest_of_machine("data/m.toml");
  CHECK(digest_of_machine(here / "data/m.toml") == digest);
  write("data/m.toml", machine("70ns") + "# the same machine\n");
  CHECK(digest_of_machine("data/m.toml") != digest);
}

TEST_CASE("the digest depends on the content of a page map, not on its path") {
  Folder const here;
  auto const digest_of_map = [](std::string const& path) {
    return digest_with("paper-gmmu-bypass",
                       {"--set", "workload.name=stream", "--set", "workload.stream.bytes=8KiB", "--set",
                        "memory.placement=recorded", "--set", "memory.recorded.map=" + path});
  };
  write("data/map.csv", "page,device\n1048576,gpu0\n1048577,gpu1\n");
  auto const digest = digest_of_map("data/map.csv");
  CHECK(digest_of_map(here / "data/map.csv") == digest);
  write("data/c.toml",
        "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"stream\"\nworkload.stream.bytes = \"8KiB\"\n"
        "memory.placement = \"recorded\"\nmemory.recorded.map = \"map.csv\"\n");
  CHECK(digest_with("data/c.toml", {}) == digest);
  write("data/map.csv", "page,device\n1048576,gpu0\n1048577,gpu2\n");
  CHECK(digest_of_map("data/map.csv") != digest);
  write("data/map.csv", "page,device\n1048576,gpu0\n1048577,gpu7\n");
  auto const r = run("data/c.toml", {});
  CHECK(r.code == 2);
  CHECK(r.err ==
        "farfault: data/map.csv:3: page 1048577 is placed on gpu7, but the devices are gpu0 to gpu3 and "
        "cpu0\n");
}

TEST_CASE("a checkpoint is rejected if an input file of its run has changed") {
  Folder const here;
  std::vector<std::string> const words{"--set",
                                       "workload.name=bfs",
                                       "--set",
                                       "workload.bfs.graph=g.graph",
                                       "--set",
                                       "machine.topology=m.toml",
                                       "--checkpoint",
                                       "saved",
                                       "--checkpoint-every",
                                       "1us"};
  auto resumed = words;
  resumed.insert(resumed.end(), {"--resume", "saved"});
  write("m.toml", machine("70ns"));
  write("g.graph", kRing);
  auto const r = run("paper-gmmu-bypass", words);
  REQUIRE_MESSAGE(r.code == 0, r.err);
  REQUIRE(fs::exists("saved"));
  auto const digest = farfault::results::result_digest("out.h5");

  auto const refusal =
      "farfault: checkpoint saved belongs to a different run: its configuration or input files do not match "
      "paper-gmmu-bypass\n";
  write("m.toml", machine("300ns"));
  auto const other_machine = run("paper-gmmu-bypass", resumed);
  CHECK(other_machine.code == 2);
  CHECK(other_machine.err == refusal);
  write("m.toml", machine("70ns"));
  write("g.graph", kPath);
  auto const other_graph = run("paper-gmmu-bypass", resumed);
  CHECK(other_graph.code == 2);
  CHECK(other_graph.err == refusal);

  // In another folder, with other file names, it is the same run.
  write("g.graph", kRing);
  fs::rename("g.graph", "data/renamed.graph");
  fs::rename("m.toml", "data/renamed.toml");
  resumed.insert(resumed.end(), {"--set", "workload.bfs.graph=./data/renamed.graph", "--set",
                                 "machine.topology=" + (here / "data/renamed.toml")});
  CHECK(run("paper-gmmu-bypass", resumed).code == 0);
  CHECK(farfault::results::result_digest("out.h5") == digest);
}

TEST_CASE("a checkpoint with the state of other components is rejected with the remedy") {
  Folder const here;
  std::vector<std::string> words{"--set", "workload.name=stream",     "--set", "workload.stream.bytes=16KiB",
                                 "--set", "run.sample_interval=100ns"};
  auto saving = words;
  saving.insert(saving.end(), {"--checkpoint", "c.ckpt", "--checkpoint-every", "1us"});
  auto const r = run("paper-gmmu-bypass", saving);
  REQUIRE_MESSAGE(r.code == 0, r.err);
  auto const sound = farfault::read_checkpoint("c.ckpt");
  REQUIRE(sound.parts.size() == 1);
  words.insert(words.end(), {"--resume", "c.ckpt"});
  auto const refused = [&](farfault::Checkpoint const& changed, std::string const& why) {
    fs::remove("c.ckpt");
    farfault::write_checkpoint("c.ckpt", changed);
    auto const resumed = run("paper-gmmu-bypass", words);
    CHECK(resumed.code == 2);
    CHECK(resumed.err ==
          "farfault: checkpoint c.ckpt was saved by a different version of farfault, or is damaged (" + why +
              "); resume with the version that saved it, or omit --resume to start the run from the "
              "beginning\n");
  };
  auto changed = sound;
  changed.parts[0].pop_back();
  refused(changed, "saved state is too short for its component");
  changed = sound;
  changed.parts[0].push_back(std::byte{0});
  refused(changed, "saved state is too long");
  changed = sound;
  std::fill_n(changed.parts[0].begin(), sizeof(farfault::ComponentId), std::byte{0xFE});
  refused(changed, "saved state belongs to a different model");
  changed = sound;
  changed.run.pop_back();
  refused(changed, "saved state is too short for its component");
  fs::remove("c.ckpt");
  farfault::write_checkpoint("c.ckpt", sound);
  CHECK(run("paper-gmmu-bypass", words).code == 0);
}

TEST_CASE("an input file in a configuration is resolved relative to the configuration") {
  Folder const here;
  write("data/ring.graph", kRing);
  write("data/c.toml",
        "include = [\"paper-gmmu-bypass\"]\n[workload]\nname = \"bfs\"\n[workload.bfs]\ngraph = "
        "\"ring.graph\"\n");
  CHECK(digest_with("data/c.toml", {}) == digest_of_graph("data/ring.graph"));
  write("data/trace.toml",
        "include = [\"paper-gmmu-bypass\"]\n[workload]\nname = \"trace\"\n[workload.trace]\nfile = "
        "\"none.g\"\n");
  CHECK(run("data/trace.toml", {"--set", "gpu.warp_width=32"}).err ==
        "farfault: data/none.g: no such file\n");
}

TEST_CASE("a segment for small buffers is rejected if the trace fixes the buffers' addresses") {
  Folder const here;
  auto const trace = std::string(FARFAULT_SOURCE_DIR) + "/tests/fuzz/corpus/trace/version5";
  std::vector<std::string> const sets{"--set", "gpu.warp_width=32",           "--set", "workload.name=trace",
                                      "--set", "workload.trace.file=" + trace};
  CHECK(run("paper-gmmu-bypass", sets).code == 0);
  auto small = sets;
  small.insert(small.end(), {"--set", "workload.small_buffers=128KiB"});
  auto const refused = run("paper-gmmu-bypass", small);
  CHECK(refused.code == 2);
  CHECK(refused.err ==
        "farfault: workload.small_buffers = 128 KiB: the input of workload 'trace' defines the addresses of "
        "the buffers; remove this parameter\n");
}

}  // namespace identity_test
