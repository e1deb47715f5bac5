"""The examples of docs/python.md and README.md, run in order, with the servers of the tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGES = (
    Path(__file__).parents[3] / "docs" / "python.md",
    Path(__file__).parents[1] / "README.md",
)


@pytest.mark.parametrize("path", PAGES, ids=[path.name for path in PAGES])
def test_examples_run(
    path: Path,
    redis_url: str,
    server_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = path.read_text(encoding="utf-8")
    for policy in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL):
        (tmp_path / "policy.yaml").write_text(policy, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert examples
    names: dict[str, Any] = {"__name__": "__main__"}
    for example in examples:
        source = example.replace("redis://127.0.0.1:6379", redis_url)
        source = source.replace("http://127.0.0.1:8080", server_url)
        exec(compile(source, str(path), "exec"), names)
        comments = re.findall(r"print\(.*\)  # (.*)", example)
        assert capsys.readouterr().out.splitlines()[: len(comments)] == comments
