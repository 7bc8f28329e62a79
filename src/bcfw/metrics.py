"""Metrics of predicted label sequences: by position, by sequence, by label, and by span.

Every function takes ``(y_true, y_pred)``: lists with one sequence of labels per example, as ``ChainSVM`` takes and
predicts them, or :class:`bcfw.Sequences` of labels. The scorers are for ``GridSearchCV(scoring=...)`` and similar
functions of scikit-learn.

A *span* is a run of consecutive positions with a type, for example a noun phrase. The label of a position is a prefix
and the type: ``B-NP`` begins a span, ``I-NP`` continues it, ``E-NP`` ends it, ``S-NP`` is a span of one position, and
``O`` is outside of all spans. ``L-`` is another prefix for ``E-``, ``U-`` for ``S-``, and ``M-`` for ``I-``. A
predicted span is correct if there is a true span with equal type, first and last position.

:func:`sequence_log_likelihood` and :func:`calibration_error` measure probabilities of labels, as ``predict_proba``
returns them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import make_scorer

from bcfw.errors import InputError
from bcfw.inputs.classes import concatenated, encode, example_of, find_classes, joined_labels, label_array
from bcfw.inputs.numbers import offsets
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.inputs.spans import BEGIN, END, OUTSIDE, PREFIXES, SINGLE, continuing, is_span_label, parse
from bcfw.options import Choice, Count

__all__ = [
    "LabelReport",
    "calibration_error",
    "flat_accuracy",
    "flat_accuracy_scorer",
    "label_f1",
    "label_f1_scorer",
    "label_report",
    "sequence_accuracy",
    "sequence_accuracy_scorer",
    "sequence_log_likelihood",
    "sequence_log_likelihood_scorer",
    "span_f1",
    "span_f1_scorer",
    "span_precision",
    "span_recall",
    "span_report",
]

#: How precision, recall and F1 of several labels are averaged.
AVERAGE = Choice("micro", "macro", "weighted")

#: How probabilities are divided into bins: bins of equal width, or bins with equal numbers of positions.
STRATEGY = Choice("uniform", "quantile")

#: How labels are interpreted as spans.
SCHEME = Choice("conll", "IOB2", "IOBES")

#: The prefixes of the strict schemes.
KNOWN = {"IOB2": "OBI", "IOBES": "OBIES"}


class Compared(NamedTuple):
    """True and predicted labels of all positions as indices into ``classes``; (n + 1,) offsets of the sequences."""

    truth: np.ndarray
    predicted: np.ndarray
    classes: np.ndarray
    ends: np.ndarray


class Judged(NamedTuple):
    """(N, K) probabilities of all positions, the columns of their true labels (-1: no column), and their weights."""

    probabilities: np.ndarray
    truth: np.ndarray
    weight: np.ndarray


class LabelReport(NamedTuple):
    """Precision, recall and F1 of every label (or type of span), printable as a table.

    All arrays have one entry per label. ``precision = correct / predicted``, ``recall = correct / support``, and F1 is
    the harmonic mean of precision and recall. Each of them is 0 if its denominator is 0.
    """

    #: The labels, sorted if they can be compared.
    labels: list[Any]
    #: How often each label is predicted correctly.
    correct: np.ndarray
    #: How often each label is predicted.
    predicted: np.ndarray
    #: How often each label is the true label.
    support: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> np.ndarray:
        return ratio(self.correct, self.support)

    @property
    def f1(self) -> np.ndarray:
        return ratio(2.0 * self.correct, self.predicted + self.support)

    def average(self, average: str = "micro") -> dict[str, float]:
        """Return the average precision, recall and F1 of all labels, and the sum of their support.

        "micro" sums the counts of all labels, "macro" is the mean over labels, "weighted" the mean weighted by support.
        """
        AVERAGE.check("LabelReport", "average", average)
        support = int(self.support.sum())
        if average == "micro":
            sums = LabelReport([], *(np.array([array.sum()]) for array in self[1:]))
            return numbers_of(sums.precision[0], sums.recall[0], sums.f1[0], support)
        weight = self.support if average == "weighted" else np.ones(len(self.labels))
        total = max(float(weight.sum()), 1e-300)
        means = [weight @ array / total for array in (self.precision, self.recall, self.f1)]
        return numbers_of(means[0], means[1], means[2], support)

    def as_dict(self) -> dict[Any, dict[str, float]]:
        """Return ``{label: {"precision": ..., "recall": ..., "f1": ..., "support": ...}}``."""
        rows = zip(self.precision, self.recall, self.f1, self.support, strict=True)
        return {label: numbers_of(*row) for label, row in zip(self.labels, rows, strict=True)}

    def __str__(self) -> str:
        rows = {str(label): row for label, row in self.as_dict().items()}
        rows |= {f"({average})": self.average(average) for average in ("micro", "macro", "weighted")}
        width = max(map(len, rows))
        lines = [f"{'':{width}}  precision  recall      f1  support"]
        for name, row in rows.items():
            values = f"{row['precision']:9.4f}  {row['recall']:6.4f}  {row['f1']:6.4f}  {row['support']:7d}"
            lines.append(f"{name:{width}}  {values}")
        return "\n".join(lines)


def flat_accuracy(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of positions with a correct label; ``sample_weight`` has one number per sequence.

    >>> flat_accuracy([["a", "b"], ["b"]], [["a", "a"], ["b"]])
    0.6666666666666666
    """
    compared = compare(y_true, y_pred, "flat_accuracy")
    lengths = np.diff(compared.ends)
    weight = sequence_weights(sample_weight, len(lengths))
    right = (compared.truth == compared.predicted).astype(np.float64)
    spread = np.repeat(weight, lengths)
    return float(ratio(spread @ right, spread.sum()))


def sequence_accuracy(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of sequences without a wrong label; ``sample_weight`` has one number per sequence.

    >>> sequence_accuracy([["a", "b"], ["b"]], [["a", "a"], ["b"]])
    0.5
    """
    compared = compare(y_true, y_pred, "sequence_accuracy")
    wrong = offsets(compared.truth != compared.predicted)
    weight = sequence_weights(sample_weight, len(compared.ends) - 1)
    return float(weight @ (np.diff(wrong[compared.ends]) == 0) / weight.sum())


def label_report(y_true: Any, y_pred: Any, labels: Any = None) -> LabelReport:
    """Return precision, recall, F1 and support of every label, over all positions.

    Parameters
    ----------
    y_true, y_pred : lists of label sequences
    labels : list or None
        Labels to report, in this order; None: all labels that occur.

    Examples
    --------
    >>> report = label_report([["a", "b"], ["b"]], [["a", "a"], ["b"]])
    >>> report.labels, report.f1.round(3).tolist(), report.support.tolist()
    (['a', 'b'], [0.667, 0.667], [1, 2])
    >>> print(report)
                precision  recall      f1  support
    a              0.5000  1.0000  0.6667        1
    b              1.0000  0.5000  0.6667        2
    (micro)        0.6667  0.6667  0.6667        3
    (macro)        0.7500  0.7500  0.6667        3
    (weighted)     0.8333  0.6667  0.6667        3
    """
    truth, predicted, classes, _ = compare(y_true, y_pred, "label_report")
    right = truth[truth == predicted]
    counts = [np.bincount(codes, minlength=len(classes)) for codes in (right, predicted, truth)]
    names = classes.tolist()
    if labels is None:
        return LabelReport(names, *counts)
    place = {label: k for k, label in enumerate(names)}
    chosen = [place.get(label, len(names)) for label in labels]
    return LabelReport(list(labels), *(np.append(count, 0)[chosen] for count in counts))


def label_f1(y_true: Any, y_pred: Any, *, average: str = "macro", labels: Any = None) -> float:
    """Return the average F1 of the labels over all positions; see :func:`label_report`, :meth:`LabelReport.average`."""
    return label_report(y_true, y_pred, labels).average(average)["f1"]


def span_report(y_true: Any, y_pred: Any, *, scheme: str = "conll") -> LabelReport:
    """Return precision, recall, F1 and support (number of true spans) of every type of span.

    Parameters
    ----------
    y_true, y_pred : lists of sequences of span labels (see :mod:`bcfw.metrics`)
    scheme : "conll", "IOB2" or "IOBES"
        "conll" follows the script conlleval of the CoNLL shared tasks: a position continues a span if it has the prefix
        I or E and the previous position has the prefix B or I and the same type. Every other position that is not O
        begins a span; even an I after O does. This works for BIO, IOB2, IOB1 and IOBES (BIOES). The other two schemes
        are strict. With "IOB2" a span begins with B. With "IOBES" a span is a single S, or begins with B and ends with
        E. Other runs are not spans, and other prefixes are an error.

    Returns
    -------
    LabelReport

    Examples
    --------
    >>> y_true = [["B-NP", "I-NP", "O", "B-VP"]]
    >>> y_pred = [["B-NP", "I-NP", "O", "I-VP"]]              # an I-VP that no B-VP precedes
    >>> span_report(y_true, y_pred).as_dict()["VP"]
    {'precision': 1.0, 'recall': 1.0, 'f1': 1.0, 'support': 1}
    >>> span_report(y_true, y_pred, scheme="IOB2").as_dict()["VP"]
    {'precision': 0.0, 'recall': 0.0, 'f1': 0.0, 'support': 1}
    """
    SCHEME.check("span_report", "scheme", scheme)
    compared = compare(y_true, y_pred, "span_report")
    kinds, types, names = parsed(compared, scheme)
    truth, predicted = compared.truth, compared.predicted
    ends, guessed = (spans(kinds[codes], types[codes], compared.ends, scheme) for codes in (truth, predicted))
    correct = (ends >= 0) & (ends == guessed) & (types[truth] == types[predicted])
    chosen = (types[truth[correct]], types[predicted[guessed >= 0]], types[truth[ends >= 0]])
    counts = [np.bincount(one, minlength=len(names)) for one in chosen]
    seen = np.flatnonzero(counts[1] + counts[2])
    return LabelReport([names[k] for k in seen], *(count[seen] for count in counts))


def span_f1(y_true: Any, y_pred: Any, *, scheme: str = "conll", average: str = "micro") -> float:
    """Return the F1 of spans, as conlleval computes it; see :func:`span_report` for ``scheme``.

    >>> span_f1([["B-NP", "I-NP", "O", "B-VP"]], [["B-NP", "O", "O", "B-VP"]])
    0.5
    """
    return span_report(y_true, y_pred, scheme=scheme).average(average)["f1"]


def span_precision(y_true: Any, y_pred: Any, *, scheme: str = "conll", average: str = "micro") -> float:
    """Return the share of predicted spans that are correct; see :func:`span_report` for ``scheme``."""
    return span_report(y_true, y_pred, scheme=scheme).average(average)["precision"]


def span_recall(y_true: Any, y_pred: Any, *, scheme: str = "conll", average: str = "micro") -> float:
    """Return the share of true spans that are predicted; see :func:`span_report` for ``scheme``."""
    return span_report(y_true, y_pred, scheme=scheme).average(average)["recall"]


def sequence_log_likelihood(y_true: Any, y_proba: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """Return the mean over all positions of the log-probability of the true label; at most 0, higher is better.

    The result is minus scikit-learn's ``log_loss`` over the positions. Probabilities below 2.2e-16, the rounding unit,
    are replaced by 2.2e-16; so is the probability of a true label that has no column.

    Parameters
    ----------
    y_true : list of label sequences; or (n,) labels
    y_proba : list of (T_i, K) arrays, as ``ChainSVM.predict_proba`` gives them; or an (n, K) array
    labels : (K,) labels of the columns, an estimator's ``classes_``
    sample_weight : (n,) array or None
        One number per sequence (or label, if y_true holds single labels).

    Examples
    --------
    >>> import numpy as np
    >>> proba = [np.array([[0.5, 0.5], [0.25, 0.75]])]
    >>> sequence_log_likelihood([["a", "b"]], proba, ["a", "b"])           # (log 0.5 + log 0.75) / 2
    -0.4904146265058631
    """
    P, truth, weight = judge(y_true, y_proba, labels, sample_weight, "sequence_log_likelihood")
    own = np.where(truth >= 0, P[np.arange(len(truth)), truth], 0.0)
    return float(np.average(np.log(np.maximum(own, np.finfo(np.float64).eps)), weights=weight))


def calibration_error(
    y_true: Any, y_proba: Any, labels: Any, *, bins: int = 15, strategy: str = "uniform", sample_weight: Any = None
) -> float:
    """Return the expected calibration error: the mean difference between confidence and accuracy.

    The *confidence* of a position is the probability of its most probable label. Positions are divided into bins by
    their confidence. The error is the mean over the bins, weighted by their numbers of positions, of
    ``|mean confidence - share of correct labels|``; 0 is best.

    Parameters
    ----------
    y_true, y_proba, labels, sample_weight
        See :func:`sequence_log_likelihood`.
    bins : int
        Number of bins.
    strategy : "uniform" or "quantile"
        "uniform": bins of equal width in [0, 1]. "quantile": bins with equal numbers of positions, as far as possible;
        positions of equal confidence stay in one bin.

    Examples
    --------
    >>> import numpy as np
    >>> proba = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]])
    >>> round(calibration_error(["a", "b", "b"], proba, ["a", "b"]), 4)    # (2 |0.9 - 0.5| + |0.6 - 1|) / 3
    0.4
    """
    Count(15).check("calibration_error", "bins", bins)
    STRATEGY.check("calibration_error", "strategy", strategy)
    P, truth, weight = judge(y_true, y_proba, labels, sample_weight, "calibration_error")
    confidence = P.max(axis=1)
    shares = np.linspace(0.0, 1.0, bins + 1)[1:-1]
    edges = shares if strategy == "uniform" else np.quantile(confidence, shares)
    place = np.searchsorted(edges, confidence)
    excess = weight * (confidence - (P.argmax(axis=1) == truth))
    return float(np.abs(np.bincount(place, excess)).sum() / weight.sum())


def sequence_log_likelihood_scorer(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the :func:`sequence_log_likelihood` of an estimator's ``predict_proba``."""
    return sequence_log_likelihood(y, estimator.predict_proba(X), estimator.classes_, sample_weight=sample_weight)


flat_accuracy_scorer = make_scorer(flat_accuracy)
sequence_accuracy_scorer = make_scorer(sequence_accuracy)
label_f1_scorer = make_scorer(label_f1)
span_f1_scorer = make_scorer(span_f1)


def compare(y_true: Any, y_pred: Any, owner: str) -> Compared:
    """Return truth and predictions as indices into one array of labels; raise InputError unless their lengths match."""
    truth, lengths = joined_labels(y_true, owner, "y_true")
    predicted, others = joined_labels(y_pred, owner, "y_pred")
    if len(lengths) != len(others):
        raise InputError(f"{owner}: y_true has {len(lengths)} sequences and y_pred {len(others)}; they must match")
    for i in np.flatnonzero(lengths != others)[:1]:
        raise InputError(
            f"{owner}: sequence {i} has {lengths[i]} labels in y_true and {others[i]} in y_pred; they must match"
        )
    if not len(truth):
        raise InputError(f"{owner}: y_true has no labels; give at least one sequence")
    ends = offsets(lengths)

    def where(place: int) -> str:
        side, position = divmod(place, len(truth))
        return f"{owner}: sequence {np.searchsorted(ends, position, side='right') - 1} of {('y_true', 'y_pred')[side]}"

    classes, codes = find_classes(concatenated([truth, predicted]), where)
    return Compared(codes[: len(truth)], codes[len(truth) :], classes, ends)


def judge(y_true: Any, y_proba: Any, labels: Any, sample_weight: Any, owner: str) -> Judged:
    """Return probabilities, true labels and weights of all positions; raise InputError unless their sizes match."""
    columns = label_array(labels)
    if isinstance(y_proba, np.ndarray) and y_proba.ndim == 2:  # single labels are sequences of one position
        flat, sizes = label_array(y_true), np.ones(len(y_proba), np.int64)
        lengths = np.ones(len(flat), np.int64)
        tables = [y_proba]
    else:
        flat, lengths = joined_labels(y_true, owner, "y_true")
        tables = [np.asarray(table, np.float64) for table in y_proba]
        sizes = np.array([len(table) for table in tables], np.int64)
    for i, table in enumerate(tables):
        if table.ndim != 2 or table.shape[1] != len(columns):
            raise InputError(
                f"{owner}: y_proba {i} has shape {table.shape}; it needs {len(columns)} columns, as labels"
            )
    if not np.array_equal(lengths, sizes):
        raise InputError(f"{owner}: y_true and y_proba have different lengths; give probabilities of every label")
    if not len(flat):
        raise InputError(f"{owner}: y_true has no labels; give at least one")
    ends = offsets(lengths)
    truth = encode(flat, columns, "wrong", example_of(ends, owner))
    return Judged(np.vstack(tables), truth, np.repeat(sequence_weights(sample_weight, len(lengths)), lengths))


def parsed(compared: Compared, scheme: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the kind of prefix of every class, the index of its type, and the sorted names of the types."""
    classes, prefixes = compared.classes.tolist(), KNOWN.get(scheme, PREFIXES)
    for label in classes:
        if not is_span_label(label, prefixes):
            known = ", ".join(f"{prefix}-..." for prefix in prefixes if prefix != "O")
            raise InputError(f"span_report: {label!r} is no label of a span (scheme {scheme!r}): use O, {known}")
    kinds, types, names = parse(classes)
    return kinds, types, [name or "_" for name in names]


def spans(kinds: np.ndarray, types: np.ndarray, ends: np.ndarray, scheme: str) -> np.ndarray:
    """Return (N,) the last position of the span that begins at each position of stacked sequences; -1: no span."""
    continues = continuing(kinds, types, ends)
    starts = np.flatnonzero((kinds != OUTSIDE) & ~continues)
    stops = np.flatnonzero((kinds != OUTSIDE) & ~np.append(continues[1:], False))  # stops[k] belongs to starts[k]
    if scheme != "conll":
        whole = kinds[starts] == BEGIN
        if scheme == "IOBES":
            whole = (whole & (kinds[stops] == END)) | (kinds[starts] == SINGLE)
        starts, stops = starts[whole], stops[whole]
    last = np.full(len(kinds), -1)
    last[starts] = stops
    return last


def sequence_weights(sample_weight: Any, n: int) -> np.ndarray:
    """Return the (n,) weights of the sequences; ones for None."""
    weight = read_sample_weight(sample_weight, n)
    return np.ones(n) if weight is None else weight


def ratio(part: Any, whole: Any) -> np.ndarray:
    """Return ``part / whole``, and 0 where ``whole`` is 0."""
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=np.asarray(whole) > 0)


def numbers_of(precision: Any, recall: Any, f1: Any, support: Any) -> dict[str, Any]:
    return {"precision": float(precision), "recall": float(recall), "f1": float(f1), "support": int(support)}


def __dir__() -> list[str]:
    return sorted(__all__)
