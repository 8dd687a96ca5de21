"""pip download that runs nothing but pip: `python3 -I pip_guarded.py NOTE SOURCES download ...`.

pip asks a source package's own code what it needs (setup.py, a build backend). That must not happen
where there is a network and the index's settings. So two things are different here:

  - when pip would begin with a source package, it stops. Its archive is in SOURCES then, compared with
    the index's and the requirement's hashes, and NOTE says which it is. It is built elsewhere, comes
    back as a wheel, and pip is asked again. Wheels are preferred throughout.
  - no process can be started, whatever pip has in mind. That is the wall; the first is the way around.

A pip that is too different from those we know is asked for wheels only.
"""
import hashlib
import json
import os
import sys

MAX_SOURCE = 1 << 30
STARTING = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn"}


def guard(event, _):
    if event in STARTING:
        # pip asks a program or two what kind of host this is, and goes on when they are not there.
        raise FileNotFoundError(2, "no process may be started while packages are downloaded")


def main():
    note, sources, *command = sys.argv[1:]
    sys.addaudithook(guard)
    from pip._internal.cli.main import main as pip
    if not stop_at_sources(note, sources):
        command.insert(1, "--only-binary=:all:")
    sys.argv = ["pip", *command]
    sys.exit(pip(command))


def stop_at_sources(note, sources):
    try:
        from pip._internal.exceptions import InstallationError
        from pip._internal.operations.prepare import RequirementPreparer
        prepare = RequirementPreparer.prepare_linked_requirement
    except (ImportError, AttributeError):
        return False

    def prepare_linked_requirement(self, req, *others, **named):
        link = req.link
        if getattr(req, "original_link", None) is not None or link.is_vcs:
            raise InstallationError("%s is requested from %s: only packages of the index are accepted" % (req.name, shown(link)))
        if link.is_wheel:
            return prepare(self, req, *others, **named)
        print("Collecting %s from its source, %s" % (req.req, link.filename), flush=True)
        found = download(self._session, link, sources, InstallationError)
        check_hashes(req, link, found, getattr(self, "require_hashes", False), InstallationError)
        with open(note, "w") as file:
            json.dump({"name": req.name, "file": link.filename, "sha256": found["sha256"]}, file)
        sys.stdout.flush()
        os._exit(0)  # any exception, pip would explain or act on

    RequirementPreparer.prepare_linked_requirement = prepare_linked_requirement
    return True


def shown(link):
    return getattr(link, "redacted_url", None) or link.filename


def download(session, link, sources, error):
    """With pip's own session: its certificates, passwords and retries."""
    if not link.url.startswith(("https:", "http:")):
        raise error("%s is not on the index" % shown(link))
    if os.sep in link.filename or link.filename.startswith("."):
        raise error("'%s' is not a file name" % link.filename)
    digests = {name: hashlib.new(name, usedforsecurity=False) for name in ("sha256", "sha384", "sha512", "sha224", "sha1", "md5")}
    answer = session.get(link.url.split("#", 1)[0], headers={"Accept-Encoding": "identity"}, stream=True)
    answer.raise_for_status()
    size = 0
    with open(os.path.join(sources, link.filename), "xb") as file:
        # Not iter_content: that would undo an encoding which the server made up.
        for block in answer.raw.stream(1 << 18, decode_content=False):
            size += len(block)
            if size > MAX_SOURCE:
                raise error("%s is larger than %d MB" % (link.filename, MAX_SOURCE >> 20))
            for digest in digests.values():
                digest.update(block)
            file.write(block)
    expected = answer.headers.get("Content-Length", "")
    if expected.isdigit() and int(expected) != size:
        raise error("%s is incomplete: %d of %s bytes arrived" % (link.filename, size, expected))
    return {name: digest.hexdigest() for name, digest in digests.items()}


def check_hashes(req, link, found, required, error):
    """What the index says of the file must be true, and what the requirement pins, one of it."""
    algorithm = link.hash_name
    if algorithm and found.get(algorithm) != link.hash:
        raise error("THESE PACKAGES DO NOT MATCH THE HASHES FROM THE INDEX: %s\n    Expected %s %s\n         Got        %s"
                    % (link.filename, algorithm, link.hash, found.get(algorithm)))
    pinned = getattr(req, "hash_options", None) or {}
    if required and not pinned:
        raise error("Hashes are required in --require-hashes mode, but they are missing from some requirements: "
                    "%s --hash=sha256:%s" % (req.req, found["sha256"]))
    if pinned and not any(found.get(name) in values for name, values in pinned.items()):
        raise error("THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE: %s\n    Expected %s\n         Got        sha256 %s"
                    % (link.filename, ", ".join("%s %s" % (name, one) for name, values in sorted(pinned.items()) for one in values),
                       found["sha256"]))


if __name__ == "__main__":
    main()
