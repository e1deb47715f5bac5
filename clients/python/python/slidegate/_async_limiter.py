"""Limiters with coroutines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

from ._native import Limit, Limiter, ManualClock, RedisLimiter, Reservation, Verdict
from ._types import Key, SettleOutcome


class AsyncLimiter:
    """`Limiter` with coroutines, for code that also works over Redis. Memory answers at once."""

    def __init__(
        self,
        *limits: Union[Limit, str],
        max_memory: Optional[int] = None,
        max_waiting: Optional[int] = None,
        permit_secret: Optional[bytes] = None,
        clock: Optional[ManualClock] = None,
    ) -> None:
        self._limiter = Limiter(
            *limits,
            max_memory=max_memory,
            max_waiting=max_waiting,
            permit_secret=permit_secret,
            clock=clock,
        )

    @property
    def limits(self) -> list[Limit]:
        """Limits, in the order of a verdict's decisions."""
        return self._limiter.limits

    async def check(self, key: Key, /) -> Verdict:
        """Requests one unit."""
        return self._limiter.check(key)

    async def check_n(self, key: Key, cost: int, /) -> Verdict:
        """Requests `cost` units: all of them, or none."""
        return self._limiter.check_n(key, cost)

    async def peek(self, key: Key, /) -> Verdict:
        """Reads the numbers of a key without charging it."""
        return self._limiter.peek(key)

    async def reserve(self, key: Key, cost: int = 1, /) -> Reservation:
        """Requests `cost` units with a permit, to settle or refund them later."""
        return self._limiter.reserve(key, cost)

    async def settle(self, permit: str, cost: int, /) -> SettleOutcome:
        """Replaces a reserved cost by the actual one, even beyond the quota."""
        return self._limiter.settle(permit, cost)

    async def refund(self, permit: str, /) -> SettleOutcome:
        """Gives back a reserved cost, or releases a slot in flight."""
        return self._limiter.refund(permit)

    async def reset(self, key: Key, /) -> None:
        """Deletes the state of a key: it has its whole quota again, and its permits are void."""
        self._limiter.reset(key)

    async def until_ready(self, key: Key, cost: int = 1, /) -> Verdict:
        """Waits until `cost` units are admitted, in order of arrival."""
        return await self._limiter.until_ready(key, cost)


class AsyncRedisLimiter:
    """`RedisLimiter` with coroutines."""

    def __init__(
        self,
        url: Union[str, Sequence[str]],
        /,
        *limits: Union[Limit, str],
        name: str = "",
        nodes: int = 1,
        timeout: Optional[float] = None,
        prefix: Optional[str] = None,
        refundable: bool = False,
        max_waiting: Optional[int] = None,
        permit_secret: Optional[bytes] = None,
    ) -> None:
        self._limiter = RedisLimiter(
            url,
            *limits,
            name=name,
            nodes=nodes,
            timeout=timeout,
            prefix=prefix,
            refundable=refundable,
            max_waiting=max_waiting,
            permit_secret=permit_secret,
        )

    @property
    def limits(self) -> list[Limit]:
        """Limits, in the order of a verdict's decisions."""
        return self._limiter.limits

    async def check(self, key: Key, /) -> Verdict:
        """Requests one unit."""
        return await self._limiter.check_async(key)

    async def check_n(self, key: Key, cost: int, /) -> Verdict:
        """Requests `cost` units: all of them, or none."""
        return await self._limiter.check_n_async(key, cost)

    async def peek(self, key: Key, /) -> Verdict:
        """Reads the numbers of a key without charging it."""
        return await self._limiter.peek_async(key)

    async def reserve(self, key: Key, cost: int = 1, /) -> Reservation:
        """Requests `cost` units with a permit, to settle or refund them later."""
        return await self._limiter.reserve_async(key, cost)

    async def settle(self, permit: str, cost: int, /) -> SettleOutcome:
        """Replaces a reserved cost by the actual one, even beyond the quota."""
        return await self._limiter.settle_async(permit, cost)

    async def refund(self, permit: str, /) -> SettleOutcome:
        """Gives back a reserved cost, or releases a slot in flight."""
        return await self._limiter.refund_async(permit)

    async def reset(self, key: Key, /) -> None:
        """Deletes the state of a key: it has its whole quota again, and its permits are void."""
        await self._limiter.reset_async(key)

    async def until_ready(self, key: Key, cost: int = 1, /) -> Verdict:
        """Waits until `cost` units are admitted, in order of arrival."""
        return await self._limiter.until_ready(key, cost)
