// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/reader.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <tuple>

#include "edit.hpp"
#include "farfault/analysis/live.hpp"
#include "farfault/analysis/report.hpp"
#include "farfault/results/digest.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace reader_test {

using namespace farfault;
using namespace farfault::results;

namespace {

std::string load(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void store(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A damaged file may be read, found defective, or refused in one sentence. Any other outcome would fail the
// test program.
enum class Verdict { sound, at_fault, refused };
Verdict judge(std::string const& path) {
  try {
    return validate(path).empty() ? Verdict::sound : Verdict::at_fault;
  } catch (UserError const& problem) {
    std::string const text = problem.what();
    CHECK(text.find(path) != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
    return Verdict::refused;
  }
}

}  // namespace

TEST_CASE("a summary has the content of the file") {
  Scratch dir;
  auto const digest = sample::write(dir / "a.h5");
  auto const s = read_summary(dir / "a.h5");
  CHECK(s.schema_version == 3);
  CHECK(s.result_digest == digest);
  CHECK(s.end_reason == "completed");
  CHECK(s.seed == 7);
  CHECK(s.last_time_ps == 9000);
  CHECK(s.nodes == 3);
  CHECK(s.links == 2);
  REQUIRE(s.series.size() == 3);
  CHECK(s.series[1].kind == "driver.by_application");
  CHECK(s.series[1].instances == 2);
  CHECK(s.series[1].metrics == std::vector<std::string>{"batches"});
  CHECK(s.series[2].kind == "l2_tlb");
  CHECK(s.series[2].samples == 10);
  CHECK(s.series[2].instances == 2);
  CHECK(s.series[2].metrics == std::vector<std::string>{"hits", "latency", "occupancy"});
  REQUIRE(s.tables.size() == 2);
  CHECK(s.tables[1].name == "kernels");
  CHECK(s.tables[1].rows == 4);
  // Three figures of GPUs (one GPU has no fault figure) and one of the machine.
  REQUIRE(s.summary.size() == 4);
  CHECK(s.summary[0].metric == "faults");
  CHECK(s.summary[0].value == 3);
  auto const json = to_json(s);
  CHECK(json.starts_with("{\"kind\":\"result\",\"schema_version\":3,"));
  CHECK(json.find("\"result_digest\":\"" + digest + "\"") != std::string::npos);
  CHECK(json.find("\"kernels\":{\"rows\":4,\"columns\":[\"balance\",\"name\",\"start_ps\"]}") !=
        std::string::npos);
  CHECK(
      json.ends_with("\"summary\":{\"gpu\":{\"gpu0\":{\"faults\":3,\"instructions\":30},"
                     "\"gpu1\":{\"instructions\":12}},"
                     "\"machine\":{\"machine\":{\"instructions\":42}}}}"));
  CHECK(to_text(s).find("2 instances: hits, latency, occupancy") != std::string::npos);
  CHECK(s.host == "node7");
  CHECK(s.commit.empty());
  CHECK(s.command_line == "farfault run a.toml");
  CHECK(to_text(s).find("\n  made by:  on node7\n  command:  farfault run a.toml\n") != std::string::npos);
  CHECK(json.find(R"("host":"node7","start_time":"","command_line":"farfault run a.toml",)") !=
        std::string::npos);
}

TEST_CASE("a summary as JSON has each name once, at its first position, in any order of values") {
  ResultSummary s;
  for (auto const& [scope, name, metric, value] :
       std::vector<std::tuple<std::string, std::string, std::string, std::uint64_t>>{
           {"gpu", "gpu1", "walks", 1},
           {"gpu", "gpu0", "walks", 2},
           {"machine", "machine", "end", 3},
           {"gpu", "gpu1", "hits", 4},
           {"gpu", "gpu1", "walks", 5}})
    s.summary.push_back(
        {.scope = scope, .name = name, .metric = metric, .unit = "1", .text = "", .value = value});
  CHECK(to_json(s).find("\"summary\":{\"gpu\":{\"gpu1\":{\"walks\":5,\"hits\":4},\"gpu0\":{\"walks\":2}},"
                        "\"machine\":{\"machine\":{\"end\":3}}}") != std::string::npos);
}

TEST_CASE("the result of a cluster has the host and the driver of each node") {
  Scratch dir;
  auto header = sample::header();
  header.cluster = true;
  header.nodes = {{"m0.gpu0", "gpu", "m0", "m0.host", "m0.driver"},
                  {"m0.cpu0", "cpu", "m0", "m0.host", "m0.driver"},
                  {"m1.cpu0", "cpu", "m1", "m1.host", "m1.driver"},
                  {"net", "network_switch"}};
  auto const digest = sample::write(dir / "a.h5", 10, header);
  CHECK(validate(dir / "a.h5").empty());
  auto const s = read_summary(dir / "a.h5");
  CHECK(s.machines == std::vector<std::string>{"m0", "m1"});
  CHECK(s.hosts == std::vector<std::string>{"m0.host", "m1.host"});
  CHECK(s.drivers == std::vector<std::string>{"m0.driver", "m1.driver"});
  CHECK(to_text(s).find("  cluster:  2 machines, 2 hosts (m0.host, m1.host), 2 drivers (m0.driver, "
                        "m1.driver)\n") != std::string::npos);
  CHECK(to_json(s).find(R"("machines":["m0","m1"],"hosts":["m0.host","m1.host"])") != std::string::npos);
  header.nodes[2].driver = "m0.driver";
  CHECK(sample::write(dir / "b.h5", 10, header) != digest);
  // Empty if the machine is not a cluster.
  sample::write(dir / "c.h5");
  CHECK(read_summary(dir / "c.h5").machines.empty());
  CHECK(to_text(read_summary(dir / "c.h5")).find("cluster:") == std::string::npos);
  CHECK(to_json(read_summary(dir / "c.h5")).find("drivers") == std::string::npos);
}

TEST_CASE("an intact result has no problems, and a modified one has") {
  Scratch dir;
  sample::write(dir / "a.h5");
  CHECK(validate(dir / "a.h5").empty());
  {
    edit::File const file(dir / "a.h5");
    edit::Elements(file, "/timeseries/l2_tlb/hits").flip(0);
  }
  auto const problems = validate(dir / "a.h5");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].starts_with("result_digest is "));
}

TEST_CASE("a series that names applications names one per instance") {
  Scratch dir;
  sample::write(dir / "a.h5");
  {
    edit::File const file(dir / "a.h5");
    auto const* const name = "/timeseries/driver.by_application/application";
    REQUIRE(H5Ldelete(file, name, H5P_DEFAULT) >= 0);
    hsize_t const one = 1;
    auto const space = H5Screate_simple(1, &one, nullptr);
    auto const shorter = H5Dcreate2(file, name, H5T_C_S1, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(shorter >= 0);
    H5Dclose(shorter);
    H5Sclose(space);
  }
  bool found = false;
  for (auto const& problem : validate(dir / "a.h5"))
    found = found || problem ==
                         "/timeseries/driver.by_application/application does not have the length of "
                         "/timeseries/driver.by_application/instance (2)";
  CHECK(found);
}

TEST_CASE("files that are not results are recognized and rejected in one sentence") {
  Scratch dir;
  store(dir / "empty", "");
  store(dir / "text", "hello");
  store(dir / "magic", std::string("\x89HDF\r\n\x1a\n", 8) + std::string(4000, '\xff'));
  for (auto const* name : {"empty", "text", "magic", "missing"}) {
    CAPTURE(name);
    CHECK_FALSE(looks_like_result(dir / name));
    CHECK_THROWS_AS(read_summary(dir / name), UserError);
    CHECK_THROWS_AS(result_digest(dir / name), UserError);
    CHECK_THROWS_AS(diff(dir / name, dir / name), UserError);
  }
  sample::write(dir / "a.h5");
  CHECK(looks_like_result(dir / "a.h5"));
}

TEST_CASE("names in a result and of its file stay short and on one line of a message") {
  Scratch dir;
  auto const path = dir / "a\n\x1b[2J.h5";
  auto const kernel = "x\n\x1b[31m" + std::string(1 << 20, 'k');
  for (auto const& name : {std::string("kernel"), kernel}) {
    ResultWriter writer(name == kernel ? dir / "b.h5" : path, sample::header());
    writer.append_row(0, std::vector<Cell>{name, std::uint64_t{1}, std::int64_t{0}});
    sample::end(writer);
    writer.finish("completed");
  }
  auto const clean = [](std::string const& text) {
    return text.size() < 1000 && text.find('\n') == std::string::npos &&
           text.find('\x1b') == std::string::npos;
  };
  auto const comparison = diff(path, dir / "b.h5");
  REQUIRE(comparison.difference);
  CHECK(comparison.difference->path == "/tables/kernels/name");
  CHECK(clean(comparison.difference->text));
  edit::add_group(path, "/timeseries/bad\nname");
  auto const problems = validate(path);
  REQUIRE(problems.size() > 0);
  CHECK(problems[0] == "the dataset /timeseries/bad name/time_ps is missing");
  edit::set_number(path, "schema_version", 1);
  try {
    validate(path);
    FAIL("accepted");
  } catch (UserError const& problem) {
    CHECK(clean(problem.what()));
  }
  ResultSummary summary;
  summary.end_reason = "a\n\x1b\xff";
  CHECK(to_json(summary).find("\"end_reason\":\"a\\n\\u001b\\ufffd\"") != std::string::npos);
}

TEST_CASE("a result with another schema version is rejected with its version, in one sentence") {
  Scratch dir;
  sample::write(dir / "a.h5");
  auto const path = dir / "a.h5";
  edit::set_number(path, "schema_version", 1);
  auto const older = "'" + path +
                     "' was written by an older version of Farfault (schema_version 1); this program reads "
                     "schema_version 2 to 3";
  CHECK_THROWS_WITH_AS(validate(path), older.c_str(), UserError);
  CHECK_THROWS_WITH_AS(read_summary(path), older.c_str(), UserError);
  CHECK_THROWS_WITH_AS(result_digest(path), older.c_str(), UserError);
  sample::write(dir / "b.h5");
  CHECK_THROWS_WITH_AS(diff(dir / "b.h5", path), older.c_str(), UserError);
  edit::set_number(path, "schema_version", 4);
  CHECK_THROWS_WITH_AS(validate(path), doctest::Contains("was written by a newer version of Farfault"),
                       UserError);
}

TEST_CASE("a result of schema_version 2 is read, and compared with one of today") {
  Scratch dir;
  auto const old = dir / "old.h5";
  sample::write(old);
  edit::set_number(old, "schema_version", 2);
  CHECK(read_summary(old).schema_version == 2);
  // Its program stored another digest (digest_test.cpp); nothing else is at fault.
  REQUIRE(validate(old).size() == 1);
  CHECK(validate(old)[0].starts_with("result_digest is "));
  sample::write(dir / "new.h5");
  auto const comparison = diff(old, dir / "new.h5");
  REQUIRE(comparison.difference);
  CHECK(comparison.difference->text == "only names, units or descriptions differ");
  CHECK(analysis::report_data(old, {}).find("\"kind\":\"report_data\"") != std::string::npos);
  CHECK(analysis::read_live(old, {{"l2_tlb", "hits"}}, 0, 100).points.size() == 10);
}

TEST_CASE(
    "a table and statistics of schema_version 2 have the names of today, and count for the digest as "
    "stored") {
  Scratch dir;
  auto const old = dir / "old.h5", today = dir / "today.h5";
  sample::write(old);
  sample::write(today);
  auto const rename = [&](std::string const& given, std::string const& before, std::string const& now) {
    edit::rename(old, given, before);
    edit::rename(today, given, now);
  };
  rename("/tables/fault_batches", "/tables/under_way", "/tables/outstanding");
  rename("/timeseries/l2_tlb/hits", "/timeseries/l2_tlb/time_under_way",
         "/timeseries/l2_tlb/time_outstanding");
  rename("/summary/machine/instructions", "/summary/machine/sm_blocks_given_way",
         "/summary/machine/sm_blocks_swapped_out");
  auto const s = read_summary(old);
  CHECK(s.tables[1].name == "outstanding");
  CHECK(s.tables[1].rows == 10);
  CHECK(s.series[2].metrics == std::vector<std::string>{"latency", "occupancy", "time_outstanding"});
  CHECK(std::ranges::count(s.summary, "sm_blocks_swapped_out", &SummaryRow::metric) == 1);
  auto const live = analysis::read_live(old, {{"l2_tlb", "time_outstanding"}}, 0, 100);
  REQUIRE(live.points.size() == 10);
  CHECK(live.points[9].totals == std::vector<std::uint64_t>{900 + 901});
  REQUIRE(diff(old, today).difference);
  CHECK(diff(old, today).difference->text == "only names, units or descriptions differ");
  CHECK(result_digest(old) != result_digest(today));
}

TEST_CASE("a file that HDF5 rejects is rejected with HDF5's reason") {
  Scratch dir;
  sample::write(dir / "a.h5");
  auto const bytes = load(dir / "a.h5");
  store(dir / "cut.h5", bytes.substr(0, bytes.size() / 2));
  CHECK_THROWS_WITH_AS(
      read_summary(dir / "cut.h5"),
      doctest::Contains("is damaged or not a Farfault result: HDF5 cannot open it (truncated file: eof = "),
      UserError);
  store(dir / "text.h5", "no HDF5 at all");
  CHECK_THROWS_WITH_AS(
      read_summary(dir / "text.h5"),
      ("'" + (dir / "text.h5") +
       "' is damaged or not a Farfault result: HDF5 cannot open it (file signature not found)")
          .c_str(),
      UserError);
}

TEST_CASE("a file that is not regular is rejected without blocking") {
  Scratch dir;
  auto const fifo = dir / "fifo";
  ::mkfifo(fifo.c_str(), 0600);
  sample::write(dir / "a.h5");
  auto const sentence =
      "cannot read '" + fifo + "': it is a FIFO, not a regular file; copy its contents to a file first";
  CHECK_THROWS_WITH_AS(validate(fifo), sentence.c_str(), UserError);
  CHECK_THROWS_WITH_AS(read_summary(fifo), sentence.c_str(), UserError);
  CHECK_THROWS_WITH_AS(read_engine(fifo, "node_load"), sentence.c_str(), UserError);
  CHECK_THROWS_WITH_AS(diff(dir / "a.h5", fifo), sentence.c_str(), UserError);
  CHECK_THROWS_WITH_AS(diff(fifo, dir / "a.h5"), sentence.c_str(), UserError);
  CHECK_FALSE(looks_like_result(fifo));
}

TEST_CASE("a result truncated anywhere is rejected in one sentence") {
  Scratch dir;
  sample::write(dir / "a.h5", 100);
  auto const whole = load(dir / "a.h5");
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 60 + 1) {
    store(dir / "cut.h5", whole.substr(0, size));
    CAPTURE(size);
    CHECK(judge(dir / "cut.h5") == Verdict::refused);
  }
}

TEST_CASE("a result with flipped bytes is never accepted with wrong values and never crashes the reader") {
  Scratch dir;
  sample::write(dir / "a.h5", 100);
  auto const whole = load(dir / "a.h5");
  std::mt19937_64 random(5);
  int noticed = 0;
  for (int round = 0; round < 120; ++round) {
    auto bytes = whole;
    auto const flips = 1 + random() % 8;
    for (std::uint64_t i = 0; i < flips; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    store(dir / "flip.h5", bytes);
    CAPTURE(round);
    if (judge(dir / "flip.h5") != Verdict::sound) ++noticed;
  }
  CHECK(noticed > 12);  // most of the file is unused space in HDF5's own blocks
}

}  // namespace reader_test
