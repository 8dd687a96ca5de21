"""What a sandbox did with its network: ``sandbox.network()``, and ``metrics.network`` of a run.

Names in it are a guest's words, and rules are the policy's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, List, Mapping, Optional

__all__ = ["NetworkDecision", "NetworkFigures"]


@dataclass(frozen=True)
class NetworkDecision:
    """One kind of decision, and how often it was taken."""

    what: str  # "connect" or "resolve"
    allowed: bool
    rule: str = ""  #: by which: "allow pypi.org:443", "reserved: loopback", "not in the policy" …
    name: Optional[str] = None
    address: Optional[str] = None
    port: Optional[int] = None
    count: int = 1
    bytes_out: int = 0
    bytes_in: int = 0
    first_at: Optional[datetime] = None
    last_at: Optional[datetime] = None


@dataclass(frozen=True)
class NetworkFigures:
    """Totals, and the decisions behind them, oldest first."""

    bytes_out: int = 0
    bytes_in: int = 0
    connections: int = 0
    denied: int = 0
    names: int = 0
    open: int = 0
    spent: List[str] = field(default_factory=list)  #: budgets: "bytes_out", "connections", "names"
    decisions: List[NetworkDecision] = field(default_factory=list)
    left_out: int = 0  #: decisions that are counted, but of kinds that are not kept
    incomplete: bool = False  #: the gateway was restarted meanwhile: there was more than this
    net: Any = None  #: the policy, of a sandbox
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
