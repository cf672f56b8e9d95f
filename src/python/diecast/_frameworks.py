"""What diecast asks of the frameworks that tensors come from. None of them is imported here: a
framework whose tensor was given is in the process already."""

import os
import struct
import sys

from ._errors import ArgumentError, DtypeError

_NUMPY = {"f32": "float32", "f16": "float16", "u8": "uint8", "i32": "int32", "u32": "uint32",
          "i64": "int64", "f64": "float64", "i8": "int8", "u16": "uint16", "u64": "uint64",
          "e4m3": "uint8", "e5m2": "uint8", "e8m0": "uint8"}
_TORCH = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "u8": "uint8", "i32": "int32",
          "u32": "uint32", "i64": "int64", "f64": "float64", "i8": "int8", "u16": "uint16",
          "u64": "uint64", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
          "e8m0": "float8_e8m0fnu"}
_BUFFER = {"f32": "f", "f16": "e", "u8": "B", "i32": "i", "u32": "I", "i64": "q", "f64": "d",
           "i8": "b", "u16": "H", "u64": "Q", "e4m3": "B", "e5m2": "B", "e8m0": "B"}


_roots = {}  # of types of tensors, of which there are few


def _root(tensor):
    """The package that a tensor's type is of, or the one that it extends."""
    kind = type(tensor)
    if kind not in _roots:
        roots = (base.__module__.partition(".")[0] for base in kind.__mro__)
        _roots[kind] = next((root for root in roots
                             if root in ("torch", "numpy", "cupy", "jax", "jaxlib")), "")
    return _roots[kind]


def _numpy_type(numpy, dtype):
    if dtype != "bf16":
        return _NUMPY[dtype]
    ml_dtypes = sys.modules.get("ml_dtypes")
    if ml_dtypes is None:
        raise DtypeError("dtype_mismatch", "numpy has no bf16",
                         'pass dtype="f32", or import ml_dtypes, or pass out=')
    return ml_dtypes.bfloat16


def torch_type(torch, dtype):
    """torch's type for a word of diecast's; older versions lack some of 8 bits."""
    return getattr(torch, _TORCH[dtype], torch.uint8)


def torch_typestr(kind):
    """numpy's typestr and name of a torch type, or None of one that neither it nor diecast has."""
    name = str(kind).removeprefix("torch.")
    if name != "bool" and name not in _TORCH.values():
        return None
    letter = "V" if name == "bfloat16" or "8_" in name else name[0]  # with floats of 8 bits
    return f"<{letter}{kind.itemsize}", name


def allocator(like, dtype):
    """What makes uninitialised tensors of a type by the framework of the tensor `like`, on its device:
    a function of a tensor like it and of a shape."""
    root = _root(like)
    if root == "torch":
        kind = torch_type(sys.modules["torch"], dtype)
        return lambda like, shape: like.new_empty(shape, dtype=kind)
    if root == "numpy":
        numpy = sys.modules["numpy"]
        kind = _numpy_type(numpy, dtype)
        return lambda like, shape: numpy.empty(shape, kind)
    if root == "cupy":
        cupy = sys.modules["cupy"]
        kind = _numpy_type(cupy, dtype)

        def on_its_device(like, shape):
            with like.device:
                return cupy.empty(shape, kind)
        return on_its_device
    if root in ("jax", "jaxlib"):
        raise ArgumentError("not_supported", "JAX arrays cannot be written to",
                            "pass out= of another framework")
    return lambda like, shape: _allocate_buffer(like, dtype, shape)


def twin_allocator(like, dtype):
    """The same for the shape of `like`: a function of a tensor like it."""
    torch = sys.modules.get("torch")
    if torch is not None and type(like) is torch.Tensor and torch_type(torch, dtype) is like.dtype:
        return torch.empty_like  # half the time
    allocate = allocator(like, dtype)
    return lambda like: allocate(like, like.shape)


def allocate(like, dtype, shape):
    """An uninitialised tensor of a shape, of the framework and device of the tensor `like`."""
    return allocator(like, dtype)(like, shape)


def _allocate_buffer(like, dtype, shape):
    """A memoryview over memory of Python's own, for buffers."""
    if dtype not in _BUFFER or not isinstance(like, (bytes, bytearray, memoryview)) and not hasattr(
            like, "tobytes"):
        raise ArgumentError("missing_buffer", f"{type(like).__name__} cannot make an output",
                            "pass out=: one tensor for each output")
    format = _BUFFER[dtype]
    count = 1
    for size in shape:
        count *= size
    memory = memoryview(bytearray(count * struct.calcsize(format)))
    if count == 0:
        return memory.cast(format)
    return memory.cast(format, shape) if len(shape) > 0 else memory.cast(format)


def copy(tensor):
    """A tensor of the same values, framework and device."""
    root = _root(tensor)
    if root == "torch":
        return tensor.detach().clone()
    if root:
        return tensor.copy()
    view = memoryview(tensor)
    whole = memoryview(bytearray(view.tobytes()))
    return whole.cast(view.format, view.shape) if view.nbytes and view.ndim else whole.cast(view.format)


def same(a, b):
    """Whether two tensors have the same bytes."""
    if _root(a) != _root(b) or not (_root(b) or hasattr(b, "tobytes")):
        raise DtypeError("dtype_mismatch", f"{type(b).__name__} stands for {type(a).__name__}",
                         "have the reference return what the kernel makes")
    if _root(a) == "torch":
        torch = sys.modules["torch"]
        bytes_ = [one.detach().flatten().contiguous().view(torch.uint8) for one in (a, b)]
        return (a.dtype, a.shape) == (b.dtype, b.shape) and torch.equal(*bytes_)
    return a.tobytes() == b.tobytes()


def difference(name, got, wanted, types):
    """How a tensor of this name differs from another of the same framework, as an error's words go on.
    types: whether their types count."""
    kinds = [(getattr(one, "dtype", getattr(one, "format", "")), list(one.shape)) for one in (got, wanted)]
    if kinds[0][0 if types else 1:] != kinds[1][0 if types else 1:]:
        (got_type, got_shape), (type_, shape) = kinds
        return f": {name} is {got_type} {got_shape}, the reference gives {type_} {shape}"
    gaps = [_gap(*pair) for pair in zip(_elements(got), _elements(wanted))]
    count = sum(gap > 0 for gap in gaps)
    if count == 0:
        return f": {name} has the same numbers, zeros of another sign or NaNs of other bits"
    at, place = gaps.index(max(gaps)), []
    for size in reversed(got.shape):
        at, rest = divmod(at, size)
        place.insert(0, rest)
    values = [one[tuple(place)] for one in (got, wanted)]
    if _root(got) == "torch":
        values = [value.item() for value in values]
    return (f" in {count} of the {len(gaps)} elements of {name}, the most at {place}: "
            f"it is {values[0]}, the reference has {values[1]}")


def _elements(tensor):
    """All elements in their order, as Python's numbers."""
    root = _root(tensor)
    if root == "torch":
        flat = tensor.detach().flatten()
        return (flat.double() if flat.is_floating_point() else flat).tolist()
    if root:
        return (tensor if tensor.dtype.kind in "biu" else tensor.astype("f8")).ravel().tolist()
    view = memoryview(tensor)
    return memoryview(view.tobytes()).cast(view.format).tolist()


def _gap(x, y):
    """How far two numbers lie apart; NaNs are equal, and infinitely far from all else."""
    gap = 0 if x == y or x != x and y != y else abs(x - y)
    return gap if gap == gap else float("inf")


def current_stream(tensor, ordinal):
    """The stream that the tensor's framework works on now, or None where it does not say so."""
    root = _root(tensor)
    if root == "torch":  # of before DLPack's C table
        return sys.modules["torch"].cuda.current_stream(ordinal).cuda_stream
    if root == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    return None


def find_nvrtc():
    """The NVRTC that NVIDIA's Python packages bring, as torch's, or None: then diecast looks itself.
    DIECAST_NVRTC goes before it."""
    if os.environ.get("DIECAST_NVRTC"):
        return None
    for version, folder in (("13", "cu13"), ("12", "cuda_nvrtc")):
        for root in sys.path:
            path = os.path.join(root, "nvidia", folder, "lib", f"libnvrtc.so.{version}")
            if os.path.exists(path):
                return os.path.abspath(path)
    return None
