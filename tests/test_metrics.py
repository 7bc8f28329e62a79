"""Measures of label sequences, against plain loops, scikit-learn, conlleval's rules and seqeval."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, classification_report, log_loss, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score

import bcfw
from bcfw import metrics
from bcfw.datasets import conll2000, fetch_conll2000
from bcfw.errors import InputError, OptionError

SCORES = ("precision", "recall", "f1")


def random_labels(rng, labels, n=40):
    return [[labels[k] for k in rng.integers(len(labels), size=rng.integers(1, 12))] for _ in range(n)]


def disturbed(rng, y, labels, share=0.3):
    """The same sequences with some labels drawn anew."""
    return [[labels[rng.integers(len(labels))] if rng.random() < share else label for label in one] for one in y]


def span_labels(prefixes, types=("NP", "VP", "A-B")):
    return ["O", *(f"{prefix}-{kind}" for prefix in prefixes for kind in types), "B", "I"]


def conlleval_spans(labels):
    """Spans of one sequence by the two tables of the script conlleval: which pairs of tags end and begin a chunk.

    The script's tables know B, I, O and E; S begins and ends a chunk, and E ends one, as in its later forms.
    """
    ends = {"BB", "BO", "IB", "IO", "BS", "IS", *("E" + tag for tag in "BIOES"), *("S" + tag for tag in "BIOES")}
    begins = {"BB", "IB", "OB", "OI", "OE", "EB", "EE", "EI", "SB", "SE", "SI", *(tag + "S" for tag in "BIOES")}
    found, start, before, type_before = [], None, "O", ""
    for t, label in enumerate([*labels, "O"]):
        tag, kind = label[0], label[2:]
        if start is not None and (before + tag in ends or (before != "O" and kind != type_before)):
            found.append((type_before or "_", start, t))
            start = None
        if before + tag in begins or (tag != "O" and kind != type_before):
            start = t
        before, type_before = tag, kind
    return found


def conlleval(y_true, y_pred):
    """Precision, recall and F1 over all types."""
    truth, guess = ({(i, *span) for i, one in enumerate(y) for span in conlleval_spans(one)} for y in (y_true, y_pred))
    right = len(truth & guess)
    return right / max(len(guess), 1), right / max(len(truth), 1), 2 * right / max(len(guess) + len(truth), 1)


def seqeval_scores(y_true, y_pred, average, scheme=None):
    measures = pytest.importorskip("seqeval.metrics", reason="seqeval, in the extra 'test', is not installed")
    from seqeval import scheme as schemes

    options = {} if scheme is None else {"mode": "strict", "scheme": getattr(schemes, scheme)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = ("precision_score", "recall_score", "f1_score")
        return [getattr(measures, name)(y_true, y_pred, average=average, **options) for name in names]


# --- by position, sequence and label -----------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [["a", "b", "c"], [3, 1, 7], [("a", 1), ("b", 2), ("a", 2)]], ids=str)
def test_accuracies_are_those_of_plain_loops(labels):
    rng = np.random.default_rng(0)
    y_true = random_labels(rng, labels)
    y_pred = disturbed(rng, y_true, labels, 0.1)
    right = [[a == b for a, b in zip(*pair, strict=True)] for pair in zip(y_true, y_pred, strict=True)]
    weight = rng.random(len(y_true))
    assert metrics.flat_accuracy(y_true, y_pred) == pytest.approx(np.mean([one for row in right for one in row]))
    assert metrics.sequence_accuracy(y_true, y_pred) == pytest.approx(np.mean([all(row) for row in right]))
    heavy = sum(s * sum(row) for s, row in zip(weight, right, strict=True))
    total = sum(s * len(row) for s, row in zip(weight, right, strict=True))
    assert metrics.flat_accuracy(y_true, y_pred, sample_weight=weight) == pytest.approx(heavy / total)
    exact = weight @ [all(row) for row in right] / weight.sum()
    assert metrics.sequence_accuracy(y_true, y_pred, sample_weight=weight) == pytest.approx(exact)


def test_label_report_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    y_true = random_labels(rng, ["a", "b", "c"])
    y_pred = disturbed(rng, y_true, ["b", "c", "d"])
    report = metrics.label_report(y_true, y_pred)
    flat = [[label for one in y for label in one] for y in (y_true, y_pred)]
    expected = classification_report(*flat, output_dict=True, zero_division=0)
    for label, row in report.as_dict().items():
        assert list(row.values()) == pytest.approx(list(expected[label].values()))
    for average in ("macro", "weighted"):
        assert list(report.average(average).values()) == pytest.approx(list(expected[f"{average} avg"].values()))
        assert metrics.label_f1(y_true, y_pred, average=average) == report.average(average)["f1"]
    assert report.average("micro")["f1"] == pytest.approx(accuracy_score(*flat))
    assert report.labels == ["a", "b", "c", "d"]
    assert [line.split()[0] for line in str(report).splitlines()[1:]] == [*"abcd", "(micro)", "(macro)", "(weighted)"]
    some = metrics.label_report(y_true, y_pred, labels=["d", "a", "never"])
    assert some.support.tolist() == [0, report.support[0], 0]
    assert some.f1[2] == 0.0


def test_sequences_and_arrays_measure_like_lists():
    rng = np.random.default_rng(2)
    y_true = random_labels(rng, span_labels("BI"))
    y_pred = disturbed(rng, y_true, span_labels("BI"))
    forms = [lambda y: [np.array(one) for one in y], lambda y: bcfw.Sequences.from_list(y)]
    for name in ("flat_accuracy", "sequence_accuracy", "label_f1", "span_f1"):
        measure = getattr(metrics, name)
        for form in forms:
            assert measure(form(y_true), form(y_pred)) == measure(y_true, form(y_pred)) == measure(y_true, y_pred)


def test_labels_of_different_kinds_are_never_equal():
    assert metrics.flat_accuracy([[1, 2]], [["1", "2"]]) == 0.0


# --- by span -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefixes", ["BI", "I", "BIES", "BIE"])
def test_spans_follow_conlleval_and_seqeval_on_any_labels(prefixes):
    """Most of these sequences are invalid: I without B, E without B, types that change within a span."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        labels = span_labels(prefixes)
        y_true = random_labels(rng, labels)
        y_pred = disturbed(rng, y_true, labels)
        found = [getattr(metrics, f"span_{name}")(y_true, y_pred) for name in SCORES]
        assert found == pytest.approx(conlleval(y_true, y_pred), abs=1e-12)
        for average in ("micro", "macro", "weighted"):
            values = [getattr(metrics, f"span_{name}")(y_true, y_pred, average=average) for name in SCORES]
            assert values == pytest.approx(seqeval_scores(y_true, y_pred, average), abs=1e-12)


@pytest.mark.parametrize(("scheme", "prefixes"), [("IOB2", "BI"), ("IOBES", "BIES")])
def test_strict_schemes_are_those_of_seqeval(scheme, prefixes):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        labels = span_labels(prefixes)
        y_true = random_labels(rng, labels)
        y_pred = disturbed(rng, y_true, labels)
        for average in ("micro", "macro", "weighted"):
            values = [metrics.span_report(y_true, y_pred, scheme=scheme).average(average)[name] for name in SCORES]
            assert values == pytest.approx(seqeval_scores(y_true, y_pred, average, scheme), abs=1e-12)


def test_other_names_of_prefixes():
    assert metrics.span_f1([["B-X", "L-X", "U-X", "B-X", "M-X"]], [["B-X", "E-X", "S-X", "B-X", "I-X"]]) == 1.0


def test_no_spans_and_one_position():
    assert metrics.span_f1([["O"]], [["O"]]) == 0.0
    assert metrics.span_f1([["I-X"]], [["S-X"]]) == 1.0
    assert metrics.span_report([["O"]], [["B-X"]]).as_dict() == {
        "X": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0}
    }


def test_spans_of_real_predictions(real_data):
    """Chunks of CoNLL-2000 with few training sentences, whose predictions also hold I- without B-."""
    real_data(conll2000.SOURCE)
    chunks = fetch_conll2000()
    names = np.array(chunks.target_names)
    y_train, y_test = ([names[one] for one in y] for y in (chunks.y_train[:300], chunks.y_test[:500]))
    svm = bcfw.ChainSVM(tol=0.2).fit(chunks.X_train[:300], y_train)
    y_pred = [one.tolist() for one in svm.predict(chunks.X_test[:500])]
    y_true = [one.tolist() for one in y_test]
    strays = sum(b[0] == "I" and a[2:] != b[2:] for one in y_pred for a, b in zip(["O", *one], one, strict=False))
    assert strays > 0
    found = [getattr(metrics, f"span_{name}")(y_true, y_pred) for name in SCORES]
    assert found == pytest.approx(conlleval(y_true, y_pred), abs=1e-12)
    assert found == pytest.approx(seqeval_scores(y_true, y_pred, "micro"), abs=1e-12)
    strict = [metrics.span_report(y_true, y_pred, scheme="IOB2").average()[name] for name in SCORES]
    assert strict == pytest.approx(seqeval_scores(y_true, y_pred, "micro", "IOB2"), abs=1e-12)
    assert 0.8 < strict[2] < 0.95
    assert strict[2] != found[2]


# --- scorers and errors ------------------------------------------------------------------------------------------


def test_scorers_in_searches():
    rng = np.random.default_rng(3)
    labels = np.array(["O", "B-X", "I-X"])
    codes = [rng.integers(3, size=rng.integers(2, 7)) for _ in range(24)]
    X, y = [np.eye(3)[c] + 0.3 * rng.standard_normal((len(c), 3)) for c in codes], [labels[c].tolist() for c in codes]
    svm = bcfw.ChainSVM(tol=0.05)
    for scoring in (metrics.span_f1_scorer, make_scorer(metrics.span_f1), make_scorer(metrics.span_f1, scheme="IOB2")):
        search = GridSearchCV(svm, {"lam": [0.01, 100.0]}, scoring=scoring, cv=3, error_score="raise").fit(X, y)
        assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
        assert search.score(X, y) > 0.8
    for scorer in (metrics.flat_accuracy_scorer, metrics.sequence_accuracy_scorer, metrics.label_f1_scorer):
        assert np.all(cross_val_score(svm, X, y, scoring=scorer, cv=3) > 0.3)
    scores = cross_val_score(svm, X, y, scoring=metrics.flat_accuracy_scorer, cv=3)
    assert scores == pytest.approx(cross_val_score(svm, X, y, cv=3))


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([["O"]], [["O"], ["O"]], "y_true has 1 sequences and y_pred 2"),
        ([["O"], ["O", "O"]], [["O"], ["O"]], "sequence 1 has 2 labels in y_true and 1 in y_pred"),
        ([], [], "y_true has no labels"),
        ([["NP"]], [["O"]], "'NP' is no label of a span"),
        ([[0, 1]], [[0, 1]], "0 is no label of a span"),
        ([["BNP"]], [["O"]], "'BNP' is no label of a span"),
        ([["O"]], [["S-X"]], "'S-X' is no label of a span .scheme 'IOB2'.: use O, B-..., I-..."),
        ([[{"a"}]], [["O"]], "sequence 0 of y_true: the label {'a'} is not hashable"),
        (["O", 3], [["O"]], "example 1: y_true must be a sequence of labels"),
        (None, [["O"]], "y_true"),
        (bcfw.Sequences(np.eye(2), [0, 2]), [["O", "O"]], "y_true must have one label per position"),
    ],
)
def test_wrong_labels(y_true, y_pred, message):
    with pytest.raises(InputError, match=message):
        metrics.span_f1(y_true, y_pred, scheme="IOB2")


def test_wrong_options():
    with pytest.raises(OptionError, match="scheme must be"):
        metrics.span_f1([["O"]], [["O"]], scheme="iob")
    with pytest.raises(OptionError, match="average must be"):
        metrics.label_f1([["O"]], [["O"]], average="mean")


def random_tables(rng, K=4, n=30):
    """Probabilities and labels of some sequences; labels follow the probabilities."""
    tables = [rng.dirichlet(np.ones(K), size=rng.integers(1, 9)) for _ in range(n)]
    return tables, [["abcd"[rng.choice(K, p=row)] for row in table] for table in tables]


def test_log_likelihood_is_minus_log_loss():
    rng = np.random.default_rng(0)
    tables, y = random_tables(rng)
    labels = list("abcd")
    P, flat, weight = np.vstack(tables), np.concatenate(y), rng.uniform(size=len(y))
    expected = -log_loss(flat, P, labels=labels)
    assert metrics.sequence_log_likelihood(y, tables, labels) == pytest.approx(expected)
    assert metrics.sequence_log_likelihood(flat, P, labels) == pytest.approx(expected)
    spread = np.repeat(weight, [len(one) for one in y])
    expected = -log_loss(flat, P, labels=labels, sample_weight=spread)
    assert metrics.sequence_log_likelihood(y, tables, labels, sample_weight=weight) == pytest.approx(expected)
    impossible = metrics.sequence_log_likelihood([["a"], ["new"]], [np.eye(4)[:1]] * 2, labels)
    assert impossible == pytest.approx(np.log(np.finfo(float).eps) / 2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_calibration_error_is_a_loop_over_bins(strategy, weighted):
    rng = np.random.default_rng(1)
    tables, y = random_tables(rng, n=60)
    weight = rng.uniform(size=len(y)) if weighted else np.ones(len(y))
    P, flat = np.vstack(tables), np.concatenate(y)
    spread = np.repeat(weight, [len(one) for one in y])
    confidence, right = P.max(axis=1), np.array(list("abcd"))[P.argmax(axis=1)] == flat
    ends = np.linspace(0, 1, 8) if strategy == "uniform" else np.quantile(confidence, np.linspace(0, 1, 8))
    expected = 0.0
    for b in range(7):
        inside = (confidence > ends[b]) & (confidence <= ends[b + 1]) | ((b == 0) & (confidence == ends[0]))
        if inside.any():
            gap = np.average(confidence[inside] - right[inside], weights=spread[inside])
            expected += spread[inside].sum() / spread.sum() * abs(gap)
    options = {"bins": 7, "strategy": strategy, "sample_weight": weight if weighted else None}
    assert metrics.calibration_error(y, tables, list("abcd"), **options) == pytest.approx(expected)


def test_probabilities_that_are_right_have_a_small_error_and_sure_ones_a_large():
    tables, y = random_tables(np.random.default_rng(2), n=4000)
    assert metrics.calibration_error(y, tables, list("abcd")) < 0.02
    sharp = [table**4 / (table**4).sum(axis=1, keepdims=True) for table in tables]
    assert metrics.calibration_error(y, sharp, list("abcd")) > 0.2
    assert metrics.calibration_error(y, [np.eye(4)[[ord(c) - 97 for c in one]] for one in y], list("abcd")) == 0.0


def test_wrong_probabilities():
    P = np.full((2, 2), 0.5)
    for measure in (metrics.sequence_log_likelihood, metrics.calibration_error):
        name = measure.__name__
        with pytest.raises(InputError, match=rf"{name}: y_proba 1 has shape \(2, 2\); it needs 3 columns"):
            measure([["a"], ["b", "c"]], [np.ones((1, 3)) / 3, P], list("abc"))
        with pytest.raises(InputError, match=f"{name}: y_true and y_proba have different lengths"):
            measure([["a"]], [P], ["a", "b"])
        with pytest.raises(InputError, match=f"{name}: y_true and y_proba have different lengths"):
            measure(["a"], P, ["a", "b"])
        with pytest.raises(InputError, match="no labels"):
            measure([], [], ["a", "b"])
    with pytest.raises(OptionError, match="strategy must be 'uniform' or 'quantile'"):
        metrics.calibration_error(["a", "b"], P, ["a", "b"], strategy="equal")
    with pytest.raises(OptionError, match="bins must be"):
        metrics.calibration_error(["a", "b"], P, ["a", "b"], bins=0)
