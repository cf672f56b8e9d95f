"""The package in a process: what importing does, ending with live objects, many at once, leaks."""

import gc
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
from conftest import ROOT, run_python

import diecast

HOST = {"device": "host"}
QUANTIZE = """
import diecast, numpy
x = numpy.ones((4, 64), "f4")
print(diecast.quantize_nvfp4(x, profile="pr546", device="host")[2][0],
      diecast.runtime().counters()["compiled"])
"""


def test_importing_opens_nothing_and_writes_nothing(tmp_path):
    shown = run_python(
        "import sys; before = set(sys.modules); import diecast; "
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before})); "
        "print(open('/proc/self/maps').read().count('libcuda'), len(__import__('os').listdir('/proc/self/task')))",
        HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"), DIECAST_CACHE="")
    assert not re.search("numpy|torch|jax|cupy", shown)
    assert not re.search("'(json|re|enum|typing|inspect|dataclasses|pathlib|subprocess)'", shown), (
        "import it where it is used: it costs more than the package")
    assert shown.splitlines()[1] == "0 1"
    assert os.listdir(tmp_path) == []


def test_importing_takes_30_milliseconds_at_most(tmp_path):
    """Of the processor: what else the machine does is not the package's. As an installed package,
    it is compiled once."""
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    code = ("import time; start = time.process_time(); import diecast; "
            "print(time.process_time() - start)")
    assert min(float(run_python(code, **compiled)) for _ in range(5)) <= 0.03


# flashinfer#2226: a fault as the interpreter ends.
def test_37_a_process_ends_with_live_objects(tmp_path):
    run_python("""
import diecast, numpy, threading, time
x = numpy.ones((4, 64), "f4")
runtime = diecast.Runtime(cache=%r, on_event=lambda *e: None)
op = diecast.prepare("quantize_nvfp4", x, device="host", runtime=runtime)
kernel = diecast.kernel(%r)
kernel(x, numpy.ones(4, "f4"), device="host")
thread = threading.Thread(target=lambda: [op(x, device="host") for _ in range(10**9)], daemon=True)
thread.start()
time.sleep(0.1)
""" % (str(tmp_path), str(ROOT / "examples/own_template/scale_rows.cu")))


# flashinfer#2339, sglang#19583.
def test_30_31_processes_on_a_cold_cache_compile_once(tmp_path):
    environment = {**os.environ, "DIECAST_CACHE": str(tmp_path)}
    children = [subprocess.Popen([sys.executable, "-c", QUANTIZE], stdout=subprocess.PIPE,
                                 env=environment) for _ in range(8)]
    shown = [child.communicate(timeout=240)[0].split() for child in children]
    assert all(child.returncode == 0 for child in children)
    assert {one[0] for one in shown} == {b"1.0"}
    alone = int(run_python(QUANTIZE, DIECAST_CACHE=str(tmp_path / "other")).split()[1])
    assert sum(int(one[1]) for one in shown) == alone


# flashinfer#2071, tvm-ffi#677: a killed process leaves a lock that hangs the next.
def test_35_36_a_killed_first_compile_holds_nobody_up(tmp_path):
    environment = {**os.environ, "DIECAST_CACHE": str(tmp_path)}
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", QUANTIZE], env=environment,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True)
        time.sleep(0.4)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    start = time.monotonic()
    assert run_python(QUANTIZE, DIECAST_CACHE=str(tmp_path)).startswith("1.0")
    assert time.monotonic() - start < 60


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_nothing_leaks():
    calls = 6_000 if os.environ.get("DIECAST_TEST_VARIANTS") is None else 1_000_000
    x, out = numpy.ones((1, 32), "f4"), numpy.empty(1, "f4")
    op = diecast.prepare("amax", x, **HOST)
    bad = numpy.ones((1, 32), "f8")

    def some(count):
        """So many times, three calls."""
        for _ in range(count):
            op(x, out=out, **HOST)
            diecast.amax(x, **HOST)
            try:
                diecast.amax(bad, out=out, **HOST)
            except diecast.DtypeError:
                pass

    some(500)
    gc.collect()
    counts = [sys.getrefcount(one) for one in (x, out, bad, None.__class__)]
    before = resident()
    some(calls // 3 + 1)
    gc.collect()
    assert [sys.getrefcount(one) for one in (x, out, bad, None.__class__)] == counts
    assert resident() - before < 4 << 20


def test_a_forked_child_goes_on(tmp_path):
    del tmp_path
    x = numpy.ones((4, 64), "f4")
    diecast.quantize_nvfp4(x, **HOST)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if diecast.quantize_nvfp4(x, **HOST)[2][0] == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_forked_child_ends_without_waiting_for_its_parents_threads():
    """As it is forked, threads of the parent wait for Python's lock. Few children
    may take as long as a child that waits for them."""
    run_python("""
import diecast, numpy, os, sys, threading, time
x = numpy.ones((8, 64), "f4")
threads = [threading.Thread(target=lambda: [diecast.amax(x, device="host") for _ in range(10**9)], daemon=True)
           for _ in range(6)]
for thread in threads:
    thread.start()
slow = 0
for _ in range(8):
    time.sleep(0.01)
    start, child = time.monotonic(), os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    slow += time.monotonic() - start > 0.9
assert slow < 3, slow
""")


def test_the_command_and_what_an_issue_needs():
    shown = subprocess.run([sys.executable, "-m", "diecast", "env"], capture_output=True, text=True,
                           check=True).stdout
    assert f"diecast {diecast.__version__}" in shown and "\nhost: " in shown and "numpy" in shown
    if (Path(diecast.__file__).parent / "bin/diecast").exists():
        assert all(word in shown for word in ("CUDA driver", "NVRTC", "host compiler"))
    listed = subprocess.run([sys.executable, "-m", "diecast", "list"], capture_output=True,
                            text=True, check=False)
    assert listed.returncode == 2 or "quantize_nvfp4" in listed.stdout
