#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stopped and killed sweeps, memory limits, and Slurm.
. "$(dirname "$0")/../support/script.sh"

# study NAME BYTES: four runs of that many bytes each, in a separate folder
study() {
  mkdir -p "$scratch/$1"
  cat >"$scratch/$1/study.toml" <<END
base = "paper-gmmu-bypass"
[config]
gpu.sms = 2
workload.name = "stream"
workload.stream.bytes = "$2"
[sweep]
output = "out"
seeds = 4
END
}
children_of() { pgrep -P "$1"; }

# Runs of minutes. A signal saves the active ones, and the table equals that of a sweep that never started them.
study stopped 1GiB
for signal in TERM INT HUP; do
  rm -rf "$scratch/stopped/out"
  "$farfault" sweep "$scratch/stopped/study.toml" --jobs 2 --progress off >"$scratch/out" 2>"$scratch/err" &
  running=$!
  while [ "$(compgen -G "$scratch/stopped/out/runs/*.partial" | wc -l)" -lt 2 ]; do
    kill -0 "$running" 2>/dev/null || break
    sleep 0.02
  done
  children=$(children_of "$running")
  check "SIG$signal: two runs at a time" test "$(wc -w <<<"$children")" -eq 2
  kill -s "$signal" "$running"
  wait "$running"
  rc=$?
  check "SIG$signal: exit code 3, not $rc" test "$rc" -eq 3
  check "SIG$signal: one sentence, not '$(cat "$scratch/err")'" \
    test "$(cat "$scratch/err")" = "farfault: stopped by SIG$signal, 2 runs saved; rerun this command to execute the missing runs"
  check "SIG$signal: two checkpoints with their unfinished results, and no other file: $(ls "$scratch/stopped/out/runs")" \
    test "$(cd "$scratch/stopped/out/runs" && printf '%s ' * | sed 's/[0-9a-f]\{16\}//g')" = \
    ".checkpoint .h5.partial .checkpoint .h5.partial "
  check "SIG$signal: all runs are missing in the table" test "$(grep -c ,missing, "$scratch/stopped/out/sweep.csv")" -eq 4
  for child in $children; do check "SIG$signal: no run continues" eval '! kill -0 "$child" 2>/dev/null'; done
done

# A killed sweep takes its runs with it.
rm -rf "$scratch/stopped/out"
"$farfault" sweep "$scratch/stopped/study.toml" --jobs 2 --progress off >/dev/null 2>&1 &
running=$!
while [ "$(compgen -G "$scratch/stopped/out/runs/*.partial" | wc -l)" -lt 2 ]; do
  kill -0 "$running" 2>/dev/null || break
  sleep 0.02
done
children=$(children_of "$running")
kill -KILL "$running"
wait "$running" 2>/dev/null
for child in $children; do
  for _ in $(seq 500); do kill -0 "$child" 2>/dev/null && sleep 0.02 || break; done
  check "a killed sweep leaves no run" eval '! kill -0 "$child" 2>/dev/null'
done

# A killed sweep leaves the logs of its runs, which continue. The next sweep removes the logs, except of runs in
# progress.
study logs 16KiB
logs=("$farfault" sweep "$scratch/logs/study.toml" --jobs 1 --progress off)
"${logs[@]}" >/dev/null || fail "a sweep of small runs"
for result in "$scratch"/logs/out/runs/*.h5; do echo "farfault: a remark" >"${result%.h5}.log"; done
"${logs[@]}" --part 1/4 >/dev/null
check "a part removes the log of its completed run" [ "$(find "$scratch/logs/out/runs" -name '*.log' | wc -l)" -eq 3 ]
rm "$(find "$scratch/logs/out/runs" -name '*.h5' | head -1)"
"${logs[@]}" >"$scratch/out"
check "the logs of completed runs are removed: $(ls "$scratch/logs/out/runs")" \
  test -z "$(find "$scratch/logs/out/runs" -type f -not -name '*.h5')"

# A killed run is a failed row; the sweep continues.
study killed 64MiB
"$farfault" sweep "$scratch/killed/study.toml" --jobs 1 --progress off >"$scratch/out" 2>"$scratch/err" &
running=$!
while ! compgen -G "$scratch/killed/out/runs/*.partial" >/dev/null; do
  kill -0 "$running" 2>/dev/null || break
  sleep 0.02
done
kill -KILL "$(children_of "$running")"
while ! compgen -G "$scratch/killed/out/runs/*.failed" >/dev/null; do
  kill -0 "$running" 2>/dev/null || break
  sleep 0.02
done
kill -TERM "$running"
wait "$running"
check "a killed run is reported" grep -q "^farfault: run 0 (run.seed = 1) has failed: killed by SIGKILL" "$scratch/err"
check "a killed run is a row" grep -q '^0,failed,killed by SIGKILL' "$scratch/killed/out/sweep.csv"

# Two sweeps in one folder: the second is refused immediately, and the first continues. The lock is released with its
# process.
study shared 1GiB
shared=("$farfault" sweep "$scratch/shared/study.toml" --jobs 1 --progress off)
"${shared[@]}" >"$scratch/out" 2>"$scratch/err" &
running=$!
while ! compgen -G "$scratch/shared/out/runs/*.partial" >/dev/null; do
  kill -0 "$running" 2>/dev/null || break
  sleep 0.02
done
at_work="farfault: another farfault sweep is running in '$scratch/shared/out' (process $running on $(hostname));"
for more in '' --part=1/2 --collect --slurm; do
  "${shared[@]}" ${more:+"$more"} >"$scratch/second.out" 2>"$scratch/second"
  check "a second sweep ($more) is rejected: exit code 2, not $?" test $? -eq 2
  check "with one sentence: $(cat "$scratch/second")" \
    test "$(cat "$scratch/second")" = "$at_work rerun this command afterwards" -a ! -s "$scratch/second.out"
done
four_missing="farfault: 4 runs are missing; execute the sweep again without --collect (as a Slurm job: with --slurm)"
"${shared[@]}" --output "$scratch/shared/other" --collect >/dev/null 2>"$scratch/second"
rc=$?
check "a sweep in another folder is accepted: exit code 1 and 4 missing runs, not $rc and $(cat "$scratch/second")" \
  test "$rc" -eq 1 -a "$(cat "$scratch/second")" = "$four_missing"
check "the first one continues" kill -0 "$running"
check "none of its runs fails" test -z "$(compgen -G "$scratch/shared/out/runs/*.failed")"
child=$(children_of "$running")
kill -STOP "$child" # it survives its parent
kill -KILL "$running"
wait "$running" 2>/dev/null
"${shared[@]}" --collect >"$scratch/out" 2>"$scratch/err"
rc=$?
check "after it is killed, another sweep can start: $(cat "$scratch/err")" \
  test "$rc" -eq 1 -a "$(cat "$scratch/err")" = "$four_missing"
kill -CONT "$child"
while kill -0 "$child" 2>/dev/null; do sleep 0.02; done

# Parts can run at the same time, also while results are collected, but not during a whole sweep. A run that belongs to
# two parts is executed by one.
rm -rf "$scratch/shared/out"
"${shared[@]}" --part 1/4 >"$scratch/out" 2>"$scratch/err" &
running=$!
while ! compgen -G "$scratch/shared/out/runs/*.partial" >/dev/null; do
  kill -0 "$running" 2>/dev/null || break
  sleep 0.02
done
"${shared[@]}" >"$scratch/second.out" 2>"$scratch/second"
rc=$?
check "a sweep is rejected while its parts run: $(cat "$scratch/second")" test "$rc" -eq 2 -a "$(cat "$scratch/second")" = \
  "farfault: parts of a sweep are running in '$scratch/shared/out'; rerun this command afterwards"
"${shared[@]}" --collect >/dev/null 2>"$scratch/second"
rc=$?
check "the table can be collected while a part runs: $(cat "$scratch/second")" \
  test "$rc" -eq 1 -a "$(cat "$scratch/second")" = "$four_missing"
"${shared[@]}" --part 1/4 >"$scratch/second.out" 2>"$scratch/second"
rc=$?
check "the same part again gets a message: $(cat "$scratch/second")" test "$rc" -eq 1 -a "$(cat "$scratch/second")" = \
  "farfault: 1 run is in progress in another process; rerun this command when it finishes"
kill -TERM "$running"
wait "$running"
rc=$?
check "a stopped part names the sweep, not its own command: $rc, $(cat "$scratch/err")" test "$rc" -eq 3 -a "$(cat "$scratch/err")" = \
  "farfault: stopped by SIGTERM, 1 run saved; execute the sweep again to submit the missing runs"
for part in 1 2 3 4; do
  "$farfault" sweep "$scratch/shared/study.toml" --set workload.stream.bytes=4MiB --progress off --part "$part/4" \
    >"$scratch/part$part" 2>&1 &
  parts[part]=$!
done
for part in 1 2 3 4; do
  wait "${parts[part]}"
  rc=$?
  check "part $part concurrently with the others: $(cat "$scratch/part$part")" test "$rc" -eq 0
done

# --memory limits each run, and with --total-memory the number of simultaneous runs.
study small 16KiB
small=("$farfault" sweep "$scratch/small/study.toml" --progress off)
"${small[@]}" --memory 24MiB >"$scratch/out" 2>"$scratch/err"
check "a run that needs more than --memory fails: $(head -1 "$scratch/err")" \
  grep -qE 'has failed: .*(memory|limits\.)' "$scratch/err"
check "with enough memory all runs complete" eval '"${small[@]}" --memory 4GiB --total-memory 4GiB >"$scratch/out"'
check "all runs are executed: $(head -1 "$scratch/out")" grep -q '4 runs: 4 completed' "$scratch/out"

# A result that was modified is executed again, whatever the times of its file.
if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
  changes() { # changes a figure in a result, but not its size and time
    touch -r "$1" "$scratch/time"
    /usr/bin/python3 -c 'import h5py, sys
with h5py.File(sys.argv[1], "r+") as f: f["summary/machine/end"][...] += 1' "$1"
    touch -r "$scratch/time" "$1"
    "$farfault" inspect "$1" >/dev/null || fail "the changed result is unreadable"
  }
  cp "$scratch/small/out/sweep.csv" "$scratch/before.csv"
  IFS=, read -r -a cells < <(grep '^1,' "$scratch/before.csv")
  result=$scratch/small/out/${cells[3]}
  changes "$result"
  "${small[@]}" --collect >"$scratch/out" 2>"$scratch/err"
  rc=$?
  check "a table with a missing run has exit code 1, not $rc: $(cat "$scratch/err")" \
    test "$rc" -eq 1 -a "$(cat "$scratch/err")" = "farfault: 1 run is missing; execute the sweep again without --collect (as a Slurm job: with --slurm)"
  check "a changed result is reported: $(cat "$scratch/out")" \
    grep -qx '  stale     1 existing result is outdated, modified or incomplete' "$scratch/out"
  check "its row has the reason" grep -q '^1,missing,the existing result was modified after its run,' "$scratch/small/out/sweep.csv"
  rm "$scratch/small/out/sweep.checked" # without records of the results, all are read
  "${small[@]}" >"$scratch/out"
  check "only this run is executed again: $(head -1 "$scratch/out")" grep -q '4 runs: 1 completed, 3 cached' "$scratch/out"
  check "the table is unchanged" cmp -s "$scratch/small/out/sweep.csv" "$scratch/before.csv"
  # A result with the recorded stamp of a valid result is not read.
  changes "$result"
  stamp=$(stat -c '%i %s %.9Y %.9Z' "$result")
  sed -i "/^$(basename "$result" .h5)\t/s/\t.*/\t${stamp//./}/" "$scratch/small/out/sweep.checked"
  "${small[@]}" --collect >"$scratch/out"
  check "a result with a matching time stamp is not read: $(head -1 "$scratch/out")" grep -q '4 runs: 0 completed, 4 cached' "$scratch/out"
  rm "$scratch/small/out/sweep.checked"
  "${small[@]}" >"$scratch/out"
  cmp -s "$scratch/small/out/sweep.csv" "$scratch/before.csv" || fail "the table is unchanged before the next test"
else
  echo "skipped: python3-h5py is missing, no result is changed"
fi

# An array job: a substitute for sbatch runs the script like Slurm, one part after the other.
mkdir "$scratch/bin"
cat >"$scratch/bin/sbatch" <<'END'
#!/bin/bash
script=$(realpath "${!#}") # relative to the folder of the submission
while [[ $1 == --* ]]; do
  case $1 in
    --chdir=*) cd "${1#*=}" || exit ;;
    --dependency=*) echo "$1" >>"$SUBMITTED" ;;
  esac
  shift
done
echo "$1" >>"$SUBMITTED"
parts=$(sed -n 's/^#SBATCH --array=1-//p' "$script")
for part in $(seq "${parts:-1}"); do SLURM_ARRAY_TASK_ID=$part bash "$script" >>"$SUBMITTED.log" 2>&1 || exit; done
echo 41
END
chmod +x "$scratch/bin/sbatch"
export SUBMITTED=$scratch/submitted
study slurm 16KiB
printf '[sweep.slurm]\nparts = 3\noptions = ["--partition=long", "--time=10"]\n' >>"$scratch/slurm/study.toml"
(cd "$scratch/slurm" && "$farfault" sweep study.toml --slurm --dry-run) >"$scratch/out"
check "a dry run submits no job" test ! -e "$scratch/slurm/out" -a ! -e "$SUBMITTED"
check "a dry run prints the parts" grep -q 'array job of 3 parts' "$scratch/out"
check "a dry run prints the time of the largest part: $(cat "$scratch/out")" \
  grep -qE '^  part      .* for 2 runs, 1 at a time$' "$scratch/out"
(cd "$scratch/slurm" && PATH=$scratch/bin:$PATH "$farfault" sweep study.toml --slurm --jobs 2) >"$scratch/out" 2>&1
rc=$?
check "the array job is submitted: $(cat "$scratch/out")" test "$rc" -eq 0
check "the table waits for it" grep -q -e '--dependency=afterany:41' "$SUBMITTED"
check "the submission is printed" grep -q 'submitted job 41; job 41 writes the table' "$scratch/out"
check "the study's options are printed before that: $(cat "$scratch/out")" test "$(grep -nE '^  (options|submitted) ' "$scratch/out" |
  head -1)" = "3:  options   --partition=long --time=10 (from the study)"
check "options of the sweep follow" test "$(grep -n '^#SBATCH' "$scratch/slurm/out/sweep.sbatch" | head -3 | tail -1)" = \
  '5:#SBATCH --job-name=sweep'
for line in '#SBATCH --array=1-3' '#SBATCH --cpus-per-task=2' '#SBATCH --partition=long' '#SBATCH --time=10' \
  '#SBATCH --signal=B:USR1@120' '#SBATCH --requeue'; do
  check "the script has $line" grep -qxe "$line" "$scratch/slurm/out/sweep.sbatch"
done
check "its parts completed all runs" test "$(grep -c ,done, "$scratch/slurm/out/sweep.csv")" -eq 4
check "the table equals that of one process" cmp -s "$scratch/slurm/out/sweep.csv" "$scratch/small/out/sweep.csv"
# A folder with the name of an sbatch option.
cat >"$scratch/bin/sbatch" <<'END'
#!/bin/sh
for word in "$@"; do echo "$word"; done >>"$SUBMITTED.words"
echo 41
END
cp "$scratch/slurm/study.toml" "$scratch/slurm/dash.toml"
(cd "$scratch/slurm" && PATH=$scratch/bin:$PATH "$farfault" sweep dash.toml --slurm --output='--wrap=touch x;') >"$scratch/out" 2>&1
check "an array job for a folder with dashes is submitted: $(cat "$scratch/out")" test $? -eq 0
check "sbatch gets no name that begins with a dash: $(cat "$SUBMITTED.words")" \
  test "$(grep -cvE "^(--parsable|--chdir=$scratch/slurm/|--dependency=afterany:41$|$scratch/slurm/)" "$SUBMITTED.words")" -eq 0
check "the program gets none either" grep -q -e "--output '$scratch/slurm/--wrap=touch x;'" "$scratch/slurm/--wrap=touch x;/sweep.sbatch"
printf '#!/bin/sh\necho "sbatch: error: invalid partition" >&2\nexit 1\n' >"$scratch/bin/sbatch"
(cd "$scratch/slurm" && PATH=$scratch/bin:$PATH "$farfault" sweep study.toml --slurm) >"$scratch/out" 2>"$scratch/err"
check "if no run is missing, no job is submitted" test $? -eq 0
check "with a message" grep -qx '  submitted no: all results are cached' "$scratch/out"
check "with the table" grep -q '^  table     ' "$scratch/out"
(cd "$scratch/slurm" && PATH=$scratch/bin:$PATH "$farfault" sweep study.toml --slurm --output other) >"$scratch/out" 2>"$scratch/err"
check "a job rejected by sbatch is a failure" test $? -eq 1
check "with its reason" grep -qx 'farfault: sbatch rejected the job: sbatch: error: invalid partition' "$scratch/err"
finish
