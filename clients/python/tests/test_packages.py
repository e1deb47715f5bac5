"""The wheel and the source distribution, installed into fresh environments.

`SLIDEGATE_DIST` is a folder with both; scripts/test builds them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

SCRIPT = """
import slidegate
assert slidegate.Limiter("1/day").check("alice").remaining == 0
assert "site-packages" in slidegate.__file__
print("ok")
"""


def package(pattern: str) -> Path:
    folder = os.environ.get("SLIDEGATE_DIST")
    if folder is None:
        pytest.fail("SLIDEGATE_DIST has no folder with packages; scripts/test sets it")
    (path,) = Path(folder).glob(pattern)
    return path


@pytest.mark.parametrize(
    "pattern, options",
    [
        ("*.whl", ["--no-index"]),
        ("*.tar.gz", ["--config-settings=build-args=--profile wheel-test"]),
    ],
    ids=["wheel", "sdist"],
)
def test_it_can_be_installed(pattern: str, options: list[str], tmp_path: Path) -> None:
    python = str(tmp_path / "venv" / "bin" / "python")
    venv.create(tmp_path / "venv", with_pip=True)
    install = ["-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-cache-dir"]
    subprocess.run([python, *install, *options, str(package(pattern))], check=True)
    run = [python, "-I", "-W", "error", "-c", SCRIPT]
    assert subprocess.run(run, check=True, capture_output=True, text=True).stdout == "ok\n"


def test_the_sdist_has_what_the_build_needs() -> None:
    with tarfile.open(package("*.tar.gz")) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"clients/python/Cargo.lock", "crates/slidegate/Cargo.toml", "LICENSE-MIT"} <= names
    assert "python/slidegate/py.typed" in names


def test_the_wheel_serves_every_python_since_3_9() -> None:
    assert "-cp39-abi3-" in package("*.whl").name
    assert sys.version_info >= (3, 9)
