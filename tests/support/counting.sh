# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by tests/run and .ci/run: runs tests and counts them. A function that runs tests prints a line of what passed,
# failed and was skipped, and adds it to the totals; print_total prints the last line.
#
# The caller sets logs=FOLDER, which is emptied here.
passed=0 failed=0 skipped=0
rm -rf "${logs:?}"
mkdir -p "$logs"

# mpirun refuses root, and more ranks than cores, unless told.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_hwloc_base_binding_policy=none
export PYTHONDONTWRITEBYTECODE=1

# count NAME PASSED FAILED SKIPPED LOG: with the seconds since the line before, a build between them included.
counted_at=$SECONDS
count() {
  local took=$((SECONDS - counted_at))
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

# run_doctest PROGRAM [NAME]: every case counts; a program that crashes is one failure more.
run_doctest() {
  local program=$1 name=${2:-$(basename "$1")} log code line good bad skip
  log=$logs/$name.log
  mkdir -p "$(dirname "$log")"
  timeout 1200 "$program" --no-colors >"$log" 2>&1
  code=$?
  line=$(grep -a '^\[doctest\] test cases:' "$log" | tail -n 1)
  good=$(sed -nE 's/.*\| *([0-9]+) passed.*/\1/p' <<<"$line")
  bad=$(sed -nE 's/.*\| *([0-9]+) failed.*/\1/p' <<<"$line")
  good=${good:-0} bad=${bad:-0}
  [ "$code" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
  skip=$(grep -aoE 'skipped: [^:]+:' "$log" | sort -u | wc -l)
  [ "$skip" -gt "$good" ] && skip=$good
  count "$name" $((good - skip)) "$bad" "$skip" "$log"
}

# run_script FILE COMMAND [WORD ...]: runs `COMMAND FILE WORD ...`. A last line "N passed, N failed" is believed. In two
# steps, execute_script in the background and count_script when it has ended, another one runs beside.
run_script() {
  execute_script "$@"
  count_script "$1"
}
log_of_script() {
  echo "$logs/$(tr / _ <<<"$1").log"
}
execute_script() {
  local file=$1 command=$2 log
  log=$(log_of_script "$file")
  shift 2
  timeout 1200 "$command" "$file" "$@" >"$log" 2>&1
  echo $? >"$log.code"
}
count_script() {
  local file=$1 log code line good=1 bad=0
  log=$(log_of_script "$file")
  code=$(cat "$log.code")
  [ "$code" -eq 77 ] && { count "$file" 0 0 1 "$log"; return; }
  line=$(tail -n 1 "$log")
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    good=${BASH_REMATCH[1]} bad=${BASH_REMATCH[2]}
  elif [ "$code" -ne 0 ]; then
    good=0
  fi
  [ "$code" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
  count "$file" "$good" "$bad" 0 "$log"
}

# print_total: the last line; fails when a test did, or none ran.
print_total() {
  local line="$passed passed, $failed failed"
  [ "$skipped" -gt 0 ] && line+=", $skipped skipped"
  echo "$line"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
