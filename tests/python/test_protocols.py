"""Tensors of frameworks that are not here: types with DLPack's C table, capsules, CUDA interfaces."""

import ctypes

import numpy
import pytest

import diecast

HOST = {"device": "host"}


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Header(ctypes.Structure):
    """DLPackExchangeAPIHeader."""


Header._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                   ("previous", ctypes.POINTER(Header))]
VIEW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = [("header", Header), ("allocate", ctypes.c_void_p),
                ("managed_from_object", ctypes.c_void_p), ("object_from_managed", ctypes.c_void_p),
                ("view_from_object", VIEW), ("current_stream", ctypes.c_void_p)]


def capsule(pointer, name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.cast(pointer, ctypes.c_void_p), name, None)


def fill(tensor, array, code=2, bits=32, device_type=1):
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor.data, tensor.device_type, tensor.device_id = array.ctypes.data, device_type, 0
    tensor.ndim, tensor.code, tensor.bits, tensor.lanes = array.ndim, code, bits, 1
    tensor.shape, tensor.strides, tensor.byte_offset = shape, None, 0
    return shape


class Framework:
    """A type as torch's since 2.10: its C table gives views, and nothing else is ever asked."""

    kept = []

    def __init__(self, array):
        self.array = array

    @VIEW
    @staticmethod
    def view(self, to):  # pylint: disable=self-argument
        Framework.kept.append(fill(to.contents, self.array))
        return 0


def install(major=1, behind=None):
    table = Exchange()
    table.header.major, table.header.minor = major, 3
    if behind is not None:
        table.header.previous = ctypes.pointer(behind.header)
    table.view_from_object = VIEW(lambda self, to: (Framework.kept.append(
        fill(to.contents, self.array)), 0)[1])
    Framework.kept.append(table)
    return table


def framework(table):
    return type("Newer", (), {
        "__init__": lambda self, array: setattr(self, "array", array),
        "__dlpack_c_exchange_api__": capsule(ctypes.pointer(table), b"dlpack_exchange_api")})


def test_the_c_table_of_a_type_is_read(matrix):
    kind = framework(install())
    x, out = matrix(2, 32), numpy.empty(1, "f4")
    diecast.amax(kind(x), out=out, **HOST)
    assert out[0] == numpy.abs(x).max()
    inherited = type("Parameter", (kind,), {})
    diecast.amax(inherited(x), out=kind(out), **HOST)


def test_an_older_table_behind_a_newer_major_is_found(matrix):
    x, out = matrix(2, 32), numpy.empty(1, "f4")
    kind = framework(install(major=2, behind=install()))
    diecast.amax(kind(x), out=out, **HOST)
    assert out[0] == numpy.abs(x).max()
    unknown = framework(install(major=2))
    with pytest.raises(diecast.DtypeError, match="no tensor"):
        diecast.amax(unknown(x), out=out, **HOST)


class CudaArray:
    """A CUDA array that is not there: what is said of it is checked before anything is read."""

    def __init__(self, **change):
        self.__cuda_array_interface__ = {"shape": (2, 32), "typestr": "<f4", "data": (4096, False),
                                         "strides": None, "version": 3, **change}


@pytest.mark.parametrize("change", [{"shape": 3}, {"data": 3}, {"typestr": "<c8"}, {"typestr": "f"},
                                    {"shape": (1,) * 9}, {"shape": ("a",)}])
def test_cuda_interfaces_that_lie(change):
    with pytest.raises((ValueError, TypeError)):
        diecast.amax(CudaArray(**change), stream=0)


def test_a_cuda_tensor_is_not_taken_for_the_hosts(matrix):
    with pytest.raises(diecast.ArgumentError, match="x is on CUDA device 0, the work is done on"):
        diecast.amax(CudaArray(), out=matrix(1, 1).ravel(), **HOST)
    with pytest.raises(diecast.ArgumentError, match="cannot make an output"):
        diecast.amax(CudaArray(), **HOST)


@pytest.mark.parametrize("dtype", ["<f4", "bfloat16"])
def test_elements_that_lie_no_whole_number_of_them_apart_are_refused(dtype):
    """As a record's field has them. Of one element no stride matters."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = numpy.dtype(dtype if dtype[0] == "<" else ml_dtypes.bfloat16)
    memory, size = numpy.zeros(4096, "u1"), dtype.itemsize
    for strides in ((1024, size + 1), (1025, size)):
        apart = numpy.ndarray((2, 32), dtype, memory, strides=strides)
        with pytest.raises(diecast.Error, match="amax: x has strides that are no multiples") as error:
            diecast.amax(apart, **HOST)
        assert error.value.code == "misaligned"
        assert diecast.amax(apart[:1, :1], **HOST)[0] == 0
        assert diecast.amax(numpy.ascontiguousarray(apart), **HOST)[0] == 0


def test_numpys_own_dlpack_is_taken_where_it_is_no_buffer(matrix):
    x = matrix(2, 32)

    class Only:
        def __dlpack__(self, **keywords):
            return x.__dlpack__(**keywords)

    class Old:
        def __dlpack__(self):
            return x.__dlpack__()

    for one in (Only(), Old()):
        out = numpy.empty(1, "f4")
        diecast.amax(one, out=out, **HOST)
        assert out[0] == numpy.abs(x).max()
    used = x.__dlpack__()

    class Twice:
        def __dlpack__(self, **_):
            return used

    diecast.amax(Twice(), out=out, **HOST)
    with pytest.raises(diecast.DtypeError):
        diecast.amax(Twice(), out=out, **HOST)


def test_the_nvrtc_of_pythons_packages_is_found(tmp_path, monkeypatch):
    from diecast import _frameworks
    monkeypatch.delenv("DIECAST_NVRTC", raising=False)
    monkeypatch.setattr("sys.path", [str(tmp_path / "a"), str(tmp_path / "b")])
    assert _frameworks.find_nvrtc() is None
    for folder, name in (("cuda_nvrtc", "libnvrtc.so.12"), ("cu13", "libnvrtc.so.13")):
        path = tmp_path / "b" / "nvidia" / folder / "lib" / name
        path.parent.mkdir(parents=True)
        path.touch()
        assert _frameworks.find_nvrtc() == str(path)
    monkeypatch.setenv("DIECAST_NVRTC", "/mine")
    assert _frameworks.find_nvrtc() is None
