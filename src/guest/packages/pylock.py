"""A pylock.toml (PEP 751) as requirements that are pinned to its versions and hashes. Where the
lock says that a file is does not matter: the index is asked for that version, and what it gives
must have one of the lock's hashes.
"""
import re

from pip_requirements import HASH_DIGITS, Wanted, check
from build_step import Refused

MAX_PACKAGES = 5000
# What only a lock's markers know; the set is one for ordinary use: no extras, the lock's own default groups.
MEMBERSHIP = re.compile(r"""(?P<quote>['"])(?P<name>[^'"]*)(?P=quote)\s+(?P<sense>not\s+in|in)\s+(?P<set>extras|dependency_groups)""")
ALWAYS, NEVER = 'python_version >= "2"', 'python_version < "2"'


def read_toml(text):
    try:
        import tomllib
    except ImportError:
        try:
            from pip._vendor import tomli as tomllib
        except ImportError:
            raise Refused("this host's Python cannot read TOML (before Python 3.11 pip has to provide it): use requirements with hashes")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused("not TOML: %s" % str(error)[:300])


def wanted_by(text):
    if text.lstrip().startswith("{"):
        raise Refused("lock: this is a package-lock.json; for Python it must be a pylock.toml (`pip lock`, `uv export --format pylock.toml`)")
    try:
        lock = read_toml(text)
    except Refused as refused:
        raise Refused("lock: %s" % refused)
    packages = lock.get("packages")
    if not str(lock.get("lock-version", "")).startswith("1.") or not isinstance(packages, list):
        raise Refused("lock: not a pylock.toml of version 1 (it has no lock-version = \"1.0\" or no [[packages]])")
    if len(packages) > MAX_PACKAGES:
        raise Refused("lock: more than %d packages" % MAX_PACKAGES)
    groups = lock.get("default-groups") or []
    return [wanted(one, groups) for one in packages]


def wanted(package, groups):
    name = package.get("name") if isinstance(package, dict) else None
    if not isinstance(name, str):
        raise Refused("lock: a package has no name")
    where = "lock: package %s" % name[:100]
    for elsewhere in ("vcs", "directory", "archive"):
        if elsewhere in package:
            raise Refused("%s comes from a %s, not from an index" % (where, elsewhere))
    version = package.get("version")
    if not isinstance(version, str) or not re.fullmatch(r"[A-Za-z0-9.!+_-]+", version):
        raise Refused("%s has no version" % where)
    text = "%s==%s" % (name, version)
    marker = package.get("marker")
    if marker is not None:
        if not isinstance(marker, str):
            raise Refused("%s: its marker is not a string" % where)
        text += " ; " + MEMBERSHIP.sub(lambda found: membership(found, groups), marker)
    return Wanted(check(text, where), hashes_of(package, where))


def membership(found, groups):
    is_in = found["set"] == "dependency_groups" and found["name"] in groups
    return ALWAYS if is_in == (found["sense"] == "in") else NEVER


def hashes_of(package, where):
    files = [*(package.get("wheels") or []), *([package["sdist"]] if "sdist" in package else [])]
    found = []
    for file in files:
        hashes = file.get("hashes") if isinstance(file, dict) else None
        if not isinstance(hashes, dict):
            raise Refused("%s: one of its files has no hashes" % where)
        for algorithm, digest in sorted(hashes.items()):
            if algorithm in HASH_DIGITS and isinstance(digest, str) \
                    and re.fullmatch("[0-9a-fA-F]{%d}" % HASH_DIGITS[algorithm], digest):
                found.append("%s:%s" % (algorithm, digest.lower()))
    if not found:
        raise Refused("%s: none of its files has a sha256, sha384 or sha512" % where)
    return found
