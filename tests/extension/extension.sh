#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests an installed Farfault: find_package finds it under a prefix, and each folder of tests/extension extends it as a
# separate project that is not compiled with Farfault itself.
. "$(dirname "$0")/../support/script.sh"
build=$(dirname "$farfault")
here=$source_dir/tests/extension
jobs=$(nproc)

# Moved after the installation, so that no file can contain its old location.
log=$scratch/install.log
cmake --install "$build" --prefix "$scratch/first" >"$log" 2>&1 || { cat "$log"; fail "cmake --install"; finish; exit 1; }
mv "$scratch/first" "$scratch/prefix"
prefix=$scratch/prefix
check "the installed program runs" eval '"$prefix/bin/farfault" --version >/dev/null'
check "installed files contain no path of the source, the build or the first prefix: $(grep -rlF -e "$source_dir" -e "$build" \
  -e "$scratch/first" "$prefix" | head -3)" eval '! grep -rqF -e "$source_dir" -e "$build" -e "$scratch/first" "$prefix"'

# configures FOLDER WORD ...; builds NAME FOLDER: builds into $scratch/NAME
configures() {
  local folder=$1
  shift
  cmake -G Ninja -S "$folder" "-Dfarfault_DIR=$(dirname "$(find "$prefix" -name farfaultConfig.cmake)")" "$@" >"$log" 2>&1
}
builds() {
  configures "$2" -B "$scratch/$1" && cmake --build "$scratch/$1" -j "$jobs" >>"$log" 2>&1 && return
  tail -n 40 "$log"
  fail "$2 is built against the installed Farfault"
  finish
  exit 1
}
builds one "$here/one_policy"
builds several "$here/several"
builds component "$here/component"
check "a project without a build type is optimized" grep -qe ' -O2' "$scratch/one/build.ninja"
mkdir "$scratch/cxx"
sed 's/^project.*/project(alone CXX)/; s/by_region.cpp/main.cpp/' "$here/one_policy/CMakeLists.txt" >"$scratch/cxx/CMakeLists.txt"
echo 'int main() {}' >"$scratch/cxx/main.cpp"
configures "$scratch/cxx" -B "$scratch/cxx/build"
check "a project without C gets a message" grep -q 'found by projects of C and C++' "$log"

# The tutorial's policy and component are these folders, without the licence lines.
contains() { # PAGE FILE
  check "docs/tutorial/$1 contains $2 unchanged" perl -0777 -e '
    ($page, $text) = map { open(my $f, "<", $_) or die; <$f> } @ARGV; $text =~ s/^.*SPDX.*\n//; exit(index($page, "\n$text```") < 0)' \
    "$source_dir/docs/tutorial/$1" "$here/$2"
}
contains policy.md one_policy/CMakeLists.txt
contains policy.md one_policy/by_region.cpp
contains component.md component/CMakeLists.txt
contains component.md component/relay.cpp
for file in "$here"/*/*.cpp; do check "$file has fewer than 80 lines" test "$(grep -vc SPDX "$file")" -lt 80; done

check "a component runs on the installed engine" [ "$("$scratch/component/relay")" = "34 33" ]

# The handbook's examples use the programs that are built here, under the names of their folders.
mkdir "$scratch/extensions"
ln -s "$scratch/one" "$scratch/extensions/one_policy"
ln -s "$scratch/component" "$scratch/extensions/component"
check "the examples own_policy and own_component print the output of their pages" env \
  FARFAULT_EXTENSIONS="$scratch/extensions" /usr/bin/python3 "$source_dir/tests/docs/examples_test.py" "$build/test_docs" own_policy own_component

# A user error prints one sentence and exits with code 2.
refuses() { # PATTERN COMMAND ...
  local pattern=$1 rc
  shift
  "$@" >/dev/null 2>"$scratch/err"
  rc=$?
  check "'$*': exit code 2, not $rc" test "$rc" -eq 2
  check "'$*': one line with '$pattern', not: $(cat "$scratch/err")" \
    test "$(grep -c . "$scratch/err")" -eq 1 -a "$(grep -cE "^farfault: .*$pattern" "$scratch/err")" -eq 1
}

result=$scratch/run.h5
# run_with PROGRAM WORD ...: writes standard error to $scratch/err
run_with() {
  "$@" --progress off --output "$result" >"$scratch/out" 2>"$scratch/err" || { cat "$scratch/err"; return 1; }
}
# The digest is the same with 1 and 2 threads, on 2 ranks, and after a resume from the last checkpoint.
same_digest() { # WHAT PROGRAM run WORD ...
  local what=$1 reference
  shift
  rm -f "$result"* "$scratch/saved"*
  check "$what: runs" run_with "$@" --threads 1
  reference=$(digest_of "$result")
  check "$what: the result is valid" eval '"$farfault" validate "$result" >/dev/null'
  check "$what: 2 threads, checkpoints" run_with "$@" --threads 2 --checkpoint "$scratch/saved" --checkpoint-every 5us
  check "$what: one digest for 1 and 2 threads" [ "$(digest_of "$result")" = "$reference" ]
  check "$what: a checkpoint is written" test -s "$scratch/saved"
  check "$what: resumes" run_with "$@" --threads 1 --resume "$scratch/saved"
  check "$what: one digest after resuming" [ "$(digest_of "$result")" = "$reference" ]
  if have_ranks; then
    check "$what: 2 ranks" run_with mpirun -n 2 "$@" --threads 1
    check "$what: one digest on 2 ranks" [ "$(digest_of "$result")" = "$reference" ]
  fi
}
# holds WHAT EXPRESSION: about the last result, the h5py file f
python=/usr/bin/python3
"$python" -c 'import h5py' 2>/dev/null || { echo "skipped: python3-h5py is missing: the content of results"; python=; }
holds() {
  [ -z "$python" ] || check "$1" "$python" -c 'import h5py, sys
f = h5py.File(sys.argv[1])
config = f["/config/toml"].asstr()[()]
sys.exit(not eval(sys.argv[2]))' "$result" "$2"
}

# Router.
program=$scratch/one/by_region
words=(run paper-gmmu-bypass --set workload.name=transpose --set workload.transpose.width=256
  --set workload.transpose.height=256 --set gpu.sms=4 --set memory.placement=interleave)
check "params lists a policy's parameter" eval '"$program" params gpu.router.by_region | grep -A4 " gpu.router.by_region.regions$" | grep -q "Default  *1024"'
check "params lists the policy among the others" eval '"$program" params gpu.router | grep -q "  by_region    Unit that resolved"'
check "params lists the policy's parameter with the choice" eval '"$program" params gpu.router.policy |
  grep -qx " *Parameters  by_region: gpu.router.by_region.regions"'
check "another program does not know it" eval '! "$farfault" params gpu.router | grep -q by_region'
same_digest by_region "$program" "${words[@]}" --set gpu.router.policy=by_region --set gpu.router.by_region.regions=64
holds "by_region: its parameter is in the resolved configuration" '"[gpu.router.by_region]\nregions = 64\n" in config'
holds "by_region: its statistics count" 'all(f["/timeseries/gpu.router"][name][-1].sum() > 0 for name in ("right", "wrong"))'
run_with "$program" "${words[@]}" --set gpu.router.by_region.regions=64
check "the parameters of an unused policy are reported: $(cat "$scratch/err")" grep -qF \
  'gpu.router.by_region.regions (--set) has no effect: it acts only with gpu.router.policy = "by_region"' "$scratch/err"
holds "they are not in the resolved configuration" '"by_region" not in config'
holds "an unused policy has no statistics" '"/timeseries/gpu.router/right" not in f'
refuses "'by_regoin' is not one of: .*by_region" "$program" "${words[@]}" --set gpu.router.policy=by_regoin
refuses "gpu.router.by_region.regions: '0' is outside 1 to 1048576" "$program" "${words[@]}" \
  --set gpu.router.by_region.regions=0
refuses "unknown key 'gpu.router.by_region.region'; did you mean" "$program" "${words[@]}" \
  --set gpu.router.by_region.region=4
refuses "is not one of: " "$farfault" "${words[@]}" --set gpu.router.policy=by_region

# DRAM scheduler and frame allocator, with a workload and a preset.
program=$scratch/several/several
words=(run small-gather --set memory.frame_allocation=large_frames --set memory.large_frames.pages=64
  --set memory.placement=first_touch --set workload.gather.reads=16384 --set gpu.dram.capped_row_hits.cap=1)
check "a workload is listed" eval '"$program" workloads | grep -q "gather .*random elements"'
check "a workload's parameters are listed" eval '"$program" params workload.gather | grep -A5 " workload.gather.elements$" | grep -q "Default  *1048576"'
same_digest several "$program" "${words[@]}"
holds "several: their parameters are in the resolved configuration" '"cap = 1\n" in config and "pages = 64\n" in config'
holds "several: both halves of the TLB have hits" \
  'f["/timeseries/l2_tlb/hits"][-1].sum() > f["/timeseries/gpu.l2_tlb.organization/hits_of_second"][-1].sum() > 0'
holds "several: the scheduler's statistics count" 'f["/timeseries/gpu.dram.scheduler/capped"][-1].sum() > 0'
holds "several: the allocator places every first-touched page at its own offset" \
  'f["/timeseries/memory.frame_allocation/in_place"][-1].sum() == f["/timeseries/driver/pages_mapped"][-1].sum() > 100'
run_with "$program" "${words[@]}" --set memory.frame_allocation=on_demand --set memory.large_pages=table
holds "several: both halves of the TLB have hits of large pages" \
  'f["/timeseries/l2_tlb/hits"][-1].sum() > f["/timeseries/gpu.l2_tlb.organization/hits_of_second"][-1].sum() > 0'
holds "several: the whole table is in large pages" 'set(f["/tables/first_touches/base_pages"][:]) == {512}'
refuses 'cap = 64 must be below the channel.s queue, 64' "$program" run small-gather \
  --set gpu.dram.capped_row_hits.cap=64 --set gpu.dram.queue=64
refuses 'bit = 0: a TLB of an odd number of sets, 1, has no halves' "$program" run small-gather --set gpu.l2_tlb.ways=256
refuses "'gathr'; did you mean 'gather'" "$program" run small-gather --set workload.name=gathr
refuses "neither a file nor a preset \\(.*small-gather\\)" "$program" run smallgather

# Machine-file format.
echo 'ring 6 GPUs' >"$scratch/six"
check "a machine file is recognised" eval '"$program" inspect "$scratch/six" --json | grep -q "\"format\":\"ring\".*\"gpu\":6"'
check "a machine file runs" run_with "$program" run small-gather --set machine.topology="$scratch/six"
echo 'ring 2 GPUs' >"$scratch/two"
refuses "two: must be 'ring N GPUs'" "$program" inspect "$scratch/two"
refuses "two: not a machine" "$farfault" inspect "$scratch/two"
finish
