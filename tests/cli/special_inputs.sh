#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A FIFO, a socket, a device or a directory in place of any input, and of any file that a program inspects before it
# writes it: at most one sentence, and no command hangs. timeout(1) ends a command after a minute, with exit code 124.
. "$(dirname "$0")/../support/script.sh"
cd "$scratch" || exit

# Only engine/src/files.cpp and the sources listed here open files.
elsewhere=$(cd "$source_dir" && grep -rlE '\bifstream\b|std::fstream\b|\b(fopen|freopen|fdopen|gzopen|lzma_file|open64|openat)\(|::open\(' \
  --include='*.cpp' --include='*.hpp' engine components topologies workloads hdf5_schemas cli | sort)
allowed='cli/src/commands/program.cpp
cli/src/sweep/executor.cpp
cli/src/sweep/folder_lock.cpp
cli/src/sweep/jobs.cpp
cli/src/run/run_outcome.cpp
cli/src/run/watch_mark.cpp
engine/src/checkpoint.cpp
engine/src/files.cpp
engine/src/input_limits.cpp
hdf5_schemas/format/src/reading/guard.cpp
workloads/src/text_source.cpp'
check "no file is opened except by open_input: $(comm -13 <(sort <<<"$allowed") <(echo "$elsewhere") | tr '\n' ' ')" \
  [ -z "$(comm -13 <(sort <<<"$allowed") <(echo "$elsewhere"))" ]

mkfifo fifo
mkdir folder
/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
ln -s fifo link
first='copy its contents to a file first'
things=("fifo:it is a FIFO, not a regular file; $first" "link:it is a FIFO, not a regular file; $first"
  "socket:it is a socket, not a regular file; $first" "/dev/zero:it is a device, not a regular file; $first"
  "folder:it is a directory, not a regular file")

# ends CODE SENTENCE WORD ...: ends within a minute with this code and this text on standard error
ends() {
  local code=$1 sentence=$2 rc
  shift 2
  timeout 60 "$@" >out 2>err </dev/null
  rc=$?
  check "$*: exit code $code, not $rc" [ "$rc" -eq "$code" ]
  check "$*: '$sentence', not '$(cat err)'" grep -qF -- "$sentence" err
  check "$*: one sentence: '$(cat err)'" [ "$(grep -c . err)" -le 1 ]
}

small=(--set workload.name=stream --set workload.stream.bytes=16KiB --set gpu.sms=2 --threads 1 --progress off)
run=("$farfault" run paper-gmmu-bypass)
"${run[@]}" "${small[@]}" --output good.h5 >/dev/null || fail "a run"

# study BASE LINE ...: a study with these lines in [config]
study() {
  local base=$1
  shift
  { echo "base = \"$base\""; echo "[config]"; printf '%s\n' "$@"; echo '[sweep]'; echo 'seeds = 2'; } >study.toml
}
sweep=("$farfault" sweep study.toml --progress off --output swept)

for thing in "${things[@]}"; do
  name=${thing%%:*} why=${thing#*:} path=$(realpath --no-symlinks "${thing%%:*}")
  # Inputs of a run.
  ends 2 "$name: $why" "$farfault" run "$name"
  printf 'include = ["%s"]\n' "$name" >includes.toml
  ends 2 "$name: $why" "$farfault" run includes.toml
  ends 2 "$name: $why" "${run[@]}" "${small[@]}" --set machine.topology="$path"
  ends 2 "$name: $why" "${run[@]}" "${small[@]}" --set memory.placement=recorded --set memory.recorded.map="$path"
  ends 2 "$name: $why" "${run[@]}" --progress off --set workload.name=bfs --set workload.bfs.graph="$name"
  [ "$name" = folder ] ||
    ends 2 "$name: $why" "${run[@]}" --progress off --set gpu.warp_width=32 --set workload.name=trace --set workload.trace.file="$name"
  ends 2 "'$name': $why" "${run[@]}" "${small[@]}" --profile "$name"
  ends 2 "checkpoint $name is not a regular file" "${run[@]}" "${small[@]}" --resume "$name"
  # Files named in a study.
  ends 2 "$name: $why" "$farfault" sweep "$name" --progress off --output swept
  study "$path" 'workload.name = "stream"'
  ends 2 "$name: $why" "${sweep[@]}"
  study paper-gmmu-bypass 'workload.name = "stream"' "machine.topology = \"$path\""
  ends 2 "$name: $why" "${sweep[@]}"
  study paper-gmmu-bypass 'workload.name = "bfs"' "workload.bfs.graph = \"$path\""
  ends 2 "$name: $why" "${sweep[@]}"
  # A result.
  for command in validate explain inspect "diff good.h5" "compare good.h5" "explain good.h5" "report -o page.html"; do
    # shellcheck disable=SC2086
    [ "$name $command" = "folder inspect" ] || ends 2 "$name" "$farfault" $command "$name"
  done
  [ "$name" = folder ] || ends 2 "$name" "$farfault" watch --once "$name"
  check "$name: nothing was written" test ! -e swept -a ! -e page.html
done

# Files that are inspected before or during writing.
for name in page.html page.html.writing; do
  mkfifo "$name"
  ends 2 "$name" "$farfault" report good.h5 -o page.html
  rm "$name"
done
for name in s.json s.json.writing; do
  mkfifo "$name"
  ends 2 "$name" "${run[@]}" "${small[@]}" --output new.h5 --summary-json s.json
  rm "$name"
done
for name in t.pftrace t.pftrace.writing; do
  mkfifo "$name"
  ends 2 "$name" "${run[@]}" "${small[@]}" --output new.h5 --trace 0us,1us --trace-output t.pftrace
  rm "$name"
done
for name in new.h5 new.h5.partial; do
  mkfifo "$name"
  ends 2 "$name" "${run[@]}" "${small[@]}" --output new.h5
  rm "$name"
done
# A resumed run writes kept.h5.partial.new.
"${run[@]}" "${small[@]}" --output kept.h5 --until 1us --checkpoint kept >/dev/null || fail "a checkpoint"
mkfifo kept.h5.partial.new
timeout 60 "${run[@]}" "${small[@]}" --output kept.h5 --resume kept >out 2>err
rc=$?
check "kept.h5.partial.new is a FIFO: no hang, exit code $rc: $(cat err)" [ "$rc" -lt 3 ]
for name in c c.previous c.writing c.lock; do
  mkfifo "$name"
  ends 2 "$name" "${run[@]}" "${small[@]}" --output new.h5 --checkpoint c
  rm "$name"
done

# Files in a sweep's folder.
study paper-gmmu-bypass 'workload.name = "stream"' 'workload.stream.bytes = "8KiB"' 'gpu.sms = 2'
for name in sweep.h5 sweep.csv sweep.lock sweep.runs.partial; do
  mkdir -p swept
  mkfifo "swept/$name"
  ends 2 "swept/$name" "${sweep[@]}"
  rm -r swept
done
"${sweep[@]}" >/dev/null || fail "a sweep"
for name in sweep.runs sweep.checked sweep.h5.partial; do
  cp -r swept before
  rm -f "swept/$name"
  mkfifo "swept/$name"
  timeout 60 "${sweep[@]}" >out 2>err
  rc=$?
  check "swept/$name is a FIFO: no hang, exit code $rc, '$(cat err)'" [ "$rc" -lt 3 ]
  rm -r swept
  mv before swept
done
rm swept/sweep.runs
mkfifo swept/sweep.runs
for command in "watch --once" "compare good.h5" "report -o page.html"; do
  # shellcheck disable=SC2086
  timeout 60 "$farfault" $command swept >out 2>err
  rc=$?
  check "$command of a sweep whose list is a FIFO: no hang, exit code $rc" [ "$rc" -lt 3 ]
done
# Files that the runs of a sweep write.
rm -r swept
"$farfault" sweep study.toml --progress off --output names >/dev/null
for run_name in names/runs/*.h5; do runs+=("$(basename "$run_name" .h5)"); done
for ending in log failed h5 h5.partial; do
  mkdir -p swept/runs
  for name in "${runs[@]}"; do mkfifo "swept/runs/$name.$ending"; done
  timeout 60 "${sweep[@]}" >out 2>err
  rc=$?
  check "results whose .$ending is a FIFO: no hang, exit code $rc: $(cat err)" [ "$rc" -lt 3 ]
  timeout 60 "$farfault" watch --once swept >out 2>err
  check "watch does not hang" [ $? -lt 3 ]
  rm -r swept
done

# Standard input is refused; the summary may be written to standard output.
ends 2 "/dev/stdin" "$farfault" run /dev/stdin
check "--summary-json - writes to standard output" grep -q '"end_reason":"completed"' \
  <("${run[@]}" "${small[@]}" --output new.h5 --summary-json - 2>/dev/null)
finish
