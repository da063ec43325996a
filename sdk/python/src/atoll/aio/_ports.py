"""Ports of a sandbox: a connection to one, or one of this machine that stands for it."""

from __future__ import annotations

import math
from typing import Optional

from .._patience import Patience
from .._table import OPERATIONS
from ._forward import Forward
from ._http import Connection
from ._transport import Transport


class PortConnection:
    """Byte for byte, in both directions."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        self._connection, self._timeout = connection, timeout

    async def read(self, *, timeout: Optional[float] = None) -> bytes:
        """Some bytes as soon as there are any; none when the other side has ended."""
        return await self._connection.until_closed(Patience(self._timeout if timeout is None else timeout, whole=False))

    async def write(self, data: bytes, *, timeout: Optional[float] = None) -> None:
        await self._connection.stream.write(data, Patience(self._timeout if timeout is None else timeout, whole=False))

    async def write_end(self) -> None:
        """No more comes from here; what the other side still says can be read."""
        await self._connection.stream.write_end()

    async def __aenter__(self) -> PortConnection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        self._connection.close()


class Ports:
    def __init__(self, transport: Transport, sandbox: str) -> None:
        self._transport, self._sandbox = transport, sandbox

    async def dial(self, port: int, *, timeout: Optional[float] = None) -> PortConnection:
        """A connection to a port on the sandbox's own loopback. `timeout` holds for each read and write as well."""
        connection, _ = await self._transport.upgrade(OPERATIONS["dialPort"], "tcp",
                                                      path={"id": self._sandbox, "port": port}, timeout=timeout)
        return PortConnection(connection, self._transport.timeout if timeout is None else timeout)

    async def forward(self, port: int, *, local_port: int = 0, host: str = "127.0.0.1") -> Forward:
        """Listens on this machine until it is closed; `port` of what is returned tells where."""
        async def dial() -> PortConnection:
            connection = await self.dial(port)
            connection._timeout = math.inf
            return connection

        forward = Forward(dial, host, local_port)
        await forward.begin()
        return forward
