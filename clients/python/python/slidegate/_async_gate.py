"""Gate with coroutines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from ._native import Answer, Gate
from ._types import SettleOutcome


class AsyncGate:
    """`Gate` with coroutines: `AsyncGate(Gate.from_file("policy.yaml"))`."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def check(
        self,
        attributes: Mapping[str, str],
        cost: int = 1,
        *,
        idempotency_key: Optional[str] = None,
        wait: float = 0.0,
    ) -> Answer:
        """Decides a request by every rule that applies to it: all admit it, or none is charged."""
        if idempotency_key is None and not wait:
            answer = self._gate.check_now(attributes, cost)
            if answer is not None:
                return answer
        return await self._gate.check_async(
            attributes, cost, idempotency_key=idempotency_key, wait=wait
        )

    async def settle(self, permit: str, cost: int, /) -> SettleOutcome:
        """Replaces a charged cost by the actual one, even beyond the quota."""
        return await self._gate.settle_async(permit, cost)

    async def refund(self, permit: str, /) -> SettleOutcome:
        """Gives back a charge, or releases a slot in flight."""
        return await self._gate.refund_async(permit)
