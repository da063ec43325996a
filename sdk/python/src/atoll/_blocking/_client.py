# Generated from aio/_client.py by sdk/generate.py. Change that.
"""A daemon: runs, the list of sandboxes, events, keys, and the whole API below them."""

from __future__ import annotations

import atexit
import base64
import json
import ssl
from typing import TYPE_CHECKING, Any, Iterator, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .. import _target, models
from .._table import OPERATIONS
from ..errors import ConnectionLostError, DeadlineExceededError, InternalError, UnavailableError
from ..results import (DEFAULT_TIMEOUT, BatchResult, Command, CommandOptions, Result, batch_result_of, commands_of, exec_of,
                       result_of)
from ._commands import FRAMES, CommandStream, patience_for
from ._http import Response
from ._operations import Operations
from ._stream import sleep
from ._transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._sandbox import Sandbox

LINES = {"Accept": "application/x-ndjson"}
# Events have a sign of life every 15 seconds.
SILENCE = 60.0
LONGEST_PAUSE = 5.0


class Client:
    """Finds the daemon as the command line does: by what is named here, by ATOLL_URL and ATOLL_API_KEY, or by the socket in
    the state directory. Connections are kept and used again; threads may share a client."""

    def __init__(self, url: Optional[str] = None, *, api_key: Optional[str] = None, state: Optional[str] = None,
                 timeout: float = 60.0, retries: int = 3, tls: Optional[ssl.SSLContext] = None) -> None:
        self.transport = Transport(_target.find(url, api_key, state, tls), timeout, retries)
        self.api = Operations(self.transport)
        self.keys = Keys(self.api)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the connections up. Sandboxes stay."""
        self.transport.close()

    # Runs: a sandbox for one command, gone afterwards.

    def run(self, code: Optional[str] = None, *, language: Optional[str] = None, command: Optional[Command] = None,
                  files: Optional[Mapping[str, Union[str, bytes]]] = None, requirements: Optional[Sequence[str]] = None,
                  sandbox: Optional[models.CreateSandbox] = None, timeout: float = DEFAULT_TIMEOUT,
                  **options: Unpack[CommandOptions]) -> Result:
        """Code, in Python unless `language` says otherwise, or a command, in a sandbox of its own. `files` are there before it
        starts, `requirements` are installed first. Who stops waiting ends it."""
        body = run_body(code, language, command, files, requirements, sandbox, timeout, options)
        return result_of(self.transport.call(OPERATIONS["run"], body=body, timeout=patience_for(timeout, requirements)))

    def stream(self, code: Optional[str] = None, *, language: Optional[str] = None,
                     command: Optional[Command] = None, files: Optional[Mapping[str, Union[str, bytes]]] = None,
                     requirements: Optional[Sequence[str]] = None, sandbox: Optional[models.CreateSandbox] = None,
                     timeout: float = DEFAULT_TIMEOUT, stdin_open: bool = False,
                     **options: Unpack[CommandOptions]) -> CommandStream:
        """The same, with its output as it comes."""
        body = run_body(code, language, command, files, requirements, sandbox, timeout, options)
        if stdin_open:
            body["exec"]["stdin_open"] = True
        response = self.transport.open(OPERATIONS["run"], body=body, header={"Accept": FRAMES},
                                             timeout=patience_for(timeout, requirements))
        return CommandStream(self.transport, response, {"stdout": 0, "stderr": 0}).begin()

    def run_many(self, commands: Sequence[Command], *, sandbox: Optional[models.CreateSandbox] = None,
                       concurrency: Optional[int] = None, attempts: Optional[int] = None, retry_failures: bool = False,
                       timeout: float = DEFAULT_TIMEOUT, **options: Unpack[CommandOptions]) -> Batch:
        """Each in a sandbox of its own, `concurrency` at a time; results come as they end. `timeout` holds for each."""
        body: Dict[str, Any] = {"runs": commands_of(commands, timeout, options), "retry_failures": retry_failures}
        for name, value in (("sandbox", sandbox), ("concurrency", concurrency), ("attempts", attempts)):
            if value is not None:
                body[name] = value
        return Batch(self.transport.open(OPERATIONS["runBatch"], body=body, header=LINES, timeout=float("inf")))

    # What there is.

    def sandboxes(self, *, state: Optional[models.State] = None, driver: Optional[str] = None,
                        name: Optional[str] = None, user_id: Optional[str] = None,
                        labels: Optional[Mapping[str, str]] = None,
                        tenant: Optional[str] = None) -> Iterator[Sandbox]:
        """Those that fit, page by page as they are asked for."""
        from ._sandbox import Sandbox
        cursor = None
        while True:
            page = self.api.list_sandboxes(
                state=state, driver=driver, name=name, user_id=user_id, tenant=tenant, cursor=cursor,
                label=[f"{label}={value}" for label, value in (labels or {}).items()])
            for info in page["sandboxes"]:
                yield Sandbox(self, info)
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def events(self, *, after: Optional[str] = None, sandbox: Optional[str] = None,
                     state: Optional[models.State] = None, runs: Optional[bool] = None) -> Events:
        """Every change of a sandbox's state from now on, or behind the event `after`. A connection that breaks is made
        anew, and nothing is missed and nothing comes twice unless an event of the type `reset` says so."""
        events = Events(self.transport, after, {"sandbox": sandbox, "state": state, "runs": runs})
        events.begin()
        return events

    def drivers(self) -> List[models.Driver]:
        return (self.api.list_drivers())["drivers"]

    def version(self) -> models.VersionAnswer:
        return self.api.version()

    def whoami(self) -> models.WhoAmIAnswer:
        return self.api.who_am_i()

    def limits(self) -> models.Limits:
        return self.api.limits()


def run_body(code: Optional[str], language: Optional[str], command: Optional[Command],
             files: Optional[Mapping[str, Union[str, bytes]]], requirements: Optional[Sequence[str]],
             sandbox: Optional[models.CreateSandbox], timeout: float, options: Mapping[str, Any]) -> Dict[str, Any]:
    if (code is None) == (command is None):
        raise ValueError("a run has either code, or a command=…")
    if isinstance(requirements, str):
        raise TypeError("requirements is a list of packages, such as ['requests']")
    body: Dict[str, Any] = {"exec": exec_of(command, timeout, options)}
    texts, others = split(files or {})
    for name, value in (("code", code), ("language", language), ("files", texts), ("files_b64", others),
                        ("requirements", requirements), ("sandbox", sandbox)):
        if value or name == "code" and value is not None:
            body[name] = list(value) if name == "requirements" else value
    return body


def split(files: Mapping[str, Union[str, bytes]]) -> Tuple[Dict[str, str], Dict[str, str]]:
    """Files that are text, and the others in base64."""
    texts = {path: data for path, data in files.items() if isinstance(data, str)}
    return texts, {path: base64.b64encode(data).decode() for path, data in files.items() if isinstance(data, bytes)}


class Keys:
    """Keys of the daemon, for administrators."""

    def __init__(self, api: Operations) -> None:
        self._api = api

    def create(self, role: models.Role, *, tenant: Optional[str] = None, label: Optional[str] = None,
                     ttl_s: Optional[int] = None) -> models.CreateKeyAnswer:
        """The key itself is in the answer, this once."""
        body: Any = {"role": role}
        for name, value in (("tenant", tenant), ("label", label), ("ttl_s", ttl_s)):
            if value is not None:
                body[name] = value
        return self._api.create_key(body)

    def list(self) -> List[models.Key]:
        return (self._api.list_keys())["keys"]

    def revoke(self, id: str) -> None:
        self._api.revoke_key(id)


class Batch:
    """The runs of a batch as they end. Who leaves early ends those that are left."""

    def __init__(self, response: Response) -> None:
        self._response, self._lines = response, response.lines()

    def __iter__(self) -> Batch:
        return self

    def __next__(self) -> BatchResult:
        for line in self._lines:
            if not line.strip():
                continue
            answer = json.loads(line)
            if answer.get("type") == "run":
                return batch_result_of(answer, 0)
            if answer.get("type") == "end":
                raise StopIteration
        raise InternalError("the answer to a batch ends without its end", stage="client", retryable=True)

    def all(self) -> List[BatchResult]:
        """All of them, in the order of the commands."""
        results = []
        for result in self:
            results.append(result)
        return sorted(results, key=lambda result: result.index)

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._response.close()


class Events:
    """An iterator that goes on after a broken connection. `last` is where another one could go on."""

    def __init__(self, transport: Transport, after: Optional[str], query: Mapping[str, Any]) -> None:
        self._transport, self._query = transport, query
        self.last = after
        self._response: Optional[Response] = None
        self._lines: Optional[Iterator[bytes]] = None
        self._closed = False

    def begin(self) -> None:
        response = self._transport.open(
            OPERATIONS["readEvents"], query={"after": self.last, **self._query}, header=LINES, timeout=SILENCE)
        self._response, self._lines = response, response.lines()

    def __iter__(self) -> Events:
        return self

    def __next__(self) -> models.Event:
        while not self._closed:
            try:
                event = self._next()
            except (ConnectionLostError, DeadlineExceededError):
                event = None
            if event is not None:
                self.last = event["id"]
                return event
            if self._again():
                # There was no event yet whose id would say where to go on.
                return {"id": "", "type": "reset"}
        raise StopIteration

    def _next(self) -> Optional[models.Event]:
        assert self._lines is not None
        for line in self._lines:
            if line.strip():
                event: models.Event = json.loads(line)
                return event
        return None

    def _again(self) -> bool:
        """Connects anew, however long that takes; true when something may have been missed."""
        if self._response:
            self._response.close()
        pause = 0.1
        while not self._closed:
            try:
                self.begin()
                return self.last is None
            except (UnavailableError, DeadlineExceededError):
                sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
        return False

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closed = True
        if self._response:
            self._response.close()


_default: List[Client] = []


def default_client() -> Client:
    """The one that is used where none is named."""
    if not _default:
        _default.append(Client())
        atexit.register(_default[0].transport.close)
    return _default[0]


def run(code: Optional[str] = None, *, language: Optional[str] = None, command: Optional[Command] = None,
              files: Optional[Mapping[str, Union[str, bytes]]] = None, requirements: Optional[Sequence[str]] = None,
              sandbox: Optional[models.CreateSandbox] = None, timeout: float = DEFAULT_TIMEOUT,
              client: Optional[Client] = None, **options: Unpack[CommandOptions]) -> Result:
    """Code, or a command, in a sandbox of its own that is gone afterwards."""
    return (client or default_client()).run(
        code, language=language, command=command, files=files, requirements=requirements, sandbox=sandbox,
        timeout=timeout, **options)
