#!/usr/bin/env bash
# Plants the bugs of tests/planted.txt one by one and expects a test to catch each: this shows that the
# tests bite. Usage: tests/planted.sh [BUILD_FOLDER [LIST]]. The folder has the library, the unit tests of each
# floor that planted.txt names, and test_ops_host. LIST, planted_gpu.txt, has bugs of templates that a GPU's tests
# catch: it takes test_ops_gpu alone.
# Ends in "N of N planted bugs caught"; fails if one was not. Takes some minutes.
set -u
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$source_dir/build} list=${2:-planted.txt} label=host
[[ $list == *_gpu.txt ]] && label=gpu
if [ $label = host ] && grep -q '^CMAKE_UNITY_BUILD.*=ON' "$build/CMakeCache.txt"; then
  echo "$build has floors compiled together: a mutant takes the place of one file; use a plain build" >&2
  exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
caught=0 planted=0

plant() { # source text instead: the mutated copy in $work/mutant.cpp, or in $work/templates
  local from=$source_dir/src/diecast/$1 to=$work/mutant.cpp
  if [[ $1 == templates/* ]]; then
    from=$source_dir/$1 to=$work/$1
    rm -rf "$work/templates" && cp -r "$source_dir/templates" "$work" || return
  fi
  TEXT=${2//\\n/$'\n'} INSTEAD=${3//\\n/$'\n'} perl -0pe \
    'BEGIN { $t = $ENV{TEXT}; $i = $ENV{INSTEAD} } s/\Q$t\E/$i/' "$from" >"$to"
  ! cmp -s "$to" "$from"
}

# The mutant's object comes before the library, whose own one is then not linked. The command's tests
# run the command: there it is the mutant. Tests of templates take them from the folder that has one.
build_mutant() { # floor source
  local objects=$build/tests/CMakeFiles boost
  if [[ $2 == templates/* ]]; then
    printf '#!/bin/sh\nDIECAST_TEMPLATE_DIR=%s exec %s "$@"\n' "$work/templates" \
      "$build/tests/test_$1_$label" >"$work/mutant" && chmod +x "$work/mutant"
    return
  fi
  boost=$(ls /usr/lib/*/libboost_context.so 2>/dev/null | head -1)
  g++ -std=c++20 -O1 -w -I"$source_dir/src" -I"$build/src/generated" -c "$work/mutant.cpp" -o "$work/mutant.o" || return
  if [[ $1 == tool ]]; then
    g++ "$work/mutant.o" "$build/src/CMakeFiles/diecast_tool.dir/diecast/tool/main.cpp.o" \
      "$build"/src/libdiecast_{subcommands,checkpoint}.a "$build/src/libdiecast.a" -lpthread -ldl \
      $boost -o "$work/tool" || return
    printf '#!/bin/sh\nDIECAST_TEST_TOOL=%s exec %s "$@"\n' "$work/tool" \
      "$build/tests/test_tool_unit" >"$work/mutant" && chmod +x "$work/mutant"
  else
    g++ "$work/mutant.o" $(find "$objects/test_$1_shared.dir" "$objects/test_$1_unit.dir" \
      -name '*.o' 2>/dev/null) "$build/src/libdiecast.a" -lgtest -lgtest_main -lpthread -ldl \
      $boost -o "$work/mutant"
  fi
}

while IFS= read -r line; do
  [[ -z $line || $line == \#* ]] && continue
  line=${line//\\|/$'\x01'}
  IFS=$'\x02' read -r name file text instead tests <<<"${line// | /$'\x02'}"
  text=${text//$'\x01'/|} instead=${instead//$'\x01'/|}
  planted=$((planted + 1))
  if ! plant "$file" "$text" "$instead"; then
    echo "NOT PLANTED  $name: $file has no \"$text\""
  elif ! build_mutant "${tests%%:*}" "$file" 2>"$work/log"; then
    echo "NOT BUILT    $name: $(grep -m1 error "$work/log")"
  elif { timeout 120 "$work/mutant" --gtest_filter="${tests#*:}" --gtest_fail_fast >"$work/log" 2>&1; } 2>/dev/null; then
    echo "NOT CAUGHT   $name"
  else
    caught=$((caught + 1))
    by=$(grep -m1 -oP '^\[  FAILED  \] \K[^ ,]+' "$work/log" || grep -oP '^\[ RUN      \] \K.*' "$work/log" | tail -1)
    echo "caught       $name: $by"
  fi
done <"$source_dir/tests/$list"
echo "$caught of $planted planted bugs caught"
[[ $caught == "$planted" ]]
