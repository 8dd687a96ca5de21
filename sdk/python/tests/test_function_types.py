"""What a type checker knows of a sandboxed function; this file is checked, and its one test imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, AsyncIterator, Iterator

from glovebox import sandboxed

if TYPE_CHECKING:
    from typing_extensions import assert_type


@sandboxed(mem_mb=64)
def size(text: str, *, times: int = 1) -> int:
    return len(text) * times


@sandboxed
async def later(text: str) -> int:
    return len(text)


async def check() -> None:
    """Not called: for mypy."""
    if TYPE_CHECKING:
        assert_type(size("a", times=2), int)
        assert_type(size.local("a"), int)
        assert_type(await size.aio("a"), int)
        assert_type(size.map(["a"]), Iterator[int])
        assert_type(size.amap(["a"]), AsyncIterator[int])
        assert_type(await later("a"), int)
        assert_type(await later.aio("a"), int)
        assert_type(later.map(["a"]), Iterator[int])
        assert_type(size.with_options(timeout=1)("a"), int)
        size(1)  # type: ignore[arg-type]
        size("a", 2)  # type: ignore[misc]
        await size.aio(1)  # type: ignore[arg-type]


def test_local_calls_need_no_server() -> None:
    assert size.local("ab", times=2) == 4
