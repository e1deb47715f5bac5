"""The parser of structured fields against PyPI's `http-sfv`, on random lists."""

from __future__ import annotations

import os
import random
from typing import Optional

import pytest
from http_sfv.item import Item
from http_sfv.list import List

from slidegate.retry import _list

KEYS = ("q", "r", "t")
CASES = int(os.environ.get("SLIDEGATE_CASES", "20000"))

#: Pieces of which most lists are well-formed, and every mistake is likely.
ITEMS = (
    '"burst"',
    '"a, \\"b\\\\"',
    '""',
    "burst",
    "*a:b/c",
    "A!#",
    ":YWJj:",
    "::",
    "@12",
    "@-3",
    '%"f%c3%bc"',
    "?1",
    "?0",
    "0",
    "-7",
    "999999999999999",
    "123456789012.123",
    "()",
    '("a" b;r=0)',
    "( 1  2 )",
)
PARAMETERS = (
    ";r=0",
    ";t=30",
    ";q=100",
    ";r=-0",
    ";t=-5",
    ";r",
    ";t=1.5",
    ';t="3"',
    "; r=7",
    ";*x.y-z_1=a",
    ";pk=:YWJj:",
    ";d=@12",
)
MISTAKES = (
    '"',
    "\\",
    '"\\n"',
    ";R=0",
    ";",
    "=",
    ":*:",
    ":",
    "@1.5",
    '%"%c3"',
    '%"%C3"',
    '%"%zz"',
    "%",
    "?2",
    "?",
    "1000000000000000",
    "1234567890123.1",
    "0.1234",
    "-",
    "--1",
    "(",
    ")",
    "(a,b)",
    " ",
    "\t",
    ",",
    "{",
    "\x7f",
)


def random_list(rng: random.Random) -> str:
    pieces: list[str] = []
    for index in range(rng.randint(1, 4)):
        if index:
            pieces.append(rng.choice((",", ", ", "\t, ", " ,")))
        pieces.append(rng.choice(ITEMS))
        pieces.extend(rng.choices(PARAMETERS, k=rng.randint(0, 3)))
    if rng.random() < 0.4:
        pieces.insert(rng.randint(0, len(pieces)), rng.choice(MISTAKES))
    return "".join(pieces)


def integers_by_http_sfv(value: str) -> Optional[list[dict[str, int]]]:
    """Integers among the parameters of each item, by another implementation."""
    members = List()
    try:
        members.parse(value.encode("utf-8"))
    except ValueError:
        return None
    return [
        {key: member.params[key] for key in KEYS if type(member.params.get(key)) is int}
        for member in members
        if isinstance(member, Item)
    ]


def integers_by_us(value: str) -> Optional[list[dict[str, int]]]:
    items = _list.parse(value)
    if items is None:
        return None
    return [{key: item.integers[key] for key in KEYS if key in item.integers} for item in items]


def test_random_lists_are_read_as_http_sfv_reads_them() -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    well_formed = 0
    for _ in range(CASES):
        value = random_list(rng)
        expected = integers_by_http_sfv(value)
        assert integers_by_us(value) == expected, f"{value!r}, seed {seed}"
        well_formed += expected is not None
    assert CASES * 0.2 < well_formed < CASES * 0.9


@pytest.mark.parametrize("value", ["é;r=0", '"é";r=0', ";r=0", "a;r=0\n", "a;é=0", "a;r=٣"])
def test_other_characters_are_mistakes(value: str) -> None:
    assert _list.parse(value) is None


def test_where_http_sfv_leaves_the_standard_we_do_not() -> None:
    # It takes a decimal without digits after its point, no date beyond the year 9999, and no
    # empty list.
    assert _list.parse("1.") is None
    assert _list.parse("@") is None
    assert _list.parse("@999999999999999") == [_list.ListItem("@999999999999999", {})]
    assert _list.parse("") == _list.parse("  ") == []


def test_a_long_list_is_read_in_linear_time() -> None:
    value = ", ".join('"burst";r=0;t=30' for _ in range(10_000))
    items = _list.parse(value)
    assert items is not None and len(items) == 10_000
    assert _list.parse(value + ",") is None
