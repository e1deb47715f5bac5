"""Adapter for requests that retries refused requests.

`session.mount("https://", RetryAdapter())` makes a session return the last response when it stops
retrying, and raise nothing because of a refusal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Optional, Union
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from .retry import Retry

__all__ = ["RetryAdapter"]


class RetryAdapter(HTTPAdapter):
    """Adapter that retries. Further keywords are those of `requests.adapters.HTTPAdapter`."""

    def __init__(
        self,
        *,
        retry: Optional[Retry] = None,
        sleep: Callable[[float], None] = time.sleep,
        **settings: Any,
    ) -> None:
        self._retry = Retry() if retry is None else retry
        self._sleep = sleep
        super().__init__(**settings)

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Union[float, tuple[float, float], tuple[float, None], None] = None,
        verify: Union[bool, str] = True,
        cert: Union[bytes, str, tuple[Union[bytes, str], Union[bytes, str]], None] = None,
        proxies: Optional[Mapping[str, str]] = None,
    ) -> requests.Response:
        url = urlsplit(request.url or "")
        origin = f"{url.scheme}://{url.netloc}"
        # Files and generators are used up after the first attempt.
        replayable = request.body is None or isinstance(request.body, (bytes, str))
        with self._retry.start(origin, request.method or "GET") as attempts:
            while True:
                for wait_s in attempts.waits_s():
                    self._sleep(wait_s)
                response = super().send(request, stream, timeout, verify, cert, proxies)
                stop = attempts.next(response.status_code, response.headers, replayable=replayable)
                if stop is not None:
                    return response
                response.close()
