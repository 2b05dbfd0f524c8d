#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Instructions per memory transaction of ten workloads, counted by callgrind: not more than 3 % above the table of
# bench/models. A change that needs more says why, and writes the table anew: bench/models/run --update.
. "$(dirname "$0")/../support/script.sh"
bench/models/run --check --build "$(dirname "$farfault")"
