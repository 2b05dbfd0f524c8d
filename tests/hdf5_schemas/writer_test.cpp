// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/writer.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "edit.hpp"
#include "farfault/results/digest.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/sweep.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace writer_test {

using namespace farfault;
using namespace farfault::results;

namespace {

std::string content(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("equal runs give equal files, byte for byte, and equal digests") {
  Scratch dir;
  auto const a = sample::write(dir / "a.h5");
  // HDF5's time stamps count seconds.
  auto const second = std::time(nullptr);
  while (std::time(nullptr) == second) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  auto const b = sample::write(dir / "b.h5");
  CHECK(a == b);
  CHECK(a.size() == 32);
  CHECK(content(dir / "a.h5") == content(dir / "b.h5"));
  CHECK(result_digest(dir / "a.h5") == a);
}

TEST_CASE("the digest does not depend on the times of flushes") {
  Scratch dir;
  auto const never = sample::write(dir / "a.h5", 2500);
  ResultWriter writer(dir / "b.h5", sample::header());
  for (std::uint64_t i = 0; i < 2500; ++i) {
    sample::append(writer, i, i + 1);
    if (i % 97 == 0) writer.flush();
  }
  sample::end(writer);
  CHECK(writer.finish("completed") == never);
}

TEST_CASE("the digest depends on every result and on no wall-clock value") {
  Scratch dir;
  auto const base = sample::write(dir / "base.h5");
  auto const with = [&](auto change) {
    auto header = sample::header();
    change(header);
    return sample::write(dir / "other.h5", 10, header);
  };
  CHECK(with([](RunHeader& h) { h.command_line = "farfault run b.toml --threads 4"; }) == base);
  CHECK(with([](RunHeader& h) { h.unused[0].instead = "links.scale.nvlink.bandwidth"; }) == base);
  CHECK(with([](RunHeader& h) { h.unused.clear(); }) == base);
  CHECK(with([](RunHeader& h) { h.resolved_config += "x = 1\n"; }) != base);
  CHECK(with([](RunHeader& h) { h.seed = 8; }) != base);
  CHECK(with([](RunHeader& h) { h.links[0].latency_ps = 1; }) != base);
  CHECK(with([](RunHeader& h) { h.nodes[0].name = "gpu9"; }) != base);
  CHECK(with([](RunHeader& h) { h.inputs[0].hash = "00fe"; }) != base);
  CHECK(with([](RunHeader& h) { h.series[0].instances[1] = "gpu1.tlb"; }) != base);
  CHECK(with([](RunHeader& h) { h.series[0].stats[0].unit = "ps"; }) != base);
  CHECK(sample::write(dir / "longer.h5", 11) != base);

  auto const ending = [&](auto change) {
    ResultWriter writer(dir / "end.h5", sample::header());
    sample::append(writer, 0, 10);
    sample::end(writer);
    change(writer);
    return writer.finish("completed");
  };
  CHECK(ending([](ResultWriter& w) { w.engine({{"wall_time", "s", "Wall-clock time.", 77.0}}); }) == base);
  CHECK(ending([](ResultWriter& w) {
          w.summary({{"gpu", "gpu0", "faults", "count", "Page faults.", 4}});
        }) != base);
  CHECK(ending([](ResultWriter& w) { sample::append(w, 10, 11); }) != base);
}

TEST_CASE("the digest depends on the content of input files, not on their names") {
  Scratch dir;
  auto const with = [&](std::string const& toml, InputRecord const& input) {
    auto header = sample::header();
    header.resolved_config = toml;
    header.inputs = {input};
    return sample::write(dir / "a.h5", 10, header);
  };
  auto const toml = [](std::string const& graph, std::string const& other) {
    return "seed = 1\n\n[workload.bfs]\ngraph = \"" + graph + "\"\nsource = 0\n\n[other]\ngraph = \"" +
           other + "\"\n";
  };
  auto const base = with(toml("a.mtx", "x"), {"workload.bfs.graph", "a.mtx", 12, "00ff"});
  CHECK(with(toml("/data/./b = c.mtx", "x"), {"workload.bfs.graph", "b.mtx", 12, "00ff"}) == base);
  CHECK(with(toml("a.mtx", "x"), {"workload.bfs.graph", "a.mtx", 12, "00fe"}) != base);
  CHECK(with(toml("a.mtx", "x"), {"workload.bfs.graph", "a.mtx", 13, "00ff"}) != base);
  CHECK(with(toml("a.mtx", "y"), {"workload.bfs.graph", "a.mtx", 12, "00ff"}) != base);
  CHECK(with(toml("a.mtx", "x"), {"other.graph", "a.mtx", 12, "00ff"}) != base);
}

TEST_CASE("the target is unchanged until the run is finished") {
  Scratch dir;
  sample::write(dir / "a.h5", 3);
  auto const earlier = content(dir / "a.h5");
  {
    ResultWriter writer(dir / "a.h5", sample::header());
    sample::append(writer, 0, 5);
    writer.flush();
    CHECK(content(dir / "a.h5") == earlier);
    CHECK(std::filesystem::exists(dir / "a.h5.partial"));
  }
  CHECK(content(dir / "a.h5") == earlier);
  auto const digest = sample::write(dir / "a.h5", 5);
  CHECK(result_digest(dir / "a.h5") == digest);
  CHECK_FALSE(std::filesystem::exists(dir / "a.h5.partial"));
}

TEST_CASE("a path that cannot be written is a user error, reported immediately") {
  Scratch dir;
  CHECK_THROWS_AS(ResultWriter("/nonexistent/folder/a.h5", sample::header()), UserError);
  CHECK_THROWS_AS(ResultWriter(dir / "", sample::header()), UserError);
  CHECK_THROWS_AS(ResultWriter("", sample::header()), UserError);
  ResultWriter first(dir / "a.h5", sample::header());
  CHECK_THROWS_WITH_AS(ResultWriter(dir / "a.h5", sample::header()),
                       doctest::Contains("another run is writing it"), UserError);
}

TEST_CASE("a result replaces only a regular file, and is never written through a link") {
  Scratch dir;
  auto const refusal = [](std::string const& path) {
    try {
      ResultWriter const writer(path, sample::header());
      return std::string("written");
    } catch (UserError const& e) {
      return std::string(e.what());
    }
  };
  ::mkfifo((dir / "fifo").c_str(), 0600);
  CHECK(refusal(dir / "fifo") == "cannot write '" + (dir / "fifo") + "': it is not a regular file");
  std::filesystem::create_symlink("/dev/null", dir / "device");
  CHECK(refusal(dir / "device") == "cannot write '" + (dir / "device") + "': it is not a regular file");
  std::ofstream(dir / "precious") << "text";
  std::filesystem::create_symlink("precious", dir / "a.h5.partial");
  CHECK(refusal(dir / "a.h5") == "cannot write '" + (dir / "a.h5.partial") + "': it is a symbolic link");
  CHECK(content(dir / "precious") == "text");
}

TEST_CASE("a result replaces a result, an empty file or a leftover of a killed run, and no other file") {
  Scratch dir;
  auto const replaces = [&](std::string const& suffix, std::string const& bytes) {
    auto const name = dir / "a.h5" + suffix;
    std::ofstream(name, std::ios::binary) << bytes;
    std::string answer = "written";
    try {
      ResultWriter const writer(dir / "a.h5", sample::header());
    } catch (UserError const& e) {
      answer = e.what();
      CHECK(content(name) == bytes);
    }
    for (auto const* left : {"", ".partial", ".partial.new"}) std::filesystem::remove(dir / "a.h5" + left);
    return answer;
  };
  auto const refused = [&](std::string const& suffix) {
    return "the result '" + (dir / "a.h5") + "' would overwrite '" + (dir / "a.h5") + suffix +
           "', which is not the result of a run";
  };
  sample::write(dir / "sound.h5");
  write_sweep(dir / "sweep.h5", {{{"state", "", "1", "state", std::vector<std::string>{"done"}}}, {}});
  auto const result = content(dir / "sound.h5"), table = content(dir / "sweep.h5");
  for (auto const* suffix : {"", ".partial", ".partial.new"}) {
    CAPTURE(suffix);
    CHECK(replaces(suffix, "my notes, kept for years\n") == refused(suffix));
    CHECK(replaces(suffix, table) == refused(suffix));
    CHECK(replaces(suffix, result) == "written");
    CHECK(replaces(suffix, "") == "written");
  }
  // A kill before the first flush leaves the zeros of the superblock, or part of it. A finished result never
  // has this name.
  for (auto const& rest : {std::string(64, '\0'), std::string("\x89HD"), result.substr(0, 100)}) {
    CHECK(replaces(".partial", rest) == "written");
    CHECK(replaces("", rest) == refused(""));
  }
}

TEST_CASE("the result of a failed run is kept next to an earlier complete one") {
  Scratch dir;
  auto const earlier = sample::write(dir / "a.h5", 5);
  ResultWriter writer(dir / "a.h5", sample::header());
  sample::append(writer, 0, 3);
  auto const digest = writer.finish("stopped", false);
  CHECK(result_digest(dir / "a.h5") == earlier);
  CHECK(result_digest(dir / "a.h5.partial") == digest);
}

TEST_CASE("a result that another run is writing cannot be continued") {
  Scratch dir;
  ResultWriter first(dir / "a.h5", sample::header());
  sample::append(first, 0, 5);
  first.flush();
  CHECK_THROWS_WITH_AS(ResultWriter::resume(dir / "a.h5", sample::header(), first.position()),
                       ("cannot write '" + (dir / "a.h5.partial") + "': another run is writing it").c_str(),
                       UserError);
  sample::append(first, 5, 10);
  CHECK(first.position().samples == 10);
}

TEST_CASE("replaced chunks free their space: many flushes do not make a large file") {
  Scratch dir;
  sample::write(dir / "once.h5", 2000);
  ResultWriter writer(dir / "often.h5", sample::header());
  for (std::uint64_t i = 0; i < 2000; ++i) {
    sample::append(writer, i, i + 1);
    if (i % 10 == 0) writer.flush();
  }
  sample::end(writer);
  writer.finish("completed");
  CHECK(std::filesystem::file_size(dir / "often.h5") < 2 * std::filesystem::file_size(dir / "once.h5"));
}

TEST_CASE("a resumed run gives the digest of an uninterrupted one") {
  Scratch dir;
  auto const whole = sample::write(dir / "whole.h5", 50);
  Position stop;
  {
    ResultWriter writer(dir / "a.h5", sample::header());
    sample::append(writer, 0, 20);
    writer.flush();
    stop = writer.position();
    sample::append(writer, 20, 33);
  }
  CHECK(stop.samples == 20);
  CHECK(stop.rows == std::vector<std::uint64_t>{7, 20});
  {
    auto writer = ResultWriter::resume(dir / "a.h5", sample::header(), stop);
    sample::append(writer, 20, 50);
    sample::end(writer);
    CHECK(writer.finish("completed") == whole);
  }
  CHECK(result_digest(dir / "a.h5") == whole);
  // Also from a run that completed.
  auto writer = ResultWriter::resume(dir / "a.h5", sample::header(), stop);
  sample::append(writer, 20, 50);
  sample::end(writer);
  CHECK(writer.finish("completed") == whole);
}

TEST_CASE("a resume that does not match is rejected, and the earlier file is unchanged") {
  Scratch dir;
  sample::write(dir / "a.h5", 10);
  auto const before = content(dir / "a.h5");
  CHECK_THROWS_WITH_AS(ResultWriter::resume(dir / "a.h5", sample::header(), {11, {4, 10}}),
                       doctest::Contains("has 10 rows, but the checkpoint needs 11"), UserError);
  auto other = sample::header();
  other.series[0].instances.push_back("gpu2.l2_tlb");
  CHECK_THROWS_WITH_AS(ResultWriter::resume(dir / "a.h5", other, {10, {4, 10}}),
                       doctest::Contains("has a different shape in this run"), UserError);
  CHECK_THROWS_WITH_AS(
      ResultWriter::resume(dir / "none.h5", sample::header(), {}),
      ("nothing to resume: neither '" + (dir / "none.h5.partial") + "' nor '" + (dir / "none.h5") +
       "' exists; a checkpoint continues the result of its run: copy that file here, or start "
       "the run from the beginning")
          .c_str(),
      UserError);
  CHECK(content(dir / "a.h5") == before);
  CHECK_FALSE(std::filesystem::exists(dir / "a.h5.partial.new"));
}

TEST_CASE("a second call of engine() adds to the first and replaces values of the same name") {
  Scratch dir;
  ResultWriter writer(dir / "a.h5", sample::header());
  writer.engine({{"threads", "count", "Threads.", std::uint64_t{4}},
                 {"events", "count", "Events.", std::uint64_t{1}},
                 {"load", "1", "Load of each partition.", std::vector<double>{0.25, 0.75}}});
  writer.engine({{"events", "count", "Events.", std::uint64_t{99}},
                 {"cores", "count", "Numbers of cores.", std::vector<std::uint64_t>{2, 4}}});
  writer.summary({});
  writer.finish("completed");
  CHECK(read_engine(dir / "a.h5", "threads") == std::vector<std::uint64_t>{4});
  CHECK(read_engine(dir / "a.h5", "events") == std::vector<std::uint64_t>{99});
  CHECK(read_engine(dir / "a.h5", "cores") == std::vector<std::uint64_t>{2, 4});
  CHECK(validate(dir / "a.h5").empty());
}

TEST_CASE("texts may become longer and non-ASCII between flushes, and are the same as without flushes") {
  Scratch dir;
  std::vector<std::string> const names{
      "a", std::string(31, 'b'), "", std::string(200, 'c'), "gr\xc3\xbc\xc3\x9f", "not \xff UTF-8", "end"};
  auto const write = [&](std::string const& path, bool flush) {
    ResultWriter writer(path, sample::header());
    for (std::uint64_t i = 0; i < names.size(); ++i) {
      writer.append_row(0, std::vector<Cell>{names[i], i, std::int64_t{0}});
      if (flush) writer.flush();
    }
    sample::end(writer);
    return writer.finish("completed");
  };
  auto const once = write(dir / "once.h5", false);
  CHECK(write(dir / "often.h5", true) == once);
  CHECK(validate(dir / "often.h5").empty());
  {
    edit::File const file(dir / "often.h5");
    CHECK(edit::texts(file, "/tables/kernels/name") ==
          std::vector<std::string>{"a", std::string(31, 'b'), "", std::string(200, 'c'), "gr\xc3\xbc\xc3\x9f",
                                   "not \xef\xbf\xbd UTF-8", "end"});
  }
  auto writer = ResultWriter::resume(dir / "often.h5", sample::header(), {0, {5, 0}});
  for (std::uint64_t i = 5; i < names.size(); ++i)
    writer.append_row(0, std::vector<Cell>{names[i], i, std::int64_t{0}});
  sample::end(writer);
  CHECK(writer.finish("completed") == once);
}

}  // namespace writer_test
