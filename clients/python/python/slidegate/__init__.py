"""Rate limiter with exact limits and true retry times, and the client side of rate limits.

In process: `Limiter` and `AsyncLimiter`. Shared over Redis or Valkey: `RedisLimiter` and
`AsyncRedisLimiter`. By the rules of a policy file: `Gate` and `AsyncGate`. After a refusal:
`advice`, with hooks for HTTP clients in `slidegate.httpx`, `slidegate.requests` and
`slidegate.tenacity`. Against a Slidegate server: `slidegate.check`.
"""

from ._async_gate import AsyncGate
from ._async_limiter import AsyncLimiter, AsyncRedisLimiter
from ._native import (
    Answer,
    ConfigurationError,
    Decision,
    Gate,
    Limit,
    LimitAnswer,
    Limiter,
    ManualClock,
    NeverFitsError,
    PermitError,
    QueueFullError,
    RedisLimiter,
    RequestError,
    Reservation,
    SlidegateError,
    StoreError,
    Verdict,
)
from ._types import Key
from .retry import Backoff, Retry, RetrySettings, Stop, advice

__all__ = [
    "Answer",
    "AsyncGate",
    "AsyncLimiter",
    "AsyncRedisLimiter",
    "Backoff",
    "ConfigurationError",
    "Decision",
    "Gate",
    "Key",
    "Limit",
    "LimitAnswer",
    "Limiter",
    "ManualClock",
    "NeverFitsError",
    "PermitError",
    "QueueFullError",
    "RedisLimiter",
    "RequestError",
    "Reservation",
    "Retry",
    "RetrySettings",
    "SlidegateError",
    "Stop",
    "StoreError",
    "Verdict",
    "advice",
]
