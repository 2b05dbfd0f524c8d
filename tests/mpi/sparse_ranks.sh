#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that exchange after too few events are reported: during the run, at its end, in /engine, in explain and in the
# Python package. A dense run and a run of one rank have no warning.
. "$(dirname "$0")/../support/script.sh"
have_ranks || exit 77
cd "$scratch" || exit

# run NAME RANKS WORD ...: NAME.h5, NAME.out, NAME.err
run() {
  local name=$1 ranks=$2
  shift 2
  timeout 300 mpirun --quiet -n "$ranks" "$farfault" run "$@" --threads 1 --progress off \
    --output "$name.h5" >"$name.out" 2>"$name.err"
}
engine_value() { # FILE NAME
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$source_dir/hdf5_schemas/python /usr/bin/python3 -c '
import sys, farfault
print(farfault.open(sys.argv[1]).engine.get(sys.argv[2]))' "$1" "$2"
}
says() { # FILE PATTERN
  grep -qE "$2" "$1"
}
mute() {  # FILE: has no warning about waiting ranks
  ! grep -qiE "warning|exchange" "$1"
}

# While a batch of page faults is handled, two GPUs are almost idle. Messages of 1 ns limit the lookahead of the ranks
# to 1 ns.
sparse=(paper-batch-aware --set machine.topology=two-gpu --set workload.name=bfs --set driver.notify_latency=1ns --until 1ms)
dense=(paper-gmmu-bypass --set machine.topology=two-gpu --set memory.placement=interleave --set workload.name=stream
  --set workload.stream.bytes=16MiB)
share="[0-9]+\\.[0-9]% of the time waiting"
advice="one rank with threads is faster \\(no mpirun, --threads 2\\)"

run sparse2 2 "${sparse[@]}"
check "a sparse run on two ranks completes" test $? -eq 0
check "it warns once while running: $(cat sparse2.err)" test "$(wc -l <sparse2.err)" -eq 1
check "the warning has the counts: $(cat sparse2.err)" says sparse2.err \
  "^farfault: warning: 2 ranks process too few events per exchange so far \\([0-9]+0000 exchanges of [0-9]+\\.[0-9] events each, $share\\); $advice\$"
check "its summary has the counts: $(cat sparse2.out)" says sparse2.out "^  ranks  +2, [0-9]+ exchanges of [0-9]+\\.[0-9] events each, $share\$"
check "its summary has the warning" says sparse2.out "^  warning  +too few events per exchange: $advice\$"
"$farfault" explain sparse2.h5 >explained
check "explain has the line: $(tail -1 explained)" says explained \
  "^Simulator ranks: 2, [0-9]+ exchanges of [0-9]+\\.[0-9] events each, $share: too few events per exchange, $advice\$"
events=$(engine_value sparse2.h5 events_per_exchange)
check "Python: less than 32 events per exchange, not $events" awk "BEGIN { exit !($events > 0 && $events < 32) }"
waited=$(engine_value sparse2.h5 rank_wait_share)
check "Python: a share of waiting, not $waited" awk "BEGIN { exit !($waited > 0 && $waited <= 1) }"

run sparse1 1 "${sparse[@]}"
check "one rank has the same result" test "$(digest_of sparse1.h5)" = "$(digest_of sparse2.h5)"
"$farfault" explain sparse1.h5 >explained
for file in sparse1.out sparse1.err explained; do check "one rank prints nothing about exchanges in $file" mute "$file"; done
check "Python: one rank has no exchanges" test "$(engine_value sparse1.h5 events_per_exchange)" = None

run dense2 2 "${dense[@]}"
check "a dense run on two ranks completes" test $? -eq 0
check "it does not warn: $(cat dense2.err)" test ! -s dense2.err
check "its summary has the counts: $(cat dense2.out)" says dense2.out "^  ranks  +2, [0-9]+ exchanges of [0-9]+\\.[0-9] events each"
check "its summary has no warning" test "$(grep -c warning dense2.out)" -eq 0
events=$(engine_value dense2.h5 events_per_exchange)
check "Python: at least 32 events per exchange, not $events" awk "BEGIN { exit !($events >= 32) }"
"$farfault" explain dense2.h5 >explained
check "explain has no advice" test "$(grep -c faster explained)" -eq 0
finish
