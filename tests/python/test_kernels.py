"""Kernels of one's own: from files and texts, their arguments, variants and tuning."""

import ctypes

import ml_dtypes
import numpy
import pytest
from conftest import SCALE_ROWS

import diecast

HOST = {"device": "host"}


def test_own_kernels_follow_their_header(matrix):
    kernel = diecast.kernel(SCALE_ROWS)
    x, factor = matrix(5, 33), numpy.arange(5, dtype="f4")
    assert numpy.array_equal(kernel(x, factor, **HOST), x * factor[:, None])
    out = numpy.empty_like(x)
    assert kernel(x, factor, out=out, THREADS=64, **HOST) is None
    assert numpy.array_equal(out, x * factor[:, None])
    assert len(kernel.variants(T="f32")) == 3
    assert kernel.check(lambda x, factor: x * factor[:, None], x, factor, **HOST) == 3
    assert "scale_rows" in kernel.source(T="f32") and kernel.resolve(T="f32")["code"]
    for call, error in ((lambda: kernel(x, **HOST), ValueError),
                        (lambda: kernel(x, factor[:3], **HOST), ValueError),
                        (lambda: kernel(x, factor, THREADS=65, **HOST), ValueError),
                        (lambda: kernel(x, factor, threads=64, **HOST), ValueError),
                        (lambda: kernel(x, factor), ValueError),
                        (lambda: kernel(x, factor.astype("f8"), **HOST), TypeError)):
        with pytest.raises(error):
            call()
    with pytest.raises(diecast.ArgumentError, match="rows is beyond 64 bits"):
        kernel(x, factor, rows=1 << 70, **HOST)
    for answer, error in ((None, TypeError), ((), ValueError), ((x, x), ValueError), ("text", TypeError)):
        with pytest.raises(error):
            kernel.check(lambda x, factor, answer=answer: answer, x, factor, **HOST)
    wrong = kernel.check
    with pytest.raises(diecast.Error, match="differs from the reference"):
        wrong(lambda x, factor: x + 1, x, factor, **HOST)


def test_code_for_a_gpu_is_shown(tmp_path, monkeypatch):
    kernel, reader = diecast.kernel(SCALE_ROWS), tmp_path / "nvdisasm"
    reader.write_text("#!/bin/sh\necho code of a GPU\n")
    reader.chmod(0o755)
    monkeypatch.setenv("DIECAST_NVDISASM", str(reader))
    for show in (kernel.ptx, kernel.sass):
        with pytest.raises(diecast.Error) as caught:
            show("host", T="f32")
        assert caught.value.code == "target_not_supported" and caught.value.fix
    monkeypatch.setenv("DIECAST_NVDISASM", str(tmp_path / "none"))
    with pytest.raises(diecast.Error, match="which is no program"):
        kernel.sass("sm_90a", T="f32")
    monkeypatch.setenv("DIECAST_NVDISASM", str(reader))
    try:
        ptx = kernel.ptx("sm_90a", T="f32")
    except diecast.CompileError as error:
        pytest.skip(f"no NVRTC: {error.code}")
    assert ".target sm_90a" in ptx and "scale_rows" in ptx
    assert kernel.sass("sm_90a", T="f32") == "code of a GPU\n"


def test_calls_of_one_form_are_told_apart_by_their_kinds(matrix):
    kernel = diecast.kernel(SCALE_ROWS)
    x, factor = matrix(6, 32), numpy.arange(6, dtype="f4")
    for one in (x, x.astype("f2"), numpy.ascontiguousarray(x[:, :8]), x[:, :16], x):
        y = kernel(one, factor, **HOST)
        assert type(y) is numpy.ndarray and (y.dtype, y.shape) == (one.dtype, one.shape)
        assert numpy.array_equal(y, (one * factor[:, None]).astype(one.dtype))
    y = kernel(memoryview(x), factor, **HOST)
    assert type(y) is memoryview and y.tolist() == (x * factor[:, None]).tolist()
    for threads in (64, 128):
        assert numpy.array_equal(kernel(x, factor, THREADS=threads, **HOST), x * factor[:, None])


def test_tuning_is_measured_kept_and_chosen_by(matrix, tmp_path):
    with diecast.Runtime(cache=tmp_path) as runtime:
        kernel = diecast.kernel(SCALE_ROWS, runtime=runtime)
        file = tmp_path / "tuned.txt"
        records = kernel.tune([{"rows": 4, "cols": 64}], device="host", save=file, T="f32")
        assert len(records) == 3 and file.read_text().splitlines() == records
        assert all("scale_rows T=f32" in one and "rows=4 cols=64" in one for one in records)
        kernel(matrix(4, 64), numpy.ones(4, "f4"), **HOST)
        runtime.add_tuning(records)
        with pytest.raises(diecast.ArgumentError, match="line 1"):
            runtime.add_tuning("nothing of ours")
        with pytest.raises(diecast.DtypeError, match="sizes are no dicts"):
            kernel.tune(["rows"], device="host", T="f32")
        with pytest.raises(diecast.ArgumentError, match="is no size"):
            runtime.tune("scale_rows T=f32", [{"rows": -1}], device="host")


def test_tuning_takes_what_the_header_does_not_tell(tmp_path):
    text = """/* diecast
option type T {f32, i32}
tune int THREADS {32, 64} = 32
size n
size count
arg x in T [n]
arg index in i32 [count]
arg line struct Line 8
arg shift i32
arg y out T [count]
arg n
arg count
launch grid(1) block(THREADS)
exchange none
*/
struct Line { f32 first, second; };
DIECAST_KERNEL {
  for (i64 i = threadIdx.x; i < count; i += THREADS) {
    assert(index[i] < n && shift == 3 && line.second == 2.0f);
    y[i] = x[index[i]];
  }
}
"""
    with diecast.Runtime(cache=tmp_path) as runtime:
        kernel = diecast.kernel(text, name="gather", runtime=runtime)
        given = {"index": numpy.array([7, 0, 3], "i4"), "line": numpy.array([1, 2], "f4"), "shift": 3}
        sizes = [{"n": 8, "count": 3}]
        assert len(kernel.tune(sizes, device="host", T="f32", **given)) == 2
        records = kernel.tune(sizes, device="host", x=numpy.zeros(8, "i4"), **given)
        assert len(records) == 2 and all("gather T=i32" in record for record in records)
        for wrong, error in (({"index": None}, TypeError), ({"index": numpy.zeros(4, "i4")}, ValueError),
                             ({"index": numpy.zeros(3, "i8")}, TypeError), ({"shift": "3"}, TypeError),
                             ({"line": b"1234"}, ValueError), ({"y": numpy.zeros(3, "f4")}, ValueError),
                             ({"count": 3}, ValueError), ({"indices": 3}, ValueError)):
            with pytest.raises(error) as caught:
                kernel.tune(sizes, device="host", T="f32", **{**given, **wrong})
            assert isinstance(caught.value, diecast.Error) and caught.value.fix
        del given["index"]
        with pytest.raises(diecast.Error, match="the header does not tell what to give for index"):
            kernel.tune(sizes, device="host", T="f32", **given)


def test_scalars_are_checked_by_their_type():
    text = """// y = alpha * x + shift, each element.
/* diecast
size     count
arg      x      in   f32  [count]
arg      alpha  f32
arg      shift  i32
arg      small  u8
arg      y      out  f32  [count]
arg      count
launch   grid(1) block(32)
target   host, sm_80+
exchange none
sample   count {0, 5}
*/
DIECAST_KERNEL {
  for (i64 i = threadIdx.x; i < count; i += 32) y[i] = alpha * x[i] + shift + small;
}
"""
    kernel = diecast.kernel(text, name="affine")
    x = numpy.arange(5, dtype="f4")
    assert kernel(x, 2.0, -1, 3, **HOST).tolist() == (2 * x + 2).tolist()
    assert kernel(x, 2, 2**31 - 256, 255, **HOST).shape == (5,)
    for bad, error in (((x, 2.0, 1.5, 0), TypeError), ((x, 2.0, 2**31, 0), ValueError),
                       ((x, 2.0, 0, 256), ValueError), ((x, x, 0, 0), TypeError),
                       ((2.0, 2.0, 0, 0), TypeError)):
        with pytest.raises(error):
            kernel(*bad, y=numpy.empty(5, "f4"), **HOST)
    for two in (numpy.float32(2), ml_dtypes.bfloat16(2), numpy.int8(2), numpy.float64(2), True + 1):
        assert kernel(x, two, numpy.int64(-1), 3, **HOST).tolist() == (2 * x + 2).tolist()
    for none in ("2", b"2", 2j, [2], numpy.float32):
        with pytest.raises(diecast.DtypeError, match="^affine: alpha is no number\n  fix: pass an int or a float$"):
            kernel(x, none, 0, 0, **HOST)
    with pytest.raises(diecast.DtypeError, match="^affine: alpha is no number\n  fix: pass its .item()"):
        kernel(x, numpy.array(2.0, "f4"), 0, 0, **HOST)
    for none in ("x", 2, 2.0, [2.0]):
        for call in (kernel, lambda *given, **on: kernel.check(lambda *_: x, *given, **on)):
            with pytest.raises(diecast.DtypeError, match="^affine: x is no tensor"):
                call(none, 2.0, 0, 0, **HOST)


def test_a_tensor_that_may_be_missing_fixes_the_variant():
    text = """// y = x, and bias where there is one.
/* diecast
size     count
arg      x      in   f32  [count]
arg      bias   in   f32  [count]  optional
arg      y      out  f32  [count]
arg      count
launch   grid(1) block(32)
target   host, sm_80+
exchange none
sample   count {0, 5}
*/
DIECAST_KERNEL {
  for (i64 i = threadIdx.x; i < count; i += 32) {
    f32 value = x[i];
    if constexpr (HAS_BIAS) value += bias[i];
    y[i] = value;
  }
}
"""
    kernel = diecast.kernel(text, name="add_bias")
    x = numpy.arange(5, dtype="f4")
    assert kernel(x, **HOST).tolist() == x.tolist()
    assert kernel(x, None, **HOST).tolist() == x.tolist()
    assert kernel(x, bias=x, **HOST).tolist() == (2 * x).tolist()
    with pytest.raises(diecast.ArgumentError, match="bias|HAS_BIAS"):
        kernel(x, bias=x, HAS_BIAS=0, **HOST)
    with pytest.raises(diecast.ArgumentError, match="bias: it is not given") as caught:
        kernel(x, HAS_BIAS=1, **HOST)
    assert caught.value.fix == "give it, or specialize with HAS_BIAS=0"


def test_a_structure_is_its_bytes():
    text = """// y = first + second * i
/* diecast
size     count
arg      line   struct Line 8
arg      y      out  f32  [count]
arg      count
launch   grid(1) block(32)
target   host, sm_80+
exchange none
sample   count {0, 5}
*/
struct Line { f32 first, second; };
DIECAST_KERNEL {
  for (i64 i = threadIdx.x; i < count; i += 32) y[i] = line.first + line.second * i;
}
"""
    class Line(ctypes.Structure):
        _fields_ = [("first", ctypes.c_float), ("second", ctypes.c_float)]

    kernel = diecast.kernel(text, name="line")
    y = numpy.empty(5, "f4")
    for line in Line(1, 2), bytes(Line(1, 2)), numpy.array([1, 2], "f4"):
        kernel(line, y, **HOST)
        assert y.tolist() == [1, 3, 5, 7, 9]
        y[:] = 0
    with pytest.raises(diecast.ArgumentError, match="a structure of 8 bytes"):
        kernel(bytes(7), y, **HOST)
    with pytest.raises(TypeError, match="bytes-like"):
        kernel(5, y, **HOST)


def test_a_tensor_map_is_its_bytes():
    text = """/* diecast
size count
arg map tensor_map
arg y out u8 [count]
arg count
launch grid(1) block(1)
exchange none
*/
DIECAST_KERNEL { for (i64 i = 0; i < count; ++i) y[i] = reinterpret_cast<const u8*>(&map)[i]; }
"""
    kernel, bytes_ = diecast.kernel(text, name="of_map"), numpy.arange(128, dtype="u1")
    for given in (bytes(bytes_), bytes_):
        y = numpy.empty(128, "u1")
        kernel(given, y, **HOST)
        assert numpy.array_equal(y, bytes_)
    assert len(kernel.tune([{"count": 128}], map=bytes(128), **HOST)) == 1
    with pytest.raises(diecast.ArgumentError, match="a structure of 128 bytes"):
        kernel(bytes(64), y, **HOST)


def test_own_kernels_come_from_texts(matrix):
    text = SCALE_ROWS.read_text()
    x, factor = matrix(2, 32), numpy.ones(2, "f4")
    assert numpy.array_equal(diecast.kernel(text)(x, factor, **HOST), x)
    with pytest.raises(diecast.ArgumentError) as raised:
        diecast.kernel(text.replace("size     rows", "sise     rows"), name="misspelt")
    assert raised.value.code == "parse_error" and "misspelt.cu:" in str(raised.value)


def test_a_compile_error_has_the_compilers_log(matrix):
    text = SCALE_ROWS.read_text().replace("const f32 value", "const f33 value")
    with pytest.raises(diecast.CompileError, match="f33"):
        diecast.kernel(text, name="no_such_type")(matrix(1, 32), numpy.ones(1, "f4"), **HOST)
