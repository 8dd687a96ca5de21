"""How long a map over many inputs takes, for each kind of reuse.

    python3 bench/map_cost.py [--inputs 10000] [--reuse sandbox interpreter] [--parallel 8] [--json]

The server is the one that GLOVEBOX_URL and GLOVEBOX_API_KEY name, or a private one. The results are compared
with what they must be.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from glovebox.examples import square


def seconds(inputs: int, reuse: str, parallel: int) -> float:
    function = square.with_options(reuse=reuse)
    list(function.map(range(50), parallel=parallel))  # so that its sandboxes are there
    start = time.perf_counter()
    values = list(function.map(range(inputs), parallel=parallel))
    took = time.perf_counter() - start
    assert values == [number * number for number in range(inputs)]
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--reuse", nargs="+", default=["sandbox", "interpreter"])
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    found = {}
    for reuse in wanted.reuse:
        found[reuse] = took = seconds(wanted.inputs, reuse, wanted.parallel)
        if not wanted.json:
            print(f"{reuse:12} {wanted.inputs} inputs in {took:.1f} s, {wanted.inputs / took:.0f} a second")
    if wanted.json:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
