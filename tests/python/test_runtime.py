"""Runtimes and prepared ops: freezing, events, threads, warming."""

import hashlib
import os
import sys
import threading

import numpy
import pytest
from conftest import SCALE_ROWS, same_bytes

import diecast

HOST = {"device": "host"}


def test_29_after_freeze_a_compile_is_an_error(matrix, tmp_path):
    x = matrix(4, 64)
    with diecast.Runtime(cache=tmp_path) as runtime:
        op = diecast.prepare("quantize_nvfp4", x, device="host", runtime=runtime)
        runtime.freeze()
        assert same_bytes(op(x, **HOST)[0], diecast.quantize_nvfp4(x, **HOST)[0])
        with pytest.raises(diecast.WouldCompile) as raised:
            diecast.quantize_mx(x, runtime=runtime, **HOST)
        assert raised.value.code == "frozen" and "quantize_mx" in str(raised.value)
        assert runtime.counters()["compiled"] >= 1
    with pytest.raises(diecast.ArgumentError, match="no open runtime"):
        diecast.quantize_nvfp4(x, runtime=runtime, **HOST)
    assert same_bytes(op(x, **HOST)[0], diecast.quantize_nvfp4(x, **HOST)[0])


def test_33_the_second_process_finds_what_the_first_compiled(tmp_path):
    for compiled in (1, 0):
        with diecast.Runtime(cache=tmp_path) as runtime:
            counts = runtime.warm("amax IN=f16 @ host")
            assert (counts["wanted"], counts["compiled"]) == (1, compiled)


# flashinfer#3556: kernels were stale by a file's time.
def test_32_34_a_template_that_is_touched_or_moved_is_found(matrix, tmp_path):
    text, x = SCALE_ROWS.read_text(), matrix(2, 16)
    for place, compiled in (("a", 1), ("a", 0), ("b", 0)):
        folder = tmp_path / place
        folder.mkdir(exist_ok=True)
        (folder / "scale_rows.cu").write_text(text)
        os.utime(folder / "scale_rows.cu", (compiled, compiled))
        with diecast.Runtime(cache=tmp_path / "cache") as runtime:
            kernel = diecast.kernel(folder / "scale_rows.cu", runtime=runtime)
            kernel(x, numpy.ones(2, "f4"), THREADS=64, **HOST)
            assert runtime.counters()["compiled"] == compiled


# TransformerEngine#2558: a slow path that nobody notices.
def test_39_a_trace_names_every_kernel_that_is_taken(matrix, tmp_path):
    x, trace = matrix(4, 64), tmp_path / "trace.txt"
    with diecast.Runtime(trace=trace) as runtime:
        diecast.quantize_nvfp4(x, runtime=runtime, layout="s8x4", **HOST)
    assert "quantize_nvfp4" in trace.read_text() and "LAYOUT=s8x4" in trace.read_text()


# Each thread may be in an event's callback while the other waits for its compile.
def test_events_reach_python_from_threads_that_make_one_first_call(matrix, tmp_path):
    x, events = matrix(3, 48), []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with diecast.Runtime(cache=tmp_path, on_event=lambda *event: events.append(event)) as runtime:
            results = [None, None]

            def call(i):
                results[i] = diecast.quantize_nvfp4(x, runtime=runtime, profile="torchao", **HOST)

            threads = [threading.Thread(target=call, args=(i,)) for i in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
            assert not any(thread.is_alive() for thread in threads)
            runtime.flush()
    finally:
        sys.setswitchinterval(interval)
    assert same_bytes(results[0][0], results[1][0])
    kinds = [event[0] for event in events]
    assert kinds.count("compiled") == len(set(e[1] for e in events if e[0] == "compiled")) > 0
    assert "published" in kinds and "loaded" in kinds


def test_a_callback_that_raises_is_reported_and_dropped(matrix, tmp_path, monkeypatch):
    def fails(*_):
        raise KeyError("in a callback")
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: reported.append(what.exc_type))
    with diecast.Runtime(cache=tmp_path, on_event=fails) as runtime:
        diecast.amax(matrix(2, 32), runtime=runtime, **HOST)
    assert set(reported) == {KeyError}


def test_prepared_ops_take_what_they_were_prepared_for(matrix):
    x = matrix(4, 64)
    op = diecast.prepare("quantize_nvfp4", x, layout="s128x4", **HOST)
    assert all(map(same_bytes, op(x, **HOST), diecast.quantize_nvfp4(x, layout="s128x4", **HOST)))
    with pytest.raises(diecast.Error):
        op(x.astype("f2"), **HOST)
    with pytest.raises(TypeError):
        op(x, layout="linear", **HOST)
    with pytest.raises(diecast.ArgumentError, match="did you mean"):
        diecast.prepare("quantise_nvfp4", x, **HOST)


def test_a_bundle_serves_what_a_manifest_names(tmp_path, matrix):
    file, x = tmp_path / "kernels.dcb", matrix(4, 64)
    with diecast.Runtime(cache="off") as runtime:
        digest = runtime.create_bundle(file, "op amax in=f32 @ host\n")
        with pytest.raises(diecast.Error):
            runtime.create_bundle(tmp_path / "none.dcb", "op amax in=f33 @ host\n")
        assert not (tmp_path / "none.dcb").exists()
    assert digest == hashlib.sha256(file.read_bytes()).hexdigest()
    cache = f"bundle:{file}#sha256={digest}"
    with diecast.Runtime(cache=cache, cache_policy="require-hit") as runtime:
        assert diecast.amax(x, runtime=runtime, **HOST) == abs(x).max()
        assert runtime.counters()["disk_hits"] > 0 and runtime.counters()["compiled"] == 0
        with pytest.raises(diecast.WouldCompile):
            diecast.quantize_nvfp4(x, runtime=runtime, **HOST)
