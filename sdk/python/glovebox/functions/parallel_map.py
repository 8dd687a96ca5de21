"""Runs many calls in parallel, a bounded number at a time, and yields their values in order."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Deque,
    Iterable,
    Iterator,
    List,
    Optional,
    Tuple,
)

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future
    from queue import SimpleQueue

    from .batches import Batch

__all__ = [
    "as_argument_tuples",
    "as_async",
    "batched_map",
    "batched_map_async",
    "ordered_map",
    "ordered_map_async",
    "worker_count",
]

Arguments = Tuple[Any, ...]
MAX_WORKERS = 1024


def worker_count(wanted: Optional[int]) -> int:
    """The number of parallel calls: as given, or by the number of CPUs."""
    if wanted is None:
        return max(4, min(32, 2 * (os.cpu_count() or 1)))
    if isinstance(wanted, bool) or not isinstance(wanted, int) or not 1 <= wanted <= MAX_WORKERS:
        raise ValueError(f"parallel must be a whole number from 1 to {MAX_WORKERS}")
    return wanted


# Calls of one request. The first have as many as run at a time, so that the first values come soon.
MAX_BATCH = 256
# An item that is slow to come does not hold up those before it.
_GATHER_S = 0.005


class _DaemonThreadPool:
    """Like a ThreadPoolExecutor, but the interpreter does not wait for its threads at exit."""

    def __init__(self, work: Callable[[Arguments], Any], most: int) -> None:
        from queue import SimpleQueue

        self._work = work
        self._most = most
        self._count = 0
        self._queue: SimpleQueue[Optional[Tuple[Future[Any], Arguments]]] = SimpleQueue()

    def submit(self, arguments: Arguments) -> "Future[Any]":
        from concurrent.futures import Future

        future: Future[Any] = Future()
        self._queue.put((future, arguments))
        if self._count < self._most:
            self._count += 1
            threading.Thread(target=self._run, name="glovebox", daemon=True).start()
        return future

    def close(self) -> None:
        for _ in range(self._count):
            self._queue.put(None)

    def _run(self) -> None:
        while True:
            task = self._queue.get()
            if task is None:
                return
            future, arguments = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._work(arguments))
                except BaseException as error:
                    future.set_exception(error)
            del task, future, arguments


def ordered_map(
    calls: Iterable[Arguments],
    send: Callable[[Arguments], Any],
    finish: Callable[[Any], Any],
    workers: int,
    return_exceptions: bool,
    stop: Callable[[], None],
) -> Iterator[Any]:
    """``send`` runs in worker threads, ``finish`` in the caller's thread, in order. Calls are read as needed.

    ``stop`` cancels the calls in flight when the caller closes the iterator.
    """
    waiting: Deque[Future[Any]] = deque()
    source = iter(calls)
    pool = _DaemonThreadPool(send, workers)
    try:
        more = True
        while more or waiting:
            # Twice as many as run at a time: a slow call must not keep the workers idle.
            while more and len(waiting) < 2 * workers:
                try:
                    arguments = next(source)
                except StopIteration:
                    more = False
                    break
                waiting.append(pool.submit(arguments))
            if not waiting:
                return
            first = waiting.popleft()
            try:
                value = finish(first.result())
            except Exception as error:
                if not return_exceptions:
                    raise
                value = error
            yield value
    finally:
        for one in waiting:
            one.cancel()
        pool.close()
        stop()


async def ordered_map_async(
    calls: AsyncIterator[Arguments],
    send: Callable[[Arguments], Awaitable[Any]],
    finish: Callable[[Any], Awaitable[Any]],
    workers: int,
    return_exceptions: bool,
) -> AsyncIterator[Any]:
    """Like :func:`ordered_map`, in tasks of the running event loop."""
    import asyncio

    waiting: Deque[asyncio.Task[Any]] = deque()
    slots = asyncio.Semaphore(workers)

    async def send_in_turn(arguments: Arguments) -> Any:
        async with slots:
            return await send(arguments)

    try:
        more = True
        while more or waiting:
            while more and len(waiting) < 2 * workers:
                try:
                    arguments = await calls.__anext__()
                except StopAsyncIteration:
                    more = False
                    break
                waiting.append(asyncio.ensure_future(send_in_turn(arguments)))
            if not waiting:
                return
            first = waiting.popleft()
            try:
                value = await finish(await first)
            except Exception as error:
                if not return_exceptions:
                    raise
                value = error
            yield value
    finally:
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def batched_map(
    calls: Iterable[Arguments],
    make: Callable[[List[Arguments]], "Batch"],
    send: Callable[["Batch", int], None],
    finish: Callable[[Any], Any],
    workers: int,
    return_exceptions: bool,
    stop: Callable[[], None],
) -> Iterator[Any]:
    """Like :func:`ordered_map`, with many calls in each request: ``send`` makes those of a batch, so many at a time."""
    waiting: Deque[Future[Any]] = deque()
    under_way: Deque[Future[Any]] = deque()
    source = iter(calls)
    # Two requests, so that one is on its way while the other ends.
    requests = min(2, workers)
    parallel = -(-workers // requests)
    pool = _DaemonThreadPool(lambda arguments: send(*arguments), requests)
    size = parallel
    try:
        more = True
        while more or waiting:
            while under_way and under_way[0].done():
                under_way.popleft()
            while more and len(under_way) < requests and len(waiting) < 2 * size:
                items = _gather(source, size)
                more = len(items) > 0
                if not more:
                    break
                batch = make(items)
                waiting.extend(batch.futures)
                under_way.append(pool.submit((batch, parallel)))
                size = min(2 * size, MAX_BATCH)
            if not waiting:
                return
            try:
                value = finish(waiting.popleft().result())
            except Exception as error:
                if not return_exceptions:
                    raise
                value = error
            yield value
    finally:
        for one in waiting:
            one.cancel()
        pool.close()
        stop()


def _gather(source: Iterator[Arguments], size: int) -> List[Arguments]:
    items: List[Arguments] = []
    until = time.monotonic() + _GATHER_S
    for item in source:
        items.append(item)
        if len(items) >= size or time.monotonic() > until:
            break
    return items


async def batched_map_async(
    calls: AsyncIterator[Arguments],
    make: Callable[[List[Arguments]], "Batch"],
    send: Callable[["Batch", int], Awaitable[None]],
    finish: Callable[[Any], Awaitable[Any]],
    workers: int,
    return_exceptions: bool,
) -> AsyncIterator[Any]:
    """Like :func:`batched_map`, in tasks of the running event loop."""
    import asyncio

    waiting: Deque[asyncio.Future[Any]] = deque()
    under_way: Deque[asyncio.Task[Any]] = deque()
    requests = min(2, workers)
    parallel = -(-workers // requests)
    size = parallel

    async def send_batch(batch: "Batch") -> None:
        await send(batch, parallel)

    try:
        more = True
        while more or waiting:
            while under_way and under_way[0].done():
                under_way.popleft()
            while more and len(under_way) < requests and len(waiting) < 2 * size:
                items: List[Arguments] = []
                until = time.monotonic() + _GATHER_S
                async for item in calls:
                    items.append(item)
                    if len(items) >= size or time.monotonic() > until:
                        break
                more = len(items) > 0
                if not more:
                    break
                batch = make(items)
                waiting.extend(asyncio.wrap_future(future) for future in batch.futures)
                under_way.append(asyncio.ensure_future(send_batch(batch)))
                size = min(2 * size, MAX_BATCH)
            if not waiting:
                return
            try:
                value = await finish(await waiting.popleft())
            except Exception as error:
                if not return_exceptions:
                    raise
                value = error
            yield value
    finally:
        for one in under_way:
            one.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        for future in waiting:
            future.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def as_async(items: Iterable[Arguments]) -> AsyncIterator[Arguments]:
    for item in items:
        yield item


async def as_argument_tuples(items: AsyncIterable[Any]) -> AsyncIterator[Arguments]:
    async for item in items:
        yield (item,)
