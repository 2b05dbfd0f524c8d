#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files that are not regular files (FIFOs, devices, loops of links) and files in two roles: refused in one sentence
# before anything runs, without blocking and without damage to any file.
. "$(dirname "$0")/../support/script.sh"

cd "$scratch" || exit
small=(--set workload.name=stream --set workload.stream.bytes=16KiB --set gpu.sms=2 --threads 1 --progress off)
run=("$farfault" run paper-gmmu-bypass "${small[@]}")
other=("$farfault" run paper-gmmu-bypass --threads 1 --progress off)  # of another workload

# refused SENTENCE WORD ...: exit code 2 and this sentence; no file is created, removed or changed
refused() {
  local sentence=$1 rc before
  shift
  before=$(listing)
  # A limit of minutes, which only a hang reaches.
  timeout 300 "$@" >out 2>err </dev/null
  rc=$?
  check "$*: exit code 2, not $rc" [ "$rc" -eq 2 ]
  check "$*: 'farfault: $sentence', not '$(cat err)'" [ "$(cat err)" = "farfault: $sentence" ]
  check "$*: nothing on standard output" test ! -s out
  check "$*: no file is created, removed or changed" [ "$(listing)" = "$before" ]
}
listing() { find . -mindepth 1 -not -name out -not -name err -printf '%p %y %i %s %l\n' | sort; find . -type f -not -name out -not -name err -exec cksum {} + | sort; }

# Special files in place of every input file.
mkfifo fifo
ln -s loop loop
for thing in "fifo:it is a FIFO, not a regular file; copy its contents to a file first" "loop:Too many levels of symbolic links"; do
  name=${thing%%:*} why=${thing#*:}
  refused "cannot read '$name': $why" "$farfault" validate "$name"
  refused "cannot read '$name': $why" "$farfault" diff "$name" "$name"
  refused "$name: $why" "$farfault" inspect "$name"
  refused "$name: $why" "$farfault" run "$name"
  refused "$name: $why" "${run[@]}" --set machine.topology="$name"
  refused "$name: $why" "${other[@]}" --set workload.name=bfs --set workload.bfs.graph="$name"
  refused "$name: $why" "${other[@]}" --set gpu.warp_width=32 --set workload.name=trace \
    --set workload.trace.file="$name"
  refused "cannot read '$name': $why" "${run[@]}" --profile "$name"
done
begin="omit --resume to start the run from the beginning"
refused "checkpoint fifo is not a regular file; $begin" "${run[@]}" --resume fifo
refused "checkpoint loop cannot be read: Too many levels of symbolic links; $begin" "${run[@]}" --resume loop
name=$(printf 'x%.0s' {1..300})
refused "cannot read '$name': File name too long" "$farfault" validate "$name"

# Special files in place of every output file.
refused "cannot write 'fifo': it is not a regular file" "${run[@]}" --output fifo
refused "cannot write '/dev/null': it is not a regular file" "${run[@]}" --output /dev/null
refused "cannot write '/dev/fd/1': it is not a regular file" "${run[@]}" --output /dev/fd/1
refused "cannot write 'loop': Too many levels of symbolic links" "${run[@]}" --output loop
refused "cannot write 'fifo': it is not a regular file" "${run[@]}" --checkpoint fifo
mkdir folder taken.previous
refused "cannot write 'folder': it is a directory" "${run[@]}" --checkpoint folder
refused "cannot write 'taken.previous': it is a directory" "${run[@]}" --checkpoint taken
refused "cannot write 'none/c': No such file or directory" "${run[@]}" --checkpoint none/c
refused "cannot write '/dev/no-such-checkpoint': it is not a regular file" "${run[@]}" --checkpoint /dev/no-such-checkpoint
echo precious >precious
ln -s precious a.h5.partial
ln -s precious c.writing
ln -s precious d.lock
ln -s precious e
refused "cannot write 'e': it is a symbolic link" "${run[@]}" --checkpoint e
refused "cannot write 'e': it is a symbolic link" "${run[@]}" --summary-json e
refused "cannot write 'e': it is a symbolic link" "${run[@]}" --trace 0us,1us --trace-output e
refused "cannot write 'a.h5.partial': it is a symbolic link" "${run[@]}" --output a.h5
refused "cannot write 'c.writing': it is a symbolic link" "${run[@]}" --checkpoint c
refused "cannot write 'd.lock': it is a symbolic link" "${run[@]}" --checkpoint d
refused "--checkpoint 'precious' would overwrite a file that is not a checkpoint; choose another name or remove the file" "${run[@]}" --checkpoint precious
refused "--output 'precious' would overwrite a file that is not the result of a run; choose another name or remove the file" \
  "${run[@]}" --output precious
for suffix in partial partial.new; do
  cp precious "p.h5.$suffix"
  refused "--output 'p.h5' would overwrite 'p.h5.$suffix', a file that is not the result of a run; choose another name or remove the file" \
    "${run[@]}" --output p.h5
  rm "p.h5.$suffix"
done
for suffix in previous writing; do
  cp precious "c2.$suffix"
  refused "--checkpoint 'c2' would overwrite 'c2.$suffix', a file that is not a checkpoint; choose another name or remove the file" "${run[@]}" --checkpoint c2
  rm "c2.$suffix"
done
cp precious c2.lock
refused "--checkpoint 'c2' would overwrite 'c2.lock', a file that is not the lock of a checkpoint; choose another name or remove the file" "${run[@]}" --checkpoint c2
rm c2.lock
cp precious s.json.writing
refused "--summary-json 's.json' would overwrite 's.json.writing', a file that is not the summary of a run; choose another name or remove the file" "${run[@]}" \
  --summary-json s.json
rm s.json.writing
cp precious t.pftrace.writing
refused "the trace 't.pftrace' would overwrite 't.pftrace.writing', a file that is not a trace of Farfault; choose another name or remove the file" "${run[@]}" \
  --output t.h5 --trace 0us,1us
rm t.pftrace.writing
chmod a-w precious
if [ "$(id -u)" -ne 0 ]; then
  refused "cannot write 'precious': Permission denied" "${run[@]}" --output precious
elif mkdir read_only && mount -t tmpfs -o ro tmpfs read_only 2>/dev/null; then
  refused "cannot write 'read_only/c': Read-only file system" "${run[@]}" --checkpoint read_only/c
  umount read_only
fi

# A file in two roles.
echo 'include = ["paper-gmmu-bypass", "base.toml"]' >study.toml
: >base.toml
printf '%s\n' 'name = "x"' '[[node]]' 'name = "c"' 'kind = "cpu"' '[[node]]' 'name = "g"' 'kind = "gpu"' \
  '[[link]]' 'a = "c"' 'b = "g"' 'kind = "pcie"' >machine.toml
ln -s study.toml link.toml
ln study.toml hard.toml
study=("$farfault" run study.toml "${small[@]}")
for name in study.toml ./study.toml folder/../study.toml "$scratch/study.toml" link.toml hard.toml; do
  refused "--output '$name' would overwrite the configuration 'study.toml'" "${study[@]}" --output "$name"
done
refused "--output 'base.toml' would overwrite the configuration 'base.toml'" "${study[@]}" --output base.toml
refused "--output 'machine.toml' would overwrite a file that is not the result of a run; choose another name or remove the file" "${study[@]}" \
  --set machine.topology=machine.toml --output machine.toml
cp study.toml study.h5
refused "the output 'study.h5' would overwrite the configuration 'study.h5'" "$farfault" run study.h5 "${small[@]}"
cp study.toml b.h5.partial
refused "--output 'b.h5' would overwrite the configuration 'b.h5.partial'" "$farfault" run b.h5.partial "${small[@]}" \
  --output b.h5
refused "--checkpoint 'study.toml' would overwrite the configuration 'study.toml'" "${study[@]}" --checkpoint study.toml
cp study.toml k.previous
refused "--checkpoint 'k' would overwrite the configuration 'k.previous'" "$farfault" run k.previous "${small[@]}" \
  --checkpoint k
for suffix in "" .partial .partial.new; do
  refused "--output 'new.h5' and --checkpoint './new.h5$suffix' would both write 'new.h5$suffix'" "${run[@]}" \
    --output new.h5 --checkpoint "./new.h5$suffix"
done
for suffix in .previous .writing .lock; do
  refused "--output 'e$suffix' and --checkpoint 'e' would both write 'e$suffix'" "${run[@]}" --output "e$suffix" \
    --checkpoint e
done
have_ranks && refused "--output 'study.toml' would overwrite the configuration 'study.toml'" mpirun --quiet -n 2 \
  "${study[@]}" --output study.toml

# Allowed: a stale file of a killed run, a checkpoint on the one resumed from, a profile of the same name.
head -c 4096 /dev/zero >good.h5.partial  # killed before its first flush
printf 'FFCKPT\r\n' >s.writing
: >s.lock
"${run[@]}" --set run.sample_interval=1us --output good.h5 --checkpoint s --checkpoint-every 1us >out 2>err
check "stale files do not stop the run, not '$(cat err)'" [ ! -s err ]
check "stale files are removed" test ! -e good.h5.partial -a ! -e s.writing -a ! -e s.lock
for words in "--resume s" "--resume s.previous" "--resume s --profile good.h5"; do
  # shellcheck disable=SC2086
  "${run[@]}" --set run.sample_interval=1us --output good.h5 --checkpoint s --checkpoint-every 1us $words >out 2>err
  check "$words: allowed, not '$(cat err)'" [ ! -s err ]
done
refused "--output 's' would overwrite the checkpoint 's'" "${run[@]}" --output s --resume s
refused "--output 's.previous' would overwrite the checkpoint 's.previous'" "${run[@]}" --output s.previous --resume s
refused "--output 'x.h5' and --checkpoint 'x.h5' would both write 'x.h5'" "${run[@]}" --output x.h5 --checkpoint x.h5

# Closed descriptors: printed text must not be written to a result that gets one of their numbers.
for closed in '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
  rm -f closed.h5
  eval '"${run[@]}" --output closed.h5' "$closed"
  check "a run with $closed leaves a valid result" eval '"$farfault" validate closed.h5 >/dev/null'
done
finish
