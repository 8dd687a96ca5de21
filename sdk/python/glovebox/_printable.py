"""Untrusted text, escaped for a terminal."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    """Escapes control characters, so that the text cannot control a terminal; line feeds and tabs stay.

    >>> print(printable("clear \\x1b[2J"))
    clear \\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text)
