#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checkpoints that cannot be written or used: one sentence each, and no loss of valid data.
. "$(dirname "$0")/../support/script.sh"

run=("$farfault" run paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=4MiB --threads 1
  --progress off)
saved=$scratch/run.checkpoint
"${run[@]}" --output "$scratch/whole.h5" >/dev/null || fail "the uninterrupted run"
reference=$(digest_of "$scratch/whole.h5")

# refused WHAT PATTERN WORD ...: exit code 2, one sentence that matches the pattern, and an unchanged earlier result
refused() {
  local what=$1 pattern=$2 rc
  shift 2
  cp "$scratch/whole.h5" "$scratch/earlier.h5"
  "$@" --output "$scratch/earlier.h5" >"$scratch/out" 2>"$scratch/err"
  rc=$?
  check "$what: exit code 2, not $rc" [ "$rc" -eq 2 ]
  check "$what: one sentence with '$pattern', not '$(cat "$scratch/err")'" \
    test "$(grep -c . "$scratch/err")" -eq 1 -a "$(grep -c "$pattern" "$scratch/err")" -eq 1
  check "$what: the earlier result is unchanged" cmp -s "$scratch/whole.h5" "$scratch/earlier.h5"
}

"${run[@]}" --output "$scratch/saved.h5" --checkpoint "$saved" --checkpoint-every 10us >/dev/null
check "two checkpoints are kept" test -e "$saved" -a -e "$saved.previous" -a ! -e "$saved.writing" -a ! -e "$saved.lock"

cp "$saved" "$scratch/good"
mv "$saved.previous" "$scratch/older"
damage() { # OFFSET: changes one byte of the checkpoint
  cp "$scratch/good" "$saved"
  printf '\377\377' | dd of="$saved" bs=1 seek="$1" conv=notrunc status=none
}
places=(0 9 17 30 200 5000 $(($(stat -c %s "$saved") - 2)))
begin="; omit --resume to start the run from the beginning\$"
for place in "${places[@]}"; do
  damage "$place"
  refused "byte $place changed" "checkpoint $saved .*$begin" "${run[@]}" --resume "$saved"
done
for size in 0 7 100 4096; do
  head -c "$size" "$scratch/good" >"$saved"
  refused "cut to $size bytes" "checkpoint $saved .*$begin" "${run[@]}" --resume "$saved"
done
head -c 100 "$scratch/good" >"$saved.previous"
refused "truncated, like the previous one" \
  "checkpoint $saved is damaged: expected .*; checkpoint $saved.previous is damaged: expected .*$begin" "${run[@]}" --resume "$saved"
rm "$saved.previous"
refused "no such file" "checkpoint $scratch/none cannot be read: neither this file nor $scratch/none.previous exists" \
  "${run[@]}" --resume "$scratch/none"
refused "no such file, with another --checkpoint" "checkpoint $scratch/none cannot be read: neither this file" \
  "${run[@]}" --resume "$scratch/none" --checkpoint "$scratch/new"
cp "$scratch/good" "$saved"
refused "another run's" "checkpoint $saved belongs to a different run" "${run[@]}" --set gpu.sms=35 --resume "$saved"
cp "$scratch/older" "$saved.previous"
refused "another run's, with a previous one" "checkpoint $saved belongs to a different run" "${run[@]}" --set gpu.sms=35 \
  --resume "$saved"
"${run[@]}" --output "$scratch/elsewhere.h5" --resume "$saved" >/dev/null 2>"$scratch/err"
rc=$?
check "without the result of its run: exit code 2, not $rc" [ "$rc" -eq 2 ]
check "without the result of its run: the remedy, not '$(cat "$scratch/err")'" grep -qx \
  "farfault: nothing to resume: neither '$scratch/elsewhere.h5.partial' nor '$scratch/elsewhere.h5' exists; a checkpoint .*: copy that file here, or .*" \
  "$scratch/err"

# resumes WHAT SENTENCE WORD ...: the run has the result of an uninterrupted run, and prints where it began
resumes() {
  local what=$1 sentence=$2
  shift 2
  "$@" --output "$scratch/saved.h5" --resume "$saved" >/dev/null 2>"$scratch/err"
  check "$what: the result equals the uninterrupted run's" [ "$(digest_of "$scratch/saved.h5")" = "$reference" ]
  check "$what: '$sentence', not '$(cat "$scratch/err")'" \
    test "$(grep -c . "$scratch/err")" -eq 1 -a "$(grep -c "^farfault: $sentence\$" "$scratch/err")" -eq 1
}
before="the run resumes from the previous one, $saved.previous"
for place in "${places[@]}"; do
  damage "$place"
  cp "$scratch/older" "$saved.previous"
  resumes "byte $place changed, with a previous one" "checkpoint $saved .*; $before" "${run[@]}"
done
damage 200
have_ranks && resumes "damaged, on two ranks" "checkpoint $saved is damaged: .*; $before" mpirun --quiet -n 2 "${run[@]}"
rm "$saved"
resumes "missing, with a previous one" "checkpoint $saved is missing; $before" "${run[@]}"
# A damaged checkpoint never replaces the valid previous one.
head -c 4096 "$scratch/good" >"$saved"
cp "$scratch/older" "$saved.previous"
resumes "truncated, and written again" "checkpoint $saved .*; $before" "${run[@]}" --checkpoint "$saved" \
  --checkpoint-every 10us
check "truncated, and written again: it is complete" eval '"$farfault" inspect "$saved" >/dev/null'
rm "$saved" "$saved.previous"
resumes "the first of a chain" "no checkpoint $saved yet: the run starts from the beginning" "${run[@]}" \
  --checkpoint "$scratch/../$(basename "$scratch")/run.checkpoint" --checkpoint-every 10us
check "the first of a chain leaves a checkpoint" test -e "$saved"
cp "$scratch/good" "$saved"

# The disk of the checkpoints is full, the disk of the result is not: the last valid checkpoint remains and the run
# continues.
mkdir "$scratch/disk"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o "size=$(($(stat -c %s "$scratch/good") * 3 / 2))" tmpfs \
  "$scratch/disk" 2>/dev/null; then
  trap 'umount "$scratch/disk"; rm -rf "$scratch"' EXIT
  "${run[@]}" --output "$scratch/full.h5" --checkpoint "$scratch/disk/c" --checkpoint-every 10us \
    >/dev/null 2>"$scratch/err"
  rc=$?
  check "checkpoints on a full disk: exit code 0, not $rc" [ "$rc" -eq 0 ]
  check "checkpoints on a full disk: a message reports it" grep -q 'No space left on device; the run continues' "$scratch/err"
  check "checkpoints on a full disk: the result is complete" [ "$(digest_of "$scratch/full.h5")" = "$reference" ]
  check "checkpoints on a full disk: the last good one is kept" "$farfault" inspect "$scratch/disk/c"
  check "checkpoints on a full disk: no partial file is left" test ! -e "$scratch/disk/c.writing"
else
  echo "skipped: checkpoints on a full disk: no tmpfs can be mounted here"
fi
finish
