// SPDX-License-Identifier: Apache-2.0
// The parameter `size` of [workload] and [[application]]: defaults of a workload's parameters.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "farfault/cli/extensions.hpp"
#include "farfault/cli/listing.hpp"
#include "read_applications.hpp"
#include "small_study.hpp"
#include "sweep/plan.hpp"
#include "unused.hpp"

namespace workload_size_test {

using namespace farfault;
using namespace farfault::cli;
using namespace two_applications;

namespace {

// The lines of one table of the resolved configuration.
std::string table_of(Model const& model, std::string const& heading) {
  auto const text = model.config.resolved();
  auto const at = text.find(heading + "\n");
  if (at == text.npos) return "missing";
  auto const from = at + heading.size() + 1;
  return text.substr(from, std::min(text.find("\n[", from), text.size()) - from);
}

std::vector<std::string> with(std::vector<std::string> more) {
  more.insert(more.begin(), "workload.name=transpose");
  return more;
}

std::string transpose(std::vector<std::string> const& sets) {
  auto const options = options_of(kBase, with(sets));
  return table_of(Model(options), "[workload.transpose]");
}

std::uint64_t hash(std::vector<std::string> const& sets) {
  auto const options = options_of(kBase, with(sets));
  return Model(options).hash();
}

std::vector<std::string> unused(std::vector<std::string> const& sets) {
  auto const options = options_of(kBase, with(sets));
  return test::unused_in(Model(options).config);
}

struct Nothing final : workloads::WorkloadBuilder {
  std::uint64_t elements = 8;
  void describe(ParamTable& t) override { t.count("elements", elements, {1, 64}, "Elements", "assumed"); }
  Workload build(workloads::BuildContext const&) const override { return {"nothing", {}, {}}; }
};

std::string refusal(Extensions const& extensions) {
  try {
    extensions.check();
    return "no error";
  } catch (UserError const& e) {
    return e.what();
  }
}

nlohmann::json json_of(std::string const& workload) {
  auto const called = farfault_program({"workloads", workload, "--json"});
  CHECK(called.code == 0);
  return nlohmann::json::parse(called.out)["workloads"];
}

}  // namespace

TEST_CASE("a workload's size sets its parameters, and a parameter that is set keeps its value") {
  CHECK(transpose({}) == "width = 4096\nheight = 2048\n");
  CHECK(transpose({"workload.size=default"}) == "width = 4096\nheight = 2048\n");
  CHECK(transpose({"workload.size=small"}) == "width = 1024\nheight = 512\n");
  CHECK(transpose({"workload.size=medium"}) == "width = 2048\nheight = 1024\n");
  CHECK(transpose({"workload.size=paper"}) == "width = 4096\nheight = 2048\n");
  CHECK(transpose({"workload.size=small", "workload.transpose.width=64"}) == "width = 64\nheight = 512\n");
  CHECK(transpose({"workload.transpose.width=64", "workload.size=small"}) == "width = 64\nheight = 512\n");
}

TEST_CASE("a size is not part of the resolved configuration, which has the parameters that it sets") {
  auto const options = options_of(kBase, with({"workload.size=small"}));
  Model const model(options);
  CHECK(table_of(model, "[workload]") ==
        "name = \"transpose\"\ncopies = false\nallocates = false\nsmall_buffers = \"0 B\"\n");
  CHECK(model.config.find_bound("workload.size") == nullptr);
  CHECK(hash({"workload.size=default"}) == hash({}));
  CHECK(hash({"workload.size=small"}) ==
        hash({"workload.transpose.width=1024", "workload.transpose.height=512"}));
  CHECK(hash({"workload.size=small"}) != hash({}));
  auto const again = options_of(model.config.resolved(), {});
  CHECK(Model(again).config.resolved() == model.config.resolved());
}

TEST_CASE("a size without effect is listed as unused") {
  CHECK(unused({"workload.size=small"}).empty());
  CHECK(unused({"workload.size=small", "workload.transpose.width=64"}).empty());
  CHECK(unused({"workload.size=small", "workload.transpose.width=64", "workload.transpose.height=64"}) ==
        std::vector<std::string>{"workload.size (--set; only with defaults of workload.transpose.width, "
                                 "workload.transpose.height)"});
}

TEST_CASE("a size that the workload does not have is an error that lists its sizes") {
  CHECK(two_applications::refusal(kBase + "workload.size = \"paper\"\n", {"workload.name=trace"}) ==
        "2: workload.size = paper: workload 'trace' has no such size; sizes: none");
  CHECK(two_applications::refusal(kBase, {"workload.name=trace", "workload.size=small"}) ==
        "--set workload.size = small: workload 'trace' has no such size; sizes: none");
  CHECK(two_applications::refusal(kBase + "workload.size = \"huge\"\n") ==
        "2: workload.size: 'huge' is not one of: default, small, medium, paper");
  CHECK(two_applications::refusal(kBase + "[[application]]\nworkload = \"trace\"\nsize = \"paper\"\n") ==
        "4: application.trace.size = paper: workload 'trace' has no such size; sizes: none");
}

TEST_CASE("each application has its own size") {
  auto const options = options_of(
      kTwo, {"application.fir.size=small", "application.sort.size=small", "application.fir.repeats=2"});
  Model const model(options);
  auto const text = model.config.resolved();
  CHECK(text.find("[application.fir]\nsize = \"16 KiB\"") != text.npos);
  CHECK(text.find("[application.stream]\nbytes = \"16 KiB\"") != text.npos);
  CHECK(
      test::unused_in(model.config) ==
      std::vector<std::string>{"application.fir.size (--set; only with defaults of application.fir.fir.size)",
                               "application.sort.size (--set; only with defaults of "
                               "application.sort.stream.bytes)"});
  auto const sized = options_of(kBase +
                                    "[[application]]\nworkload = \"fir\"\nsize = \"small\"\n"
                                    "[[application]]\nworkload = \"stream\"\n",
                                {});
  auto const resolved = Model(sized).config.resolved();
  CHECK(resolved.find("[application.fir]\nsize = \"1 MiB\"") != resolved.npos);
  CHECK(resolved.find("[application.stream]\nbytes = \"64 MiB\"") != resolved.npos);
}

TEST_CASE("a sweep can vary the size of a workload") {
  SmallStudy const s("sizes",
                     "[sweep.grid]\nworkload.name = [\"relu\", \"stream\"]\n"
                     "workload.size = [\"small\", \"medium\"]\n");
  SweepOptions options;
  options.study = s.file;
  auto const study = read_study(s.file);
  Points const points(study);
  Plan const plan(options, study, points, [](double) {});
  // The study sets stream's bytes, so both sizes of stream are the same run.
  CHECK(plan.distinct() == std::vector<std::size_t>{0, 1, 2});
}

TEST_CASE("sizes of a workload from outside the tree are checked with its parameters") {
  using workloads::kSmall;
  auto const named = [](workloads::WorkloadSizes sizes) {
    return Extensions().workload<Nothing>("nothing", "workload of a test", std::move(sizes));
  };
  CHECK(refusal(named({{kSmall, {{"elements", "4"}}}})) == "no error");
  CHECK(refusal(named({{kSmall, {{"element", "4"}}}})) ==
        "workload 'nothing': size 'small' sets element, which is not a parameter of the workload");
  CHECK(refusal(named({{kSmall, {{"elements", "65"}}}})) ==
        "workload 'nothing': size 'small' sets elements: '65' is outside 1 to 64");
}

TEST_CASE("workloads NAME lists each size with footprint, accesses, time and parameters") {
  auto const called = farfault_program({"workloads", "relu"});
  CHECK(called.code == 0);
  CHECK(called.out ==
        "relu: ReLU over a tensor, one thread per element (DNN)\n"
        "\n"
        "  Size     Footprint  Kernels  Accesses     Time  Parameters of workload.relu\n"
        "  default   64.0 MiB        1    1.05 M    3.8 s\n"
        "  small      4.0 MiB        1    65.5 k    0.5 s  size = 4MiB\n"
        "  medium    16.0 MiB        1     262 k    1.2 s  size = 16MiB\n"
        "  paper     64.0 MiB        1    1.05 M    3.8 s  as default\n"
        "\n"
        "paper: GMMU Bypass (NPC 2020), Table 2: 64 MB\n"
        "Time: estimated for one core and preset paper-gmmu-bypass, at 300 k accesses/s\n"
        "Example: farfault run paper-gmmu-bypass --set workload.name=relu --set workload.size=small\n");
  CHECK(
      farfault_program({"workloads", "trace"}).out.ends_with("\nNo sizes: the input determines the size.\n"));
  auto const unknown = farfault_program({"workloads", "rleu"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err == "farfault: unknown workload 'rleu'; did you mean 'relu'?\n");
}

TEST_CASE("workloads NAME --json has the sizes of one workload") {
  auto const list = json_of("relu");
  REQUIRE(list.size() == 1);
  CHECK(list[0]["name"] == "relu");
  auto const& sizes = list[0]["sizes"];
  REQUIRE(sizes.size() == 4);
  CHECK(sizes[0]["size"] == "default");
  CHECK(sizes[0]["parameters"].empty());
  CHECK(sizes[1] == nlohmann::json{{"size", "small"},
                                   {"parameters", {{"size", "4MiB"}}},
                                   {"source", ""},
                                   {"footprint_bytes", 4 << 20},
                                   {"kernels", 1},
                                   {"instructions", 188'416},
                                   {"accesses", 65'536},
                                   {"estimated_seconds", 0.3 + 65'536 / 300'000.0}});
  CHECK(sizes[3]["source"] == "GMMU Bypass (NPC 2020), Table 2: 64 MB");
  CHECK(json_of("trace")[0]["sizes"].empty());
}

}  // namespace workload_size_test
