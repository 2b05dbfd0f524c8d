# SPDX-License-Identifier: Apache-2.0
"""Names of groups and datasets that schema_version 3 has changed. Older files are read under the new names."""

# Also in format/src/file/renamed.hpp.
NOW = {"blocks_given_way": "blocks_swapped_out", "sm_blocks_given_way": "sm_blocks_swapped_out",
       "time_under_way": "time_outstanding", "sm_time_under_way": "sm_time_outstanding", "under_way": "outstanding"}
BEFORE = {now: before for before, now in NOW.items()}
