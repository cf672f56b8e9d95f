"""Calls that repeat and make their outputs or scratch: by a plan, as a first call makes them."""

import sys
import weakref
from functools import partial
from types import SimpleNamespace

import pytest
from fake_gpu import BF16, COLS, E4M3, F32, I64, ROWS, U8, Call, Fake, fakes, on_fake_gpu, plans_of

import diecast

pytestmark = on_fake_gpu


class Maker(Fake):
    """A tensor whose framework makes others: those that it made, in their order, are in `made`."""
    __module__, made, failing = "torch", [], False

    def new_empty(self, shape, dtype):
        if Maker.failing:
            raise MemoryError("no room")
        Maker.made.append(Maker(32 + len(Maker.made), dtype, *shape))
        return Maker.made[-1]


@pytest.fixture
def makers(monkeypatch):
    """A call's x and amax whose framework makes its outputs and scratch."""
    kinds = SimpleNamespace(uint8=U8, float32=F32, bfloat16=BF16, float8_e4m3fn=E4M3)
    monkeypatch.setitem(sys.modules, "torch", kinds)
    monkeypatch.setattr(Maker, "made", [])
    return Maker(1, BF16, ROWS, COLS), Maker(2, F32, 1)


def test_calls_that_make_their_outputs_have_one_plan(makers):
    x, amax = makers
    assert plans_of(partial(diecast.quantize_nvfp4, x, amax)) == 1
    for rows, cols in ((4, 64), (300, 64), (4, 128), (4, 64)):
        x.shape = (rows, cols)
        shapes = diecast.output_shapes("quantize_nvfp4", x, amax)
        for function in (diecast.quantize_nvfp4, diecast.prepare("quantize_nvfp4", x, amax)):
            for _ in range(3):
                Maker.made.clear()
                assert [*function(x, amax)] == Maker.made
                assert [one.shape for one in Maker.made] == [shape for _, shape in shapes.values()]
    assert [one.kind for one in Maker.made] == [U8, E4M3]
    plain = partial(diecast.quantize_nvfp4, x)
    assert plans_of(plain) == 1 and len(plain()) == 3 and plain()[2].kind == F32


def test_calls_that_make_their_scratch_have_one_plan(makers):
    x, amax = makers
    call, offsets, amax.shape = Call(), Maker(5, I64, 3), (2,)
    for outputs in ({"out": (call.data, call.scale)},
                    {"out_data": call.data, "out_scale": call.scale}):
        grouped = partial(diecast.quantize_nvfp4_grouped, x, offsets, amax=amax, **outputs)
        assert plans_of(grouped) == 1
        Maker.made.clear()
        assert grouped() == (call.data, call.scale) and len(Maker.made) == 1
    Maker.made.clear()
    data, scale = diecast.quantize_nvfp4_grouped(x, offsets, amax=amax)
    assert len(Maker.made) == 3 and {data, scale} < {*Maker.made}


def test_an_exception_of_what_makes_outputs_is_the_calls(makers, monkeypatch):
    x, amax = makers
    for _ in range(3):
        diecast.quantize_nvfp4(x, amax)
    for change, error, text in (("failing", MemoryError, "no room"), (None, diecast.Error, "int16")):
        monkeypatch.setattr(Maker, "failing", change is not None)
        x.kind = x.kind if change else (0, 16)
        with pytest.raises(error, match=text):
            diecast.quantize_nvfp4(x, amax)


def test_what_a_call_makes_ends_with_it(makers):
    x, amax = makers
    diecast.quantize_nvfp4(x, amax), diecast.quantize_nvfp4(x, amax)
    made = [weakref.ref(one) for one in diecast.quantize_nvfp4(x, amax)]
    Maker.made.clear()
    assert [one() for one in made] == [None, None]
