"""The canonical form of ``profile.dependencies``; refuses what the server refuses.

Like src/wire/packages/dependencies_json.cc: no entry may be an option of the installer, a path or a URL. Both are
tested with tests/vectors/profiles.json.

>>> canonical_dependencies(["pandas>=2", " numpy"])
'{"packages":["numpy","pandas>=2"]}'
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Sequence

from .canonical_json import json_string

__all__ = ["canonical_dependencies"]

_FIELDS = ("host_packages", "lock", "packages", "preload", "requirements")
_SPACE = " \t\r\n"
_MAX_PACKAGES = 100
_MAX_PACKAGE = 300
_MAX_TEXT = 256 * 1024
_MAX_MODULES = 64
_MAX_MODULE = 200
_MAX_MODULE_NAMES = 6 * 1024
_ARCHIVES = (".whl", ".zip", ".tar", ".tgz", ".tbz", ".txz", ".tlz", ".gz", ".bz2", ".xz", ".lzma", ".tar.lz")
_NAME_END = re.compile(r"[\[<>=!~;, @(]")
_NAME = re.compile(r"[A-Za-z0-9._@/-]*[A-Za-z0-9]\Z")
_SCOPED = re.compile(r"@[^/]+/[A-Za-z0-9]")
_HASH = re.compile(r"--hash=(sha256|sha384|sha512):[0-9a-f]+\Z")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}(\.[A-Za-z_][A-Za-z0-9_]{0,127})*\Z")
# Control characters except line feeds and tabs, and the characters at which str.splitlines() splits as well.
_NO_TEXT = re.compile("[\0-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")
_COMMENT = re.compile(r"(^|(?<=[ \t]))#.*")
_ALONE = ("--require-hashes", "--pre", "--prefer-binary")


def canonical_dependencies(data: Any, at: str = "dependencies") -> str:
    """JSON with sorted keys and no spaces; empty without dependencies."""
    if data is None:
        return ""
    if isinstance(data, Mapping):
        wanted = _object(data, at)
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        wanted = {"packages": _packages(data, at)}
    else:
        raise TypeError(f"{at} must be a list of packages, or an object with {', '.join(sorted(_FIELDS))}")
    given = [name for name in _FIELDS if wanted.get(name) or wanted.get(name) is False]
    fields = [f'"{name}":{_json_text(wanted[name])}' for name in given]
    return "{" + ",".join(fields) + "}" if fields else ""


def _json_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json_string(value) if isinstance(value, str) else "[" + ",".join(map(json_string, value)) + "]"


def _object(data: Mapping[str, Any], at: str) -> Dict[str, Any]:
    unknown = sorted(set(data) - set(_FIELDS))
    if unknown:
        raise ValueError(f"{at}.{unknown[0]} is an unknown field")
    wanted: Dict[str, Any] = {
        "packages": _packages(data.get("packages") or [], f"{at}.packages"),
        "requirements": _text(data.get("requirements"), f"{at}.requirements"),
        "lock": _text(data.get("lock"), f"{at}.lock"),
        "preload": _preload(data.get("preload") or [], f"{at}.preload"),
        "host_packages": data.get("host_packages"),
    }
    _check_requirements(wanted["requirements"], f"{at}.requirements")
    if wanted["lock"] and (wanted["packages"] or wanted["requirements"]):
        raise ValueError(f"{at}.lock cannot be combined with packages or requirements: a lock file names all packages")
    if wanted["preload"] and not (wanted["packages"] or wanted["requirements"] or wanted["lock"]):
        raise ValueError(f"{at}.preload needs packages, requirements or lock")
    if wanted["host_packages"] is not None:
        if not isinstance(wanted["host_packages"], bool):
            raise TypeError(f"{at}.host_packages must be true or false")
        if not (wanted["packages"] or wanted["requirements"] or wanted["lock"]):
            raise ValueError(f"{at}.host_packages needs packages, requirements or lock")
    return wanted


def _packages(data: Any, at: str) -> List[str]:
    if isinstance(data, (str, bytes)) or not isinstance(data, Sequence):
        raise TypeError(f"{at} must be a list of strings")
    if len(data) > _MAX_PACKAGES:
        raise ValueError(f"{at} must have at most {_MAX_PACKAGES} entries")
    words = set()
    for index, one in enumerate(data):
        if not isinstance(one, str):
            raise TypeError(f"{at}[{index}] must be a string")
        word = one.strip(_SPACE)
        _check_word(word, f"{at}[{index}]")
        words.add(word)
    return sorted(words)


def _check_word(word: str, at: str) -> None:
    if not word:
        raise ValueError(f"{at} must not be empty")
    if not all(" " <= char < "\x7f" for char in word):
        raise ValueError(f"{at} must consist of printable ASCII characters")
    if len(word) > _MAX_PACKAGE:
        raise ValueError(f"{at} must have at most {_MAX_PACKAGE} bytes")
    if word[0] == "-":
        raise ValueError(f"{at} must be a package, not an option of the installer")
    if ":" in word or " @" in word or "@ " in word:
        raise ValueError(f"{at} must name a package of the index, not a URL")
    is_scoped = word[0] == "@"
    end = _NAME_END.search(word, 1 if is_scoped else 0)
    name = word[: end.start()] if end else word
    # Only npm's "@scope/name" may contain a slash.
    has_path = "\\" in word or ("/" in word and not (word.count("/") == 1 and _SCOPED.match(name)))
    if word[0] in "./~" or has_path or name.lower().endswith(_ARCHIVES):
        raise ValueError(f"{at} must name a package of the index, not a file")
    first = word[1] if is_scoped and len(word) > 1 else word[0]
    is_formed = _is_formed(name, word[len(name) :].strip(_SPACE))
    if not first.isalnum() or not is_formed or any(char in "#$`{}%?" for char in word):
        raise ValueError(f'{at} must be a package like "pandas>=2" or "lodash@4"')


def _is_formed(name: str, rest: str) -> bool:
    """Whether it is a name, alone or followed by a version, extras or a marker."""
    if not _NAME.match(name):
        return False
    return not rest or (rest[0] in "[<>=!~;(@" and rest[-1] not in ",=<>!~;([@|&")


def _text(data: Any, at: str) -> str:
    if data is None:
        return ""
    if not isinstance(data, str):
        raise TypeError(f"{at} must be a string")
    if len(data.encode("utf-8", "surrogatepass")) > _MAX_TEXT:
        raise ValueError(f"{at} must have at most {_MAX_TEXT >> 10} KB")
    # Editors on Windows put a byte order mark in front of UTF-8.
    text = data[data.startswith("\ufeff") :].replace("\r\n", "\n").strip(_SPACE)
    if _NO_TEXT.search(text):
        raise ValueError(f"{at} must be the text of a file, without control characters")
    return text


def _preload(data: Any, at: str) -> List[str]:
    if isinstance(data, (str, bytes)) or not isinstance(data, Sequence):
        raise TypeError(f"{at} must be a list of strings")
    if len(data) > _MAX_MODULES:
        raise ValueError(f"{at} must have at most {_MAX_MODULES} entries")
    for index, one in enumerate(data):
        if not isinstance(one, str) or len(one) > _MAX_MODULE or not _MODULE.match(one):
            raise ValueError(f"{at}[{index}] must be a module name, like numpy or os.path")
    modules = list(dict.fromkeys(data))
    if sum(map(len, modules)) > _MAX_MODULE_NAMES:
        raise ValueError(f"{at}: the module names are larger than 6 KB in total")
    return modules


def _check_requirements(text: str, at: str) -> None:
    """Line by line, as pip reads it."""
    joined, first = "", 1
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if not joined:
            first = number
        is_comment = line.strip(_SPACE).startswith("#")
        if line.endswith("\\") and not is_comment:
            joined = joined + line[:-1] or " "
            continue
        joined += f" {line}" if is_comment else line
        _check_requirement(joined, f"{at}: line {first}")
        joined = ""


def _check_requirement(line: str, at: str) -> None:
    line = _COMMENT.sub("", line).strip(_SPACE)
    if not line or line in _ALONE:
        return
    if not all(" " <= char < "\x7f" for char in line):
        raise ValueError(f"{at}: must consist of printable ASCII characters, except in comments")
    word, is_hashed = [], False
    for token in line.split(" "):
        if token.startswith("-"):
            if not _HASH.match(token):
                raise ValueError(
                    f"{at}: only the administrator sets options of the installer; a requirement may be followed by "
                    "--hash=sha256:..., and a line may be --require-hashes, --pre or --prefer-binary"
                )
            is_hashed = True
        elif is_hashed and token:
            raise ValueError(f"{at}: only another --hash=... may follow a --hash=...")
        else:
            word.append(token)
    text = " ".join(word).strip(_SPACE)
    if "@" in text:
        raise ValueError(f"{at}: must name a package of the index, not a URL")
    _check_word(text, f"{at}:")
