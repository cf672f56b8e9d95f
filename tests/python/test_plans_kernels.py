"""Calls of kernels of one's own that repeat: by a plan, they do and say what a first call does."""

import gc
import sys
import weakref
from functools import partial

import pytest
from conftest import SCALE_ROWS
from fake_gpu import BF16, F32, Fake, fakes, on_fake_gpu
from test_plans_made import Maker, makers

import diecast

pytestmark = on_fake_gpu
STEP = """/* diecast
size count
arg y inout f32 [count]
arg by f32
arg times i8
arg count
launch grid(1) block(32)
target sm_80+
exchange none
*/
DIECAST_KERNEL {
  for (i64 i = threadIdx.x; i < count; i += 32) y[i] += by * times;
}
"""


class Call:
    """A call of scale_rows with tensors of its own."""

    def __init__(self, **named):
        self.x, self.factor, self.out = Fake(1, BF16, 4, 64), Fake(2, F32, 4), Fake(3, BF16, 4, 64)
        self.named = named

    def __call__(self, kernel):
        return kernel(self.x, self.factor, out=self.out, **self.named)


def scale_rows(calls=0):
    """The kernel, after some calls."""
    kernel = diecast.kernel(SCALE_ROWS)
    for _ in range(calls):
        assert Call()(kernel) is None
    return kernel


def test_calls_that_repeat_have_one_plan():
    kernel, call = scale_rows(), Call()
    threads = "".join(["12", "8"])
    before = sys.getrefcount(threads)
    for _ in range(5):
        kernel(call.x, call.factor, out=call.out, THREADS=threads)
    plans = sys.getrefcount(threads) - before
    kernel._forget()
    assert plans - (sys.getrefcount(threads) - before) == 1


def test_a_parameter_that_changes_is_read():
    kernel, call = scale_rows(), Call()
    for threads in (64, 128, 64):
        for _ in range(3):
            assert kernel(call.x, call.factor, out=call.out, THREADS=threads) is None
        with pytest.raises(diecast.Error, match="THREADS"):
            kernel(call.x, call.factor, out=call.out, THREADS=threads + 1)


CHANGES = {
    "another shape": lambda call: setattr(call.x, "shape", (4, 32)),
    "fewer rows": lambda call: setattr(call.factor, "shape", (3,)),
    "another rank": lambda call: setattr(call.x, "shape", (256,)),
    "more rows, all": lambda call: [setattr(call.x, "shape", (8, 64)), setattr(call.out, "shape", (8, 64)),
                                    setattr(call.factor, "shape", (8,))],
    "another type": lambda call: setattr(call.factor, "kind", BF16),
    "another type, both": lambda call: [setattr(call.x, "kind", F32), setattr(call.out, "kind", F32)],
    "a type that is none": lambda call: setattr(call.x, "kind", (5, 64)),
    "no storage": lambda call: setattr(call.out, "address", 0),
    "no alignment": lambda call: setattr(call.x, "address", call.x.address + 1),
    "an input's memory": lambda call: setattr(call.out, "address", call.x.address),
    "a part of it": lambda call: setattr(call.out, "address", call.x.address + 496),
    "memory behind it": lambda call: setattr(call.out, "address", call.x.address + 512),
    "inputs of one memory": lambda call: setattr(call.x, "address", call.factor.address),
    "another device": lambda call: setattr(call.factor, "place", (2, 1)),
    "the processor": lambda call: setattr(call.out, "place", (1, 0)),
    "no tensor": lambda call: setattr(call, "factor", "text"),
    "a number": lambda call: setattr(call, "factor", 3),
    "no input": lambda call: setattr(call, "x", None),
    "no view": lambda call: setattr(call.out, "gone", True),
    "no stream": lambda call: call.named.update(stream="text"),
    "another stream": lambda call: call.named.update(stream=3),
    "a device": lambda call: call.named.update(device=0),
    "a device that is none": lambda call: call.named.update(device=7),
    "no such name": lambda call: call.named.update(threads=64),
    "a size": lambda call: call.named.update(rows=4),
    "a wrong size": lambda call: call.named.update(rows=5),
}


def outcome(call, kernel):
    """What a call returns or raises."""
    try:
        return call(kernel)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return type(error), str(error)


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_taken_as_at_a_first_call(change):
    kernel, call = scale_rows(3), Call()
    CHANGES[change](call)
    first = outcome(call, scale_rows())
    for _ in range(3):
        assert outcome(call, kernel) == first
    assert outcome(Call(), kernel) is None


def test_numbers_are_those_of_each_call():
    kernel, y = diecast.kernel(STEP, name="step"), Fake(1, F32, 64)
    for by, times in ((0.5, 1), (0.25, -7), (3, 2), (float("nan"), 0)):
        assert kernel(y, by, times) is None and kernel(y, by, times=times) is None
    for times, error in ((128, "128"), (1 << 70, "beyond 64 bits"), (0.5, "scalar of type i8"), (True, None)):
        for _ in range(2):
            if error is None:
                assert kernel(y, 1.0, times) is None
                continue
            with pytest.raises(diecast.Error, match=error):
                kernel(y, 1.0, times)


def test_extents_that_fix_parameters_are_those_of_each_call():
    text = STEP.replace("size count", "shape int COUNT\nsize count = COUNT")
    kernel, y = diecast.kernel(text, name="step_of"), Fake(1, F32, 64)
    for count in (64, 64, 64, 32, 32, 32, 64):
        y.shape = (count,)
        assert kernel(y, 1.0, 1) is None
        with pytest.raises(diecast.Error, match=f"y: it is .{count}., and count is 16"):
            kernel(y, 1.0, 1, COUNT=16)


def test_outputs_are_made_for_each_call(makers):
    x, factor = makers
    factor.shape, kernel = (4,), scale_rows()
    for rows in (4, 4, 4, 9, 9):
        x.shape, factor.shape = (rows, 64), (rows,)
        Maker.made.clear()
        out = kernel(x, factor)
        assert [out] == Maker.made and (out.kind, out.shape) == (BF16, (rows, 64))
    gone = weakref.ref(kernel(x, factor))
    Maker.made.clear()
    assert gone() is None


def test_a_producer_may_make_many_other_calls():
    kernel, call, other = scale_rows(3), Call(), Call()

    def many():
        call.factor.before_view = lambda: None
        for stream in [None, 0] * 10:
            for threads in (64, 128, 256):
                kernel(other.x, other.factor, out=other.out, THREADS=threads, stream=stream)
        kernel._forget()
    call.factor.before_view = many
    assert call(kernel) is None and call(kernel) is None


def test_a_kernel_ends_with_its_last_reference(makers):
    x, factor = makers
    factor.shape, kernel = (4,), scale_rows(3)
    kernel(x, factor), kernel(x, factor)
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None
