# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by test scripts: the program, a temporary scratch folder, and a count of checks.
#
#   . "$(dirname "$0")/../support/script.sh"
#   check "what must hold" COMMAND ...      fails and prints its text unless COMMAND exits with 0
#   finish                                  prints "N passed, N failed"; the script's exit code
#
# A test is a line of the script that checks something, itself or by a function that it calls. Executed again, as in a
# loop, it is the same test, which passes if all its checks pass.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
source_dir=$PWD
farfault=$(realpath "${PRESET_DIR:-build/release}/farfault") || exit
data=${FARFAULT_DATA:-$source_dir/../shared/data}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
declare -A failures=() # of each test, by its line
failed_checks=()       # repeated at the end of the output

# The line of the script itself, not of its functions: bash lists the callers' lines, the outermost before a final 0.
pass() { : "${failures[${BASH_LINENO[-2]}]:=0}"; }
fail() {
  failures[${BASH_LINENO[-2]}]=1
  failed_checks+=("FAILED: $*")
  echo "FAILED: $*"
}
check() {
  local what=$1
  shift
  if "$@"; then pass; else fail "$what"; fi
}
finish() {
  local failed=0 each
  for each in "${failures[@]}"; do failed=$((failed + each)); done
  [ "$failed" -eq 0 ] || printf '%s\n' "${failed_checks[@]}"
  echo "$((${#failures[@]} - failed)) passed, $failed failed"
  [ "$failed" -eq 0 ]
}

# By default mpirun refuses to run as root, and with more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_hwloc_base_binding_policy=none
# Not `ldd | grep -q`: with pipefail, ldd fails occasionally, because grep closes the pipe early.
have_ranks() { command -v mpirun >/dev/null && [[ $(ldd "$farfault") == *libmpi* ]]; }

# The result digest of a file.
digest_of() { "$farfault" inspect "$1" --json | sed -nE 's/.*"result_digest":"([0-9a-f]+)".*/\1/p'; }
