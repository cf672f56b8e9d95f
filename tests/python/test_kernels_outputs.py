"""What kernels of one's own write: made outputs, inout tensors and their check, memory apart from inputs."""

import numpy
import pytest
from conftest import SCALE_ROWS

import diecast

HOST = {"device": "host"}

STEP = """/* diecast
size count
arg by f32
arg y inout f32 [count]
arg was out f32 [count]
arg count
tune int FIRST {0, 1} = 0
launch grid(1) block(1)
target host
exchange none
*/
DIECAST_KERNEL {
  for (i64 i = 0; i < count; ++i) was[i] = y[i];
  for (i64 i = 0; i < count; ++i) y[i] += by;
}
"""
ALONE = STEP.replace("arg was out f32 [count]\n", "").replace("was[i] = y[i]", "y[i] += 0.0f")


@pytest.mark.parametrize("make", [lambda y: y, lambda y: memoryview(y.copy())])
def test_kernels_that_write_what_they_read_are_checked(make):
    y = numpy.arange(8, dtype="f4")

    def step(by, given):
        values = numpy.asarray(given)
        was = values.copy()
        values += by  # of a copy
        return memoryview(values) if isinstance(given, memoryview) else values, was

    def alone(by, given):
        return step(by, given)[0]
    tensor, kernel = make(y), diecast.kernel(ALONE)
    assert kernel.check(alone, 2.0, tensor, **HOST) == 2
    assert numpy.array_equal(numpy.asarray(tensor), numpy.arange(8))
    with pytest.raises(diecast.Error, match="differs from the reference"):
        kernel.check(lambda by, given: given, 2.0, tensor, **HOST)
    with pytest.raises(diecast.ArgumentError, match="makes 1 outputs, the reference gives 2"):
        kernel.check(step, 2.0, tensor, **HOST)
    if tensor is y:
        assert diecast.kernel(STEP).check(step, 2.0, y, **HOST) == 2
        with pytest.raises(TypeError):
            kernel.check(alone, 2.0, y, 3, **HOST)


def test_outputs_lie_apart_from_inputs():
    """At a first call and at those that repeat; what a kernel reads and writes itself is fine."""
    kernel, step = diecast.kernel(SCALE_ROWS), diecast.kernel(STEP)
    memory, factor = numpy.ones(128, "f4"), numpy.full(4, 2.0, "f4")
    x, out = memory[:64].reshape(4, 16), memory[64:].reshape(4, 16)
    for _ in range(3):
        kernel(x, factor, out=out, **HOST)
        for near in (x, memory[60:124].reshape(4, 16)):
            with pytest.raises(diecast.ArgumentError, match="out is written and x lies in the same") as caught:
                kernel(x, factor, out=near, **HOST)
            assert caught.value.fix == "pass memory of its own for each output"
    assert (x == 1).all() and (out == 2).all()
    step(1.0, memory[:8], was=memory[8:16], **HOST)
    for was in (memory[:8], memory[4:12]):
        with pytest.raises(diecast.ArgumentError, match="y is written and was lies"):
            step(1.0, memory[:8], was=was, **HOST)
    assert (memory[:8] == 2).all()


def test_an_empty_tensor_stands_for_nothing_but_an_empty_one():
    """Else the kernel reads and writes beyond it."""
    kernel = diecast.kernel(SCALE_ROWS)
    x, factor, empty = numpy.ones((4, 8), "f4"), numpy.ones(4, "f4"), numpy.ones((0, 0), "f4")
    for call in (lambda: kernel(x, empty[0:0].reshape(0), **HOST), lambda: kernel(x, empty, **HOST),
                 lambda: kernel(x, factor, out=empty, **HOST), lambda: kernel(empty, factor, out=x, **HOST)):
        with pytest.raises(diecast.ArgumentError, match="and rows is"):
            call()
    for one in (empty, x[:0], x[:, :0]):
        assert kernel(one, factor[:len(one)], **HOST).shape == one.shape
    kernel(x[:0], factor[:0], out=empty, **HOST)


def test_types_of_outputs_follow_from_tensors_or_defaults():
    text = """/* diecast
option type T {f32, i32}%s
size n
arg x in f32 [n]
arg y out T [n]
arg n
launch grid(1) block(1)
exchange none
*/
DIECAST_KERNEL { for (i64 i = 0; i < n; ++i) y[i] = (T)x[i]; }
"""
    x = numpy.full(3, 2.5, "f4")
    kernel = diecast.kernel(text % "")
    assert kernel(x, T="i32", **HOST).tolist() == [2, 2, 2]
    with pytest.raises(diecast.ArgumentError, match="the type of y, T, does not follow") as caught:
        kernel(x, **HOST)
    assert caught.value.fix == "pass T= or y="
    assert diecast.kernel(text % " = i32")(x, **HOST).dtype == numpy.int32
    with pytest.raises(diecast.ArgumentError, match="the type of out, T"):
        diecast.kernel(SCALE_ROWS)(None, numpy.ones(4, "f4"), **HOST)


def test_several_outputs_are_made_in_shapes_of_any_expression():
    text = """// y = x; z = 1.
/* diecast
size     count
arg      x      in   f32  [count]
arg      y      out  f32  [count]
arg      z      out  i32  [2 * count + 1]
arg      count
launch   grid(1) block(32)
target   host, sm_80+
exchange none
sample   count {0, 5}
*/
DIECAST_KERNEL {
  for (i64 i = threadIdx.x; i < count; i += 32) y[i] = x[i];
  for (i64 i = threadIdx.x; i < 2 * count + 1; i += 32) z[i] = 1;
}
"""
    kernel = diecast.kernel(text, name="copy_and_ones")
    for count in (5, 5, 3, 0):
        x = numpy.arange(count, dtype="f4")
        y, z = kernel(x, **HOST)
        assert y.tolist() == x.tolist() and z.tolist() == [1] * (2 * count + 1)
        z = numpy.zeros(2 * count + 1, "i4")
        assert kernel(x, z=z, **HOST).tolist() == x.tolist() and z.sum() == 2 * count + 1


def test_sizes_of_outputs_follow_from_shapes_and_numbers():
    text = """/* diecast
size n
size m
arg x in f32 [n]
arg y out f32 [%s]
arg n
arg m
launch grid(1) block(1)
exchange none
*/
DIECAST_KERNEL { if (n > 0) y[0] = x[0]; }
"""
    x = numpy.ones(8, "f4")
    for size, shape in (("m", 3), ("2 * n", 16), ("ceil_div(n, 3)", 3), ("n / m", 2)):
        assert diecast.kernel(text % size)(x, m=3, **HOST).shape == (shape,), size
    for size in ("m", "n * (n > 2)"):
        with pytest.raises(diecast.ArgumentError, match="the shape of y.*does not follow"):
            diecast.kernel(text % size)(x, **HOST)
