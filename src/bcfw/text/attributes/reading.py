"""Reading of named attributes of positions, given as lists of names or as dicts in the style of CRFsuite.

An *attribute* is a name with a weight, which is 1 unless it is given. A position is

- a list, tuple or set of names, or of pairs (name, weight); or
- a dict: ``{"word": "the"}`` is the attribute "word:the", ``{"length": 3}`` is "length" with the weight 3,
  ``{"title": True}`` is "title" (False is no attribute), ``{"suffix": ["e", "he"]}`` is "suffix:e" and "suffix:he", and
  ``{"next": {"word": "cat"}}`` is "next:word:cat".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from bcfw.errors import InputError

#: Types of positions that are collections of names.
COLLECTIONS = (list, tuple, set, frozenset)

#: How many sequences are read at a time: enough to be fast, few enough to take little memory.
AT_ONCE = 500


class Attributes(NamedTuple):
    """The attributes of some sequences in flat lists and arrays.

    Attributes
    ----------
    names : list of the nnz attribute names of all positions
    weights : (nnz,) array, or None if all weights are 1
    counts : (N,) number of attributes of every position
    lengths : (n,) number of positions of every sequence
    """

    names: list[str]
    weights: np.ndarray | None
    counts: np.ndarray
    lengths: np.ndarray


def is_attributes(position: Any) -> bool:
    """Return whether a position is given by attributes, not by numbers."""
    if isinstance(position, dict | set | frozenset):
        return True
    return isinstance(position, list | tuple) and any(isinstance(one, str | tuple) for one in position[:1])


def batches(sequences: Iterable[Any], owner: str) -> Iterator[Attributes]:
    """Yield the attributes of sequences, ``AT_ONCE`` sequences at a time."""
    ahead = iter(sequences)
    for start in itertools.count(0, AT_ONCE):
        some = list(itertools.islice(ahead, AT_ONCE))
        if not some:
            return
        yield read(some, start, owner)


def read(sequences: list[Any], start: int, owner: str) -> Attributes:
    """Return the checked attributes of sequences; errors number the examples from ``start``."""
    names: list[Any] = []
    counts: list[int] = []
    weights: list[float] | None = None
    for i, sequence in enumerate(sequences, start):
        if not isinstance(sequence, list | tuple):
            sequence = listed(sequence, f"{owner}: example {i}")
        if set(map(type, sequence)) <= {list, tuple}:
            counts += map(len, sequence)
            names += itertools.chain.from_iterable(sequence)
            continue
        if weights is None:
            weights = [1.0] * len(names)
        weights += [1.0] * (len(names) - len(weights))
        for t, position in enumerate(sequence):
            before = len(names)
            if isinstance(position, dict):
                add_dict(position, "", names, weights, lambda i=i, t=t: f"{owner}: example {i}: position {t}")
            elif isinstance(position, COLLECTIONS):
                names += sorted(position, key=str) if isinstance(position, set | frozenset) else position
                weights += [1.0] * len(position)
            else:
                raise not_attributes(position, f"{owner}: example {i}: position {t}")
            counts.append(len(names) - before)
    if weights is not None:
        weights += [1.0] * (len(names) - len(weights))
    lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
    found = Attributes(names, None if weights is None else np.array(weights), np.array(counts, np.int64), lengths)
    return checked(found if all_texts(names) else with_pairs(found, start, owner), start, owner)


def all_texts(names: list[Any]) -> bool:
    """Return whether all names are strings; ``join`` finds this out faster than a loop."""
    try:
        "".join(names)
    except TypeError:
        return False
    return True


def listed(values: Any, where: str, wanted: str = "the attributes of each position") -> list[Any]:
    """Return an iterable as a list; raise for strings, dicts and values that are not iterable."""
    try:
        if not isinstance(values, str | dict):
            return list(values)
    except TypeError:
        pass
    raise InputError(f"{where} is a {type(values).__name__}; give a list with {wanted}")


def not_attributes(position: Any, where: str) -> InputError:
    return InputError(
        f"{where} is {position!r:.60}, a {type(position).__name__}; give a dict, or a list of attribute names"
    )


def add_dict(position: dict[Any, Any], prefix: str, names: list[Any], weights: list[float], where: Any) -> None:
    """Append the attributes of a dict; ``where()`` names the position in errors."""
    for key, value in position.items():
        kind = type(value)
        if isinstance(value, str):
            names.append(f"{prefix}{key}:{value}")
            weights.append(1.0)
        elif kind is bool or isinstance(value, np.bool_):
            if value:
                names.append(f"{prefix}{key}")
                weights.append(1.0)
        elif isinstance(value, Real):
            names.append(f"{prefix}{key}")
            weights.append(float(value))
        elif isinstance(value, dict):
            add_dict(value, f"{prefix}{key}:", names, weights, where)
        elif isinstance(value, COLLECTIONS):
            if not all(isinstance(one, str) for one in value):
                raise InputError(f"{where()}: the list under {key!r} must hold texts, got {value!r:.60}")
            names += [f"{prefix}{key}:{one}" for one in (value if isinstance(value, list | tuple) else sorted(value))]
            weights += [1.0] * len(value)
        else:
            raise InputError(
                f"{where()}: the value of {key!r} is {value!r:.60}, a {kind.__name__}; give a text, a number, True or "
                "False, a list of texts, or a dict of these"
            )


def with_pairs(found: Attributes, start: int, owner: str) -> Attributes:
    """Return attributes with the pairs (name, weight) among their names split into names and weights."""
    names, weights = list(found.names), np.ones(len(found.names)) if found.weights is None else found.weights
    for place, one in enumerate(names):
        if isinstance(one, str):
            continue
        if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) and isinstance(one[1], Real):
            names[place], weights[place] = one[0], float(one[1])
        else:
            raise InputError(
                f"{position_of(place, found, start, owner)} has the attribute {one!r:.60}; give a text, or a pair of a "
                "text and a number"
            )
    return found._replace(names=names, weights=weights)


def checked(found: Attributes, start: int, owner: str) -> Attributes:
    """Return the attributes unchanged; raise unless all sequences have positions and all weights are finite."""
    for i in np.flatnonzero(found.lengths == 0)[:1]:
        raise InputError(f"{owner}: example {start + i} is an empty sequence; leave it out")
    if found.weights is not None:
        for place in np.flatnonzero(~np.isfinite(found.weights))[:1]:
            where = position_of(int(place), found, start, owner)
            raise InputError(f"{where}: the weight of {found.names[place]!r:.60} is {found.weights[place]}; clean X")
    return found


def position_of(place: int, found: Attributes, start: int, owner: str) -> str:
    """Return the name, for error messages, of the position that the attribute with index ``place`` belongs to."""
    position = int(np.searchsorted(np.cumsum(found.counts), place, side="right"))
    ends = np.cumsum(found.lengths)
    i = int(np.searchsorted(ends, position, side="right"))
    return f"{owner}: example {start + i}: position {position - (ends[i] - found.lengths[i])}"
