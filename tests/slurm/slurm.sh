#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The batch scripts of bench/slurm in a real Slurm, which this script starts. Two lines of each template are edited, as
# a user would. Results equal the results of runs outside Slurm, however often a job is preempted. Also sweeps that submit
# themselves, with a run that takes three jobs.
. "$(dirname "$0")/../support/script.sh"
. "$source_dir/tests/slurm/cluster.bash"
why=$(missing_for_cluster)
[ -z "$why" ] || { echo "skipped: $why"; exit 77; }
have_ranks || { echo "skipped: the program has no MPI"; exit 77; }

trap 'stop_cluster; rm -rf "$scratch"' EXIT
if ! start_cluster "$scratch"; then
  echo "Slurm's daemons do not come up"
  show_logs
  exit 1
fi
export FARFAULT=$farfault
mkdir "$scratch/user" && cd "$scratch/user" || exit

small=(paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=2MiB)
# Several seconds on one core: long enough to be stopped twice.
long=(paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=512MiB)

# outside NAME WORD ...: the digest of a run outside Slurm
outside() {
  local name=$1
  shift
  "$farfault" run "$@" --threads 1 --progress off --output "$scratch/$name.h5" >/dev/null || fail "the run outside Slurm: $name"
  digest_of "$scratch/$name.h5"
}
# edited TEMPLATE LINE: the template with a partition of this cluster, and LINE instead of the other line marked EDIT
edited() {
  sed "/^# EDIT/{n;s/=standard/=batch/;/^#/!s|.*|$2|}" "$source_dir/bench/slurm/$1" >"$1"
  check "$1: two lines are changed" [ "$(diff "$source_dir/bench/slurm/$1" "$1" | grep -c '^>')" -eq 2 ]
}
# submit OPTION ... SCRIPT: prints the job's number
submit() { sbatch --parsable "$@"; }
is_in_state() { [ "$(job_state "$1")" = "$2" ]; }
is_over() { [[ $(job_state "$1") =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY|BOOT_FAIL)$ ]]; }
completes() { # WHAT ID
  wait_until 600 is_over "$2"  # ranks are slow if others use the cores, too
  check "$1: the job completes, not $(job_state "$2") with $(job_field "$2" ExitCode)" is_in_state "$2" COMPLETED
}
same_result() { # WHAT FILE DIGEST
  check "$1: the digest equals that of a run outside Slurm" [ "$(digest_of "$2")" = "$3" ]
}
plain_log() { # WHAT FILE PATTERN
  check "$1: the log has '$3', not '$(cat "$2")'" grep -qE "$3" "$2"
  check "$1: the log has no control characters" [ "$(LC_ALL=C tr -d '\n -~' <"$2" | wc -c)" -eq 0 ]
}

small_digest=$(outside small "${small[@]}")

edited one.sbatch "configuration=(${small[*]})"
id=$(submit one.sbatch)
completes "one run" "$id"
same_result "one run" "results/farfault-$id.h5" "$small_digest"
plain_log "one run" "farfault-$id.log" '1 rank of 4 threads'

edited mpi.sbatch "configuration=(${small[*]})"
id=$(submit --cpus-per-task=1 mpi.sbatch)
completes "two ranks" "$id"
same_result "two ranks" "results/farfault-$id.h5" "$small_digest"
plain_log "two ranks" "farfault-$id.log" '2 ranks of 1 thread$'

cat >list.txt <<END
# three runs

few   ${small[*]} --set gpu.l2_tlb.entries=256
same  ${small[*]}
late  ${small[*]} --until 20us
END
edited array.sbatch "list=list.txt"
id=$(submit --array=1-4 array.sbatch)
for task in 1 2 3; do completes "task $task of an array" "${id}_$task"; done
same_result "the first of an array" results/few.h5 "$(outside few "${small[@]}" --set gpu.l2_tlb.entries=256)"
same_result "the second of an array" results/same.h5 "$small_digest"
same_result "the third of an array" results/late.h5 "$(outside late "${small[@]}" --until 20us)"
wait_until 60 is_over "${id}_4"
check "a task without a run fails" is_in_state "${id}_4" FAILED
check "a task without a run reports the number of runs" \
  grep -qx 'array.sbatch: list.txt has 3 runs, but no run 4: use sbatch --array=1-3' "farfault-${id}_4.log"

# A sweep of four points in three tasks; the first task has two. The table is written when all have ended.
cat >study.toml <<END
base = "paper-gmmu-bypass"
[config]
workload.name = "stream"
workload.stream.bytes = "2MiB"
[sweep]
output = "swept"
[sweep.grid]
gpu.l2_tlb.entries = [256, 512]
memory.placement = ["interleave", "contiguous"]
[sweep.slurm]
parts = 3
options = ["--partition=batch", "--time=10"]
END
"$farfault" sweep study.toml --slurm --memory 8GiB >swept.out 2>&1
check "a sweep is submitted: $(cat swept.out)" grep -qE '^  submitted job [0-9]+; job [0-9]+ writes the table' swept.out
read -r id collector <<<"$(sed -nE 's/^  submitted job ([0-9]+); job ([0-9]+) .*/\1 \2/p' swept.out)"
completes "the table of a sweep" "$collector"
for task in 1 2 3; do check "task $task of a sweep completes" is_in_state "${id}_$task" COMPLETED; done
plain_log "a sweep's first task" "swept/slurm-${id}_1.log" '^  2 runs: 2 completed, 0 cached, 0 failed, 0 missing$'
plain_log "a sweep's last task" "swept/slurm-${id}_3.log" '^  1 run: 1 completed, 0 cached, 0 failed, 0 missing$'
plain_log "a sweep's table" "swept/slurm-$collector.log" '^  4 runs: 0 completed, 4 cached, 0 failed, 0 missing$'
check "the same study runs without Slurm" "$farfault" sweep study.toml --output outside --progress off >/dev/null
check "the table has four digests" [ "$(cut -d, -f5 outside/sweep.csv | grep -cE '^[0-9a-f]{32}$')" -eq 4 ]
for table in sweep.csv sweep.h5; do check "a sweep's $table equals that of the sweep outside Slurm" cmp -s "swept/$table" "outside/$table"; done

# A requeued job stays in the queue for two minutes. The test waits until its last run has ended completely, and then
# starts it early. Slurm distinguishes runs by their start in seconds, so the next run must not start in the same
# second. A preempted job is PENDING, and its processes can have ended, before Slurm counts its restart.
turn_is_over() { # ID TURNS
  is_in_state "$1" PENDING && [ "$(job_field "$1" Restarts)" = "$2" ] && [ -z "$(compgen -G "$scratch/spool/*.$1.*")" ]
}
no_wait() { # WHAT ID TURNS
  wait_until 60 turn_is_over "$2" "$3" ||
    abandon "$1: the job is not requeued for the $3. time, but $(job_state "$2") after $(job_field "$2" Restarts)" "$2" || return
  scontrol update JobId="$2" StartTime=now+3seconds
}
# The remaining steps would fail as well.
abandon() { # WHAT ID
  fail "$1"
  scancel "$2"
  return 1
}
# It has processed events when its output file has been opened again.
file_number() { stat -c %i "$1" 2>/dev/null || echo 0; }
has_begun() { is_in_state "$1" RUNNING && [ "$(file_number "$2")" != "$3" ]; }

# chain WHAT NAME OPTION ...
chain() {
  local what=$1 name=$2 id before urgent
  shift 2
  local partial=results/$name.h5.partial
  id=$(submit --job-name="$name" --cpus-per-task=1 "$@" chain.sbatch)
  wait_until 60 has_begun "$id" "$partial" 0 || abandon "$what starts" "$id" || return
  before=$(file_number "$partial")
  scancel --batch --signal=USR1 "$id"  # as Slurm does near the time limit
  no_wait "$what, near its time limit" "$id" 1 || return
  wait_until 60 has_begun "$id" "$partial" "$before" || abandon "$what continues" "$id" || return
  urgent=$(submit --partition=urgent --exclusive --job-name=urgent --cpus-per-task=1 mpi.sbatch)
  no_wait "$what, preempted by an urgent job" "$id" 2 || return
  completes "$what: the first job" "$urgent"
  same_result "$what: the first job" "results/urgent-$urgent.h5" "$small_digest"
  completes "$what" "$id"
  same_result "$what" "results/$name.h5" "$long_digest"
  check "$what: no difference from the run outside Slurm" grep -q 'are equal' \
    <("$farfault" diff "$scratch/long.h5" "results/$name.h5")
  plain_log "$what" "$name-$id.log" 'stopped by SIGUSR1 at .* and saved; to continue .*, run the same command again'
  check "$what: one job starts from the beginning" [ "$(grep -c 'starts from the beginning' "$name-$id.log")" -eq 1 ]
  check "$what: two jobs end with a checkpoint" [ "$(grep -c 'and saved' "$name-$id.log")" -eq 2 ]
  check "$what: the summary for scripts" grep -q "\"end_reason\":\"completed\",.*\"result_digest\":\"$long_digest\"" \
    "results/$name.json"
}
long_digest=$(outside long "${long[@]}")
edited chain.sbatch "configuration=(${long[*]})"
chain "a chain of one process" single --ntasks=1
chain "a chain of two ranks" ranks --ntasks=2

# Sweeps of a short run and of a long one, which takes three times as long as its job. Slurm checks jobs every 30 s, so a job
# of one minute receives the signal 20 s before its limit after at most 40 s.
milliseconds_of() { # PASSES
  local from
  from=$(date +%s%N)
  "$farfault" run "${passes_of[@]}" --set "workload.stream.passes=$1" --threads 1 --progress off --output "$scratch/timed.h5" \
    >/dev/null || fail "the timed run"
  echo $((($(date +%s%N) - from) / 1000000))
}
passes_of=(paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=4MiB)
few=$(milliseconds_of 1) more=$(milliseconds_of 41)
passes=$((120000 * 40 / (more > few ? more - few : 1)))
long_study() { # NAME PASSES OPTIONS
  cat >"$1.toml" <<END
base = "paper-gmmu-bypass"
[config]
workload.name = "stream"
workload.stream.bytes = "4MiB"
[sweep]
output = "$1"
[sweep.grid]
workload.stream.passes = [1, $2]
[sweep.slurm]
parts = 2
options = ["--partition=batch", $3]
END
}
# submit_sweep NAME: sets id and collector
submit_sweep() {
  "$farfault" sweep "$1.toml" --slurm --memory 8GiB >"$1.out" 2>&1 || fail "the sweep $1 is submitted: $(cat "$1.out")"
  read -r id collector <<<"$(sed -nE 's/^  submitted job ([0-9]+); job ([0-9]+) .*/\1 \2/p' "$1.out")"
}
saved_in() { find "$1/runs" -name '*.checkpoint' | wc -l; }
same_table() { # WHAT NAME: as the sweep outside Slurm
  local table
  for table in sweep.csv sweep.h5; do check "$1: $table equals that of the sweep outside Slurm" cmp -s "$2/$table" "$2-outside/$table"; done
  check "$1: no checkpoint is left" [ -z "$(find "$2/runs" -type f -not -name '*.h5')" ]
}

long_study longer "$passes" '"--time=1", "--signal=B:USR1@20"'
"$farfault" sweep longer.toml --output longer-outside --jobs 1 --progress off >/dev/null 2>&1 &
reference=$!
submit_sweep longer
wait_until 60 is_in_state "${id}_2" RUNNING || fail "the long part starts, not $(job_state "${id}_2")"
number=$(job_field "${id}_2" JobId) turns=0 limit=$((SECONDS + 900))
part_waits() {
  is_in_state "${id}_2" PENDING && [ "$(job_field "${id}_2" Restarts)" = $((turns + 1)) ] &&
    [ -z "$(compgen -G "$scratch/spool/*.$number.*")" ]
}
until is_over "${id}_2" || [ "$SECONDS" -gt "$limit" ]; do
  if part_waits; then
    turns=$((turns + 1))
    check "turn $turns of a long part leaves a checkpoint" [ "$(saved_in longer)" -eq 1 ]
    scontrol update JobId="${id}_2" StartTime=now+3seconds
  fi
  sleep 0.3
done
completes "a part with a run that is longer than its job" "${id}_2"
completes "the table of a sweep with a long run" "$collector"
check "a run that is longer than its job takes three turns, not $((turns + 1))" [ "$turns" -ge 2 ]
log=longer/slurm-${id}_2.log
plain_log "a long part" "$log" '^  1 run: 1 completed, 0 cached, 0 failed, 0 missing$'
check "each turn but the last saves the run" [ "$(grep -c '^farfault: stopped by SIGUSR1, 1 run saved; ' "$log")" -eq "$turns" ]
check "each turn but the first resumes it" [ "$(grep -cx '  resumed   1 run continued from its checkpoint' "$log")" -eq "$turns" ]
check "the sweep outside Slurm completes" wait "$reference"
same_table "a long run" longer

# A cancelled sweep continues when it is submitted again.
long_study cancelled $((passes / 8)) '"--time=10"'
"$farfault" sweep cancelled.toml --output cancelled-outside --progress off >/dev/null 2>&1 || fail "the sweep outside Slurm"
submit_sweep cancelled
wait_until 60 is_in_state "${id}_1" COMPLETED || fail "the short part completes, not $(job_state "${id}_1")"
unfinished() { compgen -G 'cancelled/runs/*.h5.partial' >/dev/null; }
wait_until 60 unfinished || fail "the long part begins"
scancel "$id"
wait_until 60 is_over "${id}_2"
check "the long part is cancelled, not $(job_state "${id}_2")" is_in_state "${id}_2" CANCELLED
check "a cancelled part leaves a checkpoint: $(ls cancelled/runs)" [ "$(saved_in cancelled)" -eq 1 ]
wait_until 60 is_over "$collector"
plain_log "the table of a cancelled sweep" "cancelled/slurm-$collector.log" '^  saved     1 unfinished run has a checkpoint$'
submit_sweep cancelled
check "the submission states the checkpoint: $(cat cancelled.out)" grep -qx '  saved     1 unfinished run has a checkpoint' cancelled.out
completes "the table of a cancelled sweep, submitted again" "$collector"
plain_log "the part of a cancelled sweep" "cancelled/slurm-${id}_2.log" '^  resumed   1 run continued from its checkpoint$'
same_table "a cancelled sweep" cancelled

[[ " ${failures[*]} " == *" 1 "* ]] && show_logs
stop_cluster
check "no daemon of Slurm is left" [ -z "$(jobs -rp)" ]
finish
