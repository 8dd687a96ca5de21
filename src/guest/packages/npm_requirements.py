"""Which packages may be requested from npm: names in its registry with versions or ranges."""
import re

from build_step import Refused

NAME = r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*"
# A range ("^4", ">=1 <2", "1.x || 2") or a tag ("latest").
RANGE = r"[0-9A-Za-z.^~<>=|*+ -]{1,200}"
WORD = re.compile(r"(?P<name>%s)(?:@(?P<range>%s))?" % (NAME, RANGE))
MAX_NAME = 214


def check(word, where):
    """(name, range) of one package."""
    word = word.strip()
    found = WORD.fullmatch(word)
    if word.startswith("-"):
        raise Refused("%s: '%s' is an option of npm, not a package" % (where, word[:100]))
    if not found or len(found["name"]) > MAX_NAME:
        if ":" in word or word.startswith((".", "/")) or ("/" in word and not word.startswith("@")):
            raise Refused("%s: '%s' is a path or a URL; use its name and version in the registry" % (where, word[:100]))
        raise Refused("%s: '%s' is not a package name with an optional version ('lodash@4')" % (where, word[:100]))
    return found["name"], (found["range"] or "").strip()


def dependencies(packages):
    """As package.json has them."""
    wanted = {}
    for number, word in enumerate(packages, 1):
        name, versions = check(word, "package %d" % number)
        if wanted.get(name, versions or "latest") != (versions or "latest"):
            raise Refused("package %d: %s is requested twice, with different versions" % (number, name))
        wanted[name] = versions or "latest"
    return wanted
