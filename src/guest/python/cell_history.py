"""What a code context keeps of earlier cells: their sources for tracebacks, `In`, `Out`, `_`; all of it bounded."""
import linecache
from collections import deque

# Sources of earlier cells that tracebacks can show.
MOST_SOURCES = 200
MOST_SOURCE_TEXT = 8 << 20
MOST_OUT = 200  # values that `Out` keeps
MOST_TEXT = 1 << 20

_sources = deque()  # (name, size), oldest first; the text is in linecache
_sources_text = 0
_unders = [None, None, None]  # what `_`, `__` and `___` were set to


def note_value(names, cell, value):
    """`_`, `__` and `___`, unless the code uses these names itself; and `Out[1]`, `_1`, for notebooks' code."""
    global _unders
    if all(names.get("_" * (at + 1)) is one for at, one in enumerate(_unders)):
        _unders = [value, *_unders[:2]]
        for at, one in enumerate(_unders):
            names["_" * (at + 1)] = one
    number = _number_of(cell)
    if not cell.rich or number is None:
        return
    out = names.setdefault("Out", {})
    if type(out) is not dict or out is value:
        return
    out[number] = names["_%d" % number] = value
    while len(out) > MOST_OUT:
        old = next(iter(out))
        del out[old]
        names.pop("_%s" % (old,), None)


def note_input(names, cell, text):
    inputs = names.setdefault("In", [""])
    number = _number_of(cell)
    if type(inputs) is not list or number is None or number > len(inputs) + MOST_SOURCES:
        return
    inputs.extend([""] * (number + 1 - len(inputs)))
    inputs[number] = text if len(text) < MOST_TEXT else ""
    if number > MOST_SOURCES:
        inputs[number - MOST_SOURCES] = ""
    names["_i"] = inputs[number - 1]


def _number_of(cell):
    """In its context, which the server puts into the cell's name."""
    digits = cell.name.rpartition("-")[2]
    return int(digits) if cell.name.startswith("cell-") and digits.isdecimal() and len(digits) < 10 else None


def remember(name, text):
    global _sources_text
    while _sources and (len(_sources) >= MOST_SOURCES or _sources_text + len(text) > MOST_SOURCE_TEXT):
        old, size = _sources.popleft()
        _sources_text -= size
        if all(old != other for other, _ in _sources):
            linecache.cache.pop(old, None)
    _sources.append((name, len(text)))
    _sources_text += len(text)
    if text and not text.endswith("\n"):
        text += "\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
