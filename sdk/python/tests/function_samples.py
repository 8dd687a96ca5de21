"""Functions for the live tests."""

from __future__ import annotations

import builtins
import functools
import os
import sys
import time
from typing import Any, Dict, List

from glovebox import GloveboxError, Sandbox, sandboxed

CALLS_AT_IMPORT: List[str] = []


class Broken(ValueError):
    """No builtin, though it is made of one."""


@sandboxed
def echo(value: Any = None, *more: Any, **named: Any) -> Any:
    return (value, list(more), named) if more or named else value


@sandboxed
def kind_of(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


@sandboxed
def double(number: int) -> int:
    return 2 * number


@sandboxed
def raise_one(name: str, *arguments: Any) -> None:
    raise (Broken if name == "Broken" else getattr(builtins, name))(*arguments)


@sandboxed
def raise_from_another() -> None:
    try:
        [][1]
    except IndexError as error:
        raise Broken("outer") from error


@sandboxed
def talk(words: str) -> int:
    print(words)
    print(words.upper(), file=sys.stderr)
    return len(words)


@sandboxed
async def later(number: int) -> int:
    import asyncio

    await asyncio.sleep(0)
    return number + 1


@sandboxed
def when(seconds: float) -> Any:
    start = time.time()
    time.sleep(seconds)
    return start, time.time()


@sandboxed
def environment() -> Dict[str, str]:
    return dict(os.environ)


@sandboxed
def listing(path: str) -> List[str]:
    return sorted(os.listdir(path))


@sandboxed
def read(path: str) -> str:
    with open(path) as file:
        return file.read()


@sandboxed
def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


@sandboxed
def sleep(seconds: float) -> None:
    time.sleep(seconds)


@sandboxed
def spin() -> None:
    while True:
        pass


@sandboxed
def eat(megabytes: int) -> int:
    return len(bytearray(megabytes << 20))


@sandboxed
def leave(status: int) -> None:
    os._exit(status)


@sandboxed
def lie(line: str) -> None:
    """Writes its own answer to the results' pipe and goes, as hostile code would."""
    data = line.encode() + b'\n{"type":"exit","code":0}\n'
    while data:
        data = data[os.write(100, data) :]
    os._exit(0)


@sandboxed
def text_of(size: int) -> str:
    return "ab" * (size // 2)


@sandboxed
def noise(size: int) -> bytes:
    return os.urandom(size)


@sandboxed
def imports(*names: str) -> List[bool]:
    """Which modules are imported already."""
    return [name in sys.modules for name in names]


@sandboxed
def bring(name: str) -> str:
    return str(__import__(name))


@sandboxed
def uses_others(numbers: List[int]) -> Any:
    return double(1), list(double.map(numbers)), double.local(5), double.with_options(mem_mb=64)(6)


@functools.cache
@sandboxed
def cached(number: int) -> int:
    return number


def added(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(number: int) -> int:
        return int(function(number)) + 1

    return wrapper


@added
@sandboxed
def decorated_above(number: int) -> int:
    return number


@sandboxed
@added
def decorated_below(number: int) -> int:
    return number


@sandboxed
def about_the_sdk() -> List[str]:
    import glovebox
    import glovebox.aio

    said = [str(issubclass(GloveboxError, Exception)), glovebox.aio.__name__]
    for use in (lambda: Sandbox.create(), lambda: glovebox.run("1"), lambda: glovebox.Client()):
        try:
            use()
        except RuntimeError as error:
            said.append(str(error))
    return said


@sandboxed
def names_of_the_module() -> List[str]:
    return [__name__, __file__, ",".join(CALLS_AT_IMPORT), double.__qualname__, type(double).__name__]


if __name__ == "__main__":
    CALLS_AT_IMPORT.append("main")
