"""What can go wrong, one class for each family of codes.

A command that fails is no error: its Result says how it ended, unless Result.check() is asked to raise CommandFailedError.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence, Type

if TYPE_CHECKING:
    from .results import Result


class AtollError(Exception):
    """`code` is for programs to branch on, `hint` says what helps, `request_id` is found in the daemon's log."""

    def __init__(self, detail: str, *, code: str = "internal", hint: str = "", stage: str = "", status: int = 0,
                 retryable: bool = False, request_id: str = "", trace_id: str = "",
                 retry_after: Optional[float] = None, sandbox: str = "",
                 stages: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code
        self.hint = hint
        self.stage = stage
        self.status = status
        self.retryable = retryable
        self.request_id = request_id
        self.trace_id = trace_id
        self.retry_after = retry_after
        # Of a sandbox that could not be made: its id, and how far it came, the failed stage last.
        self.sandbox = sandbox
        self.stages = list(stages)

    def __str__(self) -> str:
        return f"{self.detail} ({self.hint})" if self.hint else self.detail


class InvalidArgumentError(AtollError):
    """The request makes no sense: invalid_argument, method_not_allowed, range_not_satisfiable."""


class UnauthenticatedError(AtollError):
    """No key, or one that is not valid."""


class PermissionDeniedError(AtollError):
    """The key is valid and does not give this right."""


class NotFoundError(AtollError):
    """It is not there, or not for this key to see."""


class ConflictError(AtollError):
    """It is not in a state for that: already_exists, conflict, precondition_failed, idempotency_mismatch."""


class UnsupportedError(AtollError):
    """The driver cannot do this; the hint names drivers that can."""


class TooLargeError(AtollError):
    """More than a request, an answer or a file may have."""


class ResourceExhaustedError(AtollError):
    """A limit on requests, sandboxes or space is reached: resource_exhausted, out_of_space."""


class UnavailableError(AtollError):
    """Nobody can do it now. Also when no daemon answers."""


class ConnectionLostError(UnavailableError):
    """The connection broke; whether the request was carried out is not known."""


class DeadlineExceededError(AtollError, TimeoutError):
    """It took too long, here (`stage` is "client") or at the daemon."""


class CancelledError(AtollError):
    """It was ended before it was done."""


class InternalError(AtollError):
    """A fault of the daemon, or an answer that makes no sense."""


class CommandFailedError(AtollError):
    """Raised by Result.check(): the command did not end with exit code 0."""

    def __init__(self, result: Result) -> None:
        said = result.stderr.strip() or result.stdout.strip()
        super().__init__(f"the command ended with exit code {result.exit_code} ({result.reason})"
                         + (f": {said[-500:]}" if said else ""), code=f"command_{result.reason}", stage="command",
                         request_id=result.request_id)
        self.result = result


FAMILIES: Dict[str, Type[AtollError]] = {
    "invalid_argument": InvalidArgumentError,
    "method_not_allowed": InvalidArgumentError,
    "range_not_satisfiable": InvalidArgumentError,
    "unauthenticated": UnauthenticatedError,
    "permission_denied": PermissionDeniedError,
    "not_found": NotFoundError,
    "already_exists": ConflictError,
    "conflict": ConflictError,
    "precondition_failed": ConflictError,
    "idempotency_mismatch": ConflictError,
    "unsupported": UnsupportedError,
    "too_large": TooLargeError,
    "resource_exhausted": ResourceExhaustedError,
    "out_of_space": ResourceExhaustedError,
    "unavailable": UnavailableError,
    "deadline_exceeded": DeadlineExceededError,
    "cancelled": CancelledError,
    "internal": InternalError,
}

# For an answer without a code of ours, which somebody on the way has given.
BY_STATUS = {400: "invalid_argument", 401: "unauthenticated", 403: "permission_denied", 404: "not_found", 409: "conflict",
             412: "precondition_failed", 413: "too_large", 429: "resource_exhausted", 502: "unavailable",
             503: "unavailable", 504: "deadline_exceeded"}


def from_problem(problem: Mapping[str, Any], status: int = 0, retry_after: Optional[float] = None) -> AtollError:
    """The error that a problem of the API stands for. A code that is new is told as it is."""
    code = str(problem.get("code", "internal"))
    return FAMILIES.get(code, AtollError)(
        str(problem.get("detail") or problem.get("title") or code), code=code, hint=str(problem.get("hint", "")),
        stage=str(problem.get("stage", "")), status=int(problem.get("status", status)),
        retryable=bool(problem.get("retryable", False)), request_id=str(problem.get("request_id", "")),
        trace_id=str(problem.get("trace_id", "")), retry_after=retry_after, sandbox=str(problem.get("sandbox", "")),
        stages=problem.get("stages", ()))


def from_answer(status: int, headers: Mapping[str, str], body: bytes) -> AtollError:
    wait = headers.get("retry-after", "")
    retry_after = float(wait) if wait.isdigit() else None
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or "code" not in problem:
        said = body[:200].decode("utf-8", "replace").strip()
        problem = {"code": BY_STATUS.get(status, "internal"), "detail": f"the answer was {status}: {said}",
                   "hint": "this is not an answer of Atoll's; is there a proxy on the way?",
                   "request_id": headers.get("x-request-id", "")}
    return from_problem(problem, status, retry_after)
