"""Golden vectors of the repository."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "vectors"


def read(name: str) -> list[dict[str, Any]]:
    """Lines of a file of vectors."""
    return _lines(FOLDER / f"{name}.jsonl")


def recording() -> list[dict[str, Any]]:
    """Responses that the test of the client in Rust recorded."""
    path = os.environ.get("SLIDEGATE_RECORDING")
    if path is None:
        pytest.fail("SLIDEGATE_RECORDING has no path of a recording; scripts/test sets it")
    return _lines(Path(path))


def _lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
