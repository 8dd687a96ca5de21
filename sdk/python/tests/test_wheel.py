"""`pip install` of the package from a checkout, and of the wheel that carries the programs and the commands."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Dict, Tuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
THREE_LINES = 'import glovebox\nresult = glovebox.run("print(6 * 7)")\nprint(result.stdout, glovebox.__file__)\n'
PIP = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
NOBODY = 65534


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


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh virtual environment with the wheel; made without pip, which a plain Debian cannot put into one."""
    place = tmp_path_factory.mktemp("venv")
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", place], check=True, timeout=120)
    pip = ["/usr/bin/python3", "-m", "pip", "--python", str(place / "bin/python"), *PIP[2:]]
    subprocess.run([*pip, "--root-user-action=ignore", str(wheel)], check=True, timeout=120)
    return place


def environment(home: Path, *path: str) -> Dict[str, str]:
    return {
        "PATH": os.pathsep.join([*path, "/usr/bin", "/bin"]),
        "HOME": str(home),
        "GLOVEBOX_DATA_DIR": str(home / "no-server-here"),
    }


def ran(*command: object, env: Dict[str, str], cwd: object = "/") -> Tuple[int, str, str]:
    words = [str(one) for one in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=env, cwd=str(cwd))
    return done.returncode, done.stdout, done.stderr


def test_the_wheel_names_its_platform_licence_and_commands(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
        about = next(name for name in modes if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(about))
        licence = archive.read(about.replace("METADATA", "licenses/LICENSE"))
        commands = archive.read(about.replace("METADATA", "entry_points.txt")).decode()
    assert modes["glovebox/_bin/glovebox-agent"] & 0o111
    assert "glovebox/py.typed" in modes and "glovebox/aio/__init__.py" in modes
    assert not any("test" in name or "attacks" in name for name in modes)
    assert metadata["License-Expression"] == "Apache-2.0" and metadata["License-File"] == "LICENSE"
    assert licence == (ROOT / "LICENSE").read_bytes()
    assert "glovebox=" in commands.replace(" ", "") and "sandbox-run=" in commands.replace(" ", "")


def test_three_lines(installed: Path, tmp_path: Path) -> None:
    [programs] = installed.glob("lib/python3*/site-packages/glovebox/_bin")
    for mode in (0o755, 0o644):  # also where an installer forgot that they are programs
        for program in programs.iterdir():
            program.chmod(mode)
        status, out, err = ran(installed / "bin/python", "-c", THREE_LINES, env=environment(tmp_path))
        assert (status, err) == (0, "")
        assert out.split() == ["42", str(programs.parent / "__init__.py")]


def test_the_commands_of_the_wheel_are_the_programs(installed: Path, tmp_path: Path) -> None:
    env = environment(tmp_path, str(installed / "bin"))
    assert ran("glovebox", "run", "-c", "print(6 * 7)", env=env) == (0, "42\n", "")
    assert ran("glovebox", "run", "-c", "raise SystemExit(3)", env=env)[0] == 3
    assert ran(installed / "bin/python", "-m", "glovebox", "run", "-c", "print(1)", env=env) == (0, "1\n", "")
    (tmp_path / "app.py").write_text("def handler(event, context):\n    return {'sum': event['a'] + 1}\n")
    status, out, err = ran("sandbox-run", "app.py", "--event", '{"a": 2}', env=env, cwd=tmp_path)
    assert status == 0 and '"sum": 3' in out.replace('":3', '": 3'), (out, err)


def test_a_checkout_is_installed_without_writing_into_it(bin_dir: Path, tmp_path: Path) -> None:
    """As a user who may only read the checkout; without the programs, the commands find them in PATH."""
    checkout, place = tmp_path / "checkout", tmp_path / "place"
    ignored = shutil.ignore_patterns("__pycache__", "_bin")
    shutil.copytree(ROOT / "sdk/python", checkout, ignore=ignored)
    subprocess.run(["chmod", "-R", "a+rX,a-w", checkout], check=True)
    before = sorted((str(one), one.stat().st_mtime_ns) for one in checkout.rglob("*"))
    place.mkdir()
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    if user:
        os.chown(place, NOBODY, NOBODY)
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_uid == 0 and folder.name.startswith(("pytest-", "test_")):
                folder.chmod(0o755)
    tools = tmp_path / "tools"  # flit_core, as pip would download it, where the user can read it
    shutil.copytree(ROOT / "build/clients/sdk-python/site/flit_core", tools / "flit_core")
    subprocess.run(["chmod", "-R", "a+rX", tools], check=True)
    prefix = [*PIP, "--no-build-isolation", "--prefix", str(place), "--ignore-installed", str(checkout)]
    done = subprocess.run(
        ["/usr/bin/python3", "-B", *prefix],
        env={"PATH": "/usr/bin:/bin", "HOME": str(place), "TMPDIR": str(place), "PYTHONPATH": str(tools)},
        capture_output=True,
        text=True,
        timeout=120,
        cwd="/",
        **user,  # type: ignore[arg-type]
    )
    assert done.returncode == 0, done.stderr
    assert sorted((str(one), one.stat().st_mtime_ns) for one in checkout.rglob("*")) == before
    [package] = place.glob("**/*-packages/glovebox")
    [command] = place.glob("**/bin/glovebox")
    env = {**environment(tmp_path, str(command.parent)), "PYTHONPATH": str(package.parent)}
    status, _, err = ran(command, "run", "-c", "print(1)", env=env)
    assert status == 127 and err.startswith("glovebox: this installation of the Python package has no program")
    env["PATH"] += os.pathsep + str(bin_dir)
    assert ran(command, "run", "-c", "print(1)", env=env) == (0, "1\n", "")
    assert ran(sys.executable, "-c", THREE_LINES, env=env)[1].split()[0] == "42"
