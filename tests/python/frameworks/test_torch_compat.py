"""diecast.compat on the host device: signatures, shapes and bits of the libraries that it stands for."""

import inspect

import numpy
import pytest
import torch
from conftest import golden

import diecast
import diecast.torch
from diecast.compat import flashinfer, megatron, modelopt, vllm


@pytest.fixture(autouse=True)
def on_host(monkeypatch):
    diecast.torch.use_host()
    torch.compiler.reset()
    monkeypatch.setenv("FLASHINFER_DISABLE_FP4_QUANT_FAST_MATH", "1")  # the host has no GPU's reciprocal


def matrix(*shape, dtype=torch.bfloat16):
    generator = torch.Generator().manual_seed(1)
    return (torch.randn(shape, generator=generator) * 3).to(dtype)


def encode_scale(x):
    return 2688 / x.abs().max().float().reshape(1)


def tensor(array):
    """Of numpy's array, also of ml_dtypes' bf16."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(numpy.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def parameters(function):
    return [name if parameter.default is parameter.empty else f"{name}={parameter.default}"
            for name, parameter in inspect.signature(function).parameters.items()]


@pytest.mark.parametrize("function, wanted", [
    (modelopt.fp4_dequantize, "packed_tensor scale_tensor global_scale block_size=16 tile_size=128 "
     "dtype=torch.float32"),
    (modelopt.compute_fp4_scales, "amax global_amax=None quantize_block_scales=True "
     "fp8_max_for_normalization=448.0"),
    (modelopt.static_blockwise_fp4_fake_quant, "x amax global_amax=None quantize_block_scales=True "
     "fp8_max_for_normalization=448.0 out_dtype=None"),
    (modelopt.fp4_fake_quant_block, "x global_amax block_size=16 tile_rows=16 tile_cols=64 "
     "num_warps=None num_stages=None"),
    (flashinfer.nvfp4_quantize, "a a_global_sf sfLayout=SfLayout.layout_128x4 do_shuffle=False "
     "sf_vec_size=16 enable_pdl=None backend=cuda per_token_activation=False "
     "expanded_idx_to_permuted_idx=None"),
    (flashinfer.mxfp8_quantize, "input is_sf_swizzled_layout=True alignment=32 enable_pdl=None "
     "backend=cuda sf_swizzle_layout=None"),
    (flashinfer.block_scale_interleave, "unswizzled_sf"),
    (flashinfer.e2m1_and_ufp8sf_scale_to_float, "e2m1_tensor ufp8_scale_tensor "
     "global_scale_tensor=None sf_vec_size=16 ufp8_type=1 is_sf_swizzled_layout=True "
     "is_sf_8x4_layout=False"),
    (vllm.scaled_fp4_quant, "input input_global_scale is_sf_swizzled_layout=True backend=none "
     "padded_n=None"),
    (megatron.is_nvfp4tensor, "tensor"),
    (megatron.get_nvfp4_rowwise_packed_shape, "shape"),
    (megatron.modify_nvfp4_rowwise_storage, "fp4_tensor new_rowwise_data"),
    (megatron.quantize_nvfp4_param_shard, "model_params main_params start_offsets data_parallel_group "
     "fsdp_shard_model_params=None"),
    (megatron.get_fp4_align_size, "fp4_recipe"),
    (megatron.dequantize_fp4_tensor, "fp4_tensor"),
], ids=lambda one: getattr(one, "__name__", ""))
def test_signatures(function, wanted):
    assert parameters(function) == wanted.split()


@pytest.mark.parametrize("options, tensors", golden("nvfp4_modelopt.safetensors"), ids=str)
def test_modelopt_has_its_bits(options, tensors):
    del options
    x, amax = tensor(tensors["x"]), tensor(tensors["block_amax"])
    assert torch.equal(modelopt.compute_fp4_scales(amax), tensor(tensors["fp4_scales"]))
    fake = modelopt.static_blockwise_fp4_fake_quant(x, amax)
    assert fake.dtype == x.dtype and torch.allclose(
        fake.float(), tensor(tensors["static_fake_quant"]).float(), rtol=2**-7, atol=0)
    back = modelopt.fp4_dequantize(tensor(tensors["data"]), tensor(tensors["scale"]),
                                   tensor(tensors["scale_2"]).reshape(()), dtype=torch.bfloat16)
    assert back.dtype == torch.bfloat16 and back.shape == x.shape


def test_modelopt_normalizes_by_another_bound():
    amax = matrix(8, 4, dtype=torch.float32).abs()
    bounded = modelopt.compute_fp4_scales(amax, fp8_max_for_normalization=256.0)
    largest = amax.max() * 1.75
    assert torch.equal(bounded, modelopt.compute_fp4_scales(amax, largest))
    assert not torch.equal(bounded, modelopt.compute_fp4_scales(amax))
    exact = modelopt.compute_fp4_scales(amax, quantize_block_scales=False)
    assert torch.allclose(exact, amax / 6)
    x = matrix(8, 64)
    wide = modelopt.static_blockwise_fp4_fake_quant(x, amax, out_dtype=torch.float32)
    assert wide.dtype == torch.float32
    assert modelopt.fp4_fake_quant_block(x, x.abs().max()).shape == x.shape
    with pytest.raises(diecast.ArgumentError, match="dtype = torch.float64"):
        modelopt.fp4_dequantize(x, x, x, dtype=torch.float64)


@pytest.mark.parametrize("layout, shape", [("layout_128x4", (128, 4)), ("layout_8x4", (40, 4)),
                                           ("layout_linear", (40, 4))])
@pytest.mark.parametrize("backend, profile", [("cuda", "flashinfer_exact"),
                                              ("cute-dsl", "flashinfer_dsl_exact")])
def test_flashinfer_nvfp4(layout, shape, backend, profile):
    x = matrix(40, 64)
    encode = encode_scale(x)
    data, scale = flashinfer.nvfp4_quantize(x, encode, flashinfer.SfLayout[layout], backend=backend)
    assert (data.dtype, data.shape, scale.dtype, scale.shape) == (
        torch.uint8, (40, 32), torch.uint8, shape)
    ours = diecast.quantize_nvfp4(x, encode=encode, profile=profile, device="host")
    assert torch.equal(data, ours[0])
    linear = layout == "layout_linear"
    back = flashinfer.e2m1_and_ufp8sf_scale_to_float(
        data, scale, 1 / encode, is_sf_swizzled_layout=not linear,
        is_sf_8x4_layout=layout == "layout_8x4")
    assert back.dtype == torch.float32 and (back - x).abs().max() < 1.5
    if layout == "layout_128x4":
        rearranged = flashinfer.block_scale_interleave(ours[1].view(torch.uint8))
        assert torch.equal(rearranged, scale.reshape(-1))


def test_flashinfer_scales_of_several_matrices():
    scale = torch.arange(3 * 5 * 4, dtype=torch.uint8).reshape(3, 5, 4)
    each = torch.cat([flashinfer.block_scale_interleave(one) for one in scale])
    assert torch.equal(flashinfer.nvfp4_block_scale_interleave(scale), each)


def test_flashinfer_mxfp8():
    x = matrix(5, 96)
    data, scale = flashinfer.mxfp8_quantize(x)
    ours = diecast.quantize_mx(x, layout="s128x4", device="host")
    assert data.dtype == torch.float8_e4m3fn and scale.shape == (128 * 4,)
    assert torch.equal(data.view(torch.uint8), ours[0].view(torch.uint8))
    padded, scale = flashinfer.mxfp8_quantize(x[:, :70], False, alignment=64)
    assert padded.shape == (5, 128) and scale.shape == (5 * 4,)
    assert (padded[:, 70:].float() == 0).all()


def test_flashinfers_default_needs_a_gpu(monkeypatch):
    monkeypatch.delenv("FLASHINFER_DISABLE_FP4_QUANT_FAST_MATH")
    x = matrix(4, 32)
    for call in (flashinfer.nvfp4_quantize, vllm.scaled_fp4_quant):
        with pytest.raises(diecast.ArgumentError, match="a GPU's approximate reciprocal") as caught:
            call(x, encode_scale(x))
        assert "exact" in caught.value.fix


@pytest.mark.parametrize("few, backend, shape", [(4, "none", (128, 4)), (4, "trtllm", (8, 4)),
                                                 (33, "flashinfer-trtllm", (128, 4))])
def test_vllm_shapes(few, backend, shape):
    """Traced without computing: its bits are a GPU's."""
    x = torch.empty(few, 64, dtype=torch.bfloat16, device="meta")
    encode = torch.empty(1, device="meta")
    data, scale = vllm.scaled_fp4_quant(x, encode, backend=backend)
    assert (data.shape, scale.shape) == ((few, 32), shape) and scale.dtype == torch.float8_e4m3fn
    linear = vllm.scaled_fp4_quant(x.reshape(2, -1, 64) if few == 4 else x, encode, False)
    assert linear[1].shape == (few, 4)


@pytest.mark.parametrize("call, name", [
    (lambda x, s: flashinfer.nvfp4_quantize(x, s, do_shuffle=True), "do_shuffle"),
    (lambda x, s: flashinfer.nvfp4_quantize(x, s, sf_vec_size=32), "sf_vec_size"),
    (lambda x, s: flashinfer.nvfp4_quantize(x, s, backend="cudnn"), "backend"),
    (lambda x, s: flashinfer.nvfp4_quantize(x, s, per_token_activation=True), "per_token_activation"),
    (lambda x, s: flashinfer.nvfp4_quantize(x, s, expanded_idx_to_permuted_idx=x),
     "expanded_idx_to_permuted_idx"),
    (lambda x, s: flashinfer.e2m1_and_ufp8sf_scale_to_float(x, x, ufp8_type=0), "ufp8_type"),
    (lambda x, s: vllm.scaled_fp4_quant(x, s, padded_n=64), "padded_n"),
])
def test_an_argument_that_diecast_lacks_is_refused_by_name(call, name):
    x = matrix(4, 32)
    with pytest.raises(diecast.ArgumentError, match=name) as caught:
        call(x, encode_scale(x))
    assert caught.value.code == "not_supported" and name in caught.value.fix


@pytest.mark.parametrize("call, error, text", [
    (lambda x, s: flashinfer.nvfp4_quantize(x, None), diecast.DtypeError, "a_global_sf is NoneType"),
    (lambda x, s: flashinfer.nvfp4_quantize(x, s, "linear"), diecast.ArgumentError, "sfLayout = 'linear'"),
    (lambda x, s: flashinfer.mxfp8_quantize(x[0, 0]), diecast.ArgumentError, "input has no dimensions"),
    (lambda x, s: flashinfer.mxfp8_quantize(x, alignment=0), diecast.ArgumentError, "alignment = 0"),
    (lambda x, s: flashinfer.block_scale_interleave([1]), diecast.DtypeError, "unswizzled_sf is list"),
    (lambda x, s: vllm.scaled_fp4_quant(x, None), diecast.DtypeError, "input_global_scale is NoneType"),
    (lambda x, s: vllm.scaled_fp4_quant(x[0, 0], s), diecast.ArgumentError, "input has no dimensions"),
    (lambda x, s: modelopt.fp4_dequantize(x, x, 2.0), diecast.DtypeError, "global_scale is float"),
    (lambda x, s: modelopt.fp4_fake_quant_block(x, x), diecast.ArgumentError, "global_amax has 128"),
    (lambda x, s: modelopt.compute_fp4_scales(2.0), diecast.DtypeError, "amax is float"),
    (lambda x, s: modelopt.static_blockwise_fp4_fake_quant(None, x), diecast.DtypeError, "x is NoneType"),
    (lambda x, s: megatron.modify_nvfp4_rowwise_storage(NVFP4Tensor(x), None), diecast.DtypeError,
     "new_rowwise_data is NoneType"),
])
def test_what_is_no_such_tensor_is_refused_by_name(call, error, text):
    x = matrix(4, 32)
    with pytest.raises(error, match=text):
        call(x, encode_scale(x))


def test_scales_of_nothing_are_nothing():
    none = torch.empty(0, 4)
    assert modelopt.compute_fp4_scales(none, None, True, 256.0).shape == (0, 4)
    one = torch.empty(1, device="meta")
    assert vllm.scaled_fp4_quant(none.bfloat16().to("meta"), one, False)[0].shape == (0, 8)


def test_compiled_in_one_graph():
    x = matrix(16, 64)
    compiled = torch.compile(lambda x, scale: flashinfer.nvfp4_quantize(x, scale)[0] + 1,
                             fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x, encode_scale(x)),
                       flashinfer.nvfp4_quantize(x, encode_scale(x))[0] + 1)


class NVFP4Tensor:
    """The fields of Transformer Engine's tensor that Megatron's functions read."""

    def __init__(self, x):
        data, scale, amax = diecast.quantize_nvfp4(x, device="host")
        rows, blocks = scale.shape
        padded = torch.nn.functional.pad(scale.view(torch.uint8), (0, -blocks % 4, 0, -rows % 128))
        self._rowwise_data, self._rowwise_scale_inv, self._amax_rowwise = data, padded, amax
        self.dtype = x.dtype


NVFP4Tensor.__module__ = "transformer_engine.pytorch.tensor.nvfp4_tensor"


def test_megatron():
    assert megatron.get_nvfp4_rowwise_packed_shape(torch.Size((3, 64))) == torch.Size((3, 32))
    assert megatron.get_nvfp4_rowwise_packed_shape(torch.Size(())) == torch.Size(())
    assert megatron.get_fp4_align_size("nvfp4") == 128
    with pytest.raises(ValueError, match="odd"):
        megatron.get_nvfp4_rowwise_packed_shape((3, 5))
    x = matrix(5, 48)
    weight = NVFP4Tensor(x)
    assert megatron.is_nvfp4tensor(weight) and not megatron.is_nvfp4tensor(x)
    back = megatron.dequantize_fp4_tensor(weight)
    quantized = diecast.quantize_nvfp4(x, device="host")
    assert torch.equal(back, diecast.dequantize_nvfp4(*quantized, device="host"))
    place = torch.zeros(10, 24, dtype=torch.uint8)[5:]
    megatron.modify_nvfp4_rowwise_storage(weight, place)
    assert weight._rowwise_data is place and torch.equal(place, quantized[0])
    with pytest.raises(diecast.ArgumentError, match="uint8 view"):
        megatron.modify_nvfp4_rowwise_storage(weight, place[:2])
    for call in (megatron.dequantize_fp4_tensor,
                 lambda one: megatron.modify_nvfp4_rowwise_storage(one, place)):
        with pytest.raises(diecast.ArgumentError, match="Tensor has no rowwise codes"):
            call(x)
