"""The guest half of a function call: one function with what it uses of its module, on arguments that are data.

    {"v": 2, "module", "package", "function", "file", "source", "before", "code", "bundle", "mark", "large",
     "values": [early, late, attributes], "call": [arguments, keywords]}

comes on stdin (or that compressed with zlib), as glovebox.functions of the Python SDK writes it; the
value, or what was raised, goes back as one result. Both are encoded by values.py, which is the SDK's
own file. The code of such a run is one line that calls main(); in a zygote all of this is loaded.

Where calls share an interpreter the line calls again(), with all of that but "call": what the calls
have in common is then part of the code, by which the server decides which calls share one.
"""
import binascii
import json
import linecache
import sys
import zlib
from _json import encode_basestring_ascii as quoted

# `load` is given by runner.load(), which loads this.
runner = sys.modules["_glovebox_runner"]
values = load("values")
MIME = b"application/vnd.glovebox.value"
MOST_LINE = 8 << 20
ROOM = 1 << 12
MOST_MARKS = 30_000  # node/runs/result_lines.h has the bound
MOST_MESSAGE = 1 << 16
WHAT_SHIPS = (
    " (a call sends what its function uses, without installed packages: name the package of %s in dependencies=[...],"
    " or use a template that has it)"
)


class Call:
    """What arrived."""

    __slots__ = ("module", "is_package", "function", "file", "source", "before", "code", "bundle", "mark", "large",
                 "values", "tree")


def main():
    call = source = None
    try:
        call = read_call(sys.stdin.buffer.read())
        source = Source(call)
        value = run(call, source)
        text = '{"value":%s}' % values.encode(value)
        value = None
        if send(text, call):
            return
        raise values.ValueRefused(too_large(call, text))
    except BaseException as error:
        send_raised(error, call, source)
    raise SystemExit(1)


_shared = None  # the call whose module is loaded, its source and its function


def again(text):
    """One of many calls of one function. Only the first of them loads its module."""
    global _shared
    call = source = None
    try:
        data = sys.stdin.buffer.read()
        tree = json.loads(data if data[:1] == b"{" else zlib.decompress(data))["call"]
        if _shared is None:
            call = call_of({**json.loads(text), "call": None})
            source = Source(call)
            sys.modules["glovebox"] = load("inside").module()
            _shared = call, source, find_function(call, source)
        call, source, function = _shared
        text = '{"value":%s}' % values.encode(call_function(function, tree))
        if send(text, call):
            return
        raise values.ValueRefused(too_large(call, text))
    except BaseException as error:
        send_raised(error, call, source)
    raise SystemExit(1)


SAMPLE = b'''{"v": 2, "module": "rehearsal", "package": false, "function": "f", "file": "rehearsal.py", "source":
"from __future__ import annotations\\nfrom glovebox import sandboxed\\n@sandboxed(mem_mb=64)\\ndef f(a: int, b=2):\\n    return [a, {'b': b}]\\n",
"before": [], "code": null, "bundle": null, "mark": "-", "large": null, "values": [[["N", {"a": [1]}]], [], []], "call": [[1, "a", 1.5, [1, {"a": {"$": "tuple", "v": [1]}}]], {"b": 2}]}'''


def rehearse():
    """Does what a call will, with nothing to show for it; see zygote.rehearse()."""
    call = read_call(SAMPLE)
    source = Source(call)
    sys.modules["glovebox"] = load("inside").module()
    try:
        module = make_module(call, source)
        sys.modules[call.module] = module
        fill_module(module, call)
        arguments, keywords = values.from_tree(call.tree, None)
        quoted('{"value":%s}' % values.encode(module.f(1, **keywords))).encode("ascii")
        runner._forget_globals(module.__dict__)
    finally:
        for name in ("glovebox", call.module):
            sys.modules.pop(name, None)
        linecache.cache.pop(call.file, None)
        load("inside_names").decorated.clear()


def read_call(data):
    if data[:1] != b"{":
        data = zlib.decompress(data)
    return call_of(json.loads(data))


def call_of(fields):
    if fields.get("v") != 2:
        raise ValueError("the versions of the SDK and of the server do not match: install the same version of both")
    call = Call()
    call.module, call.is_package, call.function = fields["module"], fields["package"], fields["function"]
    call.file, call.source, call.code = fields["file"], fields["source"], fields.get("code")
    call.before, call.bundle, call.mark = fields["before"], fields["bundle"], fields["mark"]
    call.large, call.values, call.tree = fields.get("large"), fields["values"], fields["call"]
    return call


class Source:
    """The module's __loader__: for tracebacks and inspect."""

    def __init__(self, call):
        self._text = call.source

    def get_source(self, fullname=None):
        return self._text

    def is_package(self, fullname):
        return False


def run(call, source):
    sys.modules["glovebox"] = load("inside").module()
    tree, call.tree = call.tree, None
    return call_function(find_function(call, source), tree)


def find_function(call, source):
    try:
        module = load_module(call, source)
    except ModuleNotFoundError as error:
        explain(error)
        raise
    function = load("inside_names").decorated.get((call.module, call.function))
    return getattr(module, call.function) if function is None else function


def call_function(function, tree):
    arguments, keywords = values.from_tree(tree, None)
    try:
        value = function(*arguments, **keywords)
        if hasattr(type(value), "__await__"):
            value = finish(value)
        return value
    except ModuleNotFoundError as error:
        explain(error)
        raise


def explain(error):
    if error.name and error.args and type(error.args[0]) is str:
        error.msg = error.args[0] + WHAT_SHIPS % error.name.partition(".")[0]
        error.args = (error.msg,)


def finish(awaitable):
    import asyncio

    async def wait():
        return await awaitable

    return asyncio.run(wait())


def load_module(call, source):
    module = make_module(call, source)
    if call.bundle is not None:
        load("function_bundle").unpack(module, call)
        if call.bundle["has_package"]:
            return load("function_bundle").imported(module, call, fill_module)
    sys.modules[call.module] = module
    fill_module(module, call)
    return module


def make_module(call, source):
    module = type(sys)(call.module)
    module.__file__ = call.file
    module.__loader__ = source
    if call.is_package:
        module.__path__ = []
        module.__package__ = call.module
    else:
        module.__package__ = call.module.rpartition(".")[0]
    linecache.cache[call.file] = (source.get_source,)  # split into lines only when needed
    return module


def fill_module(module, call):
    """Runs the definitions, between the values that they may need and those that need them."""
    names = module.__dict__
    early, late, attributes = call.values
    for entry in early:
        names[entry[0]] = value_of(entry, names, call.mark)
    for file, text in call.before:
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec", 0, True), names)
    exec(code_of(call), names)
    for entry in late:
        names[entry[0]] = value_of(entry, names, call.mark)
    for owner, *entry in attributes:
        try:
            setattr(names[owner], entry[0], value_of(entry, names, call.mark))
        except (AttributeError, KeyError, TypeError):
            pass  # a decorator made something else of the class
    call.values = None


def value_of(entry, names, mark):
    value = values.from_tree(entry[1], None)
    return value if len(entry) == 2 else Maker(entry[2], names, mark).fill(value)


class Maker:
    """Makes what is not data from its parts; glovebox.functions.module_values of the SDK has the format."""

    def __init__(self, makes, names, mark):
        self._makes, self._names, self._mark, self._made = makes, names, mark, {}

    def fill(self, value):
        kind = type(value)
        if kind is str:
            return self._make(int(value[len(self._mark) :])) if value.startswith(self._mark) else value
        if kind in (list, tuple, set, frozenset):
            return kind([self.fill(one) for one in value])
        if kind is dict:
            return {self.fill(key): self.fill(one) for key, one in value.items()}
        return value

    def _make(self, place):
        if place not in self._made:
            self._made[place] = self._new(*self._makes[place])
        return self._made[place]

    def _new(self, kind, *parts):
        if kind == "name":
            first, _, rest = parts[0].partition(".")
            return attribute_of(self._names[first], rest)
        if kind == "import":
            __import__(parts[0])
            return attribute_of(sys.modules[parts[0]], parts[1])
        function, arguments, keywords, state = self.fill(values.from_tree(parts[0], None))
        made = function(*arguments, **keywords)
        if state is not None:
            made.__dict__.update(state)
        return made


def attribute_of(value, qualname):
    for part in qualname.split(".") if qualname else ():
        value = getattr(value, part)
    return value


def code_of(call):
    """Compiled by the caller, if its Python has the same bytecode; else here."""
    if call.code is not None:
        magic, data = call.code
        if magic == sys.modules["_frozen_importlib_external"].MAGIC_NUMBER.hex():
            import marshal

            return marshal.loads(binascii.a2b_base64(data))
    return compile(call.source, call.file, "exec", 0, True)


def send(text, call):
    """Whether there was room for it."""
    # The server counts what could be values of a line, also within a text.
    if text.count(",") + text.count("[") + text.count("{") <= MOST_MARKS:
        line = quoted(text).encode("ascii")
        if len(line) <= MOST_LINE - ROOM:
            send_line(MIME, line)
            return True
    packed = zlib.compress(text.encode("ascii"), 1)
    if len(packed) * 4 // 3 <= MOST_LINE - ROOM:
        send_line(MIME + b"-z", b'"%s"' % binascii.b2a_base64(packed, newline=False))
        return True
    if call is None or call.large is None or len(packed) > call.large["most"]:
        return False
    with open(call.large["path"], "wb") as file:
        file.write(packed)
    send_line(MIME + b"-file", quoted(call.large["path"]).encode("ascii"))
    return True


def send_line(mime, quoted_text):
    runner.results().send(b'{"type":"result","mime":{"%s":%s},"main":true}\n' % (mime, quoted_text))


def too_large(call, text):
    if call.large is None:
        return (
            "the value of %s is too large: %.1f MB as data, and about 8 MB come back; for up to 16 MB say"
            " @sandboxed(large_result=True), for more write it to a directory of fs=[\"rw:...\"]"
            % (call.function, len(text) / 1e6)
        )
    return (
        "the value of %s is too large: %.1f MB as data, and about 16 MB come back, compressed; write it to a"
        " directory of fs=[\"rw:...\"]" % (call.function, len(text) / 1e6)
    )


def send_raised(error, call, source):
    """As data for the caller, and as the error of the run, for its record. Not printed: the caller has it."""
    failure = load("failure")
    sys.excepthook = _quiet
    name = call.file if call is not None else "main.py"
    failure.report(runner.results(), error, name, source)
    kind = type(error)
    raised = {
        "type": failure._qualified(kind),
        "builtin": kind.__module__ == "builtins",
        "refused": kind is values.ValueRefused,
        "message": failure._shortened(message_of(error)),
        "args": arguments_of(error),
        "traceback": failure._shortened(text_of(failure, error)),
    }
    if isinstance(error, ImportError):
        raised.update(name=plain_text(error.name), path=plain_text(error.path))
    send('{"raised":%s}' % json.dumps(raised), None)


def _quiet(*_):
    pass


def message_of(error):
    try:
        return str(error)
    except BaseException:
        return "<exception str() failed>"


def arguments_of(error):
    """Those of its arguments that are data, if all are and they are small."""
    try:
        tree = values.to_tree(list(error.args) + names_of(error))
        return tree if len(json.dumps(tree)) <= MOST_MESSAGE else None
    except BaseException:
        return None


def names_of(error):
    """Of an OSError: its files, which Python takes as arguments and keeps elsewhere."""
    if not isinstance(error, OSError) or error.filename is None or len(error.args) != 2:
        return []
    names = [error.filename] if error.filename2 is None else [error.filename, None, error.filename2]
    return [name.__fspath__() if hasattr(name, "__fspath__") else name for name in names]


def plain_text(value):
    return value if type(value) is str else None


def text_of(failure, error):
    try:
        return failure._format(error, error.__traceback__)
    except BaseException:
        return ""
