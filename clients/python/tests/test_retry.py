"""The retry policy, by clocks and random numbers of the tests."""

from __future__ import annotations

from typing import Optional

from slidegate.retry import Environment, Retry, RetryBudget, RetrySettings, Stop

ORIGIN = "https://api.example.com"


class World:
    """Clock and random numbers: time passes only in `sleep`, and jitter is the largest."""

    def __init__(self, largest_jitter: bool = False) -> None:
        self.now_ms = 1_000_000
        self.sleeps_s: list[float] = []
        self._largest_jitter = largest_jitter

    def environment(self) -> Environment:
        return Environment(
            unix_ms=lambda: 1_795_014_000_000 + self.now_ms,
            monotonic_ms=lambda: self.now_ms,
            randint=lambda low, high: high if self._largest_jitter else low,
        )

    def sleep(self, seconds: float) -> None:
        self.sleeps_s.append(seconds)
        self.now_ms += round(seconds * 1_000)

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


def test_waits_grow_and_attempts_end() -> None:
    world = World(largest_jitter=True)
    attempts = Retry(environment=world.environment()).start(ORIGIN, "GET")
    waits = []
    while (stop := attempts.next(429, {"retry-after": "2"}, replayable=True)) is None:
        waits.append(list(attempts.waits_s()))
    assert stop is Stop.ATTEMPTS_EXHAUSTED
    assert waits == [[4.0], [6.0], [10.0], [18.0]]


def test_a_body_that_cannot_be_sent_again_is_not() -> None:
    attempts = Retry().start(ORIGIN, "POST")
    assert attempts.next(429, [], replayable=False) is Stop.NOT_REPLAYABLE


def test_the_budget_of_an_origin_ends_its_retries_only() -> None:
    world = World()
    retry = Retry(environment=world.environment())

    def first_refusal(origin: str) -> Optional[Stop]:
        attempts = retry.start(origin, "GET")
        stop = attempts.next(429, [], replayable=True)
        list(attempts.waits_s())
        return stop

    stops = [first_refusal(ORIGIN) for _ in range(100)]
    # 10 are free, and the first 12 requests allow 2 more, and so on.
    assert stops.count(Stop.BUDGET_EXHAUSTED) == 100 - 10 - 100 // 5
    assert first_refusal("https://other.example.com") is None
    world.now_ms += 11_000
    assert first_refusal(ORIGIN) is None


def test_no_more_origins_than_the_bound_have_a_state() -> None:
    retry = Retry()
    for index in range(2_000):
        retry.start(f"https://{index}.example.com", "GET")
    assert len(retry._origins._states) == 1_024


def test_a_pause_holds_other_requests_of_the_origin() -> None:
    world = World()
    retry = Retry(pause_origins=True, environment=world.environment())
    assert retry.start(ORIGIN, "GET").next(429, {"retry-after": "30"}, replayable=True) is None
    assert list(retry.start(ORIGIN, "GET").waits_s()) == [30.0]
    assert list(retry.start("https://other.example.com", "GET").waits_s()) == []
    world.now_ms += 30_000
    assert list(retry.start(ORIGIN, "GET").waits_s()) == []


def test_a_pause_above_the_longest_wait_holds_nobody() -> None:
    retry = Retry(RetrySettings(max_wait_ms=1_000), pause_origins=True)
    stop = retry.start(ORIGIN, "GET").next(429, {"retry-after": "30"}, replayable=True)
    assert stop is Stop.WAIT_TOO_LONG
    assert list(retry.start(ORIGIN, "GET").waits_s()) == []


def test_the_rest_of_a_quota_is_spread_over_its_window() -> None:
    world = World()
    retry = Retry(pace_origins=True, environment=world.environment())
    headers = {"ratelimit-policy": '"a";q=100;w=60', "ratelimit": '"a";r=4;t=50'}
    attempts = retry.start(ORIGIN, "GET")
    assert attempts.next(200, headers, replayable=True) is Stop.NOT_REFUSED
    # 50 s / (4 + 1), from the response on.
    assert [list(retry.start(ORIGIN, "GET").waits_s()) for _ in range(3)] == [
        [10.0],
        [20.0],
        [30.0],
    ]
    world.now_ms += 50_000
    assert list(retry.start(ORIGIN, "GET").waits_s()) == []


def test_a_quota_that_is_hardly_used_is_not_paced() -> None:
    retry = Retry(pace_origins=True)
    headers = {"ratelimit-policy": '"a";q=100;w=60', "ratelimit": '"a";r=10;t=50'}
    retry.start(ORIGIN, "GET").next(200, headers, replayable=True)
    assert list(retry.start(ORIGIN, "GET").waits_s()) == []


def test_a_budget_counts_the_requests_of_ten_seconds() -> None:
    budget = RetryBudget()
    for _ in range(50):
        budget.record_request(0)
    assert [try_send(budget, 0) for _ in range(21)] == [True] * 20 + [False]
    # The requests have left the window, the retries not yet.
    assert not try_send(budget, 10_000)
    assert [try_send(budget, 11_000) for _ in range(11)] == [True] * 10 + [False]
    # A clock that goes back stands still.
    assert not try_send(budget, 0)
    assert try_send(budget, 10**12)


def try_send(budget: RetryBudget, now_ms: int) -> bool:
    """Sends a retry at once, if the budget allows it."""
    is_within = budget.try_retry(now_ms)
    if is_within:
        budget.record_retry(now_ms)
    return is_within


def test_a_retry_counts_while_it_waits() -> None:
    budget = RetryBudget()
    assert [budget.try_retry(0) for _ in range(11)] == [True] * 10 + [False]
    assert not budget.try_retry(60_000)
    budget.cancel_retry()
    assert budget.try_retry(60_000)
    for _ in range(10):
        budget.record_retry(60_000)
    assert not budget.try_retry(70_000)
    assert budget.try_retry(71_000)


def test_an_abandoned_request_leaves_the_budget_to_others() -> None:
    world = World()
    retry = Retry(environment=world.environment())
    for _ in range(20):
        with retry.start(ORIGIN, "GET") as attempts:
            assert attempts.next(429, {"retry-after": "5"}, replayable=True) is None
            assert next(attempts.waits_s()) == 5.0
