# `glovebox bench --only network` as a whole, in a network of its own: every row is measured, without
# an error, on a host that has an address; a host that has none says so. Times are not judged here:
# this machine does other things, too.
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
from sealed import glovebox

ADDRESS = "10.11.12.13"
ROWS = {"net-none-paced", "net-all-paced", "loopback-send-256m", "net-send-256m",
        "loopback-receive-256m", "net-receive-256m", "direct-https", "net-https",
        "net-connect-1-open", "net-echo-1-open", "net-connect-1000-open", "net-echo-1000-open",
        "run-beside-idle", "run-beside-spin", "run-beside-flood", "relay-beside-idle",
        "relay-beside-spin", "relay-beside-flood"}


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class NetworkRows(sealed.TestCase):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.assertNotEqual(os.readlink("/proc/self/ns/net"), os.environ["GBX_OUTER_NET"])
        ip("link", "set", "lo", "up")

    def test_every_row_is_measured_and_all_relays_live(self):
        ip("address", "add", f"{ADDRESS}/32", "dev", "lo")
        self.addCleanup(ip, "address", "del", f"{ADDRESS}/32", "dev", "lo")
        ran = glovebox("bench", "--only", "network", "--quick", "--json", timeout=170)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        rows = {row["name"]: row for row in json.loads(ran.stdout)}
        self.assertEqual(set(rows), ROWS)
        for row in rows.values():
            self.assertEqual(row["errors"], 0, row)
            self.assertGreater(row["n"], 0, row)
            self.assertGreaterEqual(row["p99_ms"], row["p50_ms"], row)
        self.assertEqual(rows["net-echo-1000-open"]["n"], 1000)
        # Two descriptors for each relay, and the note says so.
        self.assertRegex(rows["net-echo-1000-open"]["note"], r"20\d\d descriptors .* 1000 relays")
        for name in ("run-beside-spin", "run-beside-flood", "relay-beside-spin",
                     "relay-beside-flood"):
            self.assertRegex(rows[name]["note"], r"opened \d{3,} connections per second")

    def test_a_host_without_an_address_says_so(self):
        ran = glovebox("bench", "--only", "network", "--quick", "--check", timeout=170)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        for name in ROWS:
            self.assertIn(f"{name}: not available (the host has no address but loopback)".encode(),
                          ran.stdout)
        self.assertIn(b"missed: net-https", ran.stderr)


if __name__ == "__main__":
    sealed.main(network=True)
