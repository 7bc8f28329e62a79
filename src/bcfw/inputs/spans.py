"""Span labels: the meaning of their prefixes, where spans begin and end, and conversion between schemes.

A *span* is a run of positions with a type. Its positions are labelled by a prefix and the type: ``B-NP`` begins a
span, ``I-NP`` continues it, ``E-NP`` ends it, ``S-NP`` is a span of one position; ``O`` is outside of all spans. A
*scheme* is a set of prefixes: "BIO" has B and I (IOB2), "IOBES" has all four; "BILOU" and "BMES" are IOBES with other
letters. This module imports numpy only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

#: The kinds of positions, and the kind that each prefix of any scheme stands for.
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
PREFIXES = {"O": OUTSIDE, "B": BEGIN, "I": INSIDE, "M": INSIDE, "E": END, "L": END, "S": SINGLE, "U": SINGLE}

#: The prefixes of the schemes, in the order of the kinds above.
LETTERS = {"BIO": "OBI", "IOBES": "OBIES", "BILOU": "OBILU", "BMES": "OBMES"}

#: The schemes in which labels can be learned.
ENCODINGS = ("BIO", "IOBES")

#: Score of a step that a scheme forbids. (Infinite scores would become NaN if every labelling is forbidden.)
FORBIDDEN = -1e30


class Parsed(NamedTuple):
    """Span labels, split into prefixes and types.

    Attributes
    ----------
    kinds : (K,) the kind of position that each label's prefix stands for
    types : (K,) index of each label's type in ``names``, -1 for "O"
    names : the types, sorted; "" for labels that consist of a prefix only
    """

    kinds: np.ndarray
    types: np.ndarray
    names: list[str]


class Penalties(NamedTuple):
    """Penalties, 0 or ``FORBIDDEN``, for the scores of first and last labels (K,) and of transitions (K, K)."""

    first: np.ndarray
    last: np.ndarray
    transitions: np.ndarray


def is_span_label(label: Any, prefixes: Iterable[str] = PREFIXES) -> bool:
    """Return whether a label is one of the prefixes, alone or with "-" and a type."""
    return isinstance(label, str) and label != "" and label[0] in prefixes and label[1:2] in ("", "-")


def are_span_labels(labels: Iterable[Any]) -> bool:
    """Return whether all labels are span labels, and at least one of them has a type."""
    given = list(labels)
    return all(map(is_span_label, given)) and any(label[1:2] == "-" for label in given)


def parse(labels: Sequence[str]) -> Parsed:
    """Return span labels split into prefixes and types; each must satisfy :func:`is_span_label`."""
    types = [None if label == "O" else label[2:] for label in labels]
    names = sorted({name for name in types if name is not None})
    place = {name: k for k, name in enumerate(names)}
    kinds = np.array([PREFIXES[label[0]] for label in labels], np.int64)
    return Parsed(kinds, np.array([place.get(name, -1) if name is not None else -1 for name in types], np.int64), names)


def continuing(kinds: np.ndarray, types: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return, for (N,) positions of stacked sequences, whether they continue the span before, by conlleval's rules.

    A position continues a span if its prefix is I or E and if the position before it in its sequence is B or I with an
    equal type. ``ends`` are the (n + 1,) offsets of the sequences.
    """
    first = np.zeros(len(kinds) + 1, bool)
    first[ends] = True
    opened = np.isin(kinds[:-1], (BEGIN, INSIDE)) & (types[:-1] == types[1:]) & ~first[1:-1]
    return np.isin(kinds, (INSIDE, END)) & np.append(False, opened)[: len(kinds)]


def scheme_of(labels: Iterable[str]) -> str:
    """Return the scheme that labels are written in: the first of ``LETTERS`` with all their letters, or "IOBES"."""
    letters = {label[0] for label in labels}
    return next((scheme for scheme, known in LETTERS.items() if letters <= set(known)), "IOBES")


def marks_ends(scheme: str) -> bool:
    """Return whether a scheme has a special prefix for the last position of a span."""
    return len(LETTERS[scheme]) > END


def in_scheme(labels: Sequence[str], codes: np.ndarray, ends: np.ndarray, scheme: str) -> tuple[list[str], np.ndarray]:
    """Return the labels of given spans in another scheme.

    Parameters
    ----------
    labels : K span labels
    codes : (N,) index of the label of every position of stacked sequences
    ends : (n + 1,) offsets of the sequences
    scheme : one of ``LETTERS``

    Returns
    -------
    new labels, sorted : list of str
        Labels of the scheme that occur.
    new codes : (N,) array
        Index of the new label of every position.

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
    """Return the label that a key of :func:`in_scheme` stands for: the prefix, and the type if there is one."""
    place, kind = divmod(key, len(PREFIXES))
    letter = LETTERS[scheme][kind]
    return f"{letter}-{names[place - 1]}" if place and names[place - 1] else letter


def penalties(labels: Sequence[str], scheme: str) -> Penalties:
    """Return the penalties of a scheme.

    Forbidden are spans that are continued but not begun and, if the scheme marks ends, spans that are not ended.
    """
    kinds, types, _ = parse(labels)
    continues, begins = np.isin(kinds, (INSIDE, END)), np.isin(kinds, (BEGIN, INSIDE))
    joined = begins[:, None] & continues & (types[:, None] == types)
    allowed = joined | ~continues
    if marks_ends(scheme):
        allowed &= joined | ~begins[:, None]
    ended = ~begins if marks_ends(scheme) else np.ones(len(kinds), bool)
    first, last, transitions = (np.where(one, 0.0, FORBIDDEN) for one in (~continues, ended, allowed))
    return Penalties(first, last, transitions)
