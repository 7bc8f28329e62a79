"""Entries that are hidden by a mask, and labels that are missing: refused with their place, in every form."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.models import BinaryGraph, Chain, Matching, Multiclass, Multilabel, PictorialTree, Tree
from small_data import X2, Y2

NUMBERS = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.5]])
LABELS = [0, 1, 0, 1]
EDGES = [[0, 1]]
GRAPH = (NUMBERS[:2], EDGES, np.ones((1, 1)))


def hidden(values, *place):
    """An array with one entry masked."""
    array = np.ma.array(values)
    array[place] = np.ma.masked
    return array


def train(model, X, y, **options):
    return bcfw.train(model, X, y, tol=1.0, **options)


MASKED = {
    "X": (lambda: train(Multiclass(), hidden(NUMBERS, 2, 1), LABELS), r"X has a masked entry at \[2, 1\]"),
    "rows of X": (lambda: train(Multiclass(), [*NUMBERS[:3], hidden(NUMBERS[3], 1)], LABELS), r"at \[3, 1\]"),
    "one number of X": (lambda: train(Multiclass(), [[0.0], [np.ma.masked]], [0, 1]), r"at \[1, 0\]"),
    "y": (lambda: train(Multiclass(), NUMBERS, hidden(LABELS, 1)), "example 1 has a masked label"),
    "sequence": (lambda: train(Chain(), [NUMBERS, hidden(NUMBERS, 1, 0)], [LABELS] * 2), r"example 1: X .*\[1, 0\]"),
    "rows of a sequence": (lambda: train(Chain(), [[*NUMBERS[:3], hidden(NUMBERS[3], 0)]], [LABELS]), r"\[3, 0\]"),
    "labels": (lambda: train(Chain(), [NUMBERS] * 2, [LABELS, hidden(LABELS, 3)]), r"example 1: y .* \[3\]"),
    "stacked": (lambda: bcfw.Sequences(hidden(NUMBERS, 0, 0), [0, 4]), r"rows has a masked entry at \[0, 0\]"),
    "listed": (lambda: bcfw.Sequences.from_list([NUMBERS, hidden(NUMBERS, 0, 0)]), "sequence 1 has a masked entry"),
    "nodes": (lambda: train(BinaryGraph(), [(hidden(NUMBERS[:2], 1, 1), *GRAPH[1:])], [[0, 1]]), "example 0: .*masked"),
    "edges": (lambda: train(BinaryGraph(), [(NUMBERS[:2], hidden(EDGES, 0, 1), None)], [[0, 1]]), "edges .* masked"),
    "edge features": (lambda: train(BinaryGraph(), [(*GRAPH[:2], hidden([[1.0]], 0, 0))], [[0, 1]]), "edge_f.* masked"),
    "node labels": (lambda: train(Tree(), [GRAPH], [hidden([0, 1], 1)]), "example 0: y has a masked entry"),
    "links": (lambda: train(Matching(), [np.ones((2, 2, 1))], [hidden(np.eye(2), 1, 1)]), "example 0: y has a masked"),
    "label sets": (lambda: train(Multilabel(), NUMBERS, hidden(np.eye(4), 1, 1)), r"y has a masked entry at \[1, 1\]"),
    "scores": (
        lambda: train(PictorialTree([[0, 1]]), [(hidden(np.ones((2, 3, 3)), 1, 2, 2), 1.0)], [np.zeros((2, 2), int)]),
        r"scores has a masked entry at \[1, 2, 2\]",
    ),
    "sample weights": (
        lambda: train(Multiclass(), NUMBERS, LABELS, sample_weight=hidden(np.ones(4), 2)),
        r"sample_weight has a masked entry at \[2\]",
    ),
    "points": (lambda: bcfw.MulticlassSVM().fit(hidden(NUMBERS, 2, 1), LABELS), r"X has a masked entry at \[2, 1\]"),
    "classes": (lambda: bcfw.MulticlassSVM().fit(NUMBERS, hidden(LABELS, 3)), r"y has a masked entry at \[3\]"),
    "indicators": (lambda: bcfw.MultilabelSVM().fit(NUMBERS, hidden(np.eye(4), 0, 3)), r"masked entry at \[0, 3\]"),
    "words": (lambda: bcfw.ChainSVM().fit([NUMBERS], [hidden(list("abab"), 2)]), r"example 0: y has a masked entry"),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_entries_are_refused(name):
    call, message = MASKED[name]
    with pytest.raises((InputError, OptionError), match=f"{message}.*fill in or leave out what is missing"):
        call()


def test_predictions_and_other_arguments_refuse_masks():
    svm = bcfw.MulticlassSVM(tol=1.0).fit(NUMBERS, LABELS)
    for call in (svm.predict, svm.decision_function, svm.result_.predict):
        with pytest.raises(InputError, match=r"X has a masked entry at \[2, 1\]"):
            call(hidden(NUMBERS, 2, 1))
    with pytest.raises(InputError, match=r"y has a masked entry at \[3\]"):
        svm.score(NUMBERS, hidden(LABELS, 3))
    with pytest.raises(OptionError, match=r"cost has a masked entry at \[0, 1\]"):
        train(Multiclass(2, cost=hidden(1.0 - np.eye(2), 0, 1)), NUMBERS, LABELS)
    with pytest.raises(OptionError, match=r"lower has a masked entry at \[0\]"):
        train(Multiclass(), NUMBERS, LABELS, bounds=(hidden(np.zeros(4), 0), None))


class Masked(bcfw.Model):
    """Its features hide a number."""

    def features(self, x, y):
        return hidden(x, 0) * (2 * y - 1)

    def loss(self, y_true, y):
        return float(y != y_true)

    def oracle(self, w, x, y_true=None):
        return max((0, 1), key=lambda y: w @ np.ma.filled(self.features(x, y), 0.0) + (y_true not in (None, y)))


def test_features_of_an_own_model_are_not_masked():
    with pytest.raises(bcfw.ModelError, match=r"features\(x, y\) has a masked entry"):
        bcfw.check_model(Masked(), NUMBERS, LABELS)


def test_a_mask_that_hides_nothing_is_harmless():
    whole = np.ma.array(X2, mask=np.zeros(np.shape(X2), bool))
    plain, masked = (train(Multiclass(), X, y) for X, y in ((X2, Y2), (whole, np.ma.array(Y2))))
    assert np.array_equal(plain.w, masked.w)
    svm = bcfw.MulticlassSVM(tol=1.0).fit(whole, np.ma.array(Y2))
    assert np.array_equal(svm.predict(whole), bcfw.MulticlassSVM(tol=1.0).fit(X2, Y2).predict(X2))


# --- labels that are missing


MISSING = {"None": None, "NaN": float("nan"), "numpy NaN": np.float64("nan"), "NaT": np.datetime64("NaT")}


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("values", [("a", "b", "a"), (0, 1, 0)], ids=["texts", "numbers"])
def test_missing_labels_name_the_example(values, missing):
    shown = missing.removeprefix("numpy ")
    y = [*values[:2], MISSING[missing], *values[2:]]
    require_refused(y, shown)
    require_refused(np.array(y, dtype=object), shown)
    if missing == "NaN":
        require_refused(np.array([0.0, 1.0, np.nan, 0.0]), "NaN")
    if missing == "NaT":
        with pytest.raises(InputError, match="example 2: a label is NaT"):
            bcfw.MulticlassSVM().fit(NUMBERS, np.array(["2020-01-01", "2020-01-02", "NaT", "2020-01-01"], "M8[D]"))


def require_refused(y, shown):
    """The third label is missing, wherever labels are read."""
    match = f"{{}}: a label is {shown}, which means missing; give it, or leave the example out"
    with pytest.raises(InputError, match=match.format("example 2")):
        bcfw.MulticlassSVM().fit(NUMBERS, y)
    with pytest.raises(InputError, match=match.format("example 2")):
        bcfw.MultilabelSVM().fit(NUMBERS, y)
    with pytest.raises(InputError, match=match.format("example 1")):
        bcfw.ChainSVM().fit([NUMBERS, NUMBERS], [["a", "b", "a", "b"], y])
    with pytest.raises(InputError, match=match.format("sequence 0 of y_true")):
        bcfw.metrics.flat_accuracy([y], [list("abab")])
    if shown != "None":  # which is a node without a label
        with pytest.raises(InputError, match=match.format("example 0")):
            bcfw.TreeSVM().fit([(NUMBERS, [[0, 1], [1, 2], [2, 3]], None)], [y])


def test_stacked_labels_of_mixed_types_stay_what_they_are():
    assert bcfw.Sequences(["a", 1, "b", "a"], [0, 4])[0].tolist() == ["a", 1, "b", "a"]
    assert bcfw.Sequences.from_list([["a", "b"], ["a", 1]])[1].tolist() == ["a", 1]
    with pytest.raises(
        InputError, match="Sequences: rows must be an array: one label, or one row of features, in each"
    ):
        bcfw.Sequences(["a", 1, ("b", 2), "a"], [0, 4])
    for missing, shown in ((None, "None"), (float("nan"), "NaN")):
        with pytest.raises(InputError, match=f"example 0: a label is {shown}"):
            bcfw.ChainSVM().fit([NUMBERS], bcfw.Sequences(["a", missing, "b", "a"], [0, 4]))


def test_a_masked_entry_in_an_array_of_objects_is_missing():
    with pytest.raises(InputError, match="example 1: a label is --, which means missing"):
        bcfw.MulticlassSVM().fit(NUMBERS, np.array(["a", np.ma.masked, "b", "a"], dtype=object))


def test_missing_labels_are_refused_in_scores():
    svm = bcfw.MulticlassSVM(tol=1.0, unseen="wrong").fit(NUMBERS, ["a", "b", "a", "b"])
    with pytest.raises(InputError, match="example 1: a label is None"):
        svm.score(NUMBERS, ["a", None, "a", "b"])


def test_missing_labels_of_pandas():
    pandas = pytest.importorskip("pandas")
    texts = ["a", "b", None, "a"]
    require_refused(pandas.Series(texts, dtype=object), "None")
    require_refused(pandas.Series(texts, dtype="string"), "<NA>")
    require_refused(pandas.Series([0, 1, None, 0], dtype="Int64"), "NaN")
    require_refused(pandas.Series([0, 1, None, 0]), "NaN")
    require_refused(pandas.Series(texts, dtype="category"), "NaN")
    require_refused(["a", "b", pandas.NA, "a"], "<NA>")
    require_refused(["a", "b", pandas.NaT, "a"], "NaT")


def test_missing_labels_of_polars():
    polars = pytest.importorskip("polars")
    require_refused(polars.Series(["a", "b", None, "a"]), "None")
    require_refused(polars.Series([0, 1, None, 0]), "NaN")
    require_refused(polars.Series(["a", "b", None, "a"], dtype=polars.Categorical), "None")
    require_refused(polars.Series([True, False, None, True]), "None")
