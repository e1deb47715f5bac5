"""Calls of the check API without I/O: attempts and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from ._native import SlidegateError
from .retry import Attempts

_SERVICE_UNAVAILABLE = 503
_CONFLICT = 409
_NO_DELAY = {"retry-after": "0"}


class CheckError(SlidegateError):
    """No answer: the server cannot be reached, or refuses the call as such."""

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message)
        #: Status of the response; None if there was none.
        self.status = status


@dataclass(frozen=True)
class CheckLimit:
    """Decision of one limit."""

    limit: str
    policy: str
    quota: int
    window_ms: int
    outcome: str
    remaining: Optional[int]
    retry_after_ms: Optional[int]
    reset_after_ms: Optional[int]
    #: None for an ad hoc limit.
    rule: Optional[str] = None


@dataclass(frozen=True)
class CheckAnswer:
    """Answer to a check. It is true if the request is allowed."""

    allowed: bool
    remaining: Optional[int] = None
    retry_after_ms: Optional[int] = None
    reset_after_ms: Optional[int] = None
    limits: tuple[CheckLimit, ...] = ()
    #: Permit to settle or refund the charge, where the rule issues one.
    permit: Optional[str] = None
    #: Whether the request was charged before, under the same idempotency key.
    replayed: bool = False
    #: Rule that blocks the request whatever its limits say.
    blocked_by: Optional[str] = None
    #: Headers about limits, to be passed on to the client.
    headers: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.allowed


#: Members of the answer and of its limits, as the API names them.
_ANSWER_MEMBERS = ("remaining", "retry_after_ms", "reset_after_ms", "permit", "replayed")
_LIMIT_MEMBERS = tuple(CheckLimit.__dataclass_fields__)


@dataclass(frozen=True)
class Reply:
    """Response of the server: status, headers, and the JSON object in its body, if it is one."""

    status: int
    headers: Mapping[str, str]
    body: Mapping[str, Any]


def is_final(attempts: Attempts, result: Union[Reply, Exception]) -> bool:
    """Whether the result of an attempt is that of the call.

    After a lost response or a 503 nobody knows whether the call took effect. Its idempotency key,
    or its permit, makes another attempt safe.
    """
    if not isinstance(result, Reply):
        # As after a 503 that demands no delay.
        return attempts.next(_SERVICE_UNAVAILABLE, _NO_DELAY, replayable=True) is not None
    if result.status != _SERVICE_UNAVAILABLE:
        return True
    return attempts.next(result.status, result.headers, replayable=True) is not None


def check_answer(reply: Reply) -> CheckAnswer:
    """Answer in a reply to a check."""
    body = reply.body
    if not isinstance(body.get("allowed"), bool):
        raise problem(reply)
    members = {name: body[name] for name in _ANSWER_MEMBERS if name in body}
    limits = tuple(
        CheckLimit(**{name: limit[name] for name in _LIMIT_MEMBERS if name in limit})
        for limit in body.get("limits", ())
    )
    headers = {name: value for name, value in reply.headers.items() if _is_about_limits(name)}
    return CheckAnswer(
        allowed=body["allowed"],
        limits=limits,
        blocked_by=body.get("rule"),
        headers=headers,
        **members,
    )


def settle_outcome(reply: Reply) -> str:
    """Outcome in a reply to a settlement."""
    outcome = reply.body.get("outcome")
    if not isinstance(outcome, str) or reply.status not in (200, _CONFLICT):
        raise problem(reply)
    return outcome


def problem(reply: Reply) -> CheckError:
    """Error with the explanation of the server."""
    detail = reply.body.get("detail", "no explanation")
    return CheckError(f"the server answered {reply.status}: {detail}", reply.status)


def _is_about_limits(name: str) -> bool:
    return name.lower().startswith(("ratelimit", "x-ratelimit", "retry-after"))
