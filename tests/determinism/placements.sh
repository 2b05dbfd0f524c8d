#!/usr/bin/env bash
# One digest for each model, wherever its parts run: threads, MPI ranks, partitions, lanes merged or not.
. "$(dirname "$0")/../support/script.sh"

# ranks, threads, and the rest of the command line
alone=(
  "1 1 --partitions one"
  "1 1 --partitions one"
  "1 1 --partitions device"
  "1 1 --partitions device --no-merge"
  "1 1 --partitions split --no-merge"
  "1 2 --partitions device"
  "1 2 --partitions split"
  "1 2 --partitions split --no-merge"
  "1 4 --partitions device --no-merge"
  "1 4 --partitions split"
)
across=(
  "2 1 --partitions device"
  "2 2 --partitions split --no-merge"
  "3 1 --partitions split"
  "3 4 --partitions device --no-merge"
  "2 1 --partitions one"
  "3 2 --partitions one"
)

placed() { # RANKS THREADS WORD ...: runs the model under test; prints its digest
  local ranks=$1 threads=$2 file=$scratch/run.h5 command=("$farfault")
  shift 2
  rm -f "$file"
  [ "$ranks" -gt 1 ] && command=(mpirun -n "$ranks" "$farfault")
  "${command[@]}" run "${model[@]}" --output "$file" --threads "$threads" --progress off "$@" >"$scratch/log" 2>&1 ||
    cat "$scratch/log" >&2
  digest_of "$file"
}

declare -A digests
next_across=0
# one_digest NAME WORD ...: the model's words of the command line
one_digest() {
  local name=$1 placements=("${alone[@]}") digest reference="" placement same=1
  shift
  model=("$@")
  # Starting ranks takes longer than the model: three of the placements, the next three for the next model.
  if have_ranks; then
    for _ in 1 2 3; do
      placements+=("${across[next_across++ % ${#across[@]}]}")
    done
  fi
  for placement in "${placements[@]}"; do
    # shellcheck disable=SC2086
    digest=$(placed $placement)
    reference=${reference:-$digest}
    if [ -z "$digest" ] || [ "$digest" != "$reference" ]; then
      echo "$name: digest '$digest' with '$placement' (ranks, threads, options), '$reference' before"
      same=0
    fi
  done
  check "$name has one digest" [ "$same" -eq 1 ]
  # Models that differ must not share a digest, or it would say nothing.
  check "$name has a digest of its own" [ -z "${digests[${reference:-none}]:-}" ]
  digests[${reference:-none}]=$name
}

base=(paper-gmmu-bypass)
small_bfs=(--set workload.name=bfs --set workload.bfs.rmat.scale=10 --set workload.bfs.rmat.edge_factor=8)
one_digest "bfs, interleaved" "${base[@]}" "${small_bfs[@]}"
one_digest "bfs of another seed" "${base[@]}" "${small_bfs[@]}" --set run.seed=2
one_digest "bfs, first touch, small TLBs" "${base[@]}" "${small_bfs[@]}" --set memory.placement=first_touch \
  --set gpu.l1_tlb.entries=4 --set gpu.l1_tlb.ways=4 --set gpu.l2_tlb.entries=32
[ -e "$data/graphs/power.graph" ] &&
  one_digest "bfs of a real graph, pages on the CPU" "${base[@]}" --set workload.name=bfs \
    --set workload.bfs.graph="$data/graphs/power.graph" --set memory.placement=cpu
one_digest "transpose, each buffer in parts" "${base[@]}" --set workload.name=transpose \
  --set workload.transpose.width=256 --set workload.transpose.height=128 --set memory.placement=contiguous
one_digest "fir, first touch" "${base[@]}" --set workload.name=fir --set workload.fir.size=128KiB \
  --set memory.placement=first_touch
one_digest "pointer chase" "${base[@]}" --set workload.name=pointer_chase --set workload.pointer_chase.hops=2000
one_digest "stream with writes on eight GPUs" "${base[@]}" --set machine.topology=dgx1 --set workload.name=stream \
  --set workload.stream.bytes=512KiB --set workload.stream.write_fraction=0.4 --set gpu.sms=8
one_digest "stream that is cut off" "${base[@]}" --set workload.name=stream --set workload.stream.bytes=1MiB \
  --set memory.placement=first_touch --set run.sample_interval=700ns --until 9us
finish
