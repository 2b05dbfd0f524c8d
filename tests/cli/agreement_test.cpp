// SPDX-License-Identifier: Apache-2.0
#include "run/agreement.hpp"

#include <doctest/doctest.h>

#include <map>

#include "model/model.hpp"
#include "process/build_id.hpp"
#include "process/launcher.hpp"

namespace agreement_test {

using namespace farfault;
using namespace farfault::cli;

namespace {

std::string sentence(std::vector<std::vector<cli::Fact>> const& by_rank) {
  return disagreement(by_rank).value_or("they agree");
}

std::string missing(std::uint32_t ranks, std::map<std::string, std::string> const& variables) {
  auto const why = missing_mpi(ranks, [&](char const* name) {
    auto const it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
  return why.value_or("nothing");
}

std::vector<cli::Fact> facts_with(std::vector<std::string> const& sets) {
  RunOptions options;
  options.config_path = "paper-gmmu-bypass";
  options.sets = sets;
  Model model(options);
  auto facts = facts_of_configuration(options, model);
  model.build_workloads();
  for (auto const& fact : facts_of_workloads(model)) facts.push_back(fact);
  return facts;
}

}  // namespace

TEST_CASE("ranks with the same facts agree, whatever the origins of the facts") {
  CHECK(sentence({}) == "they agree");
  CHECK(sentence({{{"a", "1", "here"}}, {{"a", "1", "there"}}}) == "they agree");
}

TEST_CASE("the first fact that differs from rank 0 is reported with both values and their origins") {
  std::vector<cli::Fact> const ours{{"a", "1", ""}, {"gpu.l1_tlb.latency", "1", "default"}, {"c", "1", ""}};
  auto theirs = ours;
  theirs[1].value = "3";
  theirs[1].origin = "/r2/c.toml:4";
  theirs[2].value = "7";
  CHECK(sentence({ours, ours, theirs}) ==
        "rank 2 has gpu.l1_tlb.latency = 3 (/r2/c.toml:4) where rank 0 has 1 (default); all ranks must "
        "simulate the same model");
}

TEST_CASE("a fact that only one of two ranks has is a difference") {
  std::vector<cli::Fact> const one{{"a", "1", ""}}, two{{"a", "1", ""}, {"b", "2", ""}};
  CHECK(sentence({two, one}) == "rank 1 has no b where rank 0 has 2; all ranks must simulate the same model");
  CHECK(sentence({one, two}) ==
        "rank 1 has b = 2 where rank 0 has none; all ranks must simulate the same model");
}

TEST_CASE("a different program version is reported before any other difference") {
  auto const ours = facts_of_program();
  REQUIRE(ours.size() == 2);
  auto theirs = ours;
  theirs[0].value = "9.9.9";
  theirs[1].value = "0123";
  CHECK(sentence({ours, theirs}) == "rank 1 has program version = 9.9.9 where rank 0 has " + ours[0].value +
                                        "; all ranks must simulate the same model");
  theirs[0] = ours[0];
  CHECK(sentence({ours, theirs}) == "rank 1 has program build = 0123 where rank 0 has " + ours[1].value +
                                        "; all ranks must simulate the same model");
}

TEST_CASE("the build of the program is identified by the linker's fingerprint") {
  CHECK(build_id().size() == 40);
  CHECK(build_id().find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("all parameters, options that affect the run, and the workload are facts") {
  auto const ours = facts_with({"workload.name=stream"});
  CHECK(sentence({ours, facts_with({"workload.name=stream"})}) == "they agree");
  CHECK(sentence({ours, facts_with({"workload.name=stream", "gpu.l1_tlb.latency=3"})}) ==
        "rank 1 has gpu.l1_tlb.latency = 3 (--set) where rank 0 has 1 (default); all ranks must simulate the "
        "same model");
  for (std::string const subject :
       {"--output", "--until", "--partitions", "--no-merge", "--critical-path", "--profile", "--checkpoint",
        "--checkpoint-every", "--checkpoint-minutes", "--resume", "--trace", "--trace-output",
        "--trace-sample", "--trace-limit", "run.seed", "run.sample_interval", "machine.topology",
        "workload.stream.bytes", "workload"}) {
    auto const has = [&](cli::Fact const& fact) { return fact.subject == subject; };
    CHECK_MESSAGE(std::count_if(ours.begin(), ours.end(), has) == 1, subject);
  }
}

TEST_CASE("by default, GPUs are split if each rank has one GPU and several threads") {
  using topologies::Granularity;
  RunOptions options;
  CHECK(granularity_for(options, 1, 1, 1) == Granularity::device);
  CHECK(granularity_for(options, 1, 1, 2) == Granularity::split_gpu);
  CHECK(granularity_for(options, 2, 1, 2) == Granularity::device);
  CHECK(granularity_for(options, 2, 2, 2) == Granularity::split_gpu);
  CHECK(granularity_for(options, 2, 4, 1) == Granularity::device);
  options.critical_path = true;  // the critical path is computed per device
  CHECK(granularity_for(options, 1, 1, 8) == Granularity::device);
  for (auto const* word : {"one", "device", "split"}) {
    options.partitions = granularity(word);
    CHECK(granularity_for(options, 2, 1, 2) == granularity_for(options, 1, 1, 64));
  }
  CHECK_FALSE(granularity("auto").has_value());
}

TEST_CASE("the components, their ranks and the state to resume are facts") {
  auto const facts = [](std::string const& sms, std::uint32_t ranks) {
    RunOptions options;
    options.config_path = "paper-gmmu-bypass";
    options.sets = {"workload.name=stream", "gpu.sms=" + sms};
    Model model(options);
    model.build_workloads();
    model.assemble();
    return facts_of_components(model.assembly->system(),
                               model.assembly->placement(topologies::Granularity::device, ranks));
  };
  auto const ours = facts("1", 2);
  CHECK(sentence({ours, facts("1", 2)}) == "they agree");
  CHECK(sentence({ours, facts("2", 2)}).find("rank 1 has model = ") == 0);
  CHECK(sentence({ours, facts("1", 3)}).find("rank 1 has placement = ") == 0);

  Checkpoint saved;
  saved.header.time = Time{5us};
  saved.parts = {{std::byte{1}}, {std::byte{2}}};
  auto other = saved;
  CHECK(sentence({{fact_of_checkpoint(saved)}, {fact_of_checkpoint(other)}}) == "they agree");
  other.parts[1][0] = std::byte{3};
  CHECK(sentence({{fact_of_checkpoint(saved)}, {fact_of_checkpoint(other)}})
            .find("rank 1 has checkpoint to resume from = the state at 5 us with hash ") == 0);
}

TEST_CASE("copies started without MPI by a launcher are distinguished from a single process") {
  CHECK(missing(1, {}) == "nothing");
  CHECK(missing(4, {{"OMPI_COMM_WORLD_SIZE", "4"}}) == "nothing");
  CHECK(missing(1, {{"OMPI_COMM_WORLD_SIZE", "1"}}) == "nothing");
  CHECK(missing(1, {{"OMPI_COMM_WORLD_SIZE", "4"}}) ==
        "4 copies of this program were started (OMPI_COMM_WORLD_SIZE=4), but MPI does not connect them: the "
        "program was built without MPI, or with a different MPI than the launcher's");
  CHECK(missing(1, {{"PMI_SIZE", "2"}}).find("2 copies of this program were started (PMI_SIZE=2)") == 0);
  CHECK(missing(1, {{"SLURM_STEP_NUM_TASKS", "1"}}) == "nothing");
  CHECK(missing(4, {{"SLURM_STEP_NUM_TASKS", "4"}}) == "nothing");
  CHECK(missing(1, {{"SLURM_STEP_NUM_TASKS", "4"}}) ==
        "srun started 4 copies of this program without MPI: use 'srun --mpi=pmix' or mpirun; for 4 "
        "independent runs, unset SLURM_STEP_NUM_TASKS");
  // A batch script with several tasks that calls the program only once.
  CHECK(missing(1, {{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}) == "nothing");
}

}  // namespace agreement_test
