"""A function mapped over 1,000 inputs, each call in a sandbox of its own.

    PYTHONPATH=sdk/python python3 examples/map_1000.py [HOW-MANY]    # from the repository
    python3 map_1000.py [HOW-MANY]                                   # with the package `glovebox` installed

The expressions below are untrusted input, and some of them are hostile. A call that fails does not affect the
other 999.

Memory limits need cgroups: run it as root, or use a server that runs as root. A limit that cannot be enforced is
refused, never ignored.
"""
import sys
import time
from collections import Counter

from glovebox import RemoteError, sandboxed


@sandboxed(timeout=10, cpu_ms=1000, mem_mb=64, disk_mb=16)
def evaluate(expression):
    """eval() of untrusted text: safe only in a sandbox."""
    return eval(expression)


def expressions(count):
    """Mostly sums, with a hostile expression now and then."""
    for i in range(count):
        if i % 100 == 33:
            yield "1 / 0"
        elif i % 250 == 77:
            yield "'x' * 10**10"  # more memory than there is
        elif i % 500 == 444:
            yield "all(n == 0 for n in iter(int, 1))"  # never ends
        else:
            yield f"sum(n * n for n in range({i}))"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    began = time.monotonic()
    outcomes = Counter()
    total = 0
    # Values come in the order of the inputs.
    for done, value in enumerate(evaluate.map(expressions(count), return_exceptions=True), 1):
        if not isinstance(value, Exception):
            outcomes["a value"] += 1
            total += value
        elif isinstance(value, RemoteError) or isinstance(value.__cause__, RemoteError):
            outcomes[type(value).__name__] += 1  # what the expression did
        else:
            raise value  # what happened to us: the server is gone, say
        if done % 50 == 0 and sys.stderr.isatty():
            print(f"\r{done:5} of {count}", end="", file=sys.stderr, flush=True)
    seconds = time.monotonic() - began
    if sys.stderr.isatty():
        print("\r" + " " * 20 + "\r", end="", file=sys.stderr)
    print(f"{count} calls in {count} sandboxes: {seconds:.1f} s, {count / seconds:,.0f} a second")
    for name, number in outcomes.most_common():
        print(f"{number:6}  {name}")
    print(f"the sum of all values: {total}")


if __name__ == "__main__":
    main()
