# Made by src/python/stub/make_stub.py from the table of ops; the tests hold it to that.
from collections.abc import Sequence
from typing import Literal, overload

import torch
from torch import Tensor

from .. import PackedLinear as _PackedLinear
from ._distributed import quantize_master_weights as quantize_master_weights
from ._tensor import NVFP4Tensor as NVFP4Tensor

class PackedLinear(_PackedLinear):
    def to(self, device: object) -> PackedLinear: ...

def use_host(on: bool = ...) -> None: ...

def quantize_nvfp4(
    x: Tensor,
    amax: Tensor | None = ...,
    encode: Tensor | None = ...,
    decode: Tensor | None = ...,
    amax_t: Tensor | None = ...,
    encode_t: Tensor | None = ...,
    decode_t: Tensor | None = ...,
    block_amax: Tensor | None = ...,
    block_amax_t: Tensor | None = ...,
    rng_state: Tensor | None = ...,
    device_rows: Tensor | None = ...,
    *,
    out_data: Tensor | None = ...,
    out_scale: Tensor | None = ...,
    out_amax: Tensor | None = ...,
    out_data_t: Tensor | None = ...,
    out_scale_t: Tensor | None = ...,
    out_amax_t: Tensor | None = ...,
    out: Sequence[Tensor] | None = ...,
    direction: Literal["rowwise", "columnwise", "both"] = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    square: bool = ...,
    row_scaled: bool = ...,
    e4m3_bound: int = ...,
    four_over_six: Literal["off", "mae", "mse"] = ...,
    rht: Literal["none", "rowwise", "columnwise", "both"] = ...,
    sign_mask: int = ...,
    block_scales_alone: bool = ...,
) -> tuple[Tensor, ...]: ...

def dequantize_nvfp4(
    data: Tensor,
    scale: Tensor,
    amax: Tensor | None = ...,
    decode: Tensor | None = ...,
    device_rows: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    dtype: Literal["bf16", "f16", "f32"] | torch.dtype = ...,
    cols: int = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    square: bool = ...,
    row_scaled: bool = ...,
    columnwise: bool = ...,
    rows: int = ...,
    e4m3_bound: int = ...,
) -> Tensor: ...

def fp4_dequantize(
    data: Tensor,
    scale: Tensor,
    decode: Tensor,
    *,
    out: Tensor | None = ...,
    dtype: Literal["bf16", "f16", "f32"] | torch.dtype = ...,
    block_size: int = ...,
    tile_size: int = ...,
) -> Tensor: ...

def quantize_mx(
    x: Tensor,
    device_rows: Tensor | None = ...,
    *,
    out_data: Tensor | None = ...,
    out_scale: Tensor | None = ...,
    out_data_t: Tensor | None = ...,
    out_scale_t: Tensor | None = ...,
    out: Sequence[Tensor] | None = ...,
    format: Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"] = ...,
    direction: Literal["rowwise", "columnwise", "both"] = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    mode: Literal["rceil", "floor", "ceil", "even"] = ...,
    square: bool = ...,
) -> tuple[Tensor, ...]: ...

def dequantize_mx(
    data: Tensor,
    scale: Tensor,
    device_rows: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    format: Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"] = ...,
    dtype: Literal["bf16", "f16", "f32"] | torch.dtype = ...,
    cols: int = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    square: bool = ...,
    columnwise: bool = ...,
    rows: int = ...,
) -> Tensor: ...

def amax(
    x: Tensor,
    device_rows: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    per: Literal["tensor", "row", "column", "block", "tile"] = ...,
    nans: Literal["ignore", "propagate"] = ...,
    transform: Literal["none", "rowwise", "columnwise"] = ...,
    sign_mask: int = ...,
    block: int = ...,
    accumulate: bool = ...,
) -> Tensor: ...

def compute_fp4_scales(
    amax: Tensor,
    global_amax: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    scratch: Tensor | None = ...,
    unrounded: bool = ...,
    fp8: Literal["eager", "extension"] = ...,
) -> Tensor: ...

def static_blockwise_fp4_fake_quant(
    x: Tensor,
    amax: Tensor,
    global_amax: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    scratch: Tensor | None = ...,
    unrounded: bool = ...,
    fp8: Literal["eager", "extension"] = ...,
) -> Tensor: ...

def fp4_fake_quant_block(
    x: Tensor,
    global_amax: Tensor,
    device_rows: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    block_size: int = ...,
) -> Tensor: ...

def gemm_nvfp4(
    a: Tensor,
    a_scale: Tensor,
    a_amax: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_amax: Tensor,
    bias: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    scratch: Tensor | None = ...,
    dtype: Literal["bf16", "f16", "f32"] | torch.dtype = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    path: Literal["own", "cublaslt", "auto", "unpacked"] = ...,
    a_row_scaled: bool = ...,
    b_row_scaled: bool = ...,
    accumulate: bool = ...,
    alpha: float = ...,
    a_bound: int = ...,
    b_bound: int = ...,
) -> Tensor: ...

def arrange_scales(
    scale: Tensor,
    old_decode: Tensor | None = ...,
    new_decode: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    from_layout: Literal["linear", "s128x4", "s8x4"] = ...,
    layout: Literal["s128x4", "s8x4", "linear"] = ...,
    rows: int = ...,
    cols: int = ...,
    batch: int = ...,
) -> Tensor: ...

def transpose_codes(
    data: Tensor,
    *,
    out: Tensor | None = ...,
    rows: int = ...,
    cols: int = ...,
    pad: int = ...,
) -> Tensor: ...

def transpose_nvfp4(
    data: Tensor,
    scale: Tensor,
    amax: Tensor,
    *,
    out_data_t: Tensor | None = ...,
    out_scale_t: Tensor | None = ...,
    out_amax_t: Tensor | None = ...,
    out: Sequence[Tensor] | None = ...,
    cols: int = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
) -> tuple[Tensor, ...]: ...

def quantize_nvfp4_grouped(
    x: Tensor,
    row_offsets: Tensor,
    row_counts: Tensor | None = ...,
    amax: Tensor | None = ...,
    encode: Tensor | None = ...,
    decode: Tensor | None = ...,
    rng_state: Tensor | None = ...,
    *,
    out_data: Tensor | None = ...,
    out_scale: Tensor | None = ...,
    out_amax: Tensor | None = ...,
    members: Tensor | None = ...,
    out: Sequence[Tensor] | None = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    square: bool = ...,
    row_scaled: bool = ...,
    e4m3_bound: int = ...,
    four_over_six: Literal["off", "mae", "mse"] = ...,
    rht: Literal["none", "rowwise", "columnwise", "both"] = ...,
    sign_mask: int = ...,
) -> tuple[Tensor, ...]: ...

def quantize_mx_grouped(
    x: Tensor,
    row_offsets: Tensor,
    row_counts: Tensor | None = ...,
    *,
    out_data: Tensor | None = ...,
    out_scale: Tensor | None = ...,
    members: Tensor | None = ...,
    out: Sequence[Tensor] | None = ...,
    format: Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"] = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    mode: Literal["rceil", "floor", "ceil", "even"] = ...,
    square: bool = ...,
) -> tuple[Tensor, ...]: ...

@overload
def pack_linear(
    data: Tensor,
    scale: Tensor,
    up_data: Tensor | None = ...,
    up_scale: Tensor | None = ...,
    *,
    out_packed: Tensor | None = ...,
    out_status: None = ...,
    out: Tensor | Sequence[Tensor] | None = ...,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    status: Literal[False] = ...,
) -> Tensor: ...

@overload
def pack_linear(
    data: Tensor,
    scale: Tensor,
    up_data: Tensor | None = ...,
    up_scale: Tensor | None = ...,
    *,
    out_packed: Tensor | None = ...,
    out_status: Tensor | None = ...,
    out: Tensor | Sequence[Tensor] | None = ...,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    status: Literal[True],
) -> tuple[Tensor, ...]: ...

@overload
def pack_linear(
    data: Tensor,
    scale: Tensor,
    up_data: Tensor | None = ...,
    up_scale: Tensor | None = ...,
    *,
    out_packed: Tensor | None = ...,
    out_status: Tensor,
    out: Tensor | Sequence[Tensor] | None = ...,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    status: bool = ...,
) -> tuple[Tensor, ...]: ...

def unpack_linear(
    packed: Tensor,
    *,
    out_data: Tensor | None = ...,
    out_scale: Tensor | None = ...,
    out: Sequence[Tensor] | None = ...,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    rows: int = ...,
    cols: int = ...,
    version: int = ...,
    weights: int = ...,
) -> tuple[Tensor, ...]: ...

def linear(
    x: Tensor,
    packed: Tensor,
    factor: Tensor,
    bias: Tensor | None = ...,
    residual: Tensor | None = ...,
    device_rows: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    rows: int = ...,
    cols: int = ...,
    version: int = ...,
    weights: int = ...,
    activation: Literal["none", "silu_and_mul", "swiglu_oai", "relu2"] = ...,
    split: int = ...,
    dtype: Literal["bf16", "f16", "f32"] | torch.dtype = ...,
    settled: bool = ...,
    fast: bool = ...,
) -> Tensor: ...

@overload
def linear_experts(
    x: Tensor,
    packed: Tensor,
    factor: Tensor,
    routing: Tensor,
    bias: Tensor | None = ...,
    expert_map: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    out_unexpected: None = ...,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    rows: int = ...,
    cols: int = ...,
    version: int = ...,
    weights: int = ...,
    form: Literal["indexed", "contiguous", "masked"] = ...,
    activation: Literal["none", "silu_and_mul", "swiglu_oai", "relu2"] = ...,
    split: int = ...,
    dtype: Literal["bf16", "f16", "f32"] | torch.dtype = ...,
    fast: bool = ...,
) -> Tensor: ...

@overload
def linear_experts(
    x: Tensor,
    packed: Tensor,
    factor: Tensor,
    routing: Tensor,
    bias: Tensor | None = ...,
    expert_map: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    out_unexpected: Tensor,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    rows: int = ...,
    cols: int = ...,
    version: int = ...,
    weights: int = ...,
    form: Literal["indexed", "contiguous", "masked"] = ...,
    activation: Literal["none", "silu_and_mul", "swiglu_oai", "relu2"] = ...,
    split: int = ...,
    dtype: Literal["bf16", "f16", "f32"] | torch.dtype = ...,
    fast: bool = ...,
) -> tuple[Tensor, ...]: ...

@overload
def combine_experts(
    x: Tensor,
    topk_ids: Tensor,
    topk_weights: Tensor,
    expert_map: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    out_unexpected: None = ...,
    experts: int = ...,
    dtype: Literal["bf16", "f16", "f32"] | torch.dtype = ...,
) -> Tensor: ...

@overload
def combine_experts(
    x: Tensor,
    topk_ids: Tensor,
    topk_weights: Tensor,
    expert_map: Tensor | None = ...,
    *,
    out: Tensor | None = ...,
    out_unexpected: Tensor,
    experts: int = ...,
    dtype: Literal["bf16", "f16", "f32"] | torch.dtype = ...,
) -> tuple[Tensor, ...]: ...
