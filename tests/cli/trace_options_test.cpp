// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/trace_options.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "capture.hpp"
#include "farfault/engine/error.hpp"

namespace trace_options_test {

using namespace farfault;
using namespace farfault::cli;

namespace {

std::filesystem::path folder() {
  auto const path = std::filesystem::path(FARFAULT_BINARY_DIR) / "trace_options_test";
  std::filesystem::create_directories(path);
  return path;
}

Called traced(std::vector<std::string> const& more) {
  std::vector<std::string> words{"run",        "paper-gmmu-bypass",
                                 "--output",   (folder() / "traced.h5").string(),
                                 "--set",      "workload.name=stream",
                                 "--set",      "workload.stream.bytes=16KiB",
                                 "--set",      "gpu.sms=2",
                                 "--threads",  "1",
                                 "--progress", "off"};
  words.insert(words.end(), more.begin(), more.end());
  return farfault_program(words);
}

std::string refusal(std::vector<std::string> const& more) {
  std::filesystem::remove(folder() / "traced.pftrace");
  auto const r = traced(more);
  CHECK(r.code == 2);
  CHECK(r.out == "");
  return r.err;
}

}  // namespace

TEST_CASE("a window has a start, a later end, and an optional list of components") {
  auto const t = trace_window("10us,0.5 ms,gpu0.sm*,cpu0");
  CHECK(t.from == Time{10us});
  CHECK(t.to == Time{500us});
  CHECK(t.components == std::vector<std::string>{"gpu0.sm*", "cpu0"});
  CHECK(trace_window("0s,1ns").from == Time{});
  CHECK(trace_window("0s,1ns").components.empty());
  CHECK(text_of(t) == "10 us,500 us,gpu0.sm*,cpu0");
  CHECK(refusal({"--trace", "10us"}) ==
        "farfault: --trace '10us' is not a time window; write two times, such as 10us,20us\n");
  CHECK(refusal({"--trace", "20us,10us"}) == "farfault: --trace '20us,10us' must end after its start\n");
  CHECK(refusal({"--trace", "10us,10us"}) == "farfault: --trace '10us,10us' must end after its start\n");
  CHECK(refusal({"--trace", "10,20us"}) ==
        "farfault: --trace '10' has no unit; write a time such as '5 us'\n");
  CHECK(refusal({"--trace", "10us,20us,"}) ==
        "farfault: --trace '10us,20us,' contains an empty component name\n");
  CHECK(refusal({"--trace", "-10us,20us"}).find("farfault: --trace") == 0);
  CHECK(refusal({"--trace-sample", "3"}) ==
        "farfault: --trace-output, --trace-sample and --trace-limit need --trace FROM,TO\n");
}

TEST_CASE("a pattern matches paths with stars, single characters, and everything below a name") {
  CHECK(path_matches("gpu0", "gpu0"));
  CHECK(path_matches("gpu0", "gpu0.sm1"));
  CHECK_FALSE(path_matches("gpu1", "gpu10.sm1"));
  CHECK_FALSE(path_matches("gpu0.sm1", "gpu0.sm10"));
  CHECK(path_matches("gpu*.sm1", "gpu10.sm1"));
  CHECK_FALSE(path_matches("gpu*.sm1", "gpu10.sm11"));
  CHECK(path_matches("*", "host"));
  CHECK(path_matches("*sm?", "gpu0.sm1"));
  CHECK_FALSE(path_matches("*sm?", "gpu0.sm10"));
  CHECK(path_matches("*.*0*0", "gpu0.l2_slice1010"));
  CHECK_FALSE(path_matches("", "gpu0"));
}

TEST_CASE("an unknown component is rejected with a suggestion, and no file is written") {
  CHECK(refusal({"--trace", "1us,2us,gpu0.l2_tbl"}) ==
        "farfault: --trace: unknown component 'gpu0.l2_tbl'; did you mean 'gpu0.l2_tlb'?\n");
  CHECK(refusal({"--trace", "1us,2us,gpu9"}) ==
        "farfault: --trace: unknown component 'gpu9'; did you mean 'gpu0'?\n");
  CHECK_FALSE(std::filesystem::exists(folder() / "traced.pftrace"));
  CHECK_FALSE(std::filesystem::exists(folder() / "traced.pftrace.writing"));
}

TEST_CASE("a trace never overwrites a file that is not a trace, nor a file of the run") {
  auto const other = (folder() / "other").string();
  std::ofstream(other) << "mine";
  CHECK(refusal({"--trace", "1us,2us", "--trace-output", other}) ==
        "farfault: the trace '" + other +
            "' would overwrite a file that is not a trace of Farfault; choose another name or remove the "
            "file\n");
  std::ifstream kept(other);
  CHECK(std::string(std::istreambuf_iterator<char>(kept), {}) == "mine");
  auto const output = (folder() / "traced.h5").string();
  CHECK(refusal({"--trace", "1us,2us", "--trace-output", output}) ==
        "farfault: --output '" + output + "' and --trace-output '" + output + "' would both write '" +
            output + "'\n");
  CHECK(refusal({"--trace", "1us,2us", "--trace-output", "/no/folder/t"}) ==
        "farfault: cannot write '/no/folder/t': No such file or directory\n");
}

TEST_CASE("a window beyond the end of the run gives an empty trace and a message") {
  auto const r = traced({"--trace", "1s,2s"});
  CHECK(r.code == 0);
  CHECK(r.err.find("farfault: the trace is empty: the run ended at ") == 0);
  CHECK(r.err.find(", before the window starts at 1 s\n") != r.err.npos);
  CHECK(std::filesystem::file_size(folder() / "traced.pftrace") < 400);
}

TEST_CASE("a run that ends when the window begins, or earlier, gives an empty trace and a message") {
  auto const at = [](std::string const& end) { return traced({"--trace", "2us,3us", "--until", end}).err; };
  CHECK(at("2us") == "farfault: the trace is empty: the run ended at 2 us, when the window starts at 2 us\n");
  CHECK(at("1us") ==
        "farfault: the trace is empty: the run ended at 1 us, before the window starts at 2 us\n");
  CHECK(at("2001ns") == "");
}

TEST_CASE("inspect recognizes a trace by content and prints its size and the viewer") {
  CHECK(traced({"--trace", "0s,1s"}).code == 0);
  auto const file = (folder() / "no_ending").string();
  std::filesystem::rename(folder() / "traced.pftrace", file);
  auto const bytes = std::to_string(std::filesystem::file_size(file));
  CHECK(farfault_program({"inspect", file}).out ==
        file + ": Perfetto trace of a run, " + bytes + " bytes; open it at https://ui.perfetto.dev\n");
  CHECK(farfault_program({"inspect", file, "--json"}).out ==
        R"({"kind":"perfetto_trace","bytes":)" + bytes + "}\n");
}

TEST_CASE("inspect rejects a trace that is truncated, modified in any byte, or has trailing data") {
  CHECK(traced({"--trace", "0s,1s"}).code == 0);
  auto const file = (folder() / "damaged.pftrace").string();
  std::ifstream in(folder() / "traced.pftrace", std::ios::binary);
  std::string const whole{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(whole.size() > 10'000);
  auto const inspected = [&](std::string const& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    return farfault_program({"inspect", file});
  };
  auto const why = [&](std::string const& bytes) {
    auto const r = inspected(bytes);
    CHECK(r.code == 2);
    CHECK(r.out == "");
    auto const begin = "farfault: " + file + ": the Perfetto trace is damaged: ";
    std::string const end = "; write it again with farfault run --trace\n";
    REQUIRE(r.err.starts_with(begin));
    REQUIRE(r.err.ends_with(end));
    return r.err.substr(begin.size(), r.err.size() - begin.size() - end.size()) + "\n";
  };
  CHECK(inspected(whole).code == 0);
  constexpr std::size_t kLastPacket = 15;
  std::string const missing =
      "its last packet, with the checksum, is missing: the file is truncated or from an earlier version\n";
  CHECK(why(whole.substr(0, 6)) == missing);
  CHECK(why(whole.substr(0, whole.size() - kLastPacket)) == missing);
  CHECK(why(whole.substr(0, whole.size() - 1)) ==
        "it ends within the packet at byte " + std::to_string(whole.size() - kLastPacket) + "\n");
  CHECK(why(whole + "x") ==
        "bytes follow its last packet, at byte " + std::to_string(whole.size() - kLastPacket) + "\n");
  CHECK(why(whole.substr(0, 6) + "x" + whole.substr(6)) == "no packet begins at byte 6\n");
  CHECK(why(whole.substr(0, 6) + std::string("\x0a\x02\x08", 3) + whole.substr(6)) ==
        "the packet at byte 6 is not one that farfault writes\n");
  auto changed = whole;
  changed[whole.size() - 1] ^= 1;
  CHECK(why(changed) == "its checksum does not match its content\n");
  std::size_t refused = 0, tried = 0;
  for (std::size_t at = 0; at < whole.size(); at += 23)
    for (char const flip : {'\x01', '\x10', '\x80'}) {
      changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      refused += inspected(changed).code == 2 ? 1 : 0;
      refused += inspected(whole.substr(0, at)).code == 2 ? 1 : 0;
      tried += 2;
    }
  CHECK(refused == tried);
}

TEST_CASE("a trace beyond its limit reports the number of omitted accesses") {
  auto const r = traced({"--trace", "0s,1s", "--trace-sample", "1", "--trace-limit", "80"});
  CHECK(r.code == 0);
  CHECK(r.err.find("farfault: the trace has 20 accesses and omits 236 that exceed the limit of 10 per SM; "
                   "see --trace-sample and --trace-limit\n") == 0);
}

}  // namespace trace_options_test
