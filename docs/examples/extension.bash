# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the examples that build a program against an installed Farfault.

# build_extension NAME: builds the project tests/extension/NAME; its program is then in $folder. FARFAULT_EXTENSIONS names a
# folder of projects that are already built.
build_extension() {
  local prefix=${FARFAULT_PREFIX:-$PWD/build/prefix} log=$results/build.log
  folder=${FARFAULT_EXTENSIONS:-build/extensions}/$1
  [ -z "${FARFAULT_EXTENSIONS:-}" ] || return 0
  if { [ -n "${FARFAULT_PREFIX:-}" ] || cmake --install "$(dirname "$farfault")" --prefix "$prefix"; } >"$log" 2>&1 &&
    cmake -S "tests/extension/$1" -B "$folder" -DCMAKE_PREFIX_PATH="$prefix" >>"$log" 2>&1 &&
    cmake --build "$folder" >>"$log" 2>&1; then
    return
  fi
  cat "$log" >&2
  echo "farfault: tests/extension/$1 cannot be built; see the output above" >&2
  exit 1
}
