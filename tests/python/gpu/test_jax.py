"""diecast.jax on a GPU: compiled programs give the host's bits. Run by tests/gpu.sh."""

import os
import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch's tests run in this process
jax = pytest.importorskip("jax")
if jax.default_backend() != "gpu":
    pytest.skip("JAX has no CUDA device", allow_module_level=True)

import diecast  # noqa: E402
import diecast.jax  # noqa: E402


def matrix(rows, cols, dtype="bfloat16"):
    values = numpy.random.default_rng(rows + cols).standard_normal((rows, cols)) * 3
    return values.astype(jax.numpy.dtype(dtype))


def calls():
    """Calls of ops: name, inputs, options."""
    x = matrix(32, 64)
    data, scale, amax = diecast.quantize_nvfp4(x, device="host")
    blocks = numpy.abs(matrix(32, 4, "float32")) + 0.1
    yield "quantize_nvfp4", [x], {}
    yield "quantize_nvfp4", [x, amax], {"layout": "s128x4"}
    yield "quantize_nvfp4", [x], {"direction": "both", "square": True}
    yield "dequantize_nvfp4", [data, scale, amax], {"dtype": "f32", "cols": 63}
    yield "quantize_mx", [x], {"format": "mxfp4", "profile": "torchao", "mode": "ceil"}
    yield "dequantize_mx", list(diecast.quantize_mx(x, device="host")), {}
    yield "amax", [x], {"per": "row"}
    yield "compute_fp4_scales", [blocks], {}
    yield "static_blockwise_fp4_fake_quant", [x, blocks], {}
    yield "gemm_nvfp4", [data, scale, amax, data, scale, amax], {"dtype": "f32"}
    yield "arrange_scales", [scale], {"layout": "s8x4"}
    yield "transpose_codes", [data], {}


CALLS = list(calls())


@pytest.mark.parametrize("name, inputs, options", CALLS,
                         ids=[f"{i}-{name}" for i, (name, _, _) in enumerate(CALLS)])
def test_a_compiled_call_gives_the_hosts_bits(name, inputs, options):
    wanted = getattr(diecast, name)(*inputs, **options, device="host")
    compiled = jax.jit(lambda *arrays: getattr(diecast.jax, name)(*arrays, **options))
    for _ in range(2):
        got = compiled(*inputs)
        each = zip(got if isinstance(got, tuple) else (got,),
                   wanted if isinstance(wanted, tuple) else (wanted,), strict=True)
        for a, b in each:
            assert a.devices() == {jax.local_devices()[0]}
            assert numpy.asarray(a).tobytes() == b.tobytes()


def test_within_a_program_that_runs_again_and_again():
    """XLA puts what may be there into a CUDA graph."""
    @jax.jit
    def layer(x):
        for _ in range(4):
            made = diecast.jax.quantize_nvfp4(jax.numpy.maximum(x, 0) * 2)
            x = diecast.jax.dequantize_nvfp4(*made, dtype="f32") + 1
        return x

    def on_host(x):
        for _ in range(4):
            made = diecast.quantize_nvfp4(numpy.maximum(x, 0) * 2, device="host")
            x = diecast.dequantize_nvfp4(*made, dtype="f32", device="host") + 1
        return x

    for rows in (16, 16, 16, 48):
        x = matrix(rows, 64, "float32")
        assert numpy.array_equal(layer(x), on_host(x))


def test_nothing_is_compiled_or_loaded_when_a_call_runs():
    x = matrix(24, 96)
    lowered = jax.jit(lambda x: diecast.jax.quantize_nvfp4(x, layout="s8x4")).lower(x)
    before = diecast.runtime().counters()
    lowered.compile()(x)[0].block_until_ready()
    after = diecast.runtime().counters()
    assert (after["compiled"], after["loaded"]) == (before["compiled"], before["loaded"])
