"""Tells when numba compiles, which takes seconds where loading from disk takes none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def when_compiling(notice: Callable[[], None]) -> Iterator[None]:
    """Call ``notice`` once, before the first function that is compiled in this context."""
    from numba.core import event

    class Listener(event.Listener):
        told = False

        def on_start(self, event: Any) -> None:
            if not self.told:
                self.told = True
                notice()

        def on_end(self, event: Any) -> None:
            """Nothing to say."""

    with event.install_listener("numba:compile", Listener()):
        yield
