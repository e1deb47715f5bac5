"""Limiters in memory, synchronous and in asyncio."""

from __future__ import annotations

import asyncio
import sys
import threading
from ipaddress import ip_address
from typing import Any

import pytest

import slidegate
from slidegate import AsyncLimiter, Limit, Limiter, ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_745_000_000_000)


def test_a_verdict_has_the_numbers_of_the_request(clock: ManualClock) -> None:
    limiter = Limiter("3/s", Limit.per_minute(5), clock=clock)
    verdict = limiter.check("alice")
    assert verdict and verdict.allowed
    assert (verdict.remaining, verdict.retry_after, verdict.reset_after) == (2, None, 60.0)
    assert (verdict.source, verdict.decided_at_ms) == ("store", 1_745_000_000_000)
    assert str(verdict) == "allowed, 2 remaining"
    assert limiter.check_n("alice", 2)
    clock.advance_ms(300)
    verdict = limiter.check("alice")
    assert not verdict and not verdict.allowed
    assert (verdict.retry_after, verdict.retry_after_ms, verdict.reset_after_ms) == (
        0.7,
        700,
        59_700,
    )
    assert repr(verdict) == "<Verdict denied, retry after 700 ms>"
    first, second = verdict.decisions
    assert (first.outcome, first.retry_after_ms, first.remaining) == ("retry", 700, 0)
    assert (second.outcome, second.retry_after_ms, second.remaining) == ("fits", None, 2)
    assert [str(limit) for limit in limiter.limits] == ["3/s", "5/min"]


def test_a_client_that_waits_gets_in_and_not_earlier(clock: ManualClock) -> None:
    limiter = Limiter("1/s", clock=clock)
    assert limiter.check("alice")
    retry_after_ms = limiter.check("alice").retry_after_ms
    assert retry_after_ms == 1_000
    clock.advance_ms(retry_after_ms - 1)
    assert not limiter.check("alice")
    clock.advance_ms(1)
    assert limiter.check("alice")


def test_a_cost_above_the_quota_never_fits() -> None:
    verdict = Limiter("5/min").check_n("alice", 6)
    assert (verdict.allowed, verdict.retry_after, verdict.remaining) == (False, None, 5)
    assert verdict.decisions[0].outcome == "never"


def test_peek_charges_nothing_and_reset_forgets() -> None:
    limiter = Limiter("1/day")
    assert limiter.peek("alice").remaining == 1
    assert limiter.check("alice")
    assert not limiter.check("alice")
    limiter.reset("alice")
    assert limiter.check("alice")


def test_a_reservation_is_settled_once() -> None:
    limiter = Limiter(Limit.per_minute(10_000).counter())
    reservation = limiter.reserve("alice", 4_000)
    assert reservation and reservation.verdict.remaining == 6_000
    assert reservation.permit is not None
    assert limiter.settle(reservation.permit, 1_500) == "settled"
    assert limiter.refund(reservation.permit) == "already_spent"
    assert limiter.peek("alice").remaining == 8_500
    refused = limiter.reserve("alice", 9_000)
    assert not refused and refused.permit is None


def test_a_permit_is_good_where_the_secret_is() -> None:
    limiter = Limiter("5/min", permit_secret=b"s" * 32)
    permit = limiter.reserve("alice").permit
    assert permit is not None
    with pytest.raises(slidegate.PermitError, match="was not issued with this limiter's secret"):
        Limiter("5/min").refund(permit)
    assert Limiter("5/min", permit_secret=b"s" * 32).refund(permit) == "void"
    with pytest.raises(slidegate.PermitError, match="this is not a permit"):
        limiter.refund("no permit")


def test_a_slot_in_flight_is_released() -> None:
    limiter = Limiter(Limit.in_flight(1, 30))
    permit = limiter.reserve("alice").permit
    assert permit is not None
    assert not limiter.reserve("alice")
    assert limiter.refund(permit) == "settled"
    assert limiter.reserve("alice")


@pytest.mark.parametrize(
    "limits, message",
    [
        ([], "a limiter needs at least one limit"),
        (["5"], "expected quota/window, as in 5/min or 100/30s"),
        (["5/min", "9/min"], "two limits count in the same history as 9/min"),
    ],
)
def test_errors_have_the_messages_of_the_library(limits: list[str], message: str) -> None:
    with pytest.raises(slidegate.ConfigurationError, match=message) as error:
        Limiter(*limits)
    assert isinstance(error.value, slidegate.SlidegateError)


def test_limits_are_values() -> None:
    assert Limit("5/min") == Limit.per_minute(5) == Limit.per(5, 60)
    assert len({Limit("5/min"), Limit.per(5, 60.0), Limit("5/min").fixed()}) == 2
    assert Limit.per(5, 0.1).window_ms == 100
    limit = Limit("5/min").gcra(2)
    assert (limit.quota, limit.window_ms, limit.algorithm) == (5, 60_000, "gcra")
    assert Limit("5/min").named("a") != Limit("5/min").named("b")
    assert Limit("5/min").resolution_ms(1_000) != Limit("5/min")
    assert repr(Limit("5/min").counter()) == "<Limit 5/min counter>"
    for seconds in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError):
            Limit.per(5, seconds)
    with pytest.raises(slidegate.ConfigurationError, match="whole number of milliseconds"):
        Limit.per(5, 0.0005)


@pytest.mark.parametrize(
    "key, same",
    [
        ("alice", b"alice"),
        (42, "42"),
        (-7, b"-7"),
        (2**100, str(2**100)),
        (ip_address("203.0.113.7"), "203.0.113.7"),
        (ip_address("2001:db8::1"), "2001:db8::1"),
        (("acme", 7, b"x"), (b"acme", "7", "x")),
        ("zoë", "zoë".encode()),
        ("", b""),
    ],
)
def test_equal_keys(key: Any, same: Any) -> None:
    limiter = Limiter("1/day")
    assert limiter.check(key)
    assert not limiter.check(same)


def test_different_keys() -> None:
    limiter = Limiter("1/day")
    keys: list[Any] = [("a", "bc"), ("ab", "c"), "abc", ("abc",), ("a", "b", "c"), ("a",) * 9]
    assert all(limiter.check(key) for key in keys)


@pytest.mark.parametrize("key", [None, True, 1.5, ["a"], ("a", None), ("a", ("b",)), {}])
def test_other_types_are_no_keys(key: Any) -> None:
    with pytest.raises(TypeError, match="expected a key of type str"):
        Limiter("1/day").check(key)


def test_values_that_are_no_keys() -> None:
    limiter = Limiter("1/day")
    with pytest.raises(ValueError, match="at least one part"):
        limiter.check(())
    with pytest.raises(UnicodeEncodeError):
        limiter.check("\ud800")
    with pytest.raises(OverflowError):
        limiter.check(2**200)
    with pytest.raises(OverflowError):
        limiter.check_n("alice", -1)


def test_threads_never_get_more_than_the_quota() -> None:
    limiter = Limiter("1000/day")
    admitted: list[int] = []

    def worker() -> None:
        admitted.append(sum(limiter.check("alice").allowed for _ in range(1_000)))

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == 1_000


async def test_coroutines_have_the_same_operations(clock: ManualClock) -> None:
    limiter = AsyncLimiter("3/min", clock=clock)
    assert (await limiter.check("alice")).remaining == 2
    assert await limiter.check_n("alice", 1)
    reservation = await limiter.reserve("alice")
    assert reservation.permit is not None
    assert (await limiter.peek("alice")).remaining == 0
    assert await limiter.settle(reservation.permit, 2) == "settled"
    assert await limiter.refund(reservation.permit) == "already_spent"
    assert not await limiter.check("alice")
    await limiter.reset("alice")
    assert (await limiter.until_ready("alice")).remaining == 2
    assert [str(limit) for limit in limiter.limits] == ["3/min"]


async def test_until_ready_waits_in_order_of_arrival() -> None:
    limiter = AsyncLimiter("1/20ms")
    order: list[int] = []

    async def wait(number: int) -> None:
        await limiter.until_ready("alice")
        order.append(number)

    await asyncio.gather(*(wait(number) for number in range(5)))
    assert order == list(range(5))


async def test_a_cost_that_never_fits_does_not_wait() -> None:
    with pytest.raises(slidegate.NeverFitsError, match="cost 6 exceeds the limit"):
        await AsyncLimiter("5/min").until_ready("alice", 6)


async def test_a_full_queue_does_not_wait() -> None:
    limiter = AsyncLimiter("1/day", max_waiting=0)
    with pytest.raises(slidegate.QueueFullError, match="the wait queue is full"):
        await limiter.until_ready("alice")


async def test_a_cancelled_wait_charges_nothing(clock: ManualClock) -> None:
    limiter = AsyncLimiter("1/min", clock=clock)
    assert await limiter.check("alice")
    waiter = asyncio.ensure_future(limiter.until_ready("alice"))
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    clock.advance_ms(60_000)
    assert (await limiter.peek("alice")).remaining == 1


def test_until_ready_needs_a_running_loop() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        Limiter("1/min").until_ready("alice")


def test_results_are_released() -> None:
    limiter = Limiter("5/min")
    key = "alice-" + "x" * 10
    before = sys.getrefcount(key)
    for _ in range(1_000):
        limiter.check(key)
    assert sys.getrefcount(key) == before
