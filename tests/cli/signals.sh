#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run that is stopped by a signal: its exit code, the files that it writes, and the files that must remain unchanged.
. "$(dirname "$0")/../support/script.sh"

# Runs of minutes that never complete. Scripts wait for states of these runs, never for a time.
run=("$farfault" run paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=1GiB --threads 1
  --progress off)
result=$scratch/run.h5 saved=$scratch/run.checkpoint

earlier=$scratch/earlier.h5
"$farfault" run paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=16KiB --threads 1 --progress off \
  --output "$earlier" >/dev/null || fail "the earlier run"

# starts WORD ...: starts the run in the background, in place of an earlier result; returns when signals reach it
starts() {
  rm -f "$result"* "$saved"*
  cp "$earlier" "$result"
  "$@" --output "$result" >"$scratch/out" 2>"$scratch/err" &
  running=$!
  wait_for "$result.partial"
}
wait_for() { # FILE
  while [ ! -e "$1" ]; do
    kill -0 "$running" 2>/dev/null || break
    sleep 0.02
  done
}
# ends WHAT CODE PATTERN: checks how the run ended
ends() {
  local rc
  wait "$running"
  rc=$?
  check "$1: exit code $2, not $rc" [ "$rc" -eq "$2" ]
  check "$1: one sentence with '$3', not '$(cat "$scratch/err")'" \
    test "$(grep -c . "$scratch/err")" -eq 1 -a "$(grep -cE "$3" "$scratch/err")" -eq 1
  check "$1: the earlier result is unchanged" cmp -s "$earlier" "$result"
  check "$1: the partial result is readable" eval '"$farfault" inspect "$result.partial" >/dev/null'
}

for signal in TERM INT HUP USR1; do
  starts "${run[@]}"
  kill -s "$signal" "$running"
  ends "SIG$signal without a checkpoint" 1 \
    "^farfault: stopped by SIG$signal at .* without a checkpoint; '$result' is unchanged\$"
  check "SIG$signal without a checkpoint: the summary names the file" grep -q "result  *$result.partial\$" "$scratch/out"

  starts "${run[@]}" --checkpoint "$saved"
  kill -s "$signal" "$running"
  ends "SIG$signal with a checkpoint" 3 \
    "^farfault: stopped by SIG$signal at .* and saved; to continue $result.partial, run the same command with --resume $saved\$"
  check "SIG$signal with a checkpoint: it is complete" eval '"$farfault" inspect "$saved" >/dev/null'
  check "SIG$signal with a checkpoint: no temporary file is left" test ! -e "$saved.writing" -a ! -e "$saved.lock"
done

# The JSON summary.
summary=$scratch/run.json
starts "${run[@]}" --summary-json "$summary" --checkpoint "$saved"
check "the summary of an unfinished run has end_reason running" grep -q '"end_reason":"running","exit_code":null,' "$summary"
kill -s USR1 "$running"
ends "a stop with a summary" 3 "stopped by SIGUSR1 at .* and saved"
check "the summary of a stop with a checkpoint, not '$(cat "$summary")'" grep -qE \
  '"end_reason":"stopped","exit_code":3,"errors":\[\],"signal":"SIGUSR1","end_time_ps":[1-9][0-9]*,' "$summary"
check "the summary names the files of a stop" grep -qF \
  "\"result\":\"$result.partial\",\"result_digest\":null,\"checkpoint\":\"$saved\"," "$summary"
starts "${run[@]}" --summary-json "$summary"
kill -s TERM "$running"
ends "a stop with a summary and no checkpoint" 1 "stopped by SIGTERM at .* without a checkpoint"
check "the summary of a stop without a checkpoint, not '$(cat "$summary")'" grep -qE \
  '"end_reason":"stopped","exit_code":1,"errors":\["stopped by SIGTERM at .*"\],"signal":"SIGTERM",' "$summary"

# nohup ignores SIGHUP: the next signal stops the run.
starts bash -c 'trap "" HUP; exec "$@"' - "${run[@]}"
kill -s HUP "$running"
kill -s TERM "$running"
ends "SIGHUP under nohup" 1 "stopped by SIGTERM"

# Links of a job chain: all have the same command line.
chain=("${run[@]}" --checkpoint "$saved" --resume "$saved")
starts "${chain[@]}"
check "the first job of a chain reports that it starts from the beginning" \
  grep -qx "farfault: no checkpoint $saved yet: the run starts from the beginning" "$scratch/err"
kill -s TERM "$running"
wait "$running"
check "the first job of a chain ends with exit code 3" [ $? -eq 3 ]
before=$(stat -c %i "$result.partial")
"${chain[@]}" --output "$result" >"$scratch/out" 2>"$scratch/err" &
running=$!
while [ "$(stat -c %i "$result.partial")" = "$before" ]; do # the resumed run writes a new file
  kill -0 "$running" 2>/dev/null || break
  sleep 0.02
done
kill -s TERM "$running"
ends "a later job of a chain" 3 "stopped by SIGTERM at .* and saved; to continue $result.partial, run the same command again\$"

# A checkpoint that can no longer be written: the exit code of a failure, and no false message.
mkdir "$scratch/folder"
starts "${run[@]}" --checkpoint "$scratch/folder/c"
rm -r "$scratch/folder"
kill -s TERM "$running"
ends "a checkpoint without a folder" 1 \
  "^farfault: checkpoint $scratch/folder/c cannot be written: No such file or directory; the run was stopped by SIGTERM at .* without a checkpoint\$"

# Two runs on one checkpoint.
starts "${run[@]}" --checkpoint "$saved"
"${run[@]}" --output "$scratch/other.h5" --checkpoint "$saved" >"$scratch/out2" 2>"$scratch/err2"
check "a second run on one checkpoint is refused" [ $? -eq 2 ]
check "a second run on one checkpoint gets a message" \
  [ "$(cat "$scratch/err2")" = "farfault: cannot write '$saved': another run is writing it" ]
check "a second run on one checkpoint leaves no file" test ! -e "$scratch/other.h5.partial"
kill -s TERM "$running"
ends "the first of two runs on one checkpoint" 3 "and saved"

# Ranks: only rank 0 returns the code. The signal is sent to one of them.
if have_ranks; then
  stopped_ranks() { # WHAT CODE PATTERN WORD ...
    local what=$1 code=$2 pattern=$3 ranks
    shift 3
    # The exit code of each rank, which mpirun does not report.
    starts mpirun --quiet -n 2 bash -c '"$@"; echo $? >"$CODES.$OMPI_COMM_WORLD_RANK"' - "${run[@]}" "$@"
    mapfile -t ranks < <(pgrep -f "^$farfault run .*--output $result\$")
    kill -s USR1 "${ranks[1]}"
    wait "$running"
    check "$what: codes $code and 0, not $(cat "$CODES.0") and $(cat "$CODES.1")" \
      test "$(cat "$CODES.0")" -eq "$code" -a "$(cat "$CODES.1")" -eq 0
    check "$what: one sentence with '$pattern', not '$(cat "$scratch/err")'" \
      test "$(grep -c . "$scratch/err")" -eq 1 -a "$(grep -cE "$pattern" "$scratch/err")" -eq 1
    check "$what: the earlier result is unchanged" cmp -s "$earlier" "$result"
  }
  export CODES=$scratch/code
  stopped_ranks "two ranks with a checkpoint" 3 "stopped by SIGUSR1 at .* and saved" --checkpoint "$saved"
  stopped_ranks "two ranks without a checkpoint" 1 "stopped by SIGUSR1 at .* without a checkpoint"
fi

# A signal during the construction of the model, which takes long here.
early=("$farfault" run paper-gmmu-bypass --set workload.name=bfs --set workload.bfs.rmat.scale=22 --threads 1
  --progress off --output "$result" --checkpoint "$saved")
stopped_early() { # WHAT CODE WORD ...
  local what=$1 code=$2 rc
  shift 2
  rm -f "$result"* "$saved"*
  "${early[@]}" "$@" >"$scratch/out" 2>"$scratch/err" &
  running=$!
  wait_for "$saved.lock"
  kill -s TERM "$running"
  wait "$running"
  rc=$?
  check "$what: exit code $code, not $rc" [ "$rc" -eq "$code" ]
  check "$what: one sentence, not '$(cat "$scratch/err")'" \
    [ "$(grep -v 'starts from the beginning' "$scratch/err")" = "farfault: stopped by a signal before the run started" ]
}
stopped_early "a signal before the run began" 1
stopped_early "a signal before the first job of a chain began" 3 --resume "$saved"

# Samples that are more frequent than events: the last sample is later than the last event.
starts "$farfault" run paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=16KiB --threads 1 \
  --progress off --set run.sample_interval=1ns --set host.launch_latency=1s
while [ "$(stat -c %s "$result.partial")" -lt 100000 ]; do # the first samples are written
  kill -0 "$running" 2>/dev/null || break
  sleep 0.02
done
kill -s TERM "$running"
ends "a run of many samples per event" 1 "^farfault: .*stopped by SIGTERM at .* without a checkpoint"
finish
