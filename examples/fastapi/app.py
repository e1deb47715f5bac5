"""FastAPI service with limits. The engine of Slidegate runs in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

import slidegate
from slidegate import Answer, AsyncGate, Gate

# State in this process. Several workers share one quota with Gate.from_file(…, redis="redis://…").
gate = AsyncGate(Gate.from_file(Path(__file__).with_name("policy.yaml")))
app = FastAPI()

QUOTA_EXCEEDED = (
    "https://iana.org/assignments/http-problem-types#quota-exceeded",
    "Request cannot be satisfied as assigned quota has been exceeded",
)


@app.middleware("http")
async def limit(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    """Decides a request before its handler runs, and adds the numbers to the response."""
    try:
        answer = await gate.check(attributes(request))
    except slidegate.RequestError as error:
        return problem(400, ("about:blank", "Bad Request"), str(error))
    response = await call_next(request) if answer else refusal(answer)
    response.headers.update(answer.headers())
    return response


def attributes(request: Request) -> dict[str, str]:
    """Attributes by which rules match and count."""
    found = {
        "method": request.method,
        # As it was sent: rules consider the ways in which servers decode a path.
        "path": request.scope["raw_path"].decode("latin-1"),
        "ip": request.client.host if request.client else None,
        "api_key": request.headers.get("x-api-key"),
    }
    return {name: value for name, value in found.items() if value}


def refusal(answer: Answer) -> Response:
    """Response to a refused request."""
    if answer.blocked_by is not None:
        return problem(403, ("about:blank", "Forbidden"), f"rule {answer.blocked_by} blocks this")
    violated = [limit.policy for limit in answer.limits if limit.outcome != "fits"]
    members = {"violated-policies": violated, "retry_after_ms": answer.retry_after_ms}
    return problem(429, QUOTA_EXCEEDED, f"{', '.join(violated)}: quota exceeded", **members)


def problem(status: int, kind: tuple[str, str], detail: str, **members: Any) -> Response:
    """Problem details of RFC 9457."""
    content = {"type": kind[0], "title": kind[1], "status": status, "detail": detail, **members}
    return JSONResponse(content, status, media_type="application/problem+json")


@app.get("/v1/items")
async def items() -> Response:
    return PlainTextResponse("items\n")


@app.post("/v1/reports")
async def reports() -> Response:
    return PlainTextResponse("a report\n")
