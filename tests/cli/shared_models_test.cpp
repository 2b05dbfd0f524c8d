// SPDX-License-Identifier: Apache-2.0
// Models shared by the runs of a study, compared with models made for each run separately.
#include "sweep/shared_models.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "farfault/cli/parameter_sections.hpp"
#include "small_study.hpp"
#include "sweep/plan.hpp"

namespace shared_models_test {

namespace fs = std::filesystem;
using namespace farfault;
using namespace farfault::cli;

namespace {

constexpr char const* kStudy = "a/study.toml";

// Together these bases use the parameters of every kind of machine.
constexpr char const* kBases[] = {
    "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"stream\"\n",
    ("include = [\"paper-batch-aware\"]\nworkload.name = \"stream\"\nmachine.topology = \"generic\"\n"
     "machine.cluster.machines = 2\ngpu.l2_cache.partitions = 2\niommu.tlb_entries = 64\n"
     "gpu.memory_cache.size = \"1 MiB\"\n"),
    ("include = [\"paper-mosaic\"]\n[[application]]\nname = \"one\"\nworkload = \"stream\"\n[[application]]\n"
     "name = \"two\"\nworkload = \"relu\"\n"),
    ("include = [\"gpu-a100\"]\nworkload.name = \"stream\"\n[[gpu.translation.level]]\nname = \"utlb\"\nsms "
     "= 2\n"
     "[[gpu.translation.level]]\nname = \"l2_tlb\"\nbanks = 4\n")};

std::string toml_of(ParamKind kind, std::string const& text) {
  bool const bare = kind == ParamKind::count || kind == ParamKind::number || kind == ParamKind::flag ||
                    (kind == ParamKind::count_or_text && text.find_first_not_of("0123456789") == text.npos);
  return bare ? text : "\"" + text + "\"";
}

// The default, the ends of the range or all choices, and an invalid value.
std::vector<std::string> values_of(Param const& param) {
  std::vector<std::string> values;
  auto rest = param.range;
  if (rest.starts_with("one of: ")) {
    rest.erase(0, 8);
    for (std::size_t end = 0; end != rest.npos; rest.erase(0, end == rest.npos ? rest.size() : end + 2)) {
      end = rest.find(", ");
      values.push_back(rest.substr(0, end));
    }
  } else if (auto const to = rest.find(" to "); to != rest.npos) {
    values = {rest.substr(0, to), rest.substr(to + 4)};
  } else if (param.kind == ParamKind::flag) {
    values = {"true", "false"};
  } else if (param.name == "sms") {
    values = {"1-2", "equal", "3", "all"};
  } else if (param.name == "topology") {
    values = {"dgx1", "no-such-file", "generic", "dgx2"};
  }
  values.push_back("nonsense");
  values.push_back(param.default_value);
  return values;
}

// The outcome of building a model: everything a run depends on, or the error.
std::string outcome(Model const& model) {
  auto text = std::to_string(model.hash()) + "\n" + model.config.resolved();
  for (auto const& b : model.config.bound()) text += b.key + " at " + model.config.where(b.key) + "\n";
  for (auto const& node : model.machine.nodes)
    text += node.name + " " + std::to_string(node.machine) + " " + std::to_string(node.sm_count) + "\n";
  for (auto const& l : model.machine.links)
    text += std::to_string(l.a) + "-" + std::to_string(l.b) + " " + std::to_string(picoseconds(l.latency)) +
            " " + std::to_string(l.forward.bytes_per_second) + " " + std::to_string(l.count) + "\n";
  for (auto const& one : model.applications.all()) {
    text += one.key + " " + std::to_string(one.space);
    for (auto const gpu : one.gpu_numbers) text += " gpu " + std::to_string(gpu);
    for (auto const sm : one.sm_numbers) text += " sm " + std::to_string(sm);
    text += "\n";
  }
  for (auto const& input : model.inputs) text += input.parameter + " " + input.path + "\n";
  return text;
}

RunOptions options_of(std::string const& base, std::string const& key, std::string const& toml, int line) {
  RunOptions options;
  options.config_path = base;
  options.point_settings = {{key, toml, kStudy, line}};
  return options;
}

std::string made_alone(std::string const& base, std::string const& key, std::string const& toml, int line) {
  auto const options = options_of(base, key, toml, line);
  try {
    return outcome(Model(options));
  } catch (InputFileError const& e) {
    return std::string("input: ") + e.what();
  } catch (UserError const&) {
    return "refused";
  }
}

std::string varied(Model& model, std::string const& key, std::string const& toml, int line) {
  try {
    return model.vary({{key, toml, kStudy, line}}) ? outcome(model) : "refused";
  } catch (InputFileError const& e) {
    return std::string("input: ") + e.what();
  }
}

SweepOptions sweep_of(SmallStudy const& s) {
  SweepOptions options;
  options.study = s.file;
  return options;
}

// Plans all runs of one study together.
struct Planned {
  SweepOptions options;
  Study study;
  Points points;
  Plan plan;
  explicit Planned(SmallStudy const& s)
      : options(sweep_of(s)),
        study(read_study(s.file)),
        points(study),
        plan(options, study, points, [](double) {}) {}
};

}  // namespace

TEST_CASE("a varied model equals a model built with that value, for every parameter and base") {
  auto const folder = fresh("varied");
  auto const sections = parameter_sections();
  std::size_t compared = 0, refused = 0;
  for (std::size_t b = 0; b < std::size(kBases); ++b) {
    auto const base = (folder / ("base" + std::to_string(b) + ".toml")).string();
    std::ofstream(base) << kBases[b];
    RunOptions unchanged;
    unchanged.config_path = base;
    Model const chosen(unchanged);
    for (auto const& section : sections.all()) {
      auto name = section.name;
      if (name == "application") name += ".one";
      bool const is_listed = name.starts_with("application"), lists = b == 2;
      if (name.starts_with("workload") && (lists || name == "workload")) continue;
      if (name.starts_with("workload.") && name != "workload.stream" && name != "workload.bfs") continue;
      if (is_listed && !lists) continue;
      // In one base, only the second of two levels of TLBs.
      bool const is_level = name == "gpu.translation.level", has_levels = b == 3;
      if (is_level != has_levels) continue;
      if (is_level) name += ".l2_tlb";
      for (auto const& param : section.table.all()) {
        auto const key = name + "." + param.name;
        if (key == "application.one.name" || key == "application.one.workload" ||
            key == "application.one.size" || key == "gpu.translation.level.l2_tlb.name")
          continue;
        auto values = values_of(param);
        if (auto const* const in_base = chosen.config.find_bound(key)) values.push_back(in_base->value);
        std::unique_ptr<OwnModel> own;
        for (auto const& value : values) {
          try {
            own = std::make_unique<OwnModel>(options_of(base, key, toml_of(param.kind, value), 3),
                                             std::vector{key});
            break;
          } catch (UserError const&) {
          }
        }
        CAPTURE(key);
        REQUIRE(own);
        CHECK(own->model.config.can_vary(key, kStudy, 3));
        int line = 3;
        for (auto const& value : values) {
          auto const toml = toml_of(param.kind, value);
          ++line;
          auto const alone = made_alone(base, key, toml, line);
          CAPTURE(value);
          CHECK(varied(own->model, key, toml, line) == alone);
          ++compared;
          if (!alone.starts_with("1")) refused += alone == "refused" ? 1 : 0;
        }
      }
    }
  }
  MESSAGE(compared, " values compared, ", refused, " of them refused");
  CHECK(compared > 3000);
  CHECK(refused > 1000);
}

TEST_CASE("values that determine the set of parameters or their defaults cannot vary, nor can arrays") {
  auto const folder = fresh("fixed");
  auto const base = (folder / "base.toml").string();
  std::ofstream(base) << kBases[2];
  for (std::string const key : {"application.one.workload", "application.0.sms", "application"}) {
    auto const toml = key == "application" ? "[{workload = \"stream\"}]" : "\"stream\"";
    try {
      OwnModel const own(options_of(base, key, key == "application.0.sms" ? "\"all\"" : toml, 3), {key});
      CHECK_MESSAGE(!own.model.config.can_vary(key, kStudy, 3), key);
    } catch (UserError const& e) {
      FAIL(key, ": ", e.what());
    }
  }
  OwnModel const listed(options_of(base, "application.one.size", "\"small\"", 3), {"application.one.size"});
  CHECK_FALSE(listed.model.config.can_vary("application.one.size", kStudy, 3));
  std::ofstream(base) << kBases[0];
  OwnModel const own(options_of(base, "workload.name", "\"stream\"", 3), {"workload.name"});
  CHECK_FALSE(own.model.config.can_vary("workload.name", kStudy, 3));
  OwnModel const sized(options_of(base, "workload.size", "\"small\"", 3), {"workload.size"});
  CHECK_FALSE(sized.model.config.can_vary("workload.size", kStudy, 3));
  OwnModel const set(options_of(base, "gpu.sms", "3", 3), {"gpu.sms"});
  CHECK(set.model.config.can_vary("gpu.sms", kStudy, 3));
  CHECK_FALSE(set.model.config.can_vary("gpu.sms", kStudy, 4));
  CHECK_FALSE(set.model.config.can_vary("gpu.clock", kStudy, 3));
}

TEST_CASE("sweep: runs that differ only in values share one model, and no file is read twice") {
  SmallStudy const grid("shared_grid",
                        "seeds = 5\n[sweep.grid]\ngpu.l2_tlb.entries = [64, 128, 256, 512]\n"
                        "gpu.router.policy = [\"distributed\", \"gmmu_bypass\"]\n"
                        "workload.stream.bytes = [\"8 KiB\", \"16 KiB\", \"32 KiB\"]\n");
  Planned const planned(grid);
  CHECK(planned.points.count() == 120);
  CHECK(planned.plan.distinct().size() == 120);
  CHECK(planned.plan.models_made() == 1);

  SmallStudy const random(
      "shared_random",
      "[sweep.random]\nsamples = 200\ngpu.l2_cache.latency = {low = 50, high = 400}\n"
      "gpu.dram.controller_latency = {low = \"5 ns\", high = \"80 ns\", scale = \"log\"}\n"
      "memory.placement = [\"interleave\", \"contiguous\"]\n");
  CHECK(Planned(random).plan.models_made() == 1);

  // One model per workload and set of keys.
  SmallStudy const kinds(
      "shared_kinds",
      "[[sweep.list]]\ngpu.sms = 3\n[[sweep.list]]\ngpu.l2_tlb.entries = 64\n"
      "[sweep.grid]\nworkload.name = [\"stream\", \"relu\", \"bfs\"]\nrun.seed = [1, 2, 3]\n"
      "workload.relu.size = [\"4 KiB\", \"8 KiB\"]\n");
  CHECK(Planned(kinds).plan.models_made() == 6);
}

TEST_CASE("sweep: results have the same names as with a separate model per run") {
  SmallStudy const s("shared_names",
                     "seeds = [4, 2]\n[[sweep.list]]\nworkload.name = \"relu\"\n[[sweep.list]]\ngpu.sms = 3\n"
                     "[[sweep.list]]\nbase = \"gpu-v100\"\n[[sweep.list]]\nmachine.topology = \"dgx2\"\n"
                     "[[sweep.list]]\nworkload.name = \"bfs\"\nworkload.bfs.graph = \"a.graph\"\n"
                     "[sweep.random]\nsamples = 6\ngpu.l2_cache.latency = {low = 50, high = 400}\n"
                     "[sweep.grid]\nmemory.remote_touch = [\"remote_access\", \"migrate\"]\n");
  std::ofstream(s.folder / "a.graph") << "3 2\n2 3\n1\n1\n";
  Planned const planned(s);
  REQUIRE(planned.points.count() == 120);
  std::size_t different = 0;
  for (std::size_t run = 0; run < planned.points.count(); ++run) {
    auto const options = planned.plan.run_options(run, "");
    Model model(options);
    if (model.config.find_bound("workload.bfs.graph") != nullptr) model.build_workloads();
    if (RunIdentity(model, false).name() != planned.plan.run(run).name) ++different;
  }
  CHECK(different == 0);
  CHECK(planned.plan.models_made() < 12);
}

TEST_CASE("sweep: an error in a later run has the same message as one in the first run, with its line") {
  auto const with = [](std::string const& rest) {
    SmallStudy const s("shared_mistakes", rest);
    auto const error = s.error();
    return error.starts_with(s.file) ? error.substr(s.file.size() + 1) : error;
  };
  std::string const good = "[[sweep.list]]\ngpu.l2_tlb.entries = 64\ngpu.sms = 2\n";
  CHECK(with(good + good + "[[sweep.list]]\n\ngpu.l2_tlb.entries = 64.5\ngpu.sms = 2\n") ==
        "16: gpu.l2_tlb.entries: '64.5' is not a non-negative integer\n");
  CHECK(with(good + good + "[[sweep.list]]\ngpu.sms = \"2\"\ngpu.l2_tlb.entries = 48\n") ==
        "15: gpu.sms: '2' is in quotes, but a value of this kind (count) takes none\n");
  CHECK(with(good + good + "[[sweep.list]]\ngpu.sms = 2\n\ngpu.l2_tlb.entries = 48\n")
            .ends_with(
                "must divide the number of entries, 48 (run 2: gpu.l2_tlb.entries = 48, gpu.sms = 2)\n"));
  CHECK(with(good + good + "[[sweep.list]]\ngpu.sms = [2]\ngpu.l2_tlb.entries = 64\n")
            .starts_with("15: gpu.sms: "));
  CHECK(with("[sweep.random]\nsamples = 50\ngpu.l2_cache.latency = {low = 1, high = 4}\n"
             "memory.page_size = {low = \"4 KiB\", high = \"8 KiB\", scale = \"powers_of_two\"}\n")
            .find("memory.page_size = 8 KiB must be 4KiB, 64KiB or 2MiB") != std::string::npos);
}

}  // namespace shared_models_test
