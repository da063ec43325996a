"""A port of this machine that stands for one of a sandbox, with threads."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Callable, Optional, Set

from ..errors import AtollError

if TYPE_CHECKING:
    from ._ports import PortConnection

MOST_VISITORS = 256


class Forward:
    """`error` is why the latest visitor could not be connected, if one could not."""

    def __init__(self, dial: Callable[[], PortConnection], host: str, port: int) -> None:
        self._dial, self.host, self.port = dial, host, port
        self._listener: Optional[socket.socket] = None
        self._visitors: Set[socket.socket] = set()
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(MOST_VISITORS)
        self._threads: Set[threading.Thread] = set()
        self.error: Optional[AtollError] = None

    def begin(self) -> None:
        self._listener = socket.create_server((self.host, self.port))
        self.port = self._listener.getsockname()[1]
        self._start(self._listen)

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        with self._lock:
            self._threads = {other for other in self._threads if other.is_alive()} | {thread}
            thread.start()

    def _listen(self) -> None:
        assert self._listener is not None
        while True:
            self._room.acquire()
            try:
                visitor, _ = self._listener.accept()
            except OSError:
                return  # closed
            with self._lock:
                self._visitors.add(visitor)
            self._start(lambda visitor=visitor: self._visit(visitor))  # type: ignore[misc]

    def _visit(self, visitor: socket.socket) -> None:
        try:
            with self._dial() as port:
                inwards = threading.Thread(target=self._inwards, args=(visitor, port), daemon=True)
                inwards.start()
                try:
                    while piece := port.read():
                        visitor.sendall(piece)
                    visitor.shutdown(socket.SHUT_WR)
                    inwards.join()
                finally:
                    with contextlib.suppress(OSError):
                        visitor.shutdown(socket.SHUT_RDWR)
                    inwards.join()
        except AtollError as error:
            self.error = error
        except OSError:
            pass  # the visitor has left
        finally:
            with self._lock:
                self._visitors.discard(visitor)
            visitor.close()
            self._room.release()

    def _inwards(self, visitor: socket.socket, port: PortConnection) -> None:
        with contextlib.suppress(OSError, AtollError):
            while piece := visitor.recv(65536):
                port.write(piece)
            port.write_end()

    def __enter__(self) -> Forward:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops listening and ends every connection."""
        if self._listener:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        with self._lock:
            visitors, threads = list(self._visitors), list(self._threads)
        for visitor in visitors:
            with contextlib.suppress(OSError):
                visitor.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(5)
