"""What may be asked of npm: names of its registry with versions or ranges, each one an argument."""
import re

from build_step import Refused

NAME = r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*"
# A range ("^4", ">=1 <2", "1.x || 2") or a tag ("latest").
RANGE = r"[0-9A-Za-z.^~<>=|*+ -]{1,200}"
WORD = re.compile(r"(?P<name>%s)(?:@(?P<range>%s))?" % (NAME, RANGE))
MOST_NAME = 214


def check(word, where):
    """(name, range) of one package."""
    word = word.strip()
    found = WORD.fullmatch(word)
    if word.startswith("-"):
        raise Refused("%s: '%s' is an option of npm, not a package" % (where, word[:100]))
    if not found or len(found["name"]) > MOST_NAME:
        if ":" in word or word.startswith((".", "/")) or ("/" in word and not word.startswith("@")):
            raise Refused("%s: '%s' is a path or an address; name it by its name and version, as the registry has it" % (where, word[:100]))
        raise Refused("%s: '%s' is no package's name with a version ('lodash@4')" % (where, word[:100]))
    return found["name"], (found["range"] or "").strip()


def dependencies(packages):
    """As package.json has them."""
    wanted = {}
    for number, word in enumerate(packages, 1):
        name, versions = check(word, "package %d" % number)
        if wanted.get(name, versions or "latest") != (versions or "latest"):
            raise Refused("package %d: %s is asked for twice, with different versions" % (number, name))
        wanted[name] = versions or "latest"
    return wanted
