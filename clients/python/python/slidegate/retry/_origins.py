"""State of each origin: its retry budget, its pause and its pace."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple, Optional

from . import _list
from ._advice import backoff
from ._budget import RetryBudget
from ._delay import Fields, Headers

#: Most origins with a state. Beyond that the one that was used least recently is forgotten.
_MAX_ORIGINS = 1_024
#: Requests are paced when less than one part in this many is left of a quota.
_PACED_PART = 10


class Origins:
    """States of origins, by name."""

    def __init__(self) -> None:
        self._states: OrderedDict[str, OriginState] = OrderedDict()

    def state(self, origin: str) -> OriginState:
        """State of an origin; a new one if there is none."""
        state = self._states.setdefault(origin, OriginState())
        self._states.move_to_end(origin)
        if len(self._states) > _MAX_ORIGINS:
            self._states.popitem(last=False)
        return state

    def get(self, origin: str) -> Optional[OriginState]:
        """State of an origin, unless it was forgotten."""
        return self._states.get(origin)


class Interval(NamedTuple):
    """Interval between requests, as the `RateLimit` of a response suggests it."""

    interval_ms: int
    #: Time until the quota is renewed and the interval loses its meaning.
    window_ms: int


def interval(headers: Headers) -> Optional[Interval]:
    """Longest interval of the limits that are nearly used up.

    It is `t / (r + 1)` for a limit with `r` of its quota left for `t` seconds. The quota is in
    `RateLimit-Policy`, under the same name.
    """
    fields = Fields(headers)
    limits = _list.parse(fields.combined("ratelimit") or "") or []
    policies = _list.parse(fields.combined("ratelimit-policy") or "") or []
    quotas = {policy.name: policy.integers.get("q", 0) for policy in reversed(policies)}
    intervals = []
    for limit in limits:
        left, seconds = limit.integers.get("r", -1), limit.integers.get("t", -1)
        if left >= 0 and seconds >= 0 and left * _PACED_PART < quotas.get(limit.name, 0):
            intervals.append(Interval(seconds * 1_000 // (left + 1), seconds * 1_000))
    return max(intervals, default=None)


class OriginState:
    """State of an origin. Times are those of a monotonic clock, in milliseconds."""

    def __init__(self) -> None:
        self.budget = RetryBudget()
        self._pause_end_ms = 0
        self._pause_jitter_ms = 0
        self._pace: Optional[Interval] = None
        self._pace_end_ms = 0
        self._next_ms = 0

    def pause(self, delay_ms: int, now_ms: int) -> None:
        """Pauses the origin for the delay of a refusal, unless it is paused for longer."""
        if now_ms + delay_ms > self._pause_end_ms:
            self._pause_end_ms = now_ms + delay_ms
            self._pause_jitter_ms = backoff(delay_ms, 0).jitter_ms

    def pace(self, interval: Interval, now_ms: int) -> None:
        """Paces the requests of the origin from now on. The next one keeps its time."""
        if now_ms >= self._pace_end_ms:
            self._next_ms = now_ms + interval.interval_ms
        self._pace = interval
        self._pace_end_ms = now_ms + interval.window_ms

    def hold_ms(self, max_ms: int, now_ms: int, randint: Callable[[int, int], int]) -> int:
        """Time that a request has to wait: for the end of a pause, and for its turn in the pace.

        Requests that wait for one pause get jitter, as after a refusal: otherwise all of them
        would come at its end.
        """
        pause_ms = 0
        if now_ms < self._pause_end_ms:
            pause_ms = self._pause_end_ms - now_ms + randint(0, self._pause_jitter_ms)
        return max(pause_ms, self._turn_ms(max_ms, now_ms) - now_ms)

    def _turn_ms(self, max_ms: int, now_ms: int) -> int:
        """Time of a request in the pace, which is then taken."""
        if self._pace is None or now_ms >= self._pace_end_ms:
            return now_ms
        latest_ms = min(self._pace_end_ms, now_ms + max_ms)
        turn_ms = min(max(self._next_ms, now_ms), latest_ms)
        self._next_ms = turn_ms + self._pace.interval_ms
        return turn_ms
