"""Attributes by name in estimators: the same as matrices; encodings of spans; the largest weights by name."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

import bcfw
from bcfw import AttributeVectorizer, ChainSVM
from bcfw.errors import InputError, InputWarning, OptionError
from bcfw.metrics import flat_accuracy, span_report

NAMES = [f"{letter}{number}" for letter in "abc" for number in range(4)]


def random_positions(rng, lengths):
    """Positions as lists of (name, weight) without repeats."""
    return [
        [
            [(NAMES[j], float(rng.integers(1, 4))) for j in rng.permutation(len(NAMES))[: rng.integers(4)]]
            for _ in range(T)
        ]
        for T in lengths
    ]


FORMS = {
    "pairs": lambda position, t: position,
    "dicts": lambda position, t: dict(position),
    "tuples": lambda position, t: tuple(position),
    "mixture": lambda position, t: [dict, list, tuple][t % 3](position),
}


@pytest.fixture(scope="module")
def labelled():
    """Sequences of pairs, the same as CSR matrices with columns in the order of first appearance, labels, names."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 7, size=40)
    X = random_positions(rng, lengths)
    names = list(dict.fromkeys(name for x in X for position in x for name, _ in position))
    rows = [dense(x, names) for x in X]
    U = rng.standard_normal((len(names), 3))
    return X, [sp.csr_array(one) for one in rows], [["PQR"[k] for k in (one @ U).argmax(axis=1)] for one in rows], names


def dense(x, names):
    """(T, F) matrix of positions with pairs, by a plain loop; other names are left out."""
    rows = np.zeros((len(x), len(names)))
    for t, position in enumerate(x):
        for name, weight in position:
            if name in names:
                rows[t, names.index(name)] += weight
    return rows


def in_form(X, form):
    return [[FORMS[form](position, t) for t, position in enumerate(x)] for x in X]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"end_bias": False, "normalize": False}], ids=str)
def test_attributes_give_the_weights_of_the_same_matrices(labelled, form, options):
    X, rows, y, names = labelled
    by_name = ChainSVM(lam=0.1, **options).fit(in_form(X, form), y)
    by_number = ChainSVM(lam=0.1, **options).fit(rows, y)
    assert np.array_equal(by_name.result_.w, by_number.result_.w)
    assert by_name.duality_gap_ == by_number.duality_gap_
    assert by_name.vectorizer_.get_feature_names_out().tolist() == names
    new = random_positions(np.random.default_rng(1), [1, 5, 3, 8])
    seen = [sp.csr_array(dense(x, names)) for x in new]
    predicted = by_name.predict(in_form(new, form))
    assert [one.tolist() for one in predicted] == [one.tolist() for one in by_number.predict(seen)]
    for mine, others in zip(
        by_name.decision_function(in_form(new, form)), by_number.decision_function(seen), strict=True
    ):
        assert np.allclose(mine, others, rtol=0.0, atol=1e-12)
    assert by_name.score(in_form(X, form), y) == by_number.score(rows, y) == flat_accuracy(y, by_name.predict(X))


def test_names_without_weights_and_strings_in_dicts(labelled):
    """["word:a0"] is {"word": "a0"} is {"word": ["a0"]} is a weight of one."""
    X, _, y, _ = labelled
    lists = [[[f"word:{name}" for name, _ in position] for position in x] for x in X]
    dicts = [[{"word": [name for name, _ in position]} for position in x] for x in X]
    nested = [[{"word": {name: True for name, _ in position} | {"never": False}} for position in x] for x in X]
    fitted = [ChainSVM(lam=0.1).fit(form, y) for form in (lists, dicts, nested)]
    for one, other in itertools.pairwise(fitted):
        assert np.array_equal(one.result_.w, other.result_.w)
        assert [a.tolist() for a in one.predict(nested)] == [b.tolist() for b in other.predict(lists)]
    names = fitted[0].vectorizer_.vocabulary_.names
    rows = [np.array([[float(name in position) for name in names] for position in x]) for x in lists]
    assert np.array_equal(ChainSVM(lam=0.1).fit([sp.csr_array(one) for one in rows], y).result_.w, fitted[0].result_.w)


def test_repeated_attributes_are_added_up():
    rows = AttributeVectorizer().fit_transform([[["a", ("a", 2.0), "b", "a"], [("b", 0.5)]]])
    assert isinstance(rows, bcfw.Sequences)
    assert rows.rows.toarray().tolist() == [[4.0, 1.0], [0.0, 0.5]]


@pytest.mark.parametrize("min_count", [1, 2, 3, 8])
def test_rare_attributes_are_left_out(labelled, min_count):
    X, _, y, names = labelled
    flat = [name for x in X for position in x for name, _ in position]
    extra = [[*x, [("rare", 1.0)] * (i < 2)] for i, x in enumerate(X)]
    kept = [name for name in [*names, "rare"] if [*flat, "rare", "rare"].count(name) >= min_count]
    vectorizer = AttributeVectorizer(min_count=min_count)
    found = vectorizer.fit_transform(extra)
    assert sorted(vectorizer.vocabulary_.names) == sorted(kept)
    order = vectorizer.vocabulary_.names
    for x, one, again in zip(extra, found, vectorizer.transform(extra), strict=True):
        assert np.array_equal(one.toarray(), dense(x, order))
        assert np.array_equal(again.toarray(), dense(x, order))
    svm = ChainSVM(lam=0.1, vectorizer=vectorizer).fit(extra, [[*one, "P"] for one in y])
    assert svm.vectorizer_ is not vectorizer
    assert svm.n_features_in_ == svm.coef_.shape[1] == len(kept)


@pytest.mark.parametrize("n_hashed", [1, 5, 4096])
def test_hashed_attributes_share_columns(labelled, n_hashed):
    X, _, y, names = labelled
    vectorizer = AttributeVectorizer(n_hashed=n_hashed).fit(X)
    columns = vectorizer.vocabulary_.columns(names)
    expected = [dense(x, names) @ np.eye(n_hashed)[columns] for x in X]
    assert all(np.array_equal(a.toarray(), b) for a, b in zip(vectorizer.transform(X), expected, strict=True))
    svm = ChainSVM(lam=0.1, vectorizer=AttributeVectorizer(n_hashed=n_hashed)).fit(X, y)
    other = ChainSVM(lam=0.1).fit([sp.csr_array(one) for one in expected], y)
    assert np.allclose(svm.result_.w, other.result_.w, rtol=0.0, atol=1e-12)
    assert [a.tolist() for a in svm.predict(X)] == [b.tolist() for b in other.predict(expected)]


def test_attributes_that_training_has_not_seen_count_for_nothing(labelled):
    X, _, y, _ = labelled
    svm = ChainSVM(lam=0.1).fit(X, y)
    more = [[[("new", 9.0), *position, ("other", -3.0)] for position in x] for x in X]
    assert [a.tolist() for a in svm.predict(more)] == [b.tolist() for b in svm.predict(X)]
    assert svm.score(more, y) == svm.score(X, y)
    for a, b in zip(svm.decision_function(more), svm.decision_function(X), strict=True):
        assert np.array_equal(a, b)
    nothing = [a.tolist() for a in svm.predict([[[], []]])]
    assert nothing == [a.tolist() for a in svm.predict([[{}, {"new": 1.0}]])]
    assert nothing == [a.tolist() for a in svm.predict([[["new"], ["other"]]])]


def test_attributes_under_a_kernel(labelled):
    X, rows, y, _ = labelled
    by_name = ChainSVM(lam=0.1, kernel="rbf", gamma=0.1, tol=0.05).fit(X, y)
    by_number = ChainSVM(lam=0.1, kernel="rbf", gamma=0.1, tol=0.05).fit(rows, y)
    assert np.array_equal(by_name.dual_coef_, by_number.dual_coef_)
    assert [a.tolist() for a in by_name.predict(X)] == [b.tolist() for b in by_number.predict(rows)]
    with pytest.raises(AttributeError, match="coef_ is only available with explicit features"):
        by_name.top_features()


def test_numbers_and_names_are_not_mixed_up(labelled):
    X, rows, y, _ = labelled
    by_name, by_number = ChainSVM(lam=0.1).fit(X, y), ChainSVM(lam=0.1).fit(rows, y)
    for method in ("predict", "decision_function"):
        with pytest.raises(InputError, match="X has features in matrices; in fit it had attributes by name"):
            getattr(by_name, method)(rows)
        with pytest.raises(InputError, match="X has attributes by name; in fit it had features in matrices"):
            getattr(by_number, method)(X)
    with pytest.raises(InputError, match="X has features in matrices"):
        by_name.predict(bcfw.Sequences.from_list(rows))
    with pytest.raises(InputError, match="X has features in matrices"):
        by_name.predict([[[1.0, 2.0]]])
    with pytest.raises(InputError, match=r"example 1: position 0 is array.*give a dict, or a list"):
        by_name.predict([X[0], np.ones((2, 3))])
    with pytest.raises(InputError, match="example 0: position 0 is 'a', a str; give a dict, or a list"):
        by_name.predict([["a", "b"]])  # words instead of positions
    with pytest.raises(InputError, match="must be a list with one entry per example"):
        by_name.predict(3)
    with pytest.raises(InputError, match="example 0 has no numbers but a str; give each position a list or dict"):
        ChainSVM().fit([["the", "cat"]], [["D", "N"]])
    assert ChainSVM(lam=0.1).fit(rows, y).fit(X, y).score(X, y) == by_name.score(X, y)  # a new fit may change its mind


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vectorizer": "hash"}, OptionError, "vectorizer must be an AttributeVectorizer or None, got 'hash'"),
        ({"vectorizer": AttributeVectorizer}, OptionError, "vectorizer must be an AttributeVectorizer or None"),
        ({"vectorizer": AttributeVectorizer(min_count=0)}, OptionError, "min_count must be a whole number >= 1, got 0"),
        ({"vectorizer": AttributeVectorizer(n_hashed=0)}, OptionError, "n_hashed must be a whole number >= 1"),
        ({"vectorizer": AttributeVectorizer(2, 8)}, InputError, "min_count does not go with n_hashed"),
        ({"vectorizer": AttributeVectorizer(10**6)}, InputError, "no attributes; give some, or a smaller min_count"),
        ({"encoding": "IOB2"}, OptionError, "encoding must be None or 'BIO' or 'IOBES', got 'IOB2'"),
        ({"encoding": "BIO", "kernel": "rbf"}, OptionError, "encoding='BIO' does not go with a kernel; leave one out"),
        ({"encoding": "BIO"}, InputError, "has the label 'P', which is none of a span.*leave the option out"),
    ],
)
def test_wrong_options_have_one_clear_error(labelled, options, error, message):
    X, _, y, _ = labelled
    with pytest.raises(error, match=message):
        ChainSVM(**options).fit(X, y)


def test_labels_that_are_no_spans_are_named_with_their_example(labelled):
    X = labelled[0][:2]
    y = [["O"] * len(X[0]), ["O"] * (len(X[1]) - 1) + [3]]
    with pytest.raises(InputError, match="example 1 has the label 3, which is none of a span"):
        ChainSVM(encoding="IOBES").fit(X, y)


def test_vectorizers_without_a_fit_or_data():
    with pytest.raises(NotFittedError):
        AttributeVectorizer().transform([[["a"]]])
    with pytest.raises(InputError, match="X is empty; give at least one sequence"):
        AttributeVectorizer().fit([])
    with pytest.raises(InputError, match="example 0 is a dict; give a list with the attributes of each position"):
        AttributeVectorizer().fit([{"a": 1}])


# Encodings of spans


def spans_of(labels):
    """Spans (type, first, last) of labels in BIO or IOBES by a plain loop; None if they break the rules."""
    found, begin = [], None
    ends = {label[0] for label in labels} & {"E", "S"}
    for t, label in enumerate([*labels, "O"]):
        goes_on = label[0] in "IE" and begin is not None and begin[0] == label[2:]
        if label[0] in "IE" and not goes_on:
            return None
        if begin is not None and not goes_on:
            if ends:
                return None
            found.append((begin[0], begin[1], t - 1))
            begin = None
        if label[0] == "B":
            begin = (label[2:], t)
        elif label[0] in "SE":
            found.append((label[2:], t if label[0] == "S" else begin[1], t))
            begin = None
    return found


def is_valid(labels, encoding):
    """Whether labels obey the rules of an encoding."""
    spans = spans_of(labels)
    if spans is None or encoding == "BIO":
        return spans is not None
    return labels[-1][0] not in "BI" and not any(
        a[0] in "BI" and b[0] not in "IE" for a, b in itertools.pairwise(labels)
    )


@pytest.fixture(scope="module")
def spans():
    """Random sequences whose labels are random spans of two types, in BIO."""
    rng = np.random.default_rng(3)
    lengths = [5] * 60
    X = random_positions(rng, lengths)
    y = []
    for T in lengths:
        labels = []
        while len(labels) < T:
            kind, length = "XY"[rng.integers(2)], int(rng.integers(1, 4))
            labels += ["O"] if rng.random() < 0.3 else [f"B-{kind}", *[f"I-{kind}"] * (length - 1)]
        y.append(labels[:T])
    return X, y


def with_random_weights(svm, rng):
    """The same estimator, of labels that fit the data at random: nothing but the encoding keeps them in order."""
    result = svm.result_
    object.__setattr__(result, "w", rng.standard_normal(len(result.w)))
    svm._set_weights(result)
    return svm


@pytest.mark.parametrize("encoding", ["BIO", "IOBES"])
@pytest.mark.parametrize("form", ["pairs", "matrices"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_predictions_are_the_best_labels_that_obey_the_encoding(spans, encoding, form, fit_intercept):
    X, y = spans
    vectorizer = AttributeVectorizer().fit(X)
    given = X if form == "pairs" else list(vectorizer.transform(X))
    rng = np.random.default_rng(4)
    svm = ChainSVM(lam=0.1, tol=0.1, encoding=encoding, fit_intercept=fit_intercept).fit(given, y)
    svm = with_random_weights(svm, rng)
    labels = svm.classes_.tolist()
    assert {label[0] for label in labels} == set("OBI" if encoding == "BIO" else "OBIES")
    short = [x[: 1 + i % 3] for i, x in enumerate(X[:12])]
    inputs = short if form == "pairs" else list(vectorizer.transform(short))
    predicted, marginals = svm.predict(inputs), svm.decision_function(inputs)
    for x, found, table in zip(vectorizer.transform(short), predicted, marginals, strict=True):
        unary = x.toarray() @ svm.coef_.T + svm.intercept_
        scores = {}
        for codes in itertools.product(range(len(labels)), repeat=len(found)):
            if is_valid([labels[code] for code in codes], encoding):
                steps = sum(svm.transitions_[a, b] for a, b in itertools.pairwise(codes))
                scores[codes] = unary[range(len(codes)), codes].sum() + steps
                scores[codes] += svm.first_[codes[0]] + svm.last_[codes[-1]]
        best = max(scores, key=scores.__getitem__)
        assert is_valid(found.tolist(), "BIO")
        assert spans_of(found.tolist()) == spans_of([labels[code] for code in best])
        assert np.allclose(table.max(axis=1), scores[best])
        assert table.argmax(axis=1).tolist() == list(best)
        for t, k in itertools.product(range(len(found)), range(len(labels))):
            among = [score for codes, score in scores.items() if codes[t] == k]
            assert np.isclose(table[t, k], max(among)) if among else table[t, k] < -1e29


def test_without_an_encoding_random_weights_do_break_the_scheme(spans):
    """The test above could fail."""
    X, y = spans
    svm = with_random_weights(ChainSVM(lam=0.1, tol=0.1).fit(X, y), np.random.default_rng(4))
    assert not all(is_valid(labels.tolist(), "BIO") for labels in svm.predict(X))


def rewritten(y, scheme):
    """Labels in BIO in another scheme, by a plain loop."""
    last, single, inside = {"IOBES": "ESI", "BILOU": "LUI", "BMES": "ESM"}.get(scheme, "III")
    found = []
    for labels in y:
        new = []
        for t, label in enumerate(labels):
            ends = labels[t + 1 : t + 2] != [f"I{label[1:]}"]
            if scheme == "IOB1" and label != "O":
                before = labels[t - 1][2:] if t else ""
                new.append(label if label[0] == "B" and before == label[2:] else f"I{label[1:]}")
            elif scheme == "BIO" or label == "O":
                new.append(label)
            elif label[0] == "B":
                new.append((single if ends else "B") + label[1:])
            else:
                new.append((last if ends else inside) + label[1:])
        found.append(new)
    return found


@pytest.mark.parametrize("encoding", ["BIO", "IOBES"])
@pytest.mark.parametrize("scheme", ["BIO", "IOBES", "BILOU", "BMES", "IOB1"])
def test_labels_come_back_in_the_scheme_in_which_they_are_given(spans, encoding, scheme):
    """The weights do not depend on it, and neither does the score."""
    X, y = spans
    given = rewritten(y, scheme)
    assert span_report(y, given).average()["f1"] == 1.0
    in_bio, svm = (ChainSVM(lam=0.1, encoding=encoding).fit(X, labels) for labels in (y, given))
    assert np.array_equal(in_bio.result_.w, svm.result_.w)
    assert in_bio.classes_.tolist() == svm.classes_.tolist()
    answers = [labels.tolist() for labels in in_bio.predict(X)]
    returned = "BIO" if scheme == "IOB1" else scheme
    assert [labels.tolist() for labels in svm.predict(X)] == rewritten(answers, returned)
    assert svm.score(X, given) == flat_accuracy(rewritten(y, returned), svm.predict(X))
    assert svm.score(X, y) == svm.score(X, given)


def test_score_names_labels_that_training_has_not_seen(spans):
    X, y = spans
    svm = ChainSVM(lam=0.1, encoding="IOBES").fit(X, y)
    changed = next(i for i, labels in enumerate(y) if labels[1][0] != "I")
    other = [["B-Z", *labels[1:]] if i == changed else labels for i, labels in enumerate(y)]
    with pytest.raises(InputError, match=f"example {changed}.*'B-Z'"):
        svm.score(X, other)
    svm.set_params(unseen="wrong")
    assert svm.score(X, other) == flat_accuracy(other, svm.predict(X))
    assert svm.score(X, [["noun"] * len(one) for one in y]) == 0.0


# scikit-learn's ways


def test_pipeline_grid_search_clone_and_pickle(labelled):
    X, _, y, _ = labelled
    inside = ChainSVM(lam=0.1, vectorizer=AttributeVectorizer(min_count=2)).fit(X, y)
    pipe = Pipeline([("vectorizer", AttributeVectorizer(min_count=2)), ("svm", ChainSVM(lam=0.1))]).fit(X, y)
    assert np.array_equal(pipe[-1].result_.w, inside.result_.w)
    assert [a.tolist() for a in pipe.predict(X)] == [b.tolist() for b in inside.predict(X)]
    assert pipe.score(X, y) == inside.score(X, y)
    for estimator, grid in (
        (inside, {"lam": [0.01, 0.3], "vectorizer__min_count": [1, 10]}),
        (pipe, {"svm__lam": [0.01, 0.3], "vectorizer__min_count": [1, 10]}),
    ):
        search = GridSearchCV(clone(estimator), grid, cv=2, error_score="raise").fit(X, y)
        assert len(set(search.cv_results_["mean_test_score"])) > 1
        again = pickle.loads(pickle.dumps(search.best_estimator_))
        assert [a.tolist() for a in again.predict(X)] == [b.tolist() for b in search.predict(X)]
    copy = clone(inside)
    assert copy.vectorizer is not inside.vectorizer
    assert copy.vectorizer.min_count == 2
    assert not hasattr(copy.vectorizer, "vocabulary_")


def test_estimators_that_choose_lam_take_attributes(labelled):
    X, _, y, names = labelled
    svm = bcfw.ChainSVMCV(cv=2, eps=0.3, tol=0.1).fit(X, y)
    assert svm.vectorizer_.vocabulary_.names == names
    assert svm.score(X, y) > 0.5


def test_probabilities_of_attributes_and_encodings(spans):
    X, y = spans
    svm = ChainSVM(lam=0.1, tol=0.1, encoding="IOBES", probability=True, probability_folds=2).fit(X, y)
    table = svm.predict_proba(X)[0]
    assert table.shape == (len(X[0]), len(svm.classes_))
    assert np.allclose(table.sum(axis=1), 1.0)


# What was learned, by name


@pytest.fixture(scope="module")
def fitted(labelled):
    X, _, y, names = labelled
    return ChainSVM(lam=0.3).fit(X, y), names


def test_weights_by_name_are_those_of_a_plain_loop(fitted):
    svm, names = fitted
    labels = svm.classes_.tolist()
    states = {
        (name, label): svm.coef_[k, f]
        for f, name in enumerate(names)
        for k, label in enumerate(labels)
        if svm.coef_[k, f] != 0.0
    }
    steps = {(a, b): svm.transitions_[i, j] for i, a in enumerate(labels) for j, b in enumerate(labels)}
    steps = {key: weight for key, weight in steps.items() if weight != 0.0}
    assert svm.state_features_ == states
    assert list(svm.state_features_) == list(states)
    assert svm.transition_features_ == steps
    for n in (1, 3, 1000):
        ranked = sorted(states.items(), key=lambda item: -abs(item[1]))[:n]  # stable: equal sizes in their order
        assert svm.top_features(n) == [(*key, weight) for key, weight in ranked]
        ranked = sorted(steps.items(), key=lambda item: -abs(item[1]))[:n]
        assert svm.top_transitions(n) == [(*key, weight) for key, weight in ranked]
        for label in labels:
            own = [(name, one, weight) for (name, one), weight in states.items() if one == label]
            assert svm.top_features(n, label=label) == sorted(own, key=lambda row: -abs(row[2]))[:n]


def test_features_without_names_are_numbered(labelled):
    _, rows, y, _ = labelled
    svm = ChainSVM(lam=0.3).fit(rows, y)
    assert {name for name, _ in svm.state_features_} <= {f"feature {j}" for j in range(rows[0].shape[1])}
    hashed = ChainSVM(lam=0.3, vectorizer=AttributeVectorizer(n_hashed=3)).fit(labelled[0], y)
    assert {name for name, _ in hashed.state_features_} == {"hash 0", "hash 1", "hash 2"}


def test_wrong_questions_about_weights(fitted):
    svm, _ = fitted
    with pytest.raises(InputError, match="'Z' is none of the labels: P, Q, R"):
        svm.top_features(3, label="Z")
    with pytest.raises(OptionError, match="n must be a whole number >= 1"):
        svm.top_features(0)
    with pytest.raises(OptionError, match="n must be a whole number >= 1"):
        svm.top_transitions(-1)
    for question in (
        lambda: ChainSVM().top_features(),
        lambda: ChainSVM().top_transitions(),
        lambda: ChainSVM().state_features_,
        lambda: ChainSVM().transition_features_,
    ):
        with pytest.raises(NotFittedError):
            question()


def test_lam_is_chosen_for_attributes_and_labels_of_spans():
    rng = np.random.default_rng(3)
    words = [rng.integers(4, size=rng.integers(2, 6)) for _ in range(40)]
    X = [[{"word": f"w{word}", "odd": bool(word % 2)} for word in one] for one in words]
    y = [["O" if word == 0 else "B-X" if word < 3 else "B-Y" for word in one] for one in words]
    options = {"encoding": "IOBES", "vectorizer": AttributeVectorizer(min_count=2), "normalize": False}
    svm = bcfw.ChainSVMCV(cv=3, lam_min=1e-3, **options).fit(X, y)
    assert {label[0] for label in svm.classes_} == {"O", "S"}
    assert svm.score(X, y) > 0.9
    plain = bcfw.ChainSVM(lam=svm.lam_, **options).fit(X, y)
    assert [one.tolist() for one in plain.predict(X)] == [one.tolist() for one in svm.predict(X)]


def test_predictions_for_names_are_lists_of_plain_labels(labelled):
    X, rows, y, _ = labelled
    svm = ChainSVM(lam=0.1).fit(X, y)
    predicted = svm.predict(X)
    assert json.loads(json.dumps(predicted)) == predicted
    assert all(type(label) is str for one in predicted for label in one)
    assert repr(predicted[:1]).startswith("[['")
    assert [one.tolist() for one in predicted] == predicted  # as of arrays
    numbers = ChainSVM(lam=0.1).fit(X, [["PQR".index(label) for label in one] for one in y])
    assert type(numbers.predict(X)[0][0]) is int
    assert json.loads(json.dumps(numbers.predict(X))) == numbers.predict(X)
    assert isinstance(ChainSVM(lam=0.1).fit(rows, y).predict(rows)[0], np.ndarray)
    search = GridSearchCV(ChainSVM(), {"lam": [0.1]}, cv=2, scoring=bcfw.metrics.flat_accuracy_scorer).fit(X, y)
    assert search.best_score_ > 0.5
    assert flat_accuracy(y, predicted) == svm.score(X, y) == svm.score(X, predicted) - 1.0 + svm.score(X, y)
    assert pickle.loads(pickle.dumps(predicted)) == predicted


def test_texts_of_numpy_are_texts():
    given = AttributeVectorizer().fit_transform([[{"word": np.str_("cat"), np.str_("more"): [np.str_("x")]}]])
    assert given.rows.shape == (1, 2)
    assert AttributeVectorizer().fit([[{"w": np.str_("cat")}]]).get_feature_names_out().tolist() == ["w:cat"]


def test_a_warning_where_no_attribute_is_known(labelled):
    X, _, y, _ = labelled
    svm = ChainSVM(lam=0.1).fit(X, y)
    for call in (svm.predict, svm.decision_function, svm.vectorizer_.transform):
        with pytest.warns(InputWarning, match="no attribute of example 1 is known from training") as told:
            call([[["a0"]], [("The",), ("quick",)]])
        assert len(told) == 1
