"""Network policies: the argument ``net=``, and its canonical form.

``"none"`` (nothing: the default), ``"https-only"`` (port 443 of public addresses, by TLS with a name),
``"all"`` (every public address), a list of what may be reached, or a dict with ``allow``, ``deny``,
``base``, ``budgets`` and ``precedence``. A rule is a name, the names below one or a range of addresses,
with or without ports: ``"pypi.org:443"``, ``"*.example.com"``, ``"192.0.2.0/24:8000-8100"``,
``"[2001:db8::/32]:443"``, ``"*:443"``. src/net/net_rule.cc and net_policy.cc do the same.

>>> canonical_net(["PyPI.org.:443"])
'{"allow":["pypi.org:443"]}'
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

__all__ = ["Net", "canonical_net", "canonical_rule", "check_net", "net_field"]

#: A network policy, as ``net=`` takes it.
Net = Union[str, Sequence[str], Mapping[str, Any]]

_BASES = ("none", "https-only", "all")
_BUDGETS = ("bytes_out", "connections", "names")
_FIELDS = ("allow", "base", "budgets", "deny", "precedence")
_MAX_RULES = 256
_MAX_RULE = 320
_MAX_BUDGET = 1 << 53
_PORT = re.compile(r"[1-9][0-9]{0,4}\Z")
_PREFIX = re.compile(r"(0|[1-9][0-9]{0,2})\Z")
_LABEL = re.compile(r"[a-z0-9_-]{1,63}\Z")
_NUMBER = re.compile(r"([0-9]+|0x[0-9a-f]*)\Z")


def net_field(net: Optional[Net]) -> Optional[Any]:
    """The field ``net`` of a request; a list is what may be reached.

    >>> net_field(["pypi.org"]), net_field("all")
    ({'allow': ['pypi.org']}, 'all')
    """
    if net is None or isinstance(net, str):
        return net
    if isinstance(net, Mapping):
        return dict(net)
    if isinstance(net, (bytes, bytearray)) or not isinstance(net, (Sequence, set, frozenset)):
        raise TypeError(f"net must be a string, a list of rules or a dict, not {type(net).__name__}")
    return {"allow": list(net)}


def check_net(net: Optional[Net]) -> None:
    """Refuses what the server would refuse, and names the place of the mistake.

    >>> check_net({"deny": ["127.1"]})
    Traceback (most recent call last):
    ValueError: net.deny[0]: '127.1': the last part of a host name must not be a number
    """
    canonical_net(net)


def canonical_net(net: Optional[Net]) -> str:
    """JSON with sorted keys and no spaces, without defaults."""
    policy = net_field(net)
    if policy is None:
        return '"none"'
    if isinstance(policy, str):
        if policy not in _BASES:
            raise ValueError(
                f'net={policy!r} is invalid: use "none", "https-only", "all", or a list of what may be reached, '
                'like ["pypi.org:443"]'
            )
        return f'"{policy}"'
    return _object_text({name: value for name, value in policy.items() if value is not None})


def canonical_rule(text: str) -> str:
    """The canonical spelling of a rule.

    >>> canonical_rule("192.0.2.1:80-80"), canonical_rule("[2001:DB8:0::/32]:443")
    ('192.0.2.1/32:80', '[2001:db8::/32]:443')
    """
    if not isinstance(text, str):
        raise TypeError(f"a rule must be a string, not {type(text).__name__}")
    if not text:
        raise ValueError("a rule must not be empty")
    if len(text.encode("utf-8", "surrogatepass")) > _MAX_RULE:
        raise ValueError("a rule is too long")
    if "://" in text:
        raise ValueError(f"{text!r} is a URL: a rule is a name or an address, like example.com:443")
    target, ports, is_range = _split(text)
    made, is_v6 = _target(target, is_range)
    end = "" if ports is None else _ports(text, ports)
    return f"[{made}]{end}" if is_v6 and end else made + end


def _object_text(policy: Mapping[str, Any]) -> str:
    unknown = sorted(set(policy) - set(_FIELDS))
    if unknown:
        raise ValueError(f"net.{unknown[0]} is an unknown field")
    allow, deny = _rules(policy, "allow"), _rules(policy, "deny")
    budgets = _budgets(policy.get("budgets"))
    precedence = policy.get("precedence", "deny")
    if precedence not in ("allow", "deny"):
        raise ValueError("net.precedence must be deny or allow: the list that wins")
    base = policy.get("base")
    if base is None:
        if "allow" not in policy and "deny" not in policy:
            raise ValueError("net must have allow, deny or base")
        base = "none" if "allow" in policy else "all"
    elif base not in _BASES:
        raise ValueError("net.base must be none, https-only or all")
    if base == "none" and not allow:
        return '"none"'
    fields: List[str] = []
    if allow:
        fields.append(f'"allow":{_list_text(allow)}')
    if not (allow or deny) or base != ("none" if allow else "all"):
        fields.append(f'"base":"{base}"')
    if budgets:
        fields.append('"budgets":{' + ",".join(f'"{name}":{budgets[name]}' for name in sorted(budgets)) + "}")
    if deny:
        fields.append(f'"deny":{_list_text(deny)}')
    if precedence == "allow" and allow and deny:
        fields.append('"precedence":"allow"')
    if not (allow or deny or budgets):
        return f'"{base}"'
    return "{" + ",".join(fields) + "}"


def _rules(policy: Mapping[str, Any], name: str) -> List[str]:
    listed = policy.get(name, [])
    if isinstance(listed, (str, bytes)) or not isinstance(listed, (Sequence, set, frozenset)):
        raise TypeError(f"net.{name} must be a list of strings")
    if len(listed) > _MAX_RULES:
        raise ValueError(f"net.{name} must have at most {_MAX_RULES} entries")
    made = []
    for index, rule in enumerate(listed):
        try:
            made.append(canonical_rule(rule))
        except (TypeError, ValueError) as error:
            raise type(error)(f"net.{name}[{index}]: {error}") from None
    return made


def _list_text(rules: Sequence[str]) -> str:
    return "[" + ",".join(f'"{rule}"' for rule in sorted(set(rules))) + "]"


def _budgets(policy: Any) -> Dict[str, int]:
    if policy is None:
        return {}
    if not isinstance(policy, Mapping):
        raise TypeError("net.budgets must be a dict")
    made: Dict[str, int] = {}
    for name, number in policy.items():
        if name not in _BUDGETS:
            raise ValueError(f"net.budgets.{name} is an unknown field")
        if number is None:
            continue
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        if not is_number or not 0 <= number <= _MAX_BUDGET or int(number) != number:
            raise ValueError(f"net.budgets.{name} must be a whole number from 0 to {_MAX_BUDGET}")
        made[name] = int(number)
    return made


def _split(text: str) -> Tuple[str, Optional[str], bool]:
    """The target, the ports, and whether the target must be a range of addresses."""
    if text.startswith("["):
        inner, bracket, rest = text[1:].partition("]")
        if not bracket:
            raise ValueError(f"{text!r}: a ']' is missing")
        if ":" not in inner:
            raise ValueError(f"{text!r}: only IPv6 addresses are written in [ ]")
        if rest and not rest.startswith(":"):
            raise ValueError(f"{text!r}: only ':' and a port may follow ']'")
        return inner, rest[1:] if rest else None, True
    if text.count(":") < 2:
        target, colon, ports = text.partition(":")
        return target, ports if colon else None, False
    if "/" in text and ":" in text[text.index("/") :]:
        raise ValueError(f"{text!r}: write an IPv6 range with a port like [2001:db8::/32]:443")
    return text, None, True


def _ports(text: str, ports: str) -> str:
    first, dash, last = ports.partition("-")
    if not dash:
        last = first
    if not _PORT.match(first) or not _PORT.match(last) or int(last) > 65535 or int(first) > int(last):
        raise ValueError(f"{text!r}: a port must be a number from 1 to 65535, or a range like 8000-8100")
    if (int(first), int(last)) == (1, 65535):
        return ""
    return f":{first}" if first == last else f":{first}-{last}"


def _target(text: str, is_range: bool) -> Tuple[str, bool]:
    """The target in canonical spelling, and whether it is IPv6."""
    if not is_range:
        if text == "*":
            return "*", False
        if text.startswith("*."):
            return "*." + _host_name(text[2:]), False
        if "*" in text:
            raise ValueError(f"{text!r}: '*' must stand alone, or be the first part of a host name: *.example.com")
        if "/" not in text and _address(text) is None:
            return _host_name(text), False
    return _range(text)


def _address(text: str) -> Optional[bytes]:
    """4 or 16 bytes; an IPv4-mapped address stays 16 bytes."""
    # inet_pton() of some systems stops at a NUL byte or accepts a zone.
    if not text.isascii() or "\0" in text or "%" in text:
        return None
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_pton(family, text)
        except (OSError, ValueError):
            continue
    return None


def _range(text: str) -> Tuple[str, bool]:
    head, slash, prefix = text.partition("/")
    address = _address(head)
    if address is None:
        raise ValueError(f"{text!r} is not an address: write four decimal numbers or IPv6, with or without /prefix")
    bits = len(address) * 8
    if slash and (not _PREFIX.match(prefix) or int(prefix) > bits):
        raise ValueError(f"{text!r}: the prefix must be a number from 0 to {bits}")
    length = int(prefix) if slash else bits
    if bits == 128 and address.startswith(b"\0" * 10 + b"\xff\xff"):
        if length < 96:
            raise ValueError(f"{text!r}: the prefix of an IPv4-mapped range must be 96 to 128")
        address, length = address[12:], length - 96
    network = ipaddress.ip_network((address, length), strict=False)
    if network.network_address.packed != address:
        raise ValueError(f"{text!r}: bits after the prefix are set; did you mean {network.compressed}?")
    return network.compressed, len(address) == 16


def _host_name(text: str) -> str:
    name = text[:-1] if text.endswith(".") else text
    if not name.isascii():
        raise ValueError(f"{text!r} is not ASCII: write an international host name in its xn-- form")
    name = name.lower()
    labels = name.split(".")
    if not name or len(name) > 253 or not all(_LABEL.match(label) for label in labels):
        raise ValueError(
            f"{text!r} is not a host name: use letters, digits, '-' and '_' in parts of at most 63 bytes, 253 in total"
        )
    if _NUMBER.match(labels[-1]):
        raise ValueError(f"{text!r}: the last part of a host name must not be a number")
    return name
