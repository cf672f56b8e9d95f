"""tests/bench/triton: each kernel makes what the diecast kernel of its name makes, by Triton's
interpreter beside the host device, and each compiles for a GPU. Neither needs one."""

import os
import subprocess
import sys
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"  # read as triton is imported

import pytest
import torch

FOLDER = Path(__file__).resolve().parents[3] / "tests/bench/triton"
sys.path.insert(0, str(FOLDER))

from pairs import EXAMPLES, near, outputs, pairs

# bf16 is left out: the interpreter cuts it off, where a GPU rounds.
OF = {dtype: pairs(dtype, "cpu", device="host") for dtype in (torch.float16, torch.float32)}
NAMES = list(OF[torch.float32])


def test_every_example_has_its_pair():
    own = {path.stem for path in EXAMPLES.glob("*.cu")} - {"silu_and_mul_nvfp4"}
    assert set(NAMES) == own


@pytest.mark.parametrize("dtype", OF)
@pytest.mark.parametrize("name", NAMES)
def test_both_make_the_same(name, dtype):
    pair = OF[dtype][name]
    arguments = pair.make(5, 96, 0)
    theirs = outputs(pair.theirs(*(each.clone() for each in arguments)))
    ours = outputs(pair.ours(*arguments))
    assert len(ours) == len(theirs)
    for a, b in zip(theirs, ours):
        assert near(a, b)


COMPILED = """
import kernels, triton
from triton.backends.compiler import GPUTarget
SIGNATURES = {
    "softmax": "*bf16 *bf16 i32 i32",
    "rms_norm": "*bf16 *bf16 *bf16 *bf16 i32 i32 fp32",
    "silu_and_mul": "*bf16 *bf16 i32 i32",
    "scan": "*bf16 *bf16 i32 i32",
    "gemv": "*bf16 *bf16 *bf16 *bf16 i32 i32",
    "histogram": "*bf16 *i32 i32 fp32 fp32",
    "rotary_embedding": "*bf16 *i64 *fp32 i32 i32 i32 i32",
    "top_k_gate": "*bf16 *fp32 *i32 i32 i32",
}
for name, types in SIGNATURES.items():
    tuned = getattr(kernels, name + "_kernel")
    assert len(tuned.configs) >= 16, name
    constants = dict(tuned.configs[5].kwargs)
    if name == "top_k_gate":
        constants |= {"EXPERTS": 100, "WIDE": 128, "K": 8, "RENORMALIZE": False}
    signature = dict(zip(tuned.fn.arg_names, types.split())) | {c: "constexpr" for c in constants}
    source = triton.compiler.ASTSource(fn=tuned.fn, signature=signature, constexprs=constants)
    assert triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"], name
print(*SIGNATURES)
"""


def test_all_compile_for_a_gpu(tmp_path):
    environment = dict(os.environ, TRITON_CACHE_DIR=str(tmp_path), PYTHONWARNINGS="ignore",
                       PYTHONPATH=os.pathsep.join([str(FOLDER), *sys.path]))
    del environment["TRITON_INTERPRET"]
    run = subprocess.run([sys.executable, "-c", COMPILED], env=environment, capture_output=True, text=True)
    assert set(run.stdout.split()) == set(NAMES), run.stderr
