# Archives of packages, made in memory and always the same: wheels, source packages and npm's
# tarballs, proper ones and such as no tool would make.
import base64
import gzip
import hashlib
import io
import json
import stat
import struct
import tarfile
import zipfile
import zlib

WHEN = (1980, 1, 1, 0, 0, 0)


class File:
    """One file of an index: what it is called, what is in it, and what the index says of it."""

    def __init__(self, name, data, requires_python=None, yanked=None, told_sha256=None):
        self.name = name
        self.data = data
        self.requires_python = requires_python
        self.yanked = yanked
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.told_sha256 = told_sha256 or self.sha256


def metadata(name, version, requires=(), extras=(), requires_python=None):
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Provides-Extra: {one}" for one in extras] + [f"Requires-Dist: {one}" for one in requires]
    if requires_python:
        lines.append(f"Requires-Python: {requires_python}")
    return "\n".join(lines) + "\n\n"


def record_row(path, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}"


def wheel(name, version, files, requires=(), extras=(), scripts=None, links=None, requires_python=None, yanked=None,
          tag="py3-none-any", told_sha256=None):
    """`files`: path to text or bytes; `scripts`: console script to "module:function"; `links`: path to
    where a symbolic link in the archive leads."""
    stem = name.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    files = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
    files[f"{info}/METADATA"] = metadata(name, version, requires, extras, requires_python).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: samples\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    if scripts:
        lines = "".join(f"{one} = {what}\n" for one, what in scripts.items())
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{lines}".encode()
    rows = [record_row(path, data) for path, data in files.items()]
    rows += [record_row(path, target.encode()) for path, target in (links or {}).items()]
    files[f"{info}/RECORD"] = ("\n".join(rows) + f"\n{info}/RECORD,,\n").encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, WHEN)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
        for path, target in (links or {}).items():
            entry = zipfile.ZipInfo(path, WHEN)
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(entry, target)
    return File(f"{stem}-{version}-{tag}.whl", out.getvalue(), requires_python, yanked, told_sha256)


def zeros_wheel(name, version, megabytes):
    """A small wheel that unpacks to so many megabytes of zeros."""
    small = wheel(name, version, {f"{name.replace('-', '_')}.py": "VERSION = 1\n"})
    body, packed = compressed_zeros(megabytes)
    # By hand, behind the other members: zipfile would compress every byte of it.
    with zipfile.ZipFile(io.BytesIO(small.data)) as archive:
        begin, count = archive.start_dir, len(archive.infolist())
    members, end = small.data[:begin], small.data.rindex(b"PK\x05\x06")
    directory = small.data[begin:end]
    path = f"{name.replace('-', '_')}_zeros.bin".encode()
    size, date = megabytes << 20, 33
    common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, date, body, len(packed), size, len(path), 0)
    members_all = members + b"PK\x03\x04" + common + path + packed
    directory += b"PK\x01\x02" + struct.pack("<H", 788) + common + struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, len(members)) + path
    tail = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count + 1, count + 1, len(directory), len(members_all), 0)
    return File(small.name, members_all + directory + tail)


def compressed_zeros(megabytes):
    """(their CRC, deflated): one megabyte that ends on a byte's border, again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = bytes(1 << 20)
    one = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    crc = 0
    for _ in range(megabytes):
        crc = zlib.crc32(block, crc)
    return crc, one * megabytes + packer.flush(zlib.Z_FINISH)


def many_files_wheel(name, version, count):
    stem = name.replace("-", "_")
    return wheel(name, version, {f"{stem}/__init__.py": "", **{f"{stem}/d{one // 1000}/f{one}.txt": b"x" for one in range(count)}})


def tarball(files, links=None):
    """A .tar.gz; paths are taken as they are, `links` are symbolic."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, compresslevel=6) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            data = data.encode() if isinstance(data, str) else data
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o755 if "/bin/" in path else 0o644
            archive.addfile(entry, io.BytesIO(data))
        for path, target in (links or {}).items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return out.getvalue()


def sdist(name, version, files, requires=(), told_sha256=None, requires_python=None):
    stem = f"{name.replace('-', '_')}-{version}"
    files = {f"{stem}/{path}": data for path, data in files.items()}
    files[f"{stem}/PKG-INFO"] = metadata(name, version, requires, requires_python=requires_python)
    return File(f"{stem}.tar.gz", tarball(files), requires_python, told_sha256=told_sha256)


class NpmVersion:
    """One version of an npm package: what its package.json says, and its tarball."""

    def __init__(self, name, version, files=None, told_integrity=None, links=None, **more):
        self.name, self.version = name, version
        self.manifest = {"name": name, "version": version, **more}
        self.data = tarball({"package/package.json": json.dumps(self.manifest), **(files or {})}, links)
        self.integrity = told_integrity or "sha512-" + base64.b64encode(hashlib.sha512(self.data).digest()).decode()
        self.shasum = hashlib.sha1(self.data).hexdigest()
        self.file = f"{name.rpartition('/')[2]}-{version}.tgz"
