"""What a call sends besides its arguments, for people: ``print(score.shipment())``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional

from .own_modules import Bundle
from .source import ShippedSource

__all__ = ["Shipment"]


@dataclass(frozen=True)
class Shipment:
    """``source`` is the text that runs inside; ``values`` has the bytes of each value of the module that is sent."""

    function: str
    source: str
    values: Dict[str, int]
    bundle: Optional[Bundle]

    @classmethod
    def of(cls, shipped: ShippedSource) -> "Shipment":
        texts = [text for _, text in shipped.before] + [shipped.text]
        values = shipped.plan.sizes() if shipped.plan is not None else {}
        return cls(shipped.function, "\n".join(text.strip("\n") for text in texts), values, shipped.bundle)

    def __str__(self) -> str:
        lines = sum(1 for line in self.source.split("\n") if line.strip())
        made = [f"{self.function}: {lines} lines of source"]
        made += [f"  {name}: {size} bytes" for name, size in self.values.items()]
        if self.bundle is not None:
            made.append(f"  modules and files: {self.bundle}")
            made += [f"    {path}: {size} bytes" for path, size in self.bundle.files.items()]
        return "\n".join(made)
