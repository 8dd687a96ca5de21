"""Fetches an image from its registry, in a build sandbox in which nothing else runs.

    in/      request.json: what, from where, by whom; ca.pem: more certificates that count
    stdout   one line of JSON that says what was found, and an OCI archive as a stream
    stderr   progress, a line each
    out/     result.json, if that fails: {"kind", "error"}

Nothing of the image is interpreted but its documents. The server reads the archive as any other that a
client sends, and compares every digest once more.
"""
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from failure import Failure
from registry import Credentials, Hosts, Registry, read_json

MAX_REQUEST = 1 << 20
MAX_LAYERS = 512
MAX_DEPTH = 3
MEGABYTE = 1 << 20
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
OCI, DOCKER = "application/vnd.oci.image.", "application/vnd.docker."
INDEXES = (OCI + "index.v1+json", DOCKER + "distribution.manifest.list.v2+json")
MANIFESTS = (OCI + "manifest.v1+json", DOCKER + "distribution.manifest.v2+json")
CONFIGS = (OCI + "config.v1+json", DOCKER + "container.image.v1+json")
LAYERS = (*(OCI + "layer.v1.tar" + form for form in ("", "+gzip", "+zstd")),
          *(DOCKER + "image.rootfs.diff.tar" + form for form in ("", ".gzip", ".zstd")))


class Document:
    """One that the registry sent, with what it is."""

    def __init__(self, data, kind):
        self.data, self.kind = data, kind
        self.digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.value = read_json(data, "the manifest")

    @property
    def is_index(self):
        return self.kind in INDEXES


class Blob:
    """A descriptor of a manifest."""

    def __init__(self, value, what, kinds):
        if not isinstance(value, dict):
            raise Failure("invalid", "the manifest does not describe %s" % what)
        self.digest, self.size = value.get("digest"), value.get("size")
        kind = value.get("mediaType") or kinds[0]
        if kind not in kinds:
            raise Failure("unsupported", "%s has the media type %s, which cannot be used" % (what, str(kind)[:200]))
        if not isinstance(self.digest, str) or not DIGEST.fullmatch(self.digest):
            raise Failure("unsupported", "%s has a digest that is not a SHA-256" % what)
        if type(self.size) is not int or self.size < 0:
            raise Failure("invalid", "%s has no size" % what)


class Image:
    """The documents of an image: of the index down to its configuration."""

    def __init__(self, registry, request):
        self.registry = registry
        self.platform = request["platform"]
        self.documents = []
        reference = request["reference"]
        for _ in range(MAX_DEPTH):
            self.documents.append(self.read(reference))
            if not self.documents[-1].is_index:
                break
            reference = self.chosen(self.documents[-1].value)
        else:
            raise Failure("invalid", "its indexes are nested too deeply")
        self.read_manifest(self.documents[-1].value, request["most_bytes"])

    def read(self, reference):
        kind, data, said = self.registry.manifest(reference, (*INDEXES, *MANIFESTS))
        document = Document(data, kind)
        wanted = reference if DIGEST.fullmatch(reference) else said if DIGEST.fullmatch(said) else document.digest
        if wanted != document.digest:
            raise Failure("digest", "the registry sent another manifest than %s: its digest is %s" % (wanted, document.digest))
        value = document.value
        if value.get("schemaVersion") == 1:
            raise Failure("unsupported", "the registry has this image only in the old form (schema 1), which cannot be used")
        document.kind = value.get("mediaType") or kind
        if document.kind not in (*INDEXES, *MANIFESTS):
            raise Failure("unsupported", "the manifest has the media type %s, which cannot be used" % str(document.kind)[:200])
        return document

    def chosen(self, index):
        """The digest of the first manifest that fits, as the server's loader chooses."""
        entries = index.get("manifests")
        if not isinstance(entries, list):
            raise Failure("invalid", "the index has no manifests")
        there = []
        for entry in entries:
            platform = entry.get("platform") if isinstance(entry, dict) else None
            name = "%s/%s" % (platform.get("os"), platform.get("architecture")) if isinstance(platform, dict) else ""
            if name and name != self.platform:
                there.append(name)
                continue
            return Blob(entry, "a manifest of the index", (*MANIFESTS, *INDEXES)).digest
        there = ", ".join(sorted({name for name in there if name != "unknown/unknown"}))[:300]
        raise Failure("unsupported", "the image is not available for %s, only for: %s" % (self.platform, there or "nothing"))

    def read_manifest(self, manifest, most):
        layers = manifest.get("layers")
        if not isinstance(layers, list) or len(layers) > MAX_LAYERS:
            raise Failure("invalid", "the manifest has no layers, or more than %d" % MAX_LAYERS)
        self.config = Blob(manifest.get("config"), "the configuration", CONFIGS)
        self.layers = [Blob(one, "layer %d" % (at + 1), LAYERS) for at, one in enumerate(layers)]
        self.bytes = sum({one.digest: one.size for one in self.layers}.values())
        if self.bytes > most:
            raise Failure("too_large", "its layers have %d MB, the limit is %d MB" % (self.bytes // MEGABYTE, most // MEGABYTE))
        self.config_data = self.registry.document(self.config.digest)
        if "sha256:" + hashlib.sha256(self.config_data).hexdigest() != self.config.digest:
            raise Failure("digest", "the configuration is not what its digest says: %s" % self.config.digest)
        config = read_json(self.config_data, "the configuration")
        platform = "%s/%s" % (config.get("os") or "linux", config.get("architecture") or self.platform.partition("/")[2])
        if platform != self.platform:
            raise Failure("unsupported", "the image is for %s, and this host runs programs of %s" % (platform[:100], self.platform))

    def found(self):
        return {"manifest": self.documents[0].digest.removeprefix("sha256:"),
                "config": self.config.digest.removeprefix("sha256:"), "bytes": self.bytes, "layers": len(self.layers)}


class Archive:
    """An OCI archive as a stream: the documents, and each layer as it comes."""

    def __init__(self, out):
        self.out = out

    def begin(self, name, size):
        entry = tarfile.TarInfo(name)
        entry.size = size
        self.out.write(entry.tobuf(tarfile.GNU_FORMAT))

    def end(self, size):
        self.out.write(bytes(-size % tarfile.BLOCKSIZE))

    def file(self, name, data):
        self.begin(name, len(data))
        self.out.write(data)
        self.end(len(data))

    def finish(self):
        self.out.write(bytes(2 * tarfile.BLOCKSIZE))
        self.out.flush()


class Progress:
    EVERY = 1.0

    def __init__(self, image):
        self.image, self.done, self.said_at = image, 0, 0.0

    def layer(self, at):
        self.at = at
        self.say()

    def add(self, size):
        self.done += size
        if time.monotonic() - self.said_at >= self.EVERY:
            self.say()

    def say(self):
        self.said_at = time.monotonic()
        print("layer %d of %d, %d of %d MB" % (self.at, len(self.image.layers), self.done // MEGABYTE, self.image.bytes // MEGABYTE),
              file=sys.stderr, flush=True)


def write_archive(image, out):
    archive = Archive(out)
    top = image.documents[0]
    index = {"schemaVersion": 2, "manifests": [{"mediaType": top.kind, "digest": top.digest, "size": len(top.data)}]}
    archive.file("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    archive.file("index.json", json.dumps(index).encode())
    for document in image.documents:
        archive.file(path_of(document.digest), document.data)
    archive.file(path_of(image.config.digest), image.config_data)
    progress = Progress(image)
    written = set()
    for at, layer in enumerate(image.layers, 1):
        if layer.digest in written:
            continue
        written.add(layer.digest)
        progress.layer(at)
        write_layer(image.registry, archive, layer, "layer %d" % at, progress, out)
    archive.finish()


def write_layer(registry, archive, layer, what, progress, out):
    digest = hashlib.sha256()
    archive.begin(path_of(layer.digest), layer.size)
    for data in registry.blob(layer.digest, layer.size, what):
        digest.update(data)
        out.write(data)
        progress.add(len(data))
    archive.end(layer.size)
    if "sha256:" + digest.hexdigest() != layer.digest:
        raise Failure("digest", "%s is not what its digest says: expected %s, found sha256:%s" % (what, layer.digest, digest.hexdigest()))


def path_of(digest):
    return "blobs/sha256/" + digest.removeprefix("sha256:")


def find(request, root):
    """The image, from the mirror where there is one and no credentials are needed, else from the registry."""
    hosts = Hosts(request["hosts"], is_plain=request["url"].startswith("http://"))
    credentials = Credentials(**request.get("credentials", {}))
    ca = os.path.join(root, "in", "ca.pem")
    ca = ca if os.path.exists(ca) else None
    if request.get("mirror") and not credentials:
        of_mirror = Hosts(request["hosts"], is_plain=request["mirror"].startswith("http://"))
        try:
            return Image(Registry(request["mirror"], request["repository"], of_mirror, credentials, ca), request)
        except Failure as failure:
            print("the mirror does not have it (%s); asking the registry" % failure.text[:200], file=sys.stderr, flush=True)
    return Image(Registry(request["url"], request["repository"], hosts, credentials, ca), request)


def read_request(root):
    """And removes it: it has the credentials."""
    path = os.path.join(root, "in", "request.json")
    with open(path, "rb") as file:
        request = json.loads(file.read(MAX_REQUEST))
    os.unlink(path)
    return request


def main(root):
    os.makedirs(os.path.join(root, "out"), exist_ok=True)
    # A pipe that the server reads at its own pace.
    with io.BufferedWriter(io.FileIO(1, "wb", closefd=False), buffer_size=1 << 20) as out:
        try:
            image = find(read_request(root), root)
            out.write(json.dumps(image.found()).encode() + b"\n")
            out.flush()
            write_archive(image, out)
        except Failure as failure:
            with open(os.path.join(root, "out", "result.json"), "w") as file:
                json.dump({"kind": failure.kind, "error": failure.text}, file)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "/home/user"))
