"""An archive that a guest made writes nothing where it should not."""

from __future__ import annotations

import io
import os
import tarfile
import tracemalloc
from pathlib import Path
from typing import Optional

import pytest

from glovebox import GloveboxError, ProtocolError
from glovebox.local_files.archives import pack, unpack


def archive_of(*members: "tuple[tarfile.TarInfo, Optional[bytes]]") -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content) if content is not None else None)
    made.seek(0)
    return made


def file(name: str, content: bytes = b"x", mode: int = 0o644) -> "tuple[tarfile.TarInfo, Optional[bytes]]":
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    return member, content


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> "tuple[tarfile.TarInfo, Optional[bytes]]":
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, None


def test_files_and_directories_are_unpacked(tmp_path: Path) -> None:
    written = unpack(archive_of(file("a/b.txt", b"hi"), file("./run.sh", b"#!", 0o6755)), str(tmp_path / "out"), 1000)
    assert [os.path.relpath(path, tmp_path) for path in written] == ["out/a/b.txt", "out/run.sh"]
    assert (tmp_path / "out/a/b.txt").read_bytes() == b"hi"
    assert (tmp_path / "out/run.sh").stat().st_mode & 0o7777 == 0o755 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "a/.."])
def test_names_outside_of_the_directory_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProtocolError):
        unpack(archive_of(file(name)), str(tmp_path / "out"), 1000)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_not_unpacked(tmp_path: Path, kind: bytes) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    unpack(archive_of(link("d", str(outside), kind), file("d/evil")), str(tmp_path / "out"), 1000)
    assert os.listdir(outside) == [] and not (tmp_path / "out/d").is_symlink()


def test_existing_symlinks_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a").symlink_to(tmp_path / "secret")
    with pytest.raises(GloveboxError, match="'a'"):
        unpack(archive_of(file("a", b"theirs")), str(tmp_path / "out"), 1000)
    assert (tmp_path / "secret").read_text() == "mine"


@pytest.mark.parametrize("name", ["data/config", "data/new/deeper", "data"])
@pytest.mark.parametrize("is_folder", [False, True])
def test_symlinked_parent_directories_are_not_followed(tmp_path: Path, name: str, is_folder: bool) -> None:
    """A project with a link to somewhere else goes into a sandbox, and comes back with a directory there."""
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    (outside / "config").write_text("mine")
    project.mkdir()
    (project / "data").symlink_to(outside)
    member = tarfile.TarInfo(name)
    member.type = tarfile.DIRTYPE
    with pytest.raises(GloveboxError, match="'data'"):
        unpack(archive_of((member, None) if is_folder else file(name, b"theirs")), str(project), 1000)
    assert os.listdir(outside) == ["config"] and (outside / "config").read_text() == "mine"


def test_hard_linked_files_are_replaced_and_keep_their_mode(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "elsewhere").chmod(0o600)
    (tmp_path / "out").mkdir()
    os.link(tmp_path / "elsewhere", tmp_path / "out/a")
    unpack(archive_of(file("a", b"theirs")), str(tmp_path / "out"), 1000)
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert (tmp_path / "out/a").read_bytes() == b"theirs" and (tmp_path / "out/a").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path / "out") == ["a"]


def test_existing_pipes_are_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    with pytest.raises(GloveboxError, match="not a regular file"):
        unpack(archive_of(file("a")), str(tmp_path), 1000)


def test_systems_without_dir_fd_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    with pytest.raises(GloveboxError, match="file by file"):
        unpack(archive_of(file("a")), str(tmp_path), 1000)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_are_bounded(tmp_path: Path, kind: bytes) -> None:
    size = 8 << 20
    record = b"%d comment=" % size
    header = tarfile.TarInfo("header")
    header.type, header.size = kind, size
    header_and_record = header.tobuf(tarfile.USTAR_FORMAT) + record + b"x" * (size - len(record) - 1) + b"\n"
    archive = io.BytesIO(header_and_record + tarfile.TarInfo("a").tobuf(tarfile.USTAR_FORMAT) + bytes(1024))
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match="a header that is too large"):
            unpack(archive, str(tmp_path), 1000)
        assert tracemalloc.get_traced_memory()[1] < size // 4
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_negative_sizes_are_refused(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("a")
    member.type, member.size = kind, -512
    with pytest.raises(ProtocolError, match="an entry with a negative size"):
        unpack(io.BytesIO(member.tobuf(tarfile.GNU_FORMAT) + bytes(1024)), str(tmp_path), 1000)
    assert os.listdir(tmp_path) == []


def test_negative_sizes_in_pax_headers_are_refused(tmp_path: Path) -> None:
    member = tarfile.TarInfo("a")
    member.pax_headers = {"size": "-512"}
    with pytest.raises(ProtocolError, match="an entry with a negative size"):
        unpack(io.BytesIO(member.tobuf(tarfile.PAX_FORMAT) + bytes(1024)), str(tmp_path), 1000)
    assert os.listdir(tmp_path) == []


def test_names_longer_than_path_max_are_refused(tmp_path: Path) -> None:
    member = tarfile.TarInfo("a/" * 3000 + "b")
    member.type = tarfile.DIRTYPE
    with pytest.raises(ProtocolError, match="too long"):
        unpack(io.BytesIO(member.tobuf(tarfile.PAX_FORMAT) + bytes(1024)), str(tmp_path), 1000)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "record", ["GNU.sparse.size=x", "GNU.sparse.map=1,x", "size=x", "mtime=x", "GNU.sparse.numblocks=-1", "path=\0"]
)
def test_malformed_pax_headers_are_refused_or_ignored(tmp_path: Path, record: str) -> None:
    member = tarfile.TarInfo("a")
    name, _, value = record.partition("=")
    member.pax_headers = {name: value}
    try:
        unpack(io.BytesIO(member.tobuf(tarfile.PAX_FORMAT) + bytes(1024)), str(tmp_path / "out"), 1000)
    except GloveboxError:
        pass


def test_max_bytes_bounds_the_archive(tmp_path: Path) -> None:
    with pytest.raises(GloveboxError, match="max_bytes"):
        unpack(archive_of(file("a", b"x" * 600), file("b", b"x" * 600)), str(tmp_path / "out"), 1000)


def test_garbage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError):
        unpack(io.BytesIO(b"not a tar archive" * 100), str(tmp_path / "out"), 1000)


def test_pack_keeps_files_directories_and_links(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/f").write_text("content")
    os.link(tmp_path / "d/f", tmp_path / "d/g")
    (tmp_path / "l").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    archive, size = pack(str(tmp_path))
    with archive, tarfile.open(fileobj=archive) as tar:
        assert size > 0
        assert {member.name: member.type for member in tar} == {
            "d": tarfile.DIRTYPE,
            "d/f": tarfile.REGTYPE,
            "d/g": tarfile.REGTYPE,
            "l": tarfile.SYMTYPE,
        }
