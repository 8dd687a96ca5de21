"""Lines of a notebook that are no Python: `!command`, `x = !command`, `%pip`, `%cd`, `%%bash`.

Only for cells that do not compile as they are, of clients that are used to notebooks.
"""
import os
import re
import sys

ASSIGNED = re.compile(r"(\s*)([A-Za-z_]\w*)\s*=\s*!(.+)$")
HERE = '__import__("sys").modules["_glovebox_magics"].'


def translated(text):
    """The cell as Python, line by line what they mean; None where there are no such lines."""
    first, _, rest = text.lstrip("\n").partition("\n")
    if first.strip() in ("%%bash", "%%sh"):
        return HERE + "shell(%r)" % rest
    lines = text.split("\n")
    changed = [_line(line) for line in lines]
    return None if changed == lines else "\n".join(changed)


def _line(line):
    words = line.lstrip()
    space = line[: len(line) - len(words)]
    if words.startswith("!"):
        return space + HERE + "shell(%r)" % words[1:]
    if assigned := ASSIGNED.match(line):
        return "%s%s = %slines(%r)" % (assigned[1], assigned[2], HERE, assigned[3])
    if words.startswith("%pip "):
        return space + HERE + "shell(%r)" % ("python3 -m pip " + words[5:])
    if words.startswith("%cd"):
        return space + '__import__("os").chdir(__import__("os").path.expanduser(%r))' % (words[3:].strip() or "~")
    if words.startswith("%matplotlib"):
        return space + "pass"
    return line


def shell(command):
    _run(command)


def lines(command):
    import subprocess

    return _run(command, stdout=subprocess.PIPE).stdout.decode("utf-8", "replace").splitlines()


def _run(command, **more):
    import subprocess

    sys.stdout.flush()
    sys.stderr.flush()
    program = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    return subprocess.run([program, "-c", command], **more)
