#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Instructions per memory transaction of ten workloads, counted by callgrind, must not exceed the table of bench/models
# by more than 3%. A change that needs more explains why and updates the table: bench/models/run --update.
. "$(dirname "$0")/../support/script.sh"
bench/models/run --check --build "$(dirname "$farfault")"
