"""Servers for the tests."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Longer than anything here takes, on a busy machine too.
PATIENCE_S = 60


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Redis server on a free port of loopback, which ends with the tests."""
    program = os.environ.get("SLIDEGATE_REDIS_70")
    if program is None:
        pytest.fail("SLIDEGATE_REDIS_70 has no path of a redis-server; scripts/test sets it")
    folder = tmp_path_factory.mktemp("redis")
    port = _free_port()
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen([program, *arguments], cwd=folder, stdout=subprocess.DEVNULL)
    try:
        _wait_for_port(server, port)
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Slidegate server on a free port of loopback, with `policy.yaml`."""
    program = os.environ.get("SLIDEGATE_PROGRAM")
    if program is None:
        pytest.fail("SLIDEGATE_PROGRAM has no path of the slidegate program; scripts/test sets it")
    policy = Path(__file__).with_name("policy.yaml")
    port = _free_port()
    arguments = ["serve", str(policy), "--http", f"127.0.0.1:{port}", "--log", "off"]
    server = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL)
    try:
        _wait_for_port(server, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _wait_for_port(server: subprocess.Popen[bytes], port: int) -> None:
    """Polls until the server accepts connections: nothing can wake this process."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert server.poll() is None, f"the server ended with {server.returncode}"
            assert time.monotonic() < deadline, f"no server on port {port}"
            time.sleep(0.01)
