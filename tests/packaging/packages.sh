#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages of the existing build: metadata, file locations, and whether the program, the libraries and the
# Python package work from the unpacked tree.
. "$(dirname "$0")/../support/script.sh"
for tool in cpack dpkg-deb dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is missing"; exit 77; }
done
build=$(dirname "$farfault")

# The handbook, which is packed if it is built.
handbook=
if /usr/bin/python3 -c 'import sphinx, myst_parser, furo, h5py' 2>/dev/null; then
  check "the handbook is built: $(docs/build "$farfault" 2>&1 | tail -3)" test -s build/docs/html/index.html
  handbook=yes
fi

# Compressed for speed, not for size.
cpack -G DEB -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip --config "$build/CPackConfig.cmake" -B "$scratch/packages" >"$scratch/log" 2>&1 ||
  { cat "$scratch/log"; fail "cpack -G DEB"; finish; exit 1; }
root=$scratch/root
mkdir "$root"
shopt -s nullglob
for name in farfault libfarfault-dev python3-farfault; do
  file=("$scratch/packages/${name}"_*.deb)
  check "one package $name, not: ${file[*]}" test "${#file[@]}" -eq 1
  check "$name is unpacked" dpkg-deb -x "${file[0]}" "$root/$name"
done
package() { echo "$scratch/packages/$1"_*.deb; }
field() { dpkg-deb -f "$(package "$1")" "$2"; }

# The archive of a release.
cpack -G TGZ --config "$build/CPackConfig.cmake" -B "$scratch/packages" >"$scratch/log" 2>&1 || cat "$scratch/log"
archives=("$scratch"/packages/*.tar.gz)
for archive in "${archives[@]}"; do tar -tzf "$archive"; done >"$scratch/archived"
for file in bin/farfault share/doc/farfault/README.md ${handbook:+share/doc/farfault/html/index.html}; do
  check "the archive has $file" grep -q "/$file\$" "$scratch/archived"
done
rm -f "${archives[@]}"

# Metadata.
version=$("$farfault" --version | cut -d' ' -f2)
for name in farfault libfarfault-dev python3-farfault; do
  check "$name has the program's version, not $(field $name Version)" test "$(field $name Version)" = "$version"
  check "$name has a short and a long description" test "$(field $name Description | grep -c .)" -ge 3
  check "$name has its licence" cmp -s LICENSE "$root/$name/usr/share/doc/$name/copyright"
  check "$name: all files are owned by root and writable only by root" eval \
    '! dpkg-deb -c "$(package $name)" | grep -vE "^(d|-)r[w-][x-]r-[x-]r-[x-] root/root "'
done
check "the program is for this architecture" test "$(field farfault Architecture)" = "$(dpkg --print-architecture)"
check "the Python package is for all architectures" test "$(field python3-farfault Architecture)" = all
depends=" $(field farfault Depends | sed 's/([^)]*)//g; s/,/ /g') "
loaded=$(ldd "$farfault")
for library in $(objdump -p "$farfault" | sed -n 's/^ *NEEDED *//p'); do
  path=$(awk -v name="$library" '$1 == name { print $3 }' <<<"$loaded")
  [ -n "$path" ] || continue # the loader itself
  owner=$({ dpkg-query -S "$path" || dpkg-query -S "/usr$path"; } 2>/dev/null | head -1 | cut -d: -f1)
  names=$(dpkg-query -W -f '${Package} ${Provides}' "$owner" | sed 's/([^)]*)//g; s/,/ /g')
  found=
  for name in $names; do [ "${depends/ $name /}" = "$depends" ] || found=$name; done
  check "$library belongs to $owner, which is in: $depends" test -n "$found"
done
if command -v apt-get >/dev/null; then
  check "apt-get can install all three: $(tail -3 "$scratch/log")" eval \
    'apt-get install --simulate --no-install-recommends "$(package farfault)" "$(package libfarfault-dev)" \
      "$(package python3-farfault)" >"$scratch/log" 2>&1'
fi
if command -v lintian >/dev/null; then
  # Suppressed tags: requirements for packages in Debian itself (no complete licence text, a changelog of the package).
  lintian --fail-on error --allow-root --suppress-tags \
    copyright-file-contains-full-apache-2-license,copyright-not-using-common-license-for-apache2,no-changelog \
    "$scratch/packages/"*.deb >"$scratch/log" 2>&1
  check "lintian finds no error: $(cat "$scratch/log")" test $? -eq 0
else
  echo "skipped: lintian is missing"
fi

# File locations.
check "no file contains the path of the source or the build: $(grep -rlF -e "$source_dir" -e "$build" "$root" | head -3)" \
  eval '! grep -rqF -e "$source_dir" -e "$build" "$root"'
program=$root/farfault/usr/bin/farfault
check "the program has no debugging information" eval '! objdump -h "$program" | grep -q debug_info'
check "the libraries have none either" eval '! objdump -h "$root"/libfarfault-dev/usr/lib/*.a | grep -q debug_info'
for script in one array mpi chain; do
  check "the batch script $script.sbatch is installed" test -x \
    "$root/farfault/usr/share/doc/farfault/examples/slurm/$script.sbatch"
done

# The unpacked handbook.
pages=$root/farfault/usr/share/doc/farfault/html
if [ -n "$handbook" ]; then
  check "the handbook is installed" test -s "$pages/index.html" -a -s "$pages/searchindex.js"
  place=$("$root/farfault/usr/bin/farfault" docs gpu.l2_tlb.entries 2>&1)
  check "the program finds a parameter in it, not: $place" \
    test "$place" = "$pages/reference/parameters/gpu-l2-tlb.html#gpu-l2-tlb-entries"
  check "and the page defines it" grep -q 'id="gpu-l2-tlb-entries"' "${place%#*}"
else
  echo "skipped: Sphinx, MyST or furo is missing: the handbook"
fi
rm -rf "$scratch/alone" && mkdir -p "$scratch/alone/bin" && cp "$farfault" "$scratch/alone/bin"
answer=$("$scratch/alone/bin/farfault" docs 2>&1)
check "without the handbook, exit code 2 and one sentence, not: $answer" test "$? $answer" = \
  "2 farfault: the handbook is not installed: $scratch/alone/share/doc/farfault/html/index.html is missing; in a source tree, docs/build builds it"

# The unpacked program.
check "it is the built program" test "$("$program" --version)" = "$("$farfault" --version)"
examples=$root/farfault/usr/share/doc/farfault/examples
demo=(run "$examples/demo.toml" --set workload.bfs.rmat.scale=8 --progress off)
check "the demo runs" eval '(cd "$scratch" && "$program" "${demo[@]}" --output packaged.h5 >/dev/null 2>&1)'
"$farfault" "${demo[@]}" --output "$scratch/built.h5" >/dev/null 2>&1
check "with the digest of the built program" \
  test -n "$(digest_of "$scratch/built.h5")" -a "$(digest_of "$scratch/packaged.h5")" = "$(digest_of "$scratch/built.h5")"

# The unpacked Python package.
if /usr/bin/python3 -c 'import h5py, xarray, pandas' 2>/dev/null; then
  digest=$(cd "$scratch" && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/python3-farfault/usr/lib/python3/dist-packages \
    /usr/bin/python3 -c 'import farfault; print(farfault.open("built.h5").digest)')
  check "it opens the result" test "$digest" = "$(digest_of "$scratch/built.h5")"
else
  echo "skipped: python3-h5py, python3-xarray or python3-pandas is missing: the Python package"
fi

# The unpacked libraries; tests/extension builds on them.
check "find_package finds the libraries: $(tail -5 "$scratch/log")" eval \
  'cmake -G Ninja -S "$root/libfarfault-dev/usr/share/doc/libfarfault-dev/examples/one_policy" -B "$scratch/one" \
    "-Dfarfault_DIR=$root/libfarfault-dev/usr/lib/cmake/farfault" >"$scratch/log" 2>&1'

# Completion in a bash with the package's script and program.
completion=$root/farfault/usr/share/bash-completion/completions/farfault
check "bash parses its script" bash -n "$completion"
# completes WHAT EXPECTED WORD ...: completes the last word, with bash's splitting of a line
completes() {
  local what=$1 expected=$2 got
  shift 2
  got=$(PATH="$(dirname "$program"):$PATH" bash -c '
    . "$1"
    shift
    complete -p farfault | grep -q -- "-F _farfault" || exit 1
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _farfault 2>/dev/null # compopt fails outside of line editing
    echo "${COMPREPLY[*]}"' bash "$completion" farfault "$@")
  check "bash completes $what, not '$got'" test "$got" = "$expected"
}
completes "a command" "validate" val
completes "an option" "--checkpoint --checkpoint-every --checkpoint-minutes" run --check
completes "a fixed word" "on off" run --progress o
completes "a parameter" "gpu.l2_tlb.entries=" run --set gpu.l2_tlb.en
completes "a parameter of --set=" "gpu.l2_tlb.entries=" run --set = gpu.l2_tlb.en
completes "a parameter's value" "contiguous cpu" run --set memory.placement = c
completes "arguments of params" "gpu.l2_tlb.entries" params gpu.l2_tlb.en
: >"$scratch/study.toml" && : >"$scratch/study.txt" && mkdir "$scratch/study.folder"
completes "configurations and folders" "$scratch/study.folder $scratch/study.toml" run "$scratch/study"
completes "folders" "$scratch/study.folder" sweep --output "$scratch/study"
for shell in zsh:zsh/vendor-completions/_farfault fish:fish/vendor_completions.d/farfault.fish; do
  if command -v "${shell%%:*}" >/dev/null; then
    check "${shell%%:*} parses its script" "${shell%%:*}" -n "$root/farfault/usr/share/${shell#*:}"
  else
    echo "skipped: ${shell%%:*} is missing: its script is not parsed"
  fi
done
finish
