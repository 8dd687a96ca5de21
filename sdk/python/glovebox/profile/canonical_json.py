"""Strings in canonical JSON."""

from __future__ import annotations

__all__ = ["json_string"]


def json_string(text: str) -> str:
    """Quotes a string; escapes only the characters that JSON requires.

    >>> json_string('a"b')
    '"a\\\\"b"'
    """
    made = []
    for char in text:
        if char in '"\\':
            made.append("\\" + char)
        elif ord(char) < 0x20:
            made.append(f"\\u{ord(char):04x}")
        else:
            made.append(char)
    return '"' + "".join(made) + '"'
