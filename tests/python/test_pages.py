"""What pages show in Python runs, and the tour, without a GPU; and pictures are those of their runs."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.parametrize("page, shows", [
    ("README.md", ["times smaller", "(256, 4096)"]),
    ("src/diecast/ops/linear/README.md", ["(3, 64)"]),
])
def test_the_lines_of_a_page_run(page, shows, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert blocks
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        for block in blocks:
            exec(compile(block, page, "exec"), {})
    finally:
        os.chdir(before)
    shown = capsys.readouterr().out
    assert all(words in shown for words in shows)


def test_every_complaint_has_a_row_and_every_row_its_tests():
    table = (ROOT / "tests/python/README.md").read_text().partition("## Complaints")[2]
    numbers = [int(number) for row in re.findall(r"^\| ([0-9, ]+) \|", table, re.M) for number in row.split(", ")]
    assert sorted(numbers) == list(range(1, 43))
    files = (ROOT / "tests/python").rglob("test_*.py")
    tests = {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M)}
    named = set(re.findall(r"test_\w+", table))
    assert named <= tests and {name for name in tests if re.match(r"test_\d", name)} <= named


def test_pictures_of_linear_layers_are_of_their_runs(tmp_path):
    pictures = list((ROOT / "tests/gpu-results").glob("*linear*.svg"))
    assert pictures
    for drawn in pictures:
        subprocess.run([sys.executable, ROOT / "tests/bench/python/linear_picture.py", drawn.with_suffix(".txt"),
                        tmp_path / "again.svg"], check=True)
        assert (tmp_path / "again.svg").read_text() == drawn.read_text()


def test_the_tour_runs_and_draws_where_it_can(tmp_path):
    picture = tmp_path / "tour.svg"
    shown = subprocess.run([sys.executable, ROOT / "examples/tour.py", picture], check=True, text=True,
                           capture_output=True, env={**os.environ, "MPLBACKEND": "Agg"}).stdout
    assert "MXFP8_E4M3" in shown and "the runtime: {" in shown
    assert picture.exists() or "matplotlib is not installed" in shown
