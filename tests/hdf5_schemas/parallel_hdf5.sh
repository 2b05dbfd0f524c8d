#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Results from an HDF5 library with MPI: the test program, with and without mpirun.
. "$(dirname "$0")/../support/script.sh"
program=$(dirname "$farfault")/parallel_hdf5_check
[ -x "$program" ] || {
  echo "skipped: parallel_hdf5: an HDF5 that is built with MPI (package libhdf5-openmpi-dev) is missing, or is the one in use"
  exit 77
}
"$program" --no-colors >"$scratch/alone" 2>&1
code=$?
check "results are written and read like with the serial library: $(tail -n 5 "$scratch/alone")" [ "$code" -eq 0 ]
have_ranks && check "the same under mpirun" timeout 600 mpirun --quiet -n 1 "$program" --no-colors -tc='*that is built*'
finish
