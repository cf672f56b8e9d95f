# Made by src/python/stub/make_stub.py from the table of ops; the tests hold it to that.
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal, Protocol

class _DLPack(Protocol):
    def __dlpack__(self, *, max_version: tuple[int, int] | None = ...) -> Any: ...

# What has __dlpack__, __cuda_array_interface__ or is a buffer.
_Tensor = Any
_Device = str | int
_Runtime = Runtime
__version__: str

class Error(Exception):
    code: str
    what: str
    fix: str

class ArgumentError(Error, ValueError): ...
class DtypeError(Error, TypeError): ...
class ExecutionError(Error, RuntimeError): ...
class CompileError(ExecutionError): ...
class WouldCompile(ExecutionError): ...

class Runtime:
    def __init__(self, *, cache: Any = ..., cache_policy: Any = ..., templates: Any = ..., tuning: Any = ..., trace: Any = ..., nvrtc: Any = ..., host_compiler: Any = ..., on_event: Any = ...) -> None: ...
    @property
    def handle(self) -> int: ...
    def close(self) -> Any: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> Any: ...
    def add(self, path: Any) -> Any: ...
    def add_text(self, name: Any, text: Any) -> Any: ...
    def add_header(self, name: Any, path: Any) -> Any: ...
    def templates(self) -> Any: ...
    def describe(self, template: Any) -> Any: ...
    def variants(self, spelling: Any) -> Any: ...
    def specialize(self, spelling: Any, device: Any = ...) -> Any: ...
    def source(self, spelling: Any) -> Any: ...
    def ptx(self, spelling: Any) -> Any: ...
    def sass(self, spelling: Any) -> Any: ...
    def resolve(self, spelling: Any) -> Any: ...
    def warm(self, manifest: Any, targets: Any = ...) -> Any: ...
    def create_bundle(self, path: Any, manifest: Any, targets: Any = ...) -> Any: ...
    def tune(self, spelling: Any, sizes: Any, device: Any = ...) -> Any: ...
    def add_tuning(self, records: Any) -> Any: ...
    def freeze(self, late: Any = ...) -> Any: ...
    def flush(self) -> Any: ...
    def counters(self) -> Any: ...
    def cache_state(self) -> Any: ...

class Kernel:
    def __init__(self, name: Any, runtime: Any = ...) -> None: ...
    def prepare(self, device: Any = ..., **parameters: Any) -> Any: ...
    def variants(self, target: Any = ..., **fixed: Any) -> Any: ...
    def source(self, target: Any = ..., **parameters: Any) -> Any: ...
    def ptx(self, target: Any, **parameters: Any) -> Any: ...
    def sass(self, target: Any, **parameters: Any) -> Any: ...
    def resolve(self, target: Any = ..., **parameters: Any) -> Any: ...
    def registers(self, target: Any, **parameters: Any) -> Any: ...
    def warm(self, targets: Any, **fixed: Any) -> Any: ...
    def tune(self, sizes: Any, device: Any = ..., save: Any = ..., **named: Any) -> Any: ...
    def check(self, reference: Any, *tensors: Any, device: Any = ..., close: Any = ..., **named: Any) -> Any: ...
    def __call__(self, *tensors: Any, device: _Device | None = ..., stream: Any = ..., **named: Any) -> Any: ...

class PackedLinear:
    def __init__(self, data: Any, *, shape: Any, format: Any = ..., gated: Any = ..., version: Any = ...) -> None: ...
    @classmethod
    def pack(cls, data: Any, scale: Any, up_data: Any = ..., up_scale: Any = ..., *, format: Any = ..., gated: Any = ..., out: Any = ..., **place: Any) -> Any: ...
    def unpack(self, **place: Any) -> Any: ...
    def linear(self, x: Any, factor: Any, bias: Any = ..., residual: Any = ..., device_rows: Any = ..., **options: Any) -> Any: ...
    def linear_experts(self, x: Any, factor: Any, routing: Any, bias: Any = ..., expert_map: Any = ..., **options: Any) -> Any: ...
    def description(self) -> Any: ...
    def state_dict(self) -> Any: ...
    @classmethod
    def from_state_dict(cls, state: Any) -> Any: ...

def cuda_device_count() -> Any: ...

def device_info(device: Any = ...) -> Any: ...

def kernel(source: Any, *, name: Any = ..., runtime: Any = ...) -> Any: ...

def quantize_folder(input: Any, output: Any = ..., *, format: Any = ..., config: Any = ..., recipe: Any = ..., experts: Any = ..., profile: Any = ..., four_over_six: Any = ..., e4m3_bound: Any = ..., row_scaled: Any = ..., include: Any = ..., keep: Any = ..., exclude: Any = ..., mxfp8: Any = ..., first_layers: Any = ..., last_layers: Any = ..., keep_fp8: Any = ..., input_scale: Any = ..., input_scales: Any = ..., scale_layout: Any = ..., high_first: Any = ..., strict: Any = ..., force: Any = ..., allow_nonfinite: Any = ..., overwrite: Any = ..., dry_run: Any = ..., jobs: Any = ..., device: Any = ..., runtime: Any = ...) -> Any: ...

def quantize_for(config: Any, pairs: Any, *, amaxes: Any = ..., input_scales: Any = ..., profile: Any = ..., four_over_six: Any = ..., e4m3_bound: Any = ..., whole_families: Any = ..., device: Any = ..., stream: Any = ..., runtime: Any = ...) -> Any: ...

def runtime() -> Any: ...

def verify_folder(folder: Any) -> Any: ...

def output_shapes(op: str, /, *tensors: _Tensor, **options: Any) -> dict[str, tuple[str, tuple[int, ...]]]: ...

def prepare(op: str, /, *tensors: _Tensor, **options: Any) -> Callable[..., Any]: ...

def quantize_nvfp4(
    x: _Tensor,
    amax: _Tensor | None = ...,
    encode: _Tensor | None = ...,
    decode: _Tensor | None = ...,
    amax_t: _Tensor | None = ...,
    encode_t: _Tensor | None = ...,
    decode_t: _Tensor | None = ...,
    block_amax: _Tensor | None = ...,
    block_amax_t: _Tensor | None = ...,
    rng_state: _Tensor | None = ...,
    device_rows: _Tensor | None = ...,
    *,
    out_data: _Tensor | None = ...,
    out_scale: _Tensor | None = ...,
    out_amax: _Tensor | None = ...,
    out_data_t: _Tensor | None = ...,
    out_scale_t: _Tensor | None = ...,
    out_amax_t: _Tensor | None = ...,
    out: Sequence[_Tensor] | None = ...,
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
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def dequantize_nvfp4(
    data: _Tensor,
    scale: _Tensor,
    amax: _Tensor | None = ...,
    decode: _Tensor | None = ...,
    device_rows: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    dtype: Literal["bf16", "f16", "f32"] = ...,
    cols: int = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    square: bool = ...,
    row_scaled: bool = ...,
    columnwise: bool = ...,
    rows: int = ...,
    e4m3_bound: int = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def fp4_dequantize(
    data: _Tensor,
    scale: _Tensor,
    decode: _Tensor,
    *,
    out: _Tensor | None = ...,
    dtype: Literal["bf16", "f16", "f32"] = ...,
    block_size: int = ...,
    tile_size: int = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def quantize_mx(
    x: _Tensor,
    device_rows: _Tensor | None = ...,
    *,
    out_data: _Tensor | None = ...,
    out_scale: _Tensor | None = ...,
    out_data_t: _Tensor | None = ...,
    out_scale_t: _Tensor | None = ...,
    out: Sequence[_Tensor] | None = ...,
    format: Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"] = ...,
    direction: Literal["rowwise", "columnwise", "both"] = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    mode: Literal["rceil", "floor", "ceil", "even"] = ...,
    square: bool = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def dequantize_mx(
    data: _Tensor,
    scale: _Tensor,
    device_rows: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    format: Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"] = ...,
    dtype: Literal["bf16", "f16", "f32"] = ...,
    cols: int = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    square: bool = ...,
    columnwise: bool = ...,
    rows: int = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def amax(
    x: _Tensor,
    device_rows: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    per: Literal["tensor", "row", "column", "block", "tile"] = ...,
    nans: Literal["ignore", "propagate"] = ...,
    transform: Literal["none", "rowwise", "columnwise"] = ...,
    sign_mask: int = ...,
    block: int = ...,
    accumulate: bool = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def compute_fp4_scales(
    amax: _Tensor,
    global_amax: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    scratch: _Tensor | None = ...,
    unrounded: bool = ...,
    fp8: Literal["eager", "extension"] = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def static_blockwise_fp4_fake_quant(
    x: _Tensor,
    amax: _Tensor,
    global_amax: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    scratch: _Tensor | None = ...,
    unrounded: bool = ...,
    fp8: Literal["eager", "extension"] = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def fp4_fake_quant_block(
    x: _Tensor,
    global_amax: _Tensor,
    device_rows: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    block_size: int = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def gemm_nvfp4(
    a: _Tensor,
    a_scale: _Tensor,
    a_amax: _Tensor,
    b: _Tensor,
    b_scale: _Tensor,
    b_amax: _Tensor,
    bias: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    scratch: _Tensor | None = ...,
    dtype: Literal["bf16", "f16", "f32"] = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    path: Literal["own", "cublaslt", "auto", "unpacked"] = ...,
    a_row_scaled: bool = ...,
    b_row_scaled: bool = ...,
    accumulate: bool = ...,
    alpha: float = ...,
    a_bound: int = ...,
    b_bound: int = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def arrange_scales(
    scale: _Tensor,
    old_decode: _Tensor | None = ...,
    new_decode: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    from_layout: Literal["linear", "s128x4", "s8x4"] = ...,
    layout: Literal["s128x4", "s8x4", "linear"] = ...,
    rows: int = ...,
    cols: int = ...,
    batch: int = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def transpose_codes(
    data: _Tensor,
    *,
    out: _Tensor | None = ...,
    rows: int = ...,
    cols: int = ...,
    pad: int = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def transpose_nvfp4(
    data: _Tensor,
    scale: _Tensor,
    amax: _Tensor,
    *,
    out_data_t: _Tensor | None = ...,
    out_scale_t: _Tensor | None = ...,
    out_amax_t: _Tensor | None = ...,
    out: Sequence[_Tensor] | None = ...,
    cols: int = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def quantize_nvfp4_grouped(
    x: _Tensor,
    row_offsets: _Tensor,
    row_counts: _Tensor | None = ...,
    amax: _Tensor | None = ...,
    encode: _Tensor | None = ...,
    decode: _Tensor | None = ...,
    rng_state: _Tensor | None = ...,
    *,
    out_data: _Tensor | None = ...,
    out_scale: _Tensor | None = ...,
    out_amax: _Tensor | None = ...,
    members: _Tensor | None = ...,
    out: Sequence[_Tensor] | None = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    square: bool = ...,
    row_scaled: bool = ...,
    e4m3_bound: int = ...,
    four_over_six: Literal["off", "mae", "mse"] = ...,
    rht: Literal["none", "rowwise", "columnwise", "both"] = ...,
    sign_mask: int = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def quantize_mx_grouped(
    x: _Tensor,
    row_offsets: _Tensor,
    row_counts: _Tensor | None = ...,
    *,
    out_data: _Tensor | None = ...,
    out_scale: _Tensor | None = ...,
    members: _Tensor | None = ...,
    out: Sequence[_Tensor] | None = ...,
    format: Literal["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"] = ...,
    layout: Literal["linear", "s128x4", "s8x4"] = ...,
    profile: Literal["te", "pr546", "modelopt", "torchao", "te_ref", "te_fast", "flashinfer_exact", "flashinfer_fast", "flashinfer_dsl_exact", "flashinfer_dsl_fast"] = ...,
    mode: Literal["rceil", "floor", "ceil", "even"] = ...,
    square: bool = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def pack_linear(
    data: _Tensor,
    scale: _Tensor,
    up_data: _Tensor | None = ...,
    up_scale: _Tensor | None = ...,
    *,
    out_packed: _Tensor | None = ...,
    out_status: _Tensor | None = ...,
    out: _Tensor | Sequence[_Tensor] | None = ...,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    status: bool = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def unpack_linear(
    packed: _Tensor,
    *,
    out_data: _Tensor | None = ...,
    out_scale: _Tensor | None = ...,
    out: Sequence[_Tensor] | None = ...,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    rows: int = ...,
    cols: int = ...,
    version: int = ...,
    weights: int = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def linear(
    x: _Tensor,
    packed: _Tensor,
    factor: _Tensor,
    bias: _Tensor | None = ...,
    residual: _Tensor | None = ...,
    device_rows: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    rows: int = ...,
    cols: int = ...,
    version: int = ...,
    weights: int = ...,
    activation: Literal["none", "silu_and_mul", "swiglu_oai", "relu2"] = ...,
    split: int = ...,
    dtype: Literal["bf16", "f16", "f32"] = ...,
    settled: bool = ...,
    fast: bool = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def linear_experts(
    x: _Tensor,
    packed: _Tensor,
    factor: _Tensor,
    routing: _Tensor,
    bias: _Tensor | None = ...,
    expert_map: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    out_unexpected: _Tensor | None = ...,
    format: Literal["nvfp4", "mxfp4"] = ...,
    gated: Literal["none", "halves", "alternate"] = ...,
    rows: int = ...,
    cols: int = ...,
    version: int = ...,
    weights: int = ...,
    form: Literal["indexed", "contiguous", "masked"] = ...,
    activation: Literal["none", "silu_and_mul", "swiglu_oai", "relu2"] = ...,
    split: int = ...,
    dtype: Literal["bf16", "f16", "f32"] = ...,
    fast: bool = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...

def combine_experts(
    x: _Tensor,
    topk_ids: _Tensor,
    topk_weights: _Tensor,
    expert_map: _Tensor | None = ...,
    *,
    out: _Tensor | None = ...,
    out_unexpected: _Tensor | None = ...,
    experts: int = ...,
    dtype: Literal["bf16", "f16", "f32"] = ...,
    device: _Device | None = ...,
    stream: Any = ...,
    runtime: _Runtime | None = ...,
) -> Any: ...
