"""A sandbox that stays: commands, files, processes, ports, and its life."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from .. import models
from .._table import OPERATIONS
from ..errors import NotFoundError
from ..results import DEFAULT_TIMEOUT, Command, CommandOptions, Result, exec_of, result_of
from ._client import Client, default_client
from ._commands import FRAMES, CommandStream, Process, Processes, patience_for
from ._files import Files
from ._ports import Ports
from ._terminal import Terminal, open_terminal

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Sandbox:
    """Made with Sandbox.create(), found again with Sandbox.connect(). In a `with` block it is destroyed at the end."""

    def __init__(self, client: Client, info: models.Sandbox) -> None:
        self.client = client
        self.info = info
        self.files = Files(client.transport, self.id)
        self.processes = Processes(client.transport, self.id)
        self.ports = Ports(client.transport, self.id)

    @classmethod
    async def create(cls, *, client: Optional[Client] = None, timeout: Optional[float] = None,
                     **options: Unpack[models.CreateSandbox]) -> Sandbox:
        """A new one; with a `name`, the one that has it already, if it was made by the same request. A request whose
        answer is lost is sent again and makes no second sandbox."""
        client = client or default_client()
        key = {"Idempotency-Key": secrets.token_hex(16)}
        return cls(client, await client.transport.call(
            OPERATIONS["createSandbox"], body=dict(options), header=key, timeout=timeout))

    @classmethod
    async def connect(cls, id_or_name: str, *, client: Optional[Client] = None) -> Sandbox:
        """One that is there."""
        client = client or default_client()
        return cls(client, await client.api.get_sandbox(id_or_name))

    @property
    def id(self) -> str:
        return self.info["id"]

    @property
    def name(self) -> str:
        return self.info["name"]

    @property
    def state(self) -> str:
        """As it was when it was last asked for; `refresh` asks."""
        return self.info["state"]

    def __repr__(self) -> str:
        return f"<Sandbox {self.name or self.id} {self.state}>"

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.delete()

    # Commands.

    async def exec(self, command: Command, *, timeout: float = DEFAULT_TIMEOUT, on_disconnect: str = "kill",
                   **options: Unpack[CommandOptions]) -> Result:
        """Runs a command and waits for its end. A string goes to /bin/sh, a list is a program with its arguments. After
        `timeout` seconds everything that it started is killed. Who stops waiting ends it, unless `on_disconnect` is keep."""
        return result_of(await self.client.transport.call(
            OPERATIONS["exec"], path={"id": self.id}, query={"on_disconnect": on_disconnect},
            body=exec_of(command, timeout, options), timeout=patience_for(timeout)))

    async def stream(self, command: Command, *, timeout: float = DEFAULT_TIMEOUT, on_disconnect: str = "kill",
                     stdin_open: bool = False, **options: Unpack[CommandOptions]) -> CommandStream:
        """The same, with its output as it comes. A command that writes faster than you read waits for you."""
        body: Dict[str, Any] = {**exec_of(command, timeout, options)}
        if stdin_open:
            body["stdin_open"] = True
        response = await self.client.transport.open(
            OPERATIONS["exec"], path={"id": self.id}, query={"on_disconnect": on_disconnect}, header={"Accept": FRAMES},
            body=body, timeout=patience_for(timeout))
        return await CommandStream(self.client.transport, response, {"stdout": 0, "stderr": 0}).begin()

    async def spawn(self, command: Command, *, timeout: float = float("inf"), stdin_open: bool = False,
                    **options: Unpack[CommandOptions]) -> Process:
        """Starts a command and leaves it running; its output is kept in a bounded ring."""
        async with await self.stream(command, timeout=timeout, on_disconnect="keep", stdin_open=stdin_open,
                                     **options) as stream:
            return Process(self.client.transport, self.id, stream.process, stream.pid)

    async def pty(self, command: Command = ("/bin/sh",), *, rows: int = 24, cols: int = 80, timeout: float = float("inf"),
                  on_disconnect: str = "kill", **options: Unpack[CommandOptions]) -> Terminal:
        """A command at a terminal."""
        body = {**exec_of(command, timeout, options), "tty": {"rows": rows, "cols": cols}}
        return await open_terminal(self.client.transport, OPERATIONS["execSocket"], {"id": self.id},
                                   {"on_disconnect": on_disconnect}, body)

    # Its life.

    async def refresh(self) -> Sandbox:
        self.info = await self.client.api.get_sandbox(self.id)
        return self

    async def delete(self) -> None:
        """Nothing of it is left then. One that is gone already is fine."""
        try:
            await self.client.api.delete_sandbox(self.id)
        except NotFoundError:
            pass

    async def stop(self) -> None:
        """Ends every process and keeps the workspace."""
        self.info = await self.client.api.stop_sandbox(self.id)

    async def start(self) -> None:
        self.info = await self.client.api.start_sandbox(self.id)

    async def recreate(self) -> None:
        """Same id, same workspace, fresh processes."""
        self.info = await self.client.api.recreate_sandbox(self.id)

    async def reset(self, env: Optional[Dict[str, str]] = None) -> None:
        """Made anew for its next user, under the same id."""
        self.info = await self.client.api.reset_sandbox(self.id, {} if env is None else {"env": env})

    async def pause(self) -> None:
        self.info = await self.client.api.pause_sandbox(self.id)

    async def resume(self) -> None:
        self.info = await self.client.api.resume_sandbox(self.id)

    async def renew(self, ttl_s: Optional[int] = None) -> None:
        """Its time to live counts from now."""
        self.info = await self.client.api.renew_sandbox(self.id, {} if ttl_s is None else {"ttl_s": ttl_s})

    async def resize(self, **resources: Unpack[models.Resources]) -> None:
        """Other limits; what is not named stays."""
        self.info = await self.client.api.patch_sandbox(self.id, {"resources": resources})

    async def snapshot(self, name: Optional[str] = None) -> str:
        """The id of what is kept of it; `create(snapshot=...)` makes another sandbox from it."""
        answer = await self.client.api.snapshot_sandbox(self.id, {} if name is None else {"name": name})
        return answer["snapshot"]

    async def fork(self, count: int = 1) -> List[Sandbox]:
        """Copies that go their own way."""
        answer = await self.client.api.fork_sandbox(self.id, {"count": count})
        return [Sandbox(self.client, info) for info in answer["sandboxes"]]

    async def stats(self) -> models.SandboxStatsAnswer:
        return await self.client.api.sandbox_stats(self.id)

    async def diff(self, path: Optional[str] = None) -> models.DiffSandboxAnswer:
        """What it changed in its copies of host directories."""
        return await self.client.api.diff_sandbox(self.id, path=path)

    async def token(self, ttl_s: Optional[int] = None) -> models.MakeTokenAnswer:
        """A token that is good for this sandbox alone, to be shown as a key."""
        return await self.client.api.make_token(self.id, {} if ttl_s is None else {"ttl_s": ttl_s})
