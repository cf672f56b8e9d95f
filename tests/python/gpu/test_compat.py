"""diecast.compat's default profiles on a GPU: the bits of FlashInfer's and vLLM's formulas, which take
a GPU's approximate reciprocal. Run by tests/gpu.sh."""

import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

import diecast  # noqa: E402
from diecast.compat import flashinfer, vllm  # noqa: E402

RECIPROCAL = """
/* diecast
size     count
arg      x      in   f32  [count]
arg      out    out  f32  [count]
arg      count
launch   grid(count) block(32)
target   sm_80+
exchange none
sample   count {0, 1, 5}
*/
DIECAST_KERNEL {
  if (threadIdx.x != 0) return;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out[blockIdx.x]) : "f"(x[blockIdx.x]));
}
"""
# Between neighbours of E2M1's magnitudes; a value in the middle goes to the even code.
MIDDLES = [(0.25, False), (0.75, True), (1.25, False), (1.75, True), (2.5, False), (3.5, True),
           (5.0, False)]


@pytest.fixture(scope="module")
def near():
    """The GPU's approximate reciprocal of f32 values."""
    kernel = diecast.kernel(RECIPROCAL, name="reciprocal")
    return lambda x: kernel(x.reshape(-1)).reshape(x.shape)


def packed(x):
    """E2M1 codes of f32 values, two a byte."""
    magnitude, codes = x.abs(), torch.zeros(x.shape, dtype=torch.uint8, device=x.device)
    for middle, up in MIDDLES:
        codes += (magnitude >= middle if up else magnitude > middle).to(torch.uint8)
    codes += torch.signbit(x).to(torch.uint8) * 8
    return codes[:, ::2] | codes[:, 1::2] << 4


def formula(x, encode, near, of_dsl):
    """Codes and linear block scales by the formula of templates/PROFILES.md."""
    blocks = x.float().reshape(x.shape[0], -1, 16)
    amax = blocks.abs().amax(2)
    scaled = encode * (amax * near(torch.full_like(encode, 6)))
    scale = scaled.clamp(max=448).to(torch.float8_e4m3fn)
    factor = near(scale.float() * near(encode))
    factor = torch.where((scale.float() if of_dsl else amax) == 0, 0, factor)
    return packed((blocks * factor[:, :, None]).reshape(x.shape)), scale.view(torch.uint8)


def matrices():
    """Usual numbers, and rows of zeros."""
    for dtype in (torch.bfloat16, torch.float16):
        for rows, cols in ((1, 64), (40, 256), (257, 4096)):
            values = numpy.random.default_rng(rows).standard_normal((rows, cols)) * 3
            x = torch.from_numpy(values).to(dtype).cuda()
            x[rows // 2, :32] = 0
            yield x, 2688 / x.abs().max().float().reshape(1)


@pytest.mark.parametrize("backend", ["cuda", "cute-dsl"])
def test_flashinfers_default_is_its_formula(near, backend, monkeypatch):
    monkeypatch.delenv("FLASHINFER_DISABLE_FP4_QUANT_FAST_MATH", raising=False)
    for x, encode in matrices():
        data, scale = flashinfer.nvfp4_quantize(x, encode, flashinfer.SfLayout.layout_linear,
                                                backend=backend)
        codes, scales = formula(x, encode, near, backend == "cute-dsl")
        assert torch.equal(scale, scales) and torch.equal(data, codes), (x.shape, x.dtype)
        tiled = flashinfer.nvfp4_quantize(x, encode, backend=backend)
        assert torch.equal(tiled[0], codes)
        assert torch.equal(flashinfer.block_scale_interleave(scales), tiled[1].reshape(-1))


def test_vllms_default_is_its_formula(near):
    for x, encode in matrices():
        data, scale = vllm.scaled_fp4_quant(x, encode, is_sf_swizzled_layout=False)
        codes, scales = formula(x, encode, near, True)
        assert torch.equal(scale.view(torch.uint8), scales) and torch.equal(data, codes)
