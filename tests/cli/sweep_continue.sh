#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sweeps that are stopped or killed in the middle: the same command continues each run where it was, with the results of
# a sweep that never stopped. Also the estimate of the remaining time.
. "$(dirname "$0")/../support/script.sh"

# study NAME PASSES JOBS: three runs, in a separate folder. The script waits for states of these runs, never for a time.
study() {
  mkdir -p "$scratch/$1"
  cat >"$scratch/$1/study.toml" <<END
base = "paper-gmmu-bypass"
[config]
gpu.sms = 2
workload.name = "stream"
workload.stream.bytes = "1MiB"
workload.stream.passes = $2
[sweep]
output = "out"
seeds = 3
END
  runs=$scratch/$1/out/runs
  # Checkpoints every 0.06 s show that a run has made progress.
  sweep=("$farfault" sweep "$scratch/$1/study.toml" --jobs "$3" --progress off --checkpoint-minutes 0.001)
}
checkpoints() { find "$runs" -name '*.checkpoint' | wc -l; }
wait_for_checkpoints() { # NUMBER: or until the sweep ends
  while [ "$(checkpoints)" -lt "$1" ] && kill -0 "$running" 2>/dev/null; do sleep 0.02; done
}
# The checkpoints of the runs in progress are newer than the file.
wait_for_newer() { # FILE NUMBER
  while [ "$(find "$runs" -name '*.checkpoint' -newer "$1" | wc -l)" -lt "$2" ] && kill -0 "$running" 2>/dev/null; do
    sleep 0.02
  done
}
starts() { "${sweep[@]}" "$@" >"$scratch/out" 2>"$scratch/err" & running=$!; }
# stops_by SIGNAL RUNS: checks how the sweep ended
stops_by() {
  local rc
  kill -s "$1" "$running"
  wait "$running"
  rc=$?
  check "SIG$1: exit code 3, not $rc" [ "$rc" -eq 3 ]
  check "SIG$1: $2 runs are saved: $(cat "$scratch/err")" [ "$(cat "$scratch/err")" = \
    "farfault: stopped by SIG$1, $2 runs saved; rerun this command to execute the missing runs" ]
  check "SIG$1: each checkpoint has its unfinished result" [ "$(checkpoints)" -eq "$2" -a \
    "$(find "$runs" -name '*.h5.partial' | wc -l)" -eq "$2" ]
  check "SIG$1: no temporary file and no log is left: $(ls "$runs")" test -z \
    "$(find "$runs" -name '*.writing' -o -name '*.lock' -o -name '*.log')"
}
# completes RESUMED: the table, with all digests, is that of the uninterrupted sweep
completes() {
  local rc=$? file
  check "the sweep completes: exit code 0, not $rc: $(cat "$scratch/err")" [ "$rc" -eq 0 ]
  check "$1 runs are resumed: $(cat "$scratch/out")" grep -qxE "  resumed   $1 runs? continued from (its checkpoint|their checkpoints)" "$scratch/out"
  for file in sweep.csv sweep_spread.csv sweep.h5; do
    check "$file equals that of the uninterrupted sweep" cmp -s "$runs/../$file" "$scratch/whole/$file"
  done
  check "no checkpoint is left: $(ls "$runs")" test -z "$(find "$runs" -type f -not -name '*.h5')"
}

# Long enough to be stopped three times after its first checkpoint.
passes=80
study whole "$passes" 2
"${sweep[@]}" --output "$scratch/whole" >"$scratch/out" 2>"$scratch/err"
check "the uninterrupted sweep: $(cat "$scratch/err")" [ "$(cut -d, -f5 "$scratch/whole/sweep.csv" | grep -cE '^[0-9a-f]{32}$')" -eq 3 ]
check "checkpoints during a run are removed with it" test -z "$(find "$scratch/whole/runs" -type f -not -name '*.h5')"

study stopped "$passes" 2
starts
wait_for_checkpoints 2
stops_by USR1 2
# Commands that execute nothing state the checkpoints.
"${sweep[@]}" --collect >"$scratch/out" 2>"$scratch/err"
check "runs are missing: exit code 1, not $?" [ $? -eq 1 ]
check "--collect states two checkpoints: $(cat "$scratch/out")" grep -qx '  saved     2 unfinished runs have a checkpoint' "$scratch/out"
check "the table has the time of each" [ "$(grep -cE ',missing,stopped at [0-9.]+ [mun]s; the next execution continues from the checkpoint,' \
  "$runs/../sweep.csv")" -eq 2 ]
"${sweep[@]}" --dry-run >"$scratch/out" 2>"$scratch/err"
check "--dry-run states them: $(cat "$scratch/out")" grep -qx '  saved     2 unfinished runs have a checkpoint' "$scratch/out"
check "watch states them: $("$farfault" watch --once "$runs/..")" grep -q ' 3 pending, 2 of them saved$' \
  <("$farfault" watch --once "$runs/..")
# Stopped again, twice.
for signal in TERM INT; do
  touch "$scratch/before"
  starts
  wait_for_newer "$scratch/before" 2
  stops_by "$signal" 2
  check "SIG$signal: two runs were resumed" grep -qx '  resumed   2 runs continued from their checkpoints' "$scratch/out"
done
"${sweep[@]}" >"$scratch/out" 2>"$scratch/err"
completes 2

# A signal to all processes, as from a keyboard or from Slurm.
study group "$passes" 2
setsid "${sweep[@]}" >"$scratch/out" 2>"$scratch/err" &
running=$!
wait_for_checkpoints 2
kill -s TERM -- "-$running"
wait "$running"
check "a signal to all processes: exit code 3, not $?" [ $? -eq 3 ]
check "a signal to all processes: no run fails: $(cat "$scratch/err")" [ "$(cat "$scratch/err")" = \
  "farfault: stopped by SIGTERM, 2 runs saved; rerun this command to execute the missing runs" ]

# A killed sweep: its runs save themselves.
study killed "$passes" 2
starts
wait_for_checkpoints 2
children=$(pgrep -P "$running")
kill -KILL "$running"
wait "$running" 2>/dev/null
for child in $children; do
  for _ in $(seq 500); do kill -0 "$child" 2>/dev/null && sleep 0.02 || break; done
done
"${sweep[@]}" >"$scratch/out" 2>"$scratch/err"
completes 2

# A killed run, as by a node failure: its last checkpoint is kept, and the next sweep continues it.
study node "$passes" 1
starts
wait_for_checkpoints 1
kill -KILL "$(pgrep -P "$running")"
wait "$running"
check "a killed run is a failed run: exit code 1, not $?" [ $? -eq 1 ]
check "a killed run has a message: $(cat "$scratch/err")" grep -q 'has failed: killed by SIGKILL' "$scratch/err"
check "a killed run keeps its checkpoint" [ "$(checkpoints)" -eq 1 ]
"${sweep[@]}" >"$scratch/out" 2>"$scratch/err"
completes 1
check "only that run is executed: $(cat "$scratch/out")" grep -q '^  3 runs: 1 completed, 2 cached, 0 failed, 0 missing$' "$scratch/out"

# A truncated checkpoint is not used.
study truncated "$passes" 2
starts
wait_for_checkpoints 2
stops_by HUP 2
for checkpoint in "$runs"/*.checkpoint; do
  head -c 1000 "$checkpoint" >"$checkpoint.writing" # of a program that was killed while it wrote
  mv "$checkpoint.writing" "$checkpoint"
  rm -f "$checkpoint.previous"
done
"${sweep[@]}" >"$scratch/out" 2>"$scratch/err"
check "runs with truncated checkpoints start from the beginning: $(cat "$scratch/err")" [ "$(grep -cE \
  '^farfault: run [0-2] \(run.seed = [1-3]\) starts from the beginning: checkpoint .* is damaged: expected [0-9]+ bytes, found 968$' \
  "$scratch/err")" -eq 2 -a "$(wc -l <"$scratch/err")" -eq 2 ]
check "no run is resumed" [ "$(grep -c resumed "$scratch/out")" -eq 0 ]
check "the table equals that of the uninterrupted sweep" cmp -s "$runs/../sweep.csv" "$scratch/whole/sweep.csv"

# Parts, as in an array job.
study parts "$passes" 2
starts --part 1/2
wait_for_checkpoints 2
kill -s USR1 "$running"
wait "$running"
check "a stopped part: exit code 3, not $?" [ $? -eq 3 ]
check "a stopped part names the sweep: $(cat "$scratch/err")" [ "$(cat "$scratch/err")" = \
  "farfault: stopped by SIGUSR1, 2 runs saved; execute the sweep again to submit the missing runs" ]
"${sweep[@]}" --part 1/2 >"$scratch/out" 2>"$scratch/err"
check "the same part continues: $(cat "$scratch/out")" grep -qx '  resumed   2 runs continued from their checkpoints' "$scratch/out"
"${sweep[@]}" --part 2/2 >"$scratch/out" 2>"$scratch/err" || fail "the other part: $(cat "$scratch/err")"
"${sweep[@]}" --collect >"$scratch/out" 2>"$scratch/err"
check "parts: exit code 0, not $?" [ $? -eq 0 ]
check "parts: the table equals that of the uninterrupted sweep" cmp -s "$runs/../sweep.csv" "$scratch/whole/sweep.csv"

# Runs of minutes. The first line of a log appears after ten seconds.
study long 65536 1
"$farfault" sweep "$scratch/long/study.toml" --jobs 1 --progress on >"$scratch/out" 2>"$scratch/err" &
running=$!
while ! grep -q 'of 3 runs' "$scratch/err" && kill -0 "$running" 2>/dev/null; do sleep 0.1; done
kill -s TERM "$running"
wait "$running"
check "the remaining time is estimated from the first seconds of the first run: $(cat "$scratch/err")" \
  grep -qE ' farfault: [0-9]+% done, 0 of 3 runs, [0-9:]+ left, 1 running$' "$scratch/err"

# The array job of a study: a signal before the time limit, which the study may set itself. Substitutes for sbatch and
# scontrol.
mkdir "$scratch/bin"
printf '#!/bin/sh\necho 41\n' >"$scratch/bin/sbatch"
printf '#!/bin/sh\necho "$*" >>"%s"\n' "$scratch/scontrol.words" >"$scratch/bin/scontrol"
chmod +x "$scratch"/bin/*
script=$scratch/array/sweep.sbatch
submits() { PATH=$scratch/bin:$PATH "$farfault" sweep "$scratch/long/study.toml" --slurm --output "$scratch/array" "$@" >"$scratch/out" 2>&1; }
check "the array job is submitted: $(cat "$scratch/out")" submits --checkpoint-minutes 5
check "a part receives a signal" grep -qx '#SBATCH --signal=B:USR1@120' "$script"
check "a part has the minutes between checkpoints" grep -q -e '--checkpoint-minutes 5 --part' "$script"
check "the script is valid" bash -n "$script"
printf '[sweep.slurm]\noptions = ["--signal=B:USR1@30"]\n' >>"$scratch/long/study.toml"
check "it is submitted with an option of the study" submits
check "the study sets the signal" [ "$(grep -e '--signal' "$script")" = '#SBATCH --signal=B:USR1@30' ]

# The script as the first task of an array. A run that continues writes a new file.
file_number() { stat -c %i "$scratch"/array/runs/*.h5.partial 2>/dev/null || echo 0; }
task() { # RESTARTS SIGNAL
  local before rc
  before=$(file_number)
  PATH=$scratch/bin:$PATH SLURM_ARRAY_JOB_ID=41 SLURM_ARRAY_TASK_ID=1 SLURM_RESTART_COUNT=$1 \
    bash "$script" >"$scratch/out" 2>"$scratch/err" &
  running=$!
  while [ "$(file_number)" = "$before" ] && kill -0 "$running" 2>/dev/null; do sleep 0.02; done
  kill -s "$2" "$running"
  wait "$running"
  rc=$?
  check "turn $1 ends by SIG$2 with exit code 3, not $rc: $(cat "$scratch/err")" [ "$rc" -eq 3 ]
}
task 0 USR1
check "a task near its time limit is requeued, alone" [ "$(cat "$scratch/scontrol.words")" = 'requeue 41_1' ]
rm "$scratch/scontrol.words"
task 1 TERM
check "its next turn continues: $(cat "$scratch/out")" grep -qx '  resumed   1 run continued from its checkpoint' "$scratch/out"
check "a task that Slurm ends is not requeued" test ! -e "$scratch/scontrol.words"
task 100 USR1
check "the number of turns is bounded" test ! -e "$scratch/scontrol.words"
finish
