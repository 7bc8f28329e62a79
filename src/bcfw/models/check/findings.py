"""Findings: the mistakes that checks of a model have found, one line per kind with the examples that have it."""

from __future__ import annotations

import re

from bcfw.models.check.failures import place

#: Relative tolerance for rounding in comparisons of values that should be equal or ordered.
TOLERANCE = 1e-8

#: Number of examples that a message names; it only counts further examples.
NAMED = 3


class Findings:
    """Collection of mistakes: each kind is reported once, with the text of its first occurrence and its examples."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, set[int]]] = {}

    def add(self, i: int, text: str, kind: str | None = None) -> None:
        """Add a mistake of example i. Without a kind, texts that differ only in numbers are of one kind."""
        self._found.setdefault(kind or re.sub(r"\d[\d.e+-]*", "0", text), (text, set()))[1].add(int(i))

    def add_error(self, i: int, text: str, error: Exception) -> None:
        """Add an exception of example i. Exceptions of one type from one line of the user's code are of one kind."""
        where = place(error)
        self.add(i, text, f"{type(error).__name__}{where}" if where else None)

    def lines(self) -> list[str]:
        return [f"example {min(examples)}: {text}{_all(examples)}" for text, examples in self._found.values()]


def _all(examples: set[int]) -> str:
    """Return the examples of a mistake in brackets if there are several, else an empty string."""
    if len(examples) == 1:
        return ""
    named, more = ", ".join(map(str, sorted(examples)[:NAMED])), len(examples) - NAMED
    return f" (so for examples {named} and {more} more)" if more > 0 else f" (so for examples {named})"
