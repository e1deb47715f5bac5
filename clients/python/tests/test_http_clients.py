"""The hooks of httpx, requests and tenacity, against a server on loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
import requests
import tenacity

from slidegate.httpx import AsyncRetryTransport, RetryTransport
from slidegate.requests import RetryAdapter
from slidegate.retry import Retry, RetrySettings
from slidegate.tenacity import AdviceStrategy
from test_retry import World


class Api(ThreadingHTTPServer):
    """Server that refuses a number of requests, then answers with their bodies."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.refusals = 0
        self.status = 429
        self.headers = {"Retry-After": "2"}
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    server: Api
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        if self.headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.bodies.append(body)
        is_refused = len(self.server.bodies) <= self.server.refusals
        self.send_response(self.server.status if is_refused else 200)
        if is_refused:
            for name, value in self.server.headers.items():
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = _answer

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def world() -> World:
    return World()


def httpx_client(world: World, settings: RetrySettings = RetrySettings()) -> httpx.Client:
    retry = Retry(settings, environment=world.environment())
    return httpx.Client(transport=RetryTransport(retry=retry, sleep=world.sleep))


def requests_session(world: World) -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    retry = Retry(environment=world.environment())
    session.mount("http://", RetryAdapter(retry=retry, sleep=world.sleep))
    return session


def test_httpx_retries_until_it_gets_in(api: Api, world: World) -> None:
    api.refusals = 3
    with httpx_client(world) as client:
        response = client.post(api.url, content=b"body")
    assert (response.status_code, response.content) == (200, b"body")
    assert api.bodies == [b"body"] * 4
    assert world.sleeps_s == [2.0] * 3


def test_httpx_returns_the_last_refusal(api: Api, world: World) -> None:
    api.refusals = 9
    with httpx_client(world, RetrySettings(max_attempts=3)) as client:
        response = client.get(api.url)
    assert response.status_code == 429
    assert len(api.bodies) == 3


def test_httpx_sends_a_stream_once(api: Api, world: World) -> None:
    api.refusals = 1
    with httpx_client(world) as client:
        response = client.post(api.url, content=iter([b"one", b"two"]))
    assert response.status_code == 429
    assert (api.bodies, world.sleeps_s) == ([b"onetwo"], [])


def test_httpx_does_not_repeat_a_post_after_503(api: Api, world: World) -> None:
    api.refusals, api.status = 1, 503
    with httpx_client(world) as client:
        assert client.post(api.url, content=b"").status_code == 503
        api.bodies.clear()
        assert client.put(api.url, content=b"").status_code == 200


async def test_httpx_retries_in_asyncio(api: Api, world: World) -> None:
    api.refusals = 3
    api.headers = {"RateLimit": '"burst";r=0;t=7, "day";r=90;t=3600'}
    retry = Retry(environment=world.environment())
    transport = AsyncRetryTransport(retry=retry, sleep=world.sleep_async)
    async with httpx.AsyncClient(transport=transport) as client:
        response = await client.post(api.url, json={"a": 1})
        assert response.json() == {"a": 1}
    assert world.sleeps_s == [7.0] * 3


def test_requests_retries_until_it_gets_in(api: Api, world: World) -> None:
    api.refusals = 3
    api.headers = {"X-RateLimit-Reset": "4"}
    with requests_session(world) as session:
        response = session.post(api.url, data=b"body")
    assert (response.status_code, response.content) == (200, b"body")
    assert api.bodies == [b"body"] * 4
    assert world.sleeps_s == [4.0] * 3


def test_requests_sends_a_stream_once(api: Api, world: World) -> None:
    api.refusals = 1
    with requests_session(world) as session:
        response = session.post(api.url, data=iter([b"one", b"two"]))
    assert response.status_code == 429
    assert (api.bodies, world.sleeps_s) == ([b"onetwo"], [])


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("refusals, calls, status", [(2, 3, 200), (9, 5, 429)])
def test_tenacity_follows_the_advice(
    api: Api, world: World, raises: bool, refusals: int, calls: int, status: int
) -> None:
    api.refusals = refusals
    strategy = AdviceStrategy(environment=world.environment())

    @tenacity.retry(retry=strategy.retry, wait=strategy.wait, sleep=world.sleep, reraise=True)
    def fetch() -> httpx.Response:
        response = client.get(api.url)
        if raises:
            response.raise_for_status()
        return response

    with httpx.Client() as client:
        try:
            response = fetch()
        except httpx.HTTPStatusError as error:
            assert raises
            response = error.response
    assert response.status_code == status
    assert world.sleeps_s == [2.0] * (calls - 1)
    assert len(api.bodies) == calls


def test_tenacity_leaves_other_results_and_errors_alone(world: World) -> None:
    strategy = AdviceStrategy(environment=world.environment())
    decorate = tenacity.retry(retry=strategy.retry, wait=strategy.wait, sleep=world.sleep)

    def fail() -> None:
        raise ValueError("other")

    assert decorate(lambda: 7)() == 7
    with pytest.raises(ValueError, match="other"):
        decorate(fail)()
    assert world.sleeps_s == []
