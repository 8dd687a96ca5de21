# Images made offline, in both forms of archives: of busybox, of programs that we compile, and hostile ones.
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile
import tempfile

BUSYBOX = shutil.which("busybox") or "/bin/busybox"
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Layer:
    """A tar archive, entry by entry."""

    def __init__(self):
        self.data = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.data, mode="w", format=tarfile.PAX_FORMAT)

    def add(self, name, content=b"", mode=0o644, kind=tarfile.REGTYPE, link="", uid=0, gid=0, pax=None):
        info = tarfile.TarInfo(name)
        info.mode, info.type, info.linkname, info.uid, info.gid = mode, kind, link, uid, gid
        info.mtime, info.pax_headers = 1_000_000, pax or {}
        content = content.encode() if isinstance(content, str) else content
        info.size = len(content) if kind == tarfile.REGTYPE else 0
        self.tar.addfile(info, io.BytesIO(content))
        return self

    def file(self, name, content=b"", mode=0o644, **more):
        return self.add(name, content, mode, **more)

    def directory(self, name, mode=0o755, **more):
        return self.add(name, mode=mode, kind=tarfile.DIRTYPE, **more)

    def symlink(self, name, target):
        return self.add(name, kind=tarfile.SYMTYPE, link=target, mode=0o777)

    def hard_link(self, name, target):
        return self.add(name, kind=tarfile.LNKTYPE, link=target)

    def program(self, name, path, mode=0o755, **more):
        with open(path, "rb") as file:
            return self.file(name, file.read(), mode, **more)

    def bytes(self):
        self.tar.close()
        return self.data.getvalue()


def busybox_layer(*applets):
    layer = Layer().directory("bin").program("bin/busybox", BUSYBOX)
    for applet in ("sh", "cat", "ls", "id", "echo", "pwd", "touch", "env", "stat", "find", "test", "rm", *applets):
        layer.symlink(f"bin/{applet}", "busybox")
    return layer


def configuration(layers, architecture=ARCHITECTURE, **config):
    """`layers`: uncompressed."""
    return json.dumps({"architecture": architecture, "os": "linux", "config": config,
                       "rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha256(one) for one in layers]}}).encode()


def archive(files):
    """A tar of {name: bytes}, in this order."""
    layer = Layer()
    for name, content in files.items():
        layer.file(name, content)
    return layer.bytes()


def docker_archive(layers, names=("test:1",), **config):
    """As `docker save` writes it: its manifest comes last."""
    files = {f"{number}/layer.tar": layer for number, layer in enumerate(layers)}
    text = configuration(layers, **config)
    files[sha256(text) + ".json"] = text
    files["manifest.json"] = json.dumps([{"Config": sha256(text) + ".json", "RepoTags": list(names),
                                          "Layers": [f"{number}/layer.tar" for number in range(len(layers))]}]).encode()
    return archive(files)


def descriptor(blob, media_type, **more):
    return {"mediaType": media_type, "digest": "sha256:" + sha256(blob), "size": len(blob), **more}


def oci_archive(layers, name="test:1", compress=gzip.compress, changed=None, **config):
    """As skopeo and podman write it. `changed`: {index of a layer: other bytes under its digest}."""
    blobs, listed = {}, []
    for number, layer in enumerate(layers):
        blob = compress(layer)
        listed.append(descriptor(blob, OCI_LAYER + "+gzip"))
        blobs[sha256(blob)] = (changed or {}).get(number, blob)
    text = configuration(layers, **config)
    blobs[sha256(text)] = text
    manifest = json.dumps({"schemaVersion": 2, "config": descriptor(text, "application/vnd.oci.image.config.v1+json"),
                           "layers": listed}).encode()
    blobs[sha256(manifest)] = manifest
    index = json.dumps({"schemaVersion": 2, "manifests": [descriptor(
        manifest, OCI_MANIFEST, annotations={"org.opencontainers.image.ref.name": name})]}).encode()
    return archive({"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index,
                    **{f"blobs/sha256/{digest}": blob for digest, blob in blobs.items()}})


def compiled(source, compiler="gcc", *flags):
    """The bytes of a program in C."""
    with tempfile.TemporaryDirectory(prefix="gbx-test-") as made:
        path = os.path.join(made, "program")
        subprocess.run([compiler, "-x", "c", "-", "-o", path, *flags], input=source.encode(), check=True, timeout=60)
        with open(path, "rb") as file:
            return file.read()
