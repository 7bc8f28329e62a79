"""Labels of spans: what their prefixes mean, where spans begin and end, and the same spans in another scheme.

A *span* is a run of positions with a type. Its positions are labelled by a prefix and the type: ``B-NP`` begins a
span, ``I-NP`` continues it, ``E-NP`` ends it, ``S-NP`` is a span of one position; ``O`` is outside of all spans. A
*scheme* is a set of prefixes: "BIO" has B and I (IOB2), "IOBES" has all four, "BILOU" and "BMES" are the same in other
letters. This module needs nothing but numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

#: What a prefix says about a position, under its usual names.
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
PREFIXES = {"O": OUTSIDE, "B": BEGIN, "I": INSIDE, "M": INSIDE, "E": END, "L": END, "S": SINGLE, "U": SINGLE}

#: The prefixes of the schemes, in the order of the meanings above.
LETTERS = {"BIO": "OBI", "IOBES": "OBIES", "BILOU": "OBILU", "BMES": "OBMES"}

#: The schemes in which labels can be learned.
ENCODINGS = ("BIO", "IOBES")

#: What a step that a scheme forbids adds to the score. (Infinities would become NaN where every labeling is forbidden.)
FORBIDDEN = -1e30


class Parsed(NamedTuple):
    """Some span labels, taken apart.

    Attributes
    ----------
    kinds : (K,) what the prefix of each label means
    types : (K,) index of its type in ``names``, -1 for "O"
    names : the types, sorted; "" for labels that are nothing but a prefix
    """

    kinds: np.ndarray
    types: np.ndarray
    names: list[str]


class Penalties(NamedTuple):
    """What is added to the scores of first and last labels (K,) and of transitions (K, K): 0, or ``FORBIDDEN``."""

    first: np.ndarray
    last: np.ndarray
    transitions: np.ndarray


def is_span_label(label: Any, prefixes: Iterable[str] = PREFIXES) -> bool:
    """Whether a label is one of the prefixes, alone or with "-" and a type."""
    return isinstance(label, str) and label != "" and label[0] in prefixes and label[1:2] in ("", "-")


def are_span_labels(labels: Iterable[Any]) -> bool:
    """Whether all labels are of spans, and at least one begins or continues a span with a type."""
    given = list(labels)
    return all(map(is_span_label, given)) and any(label[1:2] == "-" for label in given)


def parse(labels: Sequence[str]) -> Parsed:
    """Span labels taken apart; each must be one (:func:`is_span_label`)."""
    types = [None if label == "O" else label[2:] for label in labels]
    names = sorted({name for name in types if name is not None})
    place = {name: k for k, name in enumerate(names)}
    kinds = np.array([PREFIXES[label[0]] for label in labels], np.int64)
    return Parsed(kinds, np.array([place.get(name, -1) if name is not None else -1 for name in types], np.int64), names)


def continuing(kinds: np.ndarray, types: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(N,) whether a position of stacked sequences continues the span before it, by the rules of conlleval.

    It has the prefix I or E, and the position before it, in the same sequence, is B or I of the same type. ``ends`` are
    the (n + 1,) offsets of the sequences.
    """
    first = np.zeros(len(kinds) + 1, bool)
    first[ends] = True
    opened = np.isin(kinds[:-1], (BEGIN, INSIDE)) & (types[:-1] == types[1:]) & ~first[1:-1]
    return np.isin(kinds, (INSIDE, END)) & np.append(False, opened)[: len(kinds)]


def scheme_of(labels: Iterable[str]) -> str:
    """The scheme that labels are written in: one of the four that has all their letters, else "IOBES"."""
    letters = {label[0] for label in labels}
    return next((scheme for scheme, known in LETTERS.items() if letters <= set(known)), "IOBES")


def marks_ends(scheme: str) -> bool:
    """Whether a scheme has prefixes of its own for the last position of a span."""
    return len(LETTERS[scheme]) > END


def in_scheme(labels: Sequence[str], codes: np.ndarray, ends: np.ndarray, scheme: str) -> tuple[list[str], np.ndarray]:
    """The same spans in another scheme.

    Parameters
    ----------
    labels : K span labels
    codes : (N,) index of the label of every position of stacked sequences
    ends : (n + 1,) offsets of the sequences
    scheme : one of ``LETTERS``

    Returns
    -------
    new labels, sorted : list of str
        Those that occur.
    new codes : (N,) array

    Examples
    --------
    >>> import numpy as np
    >>> labels, codes = in_scheme(["B-NP", "I-NP", "O"], np.array([0, 1, 2, 0]), np.array([0, 4]), "IOBES")
    >>> [labels[code] for code in codes]
    ['B-NP', 'E-NP', 'O', 'S-NP']
    """
    kinds, types, names = parse(labels)
    kinds, types = kinds[codes], types[codes]
    continues = continuing(kinds, types, ends)
    inside = kinds != OUTSIDE
    new = np.where(continues, INSIDE, BEGIN)
    if marks_ends(scheme):
        stops = inside & ~np.append(continues[1:], False)
        new[stops] = np.where(continues[stops], END, SINGLE)
    keys = np.where(inside, (types + 1) * len(PREFIXES) + new, OUTSIDE)
    distinct, codes = np.unique(keys, return_inverse=True)
    found = [written(int(key), names, scheme) for key in distinct]
    order = sorted(range(len(found)), key=found.__getitem__)
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found))
    return [found[k] for k in order], rank[codes]


def written(key: int, names: list[str], scheme: str) -> str:
    """The label behind a key of :func:`in_scheme`: the prefix, and the type if there is one."""
    place, kind = divmod(key, len(PREFIXES))
    letter = LETTERS[scheme][kind]
    return f"{letter}-{names[place - 1]}" if place and names[place - 1] else letter


def penalties(labels: Sequence[str], scheme: str) -> Penalties:
    """What a scheme forbids: spans that are continued but never begun and, if it marks ends, begun but never ended."""
    kinds, types, _ = parse(labels)
    continues, begins = np.isin(kinds, (INSIDE, END)), np.isin(kinds, (BEGIN, INSIDE))
    joined = begins[:, None] & continues & (types[:, None] == types)
    allowed = joined | ~continues
    if marks_ends(scheme):
        allowed &= joined | ~begins[:, None]
    ended = ~begins if marks_ends(scheme) else np.ones(len(kinds), bool)
    first, last, transitions = (np.where(one, 0.0, FORBIDDEN) for one in (~continues, ended, allowed))
    return Penalties(first, last, transitions)
