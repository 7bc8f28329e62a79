"""EstimatorTagger: labels text files by an estimator or a result that was saved in Python."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError
from bcfw.estimators import ChainSVM, MulticlassSVM
from bcfw.formats import Example, Table
from bcfw.inputs.numbers import offsets
from bcfw.inputs.sequences import Sequences
from bcfw.models import Chain, Multiclass
from bcfw.result import Result
from bcfw.text.source import TextSource
from bcfw.text.tagger import NO_TEXT


class EstimatorTagger:
    """Labels the examples of text files by an estimator or a result that was saved in Python.

    If the model has learned named attributes, as :class:`bcfw.ChainSVM` does from dicts and lists of names, the text
    source gives the attributes. Otherwise features are the columns of a table, or the features of the format "libsvm",
    where index 1 is the first feature.

    Parameters
    ----------
    saved : estimator or Result
    where : str
        Name of the model file in messages.

    Attributes
    ----------
    by_name : bool
        Whether the features are named attributes.
    sequences : bool
        Whether examples are sequences.
    n_features : int
    names : list of str or None
        Names of the features, if the estimator was fitted on a data frame.
    labels : list of str
        The labels of predictions, as texts.
    source : TextSource
        The source of the examples; the caller sets it before examples are labelled.
    """

    source: TextSource

    def __init__(self, saved: Any, where: str) -> None:
        self._saved = saved
        model = saved.model if isinstance(saved, Result) else saved
        self.sequences = isinstance(model, Chain | ChainSVM)
        if not self.sequences and not isinstance(model, Multiclass | MulticlassSVM):
            raise InputError(
                f"{where} holds a {type(model).__name__}, whose examples have no form in text files (those of ChainSVM "
                "and MulticlassSVM do); read it by bcfw.load and call its predict"
            )
        self.by_name = bool(getattr(model, "_by_name", False))
        self.n_features = int(model.n_features if isinstance(saved, Result) else model.n_features_in_)
        names = getattr(model, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]
        self.labels = label_texts(saved, where)
        self._numbers = all(map(is_number, answered_labels(saved)))

    def tag_examples(self, examples: list[Example]) -> list[list[str]]:
        """Return the predicted labels of every position, for examples of a text file."""
        if self.source.format.sequences != self.sequences:
            kinds = ("single examples", "sequences")
            raise InputError(
                f"line {examples[0].line}: {kinds[not self.sequences]}, but the model labels {kinds[self.sequences]}; "
                f"{'give' if self.sequences else 'leave out'} qid (libsvm) or --sequence (csv)"
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # FeatureTable has compared them
            predicted = self._saved.predict(self._inputs(examples))
        if not self.sequences:
            return [[label_text(label)] for label in predicted]
        return [[label_text(label) for label in labels] for labels in predicted]

    def truth(self, example: Example) -> list[str]:
        """Return the true labels of a labelled example; numbers are written as in predictions."""
        labels = example.labels or []
        return [label_text(number_or_text(label)) for label in labels] if self._numbers else labels

    def _inputs(self, examples: list[Example]) -> Any:
        """Return the examples in the form that the estimator takes."""
        if self.by_name:
            return [self.source.attributes_of(example) for example in examples]
        positions = [x for example in examples for x in example.x]
        rows = np.array(positions, float) if self.source.format.name == "csv" else self._sparse(examples, positions)
        return Sequences(rows, offsets([len(example.x) for example in examples])) if self.sequences else rows

    def _sparse(self, examples: list[Example], positions: list[Any]) -> sp.csr_array:
        """Return the numbered features of the format "libsvm" as sparse rows."""
        for example in examples:
            largest = max((indices[-1] for indices, _ in example.x if indices), default=0)
            if largest > self.n_features:
                raise InputError(
                    f"line {example.line}: the feature {largest}, but the model has the features 1 to {self.n_features}"
                )
        columns = np.array([index - 1 for indices, _ in positions for index in indices], np.int64)
        values = np.array([value for _, values in positions for value in values], float)
        starts = offsets([len(indices) for indices, _ in positions])
        return sp.csr_array((values, columns, starts), shape=(len(positions), self.n_features))


class FeatureTable(Table):
    """Table whose columns, except label and sequence, are the features of a model; the label may be missing.

    Parameters
    ----------
    tagger : EstimatorTagger
    **settings
        Settings of :class:`bcfw.formats.Table`.
    """

    def __init__(self, tagger: EstimatorTagger, **settings: Any) -> None:
        super().__init__(**settings)
        self._tagger = tagger

    def _fix(self, cells: list[str]) -> None:
        settings, F = self.settings, self._tagger.n_features
        label, names = settings["label"], self._tagger.names
        if len(cells) == F + self.sequences:  # no label: insert a name for its column, so that all columns are known
            place = label % (len(cells) + 1) if isinstance(label, int) else len(cells)
            cells = [*cells[:place], label if isinstance(label, str) else "label", *cells[place:]]
        super()._fix(cells)
        others = (settings["label"], settings["sequence"])
        found = [name for place, name in enumerate(settings["columns"]) if place not in others]
        if len(found) != F:
            raise InputError(
                f"{len(found)} columns besides the label{' and the sequence' * self.sequences}, but the model has {F} "
                "features; give these, perhaps with the label"
            )
        if settings["header"] and names is not None and found != names:
            k = next(k for k in range(F) if found[k] != names[k])
            raise InputError(
                f"the column {found[k]!r} stands where the model has the feature {names[k]!r}; reorder them"
            )
        settings["texts"] = [place in others for place in range(len(settings["columns"]))]


def answered_labels(saved: Any) -> list[Any]:
    """Return the labels that a classifier may predict; a result predicts the numbers 0 .. K-1."""
    if isinstance(saved, Result):
        return list(range(saved.model.n_labels))
    return list(vars(saved).get("_returned", saved.classes_))


def label_texts(saved: Any, where: str) -> list[str]:
    """Return the labels as texts; raise if text files cannot have them."""
    labels = answered_labels(saved)
    texts = [label_text(label) for label in labels]
    for label, text in zip(labels, texts, strict=True):
        if not isinstance(label, str | Real | np.bool_) or not text or NO_TEXT.search(text) or texts.count(text) > 1:
            raise InputError(
                f"{where}: the label {label!r:.60} has no form in text files; read the model by bcfw.load and call its "
                "predict"
            )
    return texts


def label_text(label: Any) -> str:
    """Return a label in the form that it has in files: whole numbers without a decimal point."""
    if is_number(label):
        whole = isinstance(label, Integral) or float(label).is_integer()
        return str(int(label)) if whole else repr(float(label))
    return str(label)


def is_number(label: Any) -> bool:
    return isinstance(label, Real) and not isinstance(label, bool | np.bool_)


def number_or_text(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
