#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# GNU Octave loads a complete result with its `load`: numbers, texts, tables without rows.
. "$(dirname "$0")/../support/script.sh"
command -v octave-cli >/dev/null || { echo "skipped: Octave is not installed"; exit 77; }

cat >"$scratch/read.m" <<'OCTAVE'
s = load(argv(){1});
assert (s.timeseries.l2_tlb.instance, ["gpu0.l2_tlb"; "gpu1.l2_tlb"]);
assert (size (s.timeseries.l2_tlb.hits), [2, 2500]);
assert (s.timeseries.l2_tlb.hits(:, 8)', uint64 ([700, 701]));
assert (size (s.timeseries.l2_tlb.latency), [4, 2, 2500]);
assert (s.timeseries.l2_tlb.time_ps(8), int64 (7000));
assert (strtrim (s.tables.kernels.name(2, :)), "kernel 3");
assert (s.summary.machine.instructions, uint64 (42));
assert (s.engine.host, "node7");
assert (strncmp (s.config.toml, "[gpu.l2_tlb]", 12));
assert (isempty (load (argv(){2}).tables.kernels.row));
printf ("loaded\n");
OCTAVE

loads() {
  local said
  said=$(octave-cli --no-gui --norc --quiet "$scratch/read.m" "$@" 2>&1)
  [ "$(head -n 1 <<<"$said")" = loaded ] || { echo "$said" && return 1; }
}

# The writer's sample result, and a result of a run that ends before its first kernel.
FARFAULT_SAMPLE_DIR=$scratch "$(dirname "$farfault")/test_hdf5_schemas" -tc='a sample result is left*' >/dev/null || exit 1
"$farfault" run paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=64KiB --until 7us \
  --output "$scratch/short.h5" --progress off >/dev/null || exit 1
check "Octave loads a result" loads "$scratch/finished.h5" "$scratch/short.h5"
finish
