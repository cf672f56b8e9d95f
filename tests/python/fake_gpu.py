"""A GPU that is not there, for tests of what a call takes and says: the driver and the compiler are the
fake ones of tests/fake, and tensors are of a type that DLPack's C table reads, as torch's since 2.10."""

import ctypes
import os
import shutil
import sys
from pathlib import Path

import pytest

from diecast import _core
from test_protocols import VIEW, Exchange, capsule

FAKES = Path(_core.__file__).resolve().parents[2] / "tests/fake"
on_fake_gpu = pytest.mark.skipif(not (FAKES / "libfake_cuda.so").exists(),
                                 reason="the fake driver is not built")
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32,
                           ctypes.POINTER(ctypes.c_void_p))
BF16, U8, E4M3, F32, I64 = (4, 16), (1, 8), (10, 8), (2, 32), (0, 64)
ROWS, COLS = 4, 64


class Fake:
    """A tensor of a GPU that is not there; `before_view` is called when it is read."""

    def __init__(self, address, kind, *shape):
        self.address, self.kind, self.shape, self.place = address << 20, kind, shape, (2, 0)
        self.before_view, self.gone, self.dimensions = lambda: None, False, ()

    def say(self, to):
        """Fills a DLTensor; 0, or -1 where it cannot."""
        self.before_view()
        if [*self.dimensions] != [*self.shape]:  # else whoever reads it twice loses the first ones
            self.dimensions = (ctypes.c_int64 * len(self.shape))(*self.shape)
        to.data, (to.device_type, to.device_id) = self.address, self.place
        to.ndim, (to.code, to.bits), to.lanes = len(self.shape), self.kind, 1
        to.shape, to.strides, to.byte_offset = self.dimensions, None, 0
        return -1 if self.gone else 0


TABLE = Exchange()
TABLE.header.major, TABLE.header.minor = 1, 3
TABLE.view_from_object = VIEW(lambda tensor, to: tensor.say(to.contents))
CURRENT = STREAM(lambda kind, ordinal, stream: 0)
TABLE.current_stream = ctypes.cast(CURRENT, ctypes.c_void_p)
NAME = b"dlpack_exchange_api"  # which the capsule does not copy
Fake.__dlpack_c_exchange_api__ = capsule(ctypes.pointer(TABLE), NAME)


@pytest.fixture(scope="module", autouse=True)
def fakes(tmp_path_factory):
    """The driver and the compiler of this process are the fake ones."""
    folder = tmp_path_factory.mktemp("nvrtc")
    shutil.copy(FAKES / "libfake_nvrtc.so", folder / "libnvrtc.so.13")
    (folder / "libnvrtc-builtins.so.13.0").write_text("stands for the builtins")
    os.environ.update(DIECAST_LIBCUDA=str(FAKES / "libfake_cuda.so"), DIECAST_FAKE_CUDA_CC="90",
                      DIECAST_NVRTC=str(folder / "libnvrtc.so.13"), DIECAST_CACHE="off")


class Outputs(tuple):
    """A tuple of a type of its own."""


class Call:
    """A call of quantize_nvfp4, plain or prepared, with tensors of its own."""

    def __init__(self):
        self.x, self.amax = Fake(1, BF16, ROWS, COLS), Fake(2, F32, 1)
        self.data, self.scale = Fake(3, U8, ROWS, COLS // 2), Fake(4, E4M3, ROWS, COLS // 16)

    def first(self, function):
        """By a tuple of another type, which no plan has."""
        return function(self.x, self.amax, out=Outputs((self.data, self.scale)))

    def again(self, function):
        """By a plan, once such a call was made."""
        return function(self.x, self.amax, out=(self.data, self.scale))

    def named(self, function):
        """The same with outputs by name."""
        return function(self.x, self.amax, out_data=self.data, out_scale=self.scale)


def plans_of(call):
    """How many plans calls that repeat have made: each keeps the number that it was given."""
    number = int("448")
    before = sys.getrefcount(number)
    for _ in range(5):
        call(e4m3_bound=number)
    return sys.getrefcount(number) - before
