#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The MPI transport: long messages in pieces, waiting without CPU time, and the required thread support.
. "$(dirname "$0")/../support/script.sh"
have_ranks || exit 77
program=$(dirname "$farfault")/transport_check

for ranks in 2 3; do
  check "$ranks ranks: long messages are split and arrive complete" \
    timeout 600 mpirun --quiet -n "$ranks" "$program" pieces
done
for ranks in 2 3; do
  check "$ranks ranks: a waiting rank yields its core" \
    timeout 600 mpirun --quiet -n "$ranks" "$program" wait
done
for level in serialized multiple; do
  check "thread support $level is sufficient" timeout 600 mpirun --quiet -n 2 "$program" level "$level"
done
for level in single funneled; do
  timeout 600 mpirun --quiet -n 1 "$program" level "$level" >"$scratch/out" 2>"$scratch/err"
  check "thread support $level is rejected" [ $? -eq 1 ]
  check "thread support $level is rejected by name, not '$(cat "$scratch/err")'" [ "$(cat "$scratch/err")" = \
    "the MPI library provides thread support MPI_THREAD_${level^^}, but a run on several ranks requires MPI_THREAD_SERIALIZED" ]
done
finish
