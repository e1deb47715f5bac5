"""Types that the native module takes and returns, for type checkers."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Literal, Union

KeyPart = Union[str, bytes, int, IPv4Address, IPv6Address]
#: Key of a subject: one part, or a tuple of several. An int or an address is the same key as its
#: text.
Key = Union[KeyPart, tuple[KeyPart, ...]]

Algorithm = Literal["log", "counter", "fixed", "gcra", "in_flight"]
Outcome = Literal["fits", "retry", "never"]
#: Who decided: the store; a cached denial; or this process, because the store did not answer.
Source = Literal["store", "cache", "local", "assumed"]
SettleOutcome = Literal["settled", "partly_settled", "expired", "already_spent", "void"]
HeaderStyle = Literal["draft", "legacy", "x-ratelimit", "x-ratelimit-epoch", "none"]
