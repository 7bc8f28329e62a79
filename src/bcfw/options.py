"""Declared keyword options: types of options, their checks, and the base class of objects with options.

An unknown name or an impossible value raises an OptionError, which suggests the nearest known name.
"""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np

from bcfw.errors import OptionError, nearest

T = TypeVar("T")


class Option:
    """One declared option: a default value and a test. Subclasses define which values are allowed."""

    def __init__(self, default: Any) -> None:
        self.default = default

    def allowed(self) -> str:
        raise NotImplementedError

    def accepts(self, value: Any) -> bool:
        raise NotImplementedError

    def check(self, owner: str, name: str, value: Any) -> Any:
        """Return ``value``, or raise an :class:`OptionError` that names owner, option and allowed values."""
        if not self.accepts(value):
            raise OptionError(f"{owner + ': ' if owner else ''}{name} must be {self.allowed()}, got {value!r}")
        return value


class Choice(Option):
    """One of several words; the first word is the default."""

    def __init__(self, *words: str | None) -> None:
        super().__init__(words[0])
        self.words = words

    def allowed(self) -> str:
        return " or ".join(repr(word) for word in self.words)

    def accepts(self, value: Any) -> bool:
        return (value is None or isinstance(value, str)) and value in self.words


class Flag(Option):
    """True or False."""

    def allowed(self) -> str:
        return "True or False"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)


class Count(Option):
    """A whole number of at least ``least`` and at most ``most`` (None: no limit)."""

    def __init__(self, default: int, least: int = 1, most: int | None = None) -> None:
        super().__init__(default)
        self.least = least
        self.most = most

    def allowed(self) -> str:
        return f"a whole number >= {self.least}" + ("" if self.most is None else f" and <= {self.most}")

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, Integral) or isinstance(value, bool):
            return False
        return self.least <= int(value) and (self.most is None or int(value) <= self.most)


class CountOr(Option):
    """The word that is the default, or a whole number of at least one."""

    def allowed(self) -> str:
        return f"{self.default!r} or a whole number >= 1"

    def accepts(self, value: Any) -> bool:
        return (isinstance(value, str) and value == self.default) or Count(1).accepts(value)


class Number(Option):
    """A real number in a range that subclasses define, finite unless ``finite`` is False.

    ``or_none`` and ``or_word`` allow None or a word, too.
    """

    def __init__(self, default: Any, finite: bool = True, or_none: bool = False, or_word: str | None = None) -> None:
        super().__init__(default)
        self.finite = finite
        self.or_none = or_none
        self.or_word = or_word

    def in_range(self, value: float) -> bool:
        raise NotImplementedError

    def range(self) -> str:
        raise NotImplementedError

    def allowed(self) -> str:
        others = [" or None"] * self.or_none + [f" or {self.or_word!r}"] * (self.or_word is not None)
        return f"a {'finite ' if self.finite else ''}number {self.range()}{''.join(others)}"

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.or_none
        if isinstance(value, str):
            return value == self.or_word
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        return self.in_range(float(value)) and not (self.finite and math.isinf(float(value)))


class Positive(Number):
    """A number > 0."""

    def in_range(self, value: float) -> bool:
        return value > 0

    def range(self) -> str:
        return "> 0"


class NonNegative(Number):
    """A number >= 0."""

    def in_range(self, value: float) -> bool:
        return value >= 0

    def range(self) -> str:
        return ">= 0"


class ShortRepr(reprlib.Repr):
    """Short representations of objects: the shape of an array, the first characters of anything else."""

    def repr_ndarray(self, value: np.ndarray, level: int) -> str:
        return f"<array of shape {value.shape}>"


SHORT = ShortRepr()
SHORT.maxother = SHORT.maxstring = 80


def as_call(name: str, options: Mapping[str, Any]) -> str:
    """Return the representation of an object: the call of its class with these options, each shortened."""
    return f"{name}({', '.join(f'{option}={SHORT.repr(value)}' for option, value in options.items())})"


def named(what: str, given: Any, base: type[T], words: Mapping[str, type[T]]) -> T:
    """Return the object for an option: the given instance of ``base``, or an instance of the class that a word names.

    The class of a word is called without arguments. ``what`` is the name of the option in messages.
    """
    if isinstance(given, base):
        return given
    if isinstance(given, str) and given in words:
        return words[given]()
    if isinstance(given, type) and issubclass(given, base):
        raise OptionError(f"{what} is the class {given.__name__}; give an instance, {given.__name__}(...)")
    raise OptionError(f"{what} {given!r} is unknown; {nearest(str(given), words)}")


class Configurable:
    """Base class whose subclasses declare their keyword arguments as class attributes of type :class:`Option`.

    An instance has the values as attributes, for example ``solver.sampling``. ``repr`` shows the options that differ
    from their defaults.
    """

    _options: ClassVar[dict[str, Option]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Option)}
        cls._options = {**cls._options, **own}
        cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
                for name, option in cls._options.items()
            ]
        )

    def __init__(self, **given: Any) -> None:
        owner = type(self).__name__
        for name in given:
            if name not in self._options:
                raise OptionError(f"{owner} has no option {name!r}; {nearest(name, self._options)}")
        for name, option in self._options.items():
            value = option.check(owner, name, given[name]) if name in given else option.default
            setattr(self, name, value)

    def only_with(self, option: str, holds: bool, needed: str) -> None:
        """Raise OptionError if an option has a value other than its default although it is not used.

        ``holds`` says whether the option is used; ``needed`` says in the message with which other options it is used.
        """
        if not holds and getattr(self, option) != self._options[option].default:
            raise OptionError(f"{type(self).__name__}: {option} is only read with {needed}; leave it out")

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in self._options}
        return as_call(
            type(self).__name__,
            {name: value for name, value in values.items() if value != self._options[name].default},
        )
