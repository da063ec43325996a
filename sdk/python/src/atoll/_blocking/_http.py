# Generated from aio/_http.py by sdk/generate.py. Change that.
"""HTTP/1.1 on one connection: a question at a time, answers as they come, and connections that become something else."""

from __future__ import annotations

from typing import Iterator, Callable, Dict, List, Optional, Tuple

from .._patience import Patience
from ..errors import ConnectionLostError, InternalError, TooLargeError
from ._stream import Source, Stream, pieces_of

LONGEST_LINE = 64 * 1024
MOST_FIELDS = 256


def lost() -> ConnectionLostError:
    return ConnectionLostError("the daemon closed the connection before its answer was complete", code="unavailable",
                               stage="client", hint="ask again, if asking twice does no harm")


def nonsense(what: str) -> InternalError:
    return InternalError(f"the answer is not HTTP: {what}", code="internal", stage="client",
                         hint="is it a daemon of Atoll that listens there?")


class Connection:
    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._rest = bytearray()

    # Reading, with what was read too far.

    def some(self, most: int, patience: Patience) -> bytes:
        """At least one byte, at most so many."""
        if self._rest:
            piece = bytes(self._rest[:most])
            del self._rest[:most]
            return piece
        piece = self.stream.read(patience)
        if not piece:
            raise lost()
        if len(piece) > most:
            self._rest += piece[most:]
            piece = piece[:most]
        return piece

    def until_closed(self, patience: Patience) -> bytes:
        """Some bytes; none when the other side has closed."""
        if self._rest:
            piece = bytes(self._rest)
            self._rest.clear()
            return piece
        return self.stream.read(patience)

    def exactly(self, size: int, patience: Patience) -> bytes:
        while len(self._rest) < size:
            piece = self.stream.read(patience)
            if not piece:
                raise lost()
            self._rest += piece
        piece = bytes(self._rest[:size])
        del self._rest[:size]
        return piece

    def line(self, patience: Patience) -> bytes:
        seen = 0
        while (end := self._rest.find(b"\n", seen)) < 0:
            seen = len(self._rest)
            if seen > LONGEST_LINE:
                raise nonsense("a line without an end")
            piece = self.stream.read(patience)
            if not piece:
                raise lost()
            self._rest += piece
        line = bytes(self._rest[:end])
        del self._rest[:end + 1]
        return line.rstrip(b"\r")

    # A question and its answer.

    def send(self, method: str, target: str, fields: List[Tuple[str, str]], body: Optional[Source],
                   patience: Patience) -> None:
        fields = list(fields)
        if isinstance(body, bytes):
            fields.append(("Content-Length", str(len(body))))
        elif body is not None:
            fields.append(("Transfer-Encoding", "chunked"))
        elif method not in ("GET", "HEAD"):
            fields.append(("Content-Length", "0"))
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n"
        if isinstance(body, bytes) and len(body) <= 64 * 1024:
            self.stream.write(head.encode("latin-1") + body, patience)
            return
        self.stream.write(head.encode("latin-1"), patience)
        if isinstance(body, bytes):
            self.stream.write(body, patience)
        elif body is not None:
            for piece in pieces_of(body):
                if piece:
                    self.stream.write(b"%x\r\n" % len(piece) + piece + b"\r\n", patience)
            self.stream.write(b"0\r\n\r\n", patience)

    def head(self, patience: Patience) -> Tuple[int, Dict[str, str]]:
        """Status and fields, by small names; those that only say that something is to come are passed over."""
        while True:
            first = (self.line(patience)).split(b" ", 2)
            if len(first) < 2 or not first[0].startswith(b"HTTP/1.") or not first[1].isdigit():
                raise nonsense("no status line")
            status = int(first[1])
            fields: Dict[str, str] = {}
            while line := self.line(patience):
                name, colon, value = line.decode("latin-1").partition(":")
                if not colon or len(fields) >= MOST_FIELDS:
                    raise nonsense("header fields")
                fields[name.strip().lower()] = value.strip()
            if status >= 200 or status == 101:
                return status, fields

    def ask(self, method: str, target: str, fields: List[Tuple[str, str]], body: Optional[Source],
                  patience: Patience, done: Callable[[Connection], None]) -> Response:
        """`done` gets the connection back once the answer is read and another question can follow."""
        try:
            complete = True
            try:
                self.send(method, target, fields, body, patience)
            except ConnectionLostError:
                # Whoever refuses a large body answers and closes; the answer is there to be read.
                complete = False
            status, headers = self.head(patience)
            return Response(self, method, status, headers, patience, done if complete else None)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.stream.close()


class Response:
    """An answer whose body comes in pieces. Read it to its end, or close it."""

    def __init__(self, connection: Connection, method: str, status: int, headers: Dict[str, str], patience: Patience,
                 done: Optional[Callable[[Connection], None]]) -> None:
        self.status, self.headers = status, headers
        self._connection, self._patience, self._done = connection, patience, done
        self._chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        self._left: Optional[int] = 0  # of a chunk or of all; none is until the connection closes
        self._begun = self._ended = False
        if "close" in headers.get("connection", "").lower():
            self._done = None
        if method == "HEAD" or status in (101, 204, 304):
            self._end()
        elif not self._chunked:
            length = headers.get("content-length", "")
            if length and not length.isdigit():
                self._connection.close()
                raise nonsense("Content-Length")
            self._left = int(length) if length else None
            if self._left == 0:
                self._end()

    def _end(self) -> None:
        self._ended = True
        if self.status == 101:
            return
        if self._done:
            self._done(self._connection)
        else:
            self._connection.close()

    def some(self) -> bytes:
        """The next piece; none at the end."""
        if self._ended:
            return b""
        try:
            return self._next()
        except BaseException:
            self._ended = True
            self._connection.close()
            raise

    def _next(self) -> bytes:
        if self._left is None:
            piece = self._connection.until_closed(self._patience)
            if not piece:
                self._done = None
                self._end()
            return piece
        if self._chunked and self._left == 0:
            if self._begun:
                self._connection.line(self._patience)
            self._begun = True
            size = (self._connection.line(self._patience)).split(b";")[0].strip()
            try:
                self._left = int(size, 16)
            except ValueError:
                raise nonsense("a chunk without a size") from None
            if self._left == 0:
                while self._connection.line(self._patience):
                    pass
                self._end()
                return b""
        piece = self._connection.some(self._left, self._patience)
        self._left -= len(piece)
        if self._left == 0 and not self._chunked:
            self._end()
        return piece

    def read(self, most: int = 256 * 1024 * 1024) -> bytes:
        """All of it. An answer that is longer is an error."""
        pieces, size = [], 0
        while piece := self.some():
            pieces.append(piece)
            size += len(piece)
            if size > most:
                self.close()
                raise TooLargeError(f"the answer has more than {most} bytes", code="too_large", stage="client",
                                    hint="read it in pieces")
        return b"".join(pieces)

    def pieces(self) -> Iterator[bytes]:
        try:
            while piece := self.some():
                yield piece
        finally:
            self.close()

    def __iter__(self) -> Iterator[bytes]:
        return self.pieces()

    def lines(self, most: int = 64 * 1024 * 1024) -> Iterator[bytes]:
        """Without their ends; empty ones too."""
        try:
            rest = bytearray()
            while piece := self.some():
                rest += piece
                if b"\n" not in piece and len(rest) > most:
                    raise TooLargeError(f"a line has more than {most} bytes", code="too_large", stage="client")
                *whole, last = rest.split(b"\n")
                rest = last
                for line in whole:
                    yield bytes(line)
            if rest:
                raise lost()
        finally:
            self.close()

    def __enter__(self) -> Response:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """What has not been read is given up, and the daemon notices."""
        if not self._ended:
            self._ended = True
            self._connection.close()
