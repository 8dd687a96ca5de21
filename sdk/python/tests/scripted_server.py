"""A small real HTTP server whose answers a test says ahead, request by request."""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Union

#: Instead of an answer: the connection is closed, or nothing comes until the test is over.
CLOSE, SILENCE = "close", "silence"
Said = Union[bytes, str]


@dataclass
class Request:
    method: str
    target: str
    headers: Dict[str, str]
    body: bytes
    connection: int  # which one it came on

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def answer_of(content: bytes, kind: str) -> bytes:
    return f"HTTP/1.1 200 Said\r\nContent-Length: {len(content)}\r\nContent-Type: {kind}\r\n\r\n".encode() + content


def answer(status: int, body: Any = None, **headers: str) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(content)}", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def refusal(status: int, code: str, **headers: str) -> bytes:
    return answer(status, {"error": {"code": code, "message": "said by a test"}, "request_id": "rq1"}, **headers)


class Scripted:
    """Answers the first request with the first answer, and so on; an answer may be cut into pieces."""

    def __init__(self, *answers: Said, close_after_answer: bool = False) -> None:
        self.requests: List[Request] = []
        self._responds = list(answers)
        self._close_after_answer = close_after_answer
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._connections: List[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> "Scripted":
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_connections()
        for thread in self._threads:
            thread.join(10)

    def drop_connections(self) -> None:
        """As a server that closes what is idle."""
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    @property
    def left(self) -> int:
        return len(self._responds)

    def _accept(self) -> None:
        count = 0
        while not self._over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection, count))
            self._threads.append(thread)
            thread.start()
            count += 1

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, connection.makefile("rb") as lines:
            try:
                while True:
                    request = _read_request(lines, number)
                    if request is None:
                        return
                    with self._lock:
                        self.requests.append(request)
                        said: Optional[Said] = self._responds.pop(0) if self._responds else refusal(500, "unscripted")
                    if said == CLOSE:
                        return
                    if said == SILENCE:
                        self._over.wait(30)
                        return
                    assert isinstance(said, bytes)
                    connection.sendall(said)
                    if self._close_after_answer:
                        return
            except OSError:
                return


def _read_request(lines: Any, number: int) -> Optional[Request]:
    first = lines.readline().decode()
    if not first:
        return None
    method, target, _ = first.split(" ")
    headers: Dict[str, str] = {}
    while True:
        line = lines.readline().decode().rstrip("\r\n")
        if not line:
            break
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while True:
            line = lines.readline()
            if not line:
                return None  # it broke off
            size = int(line, 16)
            body += lines.read(size)
            lines.readline()
            if size == 0:
                break
    else:
        body = lines.read(int(headers.get("content-length", 0)))
    return Request(method, target, headers, body, number)
