"""A function mapped over 1,000 inputs, each call in a sandbox of its own.

    PYTHONPATH=sdk/python python3 examples/map_1000.py [HOW-MANY]    # from the repository
    python3 map_1000.py [HOW-MANY]                                   # with the package `glovebox` installed

Only what happens to the function's arguments is ours: the expressions below come from strangers, and
some of them are nasty. A call that fails is one failed call; the other 999 do not notice.

Limits on memory need cgroups: run it as root, or with a server that does. A limit that was asked for
and cannot be enforced is refused, and never just not there.
"""
import sys
import time
from collections import Counter

from glovebox import RemoteError, sandboxed


@sandboxed(timeout=10, cpu_ms=1000, mem_mb=64, disk_mb=16)
def evaluate(expression):
    """eval() of a stranger's text: what one never does, except in here."""
    return eval(expression)


def expressions(count):
    """Mostly sums, and now and then what somebody is bound to send."""
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
    # The values come in the order of the inputs, whoever is ready first.
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
