#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs and sweeps that are watched in progress. Scripts wait for states of these runs, never for a time.
. "$(dirname "$0")/../support/script.sh"
export LC_ALL=C

# A run of minutes that never completes.
result=$scratch/run.h5
run=("$farfault" run paper-gmmu-bypass --set workload.name=stream --set gpu.sms=8 --threads 1 --progress off)
"${run[@]}" --set workload.stream.bytes=1GiB --output "$result" >/dev/null 2>"$scratch/err" &
running=$!
wait_until() { # COMMAND ...: until it succeeds, or the run has ended
  while ! "$@"; do
    kill -0 "$running" 2>/dev/null || return 1
    sleep 0.05
  done
}
wait_until test -e "$result.partial"
check "a run without any samples is shown" eval '"$farfault" watch "$result" --once >"$scratch/frame" 2>&1'
check "one frame has the progress: $(cat "$scratch/frame")" grep -qE '\] [0-9]+%, .* simulated' "$scratch/frame"
check "as running: $(head -1 "$scratch/frame")" grep -qx "$result: running" "$scratch/frame"
check "--once leaves no mark" test ! -e "$result.watch"

"$farfault" watch "$result.partial" --every 0.2 >"$scratch/frames" 2>"$scratch/watch.err" &
watching=$!
check "samples arrive while it is watched" wait_until grep -q ' simulated' "$scratch/frames"
check "and curves: $(tail -1 "$scratch/frames")" wait_until grep -qE '^  warp instructions per ns +[0-9].*  [0-9]+$' "$scratch/frames"
samples() { sed -nE 's/.* ([0-9]+) samples$/\1/p' "$scratch/frames" | tail -1; }
first=$(samples)
more() { [ "$(samples)" -gt "$first" ]; }
check "more samples arrive" wait_until more
check "watching creates a mark" test -e "$result.watch"
check "a frame has the remaining time: $(grep simulated "$scratch/frames" | tail -1)" \
  wait_until grep -qE '\] [0-9]+%, [0-9:]+ left, .* simulated, .* per second$' "$scratch/frames"
kill -INT "$watching"
wait "$watching"
check "Ctrl-C ends watching with exit code 0" test $? -eq 0
check "without a message: $(cat "$scratch/watch.err")" test ! -s "$scratch/watch.err"
check "and removes the mark" test ! -e "$result.watch"
check "the run continues" kill -0 "$running"
kill -KILL "$running"
wait "$running" 2>/dev/null
"$farfault" watch "$result" --once >"$scratch/frame"
check "a killed run is distinguished from a running one: $(head -1 "$scratch/frame")" \
  grep -q "^$result: no process is writing it" "$scratch/frame"
check "with its progress" grep -q ' simulated' "$scratch/frame"

# Watching does not change a result.
small=("${run[@]}" --set workload.stream.bytes=16MiB --set run.sample_interval=1us)
"${small[@]}" --output "$scratch/alone.h5" >/dev/null 2>&1
"${small[@]}" --output "$scratch/watched.h5" >/dev/null 2>&1 &
running=$!
wait_until test -e "$scratch/watched.h5.partial"
"$farfault" watch "$scratch/watched.h5" --every 0.2 >"$scratch/frames" 2>&1
rc=$?
check "watching ends with the run: $(tail -3 "$scratch/frames")" test "$rc" -eq 0
wait "$running"
check "the last frame shows the completed run" grep -q "^$scratch/watched.h5: completed\$" "$scratch/frames"
check "a run that is watched has the same digest" \
  test -n "$(digest_of "$scratch/alone.h5")" -a "$(digest_of "$scratch/watched.h5")" = "$(digest_of "$scratch/alone.h5")"

# A sweep, two runs at a time.
cat >"$scratch/study.toml" <<'END'
base = "paper-gmmu-bypass"
[config]
gpu.sms = 2
workload.name = "stream"
workload.stream.bytes = "1GiB"
[sweep]
output = "out"
seeds = 4
END
"$farfault" sweep "$scratch/study.toml" --jobs 2 --progress off >/dev/null 2>&1 &
running=$!
two_at_work() {
  "$farfault" watch "$scratch/out" --once >"$scratch/frame" 2>/dev/null
  grep -q '0 done, 0 failed, 2 running, 2 pending$' "$scratch/frame"
}
check "watching a sweep prints the number of runs: $(cat "$scratch/frame")" wait_until two_at_work
check "with the runs in progress" test "$(grep -cE '^    run [01] \(run.seed = [12]\): ' "$scratch/frame")" -eq 2
"$farfault" watch "$scratch/out" --every 0.2 >"$scratch/frames" 2>&1 &
watching=$!
check "with their progress" wait_until grep -qE 'run 0 \(run.seed = 1\): .* [um]s$' "$scratch/frames"
kill -TERM "$watching"
wait "$watching"
check "no mark is left" test -z "$(compgen -G "$scratch/out/runs/*.watch")"
kill -TERM "$running" 2>/dev/null
wait "$running"
finish
