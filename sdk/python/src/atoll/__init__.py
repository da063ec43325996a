"""Sandboxes for code that nobody vouched for.

    import atoll

    print(atoll.run("print(6 * 7)").stdout)

    with atoll.Sandbox.create() as box:
        box.files.write("hello.py", "print('hello')")
        print(box.exec(["python3", "hello.py"]).stdout)

`atoll.aio` has the same over asyncio, `atoll.models` what the API takes and tells.
"""

from ._blocking._client import Batch, Client, Events, Keys, run
from ._blocking._commands import CommandStream, Process, Processes
from ._blocking._files import Files, Watch
from ._blocking._forward import Forward
from ._blocking._http import Response
from ._blocking._ports import PortConnection, Ports
from ._blocking._sandbox import Sandbox
from ._blocking._terminal import Terminal
from ._version import VERSION as __version__
from .errors import (
    AtollError,
    CancelledError,
    CommandFailedError,
    ConflictError,
    ConnectionLostError,
    DeadlineExceededError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
    TooLargeError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedError,
)
from .results import BatchResult, Gap, Output, Result

__all__ = [
    "AtollError", "Batch", "BatchResult", "CancelledError", "Client", "CommandFailedError", "CommandStream",
    "ConflictError", "ConnectionLostError", "DeadlineExceededError", "Events", "Files", "Forward", "Gap",
    "InternalError", "InvalidArgumentError", "Keys", "NotFoundError", "Output", "PermissionDeniedError",
    "PortConnection", "Ports", "Process", "Processes", "ResourceExhaustedError", "Response", "Result", "Sandbox",
    "Terminal", "TooLargeError", "UnauthenticatedError", "UnavailableError", "UnsupportedError", "Watch",
    "__version__", "run",
]
