"""Lines of a notebook that are no Python, as IPython has them: `!command`, `%magic`, `%%magic`, `name?`.

Only for cells that do not compile as they are, of clients that are used to notebooks. This file finds
such lines and makes calls of them; what they do is in magic_commands.py, which is loaded by the first.
"""
import re

ASSIGNED = re.compile(r"([ \t]*)([A-Za-z_][\w.\[\]'\", ]*?)[ \t]*=[ \t]*([%!])(?![=%])(.+)$")
ASKED = re.compile(r"[ \t]*(?:(\?\??)[ \t]*([%\w.*]+)|([%\w.*]+(?:\[[\w'\"]+\])*)(\?\??))[ \t]*;?$")
HERE = '__import__("sys").modules["_glovebox_magic_commands"].'


def translated(text):
    """The cell as Python, with as many lines; None where there are no such lines."""
    first = re.match(r"\s*%%(?!%)(\S*)[ \t]*(.*)", text)
    if first and first.group(0).lstrip().startswith("%%"):
        before = text[: first.start()].count("\n") + first.group(0)[: first.group(0).index("%")].count("\n")
        return "\n" * before + HERE + "run_cell_magic(%r, %r, %r)" % (first[1], first[2].rstrip(), text[first.end() + 1 :])
    lines = text.split("\n")
    changed = list(_translate(lines))
    return None if changed == lines else "\n".join(changed)


def _translate(lines):
    state = Scanner()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not state.at_statement():
            state.scan(line)
            yield line
            continue
        call = _call_for(line)
        if call is None:
            state.scan(line)
            yield line
            continue
        joined = 0
        while line.endswith("\\") and at < len(lines):  # a command that goes on in the next line
            line = line[:-1] + lines[at]
            at += 1
            joined += 1
        yield _call_for(line) or call
        yield from [""] * joined


def _call_for(line):
    words = line.lstrip(" \t")
    space = line[: len(line) - len(words)]
    if words.startswith("!!"):
        return space + HERE + "lines(%r)" % words[2:]
    if words.startswith("!"):
        return space + HERE + "shell(%r)" % words[1:]
    if words.startswith("%") and words[1:2].isalpha():
        return space + HERE + _line_magic(words[1:])
    if assigned := ASSIGNED.match(line):
        call = "lines(%r)" % assigned[4] if assigned[3] == "!" else _line_magic(assigned[4])
        return "%s%s = %s%s" % (assigned[1], assigned[2], HERE, call)
    if asked := ASKED.match(line):
        return space + HERE + "explain(%r)" % (asked[2] or asked[3])
    return None


def _line_magic(words):
    name, _, rest = words.partition(" ")
    return "run_line_magic(%r, %r)" % (name.strip(), rest.strip())


class Scanner:
    """Whether the next line begins a statement, or is inside a string, brackets or a continued line."""

    def __init__(self):
        self._quote = ""
        self._depth = 0
        self._goes_on = False

    def at_statement(self):
        return not self._quote and not self._depth and not self._goes_on

    def scan(self, line):
        at = 0
        self._goes_on = False
        while at < len(line):
            character = line[at]
            if self._quote:
                if character == "\\":
                    at += 2
                    continue
                if line.startswith(self._quote, at):
                    at += len(self._quote)
                    self._quote = ""
                    continue
            elif character == "#":
                break
            elif character in "'\"":
                self._quote = character * 3 if line.startswith(character * 3, at) else character
                at += len(self._quote)
                continue
            elif character in "([{":
                self._depth += 1
            elif character in ")]}":
                self._depth = max(0, self._depth - 1)
            at += 1
        if len(self._quote) == 1:  # such a string ends with its line, unless the line goes on
            if not line.endswith("\\"):
                self._quote = ""
        elif not self._quote:
            self._goes_on = line.endswith("\\")
