#!/usr/bin/env bash
# tests/engines/run.sh BUILD_FOLDER FILE: runs a test file against the command in BUILD_FOLDER, with the
# Python of BUILD_FOLDER/venv-engines (`tests/run.sh engines` makes it). Exit code 77: that is missing.
set -u
build=$1 here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
skip() {
  printf '%s: Skipped\n%s\n' "$here" "$1"
  exit 77
}
[ -x "$build/diecast" ] || skip "the command is not built"
[ -e "$build/venv-engines/complete" ] || skip "no engines are installed (tests/run.sh engines)"
cd "$here" || exit 1
export PYTHONDONTWRITEBYTECODE=1 DIECAST_CACHE=$build/test-cache DIECAST_TOOL=$build/diecast
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false CUDA_VISIBLE_DEVICES= TORCHDYNAMO_DISABLE=1
exec "$build/venv-engines/bin/python" -m pytest -q -p no:cacheprovider "$2"
