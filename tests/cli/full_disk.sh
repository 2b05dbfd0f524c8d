#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A full disk ends a run with one sentence and exit code 1, and leaves an earlier result unchanged.
. "$(dirname "$0")/../support/script.sh"

run=("$farfault" run paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=64KiB --threads 1
  --progress off)
"${run[@]}" --output "$scratch/whole.h5" >/dev/null || fail "the uninterrupted run"
kib=$(($(stat -c %s "$scratch/whole.h5") / 1024)) # size of a complete result
check "a complete result of $kib KiB can exceed the disk in several places" [ "$kib" -ge 40 ]

# ends_in_order WHAT FILE COMMAND ...: COMMAND runs out of space while it writes FILE, which exists
ends_in_order() {
  local what=$1 file=$2 before rc
  shift 2
  : >"$file"  # an empty file, because a disk this small has no space for another
  before=$(cksum "$file")
  # Through pipes, because the limit would also apply to files.
  { "$@" 2>&3 | cat >"$scratch/out"; rc=${PIPESTATUS[0]}; } 3> >(cat >"$scratch/err")
  wait $!
  check "$what: exit code 1, not $rc" [ "$rc" -eq 1 ]
  check "$what: one sentence, not '$(cat "$scratch/err")'" \
    test "$(grep -c . "$scratch/err")" -eq 1 -a "$(grep -c '^farfault: cannot write ' "$scratch/err")" -eq 1
  check "$what: nothing on standard output" test ! -s "$scratch/out"
  check "$what: the earlier result is unchanged" [ "$before" = "$(cksum "$file")" ]
}

limited() { (ulimit -f "$1" && shift && exec "$@"); }
for blocks in 0 1 $((kib / 3)) $((kib * 2 / 3)); do
  ends_in_order "file size limit of $blocks KiB" "$scratch/limited.h5" limited "$blocks" \
    "${run[@]}" --output "$scratch/limited.h5"
done

mkdir "$scratch/disk"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o "size=$((kib / 2))k" tmpfs "$scratch/disk" 2>/dev/null; then
  trap 'umount "$scratch/disk"; rm -rf "$scratch"' EXIT
  ends_in_order "full disk" "$scratch/disk/run.h5" "${run[@]}" --output "$scratch/disk/run.h5"
  rm -f "$scratch"/disk/*
  # The message does not claim that the run continues after a fatal error.
  ends_in_order "full disk of a run with checkpoints" "$scratch/disk/run.h5" "${run[@]}" --output "$scratch/disk/run.h5" \
    --set run.sample_interval=1us --checkpoint "$scratch/checkpoint" --checkpoint-every 1us
  rm -f "$scratch"/disk/*
  # A result is worth more than a trace: the run completes, and exit code 1 reports the missing trace.
  "${run[@]}" --output "$scratch/traced.h5" --trace 0us,1s --trace-sample 1 --trace-output "$scratch/disk/run.pftrace" \
    --summary-json "$scratch/traced.json" >"$scratch/out" 2>"$scratch/err"
  rc=$?
  check "a trace on a full disk: exit code 1, not $rc" [ "$rc" -eq 1 ]
  check "it is reported in one sentence: $(cat "$scratch/err")" \
    test "$(grep -c '^farfault: cannot write .*run.pftrace.*; the trace of this run is lost$' "$scratch/err")" -eq 1
  check "the summary does not mention a trace" [ "$(grep -c ' trace ' "$scratch/out")" -eq 0 ]
  check "the result equals that of the run without a trace" [ "$(digest_of "$scratch/traced.h5")" = "$(digest_of "$scratch/whole.h5")" ]
  check "also in the JSON summary" grep -q "\"result_digest\": *\"$(digest_of "$scratch/whole.h5")\"" "$scratch/traced.json"
  check "no part of the trace is left: $(ls "$scratch/disk")" test -z "$(ls "$scratch/disk")"
  rm -f "$scratch"/disk/*
  # The JSON summary reports the failure even if the disk has no space left.
  for output in "$scratch/disk/run.h5" "$scratch/elsewhere.h5"; do
    : >"$scratch/disk/filler"
    (while [ ! -s "$scratch/disk/s.json" ]; do sleep 0.01; done; head -c 100M /dev/zero >"$scratch/disk/filler" 2>/dev/null) &
    "${run[@]}" --set workload.stream.bytes=1MiB --output "$output" --summary-json "$scratch/disk/s.json" >"$scratch/out" 2>"$scratch/err"
    rc=$?
    wait $!
    check "a summary on a full disk, output '$output': exit code 1, not $rc" [ "$rc" -eq 1 ]
    check "the summary reports the failure: $(cut -c1-300 "$scratch/disk/s.json")" grep -q '"end_reason":"failed","exit_code":1,' \
      "$scratch/disk/s.json"
    check "with the reason: $(cat "$scratch/err")" grep -qF "$(sed -n 's/^farfault: //p' "$scratch/err" | cut -c1-40)" "$scratch/disk/s.json"
    check "the summary is JSON" /usr/bin/python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$scratch/disk/s.json"
    check "no other file is left: $(ls "$scratch/disk")" test ! -e "$scratch/disk/s.json.writing"
    rm -f "$scratch"/disk/*
  done
  # Each row of a sweep has the reason, and incomplete files are removed.
  cat >"$scratch/study.toml" <<END
base = "paper-gmmu-bypass"
config.workload.name = "stream"
config.workload.stream.bytes = "64KiB"
sweep.seeds = 3
END
  sweep=("$farfault" sweep "$scratch/study.toml" --jobs 2 --progress off --output "$scratch/disk/sweep")
  "${sweep[@]}" >"$scratch/out" 2>"$scratch/err"
  rc=$?
  check "a sweep on a full disk: exit code 1, not $rc" [ "$rc" -eq 1 ]
  check "each run reports the reason: $(cat "$scratch/err")" \
    test "$(grep -c '^farfault: run .* has failed: cannot write .*: No space left on device' "$scratch/err")" -eq 3
  check "the table has the reason" test "$(grep -c ',failed,.*cannot write .*: No space left on device' "$scratch/disk/sweep/sweep.csv")" -eq 3
  check "only the messages of the runs are left: $(ls "$scratch/disk/sweep/runs")" \
    test "$(find "$scratch/disk/sweep/runs" -type f | grep -cv '\.failed$')" -eq 0
  head -c "$((kib / 2))k" /dev/zero >"$scratch/disk/filler" 2>/dev/null
  "${sweep[@]}" >"$scratch/out" 2>"$scratch/err"
  check "a disk without a free byte: exit code 1" test $? -eq 1
  check "one sentence per failure: $(cat "$scratch/err")" eval \
    '! grep -qv "^farfault: .*cannot write .*No space left on device" "$scratch/err"'
  check "no partial file is left: $(ls -R "$scratch/disk/sweep")" \
    test -z "$(find "$scratch/disk/sweep" -name '*.partial' -o -name '*.log')"
  rm -rf "$scratch"/disk/*
  have_ranks && ends_in_order "full disk of two ranks" "$scratch/disk/run.h5" \
    mpirun --quiet -n 2 "${run[@]}" --output "$scratch/disk/run.h5"
fi
finish
