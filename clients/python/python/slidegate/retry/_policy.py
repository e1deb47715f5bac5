"""Retry policy: the advice, the budget and, where they are enabled, pauses and pace of origins.

It does not send requests. The hooks of HTTP clients do, in a loop over `Attempts`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Optional

from ._advice import RetrySettings, Stop, advice, demand_ms
from ._delay import Headers
from ._origins import Origins, interval


def _unix_ms() -> int:
    return time.time_ns() // 1_000_000


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True)
class Environment:
    """Clocks and randomness, which tests replace."""

    #: Unix time in milliseconds, which dates in headers are compared with.
    unix_ms: Callable[[], int] = _unix_ms
    #: Milliseconds since any fixed moment. Never goes back.
    monotonic_ms: Callable[[], int] = _monotonic_ms
    #: Random number of a range, both ends included.
    randint: Callable[[int, int], int] = random.randint


class Retry:
    """Retry policy of a client, for any number of threads and tasks.

    With `pause_origins` no request is sent to an origin before the delay of a refusal is over: for
    servers whose limits apply to the client as a whole. With `pace_origins` the rest of a quota is
    spread over the time until it is renewed, when less than 10 % is left by `RateLimit`.
    """

    def __init__(
        self,
        settings: RetrySettings = RetrySettings(),
        *,
        pause_origins: bool = False,
        pace_origins: bool = False,
        environment: Environment = Environment(),
    ) -> None:
        self._settings = settings
        self._pauses = pause_origins
        self._paces = pace_origins
        self._environment = environment
        self._origins = Origins()
        self._lock = threading.Lock()

    def start(self, origin: str, method: str) -> Attempts:
        """Attempts of a new request. The origin is its scheme, host and port, as text."""
        with self._lock:
            self._origins.state(origin).budget.record_request(self._environment.monotonic_ms())
        return Attempts(self, origin, method)

    @property
    def settings(self) -> RetrySettings:
        """Settings of the advice."""
        return self._settings


class Attempts:
    """Attempts to send one request. `Retry.start` creates them.

    As a context manager they leave the budget to others if the request is given up in a wait.
    """

    def __init__(self, retry: Retry, origin: str, method: str) -> None:
        self._retry = retry
        self._origin = origin
        self._method = method
        #: Number of refusals so far.
        self._attempt = 0
        #: Wait after the last refusal. Its retry is in the budget until it is sent.
        self._wait_ms: Optional[int] = None

    def next(self, status: int, headers: Headers, *, replayable: bool) -> Optional[Stop]:
        """Decides after a response: None if the request is to be sent again, else why not."""
        settings, environment = self._retry._settings, self._retry._environment
        unix_ms, now_ms = environment.unix_ms(), environment.monotonic_ms()
        action = advice(
            status=status,
            headers=headers,
            method=self._method,
            replayable=replayable,
            attempt=self._attempt,
            now_ms=unix_ms,
            settings=settings,
        )
        delay_ms = demand_ms(status, headers, unix_ms) if self._retry._pauses else None
        pace = interval(headers) if self._retry._paces else None
        with self._retry._lock:
            state = self._retry._origins.state(self._origin)
            if delay_ms is not None and delay_ms <= settings.max_wait_ms:
                state.pause(delay_ms, now_ms)
            if pace is not None:
                state.pace(pace, now_ms)
            if isinstance(action, Stop):
                return action
            if not state.budget.try_retry(now_ms):
                return Stop.BUDGET_EXHAUSTED
        self._wait_ms = action.wait_ms(environment.randint)
        self._attempt += 1
        return None

    def waits_s(self) -> Iterator[float]:
        """Waits before the next attempt, in seconds, each to be over before the next is taken.

        The attempt counts as sent when there are no more.
        """
        if self._wait_ms is not None:
            yield self._wait_ms / 1_000
        hold_ms = self._hold_ms()
        if hold_ms:
            yield hold_ms / 1_000
        if self._wait_ms is not None:
            self._wait_ms = None
            now_ms = self._retry._environment.monotonic_ms()
            with self._retry._lock:
                self._retry._origins.state(self._origin).budget.record_retry(now_ms)

    def _hold_ms(self) -> int:
        """Time to wait for the origin, whose turn is then taken."""
        environment, max_ms = self._retry._environment, self._retry._settings.max_wait_ms
        with self._retry._lock:
            state = self._retry._origins.state(self._origin)
            return state.hold_ms(max_ms, environment.monotonic_ms(), environment.randint)

    def __enter__(self) -> Attempts:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._wait_ms is None:
            return
        self._wait_ms = None
        with self._retry._lock:
            state = self._retry._origins.get(self._origin)
            if state is not None:
                state.budget.cancel_retry()
