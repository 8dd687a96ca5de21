#!/usr/bin/env python3
"""Generates the blocking half of the SDK from the asyncio half: glovebox/sync from glovebox/aio, and PAIRS.

    python3 sdk/python/tools/generate_sync.py            # writes the files
    python3 sdk/python/tools/generate_sync.py --check    # exits with 1 if a file differs

The two clients differ in a few words: ``async`` and ``await``, the names of the asynchronous protocols
(``__aenter__``), and the types that go with them. This program replaces those, token by token, so that layout
and comments stay as they are. Docstrings are rewritten in the same way, with their examples. What is really
different (sockets, locks, callbacks) is written by hand on both sides, with the same names: see HAND_WRITTEN.
"""

from __future__ import annotations

import io
import keyword
import re
import sys
import tokenize
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Tuple

PACKAGE = Path(__file__).resolve().parents[1] / "glovebox"
#: Modules that both folders have, each written for its own kind of I/O.
HAND_WRITTEN = {"__init__", "_connection", "_process_connection", "_runtime"}
#: Generated modules outside of the two folders, by the module they are made of.
PAIRS = {"functions/async_sender.py": "functions/sync_sender.py"}
HEADER = "# Generated from glovebox/{name} by sdk/python/tools/generate_sync.py (`make generate`). Do not edit.\n"

NAMES = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "AsyncGenerator": "Generator",
    "AsyncIterable": "Iterable",
    "AsyncIterator": "Iterator",
    "StopAsyncIteration": "StopIteration",
    "aio": "sync",  # in imports
}
#: Words of docstrings, after the code in them was rewritten.
PHRASES = (("an async iterator", "an iterator"), ("An async iterator", "An iterator"), ("glovebox.aio", "glovebox"))
#: Parts of docstrings that say the same about both clients.
KEPT = (":mod:`glovebox.aio`",)

_NAME = re.compile("|".join(rf"\b{name}\b" for name in NAMES if name != "aio"))


class Edit(NamedTuple):
    start: int
    end: int
    text: str


def generate(source: str, name: str) -> str:
    """The blocking form of one module.

    >>> print(generate("async def f(a):\\n    return (await a.b(1)).c\\n", "x.py").split("\\n", 1)[1])
    def f(a):
        return a.b(1).c
    <BLANKLINE>
    """
    return HEADER.format(name=name) + _sort_imports(rewrite_code(source))


def rewrite_code(source: str) -> str:
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    offsets = _line_offsets(source)
    edits: List[Edit] = []
    for index, token in enumerate(tokens):
        start, end = (offsets[row - 1] + column for row, column in (token.start, token.end))
        if token.type == tokenize.NAME and token.string in ("async", "await"):
            following = tokens[index + 1]
            edits.append(Edit(start, offsets[following.start[0] - 1] + following.start[1], ""))
            if token.string == "await":
                edits.extend(_superfluous_parentheses(tokens, index, offsets))
        elif token.type == tokenize.NAME and token.string in NAMES:
            edits.append(Edit(start, end, NAMES[token.string]))
        elif token.type == tokenize.STRING:
            text = rewrite_docstring(token.string) if token.string.startswith('"""') else _rename(token.string)
            edits.append(Edit(start, end, text))
    for edit in sorted(edits, reverse=True):
        source = source[: edit.start] + edit.text + source[edit.end :]
    return source


def rewrite_docstring(text: str) -> str:
    """Text with code in it, which need not be whole statements.

    >>> rewrite_docstring("async with await A() as a: (await a.b(c())).d")
    'with A() as a: a.b(c()).d'
    """
    text = re.sub(r"\basync (with|for|def)\b", r"\1", text)
    while "(await " in text:
        start = text.index("(await ")
        end = _closing_parenthesis(text, start)
        inner = text[start + len("(await ") : end]
        is_attribute = text[end + 1 : end + 2] in (".", "[")
        text = text[:start] + (inner if is_attribute else f"({inner})") + text[end + 1 :]
    text = _rename(re.sub(r"\bawait ", "", text))
    for index, kept in enumerate(KEPT):
        text = text.replace(kept, f"\0{index}\0")
    for before, after in PHRASES:
        text = text.replace(before, after)
    for index, kept in enumerate(KEPT):
        text = text.replace(f"\0{index}\0", kept)
    return text


def _closing_parenthesis(text: str, start: int) -> int:
    depth = 0
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError(f"a docstring has an unbalanced parenthesis: {text[start : start + 60]!r}")


def _rename(text: str) -> str:
    return _NAME.sub(lambda match: NAMES[match.group()], text)


def _line_offsets(source: str) -> List[int]:
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    return offsets


def _superfluous_parentheses(
    tokens: List[tokenize.TokenInfo], place: int, offsets: List[int]
) -> Iterator[Edit]:
    """Those of ``(await call()).attribute``: without ``await`` the call stands alone."""
    if tokens[place - 1].string != "(" or _is_callable(tokens[place - 2]):
        return
    depth, index = 1, place + 1
    while depth:
        token = tokens[index]
        if depth == 1 and (token.string == "," or keyword.iskeyword(token.string)):
            return
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.string, 0)
        index += 1
    if tokens[index].string not in (".", "["):
        return
    for parenthesis in (tokens[place - 1], tokens[index - 1]):
        at = offsets[parenthesis.start[0] - 1] + parenthesis.start[1]
        yield Edit(at, at + 1, "")


def _is_callable(token: tokenize.TokenInfo) -> bool:
    """Whether a parenthesis after this token begins the arguments of a call."""
    return token.string in (")", "]") or (token.type == tokenize.NAME and not keyword.iskeyword(token.string))


def _sort_imports(source: str) -> str:
    """Other names have another order; ``AsyncIterator`` and ``Iterator`` may both have been there."""

    def sort_key(name: str) -> Tuple[bool, str]:
        return not name.isupper(), name

    def replace(match: "re.Match[str]") -> str:
        names = sorted(set(match.group(1).split(", ")), key=sort_key)
        return "from typing import " + ", ".join(names) + "\n"

    def sort_lines(match: "re.Match[str]") -> str:
        return "".join(sorted(match.group().splitlines(keepends=True), key=lambda line: line.split()[1]))

    source = re.sub(r"^from typing import ([^(\n]+)\n", replace, source, flags=re.M)
    return re.sub(r"^(?:from \.\.[\w.]* import [^(\n]+\n)+", sort_lines, source, flags=re.M)


def generated_files() -> Dict[Path, str]:
    """What glovebox/sync should have, by path."""
    made = {}
    for path in sorted((PACKAGE / "aio").glob("*.py")):
        if path.stem not in HAND_WRITTEN:
            made[PACKAGE / "sync" / path.name] = generate(path.read_text(encoding="utf-8"), f"aio/{path.name}")
    for source, target in PAIRS.items():
        made[PACKAGE / target] = generate((PACKAGE / source).read_text(encoding="utf-8"), source)
    return made


def main(arguments: List[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    files = generated_files()
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if arguments and stale:
        names = ", ".join(str(path.relative_to(PACKAGE.parent)) for path in stale)
        print(f"{names}: not what tools/generate_sync.py makes; run `make generate`", file=sys.stderr)
        return 1
    for path in stale:
        path.write_text(files[path], encoding="utf-8")
        print(path.relative_to(PACKAGE.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
