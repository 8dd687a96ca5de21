"""Which packages may be requested from pip: requirement specifiers (PEP 508) and files of them. Options,
paths and URLs are refused, with their line, before pip sees them: packages of a set come by name from
the index that the administrator configured.
"""
import re

from build_step import Refused

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
HASH = re.compile(r"--hash(?:=|[ \t]+)(sha256|sha384|sha512):([0-9a-fA-F]{64,128})(?=[ \t]|$)")
HASH_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}
ALONE = {"--pre", "--require-hashes", "--prefer-binary"}
INSTEAD = "use its name and version in the index"


class Wanted:
    """One line: a requirement and the hashes that it may have."""

    def __init__(self, text, hashes=()):
        self.text = text
        self.hashes = list(hashes)  # "sha256:..."

    @property
    def name(self):
        return NAME.match(self.text).group()

    def line(self, more_hashes=()):
        return " ".join([self.text, *("--hash=" + one for one in [*self.hashes, *more_hashes])])


def check(text, where):
    """The requirement, if it is one and nothing else."""
    text = text.strip()
    if not text or any(ord(one) < 32 or ord(one) == 127 for one in text):
        raise Refused("%s: it is empty or contains a control character" % where)
    if text.startswith("-"):
        raise Refused("%s: '%s' is an option of pip, not a package" % (where, text[:100]))
    head = text.partition(";")[0]
    if "@" in head or "://" in head:
        raise Refused("%s: '%s' is a URL; %s" % (where, text[:100], INSTEAD))
    if "/" in head or "\\" in head or head.lstrip().startswith(".") or re.search(r"\.(whl|zip|tar\.gz|tgz)$", head.strip()):
        raise Refused("%s: '%s' is a path; %s" % (where, text[:100], INSTEAD))
    if not NAME.match(text) or re.search(r"\s--?[a-z]", text):
        raise Refused("%s: '%s' is not a package name with an optional version ('pandas>=2')" % (where, text[:100]))
    try:
        from pip._vendor.packaging.requirements import InvalidRequirement, Requirement
    except ImportError:  # pip says what is wrong itself
        return text
    try:
        if Requirement(text).url:
            raise Refused("%s: '%s' is a URL; %s" % (where, text[:100], INSTEAD))
    except InvalidRequirement as error:
        raise Refused("%s: '%s' is not a valid requirement: %s" % (where, text[:100], str(error)[:300]))
    return text


def from_packages(packages):
    return [Wanted(check(one, "package %d" % number)) for number, one in enumerate(packages, 1)]


def from_file(text):
    """(wanted, options) of a requirements.txt."""
    wanted, options = [], []
    for number, line in logical_lines(text):
        where = "requirements, line %d" % number
        if line in ALONE:
            options.append(line)
        elif line.startswith("-"):
            raise Refused("%s: '%s' is not supported; only packages with versions, markers and --hash are"
                          % (where, line.split("=")[0].split(" ")[0][:60]))
        else:
            wanted.append(with_hashes(line, where))
    return wanted, options


def logical_lines(text):
    """(number, text) without comments and with continued lines joined, as pip reads them."""
    joined, begun = "", 0
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        begun = begun or number
        comment = re.match(r"\s*#|(.*?)\s#", line)
        if comment:
            line = comment.group(1) or ""
        elif line.endswith("\\"):
            joined += line[:-1].strip() + " "
            continue
        joined = (joined + line).strip()
        if joined:
            yield begun, joined
        joined, begun = "", 0
    if joined.strip():
        yield begun, joined.strip()


def with_hashes(line, where):
    at = re.search(r"\s--", line)
    text, rest = (line[:at.start()], line[at.start():].strip()) if at else (line, "")
    hashes = []
    while rest:
        found = HASH.match(rest)
        if not found or len(found[2]) != HASH_DIGITS[found[1]]:
            raise Refused("%s: '%s' is not supported; only --hash=sha256:... (or sha384, sha512) may follow a package"
                          % (where, rest[:60]))
        hashes.append("%s:%s" % (found[1], found[2].lower()))
        rest = rest[found.end():].strip()
    return Wanted(check(text, where), hashes)
