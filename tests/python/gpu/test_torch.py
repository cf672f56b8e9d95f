"""torch tensors on a GPU: the host's bits, streams, graphs, devices. Run by tests/gpu.sh's machine."""

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

import diecast  # noqa: E402

HOST = {"device": "host"}


def matrix(rows, cols, dtype=torch.bfloat16):
    generator = torch.Generator().manual_seed(rows * 1000 + cols)
    return (torch.randn(rows, cols, generator=generator) * 3).to(dtype)


def raw(tensor):
    """A tensor's bytes."""
    return tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("options", [{}, {"layout": "s128x4"}, {"row_scaled": True},
                                     {"direction": "both"}, {"square": True, "direction": "both"},
                                     {"profile": "torchao", "block_scales_alone": True}], ids=str)
def test_28_a_gpu_gives_the_hosts_bits(dtype, options):
    for rows in (1, 127, 300):
        x = matrix(rows, 256, dtype)
        for a, b in zip(diecast.quantize_nvfp4(x.cuda(), **options),
                        diecast.quantize_nvfp4(x, **options, **HOST)):
            assert a.is_cuda and raw(a) == raw(b), (rows, options)


def test_other_ops_give_the_hosts_bits():
    x = matrix(64, 256)
    for format in ("mxfp8_e4m3", "mxfp8_e5m2"):
        gpu, host = diecast.quantize_mx(x.cuda(), format=format), diecast.quantize_mx(
            x, format=format, **HOST)
        assert all(raw(a) == raw(b) for a, b in zip(gpu, host))
        assert gpu[0].dtype == (torch.float8_e4m3fn if format == "mxfp8_e4m3" else
                                torch.float8_e5m2)
        back = diecast.dequantize_mx(*gpu, format=format)
        assert raw(back) == raw(diecast.dequantize_mx(*host, format=format, **HOST))
    gpu, host = diecast.quantize_nvfp4(x.cuda()), diecast.quantize_nvfp4(x, **HOST)
    assert raw(diecast.dequantize_nvfp4(*gpu)) == raw(diecast.dequantize_nvfp4(*host, **HOST))
    product = diecast.gemm_nvfp4(*gpu, *gpu)
    assert raw(product) == raw(diecast.gemm_nvfp4(*host, *host, **HOST))
    for per in ("tensor", "row", "column"):
        assert raw(diecast.amax(x.cuda(), per=per)) == raw(diecast.amax(x, per=per, **HOST))


def test_tensors_of_every_dialect():
    x = matrix(16, 256).cuda()
    data, scale, amax = diecast.quantize_nvfp4(x)
    expected = raw(diecast.dequantize_nvfp4(data, scale, amax))
    views = [(data, scale.view(torch.uint8)), (data, scale.view(torch.uint8).view(torch.int32))]
    if hasattr(torch, "float4_e2m1fn_x2"):
        views.append((data.view(torch.float4_e2m1fn_x2), scale))
    for codes, scales in views:
        assert raw(diecast.dequantize_nvfp4(codes, scales, amax)) == expected
    parameter = torch.nn.Parameter(x.float())
    for one in (parameter, parameter.detach(), parameter.data):
        assert raw(diecast.quantize_nvfp4(one)[0]) == raw(diecast.quantize_nvfp4(x.float())[0])
    with torch.inference_mode():
        assert raw(diecast.quantize_nvfp4(x)[0]) == raw(data)
    wide = torch.zeros(16, 512, dtype=x.dtype, device="cuda")
    wide[:, 128:384] = x
    assert raw(diecast.quantize_nvfp4(wide[:, 128:384])[0]) == raw(data)
    with pytest.raises(diecast.ArgumentError):
        diecast.quantize_nvfp4(x.t())


# SageAttention#371, helion#2817, mirage#207: kernels on another stream than the one that is captured.
def test_15_16_17_work_goes_to_the_stream_of_each_call():
    x, out = matrix(64, 512).cuda(), None
    out = diecast.quantize_nvfp4(x)
    op = diecast.prepare("quantize_nvfp4", x)
    for call in (lambda: diecast.quantize_nvfp4(x, out=out), lambda: op(x, out=out)):
        side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            call()
        for seed in (1, 2):
            x.copy_(matrix(64, 512) * seed)
            graph.replay()
            torch.cuda.synchronize()
            fresh = diecast.quantize_nvfp4(x)
            assert all(raw(a) == raw(b) for a, b in zip(out, fresh)), seed
    stream = torch.cuda.Stream()
    for given in (stream, stream.cuda_stream):
        diecast.quantize_nvfp4(x, out=out, stream=given)
        stream.synchronize()


def test_18_two_streams_do_not_disturb_each_other():
    a, b = matrix(2048, 4096).cuda(), matrix(2047, 4096).cuda()
    expected = [[raw(t) for t in diecast.quantize_nvfp4(x)] for x in (a, b)]
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    for _ in range(10):
        got = []
        for x, stream in zip((a, b), streams):
            with torch.cuda.stream(stream):
                got.append(diecast.quantize_nvfp4(x))
        torch.cuda.synchronize()
        assert [[raw(t) for t in one] for one in got] == expected


def test_19_a_device_that_is_not_the_current_one():
    if torch.cuda.device_count() < 2:
        pytest.skip("one CUDA device")
    x = matrix(64, 256)
    with torch.cuda.device(0):
        got = diecast.quantize_nvfp4(x.to("cuda:1"))
    assert got[0].device.index == 1
    assert all(raw(p) == raw(q) for p, q in zip(got, diecast.quantize_nvfp4(x, **HOST)))
    with pytest.raises(diecast.ArgumentError, match="CUDA device"):
        diecast.quantize_nvfp4(x.to("cuda:1"), amax=torch.ones(1, device="cuda:0"))


def test_24_more_rows_than_a_grid_has():
    x = torch.ones(70000, 64, dtype=torch.bfloat16, device="cuda")
    data, _, amax = diecast.quantize_nvfp4(x)
    assert amax.item() == 1 and (data.view(torch.uint8) == data[0, 0]).all()


def test_cupy_arrays_come_by_their_interface():
    cupy = pytest.importorskip("cupy")
    x = numpy.random.default_rng(0).standard_normal((32, 64)).astype("f4")
    got = diecast.quantize_nvfp4(cupy.asarray(x))
    host = diecast.quantize_nvfp4(x, **HOST)
    assert isinstance(got[0], cupy.ndarray)
    assert all(cupy.asnumpy(a).tobytes() == b.tobytes() for a, b in zip(got, host))
    with cupy.cuda.Stream() as stream:
        diecast.amax(cupy.asarray(x), out=cupy.empty(1, "f4"))
        stream.synchronize()


def test_jax_arrays_are_inputs():
    jax = pytest.importorskip("jax")
    x = jax.numpy.ones((32, 64), "bfloat16")
    out = tuple(torch.empty(shape, dtype=kind, device="cuda") for shape, kind in (
        ((32, 32), torch.uint8), ((32, 4), torch.float8_e4m3fn), ((1,), torch.float32)))
    diecast.quantize_nvfp4(x, out=out)
    torch.cuda.synchronize()
    assert out[2].item() == 1
    with pytest.raises(diecast.ArgumentError, match="JAX"):
        diecast.quantize_nvfp4(x, stream=0)


def test_fake_tensors_are_refused():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        x = torch.empty(4, 64, device="cuda")
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        diecast.quantize_nvfp4(x)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_two_ranks_cast_shards_by_nccl():
    example = Path(__file__).resolve().parents[3] / "examples/fsdp_weights.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("4 of 4 weights equal the whole cast") == 3, done.stdout
