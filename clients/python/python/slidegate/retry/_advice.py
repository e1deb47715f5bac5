"""Advice after a response: wait, then send the request again, or stop.

The rules are in `vectors/README.md` of the repository, with a file of vectors that the
implementations in other languages share.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional, Union

from ._delay import Fields, Headers, delay_ms

#: Bound of the jitter, however many refusals came before.
_MAX_JITTER_MS = 60_000
#: Least base of the jitter: a server that demands no delay, or a short one, has clients too.
_MIN_JITTER_MS = 1_000
#: Doublings after which every jitter is at its bound.
_MAX_DOUBLINGS = 6

_TOO_MANY_REQUESTS = 429
_SERVICE_UNAVAILABLE = 503
_IDEMPOTENT_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PUT", "DELETE"})


@dataclass(frozen=True)
class RetrySettings:
    """Settings of `advice`."""

    #: Longest delay that a server may demand; a longer one is a reason to stop. Jitter comes on
    #: top.
    max_wait_ms: int = 60_000
    #: Number of times that a request is sent, the first one included.
    max_attempts: int = 5


@dataclass(frozen=True)
class Backoff:
    """Wait before the next attempt: a delay and a random part of the jitter."""

    #: Delay that the server demands; 0 if it demands none. No wait is shorter.
    delay_ms: int
    #: Largest jitter. All whole milliseconds from 0 to this are equally likely.
    jitter_ms: int

    def wait_ms(self, randint: Callable[[int, int], int] = random.randint) -> int:
        """Wait with the jitter that a random number of a range, both ends included, adds."""
        return self.delay_ms + randint(0, self.jitter_ms)


class Stop(str, enum.Enum):
    """Reason not to send a request again."""

    #: The status is neither 429 nor 503.
    NOT_REFUSED = "not_refused"
    #: The body cannot be sent again.
    NOT_REPLAYABLE = "not_replayable"
    #: The server is unavailable (503), and the request may have taken effect.
    NOT_IDEMPOTENT = "not_idempotent"
    #: The server is unavailable (503) and does not say for how long.
    NO_RETRY_AFTER = "no_retry_after"
    #: The request was sent `RetrySettings.max_attempts` times.
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    #: The server demands a delay above `RetrySettings.max_wait_ms`.
    WAIT_TOO_LONG = "wait_too_long"
    #: The retry budget of the origin is spent. `Retry` returns it, `advice` never does.
    BUDGET_EXHAUSTED = "budget_exhausted"


#: What to do after a response.
Advice = Union[Backoff, Stop]


def advice(
    *,
    status: int,
    headers: Headers,
    method: str,
    replayable: bool,
    attempt: int,
    now_ms: int,
    settings: RetrySettings = RetrySettings(),
) -> Advice:
    """Backoff before the request is sent again, or the reason not to.

    `attempt` is the number of refusals in a row before this response: 0 after the first attempt.
    `now_ms` is the Unix time in milliseconds at which the response arrived.
    """
    if status not in (_TOO_MANY_REQUESTS, _SERVICE_UNAVAILABLE):
        return Stop.NOT_REFUSED
    if not replayable:
        return Stop.NOT_REPLAYABLE
    if status == _SERVICE_UNAVAILABLE and method not in _IDEMPOTENT_METHODS:
        return Stop.NOT_IDEMPOTENT
    demand = demand_ms(status, headers, now_ms)
    if status == _SERVICE_UNAVAILABLE and demand is None:
        return Stop.NO_RETRY_AFTER
    if attempt + 1 >= settings.max_attempts:
        return Stop.ATTEMPTS_EXHAUSTED
    delay = demand or 0
    if delay > settings.max_wait_ms:
        return Stop.WAIT_TOO_LONG
    return backoff(delay, attempt)


def backoff(delay: int, attempt: int) -> Backoff:
    """Backoff after a demand of this many milliseconds and this many earlier refusals."""
    jitter = max(delay, _MIN_JITTER_MS) << min(attempt, _MAX_DOUBLINGS)
    return Backoff(delay, min(jitter, _MAX_JITTER_MS))


def demand_ms(status: int, headers: Headers, now_ms: int) -> Optional[int]:
    """Delay that a refusal demands; None if it demands none, or is no refusal."""
    if status == _TOO_MANY_REQUESTS:
        return delay_ms(headers, now_ms)
    if status == _SERVICE_UNAVAILABLE:
        return Fields(headers).retry_after_ms(now_ms)
    return None
