"""The service of examples/fastapi, run by uvicorn, and what its README shows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

FOLDER = Path(__file__).parents[3] / "examples" / "fastapi"
#: The README shows times that hold if all commands run within a second.
MAX_RUNS = 5


@contextmanager
def service() -> Iterator[str]:
    """The service on a free port of loopback, and its address."""
    command = [sys.executable, "-m", "uvicorn", "app:app", "--port", "0"]
    options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=FOLDER, text=True, **options) as process:
        try:
            yield address(process)
        finally:
            process.kill()


def address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"running on (http://127\.0\.0\.1:\d+)", line):
            return found[1]
    pytest.fail("the service does not start:\n" + "".join(lines))


def sessions(page: str) -> list[tuple[str, str]]:
    """Commands of a page, each with its output."""
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE)
    return [(command, output) for command, output in steps]


def test_the_readme_is_true() -> None:
    steps = sessions((FOLDER / "README.md").read_text(encoding="utf-8"))
    assert len(steps) == 4
    expected = [output.strip() for _, output in steps]
    for _ in range(MAX_RUNS):
        with service() as url:
            printed = []
            for command, _ in steps:
                command = command.replace("http://127.0.0.1:8000", url)
                shell = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
                printed.append(shell.stdout.replace("\r", "").strip())
        if printed == expected:
            return
    assert printed == expected


def test_refusals_are_problems_with_the_wait() -> None:
    with service() as url, httpx.Client(base_url=url) as client:
        for left in (2, 1, 0):
            admitted = client.get("/v1/items")
            assert (admitted.status_code, admitted.text) == (200, "items\n")
            assert admitted.headers["ratelimit"].startswith(f'"api-3/min";r={left};t=')
            assert "retry-after" not in admitted.headers
        refused = client.get("/v1/items")
        assert refused.status_code == 429
        assert refused.headers["content-type"] == "application/problem+json"
        body = refused.json()
        assert body["violated-policies"] == ["api-3/min"]
        assert 0 < body["retry_after_ms"] <= 60_000
        assert int(refused.headers["retry-after"]) == -(-body["retry_after_ms"] // 1_000)
        # Another key has another quota, and one that is too long is no way around.
        assert client.get("/v1/items", headers={"x-api-key": "a"}).status_code == 200
        too_long = client.get("/v1/items", headers={"x-api-key": "a" * 5_000})
        assert (too_long.status_code, too_long.json()["status"]) == (400, 400)
        # A path that is decoded twice, or not at all, is the same path.
        assert client.get("/v1//items").status_code == 429
