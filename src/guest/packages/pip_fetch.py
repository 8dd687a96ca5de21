"""The step of a build with a network: finds out what a set of Python packages is made of and fetches
it. No code of any package runs here; see pip_guarded.py.

    in/   request.json, pip.conf, ca.pem, built/*.whl and built.json (sources that were built since)
    out/  result.json, and
          "ready":  wheels/*.whl, all of them
          "source": source/FILE and source/requires/*.whl: to be built, then this again
"""
import configparser
import html
import json
import os
import re
import shutil
import sys
from urllib.parse import quote, unquote, urlsplit

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import program
import pylock
import pip_requirements
import source_archive
from pip_requirements import Wanted
from build_step import Refused, canonical, run_step, sha256_of, shorten, wheel_parts, wheels_in

NO_PIP = "pip is not installed on this host: apt install python3-pip"
NOT_HERE = "none of the packages is for this host (%s): no marker (what follows the ;) holds here"
ERROR_BEGINS = re.compile(r"^\s*(?:ERROR|error)\b|^Traceback ")
NOISE = re.compile(r"^\[notice\]")
MAX_ARGUMENTS = 200
# A build requirement may need building itself, and so on.
MAX_NESTED = 5


def fetch(build):
    wanted, options = read_request(build)
    if not wanted:
        raise Refused("no packages were requested: there are only comments or options, or a lock without packages")
    pip = Pip(build)
    wheels = build.new_directory("wheels")
    note = pip.download(wanted, options, wheels)
    if note is None:
        found = artefacts(build, pip, wheels)
        if not found:
            raise Refused(NOT_HERE % interpreter())
        return {"state": "ready", "artefacts": found, "interpreter": interpreter()}
    shutil.rmtree(wheels)
    source = source_and_requirements(build, pip, note)
    return {"state": "source", "source": source, "interpreter": interpreter()}


def read_request(build):
    packages, requirements, lock = build.request()
    if lock:
        return pylock.wanted_by(lock), []
    wanted, options = pip_requirements.from_file(requirements)
    return pip_requirements.from_packages(packages) + wanted, options


def source_and_requirements(build, pip, note):
    """Puts the source in its place with what its build wants, or first one that this build needs."""
    directory = build.new_directory("source")
    for _ in range(MAX_NESTED):
        name, version = source_archive.name_and_version(note["file"], note["name"])
        path = os.path.join(pip.sources, note["file"])
        requires = source_archive.build_requirements(path, note["file"])
        program.say("%s is built from its source; its build wants: %s" % (note["file"], " ".join(requires) or "nothing"))
        wheels = build.new_directory("source", "requires")
        deeper = pip.download([Wanted(one) for one in requires], [], wheels) if requires else None
        if deeper is None:
            os.replace(path, os.path.join(directory, note["file"]))
            return {"name": name, "version": version, "file": note["file"], "sha256": note["sha256"]}
        note = deeper
        shutil.rmtree(wheels)
    raise Refused("%s: building it needs more than %d packages that must be built first" % (note["file"], MAX_NESTED))


class Pip:
    """The package client, with the index's settings and nothing else."""

    def __init__(self, build):
        self.build = build
        self.sources = os.path.join(build.scratch, "sources")
        os.makedirs(self.sources)
        self.settings = build.input("pip.conf")
        self.secrets = passwords(self.settings)
        self.built = self.read_built()
        self.links = self.list_built()
        try:
            import pip  # noqa: F401
        except ImportError:
            raise Refused(NO_PIP)

    def read_built(self):
        """Wheels of earlier rounds by their file name: each is what it was asked to be."""
        known = self.build.read_json("built.json", missing={})
        built = {}
        for file in wheels_in(self.build.input("built")):
            source = known.get(file)
            if not isinstance(source, dict) or not all(isinstance(source.get(key), str) for key in ("name", "version", "file", "sha256")):
                raise Refused("built.json does not name the source of %s" % file[:200])
            name, version = wheel_parts(file)
            if name != canonical(source["name"]) or not same_version(version, source["version"]):
                raise Refused("%s was built from %s: a different package or version" % (file[:200], source["file"][:200]))
            built[file] = dict(source, wheel_sha256=sha256_of(self.build.input("built", file)))
        return built

    def list_built(self):
        """A page of them for pip, with their hashes: pip then knows those that are pinned."""
        if not self.built:
            return None
        path = os.path.join(self.build.scratch, "built.html")
        with open(path, "w") as file:
            file.write("<!DOCTYPE html><html><body>\n")
            for name, source in self.built.items():
                address = "file://%s#sha256=%s" % (quote(self.build.input("built", name)), source["wheel_sha256"])
                file.write('<a href="%s">%s</a>\n' % (html.escape(address), html.escape(name)))
            file.write("</body></html>\n")
        return path

    def hashes_for(self, wanted):
        """A wheel that was built from a pinned source counts as what was pinned."""
        return ["sha256:" + source["wheel_sha256"] for source in self.built.values()
                if canonical(source["name"]) == canonical(wanted.name) and "sha256:" + source["sha256"] in wanted.hashes]

    def download(self, wanted, options, directory):
        """None: all is in `directory`. Else the note of a source that has to be built first."""
        scratch = self.build.scratch
        note = os.path.join(scratch, "note.json")
        if os.path.exists(note):
            os.unlink(note)
        here = os.path.dirname(os.path.abspath(__file__))
        command = [*program.python_command(), os.path.join(here, "pip_guarded.py"), note, self.sources, "download",
                 "--prefer-binary", "--progress-bar", "off", "--dest", directory, *self.asked(wanted, options)]
        ended = program.run(command, self.build, self.environment(), self.secrets)
        if not ended.ok:
            raise Refused(shorten(ended.error_text(ERROR_BEGINS, NOISE)))
        if not os.path.exists(note):
            return None
        with open(note) as file:
            return json.load(file)

    def asked(self, wanted, options):
        """Words of a command where they can be: what pip says of them is then easier to read."""
        links = ["--find-links", self.links] if self.links else []
        if len(wanted) <= MAX_ARGUMENTS and not any(one.hashes for one in wanted) and "--require-hashes" not in options:
            return [*links, *options, "--", *(one.text for one in wanted)]
        requirements = os.path.join(self.build.scratch, "requirements.txt")
        with open(requirements, "w") as file:
            file.writelines([*(one + "\n" for one in options), *(one.line(self.hashes_for(one)) + "\n" for one in wanted)])
        return [*links, "--requirement", requirements]

    def environment(self):
        return program.clean_environment(
            self.build, PIP_CONFIG_FILE=self.settings, PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1",
            PIP_NO_CACHE_DIR="1", PIP_RETRIES="3", PIP_DEFAULT_TIMEOUT="30", PIP_KEYRING_PROVIDER="disabled",
            PIP_NO_COLOR="1")


def artefacts(build, pip, wheels):
    found = []
    for file in wheels_in(wheels):
        source = pip.built.get(file)
        if source:
            found.append({key: source[key] for key in ("name", "version", "file", "sha256")})
            continue
        name, version = wheel_parts(file)
        found.append({"name": name, "version": version, "file": file, "sha256": sha256_of(os.path.join(wheels, file))})
    return sorted(found, key=lambda one: (one["name"], one["file"]))


def same_version(one, other):
    try:
        from pip._vendor.packaging.version import InvalidVersion, Version
    except ImportError:
        return one == other
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return one == other


def passwords(path):
    """Words of the settings that must not be seen."""
    settings = configparser.RawConfigParser(strict=False)
    try:
        settings.read(path)
    except configparser.Error as error:
        raise Refused("pip.conf: %s" % str(error)[:300])
    found = set()
    for section in settings.sections():
        for _, value in settings.items(section):
            for word in value.split():
                try:
                    password = urlsplit(word).password
                except ValueError:
                    continue
                if password and len(password) > 2:
                    found |= {password, unquote(password)}
    return found


def interpreter():
    return "%s-%d.%d" % (sys.implementation.name, *sys.version_info[:2])


if __name__ == "__main__":
    run_step(fetch)
