"""Transports for httpx that retry refused requests.

`httpx.Client(transport=RetryTransport())` returns the last response when it stops retrying, and
raises nothing because of a refusal.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Optional

import anyio
import httpx

from .retry import Attempts, Retry

__all__ = ["AsyncRetryTransport", "RetryTransport"]


class RetryTransport(httpx.BaseTransport):
    """Transport that retries over another one, by default `httpx.HTTPTransport`."""

    def __init__(
        self,
        transport: Optional[httpx.BaseTransport] = None,
        *,
        retry: Optional[Retry] = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._transport = httpx.HTTPTransport() if transport is None else transport
        self._retry = Retry() if retry is None else retry
        self._sleep = sleep

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with _start(self._retry, request) as attempts:
            while True:
                for wait_s in attempts.waits_s():
                    self._sleep(wait_s)
                response = self._transport.handle_request(request)
                if _is_final(attempts, request, response):
                    return response
                response.close()

    def close(self) -> None:
        self._transport.close()


class AsyncRetryTransport(httpx.AsyncBaseTransport):
    """Transport that retries over another one, by default `httpx.AsyncHTTPTransport`."""

    def __init__(
        self,
        transport: Optional[httpx.AsyncBaseTransport] = None,
        *,
        retry: Optional[Retry] = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._transport = httpx.AsyncHTTPTransport() if transport is None else transport
        self._retry = Retry() if retry is None else retry
        self._sleep = sleep

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with _start(self._retry, request) as attempts:
            while True:
                for wait_s in attempts.waits_s():
                    await self._sleep(wait_s)
                response = await self._transport.handle_async_request(request)
                if _is_final(attempts, request, response):
                    return response
                await response.aclose()

    async def aclose(self) -> None:
        await self._transport.aclose()


def _start(retry: Retry, request: httpx.Request) -> Attempts:
    url = request.url
    return retry.start(f"{url.scheme}://{url.netloc.decode('ascii')}", request.method)


def _is_final(attempts: Attempts, request: httpx.Request, response: httpx.Response) -> bool:
    # Other streams are used up after the first attempt.
    replayable = isinstance(request.stream, httpx.ByteStream)
    headers = response.headers.multi_items()
    return attempts.next(response.status_code, headers, replayable=replayable) is not None
