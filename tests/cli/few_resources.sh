#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A system with too little memory or too few threads: one sentence and exit code 1, never an abort.
. "$(dirname "$0")/../support/script.sh"
run=("$farfault" run paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=64KiB --progress off
  --output "$scratch/x.h5")

refused() { # WHAT LIMIT WORD ...: runs with `ulimit LIMIT`
  local what=$1 limit=$2 rc
  shift 2
  # shellcheck disable=SC2086
  (ulimit -c 0 && ulimit $limit && exec timeout 600 "${run[@]}" "$@") >"$scratch/out" 2>"$scratch/err"
  rc=$?
  check "$what: exit code 1, not $rc" [ "$rc" -eq 1 ]
  check "$what: one sentence, not '$(cat "$scratch/err")'" \
    eval '[ "$(wc -l <"$scratch/err")" -eq 1 ] && [[ $(cat "$scratch/err") == "farfault: "* ]]'
}

# The default stack of a thread takes 8 MB of address space.
refused "64 threads in 300 MB" "-v 300000" --threads 64 --partitions split
check "the message has the number of threads" grep -q 'the system allows only [0-9]* of the 64 requested threads; ' "$scratch/err"
finish
