"""What this client costs over the bare request: `POST /v1/run` of `print(1+1)`, warm, kept alive.

    GLOVEBOX_URL=… GLOVEBOX_API_KEY=… PYTHONPATH=sdk/python python3 sdk/python/bench/overhead.py [CALLS]

The ways take turns, call by call, so that a noisy machine is noisy for all of them. `cpu` is what this
process spent by itself, per call; the rest of the time it waits for the server.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import sys
import time
from typing import Any, Callable, Dict, List
from urllib.parse import urlsplit

import glovebox
from glovebox import aio

CODE = "print(1+1)"
BODY = json.dumps({"code": CODE, "language": "python"}, separators=(",", ":")).encode()


def ways() -> Dict[str, Callable[[], Any]]:
    place, key = urlsplit(os.environ["GLOVEBOX_URL"]), os.environ["GLOVEBOX_API_KEY"]
    assert place.hostname is not None and place.port is not None
    sock = socket.create_connection((place.hostname, place.port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    head = f"POST /v1/run HTTP/1.1\r\nHost: {place.netloc}\r\nX-API-Key: {key}\r\nContent-Length: {len(BODY)}\r\n\r\n"
    whole = head.encode() + BODY
    kept = http.client.HTTPConnection(place.hostname, place.port)
    client, async_client = glovebox.default_client(), aio.default_client()
    loop = asyncio.new_event_loop()

    def by_socket() -> None:
        sock.sendall(whole)
        answer = sock.recv(65536)
        while not answer.rstrip().endswith(b"}"):
            answer += sock.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")

    def by_http_client() -> None:
        kept.request("POST", "/v1/run", BODY, {"X-API-Key": key, "Content-Type": "application/json"})
        json.loads(kept.getresponse().read())

    return {
        "a socket, answer unread": by_socket,
        "http.client and json": by_http_client,
        "client._request": lambda: client._request("POST", "/v1/run", {"code": CODE, "language": "python"}),
        "glovebox.run": lambda: glovebox.run(CODE),
        "glovebox.aio.run": lambda: loop.run_until_complete(async_client.run(CODE)),
    }


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    told = ways()
    wall: Dict[str, List[float]] = {name: [] for name in told}
    cpu = dict.fromkeys(told, 0.0)
    for turn in range(-20, calls):
        names = list(told)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            time.sleep(0.005)
            began, spent = time.perf_counter(), time.process_time()
            told[name]()
            if turn >= 0:
                cpu[name] += time.process_time() - spent
                wall[name].append((time.perf_counter() - began) * 1000)
    base, base_cpu = sorted(wall["a socket, answer unread"])[calls // 2], cpu["a socket, answer unread"]
    print(f"{'':26}{'p50 ms':>8}{'over it':>9}{'cpu ms':>8}{'over it':>9}")
    for name, times in wall.items():
        p50, each = sorted(times)[calls // 2], cpu[name] / calls * 1000
        print(f"{name:26}{p50:8.3f}{p50 - base:9.3f}{each:8.3f}{each - base_cpu / calls * 1000:9.3f}")


main()
