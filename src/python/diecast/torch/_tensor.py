"""A matrix in NVFP4 with all that it needs to be turned back, and other libraries' fields of the same."""

import torch

from .._errors import ArgumentError, check_state
from .._table import OPS
from ._arguments import check_number, number, sizes, tensors

_WORDS = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}
_DTYPES = {word: dtype for dtype, word in _WORDS.items()}
_LARGEST = 448 * 6  # what a global scale takes an amax to


def word(dtype, function):
    """diecast's word for a type of torch. Raises ArgumentError for another than these."""
    if dtype not in _WORDS:
        raise ArgumentError("not_supported", f"{function}: dtype = {dtype}",
                            "dtype is torch.bfloat16, torch.float16 or torch.float32")
    return _WORDS[dtype]


class NVFP4Tensor:
    """Codes, block scales and the global scale of a matrix of `shape` and `dtype`, rowwise.

    data: u8 [.., align_up(K, 16) / 2]; scale: E4M3 in `layout`; amax or decode: f32 [1], of which one may
    be None; profile: whose bits they are. Converters give and take the fields of torchao, Transformer
    Engine and ModelOpt; none of them is imported.
    """

    def __init__(self, data, scale, amax=None, decode=None, *, shape, dtype=torch.bfloat16,
                 layout="linear", profile="te"):
        if amax is None and decode is None:
            raise ArgumentError("value_missing", "NVFP4Tensor: neither amax nor decode is given",
                                "pass the amax that the codes were made with, or the decode scale")
        word(dtype, "NVFP4Tensor")
        OPS["dequantize_nvfp4"].check_words({"layout": layout, "profile": profile})
        tensors("NVFP4Tensor", scale=scale)
        for name, value in (("amax", amax), ("decode", decode)):
            if value is not None:
                check_number("NVFP4Tensor", **{name: value})
        leading, codes = sizes("NVFP4Tensor", data=data)
        self.shape = torch.Size(shape)
        if self.shape[:-1] != leading or not self.shape or not 0 <= 2 * codes - self.shape[-1] < 16:
            raise ArgumentError("shape_mismatch", f"NVFP4Tensor: data is {tuple(data.shape)}, the shape "
                                f"{tuple(self.shape)}",
                                "pass data as u8 [.., align_up(K, 16) / 2] of a shape [.., K]")
        self.data, self.scale, self.amax, self.decode, self.dtype = data, scale, amax, decode, dtype
        self.layout, self.profile = layout, profile

    @classmethod
    def quantize(cls, x, *, amax=None, layout="linear", profile="te", square=False):
        """Of a matrix bf16, f16 or f32 [.., K]. amax: f32 [1]; None: it is found. square: blocks of
        16x16, of which each row has its scale as in blocks of 1x16."""
        sizes("NVFP4Tensor.quantize", x=x)
        amax = None if amax is None else number("NVFP4Tensor.quantize", x, amax=amax)
        made = torch.ops.diecast.quantize_nvfp4.default(x, amax, layout=layout, profile=profile,
                                                        square=square)
        return cls(made[0], made[1], made[2] if amax is None else amax, shape=x.shape, dtype=x.dtype,
                   layout=layout, profile=profile)

    def dequantize(self, dtype=None):
        """The values as `dtype`; None: as the matrix had them."""
        decode = self.decode if self.amax is None else None
        return torch.ops.diecast.dequantize_nvfp4.default(
            self.data, self.scale, self.amax, decode,
            dtype=word(dtype or self.dtype, "NVFP4Tensor.dequantize"),
            cols=self.shape[-1], layout=self.layout, profile=self.profile)

    def decode_scale(self):
        """f32 [1]: what the products of codes and block scales are to be multiplied by."""
        if self.decode is not None:
            return self.decode
        if self.profile in ("modelopt", "torchao"):
            return self.amax / _LARGEST
        encode = (_LARGEST / self.amax).clamp(max=torch.finfo(torch.float32).max)
        return 1 / torch.where((self.amax == 0) | (encode == 0), torch.ones_like(encode), encode)

    def with_layout(self, layout):
        """The same with its block scales elsewhere: "linear", "s128x4" or "s8x4"."""
        if layout == self.layout:
            return self
        rows, blocks = self.shape[:-1].numel(), -(-self.shape[-1] // 16)
        scale = torch.ops.diecast.arrange_scales.default(
            self.scale, from_layout=self.layout, layout=layout, rows=rows, cols=blocks)
        shape = (*self.shape[:-1], blocks) if layout == "linear" else scale.shape
        return self._like(scale=scale.view(torch.float8_e4m3fn).reshape(shape), layout=layout)

    def to(self, device):
        """The same on another device."""
        device = torch.device(device)
        moved = {name: tensor.to(device) for name, tensor in self._tensors().items()}
        return self._like(**moved)

    def state_dict(self):
        """Tensors and words that torch.save and torch.load(weights_only=True) keep."""
        return {**self._tensors(), "shape": list(self.shape), "dtype": _WORDS[self.dtype],
                "layout": self.layout, "profile": self.profile}

    @classmethod
    def from_state_dict(cls, state):
        """Of what state_dict() gave. Raises ArgumentError for another."""
        check_state("NVFP4Tensor", state, ("data", "scale", "shape", "dtype", "layout", "profile"),
                    ("amax", "decode"))
        return cls(**{**state, "dtype": _DTYPES.get(state["dtype"], state["dtype"])})

    def __getstate__(self):
        """For pickle, which does not load torch's tensors of fp8: block scales as bytes."""
        return {**vars(self), "scale": (self.scale.view(torch.uint8), self.scale.dtype)}

    def __setstate__(self, state):
        scale, dtype = state["scale"]
        vars(self).update(state, scale=scale.view(dtype))

    def to_torchao(self):
        """Fields of torchao's NVFP4Tensor. Raises ArgumentError for the layout s8x4."""
        if self.layout == "s8x4":
            raise ArgumentError("not_supported", "torchao has no scales in tiles of 8x4",
                                'call with_layout("s128x4") first')
        return {"qdata": self.data, "scale": self.scale, "block_size": 16, "orig_dtype": self.dtype,
                "per_tensor_scale": self.decode_scale().reshape(()),
                "is_swizzled_scales": self.layout == "s128x4"}

    @classmethod
    def from_torchao(cls, qdata, scale, per_tensor_scale, orig_dtype=torch.bfloat16,
                     is_swizzled_scales=False, block_size=16):
        """Of torchao's fields, with two levels of scales. Raises ArgumentError for another block_size."""
        if block_size != 16:
            raise ArgumentError("not_supported", f"from_torchao: block_size = {block_size}",
                                "NVFP4 has blocks of 16")
        sizes("from_torchao", qdata=qdata)
        return cls(qdata, scale, decode=number("from_torchao", qdata, per_tensor_scale=per_tensor_scale),
                   shape=(*qdata.shape[:-1], 2 * qdata.shape[-1]), dtype=orig_dtype,
                   layout="s128x4" if is_swizzled_scales else "linear", profile="torchao")

    def to_modelopt(self):
        """A ModelOpt checkpoint's tensors: weight, weight_scale and weight_scale_2."""
        linear = self.with_layout("linear")
        return {"weight": linear.data, "weight_scale": linear.scale,
                "weight_scale_2": self.decode_scale().reshape(())}

    @classmethod
    def from_modelopt(cls, weight, weight_scale, weight_scale_2, dtype=torch.bfloat16):
        """Of a ModelOpt checkpoint's tensors."""
        sizes("from_modelopt", weight=weight)
        return cls(weight, weight_scale, decode=number("from_modelopt", weight, weight_scale_2=weight_scale_2),
                   shape=(*weight.shape[:-1], 2 * weight.shape[-1]), dtype=dtype, profile="modelopt")

    def to_transformer_engine(self):
        """Fields of the rowwise side of Transformer Engine's NVFP4Tensor: scales as u8, padded with
        zeros to [align_up(M, 128), align_up(K / 16, 4)]."""
        if self.amax is None:
            raise ArgumentError("value_missing", "NVFP4Tensor: Transformer Engine needs the amax",
                                "pass amax to NVFP4Tensor")
        scale = self.with_layout("linear").scale.view(torch.uint8)
        scale = scale.reshape(-1, scale.shape[-1])
        rows, blocks = scale.shape
        padded = torch.nn.functional.pad(scale, (0, -blocks % 4, 0, -rows % 128))
        return {"rowwise_data": self.data, "rowwise_scale_inv": padded, "amax_rowwise": self.amax}

    @classmethod
    def from_transformer_engine(cls, rowwise_data, rowwise_scale_inv, amax_rowwise,
                                dtype=torch.bfloat16):
        """Of the fields of a matrix with one amax."""
        leading, codes = sizes("from_transformer_engine", rowwise_data=rowwise_data)
        tensors("from_transformer_engine", rowwise_scale_inv=rowwise_scale_inv)
        rows, blocks = leading.numel(), codes // 8
        if rowwise_scale_inv.itemsize != 1 or rowwise_scale_inv.ndim != 2 or (
                rowwise_scale_inv.shape[0] < rows or rowwise_scale_inv.shape[1] < blocks):
            raise ArgumentError("shape_mismatch", f"from_transformer_engine: rowwise_scale_inv is "
                                f"{rowwise_scale_inv.dtype} {tuple(rowwise_scale_inv.shape)}",
                                f"pass bytes, {rows} rows of {blocks} or more")
        scale = rowwise_scale_inv[:rows, :blocks].contiguous().view(torch.float8_e4m3fn)
        return cls(rowwise_data, scale.reshape(*leading, blocks),
                   number("from_transformer_engine", rowwise_data, amax_rowwise=amax_rowwise),
                   shape=(*leading, 16 * blocks), dtype=dtype)

    def __repr__(self):
        return (f"NVFP4Tensor(shape={tuple(self.shape)}, dtype={self.dtype}, layout={self.layout!r}, "
                f"profile={self.profile!r}, device={str(self.data.device)!r})")

    def _tensors(self):
        return {name: getattr(self, name) for name in ("data", "scale", "amax", "decode")
                if getattr(self, name) is not None}

    def _like(self, **other):
        given = {**self._tensors(), "shape": self.shape, "dtype": self.dtype, "layout": self.layout,
                 "profile": self.profile}
        return type(self)(**{**given, **other})
