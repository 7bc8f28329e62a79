"""What checks of a model have found, in few lines: each kind of mistake once, with the examples that have it."""

from __future__ import annotations

import re

from bcfw.models.failures import place

#: Relative rounding allowed between values that should be equal or ordered.
TOLERANCE = 1e-8

#: Examples that a message names before it only counts them.
NAMED = 3


class Findings:
    """What was found on some examples: each kind is said once, with its first example and how many more have it."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, set[int]]] = {}

    def add(self, i: int, text: str, kind: str | None = None) -> None:
        """Texts of one kind are alike; without one, those that differ in numbers only."""
        self._found.setdefault(kind or re.sub(r"\d[\d.e+-]*", "0", text), (text, set()))[1].add(int(i))

    def add_error(self, i: int, text: str, error: Exception) -> None:
        """Exceptions of one type that come from one line of the user's are alike."""
        where = place(error)
        self.add(i, text, f"{type(error).__name__}{where}" if where else None)

    def lines(self) -> list[str]:
        return [f"example {min(examples)}: {text}{_all(examples)}" for text, examples in self._found.values()]


def _all(examples: set[int]) -> str:
    """The examples of a finding in brackets, if there are several."""
    if len(examples) == 1:
        return ""
    named, more = ", ".join(map(str, sorted(examples)[:NAMED])), len(examples) - NAMED
    return f" (so for examples {named} and {more} more)" if more > 0 else f" (so for examples {named})"
