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
    with pytest.raises(diecast.ArgumentError, match="scale_rows: x: it is not given"):
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
    for size, shape in (("m", 3), ("2 * n", 16), ("ceil_div(n, 3)", 3), ("n / m", 2), ("n * (n > 2)", 8),
                        ("m == 3 ? align_up(n, 16) : n", 16), ("bits(f32) / 8 * n", 32)):
        for m in (3, numpy.int64(3)):
            assert diecast.kernel(text % size)(x, m=m, **HOST).shape == (shape,), size
    with pytest.raises(diecast.ArgumentError, match=r"the shape of y, \[n \+ m\], does not follow.*nothing tells m"):
        diecast.kernel(text % "n + m")(x, **HOST)
    with pytest.raises(diecast.ArgumentError, match="y: n - m is -1"):
        diecast.kernel(text % "n - m")(x, m=9, **HOST)
    with pytest.raises(diecast.ArgumentError, match="has no value"):
        diecast.kernel(text % "n / m")(x, m=0, **HOST)


STRIDED = """/* diecast
option type T {f32, i32}
option int STRIDE {1, 2} = 2
shape int COLS {0, 4, 8} = 0
option bool WHOLE = 1
let PIECE = WHOLE ? 1 : 2
size rows
size cols = COLS
arg x in T [rows, cols]
arg y out T [ceil_div(rows, STRIDE), cols / PIECE * bits(T) / 32]
arg rows
arg cols
launch grid(ceil_div(rows, STRIDE)) block(1)
exchange none
*/
DIECAST_KERNEL {
  for (i64 i = 0; i < cols / PIECE; ++i) y[blockIdx.x * (cols / PIECE) + i] = x[blockIdx.x * STRIDE * cols + i * PIECE];
}
"""


def strided(step, piece):
    return lambda x: numpy.ascontiguousarray(x[::step, ::piece])


def test_shapes_of_outputs_know_parameters_and_lets():
    """Also those that the call leaves to their defaults, and gives as text."""
    kernel, x = diecast.kernel(STRIDED, name="strided"), numpy.arange(40, dtype="f4").reshape(5, 8)
    assert numpy.array_equal(kernel(x, **HOST), x[::2])
    for step in (1, "1", 2):
        for whole, piece in ((True, 1), (False, 2), ("0", 2)):
            y = kernel(x, STRIDE=step, WHOLE=whole, **HOST)
            assert numpy.array_equal(y, x[::int(step), ::piece])
    for few in (x[0], x[0, 0]):
        with pytest.raises(diecast.ArgumentError, match="strided: x: it is.*\n  fix: pass a tensor of 2 dimensions"):
            kernel(few, **HOST)
    for none in ("float32", numpy.float32, numpy.dtype("f4")):
        with pytest.raises(diecast.ArgumentError, match='T cannot be "float32"\n  fix: give T one of f32, i32'):
            kernel(x, T=none, **HOST)


def test_a_check_runs_the_variants_that_are_of_the_tensors_sizes():
    kernel = diecast.kernel(STRIDED, name="strided")
    for cols, variants in ((8, 2), (4, 2), (6, 1)):
        x = numpy.arange(5 * cols, dtype="i4").reshape(5, cols)
        assert kernel.check(strided(1, 2), x, STRIDE=1, WHOLE=0, **HOST) == variants
        assert kernel.check(strided(2, 1), x, STRIDE=2, WHOLE=1, COLS=0, **HOST) == 1
    with pytest.raises(diecast.ArgumentError, match="strided: no variant takes these tensors"):
        kernel.check(strided(2, 1), x, STRIDE=2, WHOLE=1, COLS=4, **HOST)
