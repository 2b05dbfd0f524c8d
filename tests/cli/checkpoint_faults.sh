#!/usr/bin/env bash
# Checkpoints that cannot be written or cannot be used: one sentence each, and nothing that was good is lost.
. "$(dirname "$0")/../support/script.sh"

run=("$farfault" run paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=4MiB --threads 1
  --progress off)
saved=$scratch/run.checkpoint
"${run[@]}" --output "$scratch/whole.h5" >/dev/null || fail "the undisturbed run"
reference=$(digest_of "$scratch/whole.h5")

# refused WHAT PATTERN WORD ...: exit code 2, one sentence that has the pattern, and an earlier result unchanged
refused() {
  local what=$1 pattern=$2 rc
  shift 2
  echo "an earlier result" >"$scratch/earlier.h5"
  "$@" --output "$scratch/earlier.h5" >"$scratch/out" 2>"$scratch/err"
  rc=$?
  check "$what: exit code 2, not $rc" [ "$rc" -eq 2 ]
  check "$what: one sentence with '$pattern', not '$(cat "$scratch/err")'" \
    test "$(grep -c . "$scratch/err")" -eq 1 -a "$(grep -c "$pattern" "$scratch/err")" -eq 1
  check "$what: the earlier result is unchanged" [ "$(cat "$scratch/earlier.h5")" = "an earlier result" ]
}

"${run[@]}" --output "$scratch/saved.h5" --checkpoint "$saved" --checkpoint-every 10us >/dev/null
check "two checkpoints are kept" test -e "$saved" -a -e "$saved.previous" -a ! -e "$saved.writing"

cp "$saved" "$scratch/good"
damage() { # OFFSET: one byte of the checkpoint changed
  cp "$scratch/good" "$saved"
  printf '\377\377' | dd of="$saved" bs=1 seek="$1" conv=notrunc status=none
}
for place in 0 9 17 30 200 5000 $(($(stat -c %s "$saved") - 2)); do
  damage "$place"
  refused "byte $place changed" "the one before it is $saved.previous" "${run[@]}" --resume "$saved"
done
for size in 0 7 100 4096; do
  head -c "$size" "$scratch/good" >"$saved"
  refused "cut to $size bytes" "checkpoint $saved" "${run[@]}" --resume "$saved"
done
refused "no such file" "checkpoint $scratch/none cannot be read" "${run[@]}" --resume "$scratch/none"
cp "$scratch/good" "$saved"
refused "another run's" "checkpoint $saved is of another run" "${run[@]}" --set gpu.sms=35 --resume "$saved"
if have_ranks; then
  damage 200
  refused "damaged, on two ranks" "the one before it is $saved.previous" mpirun --quiet -n 2 "${run[@]}" \
    --resume "$saved"
fi
# What was offered works: the run ends as the one that never stopped.
cp "$saved.previous" "$scratch/older"
"${run[@]}" --output "$scratch/saved.h5" --resume "$scratch/older" >/dev/null 2>"$scratch/err"
check "the older one goes on: '$(cat "$scratch/err")'" [ "$(digest_of "$scratch/saved.h5")" = "$reference" ]

# The disk of the checkpoints fills up, that of the result does not: the last good one stays and the run goes on.
mkdir "$scratch/disk"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o "size=$(($(stat -c %s "$scratch/good") * 3 / 2))" tmpfs \
  "$scratch/disk" 2>/dev/null; then
  trap 'umount "$scratch/disk"; rm -rf "$scratch"' EXIT
  "${run[@]}" --output "$scratch/full.h5" --checkpoint "$scratch/disk/c" --checkpoint-every 10us \
    >/dev/null 2>"$scratch/err"
  rc=$?
  check "checkpoints on a full disk: exit code 0, not $rc" [ "$rc" -eq 0 ]
  check "checkpoints on a full disk: it is said" grep -q 'No space left on device; the run goes on' "$scratch/err"
  check "checkpoints on a full disk: the result is whole" [ "$(digest_of "$scratch/full.h5")" = "$reference" ]
  check "checkpoints on a full disk: the last good one is there" "$farfault" inspect "$scratch/disk/c"
  check "checkpoints on a full disk: nothing half-written stays" test ! -e "$scratch/disk/c.writing"
else
  echo "skipped: checkpoints on a full disk: no tmpfs can be mounted here"
fi
finish
