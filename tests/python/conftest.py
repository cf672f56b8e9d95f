"""What the tests of the Python package share: matrices, golden vectors, stubs and child processes."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCALE_ROWS = ROOT / "examples/own_template/scale_rows.cu"
TYPES = {"F32": numpy.float32, "F16": numpy.float16, "BF16": ml_dtypes.bfloat16,
         "U8": numpy.uint8, "F8_E4M3": numpy.uint8, "F8_E5M2": numpy.uint8, "I64": numpy.int64}


def golden(name):
    """The cases of a file of tests/golden: pairs of options and tensors by name."""
    bytes_ = (ROOT / "tests/golden" / name).read_bytes()
    size = int.from_bytes(bytes_[:8], "little")
    header, data = json.loads(bytes_[8:8 + size]), bytes_[8 + size:]
    cases = []
    for options in json.loads(header["__metadata__"]["cases"]):
        start = options["name"] + "/"
        tensors = {}
        for key, entry in header.items():
            if not key.startswith(start):
                continue
            begin, end = entry["data_offsets"]
            array = numpy.frombuffer(data[begin:end], TYPES[entry["dtype"]])
            tensors[key[len(start):]] = array.reshape(entry["shape"])
        cases.append((options, tensors))
    return cases


def same_bytes(a, b):
    """Whether two arrays have the same bytes, whatever types they say these are."""
    return a.tobytes() == b.tobytes()


def run_python(code, **environment):
    """What a Python of its own prints for a program; it must end well."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def returns_of(stub):
    """What a stub says that functions return: of each name, for every overload, the keywords that a
    call has to name, and whether it gets a tuple."""
    found = {}
    for node in ast.parse((ROOT / "src/python/diecast" / stub).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            keywords = zip(node.args.kwonlyargs, node.args.kw_defaults)
            named = {keyword.arg for keyword, default in keywords if default is None}
            found.setdefault(node.name, []).append((named, "tuple" in ast.unparse(node.returns)))
    return found


def is_tuple(overloads, keywords):
    """Whether a call with these keywords gets a tuple, as its function's overloads say."""
    given = {name for name, value in keywords.items() if value is not False}
    return max((len(named), several) for named, several in overloads if named <= given)[1]


@pytest.fixture
def matrix():
    """A function that makes a matrix of a shape, with a fixed seed."""
    def make(rows, cols, dtype=numpy.float32, seed=1):
        values = numpy.random.default_rng(seed).standard_normal((rows, cols)) * 3
        return values.astype(dtype)
    return make
