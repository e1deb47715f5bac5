"""Golden vectors of the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "vectors"


def read(name: str) -> list[dict[str, Any]]:
    """Lines of a file of vectors."""
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
