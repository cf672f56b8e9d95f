"""megatron.core.fp4_utils, for tensors of Transformer Engine: those with its fields _rowwise_data,
_rowwise_scale_inv and _amax_rowwise. Nothing of Transformer Engine is imported."""

import torch

import diecast.torch as ops

from .._errors import ArgumentError
from ..torch._arguments import tensors
from ._refuse import only


def is_nvfp4tensor(tensor):
    """Whether it is Transformer Engine's NVFP4Tensor, or a type that extends it."""
    return any(base.__name__ == "NVFP4Tensor" and base.__module__.startswith("transformer_engine.")
               for base in type(tensor).__mro__)


def get_nvfp4_rowwise_packed_shape(shape):
    """The shape of rowwise codes in bytes: the last dimension halved; no dimensions stay none."""
    if len(shape) == 0:
        return shape
    if shape[-1] % 2 != 0:
        raise ArgumentError("shape_mismatch", f"the last dimension of {tuple(shape)} is odd",
                            "two codes share a byte: pad the last dimension")
    return torch.Size((*shape[:-1], shape[-1] // 2))


def _rowwise_data(tensor, function):
    data = getattr(tensor, "_rowwise_data", None)
    if not is_nvfp4tensor(tensor) or data is None:
        raise ArgumentError("not_supported", f"{function}: {type(tensor).__name__} has no rowwise codes "
                            "of Transformer Engine", "pass a Transformer Engine NVFP4Tensor")
    return data


def modify_nvfp4_rowwise_storage(fp4_tensor, new_rowwise_data):
    """Moves a tensor's rowwise codes into `new_rowwise_data`, a u8 view of their shape."""
    old = _rowwise_data(fp4_tensor, "modify_nvfp4_rowwise_storage")
    tensors("modify_nvfp4_rowwise_storage", new_rowwise_data=new_rowwise_data)
    if old.dtype != torch.uint8 or new_rowwise_data.dtype != torch.uint8 or (
            old.shape != new_rowwise_data.shape):
        raise ArgumentError("shape_mismatch", f"the codes are {old.dtype} {tuple(old.shape)}, their new "
                            f"place is {new_rowwise_data.dtype} {tuple(new_rowwise_data.shape)}",
                            "pass a uint8 view of the codes' shape")
    new_rowwise_data.detach().copy_(old)
    fp4_tensor._rowwise_data = new_rowwise_data


def quantize_nvfp4_param_shard(model_params, main_params, start_offsets, data_parallel_group,
                               fsdp_shard_model_params=None):
    """Casts this rank's shards of main parameters into NVFP4 ones; Megatron gathers its own buffers.
    Empty lists: nothing happens, and no rank is waited for."""
    if fsdp_shard_model_params is not None:
        only("quantize_nvfp4_param_shard", fsdp_shard_model_params=("a list", (None,)))
    if len(model_params) == 0:
        return
    ops.quantize_master_weights(model_params, main_params, start_offsets, data_parallel_group,
                                gather=False)


def get_fp4_align_size(fp4_recipe):
    """Tokens are padded to a multiple of 128: whole tiles of scales, which every kernel takes."""
    return 128


def dequantize_fp4_tensor(fp4_tensor):
    """Its rowwise side as its own dtype."""
    data = _rowwise_data(fp4_tensor, "dequantize_fp4_tensor")
    words = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}
    only("dequantize_fp4_tensor", dtype=(fp4_tensor.dtype, tuple(words)))
    tensors("dequantize_fp4_tensor", _rowwise_scale_inv=getattr(fp4_tensor, "_rowwise_scale_inv", None),
            _amax_rowwise=getattr(fp4_tensor, "_amax_rowwise", None))
    rows, blocks = data.numel() // data.shape[-1], data.shape[-1] // 8
    scale = fp4_tensor._rowwise_scale_inv[:rows, :blocks].contiguous()  # without its padding
    return ops.dequantize_nvfp4(data, scale, fp4_tensor._amax_rowwise.reshape(-1)[:1],
                                dtype=words[fp4_tensor.dtype])
