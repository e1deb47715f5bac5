"""Limiters over a real Redis server."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import threading

import pytest

import slidegate
from slidegate import AsyncRedisLimiter, Limit, RedisLimiter

#: Longer than a busy machine takes, so that no test is decided by the fallback.
TIMEOUT_S = 30.0
#: A port on which nothing listens.
NOWHERE = "redis://127.0.0.1:1"

names = (f"test-{number}" for number in itertools.count())


def test_processes_share_a_limit(redis_url: str) -> None:
    name = next(names)
    first, second = (RedisLimiter(redis_url, "3/min", name=name, timeout=TIMEOUT_S) for _ in "12")
    assert first.check("alice").remaining == 2
    assert second.check_n("alice", 2).remaining == 0
    verdict = first.check("alice")
    assert (verdict.allowed, verdict.source) == (False, "store")
    assert 0 < (verdict.retry_after_ms or 0) <= 60_000
    assert second.peek("bob").remaining == 3
    first.reset("alice")
    assert first.peek("alice").remaining == 3
    assert [str(limit) for limit in first.limits] == ["3/min"]


def test_reservations_are_settled_over_redis(redis_url: str) -> None:
    limiter = RedisLimiter(
        redis_url, "100/min", name=next(names), refundable=True, timeout=TIMEOUT_S
    )
    permit = limiter.reserve("alice", 40).permit
    assert permit is not None
    assert limiter.settle(permit, 10) == "settled"
    assert limiter.refund(permit) == "already_spent"
    assert limiter.peek("alice").remaining == 90


def test_permits_have_to_be_declared(redis_url: str) -> None:
    limiter = RedisLimiter(redis_url, "100/min", name=next(names), timeout=TIMEOUT_S)
    with pytest.raises(slidegate.PermitError, match="refundable"):
        limiter.reserve("alice")


async def test_coroutines_over_redis(redis_url: str) -> None:
    limiter = AsyncRedisLimiter(
        redis_url, "100/min", name=next(names), refundable=True, timeout=TIMEOUT_S
    )
    verdicts = await asyncio.gather(*(limiter.check("alice") for _ in range(50)))
    assert sorted(verdict.remaining or 0 for verdict in verdicts) == list(range(50, 100))
    assert (await limiter.check_n("alice", 10)).remaining == 40
    reservation = await limiter.reserve("alice", 10)
    assert reservation.permit is not None
    assert await limiter.settle(reservation.permit, 5) == "settled"
    assert await limiter.refund(reservation.permit) == "already_spent"
    assert (await limiter.peek("alice")).remaining == 35
    await limiter.reset("alice")
    assert (await limiter.until_ready("alice", 100)).remaining == 0
    assert [str(limit) for limit in limiter.limits] == ["100/min"]
    with pytest.raises(slidegate.NeverFitsError):
        await limiter.until_ready("alice", 101)


async def test_until_ready_over_redis(redis_url: str) -> None:
    limiter = AsyncRedisLimiter(redis_url, "1/50ms", name=next(names), timeout=TIMEOUT_S)
    for _ in range(3):
        assert await limiter.until_ready("alice")


async def test_a_cancelled_check_leaves_the_loop_alone(redis_url: str) -> None:
    limiter = AsyncRedisLimiter(redis_url, "1000/min", name=next(names), timeout=TIMEOUT_S)
    checks = [asyncio.ensure_future(limiter.check("alice")) for _ in range(100)]
    await asyncio.sleep(0)
    for check in checks[::2]:
        check.cancel()
    results = await asyncio.gather(*checks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results[::2])
    assert all(isinstance(result, slidegate.Verdict) for result in results[1::2])


def test_a_blocking_check_releases_the_gil() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"redis://127.0.0.1:{listener.getsockname()[1]}"
        limiter = RedisLimiter(url, "5/min", timeout=TIMEOUT_S)
        check = threading.Thread(target=limiter.check, args=("alice",))
        check.start()
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1)
            # With the GIL this thread would have continued only after the check.
            assert check.is_alive()
    check.join()


def test_a_node_decides_alone_without_redis() -> None:
    limiter = RedisLimiter(NOWHERE, "4/min", nodes=2)
    verdicts = [limiter.check("alice") for _ in range(3)]
    assert [verdict.allowed for verdict in verdicts] == [True, True, False]
    assert {verdict.source for verdict in verdicts} == {"local"}
    with pytest.raises(slidegate.StoreError, match="the store failed"):
        limiter.reset("alice")


async def test_an_error_of_the_store_is_raised_in_asyncio() -> None:
    with pytest.raises(slidegate.StoreError, match="the store failed"):
        await AsyncRedisLimiter(NOWHERE, "4/min").reset("alice")


def test_urls_are_checked() -> None:
    with pytest.raises(slidegate.ConfigurationError, match="invalid Redis URL"):
        RedisLimiter("http://127.0.0.1", "5/min")
    with pytest.raises(slidegate.ConfigurationError, match="no server configured"):
        RedisLimiter([], "5/min")
    with pytest.raises(slidegate.ConfigurationError, match="contains a brace"):
        RedisLimiter(NOWHERE, "5/min", prefix="{a}")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_limiter_does_not_survive_a_fork_and_says_so(redis_url: str) -> None:
    before = RedisLimiter(redis_url, "5/min", name=next(names), timeout=TIMEOUT_S)
    assert before.check("alice")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            before.check("alice")
        except RuntimeError as error:
            after = RedisLimiter(redis_url, "5/min", name=next(names), timeout=TIMEOUT_S)
            is_usable = after.check("alice").source == "store"
            status = 0 if "post-fork hook" in str(error) and is_usable else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert before.check("alice")


def test_a_cluster_needs_a_list_of_urls() -> None:
    limiter = RedisLimiter([NOWHERE, NOWHERE], Limit("5/min"))
    assert limiter.check("alice").source == "local"
