"""What the front page shows in Python runs, without a GPU."""

import os
import re

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
