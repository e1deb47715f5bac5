"""The engine through its bindings, against the golden vectors."""

from __future__ import annotations

from typing import Any, Optional

import pytest

import vectors
from slidegate import Limit, Limiter, ManualClock

FILES = ("log", "counter", "fixed", "gcra", "in_flight", "multi", "clock", "settle", "large")


def is_usable(trace: dict[str, Any]) -> bool:
    """Whether a limiter can run a trace: from nothing, by one set of limits, each with one cost."""
    if "initial" in trace or any("limits" in step or "costs" in step for step in trace["steps"]):
        return False
    kinds = {fields["kind"] for fields in trace["limits"]}
    operations = {step["op"] for step in trace["steps"]}
    if "gcra" in kinds:
        return operations <= {"check", "peek"}
    # A limiter releases all of a slot in flight, whatever the cost of the settlement.
    settlements = {"refund"} if "in_flight" in kinds else {"refund", "settle"}
    return operations <= {"check", "peek", *settlements}


def has_gcra(trace: dict[str, Any]) -> bool:
    """Whether a limiter with the limits of a trace issues no permits."""
    return any(fields["kind"] == "gcra" for fields in trace["limits"])


TRACES = [trace for name in FILES for trace in vectors.read(name) if is_usable(trace)]


def limit(fields: dict[str, Any]) -> Limit:
    quota, window_s = fields["quota"], fields["window_ms"] / 1_000
    limit = Limit.per(quota, window_s)
    if fields["kind"] == "in_flight":
        limit = Limit.in_flight(quota, window_s)
    elif fields["kind"] == "counter":
        limit = limit.counter()
    elif fields["kind"] == "fixed":
        limit = limit.fixed()
    elif fields["kind"] == "gcra":
        limit = limit.gcra(fields["burst"])
    elif "resolution_ms" in fields:
        limit = limit.resolution_ms(fields["resolution_ms"])
    return limit.named(fields["name"]) if "name" in fields else limit


@pytest.mark.parametrize("trace", TRACES, ids=[trace["name"] for trace in TRACES])
def test_trace(trace: dict[str, Any]) -> None:
    clock = ManualClock()
    limiter = Limiter(*map(limit, trace["limits"]), clock=clock)
    permits: dict[int, Optional[str]] = {}
    for index, step in enumerate(trace["steps"]):
        clock.set_ms(step["at_ms"])
        expect = step["expect"]
        if step["op"] in ("check", "peek"):
            cost = step["cost"] if step["op"] == "check" else 0
            if cost and not has_gcra(trace):
                reservation = limiter.reserve("subject", cost)
                verdict, permits[index] = reservation.verdict, reservation.permit
            else:
                verdict = limiter.check_n("subject", cost)
            assert verdict.allowed == expect["allowed"], index
            assert verdict.remaining == expect["remaining"], index
            assert verdict.retry_after_ms == expect["retry_after_ms"], index
            assert verdict.reset_after_ms == expect["reset_after_ms"], index
        else:
            permit = permits[step["of"]]
            assert permit is not None
            limiter.settle(permit, step.get("cost", 0))


def test_most_traces_are_usable() -> None:
    assert len(TRACES) >= 100
