#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that are about to simulate different things report it once, before the first event, and leave no result.
. "$(dirname "$0")/../support/script.sh"
have_ranks || exit 77

printf '4 4\n2 4\n1 3\n2 4\n3 1\n' >"$scratch/ring.graph"
printf '4 3\n2\n1 3\n2 4\n3\n' >"$scratch/path.graph"
cd "$scratch" || exit

# The hash that identifies input files.
fnv1a() {
  python3 -c 'import sys
h = 0xCBF29CE484222325
for byte in sys.stdin.buffer.read():
    h = ((h ^ byte) * 0x100000001B3) % 2**64
print(f"{h:016x}")'
}

# another_build FILE: writes the program with another build id; prints the program's id, then the new one
another_build() {
  python3 - "$farfault" "$1" <<'END'
import os, re, sys
program = open(sys.argv[1], "rb").read()
note = re.search(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", program, re.DOTALL)
ours = note[1]
other = bytes([ours[0] ^ 1]) + ours[1:]
open(sys.argv[2], "wb").write(program[: note.start(1)] + other + program[note.end(1) :])
os.chmod(sys.argv[2], 0o755)
print(ours.hex(), other.hex())
END
}

# prepare: three folders with the same contents, one per rank
prepare() {
  local rank
  rm -rf r0 r1 r2 together.h5*
  for rank in 0 1 2; do
    mkdir "r$rank"
    cp ring.graph "r$rank/g.graph"
    cat >"r$rank/c.toml" <<'END'
include = ["paper-gmmu-bypass"]
[workload]
name = "bfs"
[workload.bfs]
graph = "g.graph"
END
  done
}

# Rank 1 runs $program if set, with $more as additional arguments.
start() {
  # shellcheck disable=SC2016
  timeout 300 mpirun --quiet -n 3 bash -c '
    cd "r$OMPI_COMM_WORLD_RANK" || exit
    [ "$OMPI_COMM_WORLD_RANK" = 1 ] && { program=$2; more=$3; }
    exec "${program:-$1}" run c.toml --threads 1 --progress off --output ../together.h5 $more' \
    _ "$farfault" "${program:-$farfault}" "${more:-}" >out 2>err
}

refused() { # WHAT SENTENCE
  local rc
  start
  rc=$?
  check "$1: exit code 2, not $rc" [ "$rc" -eq 2 ]
  check "$1: '$2', not '$(cat err)'" [ "$(cat err)" = "farfault: rank 1 has $2; all ranks must simulate the same model" ]
  check "$1: nothing on standard output" test ! -s out
  check "$1: no result" test ! -e together.h5
  check "$1: no partial result" test ! -e together.h5.partial
}

prepare
start
check "ranks with equal facts run: $(cat err)" test -s together.h5

prepare
printf '[gpu.l1_tlb]\nlatency = 3\n' >>r1/c.toml
refused "a latency" "gpu.l1_tlb.latency = 3 ($scratch/r1/c.toml:7) where rank 0 has 1 (default)"

prepare
printf '[gpu]\nsms = 2\n' >>r1/c.toml
refused "the number of SMs" "gpu.sms = 2 ($scratch/r1/c.toml:7) where rank 0 has 36 (paper-gmmu-bypass:$(
  grep -n "^sms = 36" "$source_dir/topologies/presets/paper-gmmu-bypass.toml" | cut -d : -f 1))"

prepare
printf '[run]\nsample_interval = "3us"\n' >>r1/c.toml
refused "the sample interval" "run.sample_interval = 3 us ($scratch/r1/c.toml:7) where rank 0 has 50 ns (default)"

prepare
cp path.graph r1/g.graph
refused "a graph" "input file 1 (workload.bfs.graph) = $(
  printf '%s bytes with hash %s (%s)' "$(wc -c <path.graph)" "$(fnv1a <path.graph)" "$scratch/r1/g.graph"
) where rank 0 has $(
  printf '%s bytes with hash %s (%s)' "$(wc -c <ring.graph)" "$(fnv1a <ring.graph)" "$scratch/r0/g.graph")"

prepare
cp path.graph r1/other.graph
sed -i 's/g.graph/other.graph/' r1/c.toml
cp ring.graph r1/other.graph
start
check "the same graph under another name is accepted: $(cat err)" test -s together.h5

prepare
more="--until 1us"
refused "an option" "--until = 1 us where rank 0 has none"
more="--partitions split"
refused "the partitioning of the model" "--partitions = split where rank 0 has auto"
more=

prepare
read -r ours other < <(another_build newer)
program=$scratch/newer
refused "a different build of the program" "program build = $other where rank 0 has $ours"
program=

# Copies of the program that are not joined by MPI would all write the same output.
alone() { # WHAT SENTENCE VARIABLE=VALUE ...
  local what=$1 sentence=$2 rc
  shift 2
  env "$@" "$farfault" run r0/c.toml --output together.h5 >out 2>err
  rc=$?
  check "$what: exit code 2, not $rc" [ "$rc" -eq 2 ]
  check "$what: '$sentence', not '$(cat err)'" [ "$(cat err)" = "farfault: $sentence" ]
  check "$what: no result" test ! -e together.h5
}
prepare
alone "srun without MPI" "srun started 2 copies of this program without MPI: use 'srun \
--mpi=pmix' or mpirun; for 2 independent runs, unset SLURM_STEP_NUM_TASKS" SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0
env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 "$farfault" run r0/c.toml --output together.h5 >out 2>err
check "srun without MPI: the second copy prints nothing" test ! -s err
check "srun without MPI: and writes nothing" test ! -e together.h5
finish
