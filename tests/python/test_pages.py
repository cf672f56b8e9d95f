"""What the front page shows in Python runs, and the tour, without a GPU."""

import os
import re
import subprocess
import sys

from conftest import ROOT


def test_the_front_pages_lines_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        for block in blocks:
            exec(compile(block, "README.md", "exec"), {})
    finally:
        os.chdir(before)
    shown = capsys.readouterr().out
    assert "times smaller" in shown and "(256, 4096)" in shown


def test_the_tour_runs_and_draws_where_it_can(tmp_path):
    picture = tmp_path / "tour.svg"
    shown = subprocess.run([sys.executable, ROOT / "examples/tour.py", picture], check=True, text=True,
                           capture_output=True, env={**os.environ, "MPLBACKEND": "Agg"}).stdout
    assert "MXFP8_E4M3" in shown and "the runtime: {" in shown
    assert picture.exists() or "matplotlib is not installed" in shown
