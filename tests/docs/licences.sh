#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source file names its licence, in the first lines, as SPDX has it; LICENSE is its text.
. "$(dirname "$0")/../support/script.sh"

# Third-party code, with its licence in the same folder.
foreign='^cli/report/uplot\.'
without=$(git ls-files | grep -E '\.(cpp|hpp|py|sh|bash|cmake|sbatch|js|css)$|CMakeLists\.txt$' | grep -vE "$foreign|/corpus/" |
  while read -r file; do head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$file"; done)
check "all sources name the licence; these do not: $without" test -z "$without"
check "LICENSE is the Apache License 2.0" grep -q 'Apache License' LICENSE
check "third-party code has its licence in the same folder" grep -q 'MIT' cli/report/uplot.LICENSE

scripts=$(git ls-files -s | awk '$1 == "100755" { print $4 }' |
  while read -r file; do head -c 2 "$file" | grep -q '#!' || continue
    head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$file"; done)
check "all scripts name the licence; these do not: $scripts" test -z "$scripts"
finish
