#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Under mpirun a user error is reported once, in one sentence, and all ranks exit orderly.
. "$(dirname "$0")/../support/script.sh"
have_ranks || exit 77

refused() { # WHAT SENTENCE WORD ...
  local what=$1 sentence=$2 rc
  shift 2
  timeout 300 mpirun --quiet -n 2 "$farfault" run "$@" --progress off >"$scratch/out" 2>"$scratch/err"
  rc=$?
  check "$what: exit code 2, not $rc" [ "$rc" -eq 2 ]
  check "$what: '$sentence', not '$(cat "$scratch/err")'" [ "$(cat "$scratch/err")" = "farfault: $sentence" ]
  check "$what: nothing on standard output" test ! -s "$scratch/out"
}

refused "command line" "--threads: Value 0 not in range 1 to 4096 (see farfault run --help)" x.toml --threads 0
refused "key" "--set: unknown key 'gpu.smss'; did you mean 'gpu.sms'?" paper-gmmu-bypass --set gpu.smss=1
refused "graph" "/no/graph: no such file" paper-gmmu-bypass --set workload.name=bfs --set workload.bfs.graph=/no/graph
refused "output" "cannot write '/no/folder/x.h5.partial': No such file or directory" paper-gmmu-bypass \
  --set workload.name=stream --set workload.stream.bytes=64KiB --output /no/folder/x.h5

# Input that only one rank cannot read: the other rank must not wait for it forever.
printf '3 2\n2 3\n1\n1\n' >"$scratch/rank0.graph"
for missing in 0 1; do
  # shellcheck disable=SC2016
  timeout 300 mpirun --quiet -n 2 bash -c '
    [ "$OMPI_COMM_WORLD_RANK" = "$1" ] && graph=/no/graph || graph=$2
    exec "$3" run paper-gmmu-bypass --progress off --set workload.name=bfs --set workload.bfs.graph="$graph" --output "$4"' \
    _ "$missing" "$scratch/rank0.graph" "$farfault" "$scratch/x.h5" >"$scratch/out" 2>"$scratch/err"
  rc=$?
  check "a file that rank $missing cannot read: exit code 2, not $rc" [ "$rc" -eq 2 ]
  check "a file that rank $missing cannot read: one sentence, not '$(cat "$scratch/err")'" \
    [ "$(cat "$scratch/err")" = "farfault: /no/graph: no such file" ]
  check "a file that rank $missing cannot read: no result" test ! -e "$scratch/x.h5"
done
finish
