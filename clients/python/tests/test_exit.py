"""Interpreters that end while the runtime completes futures."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUNS = 10

PENDING = """
import asyncio
from slidegate import AsyncLimiter, AsyncRedisLimiter

async def main():
    memory = AsyncLimiter("1/day")
    await memory.check("alice")
    redis = AsyncRedisLimiter("redis://127.0.0.1:1", "5/s")
    tasks = [asyncio.ensure_future(memory.until_ready("alice"))]
    tasks += [asyncio.ensure_future(redis.check(key)) for key in range(500)]
    await asyncio.sleep(0)
    return tasks

loop = asyncio.new_event_loop()
tasks = loop.run_until_complete(main())
"""

LATE = """
import asyncio, atexit

def check():
    try:
        asyncio.run(slidegate.AsyncRedisLimiter("redis://127.0.0.1:1", "5/s").check("alice"))
    except RuntimeError as error:
        print(error)

# It runs after what was registered later.
atexit.register(check)
import slidegate
slidegate.RedisLimiter("redis://127.0.0.1:1", "5/s").check("alice")
"""


@pytest.mark.parametrize("end", ["", "loop.close()"])
def test_the_process_ends_well(end: str) -> None:
    for _ in range(RUNS):
        subprocess.run([sys.executable, "-c", PENDING + end], check=True, capture_output=True)


def test_a_check_after_the_end_is_an_error() -> None:
    run = [sys.executable, "-c", LATE]
    output = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert output == "the interpreter is shutting down\n"
