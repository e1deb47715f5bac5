"""Clients of the HTTP API of a Slidegate server, over httpx.

A denial is a value and is not retried. With a `Retry` of more than one attempt, a call is sent
again if its response is lost or a 503. A check then has an idempotency key from its first attempt
on, made by the client for this call alone, so that it is charged once. The server remembers such
keys for a while, at the cost of memory: without retries there is none.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Optional

import anyio
import httpx

from ._check_call import (
    CheckAnswer,
    CheckError,
    CheckLimit,
    Reply,
    check_answer,
    is_final,
    settle_outcome,
)
from .retry import Retry, RetrySettings

__all__ = ["AsyncCheckClient", "CheckAnswer", "CheckClient", "CheckError", "CheckLimit"]

_DEFAULT_TIMEOUT_S = 1.0
#: The method as which the advice regards a call, which can be repeated like one.
_IDEMPOTENT_METHOD = "PUT"

_NO_RETRY = Retry(RetrySettings(max_attempts=1))


class CheckClient:
    """Client for threads. `timeout` is in seconds, for each attempt and in addition to a wait."""

    def __init__(
        self,
        url: str,
        *,
        token: Optional[str] = None,
        timeout: float = _DEFAULT_TIMEOUT_S,
        retry: Optional[Retry] = None,
        transport: Optional[httpx.BaseTransport] = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = httpx.Client(base_url=url, headers=_headers(token), transport=transport)
        self._timeout = timeout
        self._retry = _NO_RETRY if retry is None else retry
        self._sleep = sleep

    def check(
        self, attributes: Mapping[str, str], cost: int = 1, *, wait_ms: int = 0
    ) -> CheckAnswer:
        """Checks a request by its attributes, against the rules of the server's policy."""
        body = _check_body(attributes, cost, wait_ms, self._retry)
        return check_answer(self._post("/v1/check", body, wait_ms))

    def settle(self, permit: str, cost: int) -> str:
        """Replaces a charge by the actual cost: `settled`, `already_spent`, `expired`, `void` …

        `already_spent` after a lost connection may mean that an earlier attempt settled it.
        """
        return settle_outcome(self._post("/v1/settle", {"permit": permit, "cost": cost}))

    def refund(self, permit: str) -> str:
        """Gives back a charge, or releases a slot in flight."""
        return settle_outcome(self._post("/v1/refund", {"permit": permit}))

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def __enter__(self) -> CheckClient:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def _post(self, path: str, body: Mapping[str, Any], wait_ms: int = 0) -> Reply:
        timeout = self._timeout + wait_ms / 1_000
        with self._retry.start(str(self._client.base_url), _IDEMPOTENT_METHOD) as attempts:
            while True:
                for wait_s in attempts.waits_s():
                    self._sleep(wait_s)
                try:
                    reply = _reply(self._client.post(path, json=body, timeout=timeout))
                except httpx.TransportError as error:
                    if is_final(attempts, error):
                        raise _unreachable(error) from error
                else:
                    if is_final(attempts, reply):
                        return reply


class AsyncCheckClient:
    """`CheckClient` for asyncio and trio."""

    def __init__(
        self,
        url: str,
        *,
        token: Optional[str] = None,
        timeout: float = _DEFAULT_TIMEOUT_S,
        retry: Optional[Retry] = None,
        transport: Optional[httpx.AsyncBaseTransport] = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._client = httpx.AsyncClient(base_url=url, headers=_headers(token), transport=transport)
        self._timeout = timeout
        self._retry = _NO_RETRY if retry is None else retry
        self._sleep = sleep

    async def check(
        self, attributes: Mapping[str, str], cost: int = 1, *, wait_ms: int = 0
    ) -> CheckAnswer:
        """Checks a request by its attributes, against the rules of the server's policy."""
        body = _check_body(attributes, cost, wait_ms, self._retry)
        return check_answer(await self._post("/v1/check", body, wait_ms))

    async def settle(self, permit: str, cost: int) -> str:
        """Replaces a charge by the actual cost; see `CheckClient.settle`."""
        return settle_outcome(await self._post("/v1/settle", {"permit": permit, "cost": cost}))

    async def refund(self, permit: str) -> str:
        """Gives back a charge, or releases a slot in flight."""
        return settle_outcome(await self._post("/v1/refund", {"permit": permit}))

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> AsyncCheckClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.aclose()

    async def _post(self, path: str, body: Mapping[str, Any], wait_ms: int = 0) -> Reply:
        timeout = self._timeout + wait_ms / 1_000
        with self._retry.start(str(self._client.base_url), _IDEMPOTENT_METHOD) as attempts:
            while True:
                for wait_s in attempts.waits_s():
                    await self._sleep(wait_s)
                try:
                    reply = _reply(await self._client.post(path, json=body, timeout=timeout))
                except httpx.TransportError as error:
                    if is_final(attempts, error):
                        raise _unreachable(error) from error
                else:
                    if is_final(attempts, reply):
                        return reply


def _headers(token: Optional[str]) -> dict[str, str]:
    return {} if token is None else {"authorization": f"Bearer {token}"}


def _check_body(
    attributes: Mapping[str, str], cost: int, wait_ms: int, retry: Retry
) -> dict[str, Any]:
    body: dict[str, Any] = {"attributes": dict(attributes), "cost": cost}
    if wait_ms:
        body["wait_ms"] = wait_ms
    if retry.settings.max_attempts > 1:
        body["idempotency_key"] = uuid.uuid4().hex
    return body


def _reply(response: httpx.Response) -> Reply:
    try:
        body = response.json()
    except ValueError:
        body = None
    return Reply(response.status_code, response.headers, body if isinstance(body, dict) else {})


def _unreachable(error: httpx.TransportError) -> CheckError:
    return CheckError(f"cannot reach the server: {error or type(error).__name__}")
