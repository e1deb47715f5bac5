"""Messages of exceptions: they are for users of this package, not of the library in Rust."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import slidegate
from slidegate import AsyncLimiter, Gate, Limit, Limiter, RedisLimiter

CRATES = Path(__file__).parents[3] / "crates"
#: An item of Rust: `Builder::max_waiting`.
RUST_PATH = re.compile(r"\w::\w")


async def fill_queue() -> None:
    limiter = AsyncLimiter("1/h", max_waiting=1)
    await limiter.until_ready("alice")
    waiters = [asyncio.ensure_future(limiter.until_ready("alice")) for _ in range(3)]
    done, pending = await asyncio.wait(waiters, return_when=asyncio.FIRST_EXCEPTION)
    for waiter in pending:
        waiter.cancel()
    for waiter in done:
        waiter.result()


RULE = "version: 1\nrules: [{ name: a, limits: [1/h], key: [ip] }]"
CALLS: dict[str, tuple[Callable[[], Any], type[slidegate.SlidegateError], str]] = {
    "two equal limits": (
        lambda: Limiter("5/min", "6/min"),
        slidegate.ConfigurationError,
        "two limits count in the same history as 6/min: give one of them a name or drop it",
    ),
    "no limits": (
        lambda: Limiter(),
        slidegate.ConfigurationError,
        "a limiter needs at least one limit",
    ),
    "a full queue": (
        lambda: asyncio.run(fill_queue()),
        slidegate.QueueFullError,
        "the wait queue is full; retry later, or raise `max_waiting`",
    ),
    "a cost that never fits": (
        lambda: asyncio.run(AsyncLimiter("1/h").until_ready("alice", 2)),
        slidegate.NeverFitsError,
        "cost 2 exceeds the limit and can never be admitted",
    ),
    "no permit": (
        lambda: Limiter("1/h").settle("AQ", 1),
        slidegate.PermitError,
        "this is not a permit; pass the text on exactly as it was given",
    ),
    "no permits for GCRA": (
        lambda: Limiter(Limit.per_minute(5).gcra(5)).reserve("alice"),
        slidegate.PermitError,
        "a limiter with a GCRA limit gives no permits; use a log or a counter where costs are"
        " refunded",
    ),
    "not refundable": (
        lambda: RedisLimiter("redis://127.0.0.1:6379", "5/min").reserve("alice"),
        slidegate.PermitError,
        "a limiter over this store gives permits only if it is `refundable`, on every node",
    ),
    "no address": (
        lambda: Gate.from_text(RULE).check({"ip": "nowhere"}),
        slidegate.RequestError,
        "invalid IP address `nowhere` in the attribute `ip`",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_message_says_what_to_do(name: str) -> None:
    call, error, message = CALLS[name]
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


def test_no_message_of_the_library_names_an_item_of_rust() -> None:
    found = []
    for crate in ("core", "policy", "slidegate", "store", "store-redis"):
        for source in (CRATES / crate / "src").rglob("*.rs"):
            text = source.read_text(encoding="utf-8")
            found += [
                message
                for attribute in re.findall(r"#\[error\((.*?)\)\]", text, re.DOTALL)
                for message in re.findall(r'"((?:[^"\\]|\\.)*)"', attribute)
            ]
    assert len(found) >= 30
    assert [message for message in found if RUST_PATH.search(message)] == []
