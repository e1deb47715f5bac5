"""Gates: a policy in memory and over Redis."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import slidegate
from slidegate import AsyncGate, Gate, ManualClock

POLICY = Path(__file__).with_name("policy.yaml")
LOGIN = {"method": "POST", "path": "/login", "ip": "203.0.113.7"}
TOKENS = {"path": "/v1/answer", "user": "alice"}
#: Longer than a busy machine takes, so that no test is decided by the fallback.
TIMEOUT_S = 30.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_745_000_000_000)


@pytest.fixture
def gate(clock: ManualClock) -> Gate:
    return Gate.from_file(POLICY, clock=clock)


def test_an_answer_has_the_numbers_of_the_request(gate: Gate) -> None:
    answer = gate.check(LOGIN)
    assert answer and answer.allowed
    assert (answer.remaining, answer.retry_after, answer.reset_after) == (4, None, 60.0)
    assert (answer.source, answer.decided_at_ms) == ("store", 1_745_000_000_000)
    (limit,) = answer.limits
    assert (limit.rule, limit.limit, limit.policy) == ("login", "5/min", "login-5/min")
    assert (limit.quota, limit.window_ms, limit.remaining) == (5, 60_000, 4)
    denial = gate.check(LOGIN, 5)
    assert not denial
    assert (denial.retry_after, denial.retry_after_ms) == (60.0, 60_000)
    assert (denial.limits[0].outcome, denial.limits[0].retry_after_ms) == ("retry", 60_000)
    assert repr(denial) == "<Answer denied, retry after 60000 ms>"
    assert gate.check({"path": "/other"}).limits == []


def test_headers_of_every_style(gate: Gate, clock: ManualClock) -> None:
    assert gate.check(LOGIN).headers() == {
        "ratelimit-policy": '"login-5/min";q=5;w=60',
        "ratelimit": '"login-5/min";r=4;t=60',
    }
    denial = gate.check(LOGIN, 5)
    assert denial.headers("legacy") == {
        "ratelimit-limit": "5",
        "ratelimit-remaining": "4",
        "ratelimit-reset": "60",
        "retry-after": "60",
    }
    assert denial.headers("x-ratelimit")["x-ratelimit-reset"] == "60"
    assert denial.headers("x-ratelimit-epoch")["x-ratelimit-reset"] == "1745000060"
    assert denial.headers("none") == {"retry-after": "60"}
    with pytest.raises(ValueError, match="unknown style"):
        denial.headers("other")  # type: ignore[arg-type]


def test_a_charge_is_settled_once(gate: Gate) -> None:
    permit = gate.check(TOKENS, 4_000).permit
    assert permit is not None
    assert gate.settle(permit, 1_500) == "settled"
    assert gate.refund(permit) == "already_spent"
    assert gate.check(TOKENS, 0).remaining == 8_500
    with pytest.raises(slidegate.PermitError):
        gate.refund("no permit")


def test_an_idempotency_key_charges_once(gate: Gate) -> None:
    first, second = (gate.check(LOGIN, idempotency_key="k") for _ in "12")
    assert (first.replayed, second.replayed) == (False, True)
    assert first.remaining == second.remaining == 4
    with pytest.raises(slidegate.RequestError, match="this idempotency key was used"):
        gate.check(LOGIN, 2, idempotency_key="k")


def test_a_request_without_its_key_is_blocked(gate: Gate) -> None:
    answer = gate.check({"path": "/members"})
    assert (answer.allowed, answer.blocked_by, answer.retry_after) == (False, "strangers", None)
    assert answer.headers() == {}
    assert repr(answer) == "<Answer blocked by strangers>"
    with pytest.raises(slidegate.RequestError, match="4096"):
        gate.check({"path": "/" + "x" * 5_000})
    with pytest.raises(TypeError):
        gate.check({"path": 7})  # type: ignore[dict-item]


def test_rules_in_observe_mode_deny_nobody() -> None:
    gate = Gate.from_text(
        "{version: 1, rules: [{name: a, key: [user], limits: [1/day], mode: observe}]}"
    )
    assert gate.check({"user": "alice"})
    answer = gate.check({"user": "alice"})
    assert answer and answer.limits == []
    assert [limit.outcome for limit in answer.observed] == ["retry"]


def test_errors_of_a_policy_have_positions(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("version: 1\nrules:\n  - { name: a, key: [ip], limits: [5/fortnight] }\n")
    with pytest.raises(slidegate.ConfigurationError, match=r"broken\.yaml:3:\d+"):
        Gate.from_file(path)
    with pytest.raises(FileNotFoundError):
        Gate.from_file(tmp_path / "absent.yaml")


def test_a_wait_that_is_too_long_is_a_denial(gate: Gate) -> None:
    assert gate.check(LOGIN, 5)
    assert not gate.check(LOGIN, wait=0.01)


async def test_coroutines_in_memory(gate: Gate) -> None:
    coroutines = AsyncGate(gate)
    permit = (await coroutines.check(TOKENS, 4_000)).permit
    assert permit is not None
    assert await coroutines.settle(permit, 1_500) == "settled"
    assert await coroutines.refund(permit) == "already_spent"
    assert (await coroutines.check(LOGIN, idempotency_key="k")).remaining == 4
    assert (await coroutines.check(LOGIN, idempotency_key="k")).replayed


async def test_gates_share_limits_over_redis(redis_url: str) -> None:
    first, second = (
        Gate.from_file(POLICY, redis=redis_url, prefix="gate:", timeout=TIMEOUT_S) for _ in "12"
    )
    assert first.check_now(LOGIN) is None
    assert first.check(LOGIN).remaining == 4
    answers = await asyncio.gather(*(AsyncGate(second).check(LOGIN) for _ in range(5)))
    assert sorted(answer.allowed for answer in answers) == [False] + [True] * 4
    permit = (await AsyncGate(first).check(TOKENS, 10)).permit
    assert permit is not None
    assert await AsyncGate(first).settle(permit, 1) == "settled"
    with pytest.raises(slidegate.PermitError):
        second.refund(permit)
