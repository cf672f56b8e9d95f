"""The stubs are what the table says, and every public name has a docstring."""

import ast
import runpy

from conftest import ROOT

import diecast


def test_the_stubs_are_the_tables():
    made = runpy.run_path(str(ROOT / "src/python/stub/make_stub.py"))
    for file, function in (("__init__.pyi", "stub"), ("jax.pyi", "jax_stub"),
                           ("torch/__init__.pyi", "torch_stub")):
        wanted = made[function]()
        ast.parse(wanted)
        assert (ROOT / "src/python/diecast" / file).read_text() == wanted, (
            "run: PYTHONPATH=build/python python src/python/stub/make_stub.py")


def test_every_public_name_says_what_it_is():
    for name in diecast.__all__:
        assert (getattr(diecast, name).__doc__ or "").strip(), name
        assert name in (ROOT / "src/python/diecast/__init__.pyi").read_text()
    for kind in (diecast.Runtime, diecast.Kernel, diecast.PackedLinear):
        for name, value in vars(kind).items():
            assert name.startswith("_") or value.__doc__, f"{kind.__name__}.{name}"
