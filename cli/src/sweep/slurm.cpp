// SPDX-License-Identifier: Apache-2.0
#include "slurm.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "command_output.hpp"
#include "farfault/engine/error.hpp"
#include "places.hpp"
#include "process/counted.hpp"
#include "process/shell_line.hpp"

namespace farfault::cli {
namespace {

namespace fs = std::filesystem;

// Below the default of Slurm's MaxArraySize.
constexpr std::uint64_t kMaxPartsUnasked = 1000;
constexpr std::chrono::minutes kLongestAnswer{10};  // of sbatch

// Cores for the requested number of concurrent runs; by default one run.
std::uint64_t cores(SweepOptions const& options) {
  return std::uint64_t{options.jobs.value_or(1)} * options.threads;
}

std::string sweep_command(SweepOptions const& options, std::string const& folder) {
  auto line = shell_word(program_path()) + " sweep " + shell_word(options.study);
  for (auto const& set : options.sets) line += " --set " + shell_word(set);
  line += " --output " + shell_word(folder);
  return line;
}

std::string memory_line(SweepOptions const& options) {
  auto const bound = options.total_memory ? options.total_memory->bytes
                     : options.memory     ? options.memory->bytes * options.jobs.value_or(1)
                                          : 0;
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  return bound == 0 ? std::string() : fmt::format("#SBATCH --mem={}M\n", (bound + kMib - 1) / kMib);
}

// The study's options first: the last one of two equal options takes effect.
std::string head(Study const& study, std::string const& name, std::string const& log) {
  std::string text(kScriptHead);
  for (auto const& option : study.slurm_options) text += "#SBATCH " + option + "\n";
  return text + fmt::format(
                    "#SBATCH --job-name={}\n"
                    "#SBATCH --ntasks=1\n"
                    "#SBATCH --output={}\n",
                    shell_word(name), shell_word(log));
}

// Two minutes before the time limit, this shell (B:) receives USR1, unless the study sets another signal.
std::string signal_line(Study const& study) {
  auto const& options = study.slurm_options;
  bool const is_set = std::any_of(options.begin(), options.end(),
                                  [](std::string const& option) { return option.starts_with("--signal="); });
  return is_set ? std::string()
                : "# Saves the active runs two minutes before the time limit.\n#SBATCH --signal=B:USR1@120\n";
}

// Executes a part. USR1: the time limit is near; the part saves its runs, and the job is requeued. TERM:
// Slurm ends the job (preemption, scancel) and has decided about its future. Bash handles signals only while
// it waits.
constexpr std::string_view kTurn = R"(signal= part=
stop() {{
  signal=$1
  waiting=yes
  kill -s USR1 "$part" 2>/dev/null
}}
trap 'stop USR1' USR1
trap 'stop TERM' TERM
{} --part "$SLURM_ARRAY_TASK_ID/{}" &
part=$!
[ -z "$signal" ] || stop "$signal"
waiting=yes
while [ "$waiting" = yes ]; do
  waiting=no
  wait "$part"
  code=$?
done
# A requeued part continues its saved runs and executes its missing ones. Bounds parts that never complete.
if [ "$code" -eq 3 ] && [ "$signal" = USR1 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {} ]; then
  echo "sweep.sbatch: the job is requeued and continues in its next turn"
  # The number of the array alone would requeue all parts.
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
fi
exit "$code"
)";
constexpr int kMaxTurns = 100;

std::string array_script(SlurmJob const& job, SweepOptions const& options, Study const& study,
                         std::string const& folder) {
  auto command = sweep_command(options, folder);
  command += fmt::format(" --jobs {} --threads {}", options.jobs.value_or(1), options.threads);
  if (options.memory) command += " --memory " + shell_word(to_text(*options.memory));
  if (options.total_memory) command += " --total-memory " + shell_word(to_text(*options.total_memory));
  if (options.checkpoint_minutes)
    command += fmt::format(" --checkpoint-minutes {}", *options.checkpoint_minutes);
  return head(study, "sweep", "slurm-%A_%a.log") +
         fmt::format(
             "#SBATCH --array=1-{}\n"
             "#SBATCH --cpus-per-task={}\n"
             "{}{}#SBATCH --requeue\n"
             "#SBATCH --open-mode=append\n"
             "cd {} || exit\n",
             job.parts, cores(options), memory_line(options), signal_line(study),
             shell_word(fs::current_path().string())) +
         fmt::format(kTurn, command, job.parts, kMaxTurns);
}

std::string collector_script(SweepOptions const& options, Study const& study, std::string const& folder) {
  return head(study, "sweep-table", "slurm-%j.log") + fmt::format("cd {} || exit\nexec {} --collect\n",
                                                                  shell_word(fs::current_path().string()),
                                                                  sweep_command(options, folder));
}

bool is_command(std::string const& name) {
  auto const* path = std::getenv("PATH");
  for (std::string_view left = path == nullptr ? "" : path; !left.empty();) {
    auto const folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(folder.size() + 1, left.size()));
    if (!folder.empty() && ::access((std::string(folder) + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// The job number. Throws RunError with the output of sbatch, or if sbatch does not answer.
std::string sbatch(std::string const& arguments) {
  auto [in_time, status, output] = output_of("sbatch --parsable " + arguments, kLongestAnswer);
  if (!in_time)
    throw RunError(fmt::format(
        "sbatch did not respond within {} minutes; check with squeue whether the job was submitted",
        kLongestAnswer.count()));
  while (!output.empty() && output.back() == '\n') output.pop_back();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw RunError("sbatch rejected the job: " + (output.empty() ? "no output" : one_line(output)));
  // "1234" or "1234;cluster", after any remarks.
  auto const line = output.substr(output.rfind('\n') + 1);
  auto const id = line.substr(0, line.find(';'));
  if (id.empty() || id.find_first_not_of("0123456789") != id.npos)
    throw RunError("sbatch printed no job number, but '" + shown(line) + "'");
  return id;
}

}  // namespace

SlurmJob slurm_job(Study const& study, std::string const& folder, std::size_t runs) {
  auto const wanted = study.slurm_parts == 0 ? kMaxPartsUnasked : study.slurm_parts;
  // sbatch would parse a relative path that begins with a dash as an option.
  auto const place = fs::absolute(folder).lexically_normal().string();
  return {std::min<std::uint64_t>(runs, wanted), script_path(place), collector_path(place)};
}

void print_slurm_options(Study const& study, std::ostream& out) {
  if (study.slurm_options.empty()) return;
  out << "  options   ";
  for (auto const& option : study.slurm_options) out << option << " ";
  out << "(from the study)\n";
}

void submit(SlurmJob const& job, SweepOptions const& options, Study const& study, std::ostream& out) {
  auto const folder = fs::path(job.script).parent_path().string();
  write_whole(job.script, array_script(job, options, study, folder));
  write_whole(job.collector, collector_script(options, study, folder));
  out << "  script    " << one_line(job.script) << ", " << counted(job.parts, "part") << "\n";
  print_slurm_options(study, out);
  out.flush();
  if (!is_command("sbatch")) {
    out << "  submitted no: sbatch not found; submit with sbatch --chdir=" << one_line(folder) << " "
        << one_line(job.script) << ", then write the table with farfault sweep --collect\n";
    return;
  }
  auto const chdir = "--chdir=" + shell_word(folder) + " ";
  auto const id = sbatch(chdir + shell_word(job.script));
  auto const collector = sbatch(chdir + "--dependency=afterany:" + id + " " + shell_word(job.collector));
  out << "  submitted job " << id << "; job " << collector << " writes the table when all parts have ended\n";
}

}  // namespace farfault::cli
