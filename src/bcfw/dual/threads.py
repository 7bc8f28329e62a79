"""The thread pool in which certificates compute hinge losses."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Threads:
    """A thread pool that starts when it is first used.

    Copies do not share the pool: a copied or unpickled object starts new threads, and so does a forked process, which
    does not inherit threads.

    Parameters
    ----------
    count : int
        The number of threads.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"count": self.count, "_pool": None, "_process": 0}

    def map(self, function: Callable[[int], int]) -> list[int]:
        """Return ``[function(0), ..., function(count - 1)]``, computed in a thread pool.

        With one thread, the function is called directly.
        """
        if self.count == 1:
            return [function(0)]
        if self._pool is None or self._process != os.getpid():
            self._pool, self._process = ThreadPoolExecutor(self.count, "bcfw"), os.getpid()
        return list(self._pool.map(function, range(self.count)))
