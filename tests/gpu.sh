#!/usr/bin/env bash
# tests/gpu.sh [CARRIED [CMAKE OPTION...]]: on a machine with a GPU, one call that builds, runs the
# `gpu` tests, those of the Python package (where Python has its headers, pytest and torch) and the
# bench, and prints a short table last; it also stands in OUT (default build/gpu) as gpu-result.txt.
# CARRIED: a folder with include/ and lib/ of packages that the machine lacks.
# DIECAST_COMMIT names the commit where there is no git history; DIECAST_BENCH the parts of the bench
# to run (all without it). With DIECAST_TUNE=1 few rows are tuned on the machine first, and the bench runs
# under these records.
set -u
# shellcheck source=tests/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
out=${OUT:-$root/build/gpu}
build=${DIECAST_GPU_BUILD:-/tmp/diecast-gpu}
mkdir -p "$out" "$build"
options=(-DCMAKE_BUILD_TYPE=Release -DDIECAST_BUILD_EXAMPLES=OFF)
if [ $# -gt 0 ]; then
  options+=("-DCMAKE_PREFIX_PATH=$(cd "$1" && pwd)" "${@:2}")
fi
command -v ninja >/dev/null && options+=(-G Ninja)
python=OFF
has_python_headers && python3 -c 'import pytest, torch' 2>/dev/null && python=ON
options+=(-DDIECAST_BUILD_PYTHON=$python)
export DIECAST_CACHE=$build/cache DIECAST_TEST_VARIANTS=${DIECAST_TEST_VARIANTS:-covering}

cmake -S "$root" -B "$build" "${options[@]}" >"$out/configure.log" 2>&1 ||
  { tail -n 30 "$out/configure.log"; exit 1; }
mapfile -t targets < <(cmake --build "$build" --target help | grep -o 'test_[a-z]*_gpu' | sort -u)
[ $python = OFF ] || targets+=(diecast_python)
cmake --build "$build" -j "$(nproc)" --target diecast_tool diecast_bench "${targets[@]}" >"$out/build.log" 2>&1 ||
  { grep -E -A3 'error|FAILED' "$out/build.log" | head -n 40; exit 1; }
"$build/diecast" doctor
(cd "$build" && ctest -L '^gpu$' --output-on-failure -j 4 >"$out/gpu-tests.log" 2>&1)
tests=$?
grep -E 'Failed|\*\*\*|differs|Failure' "$out/gpu-tests.log" | head -n 40
of_python=0
if [ $python = ON ]; then
  "$root/tests/python/run.sh" "$build" gpu >"$out/python-tests.log" 2>&1
  of_python=$?
  [ $of_python = 77 ] && of_python=0 # skipped: python-tests.log says what is missing
  grep -E '^(FAILED|ERROR|E  )' "$out/python-tests.log" | head -n 40
fi
"$build/diecast" check --target cuda "$root"/tests/golden/*.safetensors >"$out/check.log" 2>&1
check=$?
if [ "${DIECAST_TUNE:-0}" = 1 ]; then
  lengths=2048,4096,7168,8192,16384
  any="quantize_nvfp4_few IN=bf16" of=("quantize_nvfp4_few COLS=$lengths IN=bf16 LAYOUT=s128x4"
    "quantize_nvfp4_row_scaled_few COLS=$lengths IN=bf16 LAYOUT=linear,s128x4")
  { printf '%s LANES=* THREADS=* BLOCKS=* @ sm_90a\n' "$any" "${of[0]}"
    echo "${of[1]} BLOCKS=* CLUSTER=* ROWS_AT_ONCE=* NEXT=* @ sm_90a"; } >"$out/few-rows.txt"
  "$build/diecast" warm "$out/few-rows.txt" | tail -n 1  # side by side, before they are timed one by one
  tune() { "$build/diecast" tune "$@" --size rows=1,8,32,64,128,512 --in-process \
    --out "$out/few-rows-tuned.txt" >>"$out/tune.log" 2>&1; }
  tune "$any" --size "cols=$lengths" && tune "${of[@]}"
  export DIECAST_TUNING=$out/few-rows-tuned.txt
fi
# shellcheck disable=SC2086
"$build/diecast-bench" ${DIECAST_BENCH:-} >"$out/bench.log" 2>&1

{
  echo "date    $(date -u +%Y-%m-%dT%H:%M)"
  echo "commit  ${DIECAST_COMMIT:-$(git -C "$root" rev-parse --short HEAD 2>/dev/null)}"
  echo "device  $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)"
  echo "tests   $(grep 'tests passed' "$out/gpu-tests.log") (label gpu)"
  [ $python = OFF ] || echo "python  $(tail -n 1 "$out/python-tests.log")"
  echo "check   $(tail -n 1 "$out/check.log")"
  [ "${DIECAST_TUNE:-0}" = 1 ] && echo "tuned   $(wc -l <"$out/few-rows-tuned.txt") records of few rows"
  echo
  cat "$out/bench.log"
} | tee "$out/gpu-result.txt"
[ $tests = 0 ] && [ $of_python = 0 ] && [ $check = 0 ]
