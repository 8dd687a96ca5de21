"""The conformance suite of all SDKs, with the sync and the async client."""

from __future__ import annotations

from typing import Any, Dict, Set

import pytest
from both_clients import KINDS, Caller
from conformance import Mismatch, Player, match, scenarios
from live import Live

SCENARIOS = scenarios()


@pytest.fixture(scope="module")
def offers(server: Live) -> Set[str]:
    """What scenarios may need: templates, and routes of the contract."""
    with server.client() as client:
        found = {f"template:{template.name}" for template in client.templates.list()}
        stream = client._stream(_contract())
        lines = stream.collect(10_000_000).decode().splitlines()
    path = ""
    for line in lines:
        if line.startswith("  /"):
            path = line.strip().rstrip(":")
        elif line.startswith("    ") and line.strip() in ("get:", "post:", "put:", "patch:", "delete:"):
            found.add(f"route:{line.strip()[:-1].upper()} {path}")
    return found


def _contract() -> Any:
    from glovebox.transport.request import Request

    return Request("GET", "/openapi.yaml", lambda said: said)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["name"])
def test_scenario(scenario: Dict[str, Any], kind: str, server: Live, offers: Set[str]) -> None:
    missing = [need for need in scenario.get("needs", []) if need not in offers]
    if missing:
        pytest.skip(f"the server has no {', '.join(missing)}")

    def make_caller() -> Caller:
        return Caller(kind, server.url, server.api_key, timeout=60)

    with make_caller() as caller:
        Player(make_caller, caller).play(scenario)


def test_scenarios_are_many_and_have_unique_names() -> None:
    names = [scenario["name"] for scenario in SCENARIOS]
    assert len(names) >= 40 and len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {}),
        ({"a": None}, {}),
        ([1], [1, 2]),
        (1, True),
        (1, "1"),
        ({"$contains": {"a": 1}}, [{"a": 2}]),
        ({"$regex": "^x"}, "ax"),
        ({"$length": 2}, "abc"),
        ({"$least": 2}, 1),
        ({"$type": "number"}, True),
        ({"$not": 1}, 1),
        ({"$all": [1, 2]}, 1),
        ({"$bytes": "YQ=="}, "a"),
    ],
)
def test_a_pattern_that_does_not_hold_fails(pattern: Any, value: Any) -> None:
    with pytest.raises(Mismatch):
        match(pattern, value, Player(lambda: None, None))  # type: ignore[arg-type,return-value]
