# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by tests/fuzz/short and tests/fuzz/long: the list of campaigns and the functions that run them.
#
# A campaign is a harness (program build/fuzz/fuzz_<harness>) with a corpus and an optional dictionary. All machine-file
# formats share one harness, which detects the format like the program.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
fuzz_source=$PWD/tests/fuzz
fuzz_build=$PWD/build/fuzz

# Name, harness, share of the inputs of a long run in thousandths, maximum input in bytes.
campaigns="
units                units                70    64
config               config               20  2048
machine_toml         machine              60  2048
nccl_xml             machine              95  2048
hwloc_xml            machine              85  4096
graphml              machine              90  2048
ibnetdiscover        machine              75  2048
topograph_yaml       machine              75  2048
page_map             page_map             20   512
graph_matrix_market  graph_matrix_market 105  1024
graph_snap           graph_snap           90  1024
graph_metis          graph_metis         100  1024
graph_compressed     graph_automatic      60  1024
trace                trace                23  2048
kernel_list          kernel_list          20   512
command_line         command_line          4   512
checkpoint           checkpoint            3  1024
result               result                2   256
sweep                sweep                 2   256
result_bytes         result_bytes          1 65536
"

# Limits per input: 10 s of processor time and 1 GiB of memory including the sanitizers.
most_seconds=10
most_mebibytes=1024
# An input that exceeds the limit in wall-clock time is kept and run again for its processor time. An input that takes
# hung_seconds is stopped.
hung_seconds=600

# Freed memory is quarantined, so that its use is detected; 8 MiB fit into the caches. HDF5 requests more memory than
# any machine has and handles the failure; `new` does not.
export ASAN_OPTIONS=quarantine_size_mb=8:allocator_may_return_null=1

# harness_of NAME, share_of NAME, length_of NAME
harness_of() { awk -v n="$1" '$1 == n { print $2 }' <<<"$campaigns"; }
share_of() { awk -v n="$1" '$1 == n { print $3 }' <<<"$campaigns"; }
length_of() { awk -v n="$1" '$1 == n { print $4 }' <<<"$campaigns"; }
campaign_names() { awk 'NF { print $1 }' <<<"$campaigns"; }

# run_harness NAME INPUTS SEED FOLDER: runs the harness with INPUTS inputs, derived from the corpus in the tree and from
# FOLDER/corpus, which receives new inputs. Failing inputs are kept in FOLDER/failed. The log is FOLDER/log.
run_harness() {
  local name=$1 inputs=$2 seed=$3 folder=$4 dictionary=$fuzz_source/dictionaries/$1.dict
  local options=(-runs="$inputs" -seed="$seed" -max_len="$(length_of "$name")" -timeout="$hung_seconds"
    -report_slow_units="$most_seconds" -rss_limit_mb="$most_mebibytes" -entropic=0 -print_final_stats=1
    -artifact_prefix="$folder/failed/")
  [ -f "$dictionary" ] && options+=(-dict="$dictionary")
  mkdir -p "$folder/corpus" "$folder/failed"
  "$fuzz_build/fuzz_$(harness_of "$name")" "${options[@]}" "$folder/corpus" "$fuzz_source/corpus/$name" \
    >"$folder/log" 2>&1
}

# reproduces NAME FILE: succeeds if the input also fails in a separate run, by its own processor time.
reproduces() {
  ! (ulimit -c 0 && ulimit -t "$most_seconds" &&
    "$fuzz_build/fuzz_$(harness_of "$1")" -timeout="$hung_seconds" -rss_limit_mb="$most_mebibytes" "$2") >/dev/null 2>&1
}
reproducer() {
  echo "$fuzz_build/fuzz_$(harness_of "$1") -rss_limit_mb=$most_mebibytes $2"
}
# The reason of a failure in a log, in one line.
reason_in() {
  grep -aoE -m 1 'broken promise: .*|internal error: .*|ERROR: [A-Za-z]+Sanitizer: [^(]*|ERROR: libFuzzer: .*|runtime error: .*' "$1"
}
# The value of `stat::$2` in a log.
stat_in() { awk -v s="stat::$2:" '$1 == s { n = $2 } END { print n + 0 }' "$1"; }

# run_campaign NAME INPUTS SEED FOLDER: runs all inputs of a campaign and continues after up to five failures. Writes
# FOLDER/row, a line of the table (name, inputs, failures, memory), and FOLDER/failures, a line per failure.
run_campaign() {
  local name=$1 left=$2 seed=$3 folder=$4 done=0 memory=0 failures=0 runs=0 ran peak found
  rm -rf "$folder/failed" "$folder/failures" "$folder/row"
  mkdir -p "$folder"
  : >"$folder/failures"
  while [ "$left" -gt 0 ] && [ "$failures" -lt 5 ] && [ "$runs" -lt 20 ]; do
    run_harness "$name" "$left" $((seed + runs)) "$folder"
    runs=$((runs + 1))
    ran=$(stat_in "$folder/log" number_of_executed_units)
    peak=$(stat_in "$folder/log" peak_rss_mb)
    [ "$peak" -gt "$memory" ] && memory=$peak
    done=$((done + ran)) left=$((left - ran))
    for found in "$folder"/failed/*; do
      [ -f "$found" ] || continue
      grep -qF "$found" "$folder/failures" && continue
      if reproduces "$name" "$found"; then
        failures=$((failures + 1))
        echo "$(reason_in "$folder/log" || echo "over $most_seconds s") -- $(reproducer "$name" "$found")" >>"$folder/failures"
      else
        rm "$found" # it only waited for a core
      fi
    done
    [ "$ran" -eq 0 ] && break
  done
  if [ "$left" -gt 0 ] && [ "$failures" -eq 0 ]; then
    failures=1
    echo "ended before all inputs: see $folder/log" >>"$folder/failures"
  fi
  printf '%-20s %10d %9d %8d MiB\n' "$name" "$done" "$failures" "$memory" >"$folder/row"
}

# run_campaigns INPUTS JOBS SEED FOLDER: runs all campaigns, each with its share of the inputs, and prints the table.
run_campaigns() {
  local inputs=$1 jobs=$2 seed=$3 folder=$4 name
  export -f run_campaign run_harness reproduces reproducer reason_in stat_in harness_of share_of length_of
  export campaigns fuzz_source fuzz_build most_seconds most_mebibytes hung_seconds
  rm -f "$folder"/*/row "$folder"/*/failures
  for name in $(campaign_names); do
    echo "$name $((inputs * $(share_of "$name") / 1000))"
  done | xargs -P "$jobs" -L 1 bash -c 'run_campaign "$2" "$3" "$0" "$1/$2"' "$seed" "$folder"
  printf '%-20s %10s %9s %12s\n' campaign inputs failures memory
  for name in $(campaign_names); do
    cat "$folder/$name/row" 2>/dev/null || printf '%-20s %10d %9d\n' "$name" 0 1
  done | tee "$folder/table"
  cat "$folder"/*/failures
}
