"""What a function uses: the definitions, imports and values that a call sends; docs/sdk/functions.md has the rule.

The names come from the source, and what they are from the live module. The result is a
:class:`~glovebox.functions.plan.Plan`, which is used until one of the definitions that it found is another object.
"""

from __future__ import annotations

import ast
import builtins
import sys
import types
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Set, Tuple

from ..remote_errors import FunctionRefused
from ..values import codec as values
from .module_sources import Sources, cell_name, short_name
from .module_values import CannotSend, Reference, ValueEncoder
from .plan import MISSING, Plan, class_attributes
from .source_text import (
    DEFINITIONS,
    Binding,
    Kept,
    SourceText,
    annotation_names,
    first_line,
    line_of_use,
    names_used,
)

__all__ = ["imported_modules", "plan_of", "unwrapped"]

# The sandbox's module has its own.
_OF_THE_MODULE = frozenset(
    ("__name__", "__file__", "__doc__", "__spec__", "__package__", "__loader__", "__builtins__", "__path__",
     "__annotations__", "__cached__", "__dict__", "__debug__")
)  # fmt: skip
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, getattr(ast, "TypeAlias", ast.Assign))
_TYPING = ("typing", "typing_extensions")
_ADVICE = "make it inside the function, or pass data as an argument"


def unwrapped(function: Any) -> Any:
    """The function below other decorators, which are applied in the sandbox, too."""
    seen = set()
    while hasattr(function, "__wrapped__") and id(function) not in seen:
        if isinstance(function, (staticmethod, classmethod)):
            break
        seen.add(id(function))
        function = function.__wrapped__
    return function


def plan_of(function: Any, namespace: Mapping[str, Any], sources: Sources, own: Callable[[str], bool]) -> Plan:
    """``own`` tells the modules of the user, which have values of their own. Raises :class:`FunctionRefused`."""
    return _Reach(function, namespace, sources, own).plan()


class _Reach:
    def __init__(
        self, function: Any, namespace: Mapping[str, Any], sources: Sources, own: Callable[[str], bool]
    ) -> None:
        self._function = unwrapped(function)
        self._root: str = self._function.__qualname__
        self._names = namespace
        self._sources = sources
        self._own = own
        self._done: Set[str] = set()
        self._kept: Dict[int, Tuple[SourceText, Kept]] = {}
        self._order: List[SourceText] = []  # of the cells, as they must run
        self._defined: Dict[str, ast.AST] = {}
        self._held: Dict[str, Any] = {}
        self._data: Dict[str, None] = {}
        self._defaults: List[Tuple[str, Any, Any]] = []
        self._classes: Dict[str, type] = {}
        self._imports: Set[str] = set()
        self._prelude: List[str] = []
        self._lambdas: List[str] = []
        self._references: Dict[int, Tuple[Any, Optional[Reference]]] = {}
        self._is_planning = True
        self._encoder = ValueEncoder(self._refer, self._is_own_class)

    def plan(self) -> Plan:
        source = self._sources.of_code(self._function.__code__)
        found = source.definition(self._root, self._function.__code__.co_firstlineno) if source is not None else None
        if source is None or found is None:
            raise FunctionRefused(
                f"{self._root} was not found in line {self._function.__code__.co_firstlineno} of its source "
                f"{short_name(self._sources.file)}: define it at the top level with `def {self._root}(...)`, "
                "and start anew if the file has changed"
            )
        live = self._names.get(self._root, MISSING)
        if live is not MISSING and unwrapped(live) is self._function:
            self._held[self._root] = live
            self._done.add(self._root)
        self._define(source, found, self._function)
        self._reach_attributes()
        self._is_planning = False
        before = [("imports.py", "\n".join(self._prelude) + "\n")] if self._prelude else []
        if self._lambdas:
            before.append(("lambdas.py", "\n".join(self._lambdas) + "\n"))
        before += [(cell_name(one), self._text_of(one)) for one in self._order if one is not source]
        return Plan(
            self._text_of(source), tuple(before), dict(self._held), tuple(self._data), tuple(self._defaults),
            dict(self._classes), frozenset(self._imports), self._encoder, self._names,
        )  # fmt: skip

    def _reach_attributes(self) -> None:
        """Takes along the definitions that attributes of classes refer to; these may have such attributes, too."""
        seen: Set[str] = set()
        while set(self._classes) - seen:
            for name in sorted(set(self._classes) - seen):
                seen.add(name)
                for _ in class_attributes(self._classes[name], self._encoder):
                    pass

    def _text_of(self, source: SourceText) -> str:
        return source.only([kept for owner, kept in self._kept.values() if owner is source])

    # --- definitions ----------------------------------------------------------------------------------

    def _define(self, source: SourceText, binding: Binding, live: Any) -> None:
        """Takes a ``def`` or ``class`` along, with what it uses."""
        node: Any = binding.node
        other = self._defined.setdefault(node.name, node)
        if other is not node:
            raise FunctionRefused(
                f"{self._root} uses `{node.name}` of line {first_line(node)} of {short_name(source.file)}, which is "
                f"defined again in line {first_line(other)}: give one of them another name"
            )
        kept = Kept(node, binding.parents)
        kept.edits += self._decorator_edits(node)
        if isinstance(node, ast.ClassDef):
            if isinstance(live, type):
                self._classes[node.name] = live
        else:
            kept.edits += self._default_edits(node, live)
        self._keep(source, kept)

    def _keep(self, source: SourceText, kept: Kept) -> None:
        """Keeps a statement and takes along what it uses."""
        self._kept[id(kept.node)] = source, kept
        self._imports.update(imported_modules(kept.node, self._package()))
        for name in sorted(names_used(kept, source.has_lazy_annotations)):
            self._name(name, source, kept.node)
        if source.has_lazy_annotations:
            for name in sorted(annotation_names(kept.node)):
                self._try_name(name, source, kept.node)
        # After what it uses: a cell with a base class runs before the cell of the class.
        if source not in self._order:
            self._order.append(source)

    def _decorator_edits(self, node: Any) -> List[Tuple[int, int, int, int, str]]:
        """``@sandboxed(...)`` without its options: they are for this side, and may name what cannot be sent."""
        edits = []
        for one in node.decorator_list:
            if isinstance(one, ast.Call) and self._is_sandboxed(one.func):
                edits.append((*_place(one), ast.unparse(one.func)))
        return edits

    def _is_sandboxed(self, expression: ast.expr) -> bool:
        value: Any = MISSING
        if isinstance(expression, ast.Name):
            value = self._names.get(expression.id)
        elif isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name):
            value = getattr(self._names.get(expression.value.id), expression.attr, None)
        return isinstance(value, types.FunctionType) and value.__module__ == "glovebox.functions.decorator"

    def _default_edits(self, node: Any, live: Any) -> List[Tuple[int, int, int, int, str]]:
        """Default values that are data come as they are now; their expressions are not evaluated again."""
        if not isinstance(live, types.FunctionType):
            return []
        places: List[Tuple[Any, ast.expr]] = list(enumerate(node.args.defaults))
        places += [(arg.arg, one) for arg, one in zip(node.args.kwonlyargs, node.args.kw_defaults) if one is not None]
        edits: List[Tuple[int, int, int, int, str]] = []
        for place, expression in places:
            if isinstance(expression, ast.Constant):
                continue
            try:
                found: Any = live.__defaults__ if isinstance(place, int) else live.__kwdefaults__
                values.to_tree(found[place])
            except (values.ValueRefused, TypeError, KeyError, IndexError):
                continue  # an expression like any other
            name = f"_default_{place}_of_{node.name}"
            self._defaults.append((name, live, place))
            edits.append((*_place(expression), name))
        return edits

    # --- names ----------------------------------------------------------------------------------------

    def _try_name(self, name: str, source: SourceText, user: ast.AST) -> None:
        """For annotations that are not evaluated: what cannot be sent is left out."""
        saved = [
            dict(self._kept), list(self._order), dict(self._defined), dict(self._held), dict(self._data),
            list(self._defaults), dict(self._classes), set(self._imports), list(self._prelude), set(self._done),
        ]  # fmt: skip
        try:
            self._name(name, source, user)
        except FunctionRefused:
            (self._kept, self._order, self._defined, self._held, self._data, self._defaults, self._classes,
             self._imports, self._prelude, self._done) = saved  # type: ignore[assignment]  # fmt: skip

    def _name(self, name: str, source: SourceText, user: ast.AST) -> None:
        if name in self._done or name in _OF_THE_MODULE:
            return
        self._done.add(name)
        if name not in self._names:
            self._held[name] = MISSING  # a builtin, or not there yet: then a NameError inside as here
            return
        value = self._names[name]
        if unwrapped(value) is getattr(builtins, name, MISSING):
            self._held[name] = value  # `open` of IPython
            return
        if self._import(name, value):
            self._held[name] = value
            return
        if _is_data(value):
            self._data[name] = None
            return
        if isinstance(value, types.ModuleType):
            if value.__name__ != "__main__":
                self._import_line(f"import {value.__name__} as {name}", value.__name__)
            self._held[name] = value
            return
        found = self._definition(name, value)
        if found is not None:
            self._held[name] = value
            self._define(found[0], found[1], unwrapped(value))
            return
        if self._assigned_definition(name, value) or self._imported_object(name, value):
            self._held[name] = value
            return
        try:
            self._encoder.encode(value)
        except (CannotSend, values.ValueRefused) as error:
            kind = error if isinstance(error, CannotSend) else f"a {type(value).__qualname__}"
            raise FunctionRefused(
                f"{self._root} uses `{name}` in line {line_of_use(user, name)} of {short_name(source.file)}, which is "
                f"or holds {kind} and cannot be sent: {_ADVICE}"
            ) from None
        self._data[name] = None

    def _definition(self, name: str, value: Any) -> Optional[Tuple[SourceText, Binding]]:
        """The ``def`` or ``class`` that made the value."""
        inner = unwrapped(value)
        if isinstance(inner, types.FunctionType) and inner.__globals__ is self._names:
            source = self._sources.of_code(inner.__code__)
            found = source.definition(inner.__name__, inner.__code__.co_firstlineno) if source is not None else None
            if source is not None and found is not None:
                return (source, found) if inner.__name__ == name else None
        if isinstance(value, type):
            return self._class_definition(name, value) if value.__qualname__ == name else None
        every = list(self._sources.bindings(name))
        if every and (len(every) == 1 or self._sources.is_notebook):
            source, last = every[-1]
            if isinstance(last.node, DEFINITIONS) and last.node.decorator_list:
                return source, last  # its decorators made the value
        return None

    def _class_definition(self, name: str, value: type) -> Optional[Tuple[SourceText, Binding]]:
        if value.__module__ != self._names.get("__name__"):
            return None
        lines = {}
        for one in vars(value).values():
            inner = unwrapped(getattr(one, "__func__", getattr(one, "fget", one)))
            if isinstance(inner, types.FunctionType) and inner.__globals__ is self._names:
                lines[inner.__code__.co_filename] = inner.__code__.co_firstlineno
        classes = [
            (source, one) for source, one in self._sources.bindings(name) if isinstance(one.node, ast.ClassDef)
        ]
        for source, one in reversed(classes):
            line = lines.get(source.file) if self._sources.is_notebook else next(iter(lines.values()), None)
            if line is None or one.node.lineno <= line <= (one.node.end_lineno or 0):  # type: ignore[attr-defined]
                return source, one
        return classes[-1] if classes else None

    def _assigned_definition(self, name: str, value: Any) -> bool:
        """A lambda, a class made by a call, a type: its assignment, if there is only one."""
        kind = type(value)
        is_one = (
            (isinstance(value, type) and value.__module__ == self._names.get("__name__"))
            or (isinstance(value, types.FunctionType) and value.__name__ == "<lambda>" and not value.__closure__)
            or (kind.__module__ in _TYPING and not isinstance(value, types.FunctionType))
            or (kind.__module__ == "types" and kind.__name__ in ("GenericAlias", "UnionType"))
        )
        if not is_one:
            return False
        every = list(self._sources.bindings(name))
        if self._sources.is_notebook:
            every = [(source, one) for source, one in every if source is every[-1][0]]
        if len(every) != 1 or not isinstance(every[0][1].node, _ASSIGNMENTS):
            return False
        source, binding = every[0]
        self._keep(source, Kept(binding.node, binding.parents))  # type: ignore[arg-type]
        return True

    def _imported_object(self, name: str, value: Any) -> bool:
        """A function or a class of another module that no import statement of the source explains."""
        reference = self._refer(value)
        if reference is None or reference[0] != "import" or not reference[2].isidentifier():
            return False
        self._import_line(f"from {reference[1]} import {reference[2]} as {name}", reference[1])
        return True

    # --- imports --------------------------------------------------------------------------------------

    def _import(self, name: str, value: Any) -> bool:
        """Whether an import statement of the source gives the value; it is kept."""
        is_found = False
        for source, binding in list(self._sources.bindings(name)):
            if binding.alias is None:
                continue
            module, attribute = self._imported_name(binding)
            if not self._gives(module, attribute, value):
                continue
            if attribute and self._own(module) and _is_data(value):
                return False  # its value now
            kept = self._kept.setdefault(
                id(binding.node), (source, Kept(binding.node, binding.parents))  # type: ignore[arg-type]
            )[1]
            if binding.alias not in kept.aliases:
                kept.aliases.append(binding.alias)
            self._imports.add(module)
            if attribute and isinstance(value, types.ModuleType):
                self._imports.add(value.__name__)
            if source not in self._order:
                self._order.insert(0, source)
            is_found = True
        return is_found or self._star_import(name, value)

    def _star_import(self, name: str, value: Any) -> bool:
        for source in self._sources.all():
            for statement in source.star_imports:
                module = _absolute(statement, self._package())
                if self._gives(module, name, value) and not (self._own(module) and _is_data(value)):
                    self._import_line(f"from {module} import {name}", module)
                    return True
        return False

    def _imported_name(self, binding: Binding) -> Tuple[str, str]:
        """(module, attribute); the attribute is "" for a module."""
        assert binding.alias is not None
        if isinstance(binding.node, ast.ImportFrom):
            return _absolute(binding.node, self._package()), binding.alias.name
        return binding.alias.name, ""

    def _gives(self, module: str, attribute: str, value: Any) -> bool:
        found = sys.modules.get(module)
        if found is None:
            return False
        if attribute:
            return getattr(found, attribute, MISSING) is value
        # `import a.b` gives `a`, `import a.b as c` gives `a.b`.
        return found is value or sys.modules.get(module.partition(".")[0]) is value

    def _import_line(self, line: str, module: str) -> None:
        self._prelude.append(line)
        self._imports.add(module)

    def _package(self) -> str:
        return str(self._names.get("__package__") or "")

    # --- references in values -------------------------------------------------------------------------

    def _refer(self, value: Any) -> Optional[Reference]:
        known = self._references.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        if not self._is_planning:
            raise CannotSend("a definition that was not there before")
        reference = self._find_reference(value)
        self._references[id(value)] = value, reference
        return reference

    def _find_reference(self, value: Any) -> Optional[Reference]:
        if isinstance(value, types.ModuleType):
            self._imports.add(value.__name__)
            return ["import", value.__name__, ""]
        if isinstance(value, types.FunctionType) and value.__name__ == "<lambda>":
            return self._lambda_reference(value)
        module, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if not isinstance(qualname, str) or not isinstance(module, str) or "<" in qualname:
            return None
        if module == self._names.get("__name__"):
            top = qualname.partition(".")[0]
            if _walk(types.SimpleNamespace(**{top: self._names.get(top)}), qualname) is not value:
                return None
            if top not in self._done:
                source = self._sources.of_code(self._function.__code__)
                assert source is not None
                self._name(top, source, self._function_node())
            return ["name", qualname]
        if _walk(sys.modules.get(module), qualname) is not value:
            return None
        self._imports.add(module)
        return ["import", module, qualname]

    def _lambda_reference(self, value: types.FunctionType) -> Optional[Reference]:
        """A lambda in a container: found by its line and its code, and given a name."""
        source = self._sources.of_code(value.__code__) if value.__globals__ is self._names else None
        if source is None or value.__closure__ or value.__defaults__ or value.__kwdefaults__:
            return None
        found = {ast.dump(one): one for one in ast.walk(source.tree) if _is_lambda_of(one, value.__code__)}
        if len(found) != 1:
            return None
        [node] = found.values()
        name = f"_lambda_in_line_{node.lineno}_{node.col_offset}"  # type: ignore[attr-defined]
        kept = Kept(ast.Expr(node), ())  # type: ignore[arg-type]
        for used in sorted(names_used(kept, lazy_annotations=False)):
            self._name(used, source, node)
        self._lambdas.append(f"{name} = {ast.unparse(node)}")
        return ["name", name]

    def _function_node(self) -> ast.AST:
        return self._defined[self._root]

    def _is_own_class(self, kind: type) -> bool:
        return kind.__module__ == self._names.get("__name__") or self._own(kind.__module__)


def _is_lambda_of(node: ast.AST, code: types.CodeType) -> bool:
    if not isinstance(node, ast.Lambda) or node.lineno != code.co_firstlineno:
        return False
    outer = compile(ast.Expression(node), "lambda", "eval")
    made = next(one for one in outer.co_consts if isinstance(one, types.CodeType))
    return (made.co_code, made.co_names, made.co_varnames) == (code.co_code, code.co_names, code.co_varnames) and [
        one for one in made.co_consts if not isinstance(one, types.CodeType)
    ] == [one for one in code.co_consts if not isinstance(one, types.CodeType)]


def _walk(holder: Any, qualname: str) -> Any:
    for part in qualname.split("."):
        holder = getattr(holder, part, MISSING)
    return holder


def _is_data(value: Any) -> bool:
    try:
        values.to_tree(value)
    except values.ValueRefused:
        return False
    return not (isinstance(value, dict) and type(value) is not dict)  # a Counter is more than a dict


def _absolute(statement: ast.ImportFrom, package: str) -> str:
    if not statement.level:
        return statement.module or ""
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - statement.level + 1])
    return ".".join(one for one in (base, statement.module or "") if one)


def imported_modules(node: ast.AST, package: str) -> Iterator[str]:
    """The modules that the import statements in it name; some of the names may be no modules."""
    for one in ast.walk(node):
        if isinstance(one, ast.Import):
            yield from (alias.name for alias in one.names)
        elif isinstance(one, ast.ImportFrom):
            base = _absolute(one, package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in one.names)


def _place(node: ast.expr) -> Tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0
