"""How long somebody waits."""

from __future__ import annotations

import math
import time
from typing import Optional

from .errors import DeadlineExceededError


class Patience:
    """Either for a call as a whole, or for each silence in it; a call that carries data may take as long as data comes."""

    def __init__(self, seconds: float, *, whole: bool) -> None:
        if not seconds > 0:
            raise ValueError(f"timeout: {seconds} is not a time to wait; it is in seconds, and math.inf is for ever")
        self.seconds = seconds
        self._end = time.monotonic() + seconds if whole and seconds != math.inf else None

    def remaining(self) -> Optional[float]:
        """Seconds for the next wait; none waits for as long as it takes."""
        if self._end is not None:
            left = self._end - time.monotonic()
            if left <= 0:
                raise self.exhausted()
            return left
        return None if self.seconds == math.inf else self.seconds

    def exhausted(self) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"the daemon has not answered within {self.seconds:g} s", code="deadline_exceeded", stage="client",
            hint="give the call more time with timeout=…, in seconds")
