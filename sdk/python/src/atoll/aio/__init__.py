"""The client over asyncio: the same words as in `atoll`, to be awaited."""

from ._client import Batch, Client, Events, Keys, run
from ._commands import CommandStream, Process, Processes
from ._files import Files, Watch
from ._forward import Forward
from ._http import Response
from ._ports import PortConnection, Ports
from ._sandbox import Sandbox
from ._terminal import Terminal

__all__ = [
    "Batch", "Client", "CommandStream", "Events", "Files", "Forward", "Keys", "PortConnection", "Ports", "Process",
    "Processes", "Response", "Sandbox", "Terminal", "Watch", "run",
]
