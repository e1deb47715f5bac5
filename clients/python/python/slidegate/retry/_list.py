"""Parser of lists of structured fields (RFC 9651).

It reads the whole grammar, since one mistake makes a field unusable, but returns only names and
integers.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

_SPACES = re.compile(r" *")
_BLANKS = re.compile(r"[ \t]*")
_PARAMETER = re.compile(r"; *([a-z*][a-z0-9_\-.*]*)(=?)")
_BARE_ITEM = re.compile(
    r"""
      -?[0-9]{1,12}\.[0-9]{1,3}                          # decimal
    | (?P<integer> -?[0-9]{1,15})
    | "(?: [ !\x23-\x5b\x5d-\x7e] | \\["\\] )*"          # string
    | [A-Za-z*][A-Za-z0-9!\#$%&'*+\-.^_`|~:/]*           # token
    | :[A-Za-z0-9+/=]*:                                  # byte sequence
    | \?[01]                                             # boolean
    | @-?[0-9]{1,15}                                     # date
    | %"(?P<display> (?: [ !\x23\x24\x26-\x7e] | %[0-9a-f]{2} )*)"
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(rb"%([0-9a-f]{2})")


class ListItem(NamedTuple):
    """Item of a list: its value as text, and the parameters that are integers."""

    name: str
    integers: dict[str, int]


class _MalformedList(Exception):
    pass


def parse(value: str) -> Optional[list[ListItem]]:
    """Items of a list, without inner lists. None if the list is malformed."""
    try:
        return list(_members(value))
    except _MalformedList:
        return None


def _members(value: str) -> list[ListItem]:
    items: list[ListItem] = []
    position = _skip(_SPACES, value, 0)
    if position == len(value):
        return items
    while True:
        if value.startswith("(", position):
            position = _inner_list(value, position)
        else:
            item, position = _item(value, position)
            items.append(item)
        position = _skip(_BLANKS, value, position)
        if position == len(value):
            return items
        if value[position] != ",":
            raise _MalformedList
        position = _skip(_BLANKS, value, position + 1)


def _inner_list(value: str, position: int) -> int:
    position += 1
    while True:
        position = _skip(_SPACES, value, position)
        if value.startswith(")", position):
            return _parameters(value, position + 1)[1]
        position = _item(value, position)[1]
        if not value.startswith((" ", ")"), position):
            raise _MalformedList


def _item(value: str, position: int) -> tuple[ListItem, int]:
    end = _bare_item(value, position)[1]
    integers, after = _parameters(value, end)
    return ListItem(value[position:end], integers), after


def _parameters(value: str, position: int) -> tuple[dict[str, int], int]:
    integers: dict[str, int] = {}
    while value.startswith(";", position):
        parameter = _PARAMETER.match(value, position)
        if parameter is None:
            raise _MalformedList
        position = parameter.end()
        integer = None
        if parameter[2]:
            integer, position = _bare_item(value, position)
        # The last of repeated parameters counts, also if it is no integer.
        integers.pop(parameter[1], None)
        if integer is not None:
            integers[parameter[1]] = integer
    return integers, position


def _bare_item(value: str, position: int) -> tuple[Optional[int], int]:
    match = _BARE_ITEM.match(value, position)
    if match is None:
        raise _MalformedList
    if match["display"] is not None:
        _check_utf8(match["display"])
    integer = match["integer"]
    return None if integer is None else int(integer), match.end()


def _check_utf8(display: str) -> None:
    text = _ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), display.encode("ascii"))
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        raise _MalformedList from None


def _skip(pattern: re.Pattern[str], value: str, position: int) -> int:
    match = pattern.match(value, position)
    assert match is not None, "the pattern matches an empty text"
    return match.end()
