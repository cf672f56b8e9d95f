"""Casting sharded master weights over a torch.distributed group."""

import ctypes

import torch
import torch.distributed as dist

from .. import _core
from .._errors import ArgumentError, DtypeError, Error
from .._runtime import runtime
from ._arguments import tensors
from ._ops import computes_on_host
from ._tensor import NVFP4Tensor, word


class _Memory:
    """Memory of a GPU, for torch.as_tensor."""

    def __init__(self, address, count, typestr):
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": typestr,
                                         "data": (address, False), "version": 2}


def _tensor_at(address, count, dtype, device):
    """A tensor over memory that the library lends."""
    if count == 0:
        return torch.empty(0, dtype=dtype, device=device)
    if device.type == "cuda":
        return torch.as_tensor(_Memory(address, count, "<f4" if dtype is torch.float32 else "|u1"),
                               device=device)
    kind = ctypes.c_float if dtype is torch.float32 else ctypes.c_uint8
    return torch.frombuffer((kind * count).from_address(address), dtype=dtype)


class _Communicator:
    """What the library asks of the group, on the library's stream."""

    def __init__(self, group, device):
        self._group, self._device = group, device
        self.spoke = False  # whether the other ranks heard of this one

    def _on(self, stream):
        if self._device.type != "cuda":
            return torch.no_grad()
        # ExternalStream(0) would be a stream of torch's own, which waits for nothing.
        return torch.cuda.stream(torch.cuda.ExternalStream(stream, device=self._device) if stream
                                 else torch.cuda.default_stream(self._device))

    def all_reduce_max(self, address, count, stream):
        """The largest of all ranks' values."""
        with self._on(stream):
            values = _tensor_at(address, count, torch.float32, self._device)
            dist.all_reduce(values, dist.ReduceOp.MAX, self._group)

    def all_gather(self, address, offsets, counts, stream):
        """Parts are not of one size, so that each rank sends its own to all."""
        self.spoke = True
        with self._on(stream):
            for rank, (offset, count) in enumerate(zip(offsets, counts)):
                if count > 0:
                    part = _tensor_at(address + offset, count, torch.uint8, self._device)
                    dist.broadcast(part, dist.get_global_rank(self._group, rank), self._group)


def _buffers(weight):
    """Codes, block scales, amax and columns of diecast's tensor, or of Transformer Engine's."""
    if isinstance(weight, NVFP4Tensor):
        if weight.profile != "te" or weight.decode is not None:
            what = "a decode scale of its own" if weight.profile == "te" else f"profile {weight.profile}"
            raise ArgumentError("not_supported", f"a weight has {what}, which casting would not change",
                                "make it by NVFP4Tensor.quantize(.., square=True)")
        return weight.data, weight.scale, weight.amax, weight.shape[-1]
    fields = [getattr(weight, name, None) for name in
              ("_rowwise_data", "_rowwise_scale_inv", "_amax_rowwise")]
    if any(field is None for field in fields):
        raise DtypeError("dtype_mismatch", f"{type(weight).__name__} is no weight in NVFP4",
                         "pass diecast.torch.NVFP4Tensor, or Transformer Engine's")
    return *fields, 0


def _is_padded(weights):
    padded = {not isinstance(weight, NVFP4Tensor) for weight in weights}
    if len(padded) > 1:
        raise ArgumentError("invalid_argument", "weights of diecast and of Transformer Engine are mixed",
                            "pass weights of one library")
    return padded == {True}


def _layout(weights):
    layouts = {getattr(weight, "layout", "linear") for weight in weights}
    if len(layouts) > 1:
        raise ArgumentError("invalid_argument", f"weights have the layouts {', '.join(sorted(layouts))}",
                            "bring all to one with with_layout()")
    return layouts.pop() if layouts else "linear"


def _listed(model_weights, master_weights, start_offsets):
    """What the library casts: for each weight its buffers, this rank's master or None, where that
    begins, and the columns."""
    if not len(model_weights) == len(master_weights) == len(start_offsets):
        raise ArgumentError("invalid_argument", f"{len(model_weights)} weights, {len(master_weights)} "
                            f"masters and {len(start_offsets)} offsets", "pass one for each weight")
    listed = []
    for weight, master, start in zip(model_weights, master_weights, start_offsets):
        data, scale, amax, cols = _buffers(weight)
        if master is not None:
            tensors("quantize_master_weights", master=master)
            master = master.detach() if master.numel() != 0 else None
        listed.append((data, scale, amax, master, start or 0, cols))
    return listed


def _place(device):
    """The device keyword for a device of torch."""
    if device.type != "cpu":
        return None
    if not computes_on_host():
        raise ArgumentError("invalid_argument", "quantize_master_weights: the weights are on the CPU",
                            "call diecast.torch.use_host() to compute on this processor, or pass weights "
                            "of a GPU")
    return "host"


def _cast(group, device, place, weights, *options):
    """Returns whether the other ranks heard of this one, and what it raised."""
    ranks = _Communicator(group, device)
    try:
        _core.cast_master_weights(
            runtime().handle, weights, place, None, dist.get_rank(group), dist.get_world_size(group),
            ranks.all_reduce_max, ranks.all_gather, *options)
    except Exception as error:
        return ranks.spoke, error
    return True, None


def _cast_nothing(group, *options):
    """Without weights the ranks speak where their backend does."""
    if "nccl" in str(dist.get_backend(group)):
        device = torch.device("cuda", torch.cuda.current_device())
        return _cast(group, device, device.index, [], *options)
    return _cast(group, torch.device("cpu"), "host", [], *options)


def _tell(group, error):
    """The other ranks wait to hear of this one's weights: they hear of its error."""
    what, _, fix = str(error).partition("\n  fix: ")
    what = what if isinstance(error, Error) else f"{type(error).__name__}: {what}"
    _cast_nothing(group, None, None, False, False, what, fix or "see what that rank raised")


def quantize_master_weights(model_weights, master_weights, start_offsets, group=None,
                            fsdp_shard_model_weights=None, manual_post_all_gather_processing=False, *,
                            gather=True, model_dtype=torch.bfloat16):
    """Casts shards of master weights into NVFP4 weights in 16x16 blocks, over the ranks of a group.

    model_weights: NVFP4Tensor made with square=True, or Transformer Engine's NVFP4Tensor, [rows, cols];
    their rowwise sides are written. master_weights: this rank's shard of each, f32 or bf16, or None;
    start_offsets: the flat index where it begins (None: no shard). group: a ProcessGroup; None: the
    default one. gather=False: each rank writes its own codes alone, and the caller gathers them.
    Scales and amaxes are whole on every rank. Masters are rounded to model_dtype first. The result is
    to the bit what quantize_nvfp4 with square=True gives for each whole weight. The columnwise side is
    transpose_nvfp4's, whatever manual_post_all_gather_processing says.

    Every rank calls it, with the same weights, or none. Raises subclasses of diecast.Error. All ranks
    fail together: the others say which rank was wrong, and why. What torch raises of the group (a rank
    ended, or did not come in time) is raised as it is; the weights are unfinished then.
    """
    del manual_post_all_gather_processing
    group = dist.group.WORLD if group is None else group
    if group is dist.GroupMember.NON_GROUP_MEMBER:
        raise ArgumentError("invalid_argument", "quantize_master_weights: this rank is no member of the group",
                            "call it on the ranks of the group alone")
    heard = False
    try:
        if fsdp_shard_model_weights is not None:
            raise ArgumentError("not_supported", "fsdp_shard_model_weights is not in diecast",
                                "pass None, and whole weights with gather=False")
        listed = _listed(model_weights, master_weights, start_offsets)
        options = (word(model_dtype, "quantize_master_weights"), _layout(model_weights), not gather,
                   _is_padded(model_weights))
        if listed:
            device = listed[0][0].device
            heard, error = _cast(group, device, _place(device), listed, *options)
        else:
            heard, error = _cast_nothing(group, *options)
        if error is not None:
            raise error
    except Exception as error:
        if not heard and dist.get_world_size(group) > 1:
            _tell(group, error)
        raise
