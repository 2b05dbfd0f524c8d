# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the tests of bench/slurm: a Slurm of one node, with its own munge, in one folder. It shares no file, socket,
# key or port with another Slurm on this computer, and needs neither systemd nor control groups.
#
#   missing_for_cluster      prints briefly why a cluster cannot run here; prints nothing if it can
#   start_cluster FOLDER     partitions batch and urgent; urgent jobs preempt batch jobs; false if it does not start
#   stop_cluster             ends all daemons and jobs; call it in every case
#   job_state ID             PENDING, RUNNING, COMPLETED, ...
#   wait_until SECONDS COMMAND ...
#   show_logs                the daemons' logs, after a failure

cluster_daemons=()

missing_for_cluster() {
  local program
  [ "$(id -u)" -eq 0 ] || { echo "only root can start Slurm's daemons"; return; }
  for program in munged mungekey slurmctld slurmd sbatch srun scontrol; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null ||
      { echo "$program is missing (Debian: munge, slurmctld, slurmd, slurm-client)"; return; }
  done
}

wait_until() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

# Below the range of ephemeral ports.
free_port() {
  local port
  for _ in {1..100}; do
    port=$((20000 + RANDOM % 10000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
  return 1
}

write_slurm_conf() {
  local node control_port node_port
  node=$(hostname -s)
  control_port=$(free_port) && node_port=$(free_port) || return 1
  [ "$control_port" -ne "$node_port" ] || node_port=$((control_port + 1))
  # Memory and cores are the templates' values, whatever the machine has (config_overrides).
  # An arriving start time is not an event for Slurm's scheduler: sched_interval.
  cat >"$SLURM_CONF" <<END
ClusterName=farfault_test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$control_port
SlurmdPort=$node_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$cluster/munge/socket
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1,sched_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=30
MinJobAge=3600
ReturnToService=2
MailProg=/bin/true
NodeName=$node NodeAddr=127.0.0.1 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=65536
PartitionName=batch Nodes=$node Default=YES MaxTime=UNLIMITED State=UP PriorityTier=1
PartitionName=urgent Nodes=$node MaxTime=UNLIMITED State=UP PriorityTier=2
END
  echo "PMIxCliTmpDirBase=$cluster/tmp" >"$cluster/mpi.conf"
}

start_cluster() {
  cluster=$1
  local name
  # A job of another Slurm may have started this script.
  for name in $(compgen -e | grep -E '^(SLURM|SBATCH|SRUN|PMIX?_|PMIX|OMPI_COMM)'); do unset "$name"; done
  export PATH=$PATH:/usr/sbin SLURM_CONF=$cluster/slurm.conf TMPDIR=$cluster/tmp
  mkdir -p "$cluster"/{munge,state,spool,tmp}
  chmod 711 "$cluster" "$cluster/munge"  # munged requires a path to its socket that is accessible to everyone
  write_slurm_conf || return 1
  mungekey --create --keyfile="$cluster/munge/key" || return 1
  munged --foreground --num-threads=2 --key-file="$cluster/munge/key" --socket="$cluster/munge/socket" \
    --pid-file="$cluster/munge/pid" --log-file="$cluster/munge/log" --seed-file="$cluster/munge/seed" \
    >"$cluster/munge.out" 2>&1 &
  cluster_daemons+=($!)
  wait_until 20 test -S "$cluster/munge/socket" || return 1
  slurmctld -D -i -f "$SLURM_CONF" >"$cluster/slurmctld.out" 2>&1 &
  cluster_daemons+=($!)
  wait_until 20 answers || return 1
  slurmd -D -f "$SLURM_CONF" >"$cluster/slurmd.out" 2>&1 &
  cluster_daemons+=($!)
  wait_until 30 node_is_idle
}
# shellcheck disable=SC2317 # called by wait_until
answers() { [[ $(scontrol ping 2>&1) == *"is UP"* ]]; }
# shellcheck disable=SC2317
node_is_idle() { [ "$(sinfo -h -p batch -o %T 2>/dev/null)" = idle ]; }

# All processes started inside the cluster: daemons, their helpers, jobs. Only they have this SLURM_CONF.
cluster_processes() {
  env -u SLURM_CONF grep -lzxF "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\n'
}
# shellcheck disable=SC2317
cluster_is_gone() { [ -z "$(cluster_processes)" ]; }

stop_cluster() {
  [ -n "${cluster:-}" ] || return 0
  local signal
  # Jobs first, while slurmd can still end them; then all daemons.
  timeout 10 scancel --user="$(id -un)" 2>/dev/null
  wait_until 10 no_jobs
  for signal in TERM KILL; do
    # shellcheck disable=SC2046
    kill -s "$signal" "${cluster_daemons[@]}" $(cluster_processes) 2>/dev/null
    wait_until 10 cluster_is_gone && break
  done
  wait "${cluster_daemons[@]}" 2>/dev/null
  unset SLURM_CONF TMPDIR
  cluster=
}
# shellcheck disable=SC2317
no_jobs() { [ -z "$(timeout 5 squeue -h 2>/dev/null)" ]; }

job_field() { scontrol show job -o "$1" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }
job_state() { job_field "$1" JobState; }

show_logs() {
  local log
  for log in munge.out slurmctld.out slurmd.out slurmctld.log slurmd.log; do
    [ -s "$cluster/$log" ] || continue
    echo "--- $log"
    tail -n 20 "$cluster/$log"
  done
}
