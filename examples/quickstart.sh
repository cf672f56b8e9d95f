#!/usr/bin/env bash
# From a fresh clone to a quantized checkpoint, with or without a GPU:
#   examples/quickstart.sh [-y]                            a checkpoint it writes itself
#   MODEL=/path/model.safetensors examples/quickstart.sh   your own; or the folder or index of several files
# Installs what is missing (as root, or with sudo once you agree; -y agrees), builds, warms NVFP4 for
# four architectures, quantizes, dequantizes, does it all again from the cache, and ends in a table.
set -u
yes=no
for argument in "$@"; do
  case $argument in
  -y) yes=yes ;;
  -h | --help) sed -n '2,/^set/s/^# //p' "${BASH_SOURCE[0]}"; exit ;;
  *) echo "usage: [MODEL=file.safetensors] examples/quickstart.sh [-y]" >&2; exit 2 ;;
  esac
done
# shellcheck source=tests/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../tests/setup.sh"

fail() {
  echo "quickstart: $1" >&2
  exit 1
}
say() { printf '\n== %s\n' "$1"; }

model=${MODEL:-}
case $model in
"" | /*) ;;
*) model=$PWD/$model ;;
esac
[ -z "$model" ] || [ -f "$model" ] || [ -f "$model/model.safetensors" ] ||
  [ -f "$model/model.safetensors.index.json" ] || fail "MODEL is no checkpoint: $model"

say "building: minutes on few cores; its log is $builds/quickstart/build.log"
install_build_tools || fail "cannot build without the packages named above"
configure "$builds/quickstart" -DDIECAST_BUILD_TESTS=OFF || fail "configuring failed"
build "$builds/quickstart" || fail "the build failed"
find_nvrtc # without it: the host alone
diecast=$builds/quickstart/diecast
[ -x "$diecast" ] || fail "the diecast command was not built: install the packages named above"
export DIECAST_CACHE=${DIECAST_CACHE:-$builds/quickstart/cache}
work=$(mktemp -d) || fail "no temporary folder"
trap 'rm -rf -- "$work"' EXIT

say "what this machine can do"
"$diecast" doctor

if [ -z "$model" ]; then
  model=$work/model.safetensors
  "$builds/quickstart/examples/sample_checkpoint" "$model" || fail "no checkpoint to quantize"
fi

# once NAME: warms, quantizes and dequantizes; what it printed stands in $work/NAME-*.
once() {
  "$diecast" warm "$root/cache/manifests/nvfp4.txt" >"$work/$1-warm" 2>"$work/$1-warm-errors" ||
    { [ "$1" = first ] && grep -v '%$' "$work/$1-warm-errors" >&2; }
  "$diecast" quantize "$model" "$work/$1-nvfp4" >"$work/$1-quantize" 2>"$work/$1-errors" &&
    "$diecast" dequantize "$work/$1-nvfp4" "$work/$1-back" \
      >"$work/$1-dequantize" 2>>"$work/$1-errors" ||
    { grep -v '%$' "$work/$1-errors" >&2; fail "quantizing failed"; }
}

say "first run: compiles the kernels of cache/manifests/nvfp4.txt for four architectures, then quantizes"
once first
cat "$work/first-warm" "$work/first-quantize"
say "second run, from the cache"
once second
diff -rq "$work/first-nvfp4" "$work/second-nvfp4" >/dev/null ||
  fail "the second run gave other bytes"
compiled() { sed -n 's/.* wanted: \([0-9]*\) compiled.*/\1/p' "$1"; }
kernels() { sed -n 's/.*; \([0-9]*\) kernels* compiled.*/\1/p' "$1"; }

say "summary"
if grep -q '^sm_' "$work/first-warm"; then
  grep -v ' wanted: ' "$work/first-warm"
  warmed="$(compiled "$work/second-warm") of $(sed -n 's/^\([0-9]*\) wanted.*/\1/p' \
    "$work/second-warm") GPU kernels compiled, "
  lacking=$(sed -n 's/.* \([0-9]*\) failed.*/\1/p' "$work/second-warm")
  [ "${lacking:-0}" = 0 ] || warmed+="$lacking could not be (the first run says why), "
else
  echo "no kernels for GPUs: NVRTC is missing (doctor, above, says how to get it)"
  warmed=""
fi
echo
echo "second run: ${warmed}quantize compiled $(kernels "$work/second-quantize")," \
  "dequantize $(kernels "$work/second-dequantize")"
echo "reference vectors, replayed: $("$diecast" check "$root"/tests/golden/*.safetensors \
  2> >(grep -v '%$' >&2) | tail -n 1)"
echo "round trip: $("$diecast" compare "$model" "$work/first-back" \
  2>/dev/null | tail -n 1)"
if ! "$diecast" doctor | grep -q '^yes  run on a GPU'; then
  last=$(last_gpu_run)
  if [ -n "$last" ]; then
    echo
    echo "no GPU here; the last recorded GPU run, $last:"
    sed -n '/^$/q; s/^/  /p' "$root/$last"
    grep -v 'accesses alone, ' "$root/$last" |
      sed -n 's/  \+/  /g; s/^\(.*nvfp4.*  [0-9.]*  % of copy\).*/  \1/p'
  fi
fi
# What was made here is gone at the end.
echo
echo "to keep a checkpoint: $diecast quantize MODEL OUT"
