"""Packages that are installed while the interpreter runs: `pip install` in a cell, or beside it.

Ours begins isolated (-I), so without its user's packages, and a zygote's child begins with what was
there when the zygote did. So the places where packages go are looked at again: before each cell of
a context, and wherever an import would fail. Looking is a stat of each; no more is done until one
of them has changed.
"""
import os
import sys

_shared = []  # the directories of shared packages
_seen = {}  # place: what it was like when it was last looked at
_lines = {}  # place: its .pth files, and what they were like
_user = (None, None)  # (base, place)


def install():
    """What there is now is what the interpreter knows already."""
    site = sys.modules.get("site")
    if site is None:  # -S
        return
    _shared[:] = site.getsitepackages()
    for place in _shared:
        _seen[place] = _state(place)
        if place in sys.path:
            _lines[place] = _lines_in(place)
    sys.meta_path.append(Finder)


class Finder:
    """After all others: only what they do not find comes here."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if path is not None or not look():
            return None
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name)


def look():
    """Whether anything was new."""
    found = False
    user = _users_place()
    for place in (user, *_shared) if user else _shared:
        state = _state(place)
        if state == _seen.get(place):
            continue
        _seen[place] = state
        # What was listed is old, or that there was nothing to list.
        sys.path_importer_cache.pop(place, None)
        if state is not None:
            found = True
            try:
                _take(place, place == user)
            except Exception:  # it is being changed, or not for us to read
                pass
    return found


def _users_place():
    """As any python3 has it for this user."""
    global _user
    environ = os.environ
    if environ.get("PYTHONNOUSERSITE"):
        return None
    base = environ.get("PYTHONUSERBASE")
    if not base:
        home = environ.get("HOME")
        base = home + "/.local" if home else ""
    if _user[0] != base:
        place = "%s/lib/python%d.%d/site-packages" % (base, *sys.version_info[:2])
        _user = (base, place if base.startswith("/") else None)
    return _user[1]


def _state(place):
    try:
        facts = os.stat(place)
    except (OSError, ValueError):
        return None
    return facts.st_mtime_ns, facts.st_ino


def _lines_in(place):
    try:
        names = os.listdir(place)
    except OSError:
        return {}
    return {name: _state(place + "/" + name) for name in sorted(names) if name.endswith(".pth")}


def _take(place, is_users):
    site = sys.modules["site"]
    before = len(sys.path)
    if place not in sys.path:
        sys.path.append(place)
    # A package may come with such a file, as one that is installed in place does.
    known, now = _lines.get(place, {}), _lines_in(place)
    _lines[place] = now
    for name, state in now.items():
        if known.get(name) != state:
            site.addpackage(place, name, set(sys.path))
    if is_users:
        site.ENABLE_USER_SITE = True
        # The session's own packages come before the shared ones.
        added = sys.path[before:]
        del sys.path[before:]
        at = next((index for index, one in enumerate(sys.path) if _is_for_all(one)), len(sys.path))
        sys.path[at:at] = added


def _is_for_all(path):
    return path in _shared or path.startswith("/opt/glovebox-packages/")
