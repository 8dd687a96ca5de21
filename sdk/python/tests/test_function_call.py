"""A call as the body of a request."""

from __future__ import annotations

import base64
import json
import marshal
import os
import pathlib
import re
import zlib
from typing import Any, Dict, List

import pytest

from glovebox.functions.call_protocol import MAX_PLAIN, MIN_COMPILED, CallEncoder
from glovebox.functions.source import ShippedSource
from glovebox.values.codec import ValueRefused, decode

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCE = "from glovebox import sandboxed\n\n\n@sandboxed\ndef square(number):\n    return number * number\n"


def plan(source: str = SOURCE, large: bool = False, **request: Any) -> CallEncoder:
    return CallEncoder(
        ShippedSource("example", False, "square", "example.py", source), {"template": "python", **request}, large
    )


def sent(body: bytes) -> Dict[str, Any]:
    """What the guest half reads on its stdin."""
    fields = json.loads(body)
    if "stdin" in fields:
        return dict(json.loads(fields["stdin"]))
    return dict(json.loads(zlib.decompress(base64.b64decode(fields["stdin_base64"]))))


def arguments(body: bytes) -> List[Any]:
    return list(decode(json.dumps(sent(body)["call"])))


def test_a_request_of_plain_json() -> None:
    body = plan(profile={"memory_mb": 64}).body((7, "é\udc80"), {"b": b"x"})
    fields = json.loads(body)
    assert set(fields) == {"template", "profile", "code", "stdin"}
    assert body.isascii()
    payload = sent(body)
    assert payload["source"] == SOURCE and payload["function"] == "square" and payload["large"] is None
    assert arguments(body) == [[7, "é\udc80"], {"b": b"x"}]


def test_large_arguments_are_compressed() -> None:
    text = "x" * (MAX_PLAIN + 1)
    body = plan().body((text,), {})
    assert len(body) < 1 << 20
    assert arguments(body) == [[text], {}]


def test_too_large_arguments_are_refused_with_advice() -> None:
    with pytest.raises(ValueRefused, match=r"too large.*mount"):
        plan().body((os.urandom(32 << 20),), {})


def test_longer_modules_are_sent_with_bytecode() -> None:
    source = SOURCE + "# more\n" * MIN_COMPILED
    assert sent(plan().body((), {}))["code"] is None
    _, code = sent(plan(source).body((), {}))["code"]
    assert marshal.loads(base64.b64decode(code)).co_filename == "example.py"
    # What does not compile here says so there, where its caller sees it.
    assert sent(plan("def f(: pass\n" + "# more\n" * MIN_COMPILED).body((), {}))["code"] is None


def test_large_result_requests_the_result_file() -> None:
    fields = json.loads(plan(large=True).body((), {}))
    assert fields["return_files"] == [".glovebox-value"]
    assert sent(plan(large=True).body((), {}))["large"]["path"] == "/home/user/.glovebox-value"


def test_glovebox_bench_sends_what_a_call_sends() -> None:
    text = (ROOT / "src/bench/subjects.cc").read_text(encoding="utf-8")
    found = re.search(r"const Job kFunction\{(.*?)\};\n", text, re.DOTALL)
    assert found is not None
    written = "".join(re.findall(r'R"j\((.*?)\)j"', found.group(1), re.DOTALL))
    assert written.encode() == plan().body((7,), {})
