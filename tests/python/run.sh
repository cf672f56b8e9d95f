#!/usr/bin/env bash
# tests/python/run.sh BUILD_FOLDER FILE...: runs test files of Python against the package that the build
# laid out in BUILD_FOLDER/python. Exit code 77: something is missing, and the last lines say what.
# frameworks/test_NAME_x.py needs the module NAME too, and has an environment of its own.
set -u
build=$1 here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
shift
python=$build/venv/bin/python modules=(numpy ml_dtypes pytest)
if [[ $1 =~ ^frameworks/test_([a-z]+)_ ]]; then
  python=$build/venv-frameworks/bin/python modules+=("${BASH_REMATCH[1]}")
fi
[ -x "$python" ] || python=python3
skip() {
  printf '%s: Skipped\n%s\n' "$here" "$1"
  exit 77
}
[ -e "$build/python/diecast/_core.abi3.so" ] || skip "the Python package is not built"
for module in "${modules[@]}"; do
  "$python" -c "import $module" 2>/dev/null || skip "no Python module $module (pip install $module)"
done
cd "$here" || exit 1
export PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1 DIECAST_CACHE=$build/test-cache
export TORCHINDUCTOR_CACHE_DIR=$build/test-cache/inductor
exec "$python" -m pytest -q -p no:cacheprovider "$@"
