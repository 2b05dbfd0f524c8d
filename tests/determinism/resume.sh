#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run that was stopped, killed, or lost a rank has the digest of an uninterrupted run when it is resumed with another
# placement.
#
#   tests/determinism/resume.sh [STOPS [SEED]]    STOPS (1): SIGTERMs per model; the last model gets three
#                                                 times as many SIGKILLs; SEED: seed of their times
. "$(dirname "$0")/../support/script.sh"
stops=${1:-1}
seed=${2:-$RANDOM}
RANDOM=$seed
echo "moments of seed $seed"

# placements of resumed runs: ranks, threads, and further arguments
elsewhere=("1 2 --partitions device" "1 1 --partitions one" "1 4 --partitions split --no-merge")
have_ranks && elsewhere=("1 2 --partitions device" "2 1 --partitions split" "3 1 --partitions one"
  "1 1 --partitions one" "3 2 --partitions split --no-merge" "1 4 --partitions split --no-merge")
turn=0

file=$scratch/run.h5 saved=$scratch/run.checkpoint log=$scratch/log
model=() every=()

# command_line RANKS THREADS WORD ...: leaves the command in `command`
command_line() {
  local ranks=$1 threads=$2
  shift 2
  command=("$farfault")
  [ "$ranks" -gt 1 ] && command=(mpirun -n "$ranks" "$farfault")
  command+=(run "${model[@]}" --output "$file" --threads "$threads" --progress off "$@")
}

# Resumes the run with the next placement, or restarts it if it never wrote a checkpoint.
resume_elsewhere() {
  local words=(--checkpoint "$saved" "${every[@]}")
  [ -e "$saved" ] && words+=(--resume "$saved")
  placement=${elsewhere[turn++ % ${#elsewhere[@]}]}
  # shellcheck disable=SC2086
  command_line $placement "${words[@]}"
  timeout 900 "${command[@]}" >"$log" 2>&1
}

# right WHAT: the file is valid and has the digest of the uninterrupted run
right() {
  local digest
  digest=$(digest_of "$file")
  if [ "$digest" = "$reference" ] && "$farfault" validate "$file" >"$scratch/validate" 2>&1; then
    pass
  else
    fail "$1, resumed with '$placement': digest '$digest', not '$reference'"
    tail -n 5 "$log" "$scratch/validate" 2>/dev/null
  fi
}

# The uninterrupted run, without checkpoints and with them.
undisturbed() {
  command_line 1 1
  "${command[@]}" >"$log" 2>&1 || cat "$log"
  reference=$(digest_of "$file")
  check "$1 runs" [ -n "$reference" ]
  command_line 1 1 --checkpoint "$saved" "${every[@]}"
  "${command[@]}" >"$log" 2>&1
  check "checkpoints do not affect the result of $1" [ "$(digest_of "$file")" = "$reference" ]
}

# Waits until the run has saved one to three checkpoints or has ended: reached on a machine of any speed.
a_moment() {
  local left=$((RANDOM % 3 + 1)) last="" now
  while [ "$left" -gt 0 ] && kill -0 "$running" 2>/dev/null; do
    now=$(stat -c '%i %y' "$saved" 2>/dev/null)
    [ "$now" != "$last" ] && left=$((left - 1))
    last=$now
    sleep 0.01
  done
}

# starts PLACEMENT: runs with checkpoints in the background, from the beginning
starts() {
  rm -f "$file"* "$saved"*
  # shellcheck disable=SC2086
  command_line $1 --checkpoint "$saved" "${every[@]}"
  "${command[@]}" >"$log" 2>&1 &
  running=$!
}

interrupted=0
# stopped_by SIGNAL NAME PLACEMENT: a run stopped by a signal at a random moment and resumed
stopped_by() {
  local code
  starts "$3"
  a_moment
  kill -s "$1" "$running" 2>/dev/null
  wait "$running"
  code=$?
  if [ "$code" -ne 0 ] && [ -e "$saved" ]; then
    interrupted=$((interrupted + 1))
    grep -qF -- "--resume $saved" "$log" || fail "$2 stopped by $1 does not print how to resume: $(tail -n 1 "$log")"
  fi
  # A signal before the first event finds no run to save; after the last event there is a result.
  [ "$code" -ne 0 ] && ! resume_elsewhere && fail "$2 stopped by $1 cannot be resumed: $(tail -n 1 "$log")"
  right "$2 stopped by $1"
}

killed() { # NAME
  starts "1 2"
  a_moment
  sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"  # at any time between two checkpoints
  kill -KILL "$running" 2>/dev/null
  if ! { wait "$running"; } 2>/dev/null; then
    interrupted=$((interrupted + 1))
    resume_elsewhere || fail "$1 cannot be resumed after a kill: $(tail -n 1 "$log")"
  fi
  right "$1 that was killed"
}

try() {  # NAME: stops the model under test STOPS times, and more often if it ended first each time
  undisturbed "$1"
  interrupted=0
  for _ in $(seq "$stops"); do stopped_by TERM "$1" "1 1"; done
  for _ in $(seq 20); do
    [ "$interrupted" -gt 0 ] && break
    stopped_by TERM "$1" "1 1"
  done
  have_ranks && stopped_by USR1 "$1" "2 1"
  check "a signal reached $1 before its end" [ "$interrupted" -gt 0 ]
}

every=(--checkpoint-every 50us)
model=(paper-gmmu-bypass --set workload.name=bfs --set workload.bfs.rmat.scale=11)
try "bfs"
model=(paper-gmmu-bypass --set workload.name=transpose --set workload.transpose.width=1024
  --set workload.transpose.height=512 --set memory.placement=first_touch)
try "transpose"
model=(paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=16MiB
  --set workload.stream.write_fraction=0.4)
try "stream with writes"
both=$scratch/both.toml
cat >"$both" <<'END'
include = ["paper-gmmu-bypass"]
[[application]]
name = "graph"
workload = "bfs"
bfs.rmat.scale = 11
[[application]]
name = "filter"
workload = "fir"
fir.size = "512 KiB"
start = "20 us"
repeats = 3
END
model=("$both")
try "two applications on shared SMs"
model=("$both" --set application.filter.relaunch=true --set application.filter.allocates=true)
try "two applications on shared SMs, one relaunched"
model=(paper-gmmu-bypass --set workload.name=transpose --set workload.transpose.width=1024
  --set workload.transpose.height=512 --set memory.remote_touch=migrate)
try "transpose, migrating pages"
model=(paper-gmmu-bypass --set workload.name=transpose --set workload.transpose.width=1024
  --set workload.transpose.height=512 --set memory.placement=interleave --set memory.remote_touch=migrate
  --set gpu.l2_cache.partitions=4 --set gpu.l2_cache.miss_path=memory --set gpu.l2_cache.write_back_at_kernel_end=true
  --set gpu.l2_cache.size=64KiB --set gpu.memory_cache.size=256KiB --set gpu.dram.t_refi=1us --set gpu.dram.t_rfc=100ns
  --set gpu.dram.t_wtr=8ns --set gpu.dram.t_rtw=2ns --set gpu.dram.scheduler=frfcfs_batched)
try "transpose, an L2 cache for every 9 SMs, migrating pages"
model=(paper-gmmu-bypass --set workload.name=transpose --set workload.transpose.width=1024
  --set workload.transpose.height=512 --set memory.remote_touch=migrate --set machine.topology=two-gpu
  --set machine.cluster.machines=2)
try "transpose on two independent machines, migrating pages"
model=(paper-gmmu-bypass --set workload.name=transpose --set workload.transpose.width=1024
  --set workload.transpose.height=512 --set memory.large_pages=input --set memory.first_touch_copy=true
  --set memory.first_touch_by=driver)
try "transpose, two page sizes"
model=(paper-gmmu-bypass --set workload.name=pointer_chase --set workload.pointer_chase.chains=7
  --set workload.pointer_chase.streams=3 --set workload.pointer_chase.hops=3000 --set workload.copies=true)
try "pointer chases in three streams, with copies"

for path in iommu gpu; do
  model=(paper-gmmu-bypass --set workload.name=transpose --set workload.transpose.width=1024
    --set workload.transpose.height=512 --set memory.remote_touch=migrate --set memory.first_touch_by=driver
    --set memory.fault_path=$path)
  [ $path = gpu ] && model+=(--set gpu.gmmu.fault_buffer=4) || model+=(--set iommu.fault_buffer=4)
  try "transpose, outstanding rejected faults ($path), migrating pages"
done

model=(paper-gmmu-bypass --set workload.name=transpose --set workload.transpose.width=1024
  --set workload.transpose.height=128 --set gpu.sms=4 --set memory.placement=cpu --set memory.remote_touch=migrate
  --set memory.fault_path=gpu --set memory.gpu_share=0.5 --set driver.migrations=64
  --set driver.batch.eviction_unit=16KiB --set driver.batch.replay=page --set driver.batch.eviction_schedule=unobtrusive)
try "transpose, faults in batches, pages evicted"
model+=(--set gpu.sm.max_blocks=2 --set gpu.sm.registers=16384 --set gpu.sm.thread_blocks=thread_oversubscription
  --set gpu.sm.thread_oversubscription.period=1000)
try "transpose, thread oversubscription, contexts saved"

# Table rows are written during the run: a killed run has the rows up to its last flush.
rows_of() { # FILE TABLE
  /usr/bin/python3 -c 'import sys, h5py; print(len(h5py.File(sys.argv[1])["tables"][sys.argv[2]]["page"]))' "$1" "$2" || echo 0
}
if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
  model=(paper-gmmu-bypass --set workload.name=relu --set workload.relu.size=64MiB)
  every=(--checkpoint-every 200us)
  starts "1 1"
  while kill -0 "$running" 2>/dev/null && [ ! -e "$saved.previous" ]; do sleep 0.01; done # the second checkpoint
  kill -KILL "$running" 2>/dev/null
  { wait "$running"; } 2>/dev/null
  check "the result of a killed run has its first touches" [ "$(rows_of "$file.partial" first_touches)" -gt 100 ]
else
  echo "skipped: h5py is missing, rows of a killed run are not read"
fi

# Checkpoints by wall-clock time; a kill interrupts some of them.
model=(paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=16MiB
  --set workload.stream.write_fraction=0.4)
every=(--checkpoint-minutes 0.002)
undisturbed "stream, periodic checkpoints,"
interrupted=0
for _ in $(seq $((3 * stops))); do killed "stream"; done
for _ in $(seq 20); do
  [ "$interrupted" -gt 0 ] && break
  killed "stream"
done
check "a kill reached the run before its end" [ "$interrupted" -gt 0 ]

# The loss of one rank ends all ranks, with a message that names it.
if have_ranks; then
  model=(paper-gmmu-bypass --set workload.name=stream --set workload.stream.bytes=128MiB)
  every=()
  starts "3 1"
  for _ in $(seq 3000); do
    mapfile -t ranks < <(pgrep -P "$running" farfault)
    [ "${#ranks[@]}" -eq 3 ] && [ -e "$file.partial" ] && break
    sleep 0.1
  done
  check "the run on three ranks" [ "${#ranks[@]}" -eq 3 ]
  kill -KILL "${ranks[1]}"
  for _ in $(seq 3000); do
    kill -0 "$running" 2>/dev/null || break
    sleep 0.1
  done
  check "all ranks end if one is killed" eval '! kill -0 "$running" 2>/dev/null'
  kill -KILL "$running" "${ranks[@]}" 2>/dev/null
  { wait "$running"; } 2>/dev/null
  check "a lost rank is an error" [ $? -ne 0 ]
  check "the message names the rank" grep -q 'rank [0-2] with PID' "$log"
fi
finish
