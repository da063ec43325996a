"""How commands are asked for, and how they ended."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, TypedDict, Union, cast

from .errors import CommandFailedError, from_problem
from .models import Exec, Stage, Usage

# A string is run by /bin/sh; a sequence is a program and its arguments.
Command = Union[str, Sequence[str]]

DEFAULT_TIMEOUT = 600.0
LONGEST_MS = 2_592_000_000


class CommandOptions(TypedDict, total=False):
    """What else can be said about a command."""

    env: Dict[str, str]
    cwd: str
    user: str
    # All that it reads; it sees the end of it then.
    stdin: Union[str, bytes]
    # Seconds of processor time for everything that the command started.
    cpu_time: float
    # Bytes in all after which it is killed.
    output_limit: int
    # What is kept of each stream in an answer that comes whole.
    max_output_bytes: int
    # Whether an interpreter that waits may serve it.
    warm: bool


def exec_of(command: Optional[Command], timeout: float, options: Mapping[str, Any]) -> Exec:
    """What the API takes."""
    body: Dict[str, Any] = dict(options)
    if isinstance(command, str):
        body["command"] = command
    elif command is not None:
        body["argv"] = list(command)
    stdin = body.pop("stdin", None)
    if isinstance(stdin, bytes):
        body["stdin_b64"] = base64.b64encode(stdin).decode()
    elif stdin is not None:
        body["stdin"] = stdin
    cpu_time = body.pop("cpu_time", None)
    if cpu_time is not None:
        body["cpu_time_ms"] = milliseconds(cpu_time)
    if timeout != math.inf:
        body["timeout_ms"] = milliseconds(timeout)
    return cast(Exec, body)


def milliseconds(seconds: float) -> int:
    if not seconds > 0:
        raise ValueError(f"{seconds} is no time for a command; it is in seconds, and math.inf is no limit")
    return min(max(1, round(seconds * 1000)), LONGEST_MS)


@dataclass(frozen=True)
class Result:
    """How a command ended. `reason` is exited, signaled, timeout, oom, killed, policy or infra."""

    exit_code: int
    reason: str
    stdout_bytes: bytes
    stderr_bytes: bytes
    duration_ms: float
    truncated: bool
    usage: Usage
    signal: int = 0
    limit: str = ""  # the limit of the request that ended it: wall_time, cpu_time or output
    warm: bool = False
    attested: bool = True
    process: int = 0
    pid: int = 0
    request_id: str = ""
    driver: str = ""  # of a run
    isolation: str = ""  # of a run
    stages: Sequence[Stage] = ()  # of a run

    @property
    def ok(self) -> bool:
        return self.reason == "exited" and self.exit_code == 0

    @property
    def stdout(self) -> str:
        """As text; what is not UTF-8 is replaced."""
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", "replace")

    def check(self) -> Result:
        """Itself, if the command ended with exit code 0; otherwise CommandFailedError."""
        if not self.ok:
            raise CommandFailedError(self)
        return self


def bytes_of(answer: Mapping[str, Any], name: str) -> bytes:
    """A text field, or its twin for what is not UTF-8."""
    if f"{name}_b64" in answer:
        return base64.b64decode(answer[f"{name}_b64"])
    return str(answer.get(name, "")).encode()


def result_of(answer: Mapping[str, Any]) -> Result:
    return Result(
        exit_code=answer["exit_code"], reason=answer["reason"], stdout_bytes=bytes_of(answer, "stdout"),
        stderr_bytes=bytes_of(answer, "stderr"), duration_ms=answer.get("duration_ms", 0.0),
        truncated=answer.get("truncated", False), usage=answer.get("usage", {}), signal=answer.get("signal", 0),
        limit=answer.get("limit", ""), warm=answer.get("warm", False), attested=answer.get("attested", True),
        process=answer.get("process", 0), pid=answer.get("pid", 0), request_id=answer.get("request_id", ""),
        driver=answer.get("driver", ""), isolation=answer.get("isolation", ""), stages=answer.get("stages", ()))


@dataclass(frozen=True)
class BatchResult:
    """One of many runs: a result, or the error that kept it from being made."""

    index: int
    attempts: int
    result: Optional[Result]
    error: Optional[Exception]

    @property
    def ok(self) -> bool:
        return self.result is not None and self.result.ok


def batch_result_of(answer: Mapping[str, Any], index: int) -> BatchResult:
    problem = answer.get("problem")
    return BatchResult(answer.get("index", index), answer.get("attempts", 1), None if problem else result_of(answer),
                       from_problem(problem) if problem else None)


@dataclass(frozen=True)
class Output:
    """A piece of what a command says, as it comes."""

    stream: str  # "stdout" or "stderr"
    data: bytes
    offset: int  # of its first byte, from the beginning of the stream
    text: str  # a character that is torn apart is in the next piece


@dataclass(frozen=True)
class Gap:
    """Bytes that are no longer kept."""

    stream: str
    start: int
    end: int


Piece = Union[Output, Gap]


def commands_of(commands: Sequence[Command], timeout: float, options: Mapping[str, Any]) -> List[Exec]:
    return [exec_of(command, timeout, options) for command in commands]
