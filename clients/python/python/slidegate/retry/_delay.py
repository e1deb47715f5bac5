"""Delay that a server demands, read from the headers of a response.

Field lines of one name are combined before they are read, so that clients that see only the
combined value get the same delay. Whatever cannot be read is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Optional, Union

from . import _list

#: Headers of a response: pairs of name and value, which may repeat, or a mapping.
Headers = Union[Mapping[str, str], Sequence[tuple[str, str]]]

#: Resets above this number of seconds are times, not delays: 32 years, or the year 2001.
_MAX_RESET_DELAY_S = 1_000_000_000
#: Digits of the largest number of seconds. Longer ones are above any wait.
_MAX_DIGITS = 18
_TOO_LONG_S = 10**_MAX_DIGITS

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SHORT_DAYS = tuple(day[:3] for day in _DAYS)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_SHORT_DAY = rf"(?P<day_name>{'|'.join(_SHORT_DAYS)})"
_DAY = rf"(?P<day_name>{'|'.join(_DAYS)})"
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_DATES = (
    re.compile(rf"{_SHORT_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT"),
    re.compile(rf"{_DAY}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT"),
    re.compile(rf"{_SHORT_DAY} {_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def delay_ms(headers: Headers, now_ms: int) -> Optional[int]:
    """Delay by the first of `Retry-After`, `RateLimit` and the resets that has one."""
    fields = Fields(headers)
    for delay in (fields.retry_after_ms(now_ms), fields.rate_limit_ms(), fields.reset_ms(now_ms)):
        if delay is not None:
            return delay
    return None


class Fields:
    """Fields of a response that speak of limits, by their names in lower case."""

    def __init__(self, headers: Headers) -> None:
        self._lines: dict[str, list[str]] = {}
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        for name, value in pairs:
            self._lines.setdefault(name.lower(), []).append(value.strip(" \t"))

    def combined(self, name: str) -> Optional[str]:
        """Lines of a field as one value, as RFC 9110 combines them."""
        lines = self._lines.get(name)
        return None if lines is None else ", ".join(lines)

    def retry_after_ms(self, now_ms: int) -> Optional[int]:
        """Longest delay in `Retry-After`: seconds or a date."""
        return _longest(_retry_after_ms(member, now_ms) for member in self._members("retry-after"))

    def rate_limit_ms(self) -> Optional[int]:
        """Longest `t` of the items of `RateLimit` that have no quota left."""
        value = self.combined("ratelimit")
        items = [] if value is None else _list.parse(value) or []
        exhausted = (item.integers for item in items if item.integers.get("r") == 0)
        return _longest(_positive_ms(integers.get("t")) for integers in exhausted)

    def reset_ms(self, now_ms: int) -> Optional[int]:
        """Latest reset, by either name: a delay, or a time if the number is too large for one."""
        members = [*self._members("ratelimit-reset"), *self._members("x-ratelimit-reset")]
        return _longest(_reset_ms(member, now_ms) for member in members)

    def _members(self, name: str) -> Iterator[str]:
        value = self.combined(name)
        return iter(()) if value is None else _members(value)


def _longest(delays: Iterable[Optional[int]]) -> Optional[int]:
    return max((delay for delay in delays if delay is not None), default=None)


def _members(value: str) -> Iterator[str]:
    """Members between commas. The comma after the day of a date separates nothing."""
    start = end = 0
    while end < len(value):
        end = value.find(",", end)
        if end < 0:
            break
        if value[start:end].strip(" \t") not in (*_DAYS, *_SHORT_DAYS):
            yield value[start:end].strip(" \t")
            start = end + 1
        end += 1
    yield value[start:].strip(" \t")


def _retry_after_ms(member: str, now_ms: int) -> Optional[int]:
    seconds = _seconds(member)
    if seconds is not None:
        return seconds * 1_000
    date_ms = _date_ms(member)
    return None if date_ms is None else max(0, date_ms - now_ms)


def _reset_ms(member: str, now_ms: int) -> Optional[int]:
    seconds = _seconds(member)
    if seconds is None or seconds <= _MAX_RESET_DELAY_S:
        return _positive_ms(seconds)
    return max(0, seconds * 1_000 - now_ms)


def _positive_ms(seconds: Optional[int]) -> Optional[int]:
    return None if seconds is None or seconds < 0 else seconds * 1_000


def _seconds(text: str) -> Optional[int]:
    """Digits as a number; a very large one if they are too many."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    return int(digits or "0") if len(digits) <= _MAX_DIGITS else _TOO_LONG_S


def _date_ms(text: str) -> Optional[int]:
    """HTTP date in Unix milliseconds, unless it is before 1970."""
    match = next(filter(None, (form.fullmatch(text) for form in _DATES)), None)
    if match is None:
        return None
    year = int(match["year"])
    if len(match["year"]) == 2:
        year += 1900 if year >= 70 else 2000
    month = _MONTHS.index(match["month"]) + 1
    hour, minute, second = (int(match[part]) for part in ("hour", "minute", "second"))
    try:
        date = datetime(year, month, int(match["day"]), hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        return None
    if not _DAYS[date.weekday()].startswith(match["day_name"]):
        return None
    since_ms = (date - _EPOCH) // timedelta(milliseconds=1)
    return since_ms if since_ms >= 0 else None
