#!/usr/bin/env bash
# tests/run.sh [-y]       sets the machine up and runs the everyday tests (4 to 7 minutes on two cores,
#                         as machines differ; half of them the first build)
# tests/run.sh [-y] all   everything this machine can run: more variants, torch and JAX, sanitizers
#                         without CUDA, every file compiled by itself
# tests/run.sh [-y] engines   only what loaders of other projects make of quantized models: builds the
#                         command, and puts transformers and torch from PyPI (gigabytes) into a folder
# -y: may use sudo without asking. The last line is "N passed, N failed, N skipped".
set -u
part=everyday
yes=no
for argument in "$@"; do
  case $argument in
  -y) yes=yes ;;
  -h | --help) sed -n '2,/^set/s/^# //p' "${BASH_SOURCE[0]}"; exit ;;
  all | engines) part=$argument ;;
  *) echo "usage: tests/run.sh [-y] [all | engines]" >&2; exit 2 ;;
  esac
done
# shellcheck source=tests/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"

passed=0 failed=0 skipped=0
began=$SECONDS

finish() {
  echo
  if [ -s "$reasons" ]; then
    echo "skipped:"
    sort "$reasons" | uniq -c | sed -E 's/^ *([0-9]+) (.*)/  \2 (\1)/'
  fi
  echo "where the time went, in seconds:"
  sort -rn "$spent" | head -n 12 | sed 's/^/  /'
  echo "the slowest tests:"
  sort -rn "$slow" | head -n 8 | sed 's/^/  /'
  [ -s "$ran" ] && awk -f "$root/tests/faults.awk" "$ran" "$root/tests/FAULTS.md"
  rm -f "$reasons" "$ran" "$spent" "$slow"
  echo "$((SECONDS - began)) seconds"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ]
  exit
}

stop() { # something before the tests went wrong
  failed=$((failed + 1))
  finish
}

# Why tests skipped themselves: the line that follows GoogleTest's ": Skipped", by label.
skip_reasons() {
  awk -v label="$1" '
    /<testcase / { in_skipped = 0 }
    /<skipped/ { in_skipped = 1 }
    wanted && in_skipped { print label ": " $0; wanted = 0 }
    /: Skipped$/ { wanted = 1 }' "$2" |
    sed 's/&quot;/"/g; s/&apos;/'"'"'/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
}

took() { echo "$((SECONDS - $1)) $2" >>"$spent"; } # took START WHAT

# built FOLDER [OPTION...]: build(), with its time.
built() {
  local start=$SECONDS
  build "$@" || return
  took $start "building ${1##*/}"
}

# run_label FOLDER LABEL TITLE [CTEST OPTION...]: runs the tests of a label and adds up what came out.
run_label() {
  local folder=$1 label=$2 title=$3 report=$1/$2.xml log=$1/$2.log start=$SECONDS
  shift 3
  rm -f "$report"
  (cd "$folder" && ctest -L "^$label\$" -j "$cores" --output-on-failure --output-junit "$report" \
    "$@" >"$log" 2>&1 </dev/null)
  local line total bad none
  line=$(tr '\n\t' '  ' <"$report" 2>/dev/null | grep -o '<testsuite [^>]*>' | head -n 1)
  total=$(echo "$line" | sed -n 's/.* tests="\([0-9]*\)".*/\1/p')
  bad=$(echo "$line" | sed -n 's/.* failures="\([0-9]*\)".*/\1/p')
  none=$(echo "$line" | sed -n 's/.* skipped="\([0-9]*\)".*/\1/p')
  if [ -z "$total" ] || { [ "$total" = 0 ] && [ "$label" = unit ]; }; then
    echo "$title: no test ran"
    tail -n 5 "$log"
    failed=$((failed + 1))
    return
  fi
  passed=$((passed + total - bad - none))
  failed=$((failed + bad))
  skipped=$((skipped + none))
  echo "$title: $((total - bad - none)) passed, $bad failed, $none skipped" \
    "($((SECONDS - start)) s)"
  took $start "$title"
  sed -n 's/.*<testcase name="\([^"]*\)".* time="\([^"]*\)" status="run".*/\2 \1/p' "$report" >>"$slow"
  sed -n 's/.*<testcase name="\([^"]*\)".* status="run".*/\1/p' "$report" >>"$ran"
  # What the tests of crashes and races counted.
  grep -ohE '[0-9]+ (kill points|power cuts)|[0-9]+ kills, .* torn|0 failures of [0-9]+|[0-9]+ rounds of .* each|[a-z]+: [0-9]+ inputs, [0-9]+ mutations|[a-z0-9_]+: [0-9]+ (flipped bits|truncations), 0 accepted' \
    "$report" | sed 's/^/  /'
  [ "$total" = 0 ] && echo "$title: no test of this label is in the build" >>"$reasons"
  [ "$none" = 0 ] || skip_reasons "$title" "$report" >>"$reasons"
  [ "$bad" = 0 ] || grep -E -A12 ': Failure$|\*\*\*Failed|\*\*\*Timeout|\*\*\*Exception' "$log" | head -n 120
}

# configure_watched FOLDER SANITIZERS [OPTION...]: a build that these watch.
configure_watched() {
  configure "$1" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DDIECAST_SANITIZE="$2" \
    -DDIECAST_BUILD_EXAMPLES=OFF "${@:3}"
}

# Each file by itself, as a build without these scripts compiles it, and by the other compiler: the library,
# the command and the bench are linked; tests and public headers are read.
compile_alone() {
  local folder=$builds/alone log=$builds/alone/build.log start=$SECONDS
  if configure "$folder" -DCMAKE_UNITY_BUILD=OFF -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_FLAGS_DEBUG=-O0 &&
    cmake --build "$folder" -j "$cores" --target diecast_tool diecast_bench >"$log" 2>&1 </dev/null &&
    read_alone "$folder" >>"$log" 2>&1 </dev/null; then
    passed=$((passed + 1))
    echo "each file by itself, clang++: compiled ($((SECONDS - start)) s)"
    took $start "each file by itself"
    return
  fi
  failed=$((failed + 1))
  grep -E -A4 'error:|undefined reference' "$log" | head -n 40
  echo "each file by itself, clang++: not compiled; all of it: $log"
}

# read_alone FOLDER: every file of the tests and every header through the compiler's front end. What
# GoogleTest includes is read once for all tests, each of which includes it.
read_alone() {
  local folder=$1 gtest=$1/gtest.pch list=$1/alone.txt header
  clang++ -std=c++20 -O0 -fPIE -DGTEST_HAS_PTHREAD=1 -x c++-header -include gtest/gtest.h /dev/null \
    -o "$gtest" || return
  {
    sed -n 's/^ *"command": "\(.*\) -o [^ ]* -c \(.*\/tests\/.*\.cpp\)",$/\1 -fsyntax-only \2/p' \
      "$folder/compile_commands.json" | sed -e 's/\\\(.\)/\1/g' -e "s|_test\.cpp\$|& -include-pch $gtest|"
    (cd "$root/src" && find diecast -name '*.h') | while read -r header; do
      echo "echo '#include <$header>' | clang++ -std=c++20 -fsyntax-only -I'$root/src' -I'$folder/src/generated' -x c++ -"
    done
  } | grep -v '/tests/bench/[a-z_]*\.cpp$' >"$list"
  [ "$(grep -c '_test\.cpp' "$list")" -gt 100 ] || { echo "error: compile_commands.json has no tests"; return 1; }
  xargs -d '\n' -P "$cores" -n 1 bash -c <"$list"
}

# Every reader of outside bytes under libFuzzer, 5 seconds each.
fuzz() {
  local folder=$builds/fuzz start=$SECONDS target targets good=0 bad=0
  if ! install_libfuzzer; then
    echo "libFuzzer: no clang++ that has it" >>"$reasons"
    skipped=$((skipped + 1))
    return
  fi
  if ! configure_watched "$folder" address,undefined -DCMAKE_CXX_COMPILER=clang++ -DDIECAST_FUZZ=ON ||
    ! built "$folder" --target fuzz || ! targets=$("$folder/tests/fuzz" list); then
    failed=$((failed + 1))
    return
  fi
  rm -rf "$folder/new" && mkdir -p "$folder/new"
  # shellcheck disable=SC2016
  xargs -P "$cores" -I{} bash -c 'known=$1/tests/fuzz/corpus/{}
    [ -d "$known" ] || known=
    mkdir "$0/new/{}" && "$0/tests/fuzz" {} "$0/new/{}" $known -max_total_time=5 -timeout=10 \
      -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$0/new/{}-" \
      >"$0/new/{}.log" 2>&1 </dev/null && touch "$0/new/{}.passed"' "$folder" "$root" <<<"$targets"
  for target in $targets; do
    if [ -e "$folder/new/$target.passed" ]; then
      good=$((good + 1))
      sed -n "s/^stat::number_of_executed_units: *\(.*\)/  $target: \1 inputs/p" "$folder/new/$target.log"
      continue
    fi
    bad=$((bad + 1))
    tail -n 40 "$folder/new/$target.log"
  done
  passed=$((passed + good))
  failed=$((failed + bad))
  echo "libFuzzer: $good passed, $bad failed, 0 skipped ($((SECONDS - start)) s)"
  took $start libFuzzer
}

reasons=$(mktemp) ran=$(mktemp) spent=$(mktemp) slow=$(mktemp)
install_build_tools || stop
if [ $part = engines ]; then
  run=$builds/engines
  python_venv "$run/venv-engines" ../engines/requirements.txt ||
    { tail -n 3 "$run/venv-engines/install.log"; stop; }
  configure "$run" -DDIECAST_GPU_TESTS=OFF || stop
  built "$run" --target diecast_tool || stop
  run_label "$run" engines engines
  finish
fi
labels=(unit host nvrtc gpu) gpu_tests=ON
run=$builds/run options=()
if [ $part = everyday ] && ! installed_driver; then
  # They would skip, and take a tenth of the build; the rest compiles in two thirds of the time so,
  # and is compiled as users do it for `all` and on machines with a GPU.
  labels=(unit host nvrtc) gpu_tests=OFF
  run=$builds/everyday options=(-DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG")
  echo "gpu: not built, this machine has no NVIDIA driver" >>"$reasons"
fi
python=OFF # the package, where Python's headers are
if has_python_headers; then
  python=ON labels+=(python)
else
  echo "python: not built, no headers of Python 3.11 or later (python3-dev)" >>"$reasons"
fi
# What comes from PyPI comes while the compilers work.
[ $python = OFF ] || python_venv "$run/venv" requirements.txt &
if [ $python = ON ] && [ $part = all ]; then # torch and JAX, several gigabytes
  labels+=(frameworks)
  python_venv "$run/venv-frameworks" frameworks/requirements.txt &
fi
echo "building the tests, two to three minutes on two cores at first: ${run#"$PWD/"}/build.log"
configure "$run" -DDIECAST_GPU_TESTS=$gpu_tests -DDIECAST_BUILD_PYTHON=$python "${options[@]}" || stop
built "$run" || stop
echo "built in $((SECONDS - began)) s"
find_nvrtc
wait

[ $part = all ] && export DIECAST_TEST_VARIANTS=all
for label in "${labels[@]}"; do
  run_label "$run" $label $label
done
[ $part = all ] || finish

# Once more without CUDA, under the sanitizers, with the kernels that were compiled above.
unset DIECAST_TEST_VARIANTS
export DIECAST_TEST_CACHE=$run/test-cache
real_nvrtc=${DIECAST_NVRTC:-}
export DIECAST_NVRTC=$builds/hidden/libnvrtc.so DIECAST_LIBCUDA=$builds/hidden/libcuda.so
run_label "$run" gpu "gpu, CUDA hidden"
if configure_watched "$builds/asan" address,undefined &&
  built "$builds/asan" --target tests_unit tests_host; then
  for label in unit host; do
    run_label "$builds/asan" $label "$label, ASan and UBSan, CUDA hidden"
  done
else
  failed=$((failed + 1))
fi
unset DIECAST_LIBCUDA DIECAST_NVRTC
[ -z "$real_nvrtc" ] || export DIECAST_NVRTC=$real_nvrtc

# Threads: what resolves, loads and launches, and what it stands on. Not NoMemory: the sanitizer's
# pthread_once hangs when its function throws. Nor BadDisk, one caller after another
# over every call that can fail; nor ShippedManifests, in which one thread parses.
if configure_watched "$builds/tsan" thread &&
  built "$builds/tsan" --target test_launch_unit test_runtime_unit test_cache_unit; then
  run_label "$builds/tsan" unit "threads, TSan" \
    -R '^runtime\.|^launch\.(Kernel|Cuda)|^cache\.(SingleFlight|DiskCacheTest|Prune|BundleTest|CacheRoots)' -E 'ShippedManifests|NoMemory|BadDisk'
else
  failed=$((failed + 1))
fi
fuzz
command -v clang++ >/dev/null && compile_alone # fuzz has installed it
finish
