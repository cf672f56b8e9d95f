"""The lines of the page for engines and trainers run, in a process of their own: they freeze it."""

import re

from conftest import ROOT, run_python


def test_the_lines_of_the_page_run():
    page = (ROOT / "src/python/README.md").read_text()
    shown = run_python("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)))
    assert shown.startswith("frozen prepare what launches it before freeze()")
