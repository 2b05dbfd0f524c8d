// SPDX-License-Identifier: Apache-2.0
// Options of sbatch that a study may set.
#include "study/slurm_options.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "small_study.hpp"

namespace slurm_options_test {

namespace fs = std::filesystem;
using namespace farfault::cli;

namespace {

std::string const kFile = "a study cannot name a file that sbatch reads or writes";
std::string const kProgram = "a study cannot set the program, user or environment of a job";
std::string const kBySweep = "the sweep sets it itself";
std::string const kCores = "the sweep sets a task's cores from --jobs and --threads";
std::string const kSubmission = "the sweep submits its jobs and reads the output of sbatch";

std::string owned(std::string const& name, std::string const& why) {
  return "cannot be set by a study (" + name + "): " + why;
}

}  // namespace

TEST_CASE("sbatch options that the sweep sets are rejected, in full, abbreviated and as a letter") {
  struct Case {
    std::string name, letter, why;
  };
  for (auto const& c : std::vector<Case>{
           {"output", "o", kFile},        {"error", "e", kFile},          {"input", "i", kFile},
           {"open-mode", "", kFile},      {"nodefile", "F", kFile},       {"bbf", "", kFile},
           {"export-file", "", kFile},    {"export", "", kProgram},       {"get-user-env", "", kProgram},
           {"wrap", "", kProgram},        {"container", "", kProgram},    {"container-id", "", kProgram},
           {"uid", "", kProgram},         {"gid", "", kProgram},          {"array", "a", kBySweep},
           {"job-name", "J", kBySweep},   {"dependency", "d", kBySweep},  {"chdir", "D", kBySweep},
           {"workdir", "", kBySweep},     {"requeue", "", kBySweep},      {"no-requeue", "", kBySweep},
           {"ntasks", "n", kBySweep},     {"cpus-per-task", "c", kCores}, {"tres-per-task", "", kCores},
           {"parsable", "", kSubmission}, {"wait", "W", kSubmission},     {"test-only", "", kSubmission},
           {"help", "h", kSubmission},    {"usage", "u", kSubmission},    {"version", "V", kSubmission}}) {
    CAPTURE(c.name);
    CHECK(why_no_slurm_option("--" + c.name) == owned(c.name, c.why));
    CHECK(why_no_slurm_option("--" + c.name + "=/some/file") == owned(c.name, c.why));
    // sbatch accepts any unambiguous prefix of an option.
    for (std::size_t n = 1; n < c.name.size(); ++n)
      CHECK(why_no_slurm_option("--" + c.name.substr(0, n) + "=x").starts_with("cannot be set by a study ("));
    if (c.letter.empty()) continue;
    CHECK(why_no_slurm_option("-" + c.letter) == owned(c.name, c.why));
    CHECK(why_no_slurm_option("-" + c.letter + "/some/file") == owned(c.name, c.why));
  }
}

TEST_CASE("an sbatch option is one word without newlines") {
  std::string const word = "must be one word of ASCII characters, without quotes, backslashes and '#'";
  for (std::string const option :
       {"--comment=a --output=/some/file", "--comment=a\n#SBATCH --output=/some/file", "--comment=a\ncurl x",
        "--comment=a\t-o/some/file", "--comment=\"a", "--comment='a", "--comment=a\\", "--comment=a#b",
        "--comment=a\r", "--comment=\x1b[2K", "--comment=\u202e", "--comment=\xa0"})
    CHECK_MESSAGE(why_no_slurm_option(option) == word, option);
  CHECK(why_no_slurm_option(std::string("--comment=a\0b", 13)) == word);
  std::string const form = "is not an option of sbatch such as \"--partition=long\"";
  for (std::string const option :
       {"", "-", "--", "--=x", "partition=long", "--par.tition=x", "-1", "-Zx", "-=x"})
    CHECK_MESSAGE(why_no_slurm_option(option) == form, option);
  std::string const value = "has no value; write it as in \"--partition=long\"";
  for (std::string const option : {"--partition", "--time", "--nodelist"})
    CHECK_MESSAGE(why_no_slurm_option(option) == value, option);
  CHECK(why_no_slurm_option("-p") == "has no value; write it as in \"-plong\"");
  CHECK(why_no_slurm_option("-Ho/some/file") == "contains several options; write each as a separate word");
}

TEST_CASE("other sbatch options are accepted") {
  for (std::string const option : {"--partition=long",
                                   "-plong",
                                   "--time=2:00:00",
                                   "-t10",
                                   "--account=project",
                                   "--qos=high",
                                   "--mem=8G",
                                   "--mem-per-cpu=2G",
                                   "--gres=gpu:1",
                                   "--constraint=[a|b]&c",
                                   "--exclude=n[1-4]",
                                   "--exclusive",
                                   "--exclusive=user",
                                   "--hold",
                                   "-H",
                                   "--nice",
                                   "--nice=10",
                                   "--signal=B:USR1@120",
                                   "--mail-type=END",
                                   "--reservation=r",
                                   "--nodes=1",
                                   "-N1",
                                   "--comment=",
                                   "--clusters=a,b",
                                   "--licenses=a:2",
                                   "--nodelist=n1",
                                   "-wn1",
                                   "--wait-all-nodes=1",
                                   "--time-min=5"})
    CHECK_MESSAGE(why_no_slurm_option(option) == "", option);
}

// Site plug-ins add options that start containers or set the environment.
TEST_CASE("an unlisted sbatch option is rejected with the list") {
  for (std::string const option : {"--container-image=x", "--container-env=BASH_ENV", "--environment=x",
                                   "--edf=x", "--uenv=x", "--runtime=x", "--context=x", "--umask=0", "--bb=x",
                                   "--partitio=long", "--Partition=long", "--extra=x", "--propagate"}) {
    auto const why = why_no_slurm_option(option);
    bool const refused = why.starts_with("is not an option that a study can set") ||
                         why.starts_with("cannot be set by a study");
    CHECK_MESSAGE(refused, option);
    if (option != "--container-image=x") continue;
    CHECK(why.starts_with("is not an option that a study can set; options: account, acctg-freq, begin, "));
    CHECK(why.ends_with(", verbose, wait-all-nodes"));
  }
}

TEST_CASE("a node list with a slash is rejected: sbatch would read it as a file") {
  auto const why = "names a file (" + kFile + ")";
  for (std::string const option :
       {"--nodelist=/etc/passwd", "--nodelist=./n", "--exclude=a/b", "-w/etc/passwd", "-x/etc/passwd"})
    CHECK_MESSAGE(why_no_slurm_option(option) == why, option);
}

TEST_CASE("sweep: an sbatch option that a study cannot set ends the sweep with its line") {
  auto const with = [](std::string const& option) {
    SmallStudy const s("slurm_options",
                       "seeds = 2\n[sweep.slurm]\noptions = [\"--time=5\",\n\"" + option + "\"]\n");
    auto const error = s.error({"--dry-run"});
    REQUIRE(error.starts_with(s.file + ":11: "));
    return error.substr(s.file.size() + 5);
  };
  CHECK(with("--export=ALL,BASH_ENV=/tmp/x") ==
        "'--export=ALL,BASH_ENV=/tmp/x' " + owned("export", kProgram) + "\n");
  CHECK(with("--out=/some/file") == "'--out=/some/file' " + owned("output", kFile) + "\n");
  CHECK(with("-o/some/file") == "'-o/some/file' " + owned("output", kFile) + "\n");
  CHECK(with("--comment=a\\n#SBATCH -o/some/file") ==
        "'--comment=a #SBATCH -o/some/file' must be one word of ASCII characters, without quotes, "
        "backslashes "
        "and '#'\n");
}

TEST_CASE("sweep: the sbatch options of a study are printed before any submission") {
  SmallStudy const s("slurm_printed",
                     "seeds = 2\n[sweep.slurm]\noptions = [\"--partition=long\", \"-t10\"]\n");
  auto const dry = lines_of(s.sweep({"--dry-run", "--slurm"}).out);
  REQUIRE(dry.size() == 7);
  CHECK(dry[5].starts_with("  part      "));
  CHECK(dry[6] == "  options   --partition=long -t10 (from the study)");
  CHECK(s.sweep({"--dry-run"}).out.find("options") == std::string::npos);
}

}  // namespace slurm_options_test
