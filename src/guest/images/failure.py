"""What a pull fails with: a kind that the server knows, and a text for the user who asked."""
import re

MAX_TEXT = 2000
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


class Failure(Exception):
    """`kind`: not_found, unauthorized, policy, digest, unsupported, too_large, interrupted, unreachable, invalid."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind
        self.text = plain(text)[:MAX_TEXT]


def plain(text):
    """One line without what a terminal would obey; a registry may have written it."""
    return CONTROLS.sub(" ", text).strip()
