# Made by src/python/stub/make_stub.py from the table of ops; the tests hold it to that.
from typing import Any, Literal, overload

import numpy
from jax import Array
from jax.typing import ArrayLike

def quantize_nvfp4(
    x: ArrayLike,
    amax: ArrayLike | None = ...,
    encode: ArrayLike | None = ...,
    decode: ArrayLike | None = ...,
    amax_t: ArrayLike | None = ...,
    encode_t: ArrayLike | None = ...,
    decode_t: ArrayLike | None = ...,
    block_amax: ArrayLike | None = ...,
    block_amax_t: ArrayLike | None = ...,
    rng_state: ArrayLike | None = ...,
    device_rows: ArrayLike | None = ...,
    *,
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
) -> tuple[Array, ...]: ...

def dequantize_nvfp4(
    data: ArrayLike,
    scale: ArrayLike,
    amax: ArrayLike | None = ...,
    decode: ArrayLike | None = ...,
    device_rows: ArrayLike | None = ...,
    *,
    dtype: Literal["bf16", "f16", "f32"] | numpy.dtype[Any] | type[Any] = ...,
    cols: int = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    square: bool = ...,
    row_scaled: bool = ...,
    columnwise: bool = ...,
    rows: int = ...,
    e4m3_bound: int = ...,
) -> Array: ...

def fp4_dequantize(
    data: ArrayLike,
    scale: ArrayLike,
    decode: ArrayLike,
    *,
    dtype: Literal["bf16", "f16", "f32"] | numpy.dtype[Any] | type[Any] = ...,
    block_size: int = ...,
    tile_size: int = ...,
) -> Array: ...

def quantize_mx(
    x: ArrayLike,
    device_rows: ArrayLike | None = ...,
    *,
    format: Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"] = ...,
    direction: Literal["rowwise", "columnwise", "both"] = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    mode: Literal["rceil", "floor", "ceil", "even"] = ...,
    square: bool = ...,
) -> tuple[Array, ...]: ...

def dequantize_mx(
    data: ArrayLike,
    scale: ArrayLike,
    device_rows: ArrayLike | None = ...,
    *,
    format: Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"] = ...,
    dtype: Literal["bf16", "f16", "f32"] | numpy.dtype[Any] | type[Any] = ...,
    cols: int = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    square: bool = ...,
    columnwise: bool = ...,
    rows: int = ...,
) -> Array: ...

def amax(
    x: ArrayLike,
    device_rows: ArrayLike | None = ...,
    *,
    per: Literal["tensor", "row", "column", "block", "tile"] = ...,
    nans: Literal["ignore", "propagate"] = ...,
    transform: Literal["none", "rowwise", "columnwise"] = ...,
    sign_mask: int = ...,
    block: int = ...,
    accumulate: bool = ...,
) -> Array: ...

def compute_fp4_scales(
    amax: ArrayLike,
    global_amax: ArrayLike | None = ...,
    *,
    scratch: ArrayLike | None = ...,
    unrounded: bool = ...,
    fp8: Literal["eager", "extension"] = ...,
) -> Array: ...

def static_blockwise_fp4_fake_quant(
    x: ArrayLike,
    amax: ArrayLike,
    global_amax: ArrayLike | None = ...,
    *,
    scratch: ArrayLike | None = ...,
    unrounded: bool = ...,
    fp8: Literal["eager", "extension"] = ...,
) -> Array: ...

def fp4_fake_quant_block(
    x: ArrayLike,
    global_amax: ArrayLike,
    device_rows: ArrayLike | None = ...,
    *,
    block_size: int = ...,
) -> Array: ...

def gemm_nvfp4(
    a: ArrayLike,
    a_scale: ArrayLike,
    a_amax: ArrayLike,
    b: ArrayLike,
    b_scale: ArrayLike,
    b_amax: ArrayLike,
    bias: ArrayLike | None = ...,
    *,
    scratch: ArrayLike | None = ...,
    dtype: Literal["bf16", "f16", "f32"] | numpy.dtype[Any] | type[Any] = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    path: Literal["own", "cublaslt", "auto", "unpacked"] = ...,
    a_row_scaled: bool = ...,
    b_row_scaled: bool = ...,
    accumulate: bool = ...,
    alpha: float = ...,
    a_bound: int = ...,
    b_bound: int = ...,
) -> Array: ...

def arrange_scales(
    scale: ArrayLike,
    old_decode: ArrayLike | None = ...,
    new_decode: ArrayLike | None = ...,
    *,
    from_layout: Literal["linear", "s128x4", "s8x4"] = ...,
    layout: Literal["s128x4", "s8x4", "linear"] = ...,
    rows: int = ...,
    cols: int = ...,
    batch: int = ...,
) -> Array: ...

def transpose_codes(
    data: ArrayLike,
    *,
    rows: int = ...,
    cols: int = ...,
    pad: int = ...,
) -> Array: ...

def transpose_nvfp4(
    data: ArrayLike,
    scale: ArrayLike,
    amax: ArrayLike,
    *,
    cols: int = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
) -> tuple[Array, ...]: ...

def quantize_nvfp4_grouped(
    x: ArrayLike,
    row_offsets: ArrayLike,
    row_counts: ArrayLike | None = ...,
    amax: ArrayLike | None = ...,
    encode: ArrayLike | None = ...,
    decode: ArrayLike | None = ...,
    rng_state: ArrayLike | None = ...,
    *,
    members: ArrayLike | None = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    square: bool = ...,
    row_scaled: bool = ...,
    e4m3_bound: int = ...,
    four_over_six: Literal["off", "mae", "mse"] = ...,
    rht: Literal["none", "rowwise", "columnwise", "both"] = ...,
    sign_mask: int = ...,
) -> tuple[Array, ...]: ...

def quantize_mx_grouped(
    x: ArrayLike,
    row_offsets: ArrayLike,
    row_counts: ArrayLike | None = ...,
    *,
    members: ArrayLike | None = ...,
    format: Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"] = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    mode: Literal["rceil", "floor", "ceil", "even"] = ...,
    square: bool = ...,
) -> tuple[Array, ...]: ...

@overload
def pack_linear(
    data: ArrayLike,
    scale: ArrayLike,
    up_data: ArrayLike | None = ...,
    up_scale: ArrayLike | None = ...,
    *,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    status: Literal[False] = ...,
) -> Array: ...

@overload
def pack_linear(
    data: ArrayLike,
    scale: ArrayLike,
    up_data: ArrayLike | None = ...,
    up_scale: ArrayLike | None = ...,
    *,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    status: Literal[True],
) -> tuple[Array, ...]: ...

def unpack_linear(
    packed: ArrayLike,
    *,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    rows: int = ...,
    cols: int = ...,
    version: int = ...,
    weights: int = ...,
) -> tuple[Array, ...]: ...

def linear(
    x: ArrayLike,
    packed: ArrayLike,
    factor: ArrayLike,
    bias: ArrayLike | None = ...,
    residual: ArrayLike | None = ...,
    device_rows: ArrayLike | None = ...,
    *,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    rows: int = ...,
    cols: int = ...,
    version: int = ...,
    weights: int = ...,
    activation: Literal["none", "silu_and_mul", "swiglu_oai", "relu2"] = ...,
    split: int = ...,
    dtype: Literal["bf16", "f16", "f32"] | numpy.dtype[Any] | type[Any] = ...,
    settled: bool = ...,
    fast: bool = ...,
) -> Array: ...

def linear_experts(
    x: ArrayLike,
    packed: ArrayLike,
    factor: ArrayLike,
    routing: ArrayLike,
    bias: ArrayLike | None = ...,
    expert_map: ArrayLike | None = ...,
    *,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    rows: int = ...,
    cols: int = ...,
    version: int = ...,
    weights: int = ...,
    form: Literal["indexed", "contiguous", "masked"] = ...,
    activation: Literal["none", "silu_and_mul", "swiglu_oai", "relu2"] = ...,
    split: int = ...,
    dtype: Literal["bf16", "f16", "f32"] | numpy.dtype[Any] | type[Any] = ...,
    fast: bool = ...,
) -> Array: ...

def combine_experts(
    x: ArrayLike,
    topk_ids: ArrayLike,
    topk_weights: ArrayLike,
    expert_map: ArrayLike | None = ...,
    *,
    experts: int = ...,
    dtype: Literal["bf16", "f16", "f32"] | numpy.dtype[Any] | type[Any] = ...,
) -> Array: ...
