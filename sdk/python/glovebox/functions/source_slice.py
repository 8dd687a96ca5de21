"""The part of a script or of a notebook's cells that one function needs.

The statements at the top level that define the names which the function uses, and those which these
use in turn: imports, functions, classes, assignments. Not what the script does with them. Lines stay
where they were, so that tracebacks fit. What is not in the text itself (another cell defined it) is
found by the live object: modules and what was imported by name, functions and classes of other cells
by their source. Data is not taken along: it is an argument.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import symtable
import sys
from types import FunctionType, ModuleType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple

from ..remote_errors import FunctionRefused

__all__ = ["needed_source"]

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def needed_source(text: str, name: str, names: Mapping[str, Any], file: str) -> str:
    """The part of ``text`` that defines ``name``; ``names`` are the live globals of its module.

    >>> script = '''import math, sys
    ... def area(r): return math.pi * r * r
    ... def other(): pass
    ... print(area(2))
    ... '''
    >>> needed_source(script, "area", {}, "script.py")
    'import math, sys\\ndef area(r): return math.pi * r * r\\n\\n\\n'
    """
    return _Slice(names, set()).of(text, name, file)


class _Slice:
    def __init__(self, names: Mapping[str, Any], done: Set[Tuple[str, str]]) -> None:
        self._names = names
        self._done = done  # (file, name) of the definitions found so far
        self._root = ""

    def of(self, text: str, name: str, file: str) -> str:
        self._root = self._root or name
        self._done.add((file, name))
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise FunctionRefused(f"{name}: its source in {file} has changed or is not Python: {error}") from None
        chosen, missing = _choose(tree.body, name)
        if not any(_defines(one, name) for one in chosen):
            raise FunctionRefused(
                f"{name} is not defined at the top level of {file}: define it there with `def {name}(...)`"
            )
        before = "".join([self._elsewhere(one) for one in sorted(missing)])
        if not before:
            return _only_lines(text, chosen, tree.body)
        # `from __future__` must come first.
        futures = [one for one in chosen if _is_future(one)]
        rest = [one for one in chosen if not _is_future(one)]
        return "".join(ast.unparse(one) + "\n" for one in futures) + before + _only_lines(text, rest, tree.body)

    def _elsewhere(self, name: str) -> str:
        """The statement, or the source, that defines a name which this text does not define."""
        if name not in self._names:
            return ""  # if it is used after all, the sandbox raises a NameError
        value = self._names[name]
        if isinstance(value, ModuleType):
            return "" if value.__name__ == "__main__" else f"import {value.__name__} as {name}\n"
        inner = getattr(value, "__wrapped__", value)
        module, own_name = getattr(inner, "__module__", None), getattr(inner, "__qualname__", None)
        if isinstance(module, str) and isinstance(own_name, str) and own_name.isidentifier():
            if module == "__main__":
                return self._other_cell(inner, own_name, name)
            if getattr(sys.modules.get(module), own_name, None) is value:
                return f"from {module} import {own_name} as {name}\n"
        raise FunctionRefused(
            f"{self._root} uses `{name}`, a {type(value).__name__} of another cell, and calls ship only code: "
            f"pass it as an argument, or assign it in the cell of {self._root}"
        )

    def _other_cell(self, value: Any, own_name: str, name: str) -> str:
        found = _defining_source(value)
        if found is None:
            raise FunctionRefused(f"{self._root} uses `{name}`, whose source was not found: put both into a file")
        text, file = found
        if (file, own_name) in self._done:
            return ""
        part = self.of(text, own_name, file)
        part = part if part.endswith("\n") else part + "\n"
        return part if own_name == name else f"{part}{name} = {own_name}\n"


def _defining_source(value: Any) -> Optional[Tuple[str, str]]:
    """The source in which a function or a class is defined."""
    functions = list(vars(value).values()) if inspect.isclass(value) else [value]
    for one in functions:
        one = inspect.unwrap(getattr(one, "__func__", one)) if callable(one) or hasattr(one, "__func__") else one
        if isinstance(one, FunctionType) and one.__module__ == value.__module__:
            lines = linecache.getlines(one.__code__.co_filename)
            if lines:
                return "".join(lines), one.__code__.co_filename
    try:
        return inspect.getsource(value), f"<{value.__qualname__}>"
    except (OSError, TypeError):
        return None


def _choose(statements: List[ast.stmt], name: str) -> Tuple[List[ast.stmt], Set[str]]:
    """The statements that ``name`` needs, and the names that none of them defines."""
    usable = [one for one in statements if not _is_main_guard(one)]
    binders = [(_bound_in(one), one) for one in usable]
    chosen: Set[int] = set()
    wanted, seen, missing = [name], {name}, set()
    while wanted:
        needed = wanted.pop()
        found = False
        for place, (bound, statement) in enumerate(binders):
            if needed not in bound:
                continue
            found = True
            if place in chosen:
                continue
            chosen.add(place)
            for used in _used_by(statement):
                if used not in seen:
                    seen.add(used)
                    wanted.append(used)
        if not found and not hasattr(builtins, needed):
            missing.add(needed)
    for place, statement in enumerate(usable):
        is_star = isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*"
        if _is_future(statement) or (is_star and missing):
            chosen.add(place)
    return [usable[place] for place in sorted(chosen)], missing


def _defines(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(one, _DEFINITIONS) and one.name == name for one in _walk_here(statement))


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _is_main_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in {
        one.id for one in ast.walk(statement.test) if isinstance(one, ast.Name)
    }


def _bound_in(statement: ast.stmt) -> Set[str]:
    """The module's names that a statement defines or changes; `table[key] = 1` changes `table`."""
    bound: Set[str] = set()
    for node in _walk_here(statement):
        if isinstance(node, _DEFINITIONS):
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            base: ast.expr = node
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if isinstance(base, ast.Name):
                bound.add(base.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return bound


def _walk_here(node: ast.AST) -> Iterator[ast.AST]:
    """Like ast.walk, but not into bodies with a scope of their own."""
    yield node
    if isinstance(node, (*_DEFINITIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    for child in ast.iter_child_nodes(node):
        yield from _walk_here(child)


def _used_by(statement: ast.stmt) -> Set[str]:
    """The module's names that a statement uses, now or when it is called."""
    if not isinstance(statement, _DEFINITIONS):
        used = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}
        for inner in ast.walk(statement):
            if isinstance(inner, _DEFINITIONS):  # `try: ... except ImportError: def ...`
                used |= _used_by(inner)
        return used
    # The symbol table knows what is global: a local name may also be a name of the module.
    table = symtable.symtable(ast.unparse(statement), "statement", "exec")
    used = {one.get_name() for one in table.get_symbols() if one.is_referenced()}
    waiting = list(table.get_children())
    while waiting:
        scope = waiting.pop()
        used.update(one.get_name() for one in scope.get_symbols() if one.is_global())
        waiting.extend(scope.get_children())
    return used


def _only_lines(text: str, statements: List[ast.stmt], every: List[ast.stmt]) -> str:
    """The text with all other statements blanked out, so that line numbers stay."""
    lines = text.split("\n")
    owners: Dict[int, int] = {}
    for statement in every:
        for line in _lines_of(statement):
            owners[line] = owners.get(line, 0) + 1
    kept = [""] * len(lines)
    for statement in statements:
        places = _lines_of(statement)
        if all(owners[line] == 1 for line in places):
            for line in places:
                kept[line - 1] = lines[line - 1]
            continue
        # Only this statement of a line with several (`a = 1; b = 2`).
        own = (ast.get_source_segment(text, statement) or "").split("\n")
        for line, part in zip(places, own):
            kept[line - 1] += ("; " if kept[line - 1] else "") + part
    return "\n".join(kept)


def _lines_of(statement: ast.stmt) -> range:
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    return range(first, (statement.end_lineno or first) + 1)
