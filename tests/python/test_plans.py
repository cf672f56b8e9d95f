"""Calls that repeat are made by a plan: whatever changes from one call to the next, they do and say
what a first call does."""

from functools import partial

import pytest
from fake_gpu import COLS, E4M3, F32, I64, ROWS, U8, Call, Fake, Outputs, fakes, on_fake_gpu, plans_of

import diecast

pytestmark = on_fake_gpu


def test_calls_that_repeat_have_one_plan():
    call = Call()
    data, scale = call.data, call.scale
    for plans, outputs in [(1, {"out": (data, scale)}), (1, {"out": [data, scale]}),
                           (1, {"out_scale": scale, "out_data": data}),
                           (0, {"out": Outputs((data, scale))})]:
        assert plans_of(partial(diecast.quantize_nvfp4, call.x, call.amax, **outputs)) == plans


def test_calls_that_bring_their_scratch_have_one_plan():
    call = Call()
    offsets, members, amax = Fake(5, I64, 3), Fake(6, U8, 4096), Fake(7, F32, 2)
    grouped = partial(diecast.quantize_nvfp4_grouped, call.x, offsets, amax=amax, members=members)
    for outputs in ({"out": [call.data, call.scale]},
                    {"out_data": call.data, "out_scale": call.scale}):
        assert plans_of(partial(grouped, **outputs)) == 1
        assert grouped(**outputs) == (call.data, call.scale)


def test_a_list_of_outputs_may_change_while_it_is_read(function):
    call = Call()
    out = [call.data, call.scale]
    assert function(call.x, call.amax, out=out) == (call.data, call.scale)
    call.x.before_view = out.clear
    assert function(call.x, call.amax, out=out) == (call.data, call.scale)
    assert out == []


def test_a_list_of_outputs_may_change_before_there_is_a_plan():
    call = Call()
    out = [call.data, call.scale]
    call.scale.before_view = out.clear
    for _ in range(2):
        assert diecast.quantize_nvfp4(call.x, call.amax, row_scaled=False, out=out)
        with pytest.raises(diecast.Error, match="out has 0 tensors"):
            diecast.quantize_nvfp4(call.x, call.amax, row_scaled=False, out=out)
        out += [call.data, call.scale]


@pytest.fixture(params=["plain", "prepared"])
def function(request):
    """quantize_nvfp4 after some calls of each way."""
    call = Call()
    made = (diecast.quantize_nvfp4 if request.param == "plain" else
            diecast.prepare("quantize_nvfp4", call.x, call.amax))
    for _ in range(3):
        call.again(made), call.named(made)
    return made


def error_of(way, *arguments):
    """What a call raises: its type, its text and what mends it."""
    with pytest.raises(diecast.Error) as raised:
        way(*arguments)
    return type(raised.value), str(raised.value), raised.value.fix


def test_a_call_again_returns_what_a_first_call_returns(function):
    call = Call()
    out = (call.data, call.scale)
    assert function(call.x, call.amax, out=out) is out
    assert [*call.named(function)] == [call.data, call.scale]
    assert function(x=call.x, **{"out_scale": call.scale, "amax": call.amax,
                                 "out_data": call.data}) == out
    one = Fake(5, F32, 1)
    assert [diecast.amax(call.x, out=one) for _ in range(3)] == [one] * 3
    codes, scales, packed = Fake(6, U8, 64, 32), Fake(7, E4M3, 64, 4), Fake(8, U8, 2304)
    for out in (packed, [packed], (packed,)):
        assert [diecast.pack_linear(codes, scales, out=out) for _ in range(3)] == [packed] * 3


def test_the_stream_is_that_of_each_call(function):
    call = Call()
    for stream, exists in [(0, True), (0, True), (3, False), (None, True), (0, True), (3, False)]:
        def run(stream=stream):
            return function(call.x, call.amax, stream=stream, out=(call.data, call.scale))
        assert run() == (call.data, call.scale) if exists else "HANDLE" in error_of(run)[1]
    with pytest.raises(diecast.Error, match="stream is no stream"):
        function(call.x, call.amax, stream="text", out=(call.data, call.scale))


def test_an_exception_of_a_stream_is_the_calls(function):
    class Stream:
        """One whose address is 0, unless it is interrupted."""
        asked, interrupted = 0, False

        def __cuda_stream__(self):
            self.asked += 1
            if self.interrupted:
                raise KeyboardInterrupt
            return (0, 0)

    call, stream = Call(), Stream()
    for _ in range(3):
        function(call.x, call.amax, stream=stream, out=(call.data, call.scale))
    stream.asked, stream.interrupted = 0, True
    with pytest.raises(KeyboardInterrupt):
        function(call.x, call.amax, stream=stream, out=(call.data, call.scale))
    assert stream.asked == 1


CHANGES = {
    "another shape": lambda call: setattr(call.x, "shape", (ROWS, 2 * COLS)),
    "fewer rows": lambda call: setattr(call.data, "shape", (ROWS - 1, COLS // 2)),
    "another rank": lambda call: setattr(call.data, "shape", (ROWS * COLS // 2,) * 9),
    "a smaller storage": lambda call: setattr(call.scale, "shape", (1,)),
    "another type": lambda call: setattr(call.x, "kind", (0, 16)),
    "a type viewed": lambda call: setattr(call.amax, "kind", (0, 32)),
    "no storage": lambda call: setattr(call.data, "address", 0),
    "no alignment": lambda call: setattr(call.x, "address", call.x.address + 1),
    "another's storage": lambda call: setattr(call.data, "address", call.x.address),
    "another device": lambda call: setattr(call.amax, "place", (2, 1)),
    "the processor": lambda call: setattr(call.amax, "place", (1, 0)),
    "the processor, all": lambda call: [setattr(tensor, "place", (1, 0))
                                        for tensor in vars(call).values()],
    "no tensor": lambda call: setattr(call, "amax", "text"),
    "no input": lambda call: setattr(call, "x", None),
    "no output": lambda call: setattr(call, "scale", None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_tensor_that_changed_is_refused_as_a_first_one(function, change):
    call = Call()
    call.again(function), call.named(function)
    CHANGES[change](call)
    if change == "no output":
        with pytest.raises((TypeError, ValueError)):
            call.again(function)
        return
    refused = error_of(call.first, function)
    assert error_of(call.again, function) == refused
    assert error_of(call.named, function)[1] == refused[1] or change == "another shape"
    good = Call()
    good.again(function), good.named(function)


def test_a_tensor_that_gives_no_view_is_refused(function):
    call = Call()
    call.again(function)
    call.scale.gone = True
    with pytest.raises(TypeError, match="is no tensor that DLPack passes"):
        call.again(function)
    call.scale.gone = False
    call.again(function)


def test_options_that_changed_are_read():
    call = Call()
    tiled = Fake(6, E4M3, 128, 4)
    for _ in range(3):
        call.again(diecast.quantize_nvfp4)
        diecast.quantize_nvfp4(call.x, call.amax, layout="s128x4", out=(call.data, tiled))
        with pytest.raises(diecast.Error, match="scale"):
            diecast.quantize_nvfp4(call.x, call.amax, layout="s128x4", out=(call.data, call.scale))
        with pytest.raises(diecast.Error, match="layout"):
            diecast.quantize_nvfp4(call.x, call.amax, layout="s128", out=(call.data, tiled))
        for bound in (256, 448):
            diecast.quantize_nvfp4(call.x, call.amax, profile="modelopt", e4m3_bound=bound,
                                   out=(call.data, call.scale))
        with pytest.raises(diecast.Error, match="bound 256 is defined by"):
            diecast.quantize_nvfp4(call.x, call.amax, profile="te", e4m3_bound=256,
                                   out=(call.data, call.scale))


def test_a_tensor_that_is_left_out_after_calls_with_it():
    call, found = Call(), Fake(7, F32, 1)
    for _ in range(3):
        call.again(diecast.quantize_nvfp4)
        out = (call.data, call.scale, found)
        assert diecast.quantize_nvfp4(call.x, None, out=out) is out
        assert diecast.quantize_nvfp4(call.x, amax=None, out=out) is out
        with pytest.raises(diecast.Error, match="out has 2 tensors, and the call has 3 outputs"):
            diecast.quantize_nvfp4(call.x, None, out=out[:2])


def test_a_producer_may_make_many_other_calls(function):
    """Calls of more kinds than are kept, while one of a kind that is kept reads its tensors."""
    call, other = Call(), Call()
    out = call.again(function)

    def many():
        call.amax.before_view = lambda: None
        for mask in range(20):
            diecast.quantize_nvfp4(other.x, other.amax, sign_mask=mask,
                                   out=(other.data, other.scale))
            other.again(function)
    call.amax.before_view = many
    again = call.again(function)
    assert [*again] == [*out]


def test_a_list_of_names_that_is_made_anew_is_read():
    call = Call()
    for names in (["amax", "out"], ["out", "amax"], ["amax", "out"]):
        given = {name: call.amax if name == "amax" else (call.data, call.scale) for name in names}
        assert diecast.quantize_nvfp4(call.x, **given) == (call.data, call.scale)
    with pytest.raises(TypeError, match="nothing"):
        diecast.quantize_nvfp4(call.x, amax=call.amax, nothing=(call.data, call.scale))
