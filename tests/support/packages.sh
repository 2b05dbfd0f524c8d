# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2086
# Sourced by bench/demo, docs/build, tests/run and .ci/run: the Debian packages that the build of Farfault needs.
#
# need_packages [EXTRA ...]: does nothing, also on the network, if all packages are installed. As root, installs missing
# packages, including extras. Otherwise prints one sentence with the packages to install and exits with 2. On a system
# without dpkg, CMake reports missing packages.

farfault_packages="cmake g++ ninja-build git ca-certificates libtbb-dev libopenmpi-dev openmpi-bin libhdf5-dev
  libboost-graph-dev libscotch-dev libhwloc-dev libpugixml-dev libtomlplusplus-dev libyaml-cpp-dev nlohmann-json3-dev
  libcli11-dev libspdlog-dev libfmt-dev zlib1g-dev liblzma-dev xz-utils doctest-dev libbenchmark-dev"
# Optional: without them the build is slower, or a test is skipped by name.
farfault_extras="ccache libmetis-doc python3-h5py python3-xarray python3-h5netcdf python3-pandas python3-matplotlib
  python3-netcdf4 python3-jsonschema hdf5-tools python3-pip python3-setuptools python3-wheel"
# The handbook (docs/build) and its tests.
farfault_site="python3-sphinx python3-myst-parser furo python3-h5py"
# Optional, for .ci/run: the handbook, fuzz harnesses, source formatting, instruction counts, batch scripts in Slurm, Debian packages,
# results from an HDF5 library with MPI.
farfault_ci_extras="$farfault_site libhdf5-openmpi-dev clang libclang-rt-14-dev clang-format valgrind slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge
  dpkg-dev lintian"

# For `.ci/run full` only: the browser that opens reports. With its dependencies it is a download of 140 MB and takes
# 450 MB on disk.
farfault_browser="chromium-headless-shell"

missing_packages() {
  local name
  for name in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || printf '%s ' "$name"
  done
}

need_packages() {
  command -v dpkg-query >/dev/null || return 0
  local missing extras log
  missing=$(missing_packages $farfault_packages)
  if [ "$(id -u)" -ne 0 ]; then
    [ -z "$missing" ] && return 0
    echo "farfault: these packages are missing: ${missing% }; install them with 'sudo apt-get install ${missing% }'" >&2
    exit 2
  fi
  extras=$(missing_packages $farfault_extras "$@")
  [ -z "$missing$extras" ] && return 0
  log=build/packages.log
  mkdir -p build
  echo "Installing packages: $missing$extras" >&2
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing $extras; } \
    >"$log" 2>&1; then
    missing=$(missing_packages $farfault_packages)
    [ -z "$missing" ] && return 0 # only some of the extras were unavailable
    echo "farfault: these packages could not be installed: ${missing% }; see $log" >&2
    exit 2
  fi
}

# For docs/build: as root installs missing packages of the handbook, otherwise prints one sentence and exits with 2.
need_site_packages() {
  command -v dpkg-query >/dev/null || return 0
  local missing
  missing=$(missing_packages $farfault_site)
  [ -z "$missing" ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    echo "farfault: these packages are missing: ${missing% }; install them with 'sudo apt-get install ${missing% }'" >&2
    exit 2
  fi
  need_packages $farfault_site
  missing=$(missing_packages $farfault_site)
  [ -z "$missing" ] || { echo "farfault: these packages could not be installed: ${missing% }; see build/packages.log" >&2; exit 2; }
}

# Succeeds if the preset `fuzz` can be built: Clang with libFuzzer and the sanitizers.
can_fuzz() {
  command -v clang++ >/dev/null &&
    clang++ -fsanitize=fuzzer,address -x c++ -o /dev/null - 2>/dev/null \
      <<<'#include <cstddef>
extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, std::size_t) { return 0; }'
}

# build_preset PRESET [TARGET ...]: configures a preset, with the CMake options in $farfault_cmake_options, and builds the targets
# (default: all) with minimal output.
build_preset() {
  local preset=$1 log=build/$1.log began=$SECONDS
  shift
  mkdir -p build
  local targets=()
  [ $# -gt 0 ] && targets=(--target "$@")
  echo "Building ($preset) ..." >&2
  # shellcheck disable=SC2086
  if ! { cmake --preset "$preset" ${farfault_cmake_options:-} && cmake --build --preset "$preset" "${targets[@]}"; } >"$log" 2>&1; then
    grep -E -A12 'error|Error|FAILED' "$log" | head -40 >&2
    echo "farfault: the build failed; see $log" >&2
    exit 1
  fi
  echo "Built in $((SECONDS - began)) s" >&2
}
