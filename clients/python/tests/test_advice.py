"""`advice` against the vectors that it shares with other languages."""

from __future__ import annotations

from typing import Any

import pytest

import vectors
from slidegate import Backoff, RetrySettings, Stop, advice

VECTORS = vectors.read("advice")
#: Responses of an axum server in every style, with what the client in Rust reads in them.
RECORDING = vectors.recording()


def test_the_recording_has_every_style() -> None:
    styles = {vector["name"].split(",")[0] for vector in RECORDING}
    assert styles == {"draft", "legacy", "x-ratelimit", "x-ratelimit-epoch", "none"}


@pytest.mark.parametrize("vector", [*VECTORS, *RECORDING], ids=lambda vector: vector["name"])
def test_vector(vector: dict[str, Any]) -> None:
    names = ("max_wait_ms", "max_attempts")
    settings = RetrySettings(**{name: vector[name] for name in names if name in vector})
    action = advice(
        status=vector["status"],
        headers=[(name, value) for name, value in vector["headers"]],
        method=vector["method"],
        replayable=vector["replayable"],
        attempt=vector["attempt"],
        now_ms=vector["now_ms"],
        settings=settings,
    )
    expected = vector["expect"]
    if "stop" in expected:
        assert action is Stop(expected["stop"])
    else:
        assert action == Backoff(**expected)


def test_a_mapping_is_read_like_pairs() -> None:
    def action(headers: Any) -> Any:
        return advice(
            status=429, headers=headers, method="GET", replayable=True, attempt=0, now_ms=0
        )

    assert action({"Retry-After": "5"}) == action([("retry-after", "5")]) == Backoff(5_000, 5_000)


def test_a_wait_is_never_shorter_than_the_delay() -> None:
    backoff = Backoff(delay_ms=3_000, jitter_ms=500)
    assert backoff.wait_ms(lambda low, high: low) == 3_000
    assert backoff.wait_ms(lambda low, high: high) == 3_500
    assert all(3_000 <= backoff.wait_ms() <= 3_500 for _ in range(1_000))


def test_a_number_with_thousands_of_digits_is_above_any_wait() -> None:
    action = advice(
        status=429,
        headers=[("retry-after", "9" * 10_000)],
        method="GET",
        replayable=True,
        attempt=0,
        now_ms=0,
    )
    assert action is Stop.WAIT_TOO_LONG
