"""Cells of a real IPython: functions of cells, and what results look like there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, List

import pytest
from live import Live

pytest.importorskip("IPython")

# Runs cells, and prints what each published as one line of JSON.
KERNEL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
for cell in json.load(sys.stdin):
    with capture_output() as captured:
        done = shell.run_cell(cell)
    forms = [one.data for one in captured.outputs]
    if done.result is not None:
        forms.append(shell.display_formatter.format(done.result)[0])
    print(json.dumps([captured.stdout, forms, repr(done.error_in_exec or done.error_before_exec)], default=str))
"""


def run_cells(server: Live, folder: Path, *cells: str) -> List[Any]:
    path = [str(Path(__file__).resolve().parents[1]), *(one for one in sys.path if one.endswith("site"))]
    done = subprocess.run(
        [sys.executable, "-B", "-c", KERNEL],
        input=json.dumps(cells),
        env={**server.environment(), "PYTHONPATH": ":".join(path), "IPYTHONDIR": str(folder), "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_function_of_cells(server: Live, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("def twice(x): return 2 * x\n")
    (tmp_path / "rows.txt").write_text("a\nb\n")
    answers = run_cells(
        server,
        tmp_path,
        "import beside, json\nfrom glovebox import sandboxed\nrows = [1]",
        "def helper(x): return json.dumps([beside.twice(x), rows])",
        "@sandboxed(timeout=60, include=['rows.txt'])\ndef f(x): return helper(x), open('rows.txt').read()",
        "rows.append(2)\nprint(f(4))",
        "def helper(x): return 'again'\nprint(f(4)[0])",
        "handle = open('rows.txt')\n@sandboxed\ndef g(): return handle.read()\ng()",
    )
    assert answers[3][0] == "('[8, [1, 2]]', 'a\\nb\\n')\n", answers[3]
    assert answers[4][0] == "again\n", answers[4]
    assert "g uses `handle` in line 3 of its cell" in answers[5][2] and "TextIOWrapper" in answers[5][2]


def test_figures_and_tables_are_shown(server: Live, tmp_path: Path) -> None:
    figure = "class Figure:\\n    def _repr_png_(self): return b'\\\\x89PNG'\\n"
    # As the guest half sends open figures, without matplotlib.
    mime = {"image/png": "iVBORw==", "text/plain": "fig", "text/html": "<script>"}
    line = {"type": "result", "mime": mime, "main": False}
    answers = run_cells(
        server,
        tmp_path,
        "import glovebox\nfrom glovebox import sandboxed",
        f'glovebox.run("{figure}print(1)\\nFigure()")',
        f"@sandboxed(timeout=60)\ndef f():\n    import os\n    os.write(100, {json.dumps(line)!r}.encode() + b'\\n')\n"
        "    return 5\nf()",
        "g = f.with_options(show_output=False)\ng()",
    )
    [forms] = answers[1][1]
    assert '<img src="data:image/png;base64,iVBORw==' in forms["text/html"] and "<pre>1" in forms["text/html"]
    shown, value = answers[2][1]
    assert value["text/plain"] == "5"
    assert '<img src="data:image/png;base64,iVBORw==' in shown["text/html"] and "<script" not in shown["text/html"]
    assert [one["text/plain"] for one in answers[3][1]] == ["5"]
