"""The clients of the check API, against a real server and against lost responses."""

from __future__ import annotations

import json
from typing import Any, Optional

import httpx
import pytest

from slidegate.check import AsyncCheckClient, CheckClient, CheckError
from slidegate.retry import Retry, RetrySettings
from test_retry import World

ALLOWED: dict[str, Any] = {"allowed": True, "remaining": 4, "retry_after_ms": None, "limits": []}


class Unreliable:
    """Server that loses its first responses, or answers them with a status."""

    def __init__(self, *failures: Optional[int]) -> None:
        self.failures = list(failures)
        self.bodies: list[dict[str, Any]] = []
        self.authorizations: list[Optional[str]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        self.authorizations.append(request.headers.get("authorization"))
        if not self.failures:
            return httpx.Response(200, json=ALLOWED, headers={"RateLimit": '"a";r=4;t=60'})
        status = self.failures.pop(0)
        if status is None:
            raise httpx.ReadTimeout("no response", request=request)
        headers = {"retry-after": "1"} if status == 503 else {}
        return httpx.Response(status, json={"detail": "broken"}, headers=headers)

    def client(self, world: World, **settings: Any) -> CheckClient:
        retry = Retry(RetrySettings(max_attempts=3), environment=world.environment())
        settings.setdefault("retry", retry)
        transport = httpx.MockTransport(self)
        return CheckClient("http://limits", transport=transport, sleep=world.sleep, **settings)


def test_a_check_that_is_sent_again_has_one_key_of_its_own() -> None:
    server, world = Unreliable(None, 503), World()
    with server.client(world) as client:
        answer = client.check({"user": "alice"}, 7)
        client.check({"user": "alice"}, 7)
    assert answer and answer.remaining == 4
    assert answer.headers == {"ratelimit": '"a";r=4;t=60'}
    keys = [body["idempotency_key"] for body in server.bodies]
    assert len(keys[0]) == 32 and keys[0] == keys[1] == keys[2] != keys[3]
    assert server.bodies[0] == server.bodies[2]
    assert server.bodies[0]["cost"] == 7
    assert world.sleeps_s == [0.0, 1.0]


def test_without_retries_there_is_no_key() -> None:
    server = Unreliable(503)
    with server.client(World(), retry=None, token="secret") as client:
        with pytest.raises(CheckError, match="the server answered 503: broken") as error:
            client.check({"user": "alice"})
        assert client.check({"user": "alice"}, wait_ms=50)
    assert error.value.status == 503
    assert server.bodies[1] == {"attributes": {"user": "alice"}, "cost": 1, "wait_ms": 50}
    assert server.authorizations == ["Bearer secret"] * 2


def test_an_unreachable_server_is_an_error_after_the_last_attempt() -> None:
    server = Unreliable(None, None, None)
    message = "cannot reach the server: no response"
    with server.client(World()) as client, pytest.raises(CheckError, match=message) as error:
        client.check({})
    assert error.value.status is None
    assert len(server.bodies) == 3


@pytest.mark.parametrize("status", [400, 401, 409, 500])
def test_other_statuses_are_errors_at_once(status: int) -> None:
    server = Unreliable(status)
    with server.client(World()) as client, pytest.raises(CheckError, match=f"{status}: broken"):
        client.check({})
    assert len(server.bodies) == 1


async def test_the_same_in_asyncio() -> None:
    server, world = Unreliable(None, 503), World()
    retry = Retry(environment=world.environment())
    transport = httpx.MockTransport(server)
    async with AsyncCheckClient(
        "http://limits", transport=transport, retry=retry, sleep=world.sleep_async
    ) as client:
        assert await client.check({"user": "alice"})
    assert len({body["idempotency_key"] for body in server.bodies}) == 1
    assert world.sleeps_s == [0.0, 1.0]
    server.failures = [401]
    with pytest.raises(CheckError):
        await AsyncCheckClient("http://limits", transport=transport).refund("permit")


def test_a_real_server_answers(server_url: str) -> None:
    login = {"method": "POST", "path": "/login", "ip": "203.0.113.7"}
    with CheckClient(server_url, timeout=30) as client:
        answers = [client.check(login) for _ in range(6)]
        assert [answer.allowed for answer in answers] == [True] * 5 + [False]
        denial = answers[-1]
        assert denial.remaining == 0 and 0 < (denial.retry_after_ms or 0) <= 60_000
        (limit,) = denial.limits
        assert (limit.rule, limit.limit, limit.policy) == ("login", "5/min", "login-5/min")
        assert (limit.quota, limit.window_ms, limit.outcome) == (5, 60_000, "retry")
        assert {"ratelimit", "ratelimit-policy", "retry-after"} <= set(denial.headers)
        assert client.check({"path": "/other"}).limits == ()
        blocked = client.check({"path": "/members"})
        assert (blocked.allowed, blocked.blocked_by) == (False, "strangers")
        with pytest.raises(CheckError, match="400"):
            client.check({"ip": "no address", "path": "/login", "method": "POST"})


async def test_a_real_server_settles(server_url: str) -> None:
    request = {"path": "/v1/answer", "user": "bob"}
    async with AsyncCheckClient(server_url, timeout=30, retry=Retry()) as client:
        permit = (await client.check(request, 4_000)).permit
        assert permit is not None
        assert await client.settle(permit, 1_500) == "settled"
        assert await client.refund(permit) == "already_spent"
        assert (await client.check(request, 0)).remaining == 8_500
        with pytest.raises(CheckError, match="403"):
            await client.refund("forged")
