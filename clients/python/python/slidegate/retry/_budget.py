"""Retry budget: how many retries an origin may get, whoever asks for them.

Backoff spreads the retries of one request. A budget bounds those of all requests, so that a
server that refuses everything gets at most a fifth more traffic than without retries.
"""

from __future__ import annotations

_WINDOW_BUCKETS = 10
_BUCKET_MS = 1_000
#: One more than the window has: a window that ends within a bucket begins within another.
_BUCKETS = _WINDOW_BUCKETS + 1
#: One retry for this many requests of the window.
_REQUESTS_PER_RETRY = 5
#: Retries of a window that need no requests: a client that sends little can retry too.
_FREE_RETRIES = 10


class RetryBudget:
    """Retry budget of an origin: a retry for five requests of the last 10 seconds, plus 10.

    Requests are first attempts. A retry counts while it waits, and for 10 seconds after it is sent:
    otherwise retries with waits of different lengths could add up to a burst. Time is an argument,
    in milliseconds of any clock; a clock that goes back stands still here.
    """

    def __init__(self) -> None:
        self._newest = 0
        # Rings; the bucket with number n is at n % _BUCKETS.
        self._requests = [0] * _BUCKETS
        self._retries = [0] * _BUCKETS
        #: Retries that are not sent yet.
        self._waiting = 0

    def record_request(self, now_ms: int) -> None:
        """Records the first attempt of a request."""
        self._requests[self._bucket(now_ms)] += 1

    def try_retry(self, now_ms: int) -> bool:
        """Takes a retry, to be sent later. False if none is left: then nothing changes."""
        newest = self._bucket(now_ms)
        # Rounded against the retries: they count for up to a bucket longer than the window, the
        # requests for up to a bucket less.
        oldest = self._requests[(newest + 1) % _BUCKETS]
        requests = sum(self._requests) - oldest
        retries = self._waiting + sum(self._retries)
        is_within = retries < requests // _REQUESTS_PER_RETRY + _FREE_RETRIES
        self._waiting += is_within
        return is_within

    def record_retry(self, now_ms: int) -> None:
        """Records that a retry is sent."""
        self.cancel_retry()
        self._retries[self._bucket(now_ms)] += 1

    def cancel_retry(self) -> None:
        """Gives back a retry that is not sent after all."""
        self._waiting = max(0, self._waiting - 1)

    def _bucket(self, now_ms: int) -> int:
        """Index of the newest bucket, after those that have passed are emptied."""
        number = max(now_ms // _BUCKET_MS, self._newest)
        for passed in range(max(self._newest, number - _BUCKETS) + 1, number + 1):
            self._requests[passed % _BUCKETS] = self._retries[passed % _BUCKETS] = 0
        self._newest = number
        return number % _BUCKETS
