"""Commands while they run: their output as it comes, their stdin, signals, and how they ended."""

from __future__ import annotations

import codecs
import json
import math
from typing import Any, Dict, List, Optional, Sequence, Union

from .. import models
from .._table import OPERATIONS
from ..errors import InternalError, from_problem
from ..results import DEFAULT_TIMEOUT, Gap, Output, Piece, Result, result_of
from ._http import Response
from ._terminal import Terminal, open_terminal
from ._transport import Transport

FRAMES = "application/vnd.atoll.stream"
START, STDOUT, STDERR, EXIT, GAP, ERROR = range(6)
LONGEST_FRAME = 64 * 1024 * 1024
# A daemon that is asked to end a command after some time gets so much longer to say that it did.
GRACE = 30.0
# And so much for packages that it has to install before.
INSTALLATION = 300.0


def patience_for(timeout: float, requirements: Optional[Sequence[str]] = None) -> float:
    return timeout + GRACE + (INSTALLATION if requirements else 0)


class CommandStream:
    """What a command says, piece by piece. Whoever leaves the `with` block early ends the command, unless it was told to go
    on; `result` is there once the last piece was read."""

    def __init__(self, transport: Transport, response: Response, offsets: Dict[str, int]) -> None:
        self._transport, self._response = transport, response
        self._rest = bytearray()
        self._offsets = offsets
        self._texts = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        self.sandbox = ""
        self.process = 0
        self.pid = 0
        self.request_id = ""
        self.result: Optional[Result] = None

    async def begin(self) -> CommandStream:
        kind, payload = await self._frame()
        if kind == ERROR:
            await self.aclose()
            raise from_problem(json.loads(payload))
        if kind != START:
            await self.aclose()
            raise InternalError("the stream of a command does not begin with its start", stage="client")
        start = json.loads(payload)
        self.sandbox, self.process, self.pid = start.get("sandbox", ""), start.get("process", 0), start.get("pid", 0)
        self.request_id = start.get("request_id", "")
        return self

    async def _bytes(self, size: int) -> bytes:
        while len(self._rest) < size:
            piece = await self._response.some()
            if not piece:
                raise InternalError("the stream of a command ends without its end", stage="client", retryable=True)
            self._rest += piece
        taken = bytes(self._rest[:size])
        del self._rest[:size]
        return taken

    async def _frame(self) -> Any:
        head = await self._bytes(8)
        size = int.from_bytes(head[4:], "big")
        if size > LONGEST_FRAME:
            await self.aclose()
            raise InternalError("a frame of a stream is too long", stage="client")
        return head[0], await self._bytes(size)

    def __aiter__(self) -> CommandStream:
        return self

    async def __anext__(self) -> Piece:
        while self.result is None:
            kind, payload = await self._frame()
            if kind in (STDOUT, STDERR):
                return self._output("stdout" if kind == STDOUT else "stderr", payload)
            if kind == GAP:
                gap = json.loads(payload)
                self._offsets[gap["stream"]] = gap["to"]
                return Gap(gap["stream"], gap["from"], gap["to"])
            if kind == EXIT:
                self.result = result_of(json.loads(payload))
                await self._response.read()
            elif kind == ERROR:
                await self.aclose()
                raise from_problem(json.loads(payload))
        raise StopAsyncIteration

    def _output(self, name: str, data: bytes) -> Output:
        offset = self._offsets[name]
        self._offsets[name] = offset + len(data)
        return Output(name, data, offset, self._texts[name].decode(data))

    async def wait(self) -> Result:
        """Reads what is left of it, keeps nothing, and tells how it ended."""
        while self.result is None:
            try:
                await self.__anext__()
            except StopAsyncIteration:
                break
        assert self.result is not None
        return self.result

    async def write(self, data: Union[str, bytes], *, eof: bool = False) -> None:
        """To its stdin, which has to be open."""
        await self._handle().write(data, eof=eof)

    async def signal(self, signal: Union[int, str]) -> None:
        await self._handle().signal(signal)

    def _handle(self) -> Process:
        return Process(self._transport, self.sandbox, self.process)

    async def __aenter__(self) -> CommandStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._response.aclose()


class Process:
    """A command that was started, whoever looks at it."""

    def __init__(self, transport: Transport, sandbox: str, process: int, pid: int = 0) -> None:
        self._transport, self._sandbox = transport, sandbox
        self.process, self.pid = process, pid

    @property
    def _path(self) -> Dict[str, Any]:
        return {"id": self._sandbox, "process": self.process}

    async def output(self, *, stdout_offset: int = 0, stderr_offset: int = 0, on_disconnect: str = "keep",
                     timeout: float = math.inf) -> CommandStream:
        """What it said from an offset on, as far as it is kept, and says until it ends."""
        response = await self._transport.open(
            OPERATIONS["attachOutput"], path=self._path, header={"Accept": FRAMES}, timeout=timeout,
            query={"stdout_offset": stdout_offset, "stderr_offset": stderr_offset, "on_disconnect": on_disconnect})
        stream = CommandStream(self._transport, response, {"stdout": stdout_offset, "stderr": stderr_offset})
        return await stream.begin()

    async def wait(self, *, timeout: float = DEFAULT_TIMEOUT, max_output_bytes: Optional[int] = None) -> Result:
        """How it ended, with its output. After `timeout` seconds it goes on, and DeadlineExceededError is raised."""
        return result_of(await self._transport.call(
            OPERATIONS["attachOutput"], path=self._path, query={"max_output_bytes": max_output_bytes}, timeout=timeout))

    async def write(self, data: Union[str, bytes], *, eof: bool = False) -> None:
        """To its stdin, if that was left open."""
        await self._transport.call(OPERATIONS["writeStdin"], path=self._path, query={"eof": eof},
                                   body=data.encode() if isinstance(data, str) else data)

    async def close_stdin(self) -> None:
        await self.write(b"", eof=True)

    async def signal(self, signal: Union[int, str]) -> None:
        """To it and everything below it: a number, or a name such as "TERM"."""
        await self._transport.call(OPERATIONS["signalProcess"], path=self._path, body={"signal": signal})

    async def kill(self) -> None:
        await self.signal("KILL")

    async def resize(self, rows: int, cols: int) -> None:
        """Of its terminal."""
        await self._transport.call(OPERATIONS["resizeProcess"], path=self._path, body={"rows": rows, "cols": cols})

    async def attach(self, *, stdout_offset: int = 0, on_disconnect: str = "keep") -> Terminal:
        """Back to its terminal."""
        return await open_terminal(self._transport, OPERATIONS["attachSocket"], self._path,
                                   {"stdout_offset": stdout_offset, "on_disconnect": on_disconnect}, None)


class Processes:
    def __init__(self, transport: Transport, sandbox: str) -> None:
        self._transport, self._sandbox = transport, sandbox

    async def list(self) -> List[models.Process]:
        """What runs, and what ran, in the order of their start."""
        answer: models.ListProcessesAnswer = await self._transport.call(
            OPERATIONS["listProcesses"], path={"id": self._sandbox})
        return answer["processes"]

    def get(self, process: int) -> Process:
        """By the number that `process` tells; unlike a pid it is never used again."""
        return Process(self._transport, self._sandbox, process)

    async def logs(self, process: Optional[int] = None, *, stream: Optional[str] = None, tail: Optional[int] = None,
                   follow: bool = False, timeout: float = math.inf) -> Response:
        """What one has said, in pieces of bytes; the one that was started last unless it is named."""
        return await self._transport.open(
            OPERATIONS["readLogs"], path={"id": self._sandbox}, timeout=timeout,
            query={"process": process, "stream": stream, "tail": tail, "follow": follow})
