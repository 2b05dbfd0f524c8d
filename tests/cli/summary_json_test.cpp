// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "capture.hpp"

namespace summary_json_test {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

fs::path empty_folder() {
  auto const path = fs::path(FARFAULT_BINARY_DIR) / "summary_json_test";
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

std::string content(fs::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(fs::path const& path, std::string const& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A stream workload of a few microseconds.
Called run(fs::path const& output, std::string const& summary, std::vector<std::string> const& more = {}) {
  std::vector<std::string> words{"run",        "paper-gmmu-bypass",
                                 "--output",   output.string(),
                                 "--threads",  "1",
                                 "--set",      "workload.name=stream",
                                 "--set",      "gpu.sms=2",
                                 "--set",      "workload.stream.bytes=16KiB",
                                 "--progress", "off"};
  if (!summary.empty()) words.insert(words.end(), {"--summary-json", summary});
  words.insert(words.end(), more.begin(), more.end());
  return farfault_program(words);
}

}  // namespace

TEST_CASE("--summary-json writes how a run ended as one line that agrees with the result") {
  auto const folder = empty_folder();
  auto const output = folder / "a.h5", summary = folder / "a.json";
  auto const r = run(output, summary.string());
  CHECK(r.code == 0);
  CHECK(r.out.find("  ended                 completed, digest ") != std::string::npos);
  auto const text = content(summary);
  CHECK(text.find('\n') == text.size() - 1);
  auto const json = Json::parse(text);
  auto const result = Json::parse(farfault_program({"inspect", output.string(), "--json"}).out);
  CHECK(json["kind"] == "run");
  CHECK(json["end_reason"] == "completed");
  CHECK(json["exit_code"] == 0);
  CHECK(json["errors"].empty());
  CHECK(json["signal"].is_null());
  CHECK(json["checkpoint"].is_null());
  CHECK(json["result"] == output.string());
  CHECK(json["result_digest"] == result["result_digest"]);
  CHECK(json["end_time_ps"] == result["summary"]["machine"]["machine"]["end"]);
  CHECK(json["end_time_ps"] > 0);
  CHECK(json["summary"]["machine"] == result["summary"]["machine"]);
  CHECK(json["summary"]["application"] == result["summary"]["application"]);
  CHECK(json["summary"].size() == 2);  // single GPUs are only in the result
  CHECK(json["gpus"] == 4);
  CHECK(json["ranks"] == 1);
  CHECK(json["threads"] == 1);
  CHECK(json["events"] > 0);
  CHECK(json["events_per_second"] > 0);
  CHECK_FALSE(fs::exists(summary.string() + ".writing"));
}

TEST_CASE("--summary-json - replaces the summary on standard output") {
  auto const folder = empty_folder();
  auto const r = run(folder / "a.h5", "-");
  CHECK(r.code == 0);
  CHECK(Json::parse(r.out)["end_reason"] == "completed");
  CHECK_FALSE(fs::exists("-"));
  auto const limited = Json::parse(run(folder / "b.h5", "-", {"--until", "1us"}).out);
  CHECK(limited["end_reason"] == "time_limit");
  CHECK(limited["end_time_ps"] == 1'000'000);
}

TEST_CASE("--summary-json writes the messages of a failed run and overwrites an earlier summary") {
  auto const folder = empty_folder();
  auto const output = folder / "a.h5";
  auto const summary = (folder / "a.json").string();
  REQUIRE(run(output, summary).code == 0);
  auto const r = run(output, summary, {"--set", "gpu.sms=none", "--set", "gpu.smt=1"});
  CHECK(r.code == 2);
  auto const json = Json::parse(content(summary));
  CHECK(json["end_reason"] == "failed");
  CHECK(json["exit_code"] == 2);
  REQUIRE(json["errors"].size() == 2);
  CHECK(r.err == "farfault: " + json["errors"][0].get<std::string>() +
                     "\nfarfault: " + json["errors"][1].get<std::string>() + "\n");
  for (auto const* key : {"signal", "end_time_ps", "result", "result_digest", "checkpoint", "wall_time_s",
                          "events", "events_per_second", "ranks", "threads", "gpus"})
    CHECK_MESSAGE(json[key].is_null(), key);
}

TEST_CASE("--summary-json overwrites no other files") {
  auto const folder = empty_folder();
  auto const output = folder / "a.h5";
  auto const refused = [&](std::string const& summary, std::vector<std::string> const& more = {}) {
    auto const r = run(output, summary, more);
    CHECK(r.code == 2);
    CHECK(r.out == "");
    CHECK_FALSE(fs::exists(output.string() + ".partial"));
    REQUIRE(r.err.substr(0, 10) == "farfault: ");
    return r.err.substr(10, r.err.size() - 11);
  };
  auto const notes = (folder / "notes").string();
  write(notes, "{\"kind\":\"result\"}");
  CHECK(refused(notes) == "--summary-json '" + notes +
                              "' would overwrite a file that is not the summary of a run; choose another "
                              "name or remove the file");
  CHECK(content(notes) == "{\"kind\":\"result\"}");
  CHECK(refused(output.string()) == "--output '" + output.string() + "' and --summary-json '" +
                                        output.string() + "' would both write '" + output.string() + "'");
  auto const checkpoint = (folder / "c").string();
  CHECK(refused(checkpoint + ".previous", {"--checkpoint", checkpoint}).find("would both write") !=
        std::string::npos);
  CHECK(refused("/dev/stdout") == "cannot write '/dev/stdout': it is not a regular file");
  auto const nowhere = (folder / "none/a.json").string();
  CHECK(refused(nowhere) == "cannot write '" + nowhere + "': No such file or directory");
  for (std::string const option : {"--checkpoint", "--resume", "--profile", "--trace-output"})
    CHECK(refused(output.string(), {option, ""}) ==
          option + ": is empty; expected a file name (see farfault run --help)");
  fs::create_symlink(notes, folder / "b.h5");
  CHECK(run(folder / "b.h5", (folder / "b.json").string()).err ==
        "farfault: cannot write '" + (folder / "b.h5").string() + "': it is a symbolic link\n");
  CHECK(fs::is_symlink(folder / "b.h5"));
  fs::create_symlink(notes, folder / "a.json.writing");
  CHECK(refused((folder / "a.json").string()) ==
        "cannot write '" + (folder / "a.json.writing").string() + "': it is a symbolic link");
}

}  // namespace summary_json_test
