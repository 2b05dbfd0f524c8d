#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One digest per model for any placement of its components: threads, MPI ranks, partitions, lanes merged or not.
#
#   tests/determinism/placements.sh [all | full [REPEATS]]
#     without argument: every model with seven of the placements below, other ones each time
#     all: every model with each placement
#     full: PHOLD and four models in every combination of threads {1,2,4,8}, ranks {1,2,3} and partitions, REPEATS (2) times
. "$(dirname "$0")/../support/script.sh"

# ranks, threads, and further arguments
reference_placement="1 1 --partitions one"
alone=(
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
scope=${1:-} next_alone=0 next_across=0
# one_digest NAME WORD ...: runs the model with these arguments. Consecutive models use consecutive placements; four
# does not divide the number of placements of one process, so selections differ.
one_digest() {
  local name=$1 placements=("$reference_placement") digest reference="" placement same=1
  shift
  model=("$@")
  local few=4 few_across=2
  [ "$scope" = all ] && few=${#alone[@]} few_across=${#across[@]}
  for _ in $(seq "$few"); do placements+=("${alone[next_alone++ % ${#alone[@]}]}"); done
  have_ranks || few_across=0
  for _ in $(seq "$few_across"); do placements+=("${across[next_across++ % ${#across[@]}]}"); done
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
  # Different models must not share a digest, or the comparison would prove nothing.
  check "$name has a different digest" [ -z "${digests[${reference:-none}]:-}" ]
  digests[${reference:-none}]=$name
}

# every_placement NAME RUNNER WORD ...: all combinations; RUNNER prints the digest
every_placement() {
  local name=$1 runner=$2 reference="" digest ranks threads partitions repeat runs=0 same=1
  shift 2
  model=("$@")
  for repeat in $(seq "$repeats"); do
    for ranks in 1 2 3; do
      [ "$ranks" -gt 1 ] && ! have_ranks && continue
      for threads in 1 2 4 8; do
        for partitions in one device split; do
          digest=$("$runner" "$ranks" "$threads" --partitions "$partitions")
          reference=${reference:-$digest}
          runs=$((runs + 1))
          [ -n "$digest" ] && [ "$digest" = "$reference" ] && continue
          echo "$name: digest '$digest' on $ranks ranks of $threads threads, partitions '$partitions', repeat $repeat"
          same=0
        done
      done
    done
  done
  echo "$name: $runs runs, digest $reference"
  check "$name has one digest" [ "$same" -eq 1 ]
}

phold_placed() { # RANKS THREADS --partitions NAME
  local per command=("$(dirname "$farfault")/phold") name=$4
  [ "$1" -gt 1 ] && command=(mpirun -n "$1" "${command[@]}")
  case $name in one) per=1 ;; device) per=4 ;; split) per=16 ;; esac
  "${command[@]}" "${model[@]}" --threads "$2" --partitions "$per" --json | sed -nE 's/.*"digest": "([0-9a-f]+)".*/\1/p'
}

if [ "${1:-}" = full ]; then
  repeats=${2:-2}
  every_placement "phold" phold_placed --lps 256 --start-events 4 --end 20
  every_placement "bfs" placed paper-gmmu-bypass --set workload.name=bfs --set workload.bfs.rmat.scale=9
  every_placement "transpose, first touch" placed paper-gmmu-bypass --set workload.name=transpose \
    --set workload.transpose.width=256 --set workload.transpose.height=128 --set memory.placement=first_touch
  every_placement "transpose, pages moving" placed paper-gmmu-bypass --set workload.name=transpose \
    --set workload.transpose.width=256 --set workload.transpose.height=128 --set memory.remote_touch=migrate
  every_placement "fir, in parts" placed paper-gmmu-bypass --set workload.name=fir --set workload.fir.size=128KiB \
    --set memory.placement=contiguous
  finish
  exit
fi

base=(paper-gmmu-bypass)
interleaved=(--set memory.placement=interleave)
small_bfs=(--set workload.name=bfs --set workload.bfs.rmat.scale=10 --set workload.bfs.rmat.edge_factor=8)
one_digest "bfs, interleaved" "${base[@]}" "${small_bfs[@]}" "${interleaved[@]}"
one_digest "bfs of another seed" "${base[@]}" "${small_bfs[@]}" --set run.seed=2
one_digest "bfs, first touch by the driver, small TLBs" "${base[@]}" "${small_bfs[@]}" --set memory.first_touch_by=driver \
  --set gpu.l1_tlb.entries=4 --set gpu.l1_tlb.ways=4 --set gpu.l2_tlb.entries=32
[ -e "$data/graphs/power.graph" ] &&
  one_digest "bfs on a real graph, pages on the CPU" "${base[@]}" --set workload.name=bfs \
    --set workload.bfs.graph="$data/graphs/power.graph" --set memory.placement=cpu
one_digest "transpose, contiguous placement of each buffer" "${base[@]}" --set workload.name=transpose \
  --set workload.transpose.width=256 --set workload.transpose.height=128 --set memory.placement=contiguous
one_digest "transpose, migrating pages" "${base[@]}" "${interleaved[@]}" --set workload.name=transpose \
  --set workload.transpose.width=256 --set workload.transpose.height=128 --set memory.remote_touch=migrate
one_digest "transpose, migrating pages, fault buffers with two entries" "${base[@]}" "${interleaved[@]}" \
  --set workload.name=transpose --set workload.transpose.width=256 --set workload.transpose.height=256 \
  --set memory.remote_touch=migrate --set iommu.fault_buffer=2
one_digest "transpose on eight GPUs, migrating pages, two fault-buffer entries per GPU" "${base[@]}" \
  --set machine.topology=dgx1 --set memory.first_touch_by=driver --set memory.remote_touch=migrate \
  --set workload.name=transpose --set workload.transpose.width=256 --set workload.transpose.height=256 \
  --set memory.fault_path=gpu --set gpu.gmmu.fault_buffer=2
one_digest "stencil on eight GPUs and two CPUs, migrating pages" "${base[@]}" --set machine.topology=dgx1 \
  --set workload.name=stencil2d --set workload.stencil2d.rows=64 --set workload.stencil2d.cols=256 --set gpu.sms=4 \
  --set memory.placement=first_touch --set memory.first_touch_by=driver --set memory.remote_touch=migrate
one_digest "fir, first touch" "${base[@]}" --set workload.name=fir --set workload.fir.size=128KiB
one_digest "fir, first touch with contents, fixed walk latency, merged walks" "${base[@]}" --set workload.name=fir \
  --set workload.fir.size=128KiB --set memory.first_touch_copy=true --set gpu.gmmu.walk_latency=100 \
  --set iommu.walk_latency=500 --set iommu.merge=true --set host.block_order=contiguous_per_sm
one_digest "transpose on eight GPUs and two CPUs, migrating pages mapped by the IOMMUs" "${base[@]}" \
  --set machine.topology=dgx1 --set workload.name=transpose --set workload.transpose.width=256 \
  --set workload.transpose.height=128 --set gpu.sms=4 --set memory.remote_touch=migrate
# A page map as recorded by an earlier run: each page of the two buffers on the GPU of its number.
map=$scratch/map.csv
{
  echo page,device
  for i in $(seq 0 31); do echo "$((0x100000 + i)),gpu$((i * 3 % 4))"; done
} >"$map"
one_digest "transpose on a recorded map" "${base[@]}" --set workload.name=transpose --set workload.transpose.width=256 \
  --set workload.transpose.height=128 --set memory.placement=recorded --set memory.recorded.map="$map"
# All features of the memory side together: partitions, a cache in front of memory, refresh, turn-around, write-back.
memory_side=("${base[@]}" "${interleaved[@]}" --set gpu.sms=4 --set gpu.l2_cache.size=64KiB
  --set gpu.l2_cache.write_back_at_kernel_end=true --set gpu.memory_cache.size=256KiB --set gpu.dram.t_refi=1us
  --set gpu.dram.t_rfc=100ns --set gpu.dram.t_wtr=8ns --set gpu.dram.t_rtw=2ns --set gpu.dram.scheduler=frfcfs_batched --set workload.name=transpose
  --set workload.transpose.width=256 --set workload.transpose.height=128)
one_digest "transpose, L2 caches with two partitions" "${memory_side[@]}" --set gpu.l2_cache.partitions=2
one_digest "transpose, an L2 cache for every SM, migrating pages" "${memory_side[@]}" --set gpu.l2_cache.partitions=4 \
  --set gpu.l2_cache.miss_path=memory --set memory.remote_touch=migrate
cluster=("${base[@]}" --set machine.topology=two-gpu --set machine.cluster.machines=3 --set gpu.sms=4
  --set workload.name=transpose --set workload.transpose.width=256 --set workload.transpose.height=128
  --set memory.remote_touch=migrate)
one_digest "transpose on three independent machines, migrating pages" "${cluster[@]}"
one_digest "transpose on three machines with shared memory, migrating pages" "${cluster[@]}" --set memory.scope=cluster
# Two page sizes: some pages are placed before the first kernel, others mapped at their first touch.
two_sizes=("${base[@]}" --set workload.name=transpose --set workload.transpose.width=1024
  --set workload.transpose.height=512 --set gpu.sms=4 --set gpu.l1_tlb.entries=4 --set gpu.l1_tlb.ways=4
  --set gpu.l2_tlb.entries=32)
one_digest "transpose, large pages for the input, interleaved" "${two_sizes[@]}" "${interleaved[@]}" \
  --set memory.large_pages=input
one_digest "transpose, large pages for the output, first touch with contents by the driver" "${two_sizes[@]}" \
  --set memory.large_pages=output --set memory.first_touch_by=driver --set memory.first_touch_copy=true
one_digest "transpose, migrating pages of 64 KiB" "${two_sizes[@]}" "${interleaved[@]}" --set memory.page_size=64KiB \
  --set memory.remote_touch=migrate
paging=(--set memory.placement=cpu --set memory.remote_touch=migrate --set memory.fault_path=gpu --set gpu.sms=4
  --set memory.gpu_share=0.5 --set driver.migrations=64 --set driver.batch.eviction_unit=16KiB)
one_digest "transpose, faults in batches, unobtrusive eviction" "${two_sizes[@]}" "${paging[@]}" \
  --set driver.batch.replay=page --set driver.batch.eviction_schedule=unobtrusive --set gpu.gmmu.fault_buffer=16
one_digest "transpose, faults in batches, random eviction, buffer flushed" "${two_sizes[@]}" "${paging[@]}" \
  --set driver.batch.replay=batch_flush --set driver.batch.eviction_order=random
one_digest "bfs, read-only copies on every reading GPU" "${base[@]}" --set workload.name=bfs \
  --set workload.bfs.rmat.scale=9 --set gpu.sms=4 --set gpu.l1_tlb.entries=4 --set gpu.l1_tlb.ways=4 \
  --set memory.remote_touch=duplicate --set memory.fault_path=gpu --set memory.first_touch_by=driver
few=(--set gpu.sm.max_blocks=2 --set gpu.sm.registers=16384 --set driver.batch.replay=page)
one_digest "transpose, thread oversubscription, contexts saved" "${two_sizes[@]}" "${paging[@]}" "${few[@]}" \
  --set gpu.sm.thread_blocks=thread_oversubscription --set gpu.sm.thread_oversubscription.period=1000
one_digest "transpose, throttling" "${two_sizes[@]}" "${paging[@]}" "${few[@]}" \
  --set gpu.sm.thread_blocks=throttling --set gpu.sm.throttling.detection=1000 --set gpu.sm.throttling.execution=2000
# Two applications on their own SMs, on shared ones, and on overlapping GPUs; one starts late, one is relaunched.
both=$scratch/both.toml
cat >"$both" <<'END'
include = ["paper-gmmu-bypass"]
gpu.sms = 4
[[application]]
name = "filter"
workload = "fir"
fir.size = "64 KiB"
repeats = 2
[[application]]
name = "graph"
workload = "bfs"
bfs.rmat.scale = 9
bfs.rmat.edge_factor = 8
start = "3 us"
END
one_digest "fir and bfs on separate SMs" "$both" --set application.filter.sms=1 --set application.graph.sms=3
one_digest "fir and bfs on shared SMs, migrating pages" "$both" --set memory.remote_touch=migrate "${interleaved[@]}"
one_digest "fir and bfs on overlapping GPUs, first touch by the driver, write-back at kernel end" "$both" \
  --set application.filter.gpus=0-1 --set application.graph.gpus=1-3 --set memory.first_touch_by=driver \
  --set gpu.l2_cache.write_back_at_kernel_end=true
one_digest "relaunched fir with copies and allocations, equal shares" "$both" \
  --set application.filter.relaunch=true --set application.filter.copies=true --set application.filter.allocates=true \
  --set application.filter.sms=equal --set application.graph.sms=equal
one_digest "fir with copies, migrating pages" "${base[@]}" --set workload.name=fir --set workload.fir.size=64KiB \
  --set workload.copies=true --set memory.remote_touch=migrate --set gpu.sms=4 "${interleaved[@]}"
one_digest "four pointer chases in three streams" "${base[@]}" --set workload.name=pointer_chase \
  --set workload.pointer_chase.hops=500 --set workload.pointer_chase.chains=4 --set workload.pointer_chase.streams=3 \
  --set workload.copies=true
one_digest "pointer chase" "${base[@]}" --set workload.name=pointer_chase --set workload.pointer_chase.hops=2000
one_digest "stream with writes on eight GPUs" "${base[@]}" --set machine.topology=dgx1 --set workload.name=stream \
  --set workload.stream.bytes=512KiB --set workload.stream.write_fraction=0.4 --set gpu.sms=8
one_digest "stream stopped before its end" "${base[@]}" --set workload.name=stream --set workload.stream.bytes=1MiB \
  --set memory.placement=first_touch --set run.sample_interval=700ns \
  --set run.sample_doubling=4 --until 9us
one_digest "transpose on all SMs, with more samples than are free: their times follow from the events" "${base[@]}" \
  --set workload.name=transpose --set workload.transpose.width=256 --set workload.transpose.height=256
finish
