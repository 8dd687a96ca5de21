"""The directories of a build step: its input is in in/, its output in out/, and its result is
out/result.json. The server does not trust that file: it must be small, strict JSON.

A step is a program of this directory, run with `python3 -I PROGRAM [ROOT]`; `root` is the home of
the build's user, or a directory of a test's.
"""
import hashlib
import json
import os
import re
import shutil
import sys

MAX_ERROR = 8 << 10
MAX_RESULT = 1 << 20
MAX_REQUEST = 8 << 20
# Every file of a layer has this time, so that the same packages give the same layer.
FIXED_TIME = 315532800  # 1980-01-01, the first that a zip archive knows


class Refused(Exception):
    """The step cannot be done; the text is shown to the user who requested it."""


class BuildDirectories:
    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.given = os.path.join(self.root, "in")
        self.out = os.path.join(self.root, "out")
        # Not in /tmp: a sandbox's /tmp is in its memory.
        self.scratch = os.path.join(self.root, "scratch")

    def prepare(self):
        os.umask(0o022)
        for directory in (self.out, self.scratch):
            shutil.rmtree(directory, ignore_errors=True)
            os.makedirs(directory)

    def input(self, *parts):
        return os.path.join(self.given, *parts)

    def output(self, *parts):
        return os.path.join(self.out, *parts)

    def new_directory(self, *parts):
        """One below out/, or by a name that begins with a slash."""
        path = self.output(*parts)
        os.makedirs(path, exist_ok=True)
        return path

    def request(self):
        """The requested packages, requirements and lock; empty if missing."""
        request = self.read_json("request.json")
        packages = request.get("packages") or []
        texts = {name: request.get(name) or "" for name in ("requirements", "lock")}
        if not isinstance(packages, list) or not all(isinstance(one, str) for one in packages) \
                or not all(isinstance(one, str) for one in texts.values()):
            raise Refused("request.json: packages must be a list of strings, requirements and lock must be strings")
        if texts["lock"] and (packages or texts["requirements"]):
            raise Refused("a lock cannot be combined with packages or requirements: it names every package already")
        return packages, texts["requirements"], texts["lock"]

    def read_json(self, name, missing=None):
        path = self.input(name)
        if missing is not None and not os.path.exists(path):
            return missing
        with open(path, "rb") as file:
            data = file.read(MAX_REQUEST + 1)
        if len(data) > MAX_REQUEST:
            raise Refused("%s is too long" % name)
        value = json.loads(data)
        if not isinstance(value, dict):
            raise Refused("%s is not a JSON object" % name)
        return value

    def answer(self, result):
        text = json.dumps(result)
        if len(text) > MAX_RESULT:
            text = json.dumps({"state": "failed", "error": "the package set has too many packages"})
        path = self.output("result.json")
        os.makedirs(self.out, exist_ok=True)
        # Whatever a package's code put in its place is replaced, not followed.
        with open(path + ".new", "w") as file:
            file.write(text)
        os.replace(path + ".new", path)


def run_step(step):
    """Runs step(build_step), which gives the result; what goes wrong is a result as well."""
    build = BuildDirectories(sys.argv[1] if len(sys.argv) > 1 else "/home/user")
    # Output is a person's to read as it comes, whatever the locale says.
    sys.stdout.reconfigure(encoding="utf-8", errors="replace", line_buffering=True)
    build.prepare()
    try:
        result = step(build)
    except Refused as refused:
        result = {"state": "failed", "error": shorten(str(refused))}
    except OSError as error:
        result = {"state": "failed", "error": shorten(os_error_text(error))}
    build.answer(result)


def os_error_text(error):
    import errno
    if error.errno == errno.ENOSPC:
        return "the build ran out of disk space (deps.build_disk)"
    return "%s: %s" % (error.strerror or type(error).__name__, error.filename or "")


def shorten(text, most=MAX_ERROR):
    """Its end, whole lines where that is possible."""
    data = text.strip().encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode("utf-8")
    tail = data[-(most - 4):].decode("utf-8", "ignore")
    line = tail.find("\n")
    return "...\n" + (tail[line + 1:] if 0 <= line < 400 else tail)


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def canonical(name):
    """A Python project's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def wheel_parts(file):
    """(canonical name, version) by the file's name."""
    parts = file[:-4].split("-") if file.endswith(".whl") else []
    if len(parts) not in (5, 6) or not all(parts):
        raise Refused("%s is not the file name of a wheel" % file[:200])
    return canonical(parts[0]), parts[1].replace("_", "-")


def wheels_in(directory):
    """The names of its wheels, sorted: regular files only."""
    if not os.path.isdir(directory):
        return []
    return sorted(entry.name for entry in os.scandir(directory)
                  if entry.name.endswith(".whl") and entry.is_file(follow_symlinks=False))


def settle(tree):
    """Gives everything in a tree the same time and plain rights, so that they tell nothing of this build."""
    for directory, names, files in os.walk(tree):
        for name in files + names:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                mode = os.stat(path).st_mode
                os.chmod(path, 0o755 if os.path.isdir(path) or mode & 0o111 else 0o644)
            os.utime(path, (FIXED_TIME, FIXED_TIME), follow_symlinks=False)
    os.utime(tree, (FIXED_TIME, FIXED_TIME))
