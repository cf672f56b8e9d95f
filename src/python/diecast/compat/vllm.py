"""vllm._custom_ops."""

import diecast.torch as ops

from .._errors import ArgumentError
from ..torch._arguments import sizes, tensors
from ._refuse import only


def scaled_fp4_quant(input, input_global_scale, is_sf_swizzled_layout=True, backend="none",
                     padded_n=None):
    """bf16 or f16 [.., K] under the encode scale f32 [1]: codes u8 [M, K/2] and E4M3 scales, linear
    [M, K/16] or padded to whole tiles. A backend of TensorRT-LLM takes tiles of 8x4 for 32 rows or
    fewer, as vLLM does. Raises ArgumentError for padded_n."""
    only("scaled_fp4_quant", padded_n=(padded_n, (None,)))
    leading, last = sizes("scaled_fp4_quant", input=input)
    tensors("scaled_fp4_quant", input_global_scale=input_global_scale)
    if input.device.type == "cpu":
        raise ArgumentError("not_supported", "scaled_fp4_quant: its bits are of a GPU's approximate reciprocal",
                            'pass tensors of a GPU, or call diecast.torch.quantize_nvfp4 with profile='
                            '"flashinfer_dsl_exact"')
    matrix = input.reshape(leading.numel(), last)
    few = "trtllm" in backend and matrix.shape[0] <= 32
    layout = "linear" if not is_sf_swizzled_layout else "s8x4" if few else "s128x4"
    return ops.quantize_nvfp4(matrix, encode=input_global_scale, layout=layout,
                              profile="flashinfer_dsl_fast")
