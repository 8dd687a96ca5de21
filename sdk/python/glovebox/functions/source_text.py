"""The text of a module, or of a notebook's cell: which statements define its names, and a copy with only some of them.

Lines stay where they were, so that tracebacks fit. Statements are found in the blocks of a top-level ``if``, ``try``,
``for`` or ``with``, too, and are taken out of them alone.
"""

from __future__ import annotations

import ast
import copy
import symtable
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from ..remote_errors import FunctionRefused

__all__ = ["Binding", "Kept", "SourceText", "annotation_names", "first_line", "line_of_use", "names_used"]

Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPES = (*DEFINITIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Binding:
    """One place that gives a name its value."""

    node: ast.AST
    parents: Tuple[ast.stmt, ...]  # the blocks around it, from the outside in
    alias: Optional[ast.alias] = None  # of an import


@dataclass
class Kept:
    """A statement that is kept, or what is written in its place."""

    node: ast.stmt
    parents: Tuple[ast.stmt, ...]
    aliases: List[ast.alias] = field(default_factory=list)  # of an import: only these
    # (first line, column, last line, column, new text): columns in bytes, as ast counts them.
    edits: List[Tuple[int, int, int, int, str]] = field(default_factory=list)


class SourceText:
    """One file, parsed."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            raise FunctionRefused(f"the source in {file} has changed or is not Python: {error}") from None
        self.bindings: Dict[str, List[Binding]] = {}
        self.star_imports: List[ast.ImportFrom] = []
        self.futures: List[ast.ImportFrom] = []
        self._collect(self.tree.body, ())
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Global):  # a function assigns it
                for name in node.names:
                    self._bind(name, Binding(node, ()))

    @property
    def has_lazy_annotations(self) -> bool:
        return any(alias.name == "annotations" for one in self.futures for alias in one.names)

    def _bind(self, name: str, binding: Binding) -> None:
        self.bindings.setdefault(name, []).append(binding)

    def _collect(self, body: Sequence[ast.stmt], parents: Tuple[ast.stmt, ...]) -> None:
        for statement in body:
            self._collect_statement(statement, parents)

    def _collect_statement(self, statement: ast.stmt, parents: Tuple[ast.stmt, ...]) -> None:
        if isinstance(statement, DEFINITIONS):
            self._bind(statement.name, Binding(statement, parents))
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                self._bind(alias.asname or alias.name.partition(".")[0], Binding(statement, parents, alias))
        elif isinstance(statement, ast.ImportFrom):
            self._collect_import_from(statement, parents)
        else:
            for node in _own_parts(statement):
                name = _bound_name(node)
                if name is not None:
                    self._bind(name, Binding(statement, parents))
            for block in _blocks(statement):
                self._collect(block, (*parents, statement))

    def _collect_import_from(self, statement: ast.ImportFrom, parents: Tuple[ast.stmt, ...]) -> None:
        if statement.module == "__future__" and statement.level == 0:
            self.futures.append(statement)
        elif statement.names[0].name == "*":
            self.star_imports.append(statement)
        else:
            for alias in statement.names:
                self._bind(alias.asname or alias.name, Binding(statement, parents, alias))

    def definition(self, name: str, line: Optional[int]) -> Optional[Binding]:
        """The ``def`` or ``class`` of a name; of several, the one whose code begins in the line."""
        found = [one for one in self.bindings.get(name, ()) if isinstance(one.node, DEFINITIONS)]
        if line is not None:
            return next((one for one in found if first_line(one.node) == line), None)
        return found[-1] if found else None

    # --- the copy -------------------------------------------------------------------------------------

    def only(self, kept: Sequence[Kept]) -> str:
        """The text with everything else blanked out."""
        chosen = [Kept(one, ()) for one in self.futures] + sorted(kept, key=lambda one: first_line(one.node))
        made = self._in_place(chosen)
        try:
            ast.parse(made)
        except SyntaxError:  # blocks whose branches are indented differently
            return "".join(self._alone(one) for one in chosen)
        return made

    def _in_place(self, kept: Sequence[Kept]) -> str:
        lines = self.text.split("\n")
        made = [""] * len(lines)
        shared = self._lines_with_several()
        for one in kept:
            for parent in one.parents:
                if not made[parent.lineno - 1]:
                    made[parent.lineno - 1] = _indent(lines[parent.lineno - 1]) + "if True:"
            first, last = first_line(one.node), one.node.end_lineno or one.node.lineno
            if one.aliases:
                _append(made, first - 1, _indent(lines[first - 1]), [_import_of(one)])
            elif any(line in shared for line in range(first, last + 1)):
                _append(made, first - 1, _indent(lines[first - 1]), self._segment(one).split("\n"))
            else:
                made[first - 1 : last] = _edited(lines, one.edits)[first - 1 : last]
        return "\n".join(made)

    def _alone(self, one: Kept) -> str:
        return ast.unparse(_with_edits(one)) + "\n"

    def _segment(self, one: Kept) -> str:
        first, last = first_line(one.node), one.node.end_lineno or one.node.lineno
        lines = _edited(self.text.split("\n"), one.edits)[first - 1 : last]
        if not any(edit[2] == last for edit in one.edits):
            lines[-1] = _cut(lines[-1], 0, one.node.end_col_offset or 0)
        lines[0] = lines[0][len(_cut(lines[0], 0, one.node.col_offset)) :]
        return "\n".join(lines)

    def _lines_with_several(self) -> Set[int]:
        """Lines that also have another statement, or the header of a block: `a = 1; b = 2`, `if x: import y`."""
        owners: Dict[int, int] = {}
        for node in _statements(self.tree.body):
            blocks = _blocks(node)
            last = node.end_lineno or node.lineno
            if blocks and not isinstance(node, DEFINITIONS):
                last = max(node.lineno, blocks[0][0].lineno - 1) if blocks[0] else node.lineno
            for line in range(first_line(node), last + 1):
                owners[line] = owners.get(line, 0) + 1
        return {line for line, count in owners.items() if count > 1}


def first_line(node: ast.AST) -> int:
    lines: List[int] = [one.lineno for one in getattr(node, "decorator_list", [])]
    own: int = node.lineno  # type: ignore[attr-defined]
    return min([own, *lines])


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for one in body:
        yield one
        if not isinstance(one, DEFINITIONS):
            for block in _blocks(one):
                yield from _statements(block)


def _blocks(statement: ast.stmt) -> List[List[ast.stmt]]:
    found = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    found += [one.body for one in getattr(statement, "handlers", [])]
    found += [one.body for one in getattr(statement, "cases", [])]
    return [one for one in found if one]


def _own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Like ast.walk over a statement, but into neither its blocks nor other scopes."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ExceptHandler):
            yield child
        elif not isinstance(child, (ast.stmt, *_SCOPES)):
            yield from _own_parts(child)


def _bound_name(node: ast.AST) -> Optional[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    name = getattr(node, "name", None)  # `except E as name`, `case x as name`
    return name if isinstance(name, str) and not isinstance(node, ast.alias) else None


def _import_of(one: Kept) -> str:
    made = copy.copy(one.node)
    made.names = one.aliases  # type: ignore[attr-defined]
    return ast.unparse(made)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _append(made: List[str], place: int, indent: str, parts: List[str]) -> None:
    """Puts the lines of a statement behind what its first line has already."""
    if not made[place].strip():
        made[place] = indent + parts[0]
    else:
        made[place] += (" " if made[place].endswith(":") else "; ") + parts[0]
    for number, part in enumerate(parts[1:], place + 1):
        made[number] += part


def _cut(line: str, start: int, end: int) -> str:
    return line.encode("utf-8")[start:end].decode("utf-8")


def _edited(lines: List[str], edits: List[Tuple[int, int, int, int, str]]) -> List[str]:
    if not edits:
        return lines
    made = list(lines)
    for first, start, last, end, text in sorted(edits, reverse=True):
        tail = made[last - 1].encode("utf-8")[end:].decode("utf-8")
        made[first - 1] = _cut(made[first - 1], 0, start) + text + (tail if first == last else "")
        for place in range(first, last):
            made[place] = tail if place == last - 1 else ""
    return made


def _with_edits(one: Kept) -> ast.AST:
    if one.aliases:
        made = copy.copy(one.node)
        made.names = one.aliases  # type: ignore[attr-defined]
        return made
    at = {(edit[0], edit[1], edit[2], edit[3]): edit[4] for edit in one.edits}
    if not at:
        return one.node

    class Editor(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            names = ("lineno", "col_offset", "end_lineno", "end_col_offset")
            place = tuple(getattr(node, name, None) for name in names)
            if isinstance(node, ast.expr) and place in at:
                expression: Any = ast.parse(at[place], mode="eval")  # type: ignore[index]
                return expression.body
            return self.generic_visit(node)

    return Editor().visit(copy.deepcopy(one.node))  # type: ignore[no-any-return]


# --- names -------------------------------------------------------------------------------------------


def names_used(one: Kept, lazy_annotations: bool) -> Set[str]:
    """The module's names that a statement uses, now or when it is called."""
    node: Any = _with_edits(one)
    if lazy_annotations:
        node = _without_annotations(node)
    # The symbol table knows what is global: a local name may also be a name of the module.
    table = symtable.symtable(ast.unparse(node), "statement", "exec")
    used = {one.get_name() for one in table.get_symbols() if one.is_referenced()}
    waiting = list(table.get_children())
    while waiting:
        scope = waiting.pop()
        used.update(one.get_name() for one in scope.get_symbols() if one.is_global())
        waiting.extend(scope.get_children())
    return used


def annotation_names(node: ast.AST) -> Set[str]:
    """Names that its annotations use."""
    found: Set[str] = set()
    for one in ast.walk(node):
        for annotation in (getattr(one, "annotation", None), getattr(one, "returns", None)):
            if isinstance(annotation, ast.expr):
                found.update(name.id for name in ast.walk(annotation) if isinstance(name, ast.Name))
    return found


def _without_annotations(node: ast.AST) -> ast.AST:
    made = copy.deepcopy(node)
    for one in ast.walk(made):
        if isinstance(one, ast.arg):
            one.annotation = None
        elif isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            one.returns = None
        elif isinstance(one, ast.AnnAssign):
            one.annotation = ast.Constant(None)
    return made


def line_of_use(node: ast.AST, name: str) -> int:
    """Where a statement uses a name first."""
    lines = [one.lineno for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == name]
    return min(lines) if lines else first_line(node)
