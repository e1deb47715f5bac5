"""Client side of rate limits: when to retry a refused request, and for how long to wait.

`advice` is a pure function from a response to a wait with jitter, or to a reason to stop. `Retry`
adds a retry budget per origin. `slidegate.httpx`, `slidegate.requests` and `slidegate.tenacity`
connect them to HTTP clients.
"""

from ._advice import Advice, Backoff, RetrySettings, Stop, advice
from ._budget import RetryBudget
from ._delay import Headers
from ._policy import Attempts, Environment, Retry

__all__ = [
    "Advice",
    "Attempts",
    "Backoff",
    "Environment",
    "Headers",
    "Retry",
    "RetryBudget",
    "RetrySettings",
    "Stop",
    "advice",
]
