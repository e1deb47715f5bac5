"""Strategies for tenacity that follow the advice after a response.

    strategy = AdviceStrategy()

    @tenacity.retry(retry=strategy.retry, wait=strategy.wait)
    def fetch() -> httpx.Response:
        return client.get(url)

They read responses of httpx and requests, whether they are returned or raised with
`raise_for_status`. The advice also ends the attempts, so that `stop` is not needed: a returned
response is then returned, and a raised one raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional, Protocol, cast

import tenacity

from .retry import Advice, Backoff, Environment, RetrySettings, Stop, advice

__all__ = ["AdviceStrategy"]


class _Request(Protocol):
    method: str


class _Response(Protocol):
    status_code: int
    headers: Mapping[str, str]
    request: _Request


class AdviceStrategy:
    """Pair of `retry` and `wait` for `tenacity.retry`.

    `replayable` says whether the function sends the same body when it is called again.
    """

    def __init__(
        self,
        settings: RetrySettings = RetrySettings(),
        *,
        replayable: bool = True,
        environment: Environment = Environment(),
    ) -> None:
        self._settings = settings
        self._replayable = replayable
        self._environment = environment

    def retry(self, state: tenacity.RetryCallState) -> bool:
        """Whether to call the function again."""
        return isinstance(self._advice(state), Backoff)

    def wait(self, state: tenacity.RetryCallState) -> float:
        """Wait before the next call, in seconds."""
        action = self._advice(state)
        return 0 if isinstance(action, Stop) else action.wait_ms(self._environment.randint) / 1_000

    def _advice(self, state: tenacity.RetryCallState) -> Advice:
        response = _response(state)
        if response is None:
            return Stop.NOT_REFUSED
        return advice(
            status=response.status_code,
            headers=response.headers,
            method=response.request.method,
            replayable=self._replayable,
            attempt=state.attempt_number - 1,
            now_ms=self._environment.unix_ms(),
            settings=self._settings,
        )


def _response(state: tenacity.RetryCallState) -> Optional[_Response]:
    """Response that the function returned, or raised with an exception that has one."""
    outcome: Any = state.outcome
    if outcome is None:
        return None
    error = outcome.exception()
    response = outcome.result() if error is None else getattr(error, "response", None)
    return cast(_Response, response) if hasattr(response, "status_code") else None
