"""The threads of certificates."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Threads:
    """Some threads that are started when they are first needed, and end when their owner is gone.

    A copy, also one in another process, starts threads of its own; so does a process that was forked, which inherits
    none.

    Parameters
    ----------
    count : int
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"count": self.count, "_pool": None, "_process": 0}

    def map(self, function: Callable[[int], int]) -> list[int]:
        """The results of a function of 0, ..., count - 1, each computed in a thread of its own; of one in this one."""
        if self.count == 1:
            return [function(0)]
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self.count, "bcfw"), os.getpid()
        return list(self._pool.map(function, range(self.count)))
