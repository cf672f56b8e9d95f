# shellcheck shell=bash
# Sourced by tests/run.sh and examples/quickstart.sh: what a machine lacks is installed where that is
# allowed and named where it is not, the build is made, and NVRTC is found. Never asks twice, and
# nothing here ends the script: the caller goes on with what there is.

unset CDPATH # by which cd would look elsewhere, and print
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
builds=${DIECAST_BUILDS:-$root/build} # every build of the scripts goes below this folder
yes=${yes:-no}                        # -y: sudo without asking
cores=$(nproc 2>/dev/null || echo 2)

# Installs packages as root, or through sudo once the user (or -y) has agreed.
install_packages() {
  [ $# -gt 0 ] || return 0
  local line="apt-get install -y --no-install-recommends $*" sudo=""
  if ! command -v apt-get >/dev/null; then
    echo "missing here, by their Debian names: $*"
    return 1
  fi
  if [ "$(id -u)" != 0 ]; then
    local answer=$yes
    if [ "$yes" != yes ] && [ -t 0 ] && command -v sudo >/dev/null; then
      read -r -p "Run \`sudo $line\`? [y/N] " answer || answer=no
    fi
    case $answer in
    y | Y | yes) sudo=sudo ;;
    *)
      echo "some packages are missing; to have everything: sudo $line"
      return 1
      ;;
    esac
  fi
  echo "installing: $*"
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null 2>&1 </dev/null
  # shellcheck disable=SC2086
  $sudo env DEBIAN_FRONTEND=noninteractive $line -qq >/dev/null </dev/null
}

# A compiler, CMake and make: without them not even the missing libraries could be named.
install_build_tools() {
  local missing=()
  command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null ||
    missing+=(g++)
  command -v cmake >/dev/null || missing+=(cmake)
  command -v make >/dev/null || command -v ninja >/dev/null || missing+=(make)
  command -v git >/dev/null || missing+=(git)
  install_packages "${missing[@]}"
  command -v cmake >/dev/null || { echo "no cmake: nothing can be built"; return 1; }
}

has_libfuzzer() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, long) { return 0; }' |
    clang++ -fsanitize=fuzzer -x c++ - -o /dev/null >/dev/null 2>&1
}

# clang++, and libFuzzer where that is a package of its own.
install_libfuzzer() {
  has_libfuzzer && return 0
  command -v clang++ >/dev/null || install_packages clang || return
  has_libfuzzer && return 0
  install_packages "libclang-rt-$(clang++ -dumpversion | cut -d. -f1)-dev"
  has_libfuzzer
}

# configure FOLDER [OPTION...]: configures, installs what that names as missing, configures again.
configure() {
  local folder=$1 log=$1/configure.log
  shift
  mkdir -p "$folder" || return 1
  local options=(-DCMAKE_UNITY_BUILD=ON "$@")
  command -v ccache >/dev/null && options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  # Make compiles nothing of a library before those below it are linked, and leaves a core idle.
  command -v ninja >/dev/null && [ ! -e "$folder/CMakeCache.txt" ] && options+=(-G Ninja)
  cmake -S "$root" -B "$folder" "${options[@]}" >"$log" 2>&1 </dev/null
  local packages
  packages=$(sed -n 's/.*apt-get install \(lib.*\|nlohmann.*\)/\1/p' "$log" | head -n 1)
  # shellcheck disable=SC2086
  if [ -n "$packages" ] && install_packages $packages; then
    cmake -S "$root" -B "$folder" "${options[@]}" >"$log" 2>&1 </dev/null
  fi
  sed -n '/^diecast: some packages/,/^--/p' "$log" | grep -v '^--'
  [ -e "$folder/CMakeCache.txt" ] && ! grep -q "Configuring incomplete" "$log" && return 0
  cat "$log"
  return 1
}

# build FOLDER [CMAKE --build OPTION...]: its output only where it fails.
build() {
  local folder=$1 log=$1/build.log
  shift
  cmake --build "$folder" -j "$cores" "$@" >"$log" 2>&1 </dev/null && return 0
  # Names that are new since the build was configured may change which files can be compiled together.
  cmake "$folder" >"$log" 2>&1 </dev/null
  cmake --build "$folder" -j "$cores" "$@" >>"$log" 2>&1 </dev/null && return 0
  grep -E -A4 'error:|undefined reference|\*\*\*|CMake Error' "$log" | head -n 60
  echo "the build failed; all of it: $log"
  return 1
}

# The first of the given files that exists.
first_file() {
  local file
  for file in "$@"; do
    [ -e "$file" ] && echo "$file" && return 0
  done
  return 1
}

linker_knows() { { ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null; } | grep -q "$1"; }

installed_driver() { [ -n "${DIECAST_LIBCUDA:-}" ] || linker_knows 'libcuda\.so\.1'; }

installed_nvrtc() {
  linker_knows 'libnvrtc\.so\.1[23]' ||
    first_file "${CUDA_HOME:-/usr/local/cuda}"/lib64/libnvrtc.so.1[23] \
      /usr/local/cuda-1[23]*/lib64/libnvrtc.so.1[23] >/dev/null
}

has_python_headers() {
  python3 -c 'import os, sys, sysconfig
include = sysconfig.get_path("include")
sys.exit(sys.version_info < (3, 11) or not os.path.exists(include + "/Python.h"))' 2>/dev/null
}

# python_venv FOLDER REQUIREMENTS: a Python of its own with what tests of the package import, a file of
# tests/python. Without it they skip and say what is missing.
python_venv() {
  [ -e "$1/complete" ] && return 0
  mkdir -p "$1" && python3 -m venv "$1" >"$1/install.log" 2>&1 </dev/null &&
    "$1/bin/pip" install --disable-pip-version-check -r "$root/tests/python/$2" \
      >>"$1/install.log" 2>&1 </dev/null && touch "$1/complete"
}

# wheel_nvrtc FOLDER WHEEL: puts NVIDIA's Python wheel into a folder of its own and prints the path
# of the library in it.
wheel_nvrtc() {
  local folder=$1 wheel=$2
  if ! first_file "$folder"/site/nvidia/*/lib/libnvrtc.so.1[23] >/dev/null; then
    mkdir -p "$folder"
    {
      if python3 -m venv "$folder/venv"; then
        "$folder/venv/bin/pip" install --disable-pip-version-check --target "$folder/site" "$wheel"
      else
        python3 -m pip install --disable-pip-version-check --target "$folder/site" "$wheel"
      fi
    } >"$folder/install.log" 2>&1 </dev/null
    rm -rf "$folder/venv"
  fi
  first_file "$folder"/site/nvidia/*/lib/libnvrtc.so.1[23]
}

# Where there is no toolkit, points DIECAST_NVRTC at a wheel's library.
find_nvrtc() {
  [ -n "${DIECAST_NVRTC:-}" ] && { echo "NVRTC: $DIECAST_NVRTC"; return 0; }
  installed_nvrtc && { echo "NVRTC: the installed toolkit's"; return 0; }
  local library
  library=$(wheel_nvrtc "$builds/nvrtc" 'nvidia-cuda-nvrtc-cu12==12.9.*')
  if [ -n "$library" ]; then
    export DIECAST_NVRTC=$library
    echo "NVRTC: $library"
    return 0
  fi
  echo "NVRTC: none; no CUDA toolkit is installed and NVIDIA's wheel could not be (see" \
    "$builds/nvrtc/install.log)"
  return 1
}

# The newest of the recorded GPU runs that both replayed the reference vectors and timed the ops
# against a copy; a run of a part of the bench alone is none. Its first line is its date.
last_gpu_run() {
  (cd "$root" && grep -l '  % of copy' tests/gpu-results/*.txt | xargs grep -l '^check ' |
    xargs grep '^date ' | sort -t: -k2 | tail -n 1 | cut -d: -f1)
}
