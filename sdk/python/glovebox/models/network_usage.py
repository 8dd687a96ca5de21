"""The network usage of a sandbox: ``sandbox.network()``, and ``metrics.network`` of a run.

Host names come from the guest, rules from the policy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, List, Mapping, Optional

__all__ = ["NetworkDecision", "NetworkFigures", "NetworkRefusal"]


@dataclass(frozen=True)
class NetworkDecision:
    """A decision of the network policy, and how often it was made."""

    what: str  # "connect" or "resolve"
    allowed: bool
    rule: str = ""  #: the reason: "allow pypi.org:443", "reserved: loopback", "not in the policy" …
    name: Optional[str] = None
    address: Optional[str] = None
    port: Optional[int] = None
    count: int = 1
    bytes_out: int = 0
    bytes_in: int = 0
    first_at: Optional[datetime] = None
    last_at: Optional[datetime] = None


@dataclass(frozen=True)
class NetworkRefusal:
    """What the network policy refused, and what would allow it."""

    rule: str = ""  #: the rule that decided, as in :class:`NetworkDecision`
    message: str = ""  #: one sentence for people
    allow: Optional[str] = None  #: the rule for ``net=`` that would allow it; None if none would
    name: Optional[str] = None
    address: Optional[str] = None
    port: Optional[int] = None
    last_at: Optional[datetime] = None


@dataclass(frozen=True)
class NetworkFigures:
    """Totals and decisions, the oldest decision first."""

    bytes_out: int = 0
    bytes_in: int = 0
    connections: int = 0
    denied: int = 0
    names: int = 0
    open: int = 0
    spent: List[str] = field(default_factory=list)  #: exhausted budgets: "bytes_out", "connections", "names"
    decisions: List[NetworkDecision] = field(default_factory=list)
    refusals: List[NetworkRefusal] = field(default_factory=list)  #: one per target
    left_out: int = 0  #: decisions that were counted, but are not in the list
    incomplete: bool = False  #: the gateway was restarted: earlier usage is missing
    net: Any = None  #: the policy of a sandbox; None for a run
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
