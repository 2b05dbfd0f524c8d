# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the examples: the top folder as the working folder, the program as $farfault, Python with the package farfault.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
farfault=${PRESET_DIR:-build/release}/farfault
if [ ! -x "$farfault" ]; then
  echo "farfault: the program '$farfault' is missing; build it with bench/demo, or set PRESET_DIR to a build folder" >&2
  exit 2
fi
export PYTHONPATH=hdf5_schemas/python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
results=results/examples/$(basename "$(dirname "$0")")
mkdir -p "$results"
