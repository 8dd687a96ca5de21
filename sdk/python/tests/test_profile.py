"""Profiles in the server's canonical form: the vectors that both sides keep to."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from glovebox.profile.canonical import canonical_text, check_net, profile_hash

DOCUMENT = json.loads(
    (pathlib.Path(__file__).resolve().parents[3] / "tests/vectors/profiles.json").read_text(encoding="utf-8")
)
VECTORS = DOCUMENT["vectors"]
REFUSED = DOCUMENT["refused"]


@pytest.mark.parametrize("vector", VECTORS, ids=[one["name"] for one in VECTORS])
def test_every_spelling_has_the_same_canonical_text(vector: Any) -> None:
    for spelling in vector["spellings"]:
        assert canonical_text(spelling) == vector["canonical"]
        assert profile_hash(spelling) == vector["sha256"]


def test_defaults_of_a_template_complete_a_profile() -> None:
    defaults = {"timeout_ms": 60_000, "memory_mb": 1024, "disk_mb": 256, "cpu_thousandths": 500, "cpu_ms": None}
    text = json.loads(canonical_text({"pids": 5}, defaults))
    assert text["timeout_ms"] == 60_000
    assert text["memory_bytes"] == 1 << 30
    assert text["cpu_thousandths"] == 500
    assert text["cpu_ms"] == 0
    assert text["pids"] == 5


@pytest.mark.parametrize(
    "profile",
    [
        {"memory": 5},
        {"memory_mb": 7},
        {"memory_mb": 64.5},
        {"memory_mb": "64"},
        {"memory_mb": True},
        {"memory_mb": float("nan")},
        {"timeout_ms": 0},
        {"cpus": 0},
        {"net": "host"},
        {"mounts": [{"name": "a", "path": "/a/../b"}]},
        {"mounts": [{"name": "a", "path": "/a"}, {"name": "b", "path": "//a/"}]},
        {"mounts": [{"name": "a", "path": "/a", "mode": "w"}]},
        {"mounts": [{"name": "a", "path": ""}]},
        {"mounts": [{"name": "a", "path": "/" + "x" * 256}]},
    ],
    ids=repr,
)
def test_what_the_server_refuses_is_refused(profile: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        canonical_text(profile)


def test_an_unknown_net_is_refused_by_name() -> None:
    check_net("none")
    check_net(None)
    with pytest.raises(ValueError, match="'internet'"):
        check_net("internet")


@pytest.mark.parametrize("one", REFUSED, ids=lambda one: json.dumps(one["profile"])[:60])
def test_what_the_vectors_refuse_is_refused_at_its_place(one: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        canonical_text(one["profile"])
    place = one["at"].replace("profile.", "", 1)
    assert str(caught.value).startswith(place), f"{place}: {caught.value}"
