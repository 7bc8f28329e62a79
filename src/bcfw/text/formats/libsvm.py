"""Format "libsvm": numbered features, one line per example or position, as in LIBSVM, SVMlight and SVMhmm."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import isfinite
from typing import ClassVar

from bcfw.errors import InputError
from bcfw.text.formats.format import ALONE, Format, Position, finite

#: Largest index of a feature, the largest number of type int32.
LARGEST = 2**31 - 1


class Libsvm(Format):
    r"""Format "libsvm": ``label index:value ... # comment``, or ``label qid:number index:value ...`` for sequences.

    Indices begin at 1 and increase. An entry of ``Example.x`` is a pair of lists: the indices and the values of the
    features on the line. Labels are numbers (several are separated by commas) and are compared as texts: "1" is not
    "+1". Lines without a label begin with ``qid`` or a feature. Consecutive lines with equal ``qid`` are a sequence;
    without ``qid``, every line is an example. Predictions replace the labels.

    Parameters
    ----------
    qid : bool, optional
        Whether lines have a ``qid``.

    Examples
    --------
    >>> from bcfw.text.formats.libsvm import Libsvm
    >>> libsvm = Libsvm()
    >>> first, second = libsvm.examples(["+1 1:0.5 7:2", "-1 # nothing here"], "demo")
    >>> first.x, first.labels, second.x, libsvm.sequences
    ([([1, 7], [0.5, 2.0])], ['+1'], [([], [])], False)
    >>> libsvm.text(second, ["+1"])
    '+1 # nothing here\n'
    """

    name = "libsvm"
    defaults: ClassVar = {"qid": None}

    @property
    def sequences(self) -> bool:
        return bool(self.settings["qid"])

    def _reader(self) -> Callable[[str], Position | None]:
        return self._read

    def _read(self, line: str) -> Position | None:
        tokens = line.partition("#")[0].split()
        if not tokens:
            return None
        label = None
        if ":" not in tokens[0]:
            label = tokens.pop(0)
            for number in label.split(","):
                finite(number, f"a part of the label {label!r:.60}" if label != number else "the label")
        key = ALONE
        if tokens and tokens[0].startswith("qid:"):
            key = _whole(tokens.pop(0)[4:], "the qid")
        self._check_qid(key is not ALONE)
        return Position(key, label, _features(tokens))

    def _check_qid(self, given: bool) -> None:
        if self.settings["qid"] is None:
            self.settings["qid"] = given
        if self.settings["qid"] and not given:
            raise InputError("no qid, but the lines before it or the training data have one; give all of them one")
        if given and not self.settings["qid"]:
            raise InputError("a qid, but the lines before it or the training data have none; remove it")

    def _answered(self, line: str, label: str) -> str:
        line = line.lstrip()
        first = line.partition("#")[0].split()[0]
        return f"{label} {line}" if ":" in first else label + line[len(first) :]

    def _looks(self) -> str:
        return "a line is a label and features, as in 1 3:0.5 7:2"


def _features(tokens: list[str]) -> tuple[list[int], list[float]]:
    """Return the indices and the values of features ``index:value``."""
    try:
        pairs = [token.split(":") for token in tokens]
        indices = [int(index) for index, _ in pairs]
        values = [float(value) for _, value in pairs]
    except ValueError:
        raise _fault(tokens) from None
    good = all(map(isfinite, values)) and all(map(int.__lt__, indices, indices[1:]))
    if not good or (indices and not 1 <= indices[0] <= indices[-1] <= LARGEST) or "_" in "".join(tokens):
        raise _fault(tokens)
    return indices, values


def _fault(tokens: list[str]) -> InputError:
    """Return an error that describes the first feature that is not well-formed."""
    indices = []
    try:
        for token in tokens:
            index, colon, value = token.partition(":")
            if not colon:
                raise InputError(f"{token!r:.60} is no feature; write index:value")
            indices.append(_whole(index, f"the index of {token!r:.60}"))
            if not 1 <= indices[-1] <= LARGEST:
                raise InputError(f"the index of {token!r:.60} is not one of 1, 2, ..., {LARGEST}")
            finite(value, f"the value of {token!r:.60}")
        for one, other in pairwise(indices):
            if one >= other:
                raise InputError(f"index {other} comes after {one}; indices increase, and come once")
    except InputError as error:
        return error
    raise AssertionError("features without fault")


def _whole(text: str, what: str) -> int:
    try:
        if "_" not in text:
            return int(text)
    except ValueError:
        pass
    raise InputError(f"{what} is {text!r:.60}, which is no whole number")
