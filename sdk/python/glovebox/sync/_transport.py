# Generated from glovebox/aio/_transport.py by sdk/python/tools/generate_sync.py (`make generate`). Do not edit.
"""Carries requests to one server: retries, whole responses, responses that stream."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from ..errors import ConnectionFailed
from ..transport.endpoint import Endpoint
from ..transport.http1 import ResponseReader, request_head
from ..transport.request import (
    ConnectionLost,
    Deadline,
    Request,
    Response,
    RetryPolicy,
    check_content_type,
    response_too_long,
)
from ..transport.request_encoding import encode_request
from ._connection import Connection, ConnectionPool
from ._runtime import sleep

__all__ = ["Stream", "Transport"]


class Stream:
    """A response whose body is read while it arrives."""

    def __init__(
        self,
        connection: Connection,
        reader: ResponseReader,
        deadline: Deadline,
        keep: Optional[Callable[[Connection], None]] = None,
    ) -> None:
        self._connection = connection
        self._reader = reader
        self._deadline = deadline
        self._keep = keep  # takes the connection back when the body was read to its end
        self._is_closed = False
        self.status = reader.status
        self.headers = reader.headers

    def next(self) -> Optional[bytes]:
        """The next piece; None after the last one."""
        while True:
            piece = self._reader.take()
            if piece:
                return piece
            if self._reader.is_complete and self._reader.is_keep_alive and self._keep and not self._is_closed:
                self._is_closed = True
                self._keep(self._connection)
                return None
            if self._reader.is_complete or self._is_closed:
                self.close()
                return None
            self._receive()

    def _receive(self) -> None:
        try:
            data = self._connection.receive(self._deadline)
        except BaseException:  # also a cancelled task: the rest of the body must not stay on the connection
            self.close()
            raise
        if data:
            self._reader.feed(data)
            return
        self._reader.feed_eof()
        if not self._reader.is_complete and not self._is_closed:
            raise ConnectionFailed("the server closed the connection before the end of the response")

    def collect(self, limit: int) -> bytes:
        """The whole body, of at most ``limit`` bytes."""
        pieces: List[bytes] = []
        size = 0
        while True:
            piece = self.next()
            if piece is None:
                return b"".join(pieces)
            size += len(piece)
            if size > limit:
                self.close()
                raise response_too_long(limit)
            pieces.append(piece)

    def interrupt(self) -> None:
        """A thread or task that waits for the next piece gets the end of the connection."""
        self._connection.interrupt()

    def close(self) -> None:
        """A connection with an unread body is not used again."""
        if not self._is_closed:
            self._is_closed = True
            self._connection.close()


class Transport:
    """Carries requests to one endpoint."""

    def __init__(
        self, endpoint: Endpoint, timeout: float, max_retries: int, pool: Optional[ConnectionPool] = None
    ) -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self.max_retries = max_retries
        self._pool = pool or ConnectionPool(endpoint, endpoint.tls())

    def send(self, request: "Request[Any]") -> Response:
        """Sends a request, again where that is safe, and reads the whole response."""
        deadline = self._deadline(request)
        head, body = encode_request(request, self.endpoint)
        retries: Optional[RetryPolicy] = None
        while True:
            try:
                response = self._exchange(request, head, body, deadline)
            except ConnectionLost as lost:
                retries = retries or self._retries(request, deadline)
                delay = retries.after_connection_loss(lost, self.endpoint.url)
            else:
                if response.status < 400:
                    return response
                retries = retries or self._retries(request, deadline)
                retry_after = retries.after_refusal(response)
                if retry_after is None:
                    return retries.settled(response)
                delay = retry_after
            if delay:
                sleep(delay)

    def _retries(self, request: "Request[Any]", deadline: Deadline) -> RetryPolicy:
        return RetryPolicy(request, self.max_retries, deadline)

    def _deadline(self, request: "Request[Any]") -> Deadline:
        seconds = self.timeout if request.timeout is None else request.timeout
        return Deadline(seconds if seconds > 0 else None)

    def _exchange(self, request: "Request[Any]", head: bytes, body: Any, deadline: Deadline) -> Response:
        connection = self._pool.take(deadline)
        reader = ResponseReader(request.method)
        try:
            connection.exchange(head, body, request, reader, deadline, head_only=False)
        except BaseException:  # also a cancelled task: half a response must not stay on the connection
            connection.close()
            raise
        if reader.is_keep_alive:
            self._pool.keep(connection)
        else:
            connection.close()
        return Response(reader.status, reader.headers, reader.take())

    def stream(self, request: "Request[Any]", *, reuse: bool = False) -> Stream:
        """Sends a request and reads the head of the response; raises what the server refuses.

        ``reuse``: the connection is used again after the last byte. Not for streams that another thread may
        interrupt: by then the connection could carry another request.
        """
        deadline = self._deadline(request)
        head, body = encode_request(request, self.endpoint)
        retries = self._retries(request, deadline)
        while True:
            reader = ResponseReader(request.method)
            try:
                connection = self._pool.take(deadline)
                try:
                    connection.exchange(head, body, request, reader, deadline, head_only=True)
                except BaseException:
                    connection.close()
                    raise
                break
            except ConnectionLost as lost:
                delay = retries.after_connection_loss(lost, self.endpoint.url)
                if delay:
                    sleep(delay)
        stream = Stream(connection, reader, deadline, self._pool.keep if reuse else None)
        if reader.status >= 300:
            raise Response(reader.status, reader.headers, stream.collect(request.max_response)).error()
        if request.stream_type is not None:
            try:
                check_content_type(reader.headers, request.stream_type)
            except BaseException:
                stream.close()
                raise
        return stream

    def upgrade(
        self, target: str, headers: Dict[str, str], timeout: Optional[float]
    ) -> Tuple[Connection, ResponseReader]:
        """A connection that speaks another protocol from here on, and the response that agreed to it."""
        deadline = Deadline(timeout)
        head = request_head("GET", self.endpoint.base + target, self.endpoint.fixed, headers, None)
        reader = ResponseReader("GET")
        request: Request[None] = Request("GET", target, lambda data: None, max_response=1 << 20)
        try:
            # Always a new one: it never comes back to the pool.
            connection = self._pool.open(deadline)
            try:
                connection.exchange(head, None, request, reader, deadline, head_only=True)
                if reader.status != 101:
                    body = Stream(connection, reader, deadline).collect(request.max_response)
                    raise Response(reader.status, reader.headers, body).error()
            except BaseException:
                connection.close()
                raise
        except ConnectionLost as lost:
            raise ConnectionFailed(f"{self.endpoint.url}: {lost.reason}") from lost.__cause__
        return connection, reader

    def close(self) -> None:
        """Closes the idle connections."""
        self._pool.close()
