// SPDX-License-Identifier: Apache-2.0
// A program with its own extensions, called as a function: what it accepts and what it refuses.
#include "farfault/cli/extensions.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "capture.hpp"
#include "farfault/paging/fault_replay.hpp"
#include "farfault/paging/page_decision.hpp"
#include "farfault/translation/fault_path.hpp"
#include "farfault/translation/router.hpp"
#include "farfault/translation/tlb_organization.hpp"

namespace extensions_test {

namespace {

using namespace farfault;

struct Here final : Router {
  Routing route(TranslateRequest const&, PageTable const&, Time) override { return Route::gmmu; }
};

struct Copier final : PageDecision {
  static constexpr Facts facts() {
    return {
        .moves_pages = true, .makes_copies = true, .events = {PageEventKind::request, PageEventKind::fault}};
  }
  PageAction decide(PageEvent const&) override { return PageAction::move_here; }
  void forget(std::uint64_t) override {}
};

// A router with these parameters, each a count with this source and default.
struct Declared {
  std::vector<std::string> names;
  std::string source = "assumed";
  std::uint32_t value = 1;
};
Declared declared;

struct WithParams final : Router {
  struct Params {
    std::vector<std::uint32_t> values = std::vector<std::uint32_t>(8, declared.value);
    void describe(ParamTable& t) {
      for (std::size_t i = 0; i < declared.names.size(); ++i)
        t.count(declared.names[i], values[i], {1, 9}, "of a test", declared.source);
    }
  };
  explicit WithParams(Params const&) {}
  Routing route(TranslateRequest const&, PageTable const&, Time) override { return Route::gmmu; }
};

class OrganizationWithParams final : public TlbOrganization {
 public:
  using Params = WithParams::Params;
  explicit OrganizationWithParams(Params const&) {}
  std::optional<PageTranslation> lookup(std::uint64_t) override { return std::nullopt; }
  void fill(std::uint64_t, PageTranslation const&) override {}
  bool invalidate(std::uint64_t) override { return false; }
  void each_entry(EntryFunction const&) const override {}
  std::span<SetAssociative const> arrays() const override { return {}; }
};

std::vector<char const*> counted;

struct WithStats final : Router {
  Routing route(TranslateRequest const&, PageTable const&, Time) override { return Route::gmmu; }
  static auto stats() {
    std::vector<Stat<WithStats>> all;
    for (auto const* name : counted)
      all.push_back({.name = name,
                     .unit = "count",
                     .text = "of a test",
                     .kind = StatKind::counter,
                     .value = [](WithStats const&) -> std::uint64_t { return 1; }});
    return all;
  }
};

struct Nothing final : workloads::WorkloadBuilder {
  void describe(ParamTable& t) override {
    for (std::size_t i = 0; i < declared.names.size(); ++i)
      t.count(declared.names[i], values[i], {1, 9}, "of a test", declared.source);
  }
  Workload build(workloads::BuildContext const&) const override { return {"nothing", {}, {}}; }
  std::vector<std::uint32_t> values = std::vector<std::uint32_t>(8, 1);
};

Called call(Extensions const& extensions, std::vector<std::string> words) {
  std::ostringstream out, err;
  auto const code = cli::command_line(std::move(words), out, err, extensions);
  return {code, out.str(), err.str()};
}

// The one-sentence error of a program with these extensions, for any command.
std::string refusal(Extensions const& extensions) {
  auto const called = call(extensions, {"params"});
  CHECK(called.code == 2);
  CHECK(called.out.empty());
  CHECK(call(extensions, {"--help"}).err == called.err);
  return called.err;
}
std::string refusal_of_params(std::vector<std::string> names) {
  declared = {std::move(names)};
  return refusal(policies().add<WithParams>("mine", "x"));
}
std::string refusal_of_stats(std::vector<char const*> names) {
  counted = std::move(names);
  return refusal(policies().add<WithStats>("mine", "x"));
}

}  // namespace

TEST_CASE("an external policy needs a name that is unique within its interface") {
  CHECK(refusal(policies().add<Here>("oracle", "x")) ==
        "farfault: policy 'oracle': a built-in policy of the same interface has this name; choose another "
        "name\n");
  CHECK(refusal(policies().add<Here>("mine", "x").add<Here>("mine", "x")) ==
        "farfault: policy 'mine' is added twice\n");
  CHECK(refusal(policies().add<Here>("a policy", "x")) ==
        "farfault: policy 'a policy': a name may contain only letters, digits, '_' and '-'\n");
  CHECK(refusal(policies().add<Here>("", "x")) ==
        "farfault: policy '': a name may contain only letters, digits, '_' and '-'\n");
  CHECK(call(policies().add<Here>("fcfs", "as a scheduler is called"), {"params", "gpu.router"}).code == 0);
}

TEST_CASE(
    "a parameter of an external policy is declared once, with a name, a source and a readable default") {
  CHECK(refusal_of_params({"one", "two", "one"}) ==
        "farfault: policy 'mine': parameter one is declared twice\n");
  CHECK(
      refusal_of_params({"a name"}) ==
      "farfault: policy 'mine': parameter 'a name': a name may contain only letters, digits, '_' and '-'\n");
  declared = {{"one"}, ""};
  CHECK(refusal(policies().add<WithParams>("mine", "x")) ==
        "farfault: policy 'mine': parameter one has no source; write \"assumed\" if none exists\n");
  declared = {{"one"}, "assumed", 10};
  CHECK(refusal(policies().add<WithParams>("mine", "x")) ==
        "farfault: policy 'mine': the default of parameter one, 10, is outside its own range, 1 to 9\n");
}

TEST_CASE("a policy's parameters cannot be nested under another parameter") {
  declared = {{"one"}};
  CHECK(refusal(policies().add<WithParams>("policy", "x")) ==
        "farfault: parameter policy.one would be below policy, which is a parameter itself\n");
}

TEST_CASE("parameters of two policies cannot share a table") {
  declared = {{"one"}};
  CHECK(refusal(policies().add<OrganizationWithParams>("random", "x")) ==
        "farfault: the parameters of replacement = \"random\" and of organization = \"random\" would share "
        "the table random; rename one of the two values\n");
  declared = {};  // two extensions without parameters do not conflict
  CHECK(call(policies().add<OrganizationWithParams>("lru", "x"), {"params", "gpu.l2_tlb"}).code == 0);
}

TEST_CASE("a statistic of an external policy is declared once, with a valid name") {
  CHECK(refusal_of_stats({"one", "two", "one"}) ==
        "farfault: policy 'mine': statistic one is declared twice\n");
  CHECK(refusal_of_stats({"a/b"}) ==
        "farfault: policy 'mine': statistic 'a/b': a name may contain only letters, digits, '_' and '-'\n");
  CHECK(refusal_of_stats({"instance"}) ==
        "farfault: policy 'mine': statistic instance: this name is reserved (time_ps, instance, application, "
        "and "
        "all that start with bin); choose another name\n");
}

TEST_CASE("the facts of an external policy are checked with the configuration, also of one without a class") {
  auto const extensions = Extensions()
                              .policy<Copier>("copier", "copies pages")
                              .policy<FaultPath>("nowhere", "no GPU records faults", {.recorded_by_gpu = 0})
                              .policy<FaultReplay>("never", "stalls forever", {});
  auto const refusal_with = [&](std::string const& first, std::string const& second) {
    auto const called = call(extensions, {"run", "paper-gmmu-bypass", "--set", first, "--set", second});
    CHECK(called.code == 2);
    return called.err;
  };
  CHECK(refusal_with("memory.remote_touch=copier", "memory.large_pages=all")
            .find("memory.remote_touch = copier makes copies") != std::string::npos);
  CHECK(refusal_with("memory.remote_touch=copier", "driver.batch.replay=never")
            .find("driver.batch.replay = never: faulted accesses are never replayed") != std::string::npos);
  CHECK(refusal_with("memory.remote_touch=duplicate", "memory.fault_path=nowhere")
            .find("memory.fault_path = nowhere merges faults of several GPUs; use gpu") != std::string::npos);
}

TEST_CASE("an external workload needs a unique name and unique parameters") {
  declared = {};
  auto const named = [](std::string name) { return Extensions().workload<Nothing>(std::move(name), "x"); };
  CHECK(refusal(named("bfs")) == "farfault: workload 'bfs': Farfault has a built-in one with this name\n");
  CHECK(refusal(named("name")) == "farfault: workload 'name': Farfault has a built-in one with this name\n");
  CHECK(refusal(named("mine").workload<Nothing>("mine", "x")) ==
        "farfault: workload 'mine' is added twice\n");
  CHECK(call(named("mine"), {"workloads"}).out.find("mine  ") != std::string::npos);
  declared = {{"one", "one"}};
  CHECK(refusal(named("mine")) == "farfault: workload 'mine': parameter one is declared twice\n");
}

TEST_CASE("an external preset or machine format needs a unique name") {
  CHECK(refusal(Extensions().preset("dgx1", "")) ==
        "farfault: preset 'dgx1': Farfault has a built-in one with this name\n");
  CHECK(refusal(Extensions().preset("mine", "").preset("mine", "")) ==
        "farfault: preset 'mine' is added twice\n");
  CHECK(refusal(Extensions().machine_format({"mine", "x", nullptr, nullptr})) ==
        "farfault: machine format 'mine' needs a function that recognizes files and one that parses them\n");
}

TEST_CASE("an external preset is read by name like a file") {
  auto const presets = Extensions().preset("mine", "include = [\"paper-gmmu-bypass\"]\ngpu.smss = 4\n");
  auto const called = call(presets, {"run", "mine"});
  CHECK(called.code == 2);
  CHECK(called.err == "farfault: mine:2: unknown key 'gpu.smss'; did you mean 'gpu.sms'?\n");
}

TEST_CASE("the schema of configurations offers external policies, workloads and presets") {
  declared = {{"one"}};
  Extensions extensions(policies().add<WithParams>("mine", "router of a test"));
  extensions.workload<Nothing>("nothing", "workload of a test").preset("two", "");
  auto const called = call(extensions, {"params", "--schema"});
  declared = {};
  REQUIRE(called.code == 0);
  auto const schema = nlohmann::json::parse(called.out);
  auto const& router = schema["properties"]["gpu"]["properties"]["router"]["properties"];
  auto const& policy = router["policy"];
  CHECK(policy["enum"].back() == "mine");
  CHECK(policy["x-taplo"]["docs"]["enumValues"].back() == "router of a test");
  CHECK(router["mine"]["properties"]["one"]["maximum"] == 9);
  auto const text = router["mine"]["properties"]["one"]["description"].get<std::string>();
  CHECK(text.ends_with(". Only with gpu.router.policy = \"mine\""));
  auto const& application = schema["definitions"]["application"]["properties"];
  CHECK(application["workload"]["enum"].back() == "nothing");
  CHECK(application["nothing"]["$ref"] == "#/definitions/workload.nothing");
  CHECK(schema["definitions"]["workload.nothing"]["properties"]["one"]["default"] == 1);
  CHECK(schema["properties"]["include"]["items"]["anyOf"][0]["enum"].back() == "two");
}

}  // namespace extensions_test
