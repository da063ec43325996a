"""Questions to a daemon: connections that are used again, deadlines, and repetition where that does no harm."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._operation import Operation, spell
from .._patience import Patience
from .._target import Target
from .._version import VERSION
from ..errors import AtollError, ConnectionLostError, UnavailableError, from_answer
from ._http import Connection, Response
from ._stream import Source, connect, sleep

MOST_IDLE = 8
FIRST_PAUSE = 0.1

__all__ = ["Response", "Source", "Transport"]


class Transport:
    def __init__(self, target: Target, timeout: float, retries: int) -> None:
        self.target, self.timeout, self._retries = target, timeout, retries
        self._idle: List[Connection] = []
        self._closed = False

    async def call(self, operation: Operation, *, path: Optional[Mapping[str, Any]] = None,
                   query: Optional[Mapping[str, Any]] = None, header: Optional[Mapping[str, Any]] = None,
                   body: Any = None, timeout: Optional[float] = None) -> Any:
        """The answer's JSON. The time holds for all of it, but with a body that is not JSON for each silence."""
        whole = body is None or isinstance(body, (dict, list))
        patience = Patience(self.timeout if timeout is None else timeout, whole=whole)
        _, answer = await self._ask(operation, operation.target(path, query), header, body, patience, whole=True)
        return json.loads(answer) if answer else None

    async def open(self, operation: Operation, *, path: Optional[Mapping[str, Any]] = None,
                   query: Optional[Mapping[str, Any]] = None, header: Optional[Mapping[str, Any]] = None,
                   body: Any = None, timeout: Optional[float] = None) -> Response:
        """The answer, its body still to be read. The time holds for each silence. What is not 2xx or 304 is raised."""
        patience = Patience(self.timeout if timeout is None else timeout, whole=False)
        response, _ = await self._ask(operation, operation.target(path, query), header, body, patience, whole=False)
        return response

    async def _ask(self, operation: Operation, target: str, header: Optional[Mapping[str, Any]], body: Any,
                   patience: Patience, *, whole: bool) -> Tuple[Response, bytes]:
        """Until it is answered, or may not be asked again. The answer is read if all of it is wanted."""
        fields = {name: spell(value) for name, value in (header or {}).items() if value is not None}
        data: Optional[Source] = body
        if isinstance(body, (dict, list)):
            data = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogateescape")
            fields.setdefault("Content-Type", "application/json")
        elif isinstance(body, (str, bytearray, memoryview)):
            data = body.encode() if isinstance(body, str) else bytes(body)
        # Something that can be sent twice, and that the daemon does once however often it is sent.
        again = data is None or isinstance(data, bytes)
        harmless = again and (operation.only_looks or "Idempotency-Key" in fields)
        pause, attempt = FIRST_PAUSE, 0
        while True:
            try:
                response = await self._once(operation, target, fields, data, patience)
                return response, await response.read() if whole else b""
            except AtollError as error:
                attempt += 1
                wait = self._pause_after(error, pause, again, harmless)
                left = patience.remaining()
                if wait is None or attempt > self._retries or (left is not None and wait >= left):
                    raise
            await sleep(wait)
            pause *= 4

    def _pause_after(self, error: AtollError, pause: float, again: bool, harmless: bool) -> Optional[float]:
        """How long to wait until it is tried again; none when it may not be."""
        if isinstance(error, UnavailableError) and error.stage == "connect":
            return pause if again else None
        if isinstance(error, ConnectionLostError):
            return pause if harmless else None
        if error.status == 429 and error.retry_after is not None:
            return max(error.retry_after, pause) if again else None
        if error.status == 503 and error.retryable:
            return max(error.retry_after or 0, pause) if harmless else None
        return None

    async def _once(self, operation: Operation, target: str, fields: Dict[str, str], body: Optional[Source],
                    patience: Patience) -> Response:
        connection = self._take()
        if connection is None:
            connection = Connection(await connect(self.target, patience))
        response = await connection.ask(operation.method, self.target.prefix + target, self._fields(fields), body, patience,
                                        self._put)
        if response.status < 300 or response.status == 304:
            return response
        async with response:
            raise from_answer(response.status, response.headers, await response.read(1024 * 1024))

    async def upgrade(self, operation: Operation, protocol: str, *, path: Mapping[str, Any],
                      query: Optional[Mapping[str, Any]] = None, header: Optional[Mapping[str, str]] = None,
                      timeout: Optional[float] = None) -> Tuple[Connection, Dict[str, str]]:
        """A connection that is no longer HTTP, and the fields of the answer that said so."""
        patience = Patience(self.timeout if timeout is None else timeout, whole=True)
        connection = Connection(await connect(self.target, patience))
        fields = {"Upgrade": protocol, "Connection": "Upgrade", **(header or {})}
        response = await connection.ask(operation.method, self.target.prefix + operation.target(path, query),
                                        self._fields(fields), None, patience, self._put)
        if response.status == 101:
            return connection, response.headers
        async with response:
            raise from_answer(response.status, response.headers, await response.read(1024 * 1024))

    def _fields(self, fields: Mapping[str, str]) -> List[Tuple[str, str]]:
        sent = [("Host", self.target.authority), ("User-Agent", f"atoll-python/{VERSION}")]
        if self.target.key:
            sent.append(("Authorization", f"Bearer {self.target.key}"))
        for name, value in fields.items():
            if any(character in value for character in "\r\n\0"):
                raise ValueError(f"{name}: a header field is one line")
            sent.append((name, value))
        return sent

    def _take(self) -> Optional[Connection]:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            if connection.stream.is_fresh():
                return connection
            connection.close()
        return None

    def _put(self, connection: Connection) -> None:
        if self._closed or len(self._idle) >= MOST_IDLE:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()
