"""What is asked of the daemon: a method, and a path with holes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Mapping, Optional
from urllib.parse import quote, urlencode

from .errors import InvalidArgumentError


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str

    @property
    def only_looks(self) -> bool:
        """It changes nothing, so it can be asked again when nobody knows whether it arrived."""
        return self.method in ("GET", "HEAD")

    def target(self, path: Optional[Mapping[str, Any]], query: Optional[Mapping[str, Any]]) -> str:
        filled = re.sub(r"\{(\w+)\}", lambda hole: self._fill(hole.group(1), str((path or {})[hole.group(1)])), self.path)
        pairs = [(name, spell(one)) for name, value in (query or {}).items() if value is not None
                 for one in (value if isinstance(value, (list, tuple)) else [value])]
        return f"{filled}?{urlencode(pairs, quote_via=quote)}" if pairs else filled

    def _fill(self, name: str, value: str) -> str:
        if value:
            return quote(value, safe="")
        # Without it the path would be that of something else.
        what = "the sandbox's id or name" if name == "id" else f"the {name}"
        raise InvalidArgumentError(f"{what} is empty", code="invalid_argument", stage="client")


def spell(value: Any) -> str:
    """As a query parameter or a header field says it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
