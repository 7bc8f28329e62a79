"""Conversion of labels of any hashable type to the class indices 0 .. K-1 that models see; class weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError, OptionError, nearest
from bcfw.inputs.examples import check_same_length, read_list
from bcfw.inputs.numbers import offsets, unmasked
from bcfw.inputs.sequences import Sequences
from bcfw.options import Choice, NonNegative

#: Array kinds whose labels numpy can concatenate and sort without changing their type.
FAMILIES = {"b": "number", "i": "number", "u": "number", "f": "number", "U": "text", "S": "bytes"}

#: Values of the option ``unseen``.
UNSEEN = Choice("error", "wrong")

#: Types whose only value means "missing" and cannot be recognised by a comparison with itself: pandas' NA, and numpy's
#: masked constant. (NaN and NaT are recognised because they are unequal to themselves.)
MISSING = ("NAType", "MaskedConstant")

#: A function that returns, for an index into the flat labels, the example's name for error messages.
Where = Callable[[int], str]


def label_array(y: Any) -> np.ndarray:
    """Return labels as an array whose entries keep their type.

    Arrays are returned unchanged. A list of numbers or of strings becomes an array of numbers or strings. Any other
    list (tuples, mixed types) becomes an array of objects, because numpy would turn ``[1, "a"]`` into strings and
    tuples into rows.
    """
    unmasked(y, "y")
    if not isinstance(y, list | tuple | str):
        return np.asarray(y)
    values = list(y)
    alike = all(isinstance(v, str) for v in values) or all(isinstance(v, Number) for v in values)
    if alike or any(isinstance(v, list | np.ndarray) for v in values):
        try:
            return np.asarray(values)
        except ValueError as error:
            raise InputError(f"y must have one label in each place ({error})") from error
    for i, label in enumerate(values):
        if sp.issparse(label):
            raise InputError(f"y: the label of example {i} is a sparse matrix; give one number, text or tuple")
    return object_array(values)


def object_array(values: Iterable[Any]) -> np.ndarray:
    """Return a 1-D array of objects, even if the objects are tuples of equal length."""
    return np.fromiter(values, dtype=object)


def flatten(y: Any, sizes: Sequence[int] | np.ndarray, unit: str, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of all examples in one array, and the (n + 1,) offsets of the examples.

    Raise unless example i has ``sizes[i]`` labels, one for each of its units ("positions", "nodes").
    """
    flat, lengths = joined_labels(y, owner)
    check_same_length(sizes, lengths, owner)
    for i in np.flatnonzero(lengths != np.asarray(sizes))[:1]:
        raise InputError(f"{owner}: example {i} has {sizes[i]} {unit} and {lengths[i]} labels; they must match")
    return flat, offsets(sizes)


def joined_labels(y: Any, owner: str, what: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of all examples in one array, and the (n,) numbers of labels; errors call y ``what``."""
    if isinstance(y, Sequences):
        if y.rows.ndim != 1:
            raise InputError(f"{owner}: {what} must have one label per position, got rows of shape {y.rows.shape}")
        return y.rows, y.lengths
    arrays = []
    for i, given in enumerate(read_list(y, what, owner)):
        unmasked(given, f"{owner}: example {i}: {what}")
        try:
            labels = label_array(given)
        except ValueError as error:
            raise InputError(f"{owner}: example {i}: {what} must be a sequence of labels ({error})") from error
        if labels.ndim != 1:
            raise InputError(f"{owner}: example {i}: {what} must be a sequence of labels, got shape {labels.shape}")
        arrays.append(labels)
    return concatenated(arrays), np.array([len(labels) for labels in arrays], np.int64)


def concatenated(arrays: list[np.ndarray]) -> np.ndarray:
    """Return the concatenation of arrays of labels; labels of different kinds keep their types in an object array."""
    families = {FAMILIES.get(labels.dtype.kind) for labels in arrays if len(labels)}
    if len(families) == 1 and None not in families:
        return np.concatenate([labels for labels in arrays if len(labels)])
    return object_array(itertools.chain.from_iterable(labels.tolist() for labels in arrays))


def example_of(ends: np.ndarray, owner: str, places: np.ndarray | None = None) -> Where:
    """Return a function that names the example to which an index into the flat labels belongs.

    If ``places`` is given, the function's argument is an index into ``places``, which has indices into the flat labels.
    """

    def name(position: int) -> str:
        place = position if places is None else places[position]
        return f"{owner}: example {np.searchsorted(ends, place, side='right') - 1}"

    return name


def distinct(flat: np.ndarray, where: Where) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels, and for each entry of ``flat`` the index of its label in the distinct labels."""
    require_labels(flat, where)
    if flat.dtype.kind != "O":
        values, codes = np.unique(flat, return_inverse=True)
        return values, codes.astype(np.int64)
    index: dict[Any, int] = {}
    codes = np.zeros(len(flat), np.int64)
    for position, label in enumerate(flat):
        try:
            codes[position] = index.setdefault(label, len(index))
        except TypeError as error:
            raise InputError(f"{where(position)}: the label {label!r} is not hashable; use a tuple") from error
    return object_array(index), codes


def require_labels(labels: np.ndarray, where: Where) -> None:
    """Raise if a label is missing, with the place of the first missing label.

    For an (n, L) array, ``where`` is called with the index of the row.
    """
    if labels.dtype.kind == "O":
        missing = np.fromiter(map(is_missing, labels.ravel()), bool, labels.size).reshape(labels.shape)
    elif labels.dtype.kind in "fcmM":
        missing = labels != labels
    else:
        return
    for place in np.argwhere(np.atleast_1d(missing))[:1]:
        label = np.atleast_1d(labels)[tuple(place)]
        shown = "NaN" if isinstance(label, Number) else str(label)
        raise InputError(
            f"{where(int(place[0]))}: a label is {shown}, which means missing; give it, or leave the example out"
        )


def is_missing(label: Any) -> bool:
    """Return whether a value stands for a missing label: None, NaN, NaT, pandas' NA or a masked entry."""
    if label is None or type(label).__name__ in MISSING:
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):  # arrays have no truth value; other checks refuse arrays as labels
        return False


def find_classes(flat: np.ndarray, where: Where) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and, for each label of ``flat``, the index of its class.

    Classes are sorted if they can be compared, otherwise in order of first appearance.
    """
    values, codes = distinct(flat, where)
    try:
        order = sorted(range(len(values)), key=values.tolist().__getitem__)
    except TypeError:
        return values, codes
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    return values[order], rank[codes]


def encode(flat: np.ndarray, classes: np.ndarray, unseen: str, where: Where) -> np.ndarray:
    """Return the class indices of true labels, for the comparison with predictions.

    A label that is not in ``classes`` raises an error; with ``unseen="wrong"`` its index is -1, which differs from
    every prediction.
    """
    UNSEEN.check("score", "unseen", unseen)
    values, codes = distinct(flat, where)
    index = {label: k for k, label in enumerate(classes.tolist())}
    found = np.array([index.get(label, -1) for label in values.tolist()], np.int64)[codes]
    strange = np.flatnonzero(found < 0)
    if len(strange) and unseen == "error":
        first = values.tolist()[codes[strange[0]]]
        known = ", ".join(repr(label) for label in classes.tolist()[:5])
        raise InputError(
            f"{where(int(strange[0]))} has the label {first!r}, which was not among the {len(classes)} classes in fit "
            f"({known}{', ...' if len(classes) > 5 else ''}); the option unseen='wrong' counts it as wrongly predicted"
        )
    return found


def require_two_classes(totals: np.ndarray, classes: np.ndarray, owner: str) -> None:
    """Raise unless at least two classes have positive weight; ``totals`` has the (K,) weights of the classes."""
    present = np.flatnonzero(totals > 0)
    if len(present) < 2:
        named = f" ({classes.tolist()[present[0]]!r})" if len(present) else ""
        raise InputError(
            f"{owner}: y has {len(present)} class{named} with positive weight; training needs at least 2 classes, "
            "so give examples of another one"
        )


def class_weights(class_weight: Any, classes: np.ndarray, totals: np.ndarray, owner: str) -> np.ndarray:
    """Return the (K,) factors of the classes that the option ``class_weight`` stands for.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        None: all factors are 1. "balanced": ``S / (K S_k)``, where S is the sum of the S_k and K the number of classes
        with S_k > 0; the factor of a class with S_k = 0 is 0. dict: factors by label, 1 for labels that it does not
        name.
    classes : (K,) array
    totals : (K,) array
        S_k: the sum of the sample weights of each class.
    owner : str
        The name at the beginning of error messages.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        present = totals > 0
        return np.divide(totals.sum() / present.sum(), totals, out=np.zeros(len(classes)), where=present)
    if not isinstance(class_weight, dict):
        raise OptionError(f"{owner}: class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    # A fold may lack some labels, so an unknown label is an error only if class_weight leaves out a class of y.
    if unknown and any(label not in class_weight for label in labels):
        hint = nearest(unknown[0], map(str, labels))
        raise OptionError(f"{owner}: class_weight names {unknown[0]!r}, which is no label in y; {hint}")
    factors = [class_weight.get(label, 1.0) for label in labels]
    for label, factor in zip(labels, factors, strict=True):
        if not NonNegative(1.0).accepts(factor):
            raise OptionError(f"{owner}: class_weight of {label!r} is {factor!r}; it must be a finite number >= 0")
    return np.array(factors, dtype=np.float64)
