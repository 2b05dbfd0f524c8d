# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by tests/run and .ci/run: runs tests and counts them. A function that runs tests prints a line with the
# passed, failed and skipped tests, and adds them to the totals; print_total prints the last line.
#
# The caller sets logs=FOLDER, which is emptied here.
passed=0 failed=0 skipped=0
rm -rf "${logs:?}"
mkdir -p "$logs"

# By default mpirun rejects root and more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_hwloc_base_binding_policy=none
export PYTHONDONTWRITEBYTECODE=1

# count NAME PASSED FAILED SKIPPED LOG [SECONDS]. Default: seconds since the previous line, including a build in
# between.
counted_at=$SECONDS
count() {
  local took=${6:-$((SECONDS - counted_at))}
  counted_at=$SECONDS
  passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
  printf '%-28s %5d passed' "$1" "$2"
  [ "$4" -gt 0 ] && printf ', %d skipped' "$4"
  if [ "$3" -gt 0 ]; then
    printf ', %d FAILED in %d s\n' "$3" "$took"
    tail -n 60 "$5" | sed 's/^/    /'
  else
    printf ' in %d s\n' "$took"
  fi
  [ "$4" -gt 0 ] && grep -o 'skipped: .*' "$5" | sort -u | sed 's/^/    /'
  return 0
}

# execute LOG COMMAND [WORD ...]: records output, exit code and duration for a later count.
execute() {
  local log=$1 began=$SECONDS
  shift
  mkdir -p "$(dirname "$log")"
  timeout 1200 "$@" >"$log" 2>&1
  echo "$? $((SECONDS - began))" >"$log.ended"
}

# count_doctest NAME LOG: every case counts; a crash counts as one more failure.
count_doctest() {
  local name=$1 log=$2 code took line good bad skip
  read -r code took <"$log.ended"
  line=$(grep -a '^\[doctest\] test cases:' "$log" | tail -n 1)
  good=$(sed -nE 's/.*\| *([0-9]+) passed.*/\1/p' <<<"$line")
  bad=$(sed -nE 's/.*\| *([0-9]+) failed.*/\1/p' <<<"$line")
  good=${good:-0} bad=${bad:-0}
  [ "$code" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
  skip=$(grep -aoE 'skipped: [^:]+:' "$log" | sort -u | wc -l)
  [ "$skip" -gt "$good" ] && skip=$good
  count "$name" $((good - skip)) "$bad" "$skip" "$log" "$took"
}

# count_script NAME LOG: uses a last line "N passed, N failed" if present.
count_script() {
  local name=$1 log=$2 code took line good=1 bad=0
  read -r code took <"$log.ended"
  [ "$code" -eq 77 ] && { count "$name" 0 0 1 "$log" "$took"; return; }
  line=$(tail -n 1 "$log")
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    good=${BASH_REMATCH[1]} bad=${BASH_REMATCH[2]}
  elif [ "$code" -ne 0 ]; then
    good=0
  fi
  [ "$code" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
  count "$name" "$good" "$bad" 0 "$log" "$took"
}

# run_script FILE COMMAND: runs one test in the foreground.
run_script() {
  execute "$logs/$(tr / _ <<<"$1").log" "$2" "$1"
  count_script "$1" "$logs/$(tr / _ <<<"$1").log"
}

# Several at a time: `start KIND NAME COMMAND [WORD ...]` begins a test (KIND: doctest or script) as soon as fewer than
# $at_a_time run; finish_all waits for the rest. Each is counted when it has ended. Three tests keep two cores busy:
# tests of ranks and of Slurm often wait.
at_a_time=${FARFAULT_TESTS_AT_A_TIME:-3}
running=()
start() {
  local kind=$1 name=$2
  shift 2
  until [ "${#running[@]}" -lt "$at_a_time" ]; do count_one; done
  local log
  log=$logs/$(tr / _ <<<"$name").log
  execute "$log" "$@" &
  running+=("$! $kind $name $log")
}
count_one() {
  local i pid kind name log
  wait -n
  for i in "${!running[@]}"; do
    read -r pid kind name log <<<"${running[i]}"
    kill -0 "$pid" 2>/dev/null && continue
    unset "running[$i]"
    [ -f "$log.ended" ] || echo "1 0" >"$log.ended" # the shell that ran it was killed
    "count_$kind" "$name" "$log"
  done
}
finish_all() {
  while [ "${#running[@]}" -gt 0 ]; do count_one; done
}

# print_total: the last line; fails if a test failed or none ran.
print_total() {
  local line="$passed passed, $failed failed"
  [ "$skipped" -gt 0 ] && line+=", $skipped skipped"
  echo "$line"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
