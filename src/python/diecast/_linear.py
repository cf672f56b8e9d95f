"""A packed weight of a linear layer, with what says how its bytes lie."""

from . import _core
from ._errors import ArgumentError, check_state


class PackedLinear:
    """A weight [N, K] of NVFP4 or MXFP4, or several [weights, N, K], in the tiles that `linear` multiplies.

    data: u8 [bytes]. shape: the weight's. format: "nvfp4" or "mxfp4". gated: how rows of gate and up lay
    when it was packed, "none", "halves" or "alternate". version: the layout's, which `linear` checks.
    """

    _ops = _core

    def __init__(self, data, *, shape, format="nvfp4", gated="none",
                 version=_core.packed_linear_version):
        self.data, self.shape = data, tuple(shape)
        if len(self.shape) not in (2, 3):
            raise ArgumentError("shape_mismatch", f"PackedLinear: the weight's shape is {self.shape}",
                                "pass (N, K), or (weights, N, K)")
        self.format, self.gated, self.version = format, gated, version

    @classmethod
    def pack(cls, data, scale, up_data=None, up_scale=None, *, format="nvfp4", gated=None, out=None, **place):
        """Packs a checkpoint's codes, u8 [.., N, K/2], and linear block scales in one launch.

        up_data, up_scale: up's, where gate and up are two tensors and data and scale are gate's. The weight
        is both then, and its gated "halves". out: u8 memory for the bytes; if it is that of a weight before,
        captured calls of `linear` take the new weight. place: device, stream and runtime, as every op takes
        them. Raises subclasses of diecast.Error."""
        gated = gated or ("none" if up_data is None else "halves")
        packed = cls._ops.pack_linear(data, scale, up_data=up_data, up_scale=up_scale, format=format, gated=gated,
                                      out=out, **place)
        *weights, rows, half = data.shape
        rows = rows if up_data is None else 2 * rows
        return cls(packed, shape=(*weights, rows, 2 * half), format=format, gated=gated)

    def unpack(self, **place):
        """The checkpoint's codes and scales again."""
        return self._ops.unpack_linear(self.data, **self._weight(), **place)

    def linear(self, x, factor, bias=None, residual=None, device_rows=None, **options):
        """x [.., K] times the transpose of the weight under the global scale `factor`, f32 [1].

        factor has one for each row, [N], where parts of the weight have their own, or two, gate's and up's.
        device_rows, i64 [1], says how many rows of x are real; out's other rows are not written.
        options: those of diecast.linear, which this calls: activation, split, dtype, settled, fast, out,
        device, stream, runtime. settled: the launch before does not write the weight, which may be read
        early. fast: many rows are summed in one part where that is sooner, so that a row's bits depend on
        how many rows come with it."""
        return self._ops.linear(x, self.data, factor, bias, residual, device_rows, **self._weight(), **options)

    def linear_experts(self, x, factor, routing, bias=None, expert_map=None, **options):
        """Each row of x times the transpose of its expert's weight.

        routing says which expert that is: ids [.., k] of i32 or i64, i32 offsets [experts + 1] or i32
        counts [experts]. expert_map, i32, says which weight each id stands for; -1: none.
        out_unexpected, i32 [1], given with out, gets the number of ids added that are neither an
        expert's nor -1. options: those of diecast.linear_experts, which this calls: form, activation,
        split, dtype, fast, out, out_unexpected, device, stream, runtime. fast: as of linear, where routing
        is offsets or counts."""
        return self._ops.linear_experts(x, self.data, factor, routing, bias, expert_map, **self._weight(),
                                        **options)

    def description(self):
        """What __init__ takes beside the bytes, as words and numbers."""
        return {"shape": list(self.shape), "format": self.format, "gated": self.gated,
                "version": self.version}

    def state_dict(self):
        """A tensor, words and numbers, which torch.save and torch.load(weights_only=True) keep."""
        return {"data": self.data, **self.description()}

    @classmethod
    def from_state_dict(cls, state):
        """Makes a PackedLinear of what state_dict() gave. Raises ArgumentError for another."""
        check_state("PackedLinear", state, ("data", "shape", "format", "gated", "version"))
        return cls(**state)

    def __repr__(self):
        return (f"PackedLinear(shape={self.shape}, format={self.format!r}, gated={self.gated!r}, "
                f"version={self.version})")

    def _weight(self):
        rows, cols = self.shape[-2:]
        return {"format": self.format, "gated": self.gated, "rows": rows, "cols": cols,
                "weights": self.shape[0] if len(self.shape) == 3 else 0, "version": self.version}
