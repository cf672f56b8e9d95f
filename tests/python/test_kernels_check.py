"""What a check of a kernel's variants takes and says, and what a call says that lacks a value."""

import numpy
import pytest

import diecast

HOST = {"device": "host"}

# Arguments behind an output, and a size that no shape tells.
SUMS = """/* diecast
option type T {f32, i32}
shape int COLS
size rows
size parts
arg x in T [rows, COLS]
arg sums out T [parts, COLS]
arg total inout T [COLS]
arg weight in T [COLS] optional
arg by T
arg rows
arg parts
tune int FIRST {0, 1} = 0
launch grid(parts) block(1)
target host, sm_80+
exchange none
*/
DIECAST_KERNEL {
  for (int c = 0; c < COLS; ++c) {
    T sum = 0;
    for (i64 r = blockIdx.x; r < rows; r += parts) sum += x[r * COLS + c] * by;
    if constexpr (HAS_WEIGHT) sum *= weight[c];
    sums[blockIdx.x * COLS + c] = sum;
    if (blockIdx.x == 0) total[c] += sum;
  }
}
"""


def sums(x, total, by, parts, weight=None):
    of_parts = numpy.stack([x[part::parts].sum(0) * by for part in range(parts)]).astype(x.dtype)
    if weight is not None:
        of_parts *= weight
    total += of_parts[0]  # of a copy
    return of_parts, total


@pytest.mark.parametrize("kind", ("f4", "i4"))
def test_a_check_gives_arguments_by_name_to_the_kernel_and_to_the_reference(kind):
    kernel = diecast.kernel(SUMS, name="sums")
    x, total = numpy.arange(20, dtype=kind).reshape(5, 4), numpy.ones(4, kind)
    assert kernel.check(sums, x, total=total, by=2, parts=2, **HOST) == 2
    assert kernel.check(sums, x, total=total, by=3, parts=3, weight=total, FIRST=1, **HOST) == 1
    assert total.tolist() == [1, 1, 1, 1]
    with pytest.raises(diecast.ArgumentError, match="differs from the reference in 4 of the 4 elements of total"):
        kernel.check(lambda x, total, by, parts: (sums(x, total, by, parts)[0], total + 1),
                     x, total=total, by=2, parts=2, **HOST)


def test_an_optional_output_is_made_where_its_parameter_says_so():
    text = """/* diecast
size n
arg x in f32 [n]
arg twice out f32 [n]
arg thrice out f32 [n] optional
arg n
launch grid(1) block(1)
exchange none
*/
DIECAST_KERNEL {
  for (i64 i = 0; i < n; ++i) {
    twice[i] = 2 * x[i];
    if constexpr (HAS_THRICE) thrice[i] = 3 * x[i];
  }
}
"""
    kernel, x = diecast.kernel(text, name="multiples"), numpy.arange(4, dtype="f4")
    assert kernel(x, **HOST).tolist() == (2 * x).tolist()
    for has in (1, True, "1"):
        assert [one.tolist() for one in kernel(x, HAS_THRICE=has, **HOST)] == [(2 * x).tolist(), (3 * x).tolist()]
        assert kernel.check(lambda x: (2 * x, 3 * x), x, HAS_THRICE=has, **HOST) == 1
    for has in ({}, {"HAS_THRICE": 0}, {"HAS_THRICE": "false"}):
        assert kernel.check(lambda x: 2 * x, x, **has, **HOST) == 1
    thrice = numpy.empty_like(x)
    assert kernel(x, thrice=thrice, **HOST).tolist() == (2 * x).tolist() and thrice.tolist() == (3 * x).tolist()


def test_a_variant_of_another_size_than_a_number_is_left_out():
    text = """/* diecast
shape int GROUP {0, 4, 8} = 0
size n
size group = GROUP
arg x in f32 [n]
arg y out f32 [n]
arg n
arg group
launch grid(1) block(1)
exchange none
*/
DIECAST_KERNEL { for (i64 i = 0; i < n; ++i) y[i] = x[i / group * group]; }
"""
    kernel, x = diecast.kernel(text, name="first_of_group"), numpy.arange(24, dtype="f4")
    for group, variants in ((4, 2), (8, 2), (6, 1)):
        assert kernel.check(lambda x, group: numpy.repeat(x[::group], group), x, group=group, **HOST) == variants


COPY = """/* diecast
size rows
size cols
arg x in f32 [rows, cols]
arg y out f32 [rows, cols]
arg rows
arg cols
launch grid(1) block(1)
exchange none
*/
DIECAST_KERNEL { for (i64 i = 0; i < rows * cols; ++i) y[i] = x[i]; }
"""


@pytest.mark.parametrize("make", [lambda x: x, lambda x: memoryview(x.copy())])
def test_a_check_says_where_a_kernel_differs(make):
    kernel = diecast.kernel(COPY, name="copied")
    x = numpy.arange(6, dtype="f4").reshape(2, 3)
    x[0, 1] = numpy.nan

    def says(change, close=None):
        wanted = change(x.copy())
        with pytest.raises(diecast.ArgumentError) as caught:
            kernel.check(lambda _: make(wanted), make(x), close=close, **HOST)
        assert caught.value.code == "results_differ"
        return caught.value.what.partition(" @ ")[2].partition(" ")[2]

    def other(place, value):
        def change(x):
            x[place] = value
            return x
        return change

    where = "differs from the reference in {} of the 6 elements of y, the most at [{}]: it is {}, the reference has {}"
    assert says(other((1, 2), 5.5)) == where.format(1, "1, 2", 5.0, 5.5)
    assert says(other((1, slice(3)), 4)) == where.format(2, "1, 0", 3.0, 4.0)
    assert says(other((0, 0), numpy.nan)) == where.format(1, "0, 0", 0.0, "nan")
    assert says(other((0, 1), 1)) == where.format(1, "0, 1", "nan", 1.0)
    assert says(other((1, 2), 5.5), lambda a, b: False) == where.format(1, "1, 2", 5.0, 5.5)
    assert says(other((0, 0), -0.0)).endswith("y has the same numbers, zeros of another sign or NaNs of other bits")
    assert "y is f" in says(lambda x: x.astype("f8")) and "the reference gives" in says(lambda x: x.astype("f8"))
    assert says(lambda x: x.T.copy()).endswith("[3, 2]")
    assert says(lambda x: x.astype("f8") + 1, lambda a, b: False) == where.format(5, "0, 0", 0.0, 1.0)


def test_a_value_that_is_missing_is_named():
    """Not the type that would have followed from it, and not the outputs, which a call makes."""
    kernel, x = diecast.kernel(SUMS, name="sums"), numpy.ones((3, 4), "f4")
    for given, name in (({}, "total"), ({"total": x[0]}, "by"), ({"x": None}, "x")):
        call = {"x": x, "parts": 1, **given}
        for function in (kernel, lambda **named: kernel.check(sums, **named)):
            with pytest.raises(diecast.ArgumentError, match=f"^sums: {name}: it is not given") as caught:
                function(**call, **HOST)
            assert caught.value.fix.startswith(f"pass {name}=, or values in the order of the header's arguments")
    for number in (2, 2.0, True):
        with pytest.raises(diecast.DtypeError, match="^sums: sums is no tensor") as caught:
            kernel(x, number, by=1, total=x[0], parts=1, **HOST)
        assert caught.value.fix == "pass values by name, or in the order of the header's arguments, outputs among them"


def test_shapes_without_a_default_follow_from_tensors():
    kernel = diecast.kernel(SUMS, name="sums")
    for cols in (4, 2, 4, 7, 2):
        x, total = numpy.ones((3, cols), "f4"), numpy.zeros(cols, "f4")
        assert kernel(x, total=total, by=2, parts=1, **HOST).tolist() == [[6] * cols]
        assert kernel(x, total=total, by=2, parts=1, COLS=cols, **HOST).tolist() == [[6] * cols]
        assert total.tolist() == [12] * cols
    with pytest.raises(diecast.ArgumentError, match=r"x: it is \[3, 7\], and COLS is 4"):
        kernel(numpy.ones((3, 7), "f4"), total=numpy.ones(7, "f4"), by=2, parts=1, COLS=4, **HOST)
    with pytest.raises(diecast.ArgumentError, match=r"total: it is \[2\], and COLS is 7"):
        kernel(numpy.ones((3, 7), "f4"), total=numpy.ones(2, "f4"), by=2, parts=1, **HOST)
    for few in (numpy.ones(7, "f4"), numpy.ones((), "f4")):
        with pytest.raises(diecast.ArgumentError, match="x: it is.*\n  fix: pass a tensor of 2 dimensions"):
            kernel(few, total=numpy.ones(7, "f4"), by=2, parts=1, **HOST)


def test_a_shape_that_fixes_a_size_follows_from_tensors_that_have_the_size():
    text = COPY.replace("size rows", "shape int COLS\nsize rows").replace("size cols", "size cols = COLS")
    kernel = diecast.kernel(text, name="copied_cols")
    for cols in (3, 5, 3):
        x = numpy.ones((2, cols), "f4")
        assert kernel(x, **HOST).tolist() == x.tolist()
        assert kernel.check(lambda x: x, x, **HOST) == 1
