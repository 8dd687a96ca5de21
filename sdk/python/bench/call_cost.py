"""What a call of a sandboxed function costs beside a plain run of the same work: p50 of both, interleaved.

    python3 bench/call_cost.py [--calls 300] [--pause 10] [--json]

The promise (docs/sdk/functions.md): a warm call takes at most 1.5 times a ``POST /v1/run``. The server is
the one that GLOVEBOX_URL and GLOVEBOX_API_KEY name, or a private one. Exits with 1 if the promise is not
kept.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
import time
from typing import Any, Callable, Dict, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from glovebox import default_client
from glovebox.examples import square

MOST = 1.5
PLAIN = {"language": "python", "code": "number = 7\nnumber * number"}


def plain() -> None:
    answer = default_client()._request("POST", "/v1/run", PLAIN)
    assert answer["result"]["text/plain"] == "49", answer


def call() -> None:
    assert square(7) == 49


def warm_up() -> None:
    """Until sandboxes wait with their interpreter inside."""
    for _ in range(200):
        if default_client()._request("POST", "/v1/run", PLAIN)["warm"]:
            return
        time.sleep(0.05)
    sys.exit("the template python does not get warm")


def measured(ways: Dict[str, Callable[[], None]], calls: int, pause_ms: float) -> Dict[str, List[float]]:
    times: Dict[str, List[float]] = {name: [] for name in ways}
    for _ in range(20):
        for way in ways.values():
            way()
    for _ in range(calls):
        for name, way in ways.items():
            time.sleep(pause_ms / 1000)
            start = time.perf_counter()
            way()
            times[name].append((time.perf_counter() - start) * 1000)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--pause", type=float, default=10, help="milliseconds between calls; 0: back to back")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    warm_up()
    times = measured({"run": plain, "call": call}, wanted.calls, wanted.pause)
    found: Dict[str, Any] = {
        name: {"p50_ms": statistics.median(some), "p90_ms": statistics.quantiles(some, n=10)[-1]}
        for name, some in times.items()
    }
    found["ratio"] = found["call"]["p50_ms"] / found["run"]["p50_ms"]
    found["most"] = MOST
    if wanted.json:
        print(json.dumps(found))
    else:
        for name in times:
            print(f"{name:5} p50 {found[name]['p50_ms']:.2f} ms   p90 {found[name]['p90_ms']:.2f} ms")
        print(f"ratio {found['ratio']:.2f} (at most {MOST})")
    return 0 if found["ratio"] <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
