"""Plays tests/integration/sdk/scenarios.json; its README.md beside it says what the words mean."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from both_clients import Caller

import glovebox

FILE = Path(__file__).resolve().parents[3] / "tests" / "integration" / "sdk" / "scenarios.json"
PATIENCE_S = 60.0


def scenarios() -> List[Dict[str, Any]]:
    said = json.loads(FILE.read_text())
    assert said["format"] == 1
    return list(said["scenarios"])


class Mismatch(AssertionError):
    pass


@dataclass
class Later:
    """What was begun and not waited for."""

    thread: threading.Thread
    outcome: List[Tuple[Any, Optional[Exception]]] = field(default_factory=list)

    def is_over(self) -> bool:
        return not self.thread.is_alive()


class Player:
    """Plays one scenario with one client; a later step has a caller, and a thread, of its own."""

    def __init__(self, make_caller: Callable[[], Caller], caller: Caller) -> None:
        self._make_caller = make_caller
        self._caller = caller
        self._saved: Dict[str, Any] = {}
        self._unique: Dict[str, str] = {}
        self._later: Dict[str, Tuple[Later, Dict[str, Any]]] = {}

    def play(self, scenario: Dict[str, Any]) -> None:
        failed: Optional[BaseException] = None
        try:
            for number, step in enumerate(scenario["steps"]):
                try:
                    self._step(step)
                except Exception as error:
                    raise Mismatch(
                        f"step {number} {step.get('call') or step}: {type(error).__name__}: {error}"
                    ) from error
        except BaseException as error:
            failed = error
            raise
        finally:
            self._finish(scenario.get("finally", []), failed)

    def _finish(self, steps: List[Dict[str, Any]], failed: Optional[BaseException]) -> None:
        for step in steps:
            try:
                self._step(step)
            except Exception:
                if failed is None:
                    raise
        for value in self._saved.values():
            if hasattr(value, "close"):
                self._caller.wait(value.close())
        for value in self._saved.values():
            if type(value).__name__ == "Sandbox":
                self._caller.wait(value.kill())
        for later, _ in self._later.values():
            later.thread.join(PATIENCE_S)

    # --- steps ------------------------------------------------------------------------------------

    def _step(self, step: Dict[str, Any]) -> None:
        if "await" in step:
            later, begun = self._later[step["await"]]
            later.thread.join(PATIENCE_S)
            assert later.is_over(), "it does not end"
            self._judge({**begun, **step}, *later.outcome[0])
        elif "later" in step:
            self._begin(step)
        elif "until_done" in step:
            later, _ = self._later[step["until_done"]]
            deadline = time.monotonic() + PATIENCE_S
            while not later.is_over() and time.monotonic() < deadline:
                self._judge(step, *self._outcome(step, self._caller))
                later.thread.join(0.1)
            assert later.is_over(), "it does not end"
        elif "within" in step:
            self._until(step)
        else:
            self._judge(step, *self._outcome(step, self._caller))

    def _until(self, step: Dict[str, Any]) -> None:
        deadline = time.monotonic() + float(step["within"])
        while True:
            try:
                self._judge(step, *self._outcome(step, self._caller))
                return
            except Exception:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _begin(self, step: Dict[str, Any]) -> None:
        def work() -> None:
            with self._make_caller() as caller:
                later.outcome.append(self._outcome(step, caller))

        later = Later(threading.Thread(target=work))
        self._later[step["later"]] = (later, step)
        later.thread.start()

    def _outcome(self, step: Dict[str, Any], caller: Caller) -> Tuple[Any, Optional[Exception]]:
        heard: Dict[str, List[Any]] = {}
        try:
            value = self._find(step["get"]) if "get" in step else caller.wait(self._call(step, caller, heard))
            if "iterate" in step:
                value = self._iterate(value, step["iterate"], caller)
        except glovebox.GloveboxError as error:
            return None, error
        if "expect_callbacks" in step:
            texts = {name: "".join(pieces) for name, pieces in heard.items() if name in ("stdout", "stderr")}
            match(step["expect_callbacks"], {**heard, **texts}, self)
        return value, None

    def _call(self, step: Dict[str, Any], caller: Caller, heard: Dict[str, List[Any]]) -> Any:
        args = [self._value(arg) for arg in step.get("args", [])]
        options = {name: self._value(value) for name, value in step.get("options", {}).items()}
        if "from" in options:
            options["base"] = options.pop("from")
        for name in step.get("callbacks", []):
            heard[name] = []
            options["on_" + name] = heard[name].append
        first, *rest = step["call"].split(".")
        if first == "Sandbox":
            options["client"] = caller.client
        called: Any = {"run": caller.client.run, "client": caller.client, "Sandbox": caller.Sandbox}.get(first)
        if called is None:
            called = self._of_caller(self._saved[first], caller)
        for name in rest:
            called = getattr(called, name)
        return called(*args, **options)

    def _of_caller(self, value: Any, caller: Caller) -> Any:
        """A saved sandbox as another client sees it."""
        if caller is self._caller or type(value).__name__ != "Sandbox":
            return value
        return caller.wait(caller.Sandbox.connect(value.id, client=caller.client))

    def _iterate(self, value: Any, how: Any, caller: Caller) -> List[Any]:
        items: List[Any] = []
        source = value.__aiter__() if hasattr(value, "__aiter__") else iter(value)
        while not (isinstance(how, dict) and len(items) >= how.get("count", 1 << 60)):
            try:
                items.append(caller.wait(source.__anext__()) if hasattr(source, "__anext__") else next(source))
            except (StopIteration, StopAsyncIteration):
                break
            if isinstance(how, dict) and "until" in how and matches(how["until"], items[-1], self):
                break
        if not hasattr(value, "wait"):  # a process is used on
            caller.wait(value.close())
        return items

    def _judge(self, step: Dict[str, Any], value: Any, error: Optional[Exception]) -> None:
        if "error" in step:
            assert error is not None, f"no error came, but {value!r}"
            match(step["error"], error, self)
            return
        if error is not None:
            raise error
        if "save" in step:
            self._saved[step["save"]] = value
        if "expect" in step:
            match(step["expect"], value, self)

    # --- values -----------------------------------------------------------------------------------

    def _find(self, path: str) -> Any:
        name, _, rest = path.partition(".")
        value = self._saved[name]
        while rest:
            # A key of a map may have dots and slashes: "application/json".
            name, _, rest = rest.partition(".")
            value = look(value, name)[0]
        return value

    def special(self, said: Any) -> "Tuple[bool, Any]":
        """What an object with one key that begins with $ stands for."""
        if not isinstance(said, dict) or len(said) != 1:
            return False, None
        ((name, value),) = said.items()
        if name == "$ref":
            return True, self._find(value)
        if name == "$bytes":
            return True, base64.b64decode(value)
        if name == "$repeat":
            return True, value[0] * value[1]
        if name == "$unique":
            letters = "".join(random.choices(string.ascii_lowercase + string.digits, k=8))
            return True, self._unique.setdefault(value, value + letters)
        return False, None

    def _value(self, said: Any) -> Any:
        is_special, value = self.special(said)
        if is_special:
            return value
        if isinstance(said, dict):
            return {name: self._value(item) for name, item in said.items()}
        if isinstance(said, list):
            return [self._value(item) for item in said]
        return said


# --- patterns -------------------------------------------------------------------------------------


def look(value: Any, name: str) -> "Tuple[Any, bool]":
    """A field, an entry of a map, or a field of the answer that has another name here (`from`)."""
    if isinstance(value, dict):
        return value.get(name), name in value
    if hasattr(value, name):
        return getattr(value, name), True
    raw = getattr(value, "raw", {})
    return raw.get(name), name in raw


def matches(pattern: Any, value: Any, player: Player) -> bool:
    try:
        match(pattern, value, player)
    except Mismatch:
        return False
    return True


def match(pattern: Any, value: Any, player: Player, where: str = "it") -> None:
    def check(holds: bool) -> None:
        if not holds:
            raise Mismatch(f"{where} is {str(value)[:500]!r}, not as {json.dumps(pattern)[:300]}")

    is_special, wanted = player.special(pattern)
    if is_special:
        check(_equal(wanted, value))
    elif isinstance(pattern, dict) and len(pattern) == 1 and next(iter(pattern)).startswith("$"):
        ((name, said),) = pattern.items()
        _OPERATORS[name](said, value, player, check)
    elif isinstance(pattern, dict):
        for name, inner in pattern.items():
            if name == "type" and isinstance(value, Exception):
                if inner not in [kind.__name__ for kind in type(value).__mro__]:
                    raise Mismatch(f"{where} is a {type(value).__name__}, not a {inner}: {value}")
                continue
            found, is_there = look(value, name)
            if not is_there:
                raise Mismatch(f"{where} has no {name}: {str(value)[:500]}")
            match(inner, found, player, f"{where}.{name}")
    elif isinstance(pattern, list):
        check(isinstance(value, (list, tuple)) and len(value) == len(pattern))
        for index, (inner, item) in enumerate(zip(pattern, value)):
            match(inner, item, player, f"{where}[{index}]")
    else:
        check(_equal(pattern, value))


def _equal(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    return bool(wanted == value)


def _type_of(value: Any) -> str:
    for name, kinds in (
        ("boolean", bool),
        ("number", (int, float)),
        ("string", (str, datetime)),
        ("bytes", bytes),
        ("list", (list, tuple)),
        ("null", type(None)),
    ):
        if isinstance(value, kinds):
            return name
    return "object"


def _contains(said: Any, value: Any, player: Player, check: Any) -> None:
    if isinstance(value, str):
        check(said in value)
    else:
        check(isinstance(value, (list, tuple)) and any(matches(said, item, player) for item in value))


def _all(said: Any, value: Any, player: Player, check: Any) -> None:
    for inner in said:
        match(inner, value, player)


def _length(said: Any, value: Any, player: Player, check: Any) -> None:
    check(hasattr(value, "__len__"))
    match(said, len(value), player)


_OPERATORS: Dict[str, Callable[[Any, Any, Player, Any], None]] = {
    "$regex": lambda said, value, player, check: check(isinstance(value, str) and re.search(said, value) is not None),
    "$contains": _contains,
    "$length": _length,
    "$least": lambda said, value, player, check: check(isinstance(value, (int, float)) and value >= said),
    "$most": lambda said, value, player, check: check(isinstance(value, (int, float)) and value <= said),
    "$type": lambda said, value, player, check: check(_type_of(value) == said),
    "$not": lambda said, value, player, check: check(not matches(said, value, player)),
    "$all": _all,
}
