#!/usr/bin/env bash
# Threads and ranks that wait give their core away. Three ranks of two threads on fewer cores use little more processor
# time than one thread for the same run, apart from what starting them costs; ranks that kept their cores busy would use
# ten times as much. (1.4 to 2 times on two cores that are otherwise idle; programs that empty the caches at each switch
# add to it, hence the wide bound.)
. "$(dirname "$0")/../support/script.sh"
have_ranks || exit 77
cd "$scratch" || exit

cat >c.toml <<'END'
include = ["paper-gmmu-bypass"]
workload.name = "transpose"
workload.transpose.width = 1024
workload.transpose.height = 4096
END
run=("$farfault" run c.toml --progress off)

# cpu_time COMMAND ...: milliseconds of processor time, user and system, of the command and all it has started
cpu_time() {
  python3 - "$@" <<'END'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True, timeout=600)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round(1000 * (used.ru_utime + used.ru_stime)))
END
}

one=$(cpu_time "${run[@]}" --threads 1 --output one.h5)
one_start=$(cpu_time "${run[@]}" --threads 1 --until 1ns --output one_start.h5)
six=$(cpu_time mpirun --quiet -n 3 "${run[@]}" --threads 2 --output six.h5)
six_start=$(cpu_time mpirun --quiet -n 3 "${run[@]}" --threads 2 --until 1ns --output six_start.h5)

[ -n "$one" ] && [ -n "$one_start" ] && [ -n "$six" ] && [ -n "$six_start" ] || exit 1
check "one digest" [ "$(digest_of one.h5)" = "$(digest_of six.h5)" ]
check "the run is long beside its start: $one ms, $one_start ms" [ "$one" -ge $((2 * one_start)) ]
echo "one thread $one ms, of these $one_start to start; 3 ranks x 2 threads $six ms, of these $six_start to start"
check "3 ranks x 2 threads take at most 5 times one thread's processor time" \
  [ $((six - six_start)) -le $((5 * (one - one_start))) ]
finish
