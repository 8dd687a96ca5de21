"""`pip install` of the wheel that carries the programs, and three lines, are a first result."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
THREE_LINES = 'import glovebox\nresult = glovebox.run("print(6 * 7)")\nprint(result.stdout, glovebox.__file__)\n'


@pytest.fixture(scope="module")
def wheel(bin_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    made = subprocess.run(
        [ROOT / "scripts" / "build-wheel", out],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "GLOVEBOX_BIN_DIR": str(bin_dir)},
    )
    if made.returncode == 77:
        pytest.skip(made.stderr.strip())
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip())


def test_the_wheel_names_its_platform(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    assert modes["glovebox/_bin/glovebox-agent"] & 0o111
    assert "glovebox/py.typed" in modes and "glovebox/aio/__init__.py" in modes
    assert not any("test" in name or "attacks" in name for name in modes)


def test_three_lines(wheel: Path, tmp_path: Path) -> None:
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--root-user-action=ignore",
    ]
    site = tmp_path / "site"
    subprocess.run([*install, "--target", str(site), str(wheel)], check=True, timeout=120)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(site),
        "GLOVEBOX_DATA_DIR": str(tmp_path / "no-server-here"),
    }
    for mode in (0o755, 0o644):  # also where an installer forgot that they are programs
        for program in (site / "glovebox" / "_bin").iterdir():
            program.chmod(mode)
        ran = subprocess.run(
            [sys.executable, "-c", THREE_LINES], capture_output=True, text=True, timeout=120, env=environment, cwd="/"
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.split() == ["42", str(site / "glovebox" / "__init__.py")]
