"""Compiles a source so that the value of its last expression can be shown, as a notebook does.

Both a run and a cell need it at every start, so nothing is imported here that is not built in.
"""
from _ast import Expression

ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without importing ast
FUTURE_FLAGS = 0x1FFE000  # what `from __future__ import` leaves in co_flags
MOST_CANDIDATES = 200
MOST_TAIL = 1 << 16
MOST_TREE = 1 << 18
# No expression begins with one of these.
STATEMENTS = frozenset(("import", "from", "for", "while", "if", "with", "def", "class", "try:", "del", "pass", "assert",
                        "raise", "global", "nonlocal", "return", "break", "continue", "async"))


def compile_job(text, name, flags=0):
    """Two code objects, either may be None: all but the last expression, and that expression.

    Making a tree of Python objects of the whole source is slow and, for megabytes of it, enormous.
    So only the last statement becomes one, and only if it is neither an expression nor, at first
    sight, something without a value. Where it starts is found by trying lines from the end: if what
    is before such a line is complete, and what follows is, then that is how it divides.
    """
    end = start = len(text.rstrip(" \t\n\f"))
    whole = None
    for _ in range(MOST_CANDIDATES):
        if start <= 0:
            break
        start = text.rfind("\n", 0, start) + 1
        if end - start > MOST_TAIL:
            break
        if text[start] not in " \t\f\n#)]}":
            after = text[start:]
            is_statement = text[start] == "@" or after.split(None, 1)[0] in STATEMENTS
            if (is_statement or "=" in after and _assigns(after)) and _is_alone(text, start, end):
                break
            lines = text.count("\n", 0, start)
            if "__future__" not in after or start == 0:
                try:
                    tail = None if is_statement else _expression_of(after, lines, name, flags)
                    if tail is not None:
                        return _with_head(text, start, tail, after, lines, name, flags)
                    tree = _tree_of(after, lines, name, flags)
                    if tree is not None:
                        if not _gives_value(tree, after, lines):
                            break
                        return _divide(text, start, lines, tree, name, flags)
                except (SyntaxError, ValueError, MemoryError, RecursionError):
                    if whole is None:
                        whole = _compile_whole(text, name, flags)
                    if len(text) > MOST_TREE:
                        break
        start -= 1
    return whole or _compile_whole(text, name, flags), None


def _is_alone(text, start, end):
    """Whether what begins at `start` is one line that no string or bracket of an earlier line ends in."""
    if text.find("\n", start, end) >= 0:
        return False
    for mark in "'\"#;\\":
        if text.find(mark, start, end) >= 0:
            return False
    for opening, closing in ("()", "[]", "{}"):
        if text.count(opening, start, end) != text.count(closing, start, end):
            return False
    return text[start - 2 : start] != "\\\n"


def _assigns(line):
    target, equals, value = line.partition("=")
    return equals == "=" and target.strip().isidentifier() and value[:1] != "="


def _compile_whole(text, name, flags):
    if "\0" in text:
        raise SyntaxError("source code cannot contain null bytes")
    return compile(text, name, "exec", flags, True)


def _tree_of(after, lines, name, flags):
    try:
        return compile("\n" * lines + after, name, "exec", ONLY_AST | flags, True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _expression_of(after, lines, name, flags):
    try:
        return compile("\n" * lines + after, name, "eval", flags, True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _with_head(text, start, tail, after, lines, name, flags):
    if start == 0:
        return None, tail
    head = compile(text[:start], name, "exec", flags, True)
    futures = head.co_flags & FUTURE_FLAGS
    return head, compile("\n" * lines + after, name, "eval", flags | futures, True) if futures else tail


def _gives_value(tree, after, lines):
    last = tree.body[-1]
    if type(last).__name__ != "Expr":
        return False
    if ";" not in after:
        return True
    rest = after[_offset(after, last.end_lineno - lines, last.end_col_offset) :]
    return not rest.lstrip(" \t\n)").startswith(";")


def _divide(text, start, lines, tree, name, flags):
    last = tree.body[-1]
    if len(tree.body) > 1:  # `x = 1; x`
        start += _offset(text[start:], last.lineno - lines, last.col_offset)
        # An opening parenthesis is not part of the node.
        start = text.rindex(";", 0, start) + 1 if text[start - 1] not in ";\n" else start
    head = None
    if start > 0:
        head = compile(text[:start], name, "exec", flags, True)
        flags |= head.co_flags & FUTURE_FLAGS
    return head, compile(Expression(last.value), name, "eval", flags, True)


def _offset(text, line, column):
    """Where `line` (from 1) and `column` (in UTF-8 bytes), as a tree tells them, are in `text`."""
    at = 0
    for _ in range(line - 1):
        at = text.index("\n", at) + 1
    end = text.find("\n", at)
    return at + len(text[at : end if end >= 0 else len(text)].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "surrogatepass"))
