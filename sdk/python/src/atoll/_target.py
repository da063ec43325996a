"""Which daemon is meant: the one that was named, or that of a state directory, as the command line finds it."""

from __future__ import annotations

import os
import pwd
import ssl
from dataclasses import dataclass
from typing import Mapping, Optional
from urllib.parse import urlsplit

from .errors import InvalidArgumentError

LARGEST_KEY = 4096


@dataclass(frozen=True)
class Target:
    """Either a socket's path, or host and port."""

    socket: str = ""
    host: str = ""
    port: int = 0
    tls: Optional[ssl.SSLContext] = None
    prefix: str = ""  # of every path, when a proxy serves the API below one
    key: str = ""

    def __post_init__(self) -> None:
        if any(not " " < character < "\x7f" for character in self.key):
            raise InvalidArgumentError("the key has characters that no key has", code="invalid_argument", stage="client",
                                       hint="look at ATOLL_API_KEY or api_key")

    @property
    def authority(self) -> str:
        """For the Host field."""
        if self.socket:
            return "atoll"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"unix:{self.socket}" if self.socket else f"{'https' if self.tls else 'http'}://{self.authority}{self.prefix}"


def state_directory(state: Optional[str], environment: Mapping[str, str]) -> str:
    if state:
        return state
    if environment.get("ATOLL_STATE"):
        return environment["ATOLL_STATE"]
    if os.geteuid() == 0:
        return "/var/lib/atoll"
    base = environment.get("XDG_STATE_HOME", "")
    if base.startswith("/"):
        return f"{base}/atoll"
    home = environment.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    return f"{home}/.local/state/atoll"


def read_key(directory: str) -> str:
    try:
        with open(os.path.join(directory, "admin.key"), encoding="utf-8") as file:
            return file.read(LARGEST_KEY).strip()
    except OSError:
        return ""


def find(url: Optional[str] = None, api_key: Optional[str] = None, state: Optional[str] = None,
         tls: Optional[ssl.SSLContext] = None, environment: Optional[Mapping[str, str]] = None) -> Target:
    """Arguments win over variables. A key file is read only for this host, or when its directory was named: a key never
    goes to a host that it is not for."""
    environment = os.environ if environment is None else environment
    key = api_key or environment.get("ATOLL_API_KEY", "")
    if not url and not state:
        url = environment.get("ATOLL_URL")
    directory = state_directory(state, environment)
    if not url:
        return Target(socket=os.path.abspath(os.path.join(directory, "atoll.sock")), key=key)
    if url.startswith("unix:"):
        return Target(socket=os.path.abspath(url[len("unix:"):]), key=key)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgumentError(f"{url}: not the address of a daemon", code="invalid_argument", stage="client",
                                   hint="http://HOST:PORT, https://HOST or unix:/PATH/atoll.sock")
    secure = parts.scheme == "https"
    named = bool(state or environment.get("ATOLL_STATE"))
    if not key and (named or parts.hostname in ("localhost", "127.0.0.1", "::1")):
        key = read_key(directory)
    return Target(host=parts.hostname, port=parts.port or (443 if secure else 80), prefix=parts.path.rstrip("/"), key=key,
                  tls=(tls or ssl.create_default_context()) if secure else None)
