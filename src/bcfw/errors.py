"""The exceptions and warnings of bcfw. Each message says what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: The folder of this package: no line of a file in it is the user's own.
PACKAGE = Path(__file__).resolve().parent


class BcfwError(Exception):
    """Base class of all errors raised on purpose by bcfw."""


class InputError(BcfwError, ValueError):
    """Data that cannot be used; the message names the example."""


class OptionError(BcfwError, ValueError, TypeError):
    """An unknown, impossible or contradictory option; the message names the option."""


class ModelError(BcfwError, ValueError):
    """A model whose methods contradict each other (see :func:`bcfw.check_model`)."""


class ObjectiveError(InputError):
    """A function and a gradient that contradict each other (see :func:`bcfw.check_objective`)."""


class DomainError(BcfwError, ValueError):
    """A set whose oracle or other methods contradict each other (see :func:`bcfw.check_domain`)."""


class OracleError(BcfwError, RuntimeError):
    """An oracle that raised an error or did not find the best answer, for one example or one block of ``minimize``.

    Attributes
    ----------
    example : int
        Index of the example in the training data, or index of the block.
    result : bcfw.Result or None
        The result of the training before the failure.
    """

    def __init__(self, message: str, example: int, result: Any = None) -> None:
        super().__init__(message)
        self.example = int(example)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message, example and result; process pools pickle the exceptions of their workers."""
        return type(self), (self.args[0], self.example, self.result)


class TooLargeError(BcfwError, MemoryError):
    """Data or a model that need more memory than is available; the message has the sizes and the bytes."""


class ConvergenceWarning(UserWarning):
    """Training ended before the requested tolerance was certified."""


class InputWarning(UserWarning):
    """Data that can be used, but are probably not what the user meant."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and attribute the warning to the innermost calling line outside this package, which is the user's."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a text for messages that suggests the known word nearest to ``name`` and lists all known words."""
    words = sorted(known)
    close = difflib.get_close_matches(str(name), words, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}Known: {', '.join(words) if words else 'none'}"
