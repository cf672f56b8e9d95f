"""diecast.torch on a GPU: torch's streams, CUDA graphs and compiled programs. Run by tests/gpu.sh."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

import diecast  # noqa: E402
import diecast.torch as ops  # noqa: E402


def matrix(rows, cols=256, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(rows, cols, generator=generator) * 3).to(torch.bfloat16)


def raw(tensor):
    """A tensor's bytes."""
    return tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()


def expected(x):
    """What the host makes of a matrix: there and back."""
    return raw(diecast.dequantize_nvfp4(*diecast.quantize_nvfp4(x, device="host"), device="host"))


def there_and_back(x):
    return ops.dequantize_nvfp4(*ops.quantize_nvfp4(x))


def test_operators_give_the_hosts_bits():
    for rows in (1, 127):
        x = matrix(rows)
        assert raw(there_and_back(x.cuda())) == expected(x)


def test_15_16_17_work_goes_to_torchs_current_stream():
    x, y = matrix(64), matrix(64, seed=1)
    there_and_back(x.cuda())  # compiled and loaded
    given, stream = x.cuda(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # the copy is behind it, and so must the op be
        given.copy_(y.cuda(non_blocking=True))
        got = there_and_back(given)
    stream.synchronize()
    assert raw(got) == expected(y)


def test_a_cuda_graph_replays_on_new_numbers():
    given = matrix(64).cuda()
    there_and_back(given)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = there_and_back(given)
    for seed in (1, 2):
        x = matrix(64, seed=seed)
        given.copy_(x)
        graph.replay()
        torch.cuda.synchronize()
        assert raw(got) == expected(x)


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_9_10_12_13_a_compiled_program_gives_the_same(mode):
    compiled = torch.compile(there_and_back, fullgraph=True, mode=mode)
    for seed in range(3):
        x = matrix(64, seed=seed)
        assert raw(compiled(x.cuda())) == expected(x)


def test_tensors_of_two_devices_are_refused():
    data, scale, amax = ops.quantize_nvfp4(matrix(64).cuda())
    with pytest.raises(diecast.Error) as error:
        ops.dequantize_nvfp4(data, scale.cpu(), amax)
    assert "scale" in str(error.value)
