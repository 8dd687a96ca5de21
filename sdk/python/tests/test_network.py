"""``net=`` in requests, and what a sandbox did with its network; with both clients."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from both_clients import KINDS, Caller
from scripted_server import Scripted, answer, refusal

import glovebox
from glovebox.profile.network import canonical_net, canonical_rule, net_field

SANDBOX = {"id": "sb1", "state": "running", "template": "python", "net": {"allow": ["pypi.org"]}}
RUN = {"id": "rn1", "exit_code": 0, "stdout": "", "stderr": ""}
FIGURES = {
    "bytes_out": 10,
    "bytes_in": 20,
    "connections": 1,
    "denied": 2,
    "names": 1,
    "open": 0,
    "spent": ["names"],
    "left_out": 3,
    "incomplete": True,
    "decisions": [
        {
            "what": "connect",
            "allowed": True,
            "name": "pypi.org",
            "address": "151.101.0.223",
            "port": 443,
            "rule": "allow pypi.org",
            "count": 1,
            "bytes_out": 10,
            "bytes_in": 20,
            "first_at": "2026-11-15T13:57:15.394Z",
            "last_at": "2026-11-15T13:57:16Z",
        },
        {"what": "resolve", "allowed": False, "name": "evil.example", "rule": "not in the policy", "count": 2},
    ],
    "refusals": [
        {
            "name": "evil.example",
            "address": None,
            "port": None,
            "rule": "not in the policy",
            "allow": "evil.example",
            "message": "evil.example was refused",
            "last_at": "2026-11-15T13:57:16Z",
        },
    ],
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("https-only", "https-only"),
        (["pypi.org:443", "*.example.com"], {"allow": ["pypi.org:443", "*.example.com"]}),
        (("pypi.org",), {"allow": ["pypi.org"]}),
        ({"base": "all", "deny": ["evil.example"]}, {"base": "all", "deny": ["evil.example"]}),
        ([], {"allow": []}),
    ],
)
def test_a_list_is_what_may_be_reached(kind: str, said: Any, sent: Any) -> None:
    with Scripted(answer(200, RUN), answer(201, SANDBOX)) as server, Caller(kind, server.url) as call:
        call(lambda client: client.run("1", net=said))
        call(lambda client: call.Sandbox.create(net=said, client=client))
        assert [request.json["profile"] for request in server.requests] == [{"net": sent}, {"net": sent}]


def test_the_policy_of_a_sandbox_is_changed_while_it_runs(kind: str) -> None:
    changed = {**SANDBOX, "net": "none"}
    with Scripted(answer(200, SANDBOX), answer(200, changed), answer(200, FIGURES)) as server:
        with Caller(kind, server.url) as call:
            sandbox = call(lambda client: call.Sandbox.connect("sb" + 20 * "1", client=client))
            assert sandbox.record.net == {"allow": ["pypi.org"]}
            assert call.wait(sandbox.set_network(["pypi.org"])).net == "none"
            assert sandbox.record.net == "none"
            call.wait(sandbox.network())
        _, patch, get = server.requests
        assert (patch.method, patch.target) == ("PATCH", "/v1/sandboxes/sb1")
        assert patch.json == {"net": {"allow": ["pypi.org"]}}
        assert (get.method, get.target) == ("GET", "/v1/sandboxes/sb1/network")


def test_more_than_the_server_allows_is_forbidden(kind: str) -> None:
    answers = [answer(200, SANDBOX), refusal(403, "forbidden")]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        sandbox = call(lambda client: call.Sandbox.connect("sb" + 20 * "1", client=client))
        with pytest.raises(glovebox.ForbiddenError):
            call.wait(sandbox.set_network("all"))


def test_network_usage_is_parsed(kind: str) -> None:
    figures = {**FIGURES, "net": "all"}
    with Scripted(answer(200, SANDBOX), answer(200, figures)) as server, Caller(kind, server.url) as call:
        sandbox = call(lambda client: call.Sandbox.connect("sb" + 20 * "1", client=client))
        network = call.wait(sandbox.network())
    assert (network.net, network.bytes_out, network.denied, network.spent) == ("all", 10, 2, ["names"])
    assert (network.left_out, network.incomplete) == (3, True)
    (refusal,) = network.refusals
    assert (refusal.name, refusal.allow, refusal.rule) == ("evil.example", "evil.example", "not in the policy")
    first, second = network.decisions
    assert (first.name, first.address, first.port) == ("pypi.org", "151.101.0.223", 443)
    assert first.first_at == datetime(2026, 11, 15, 13, 57, 15, 394000, timezone.utc)
    assert (second.what, second.allowed, second.address, second.count) == ("resolve", False, None, 2)


def test_metrics_of_a_run_have_network_usage(kind: str) -> None:
    answers = [answer(200, {**RUN, "metrics": {"network": FIGURES}}), answer(200, {**RUN, "metrics": {}})]
    with Scripted(*answers) as server, Caller(kind, server.url) as call:
        assert call(lambda client: client.run("1", net="all")).metrics.network.connections == 1
        assert call(lambda client: client.run("1")).metrics.network is None


@pytest.mark.parametrize("net", [5, b"all", object(), 1.5, iter([])])
def test_invalid_policies_are_refused_before_sending(net: Any) -> None:
    with pytest.raises(TypeError):
        net_field(net)


def test_set_network_refuses_none(kind: str) -> None:
    with Scripted(answer(200, SANDBOX)) as server, Caller(kind, server.url) as call:
        sandbox = call(lambda client: call.Sandbox.connect("sb" + 20 * "1", client=client))
        with pytest.raises(TypeError, match='"none"'):
            call.wait(sandbox.set_network(None))


def test_a_canonical_rule_is_unchanged() -> None:
    for rule in ("*", "*:443", "*.a.example:1-2", "1.2.3.0/24:22", "[2001:db8::/32]:443", "::/0"):
        assert canonical_rule(rule) == rule
    assert canonical_net({"allow": {"b.example", "a.example"}}) == '{"allow":["a.example","b.example"]}'
