"""torch.ops.diecast.* on the host device: opcheck, torch.compile, gradients, modes."""

import warnings

import pytest
import torch
from conftest import is_tuple, returns_of
from torch.library import opcheck
from torch_tensors import matrix, on_host, same  # noqa: F401, a fixture

import diecast
import diecast.torch
from diecast import _shapes, _table
from diecast.torch._ops import RENAMED

OPS = _table.OPS


def calls():
    """Calls of every op, and together with every option of tracing: its name, inputs, options."""
    x = matrix(32, 64)
    data, scale, amax = diecast.quantize_nvfp4(x, device="host")
    square = diecast.quantize_nvfp4(x, square=True, device="host")
    mx = diecast.quantize_mx(x, device="host")
    packed, half = diecast.pack_linear(data, scale, device="host"), matrix(8, 64)
    weight = {"rows": 32, "cols": 64}
    blocks, one = matrix(32, 4, dtype=torch.float32).abs() + 0.1, torch.full((1,), 9.0)
    offsets, counts = torch.tensor([0, 5, 32]), torch.tensor([5, 27], dtype=torch.int32)
    yield "quantize_nvfp4", (x,), {}
    yield "quantize_nvfp4", (x, amax), {"layout": "s128x4", "four_over_six": "mae", "e4m3_bound": 256}
    yield "quantize_nvfp4", (x,), {"direction": "both", "square": True}
    yield "quantize_nvfp4", (x, None, None, amax / 2688), {"direction": "columnwise"}
    yield "quantize_nvfp4", (x,), {"row_scaled": True, "layout": "s8x4"}
    yield "quantize_nvfp4", (x,), {"block_scales_alone": True, "profile": "torchao"}
    yield "dequantize_nvfp4", (data, scale, amax), {"dtype": "f32"}
    yield "dequantize_nvfp4", (data, scale, None, amax / 2688), {"cols": 63}
    yield "fp4_dequantize", (data, scale, amax / 2688), {"dtype": "f16"}
    yield "quantize_mx", (x,), {}
    yield "quantize_mx", (x,), {"format": "mxfp4", "profile": "torchao", "mode": "ceil",
                                "direction": "both", "layout": "s128x4"}
    yield "dequantize_mx", mx, {"dtype": "f32"}
    yield "amax", (x,), {}
    yield "amax", (x,), {"per": "block", "block": 32}
    yield "compute_fp4_scales", (blocks,), {}
    yield "static_blockwise_fp4_fake_quant", (x, blocks, one), {}
    yield "fp4_fake_quant_block", (x, one), {}
    yield "gemm_nvfp4", (data, scale, amax, *square), {"alpha": 0.5, "dtype": "f32"}
    yield "arrange_scales", (scale,), {}
    yield "arrange_scales", (mx[1],), {"layout": "s8x4"}
    yield "transpose_codes", (data,), {}
    yield "transpose_nvfp4", square, {}
    yield "quantize_nvfp4_grouped", (x, offsets), {"layout": "linear"}
    yield "quantize_mx_grouped", (x, offsets, counts), {"layout": "linear"}
    yield "pack_linear", (data, scale), {}
    yield "pack_linear", (data, scale), {"gated": "halves", "status": True}
    yield "unpack_linear", (packed,), weight
    yield "linear", (half, packed, one), weight
    yield "linear", (half, packed, one, None, None, torch.full((1,), 8)), weight
    yield "linear", (half, packed, one, half[0, :32].clone(), half[:, :32].float()), {
        **weight, "activation": "relu2", "split": 1, "dtype": "f32"}
    ids = torch.zeros(8, 2, dtype=torch.int32)
    yield "linear_experts", (half, packed, one, ids), {**weight, "weights": 1}
    yield "linear_experts", (half, packed, one, ids.long(), None, ids[0]), {**weight, "weights": 1}
    yield "combine_experts", (matrix(16, 64), ids, torch.full((8, 2), 0.3)), {"experts": 1}
    yield "combine_experts", (matrix(16, 64), ids.long(), torch.full((8, 2), 0.3), ids[0]), {"experts": 1}


CALLS = list(calls())
NAMES = [f"{i}-{name}" for i, (name, _, _) in enumerate(CALLS)]
every_call = pytest.mark.parametrize("name, inputs, options", CALLS, ids=NAMES)


def test_every_op_is_called():
    assert {name for name, _, _ in CALLS} == set(OPS) == set(diecast.torch.__all__) - {
        "NVFP4Tensor", "PackedLinear", "quantize_master_weights", "use_host"}


def test_a_schema_is_the_tables():
    schema = str(torch.ops.diecast.transpose_nvfp4.out._schema)
    assert schema == ('diecast::transpose_nvfp4.out(Tensor data, Tensor scale, Tensor amax, *, '
                      'SymInt cols=0, str layout="linear", Tensor(a!)? out_data_t=None, '
                      'Tensor(b!)? out_scale_t=None, Tensor(c!)? out_amax_t=None) -> ()')


# vllm#50946, TransformerEngine#600: schemas and fakes that are not what the op does.
@every_call
def test_11_40_opcheck(name, inputs, options):
    def comparable(tensor):  # opcheck compares no numbers of 8 bits
        return tensor if tensor is None or tensor.element_size() > 1 else tensor.view(torch.uint8)

    operator, inputs = getattr(torch.ops.diecast, name), tuple(map(comparable, inputs))
    options = {RENAMED.get(key, key): value for key, value in options.items()}
    opcheck(operator.default, inputs, options)
    made = operator.default(*inputs, **options)
    made = (made,) if isinstance(made, torch.Tensor) else made
    outs = {field: comparable(torch.zeros_like(tensor))
            for field, tensor in zip(OPS[name].outputs, made) if tensor.numel() > 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opcheck(operator.out, inputs, {**options, **outs})


@every_call
def test_a_function_gives_what_diecasts_own_gives(name, inputs, options):
    wanted = getattr(diecast, name)(*inputs, **options, device="host")
    function = getattr(diecast.torch, name)
    got = function(*inputs, **options)
    assert same(got, wanted)
    out = tuple(torch.zeros_like(tensor) for tensor in got) if isinstance(
        got, tuple) else torch.zeros_like(got)
    assert function(*inputs, **options, out=out) is out
    assert same(out, wanted)


STUB = returns_of("torch/__init__.pyi")


@every_call
def test_a_call_returns_as_many_as_the_stub_says(name, inputs, options):
    op, function = OPS[name], getattr(diecast.torch, name)
    given = {field for field, x in zip((*op.inputs, *op.optional_inputs), inputs) if x is not None}
    made = function(*inputs, **options)
    each = made if isinstance(made, tuple) else (made,)
    named = dict(zip(_shapes.present(op, given, options), each, strict=True))
    calls = [{}, named, {"out": made}]
    if "out" not in op.outputs:
        calls.append({"out": [*each]})
    if "out_unexpected" in op.outputs:
        calls.append(named | {"out_unexpected": torch.zeros(1, dtype=torch.int32)})
    for outputs in calls:
        keywords = {**options, **outputs}
        several = is_tuple(STUB[name], keywords)
        assert isinstance(function(*inputs, **keywords), tuple) == several, outputs.keys()
        own = getattr(diecast, name)(*inputs, **keywords, device="host")
        assert isinstance(own, tuple) == several, outputs.keys()


# flashinfer#2999, sglang#21419, TensorRT-LLM#11759, FastVideo#1647: graphs break at a call.
@every_call
def test_9_10_12_13_compiled_is_one_graph_and_equal(name, inputs, options):
    graphs = []

    def count(graph, _):
        graphs.append(graph)
        return graph.forward

    function = getattr(diecast.torch, name)
    compiled = torch.compile(lambda *tensors: function(*tensors, **options), fullgraph=True,
                             backend=count)
    assert same(compiled(*inputs), function(*inputs, **options))
    assert len(graphs) == 1
    traced = torch.compile(lambda *tensors: function(*tensors, **options), fullgraph=True,
                           backend="aot_eager", dynamic=True)
    assert same(traced(*inputs), function(*inputs, **options))


def test_inductor_fuses_around_it():
    def layer(x):
        data, scale, amax = diecast.torch.quantize_nvfp4(torch.relu(x) * 2, layout="s128x4")
        return diecast.torch.dequantize_nvfp4(data, scale, amax, layout="s128x4") + 1

    compiled = torch.compile(layer, fullgraph=True, dynamic=True)
    for rows in (3, 130):
        assert same(compiled(matrix(rows, 64)), layer(matrix(rows, 64)))


def test_rows_that_vary_compile_once():
    frames = []

    def count(graph, _):
        frames.append(graph)
        return graph.forward

    def layer(x, offsets):
        quantized = diecast.torch.quantize_nvfp4_grouped(x, offsets, layout="s128x4")
        sides = diecast.torch.quantize_nvfp4(x, direction="both")
        return quantized[1].shape[0] + sides[3].shape[0], diecast.torch.quantize_mx(x)[1]

    compiled = torch.compile(layer, fullgraph=True, backend=count)
    for rows in (16, 48, 333):
        x, offsets = matrix(rows, 64), torch.tensor([0, rows // 2, rows])
        torch._dynamo.mark_dynamic(x, 0)
        assert compiled(x, offsets)[0] == layer(x, offsets)[0]
    assert len(frames) == 1


def test_outputs_given_in_a_compiled_function():
    x, target = matrix(8, 64), torch.full((1,), 2.0)

    def step(x, kept):
        diecast.torch.amax(x, out=kept, accumulate=True)
        return kept + 1

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    assert compiled(x, target).item() == x.abs().max().item() + 1
    assert target.item() == x.abs().max().item()
    assert compiled(x / 100, target).item() == target.item() + 1


def test_a_gradient_goes_nowhere():
    x = matrix(4, 32, dtype=torch.float32).requires_grad_()
    one = torch.full((1,), 9.0)
    for each in (x, torch.nn.Parameter(x.detach())):
        made = diecast.torch.fp4_fake_quant_block(each, one)
        assert not made.requires_grad and made.grad_fn is None
        assert same(made, diecast.torch.fp4_fake_quant_block(x.detach(), one))
    straight = x + (diecast.torch.fp4_fake_quant_block(x, one) - x).detach()
    straight.sum().backward()
    assert (x.grad == 1).all()


def test_modes():
    x = matrix(4, 32)
    wanted = diecast.torch.quantize_nvfp4(x)
    with torch.inference_mode():
        assert same(diecast.torch.quantize_nvfp4(x), wanted)
    with torch.autocast("cpu", dtype=torch.float16):
        assert same(diecast.torch.quantize_nvfp4(x), wanted)
    assert same(diecast.torch.quantize_nvfp4(matrix(4, 64)[:, :32].contiguous()),
                diecast.torch.quantize_nvfp4(matrix(4, 64)[:, :32]))
    meta = diecast.torch.quantize_nvfp4(x.to("meta"), layout="s128x4")
    assert [tuple(tensor.shape) for tensor in meta] == [(4, 16), (128, 4), (1,)]
