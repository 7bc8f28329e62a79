"""What models and estimators say at given weights: probabilities, oracles, features; labels and layouts of any kind.

    nice python benchmarks/campaign_probabilities.py [--count 2000] [--seed 0] [--log FILE] [--only NUMBER]

Models of all kinds at random weights, against sums and maxima over all outputs, which are listed: features, losses,
the oracle with and without loss, predictions, probabilities of labels and of pairs, log-partition functions, log-
likelihoods, max-marginals, and what heuristic graphs prove. Estimators on labels of any type: their weights must be
those of bcfw.train on the same numbers, predictions those of enumeration, predict_proba a softmax of enumerated
scores; those of graphs, trees, matchings and any model must have true certificates; a sample weight must act as
repetition; and no layout or type of the input (sparse in all forms, single
precision, other strides, memory maps, pandas) may change the answer.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

import bcfw
import campaign
import random_cases
from campaign_train import Trial, check_result
from campaign_train import check_predictions as check_best
from random_cases import count, flip, problems

#: Relative to the largest terms that a score is a sum of.
ROUNDING = 1e-11


def one_problem(number: int, seed: int) -> campaign.Outcome:
    random_cases.forget()
    rng = np.random.default_rng([seed, number])
    which = rng.random()
    if which < 0.6:
        return one_model(rng)
    if which < 0.68:
        return one_structured(rng, number)
    return [one_fit, one_layout, one_repetition, one_probability][rng.integers(4)](rng, number)


# --- models -------------------------------------------------------------------------------------------------------


def one_model(rng: np.random.Generator) -> campaign.Outcome:
    """Everything that a model says at random weights."""
    scale = min(max(random_cases.draw_scale(rng), 1e-12), 1e6)  # scores of 1e18 round to nothing that has exponentials
    kind, case = random_cases.draw(rng, scale)
    campaign.trying(f"model: {kind}")
    model = case.problem().adapter.model
    w = case.clip(10.0 ** rng.uniform(-2, 2) / max(scale, 1e-30) * rng.standard_normal(case.dim))
    if flip(rng, 0.1):
        w = case.clip(np.zeros(case.dim))
    wrong: set[str] = set()
    for i in range(len(case.y)):
        wrong |= check_example(rng, case, model, w, i)
    wrong |= check_predictions(case, model, w)
    temperature = 10.0 ** rng.uniform(-1, 2)
    if "marginals" in case.problem().adapter.offers and not without_labels(case):
        wrong |= check_probabilities(case, model, w, temperature)
    if hasattr(model, "brackets"):
        wrong |= check_brackets(case, model, w)
    about = f"{case.name}, {model}, scale {scale:.2g}, temperature {temperature:.3g}, |w| {np.linalg.norm(w):.3g}"
    return campaign.Outcome(f"model: {kind}", "checked", sorted(wrong), about)


def without_labels(case: problems.Case) -> bool:
    """Whether some node has no label."""
    return case.settled is not None and any(np.min(y) < 0 for y in case.y)


def table(case: problems.Case, i: int) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """All outputs of an example, their features and their losses."""
    x, y = case.X[i], case.y[i]
    outputs = list(case.outputs(x, y))
    return outputs, np.array([case.phi(x, z) for z in outputs]), np.array([case.delta(y, z) for z in outputs])


def as_array(features: Any) -> np.ndarray:
    return np.asarray(features.toarray() if sp.issparse(features) else features, float).ravel()


def close(a: Any, b: Any, size: float) -> bool:
    return bool(np.all(np.abs(np.asarray(a) - np.asarray(b)) <= ROUNDING * (1.0 + size)))


def check_example(rng: np.random.Generator, case: problems.Case, model: Any, w: np.ndarray, i: int) -> set[str]:
    """Features, loss and oracle of one example."""
    wrong = set()
    x, y = case.X[i], case.y[i]
    outputs, features, losses = table(case, i)
    some = int(rng.integers(len(outputs)))
    sizes = np.abs(features) @ np.abs(w)
    size = float(sizes.max())
    if not close(as_array(model.features(x, outputs[some])), features[some], float(np.abs(features[some]).max())):
        wrong.add("features")
    if not close(model._loss_of(x, y, outputs[some]), losses[some], 0.0):
        wrong.add("loss")
    scores = features @ w
    values = losses + scores
    if case.slack:
        values = losses * (1.0 + scores - case.phi(x, y) @ w)
        size *= float(losses.max())
    found = model.oracle(w, x, y)
    place = next((k for k, z in enumerate(outputs) if np.array_equal(z, found)), None)
    if place is None:
        return wrong | {"oracle: no output"}
    if model.exact_oracle and values[place] < values.max() - ROUNDING * (1.0 + size):
        wrong.add("oracle")
    return wrong


def check_predictions(case: problems.Case, model: Any, w: np.ndarray) -> set[str]:
    """Predictions and plain oracles are the best outputs; where labels are missing, they are not in this list."""
    if without_labels(case):
        return set()
    found = model.predict(w, case.X)
    for i in range(len(case.y)):
        outputs, features, _ = table(case, i)
        scores, size = features @ w, float((np.abs(features) @ np.abs(w)).max())
        for answer in (found[i], model.oracle(w, case.X[i])):
            place = next((k for k, z in enumerate(outputs) if np.array_equal(z, answer)), None)
            if place is None:
                return {"prediction: no output"}
            if model.exact_oracle and scores[place] < scores.max() - ROUNDING * (1.0 + size):
                return {"prediction"}
    return set()


def check_probabilities(case: problems.Case, model: Any, w: np.ndarray, temperature: float) -> set[str]:
    """Probabilities of labels and pairs, log Z, log-likelihoods and max-marginals."""
    wrong = set()
    found = model.probabilities(w, case.X, temperature=temperature)
    likelihoods = model.log_likelihood(w, case.X, case.y, temperature=temperature)
    marginals = model.max_marginals(w, case.X) if hasattr(model, "max_marginals") else None
    for i in range(len(case.y)):
        outputs, features, _ = table(case, i)
        scores = features @ w / temperature
        size = float((np.abs(features) @ np.abs(w)).max()) / temperature
        P = np.exp(scores - logsumexp(scores))
        labels = np.array([np.atleast_1d(z) for z in outputs])
        log_partition, unary, pairs = parts_of(found, i, model)
        if not close(log_partition, logsumexp(scores), size):
            wrong.add("log partition")
        one = np.array([[P[labels[:, t] == k].sum() for k in range(unary.shape[1])] for t in range(labels.shape[1])])
        if not close(unary, one, size):
            wrong.add("probabilities")
        if pairs is not None and not close(
            pairs, pairs_of(case, model, i, P, labels, np.shape(pairs)), size * len(outputs)
        ):
            wrong.add("pairs")
        truth = next(k for k, z in enumerate(outputs) if np.array_equal(z, case.y[i]))
        if not close(likelihoods[i], scores[truth] - logsumexp(scores), size):
            wrong.add("log-likelihood")
        if marginals is not None:
            best = [[scores[labels[:, t] == k].max() for k in range(unary.shape[1])] for t in range(labels.shape[1])]
            if not close(marginals[i] / temperature, best, size):
                wrong.add("max-marginals")
    return wrong


def parts_of(found: Any, i: int, model: Any) -> tuple[float, np.ndarray, Any]:
    """``log Z``, probabilities of labels with a row for every place, and those of pairs, if there are any."""
    kind = type(model).__name__
    if kind == "Multiclass":
        return found.log_partition[i], found.labels[i][None, :], None
    if kind == "Multilabel":
        labels = np.stack([1.0 - found.labels[i], found.labels[i]], axis=1)
        return found.log_partition[i], labels, found.edges[i] if len(model.tree) else None
    if kind == "Chain":
        return found[i].log_partition, found[i].positions, found[i].transitions
    return found[i].log_partition, found[i].nodes, found[i].edges


def pairs_of(case: problems.Case, model: Any, i: int, P: np.ndarray, labels: np.ndarray, shape: Any) -> Any:
    """The same by enumeration: expected transitions of a chain, probabilities of both labels of an edge elsewhere."""
    right = np.zeros(shape)
    if type(model).__name__ == "Chain":
        for p, y in zip(P, labels, strict=True):
            np.add.at(right, (y[:-1], y[1:]), p)
        return right
    edges = model.tree if type(model).__name__ == "Multilabel" else case.X[i][1]
    for e, (a, b) in enumerate(edges):
        for p, y in zip(P, labels, strict=True):
            right[e, y[a], y[b]] += p
            if getattr(model, "symmetric", False) and y[a] != y[b]:  # of the unordered pair
                right[e, y[b], y[a]] += p
    return right


def check_brackets(case: problems.Case, model: Any, w: np.ndarray) -> set[str]:
    """What the oracle of a heuristic graph has found, and an upper bound of all values."""
    found, at_most = model.brackets(w, case.X, case.y)
    for i in range(len(case.y)):
        _, features, losses = table(case, i)
        best, size = (losses + features @ w).max(), float((np.abs(features) @ np.abs(w)).max())
        room = ROUNDING * (1.0 + size)
        if not found[i] <= best + room or not at_most[i] >= best - room:
            return {"brackets"}
    return set()


# --- estimators ---------------------------------------------------------------------------------------------------

#: Labels of any type: a function of the code 0, 1, 2.
LABELS: list[Callable[[int], Any]] = [
    lambda k: k,
    lambda k: 10 - 3 * k,
    lambda k: ["cat", "dog", "Ölçü"][k],
    lambda k: np.str_("abc"[k]),
    lambda k: 2.0 * k - 1.0,
    lambda k: ("tuple", k),
    lambda k: b"bytes" + bytes([65 + k]),
    lambda k: [None, True, "x"][k] if k else "none",
]

#: Those that can be sorted, so that the place of a code in classes_ is known before; -1 is no label.
COMPARABLE = [label for label in LABELS[:-1] if label(0) != -1]


def draw_task(rng: np.random.Generator) -> tuple[str, Any, Any, Any, problems.Case]:
    """The kind of estimator, its unbound class, inputs, codes and the case (model) of the same numbers."""
    kind = str(rng.choice(["MulticlassSVM", "ChainSVM", "MultilabelSVM"]))
    campaign.trying(kind)
    K, F, n, scale = count(rng, 2, 3), count(rng, 1, 4), count(rng, 4, 9), 10.0 ** rng.uniform(-2, 2)
    if kind == "ChainSVM":
        lengths = np.append(K, rng.integers(1, 4, size=n - 1))
        X: Any = [scale * rng.standard_normal((T, F)) for T in lengths]
        y: Any = [rng.integers(K, size=T) for T in lengths]
        y[0] = np.arange(K)
        return kind, bcfw.ChainSVM, X, y, problems.chain_case(kind, X, y, F, K, None, True, True)
    X = scale * rng.standard_normal((n, F))
    if kind == "MulticlassSVM":
        y = np.append(np.arange(K), rng.integers(K, size=n - K))
        model = bcfw.models.Multiclass(K)
        return kind, bcfw.MulticlassSVM, X, y, problems.multiclass_case(kind, model, X, y, F, K, 1.0 - np.eye(K))
    y = rng.integers(2, size=(n, K))
    y[:2] = [[0] * K, [1] * K]
    return kind, bcfw.MultilabelSVM, X, y, problems.multilabel_case(kind, X, y, F, K, None, True)


def make(kind: Any, rng: np.random.Generator, **options: Any) -> Any:
    """An estimator without intercept, so that its numbers are those of the core."""
    return kind(lam=10.0 ** rng.uniform(-3, 0), fit_intercept=False, max_passes=200, **options)


def answers_of(estimator: Any, X: Any) -> list[Any]:
    return [one.tolist() if isinstance(one, np.ndarray) else one for one in estimator.predict(X)]


def one_fit(rng: np.random.Generator, number: int) -> campaign.Outcome:
    """Labels of any type: the weights are those of train, and predictions come back in the labels that were given."""
    name, kind, X, codes, case = draw_task(rng)
    label = LABELS[rng.integers(len(LABELS))]
    order = sorted_places(label, codes) if name != "MultilabelSVM" else None
    y = codes if order is None else relabelled(codes, lambda k: label(order[k]))
    weights = random_cases.draw_weights(rng, len(codes)) if flip(rng) else None
    if weights is not None:
        weights = weights + 0.5  # classes without weight are an error
    solver = ["auto", "bcfw", "block-solves", "multi-plane"][rng.integers(4)]
    if not problems.matches(bcfw.solvers.SOLVERS[solver](), case):
        solver = "bcfw"
    if solver == "multi-plane":
        solver = bcfw.solvers.MultiPlane(clock="count")
    estimator = make(kind, rng, solver=solver)
    estimator.fit(X, y, sample_weight=weights)
    options = {"lam": estimator.lam_, "solver": solver, "tol": 1e-3, "max_passes": 200, "seed": 0}
    result = bcfw.train(case.model, X, codes, sample_weight=weights, **options)
    predicted = result.predict(X)
    wrong, reordered = [], weights is not None and name != "ChainSVM"  # weighted examples get an order of their own
    a, b = estimator.result_, result
    near = max(a.dual, b.dual) <= min(a.primal, b.primal) + 1e-11 * (1.0 + abs(a.primal))
    if not near or not (reordered or np.array_equal(a.w, b.w)):
        wrong.append("weights")
    if reordered:
        predicted = a.predict(X)
    right = predicted if order is None else relabelled(predicted, lambda k: label(order[k]))
    if answers_of(estimator, X) != [one.tolist() if isinstance(one, np.ndarray) else one for one in right]:
        wrong.append("labels")
    kept = estimator.score(X, y, sample_weight=weights)
    if not 0.0 <= kept <= 1.0:
        wrong.append("score")
    return campaign.Outcome(
        f"{name}: labels", result.status, wrong, f"labels {label(0)!r}, {solver}, {result.summary()}"
    )


#: Estimators of structured outputs, and the kinds of problems they are for.
STRUCTURED = {
    "StructuralSVM": [kind for kind in random_cases.KINDS if "Python" not in kind],
    "GraphSVM": ["BinaryGraph", "PottsGraph", "PairwiseGraph"],
    "TreeSVM": ["Tree"],
    "MatchingSVM": ["Matching"],
}


def one_structured(rng: np.random.Generator, number: int) -> campaign.Outcome:
    """The certificate of an estimator of structured outputs is true, and it predicts the best outputs."""
    name = str(rng.choice(list(STRUCTURED)))
    campaign.trying(f"{name}: fit")
    scale = 10.0 ** rng.uniform(-2, 2)
    _, case = random_cases.draw(rng, scale, STRUCTURED[name])
    while not all_labels_appear(name, case):
        _, case = random_cases.draw(rng, scale, STRUCTURED[name])
    useful = None
    if name in ("GraphSVM", "TreeSVM"):  # to which graphs without any label count nothing
        useful = np.array([float(np.max(one) >= 0) for one in case.y])
        useful = None if useful.all() else useful
    case = dataclasses.replace(case, lam=10.0 ** rng.uniform(-3, 0))
    model, y, back = case.settled or case.model, case.y, list
    given: dict[str, Any] = {"lam": case.lam, "tol": 1e-3, "max_passes": 100, "random_state": number % 1000}
    if name == "StructuralSVM":
        estimator: Any = bcfw.StructuralSVM(model, check_model=False, **given)
    elif name == "MatchingSVM":
        costs = {"cost_miss": model.cost_miss, "cost_extra": model.cost_extra, "normalize": model.normalize}
        estimator = bcfw.MatchingSVM(**costs, **given)
    else:
        given |= {"cost": model.cost, "normalize": model.normalize}
        if isinstance(model, bcfw.models.PairwiseGraph):
            given["pairwise"] = "full"
        if name == "TreeSVM" or "pairwise" in given:
            given["symmetric"] = model.symmetric
        estimator = getattr(bcfw, name)(**given)
        label = COMPARABLE[rng.integers(len(COMPARABLE))]
        order = sorted(range(len(model.cost)), key=label)
        y = [[None if k < 0 else label(order[k]) for k in one] for one in case.y]
        back = lambda found: [label(order[k]) for k in found]  # noqa: E731
    estimator.fit(case.X, y)
    result, trial = estimator.result_, Trial(case, case, useful)
    wrong = check_result(trial, result, 1e-3) + check_best(trial, result)
    for answer, found in zip(estimator.predict(case.X), result.predict(case.X), strict=True):
        if not np.array_equal(answer, found) and list(answer) != back(found):
            wrong.append("labels")
            break
    about = f"{case.name}, {model}, {result.summary()}"
    return campaign.Outcome(f"{name}: fit", result.status, wrong, about)


def all_labels_appear(name: str, case: problems.Case) -> bool:
    """Whether graphs have every label, so that an estimator knows it; two Potts labels are a model of their own."""
    if name not in ("GraphSVM", "TreeSVM"):
        return True
    model = case.settled or case.model
    if isinstance(model, bcfw.models.PottsGraph) and len(model.cost) == 2:
        return False
    return set(range(len(model.cost))) <= {int(k) for one in case.y for k in one}


def sorted_places(label: Callable[[int], Any], codes: Any) -> list[int]:
    """Which code stands at place k of classes_: sorted if labels can be compared, else in order of appearance."""
    every = list(dict.fromkeys(int(k) for k in np.concatenate([np.atleast_1d(one) for one in codes])))
    try:
        return sorted(every, key=label)
    except TypeError:
        return every


def relabelled(codes: Any, label: Callable[[int], Any]) -> Any:
    if isinstance(codes, list):
        return [[label(int(k)) for k in one] for one in codes]
    return [label(int(k)) for k in codes]


#: Forms that the same numbers may have; sparse ones may be added up in another order.
DENSE: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "Fortran order": lambda X, file: np.asfortranarray(X),
    "negative strides": lambda X, file: X[::-1].copy()[::-1],
    "every other column": lambda X, file: np.repeat(X, 2, axis=1)[:, ::2],
    "read-only": lambda X, file: read_only(X),
    "single precision": lambda X, file: X.astype(np.float32),
    "memory map": lambda X, file: memory_map(X, file),
    "big endian": lambda X, file: X.astype(">f8"),
}
SPARSE: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "CSR": lambda X, file: sp.csr_matrix(X),
    "CSR array": lambda X, file: sp.csr_array(X),
    "CSC": lambda X, file: sp.csc_matrix(X),
    "COO": lambda X, file: sp.coo_matrix(X),
    "unsorted CSR": lambda X, file: unsorted(X),
    "doubled CSR": lambda X, file: doubled(X),
    "int64 CSR": lambda X, file: with_int64(X),
    "LIL": lambda X, file: sp.lil_matrix(X),
}


def read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.setflags(write=False)
    return X


def memory_map(X: np.ndarray, file: Path) -> np.ndarray:
    np.save(file, X)
    return np.load(file, mmap_mode="r")


def unsorted(X: np.ndarray) -> Any:
    found = sp.csr_matrix(X)
    for a, b in itertools.pairwise(found.indptr):
        found.indices[a:b], found.data[a:b] = found.indices[a:b][::-1].copy(), found.data[a:b][::-1].copy()
    found.has_sorted_indices = False
    return found


def doubled(X: np.ndarray) -> Any:
    """Every entry in two halves."""
    half = sp.csr_matrix(X / 2.0)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(half.indptr))
    order = np.lexsort((np.tile(half.indices, 2), np.tile(rows, 2)))
    data, indices = np.tile(half.data, 2)[order], np.tile(half.indices, 2)[order]
    return sp.csr_matrix((data, indices, 2 * half.indptr), shape=X.shape)


def with_int64(X: np.ndarray) -> Any:
    found = sp.csr_matrix(X)
    found.indices, found.indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    return found


def one_layout(rng: np.random.Generator, number: int) -> campaign.Outcome:
    """The same numbers in another form: the same weights, or, where sums have another order, the same optimum."""
    name, kind, X, codes, _ = draw_task(rng)
    each = X if isinstance(X, list) else [X]
    each = [np.round(x * (rng.random(x.shape) < 0.8) * 64.0) / 64.0 for x in each]
    each = [x.astype(np.float32).astype(np.float64) for x in each]  # the same in single precision
    forms = {**DENSE, **SPARSE}
    others = ["integers", *(["pandas"] if find_spec("pandas") else [])]
    names = [*forms, *others] if name != "ChainSVM" else list(forms)
    form = names[rng.integers(len(names))]
    if form == "integers":
        each = [np.round(x) + 0.0 for x in each]  # without negative zeros, which integers do not have
    estimator = make(kind, rng, solver="bcfw")
    with tempfile.TemporaryDirectory() as folder:
        if form == "pandas":
            import pandas

            given = [pandas.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])]) for x in each]
        elif form == "integers":
            given = [x.astype(np.int32) for x in each]
        else:
            given = [forms[form](x, Path(folder) / f"{k}.npy") for k, x in enumerate(each)]
        both = [each, given] if isinstance(X, list) else [each[0], given[0]]
        other = make(kind, rng, solver="bcfw").set_params(lam=estimator.lam)
        estimator.fit(both[0], codes)
        other.fit(both[1], codes)
        same = answers_of(estimator, both[0]) == answers_of(estimator, both[1])
    a, b, wrong = estimator.result_, other.result_, []
    if form in SPARSE:
        near = max(a.dual, b.dual) <= min(a.primal, b.primal) * (1.0 + 1e-9) + 1e-12
    else:
        near = np.array_equal(a.w, b.w)
    if not near:
        wrong.append("weights")
    if not same:
        wrong.append("predictions")
    sort = "sparse" if form in SPARSE else "dense" if form in DENSE else "pandas and integers"
    about = f"{form}, {name}, {a.summary()} and {b.summary()}"
    return campaign.Outcome(f"layouts: {sort}", b.status, wrong, about)


def one_repetition(rng: np.random.Generator, number: int) -> campaign.Outcome:
    """A weight of two is an example that is there twice: both certificates enclose one optimum."""
    name, kind, X, codes, case = draw_task(rng)
    weights = rng.integers(1, 4, size=len(codes))
    repeated = np.repeat(np.arange(len(codes)), weights)
    each = [X[i] for i in repeated] if isinstance(X, list) else X[repeated]
    labels = [codes[i] for i in repeated] if isinstance(codes, list) else codes[repeated]
    first = make(kind, rng)
    other = make(kind, rng).set_params(lam=first.lam)
    a = first.fit(X, codes, sample_weight=weights.astype([float, int][rng.integers(2)])).result_
    b = other.fit(each, labels).result_
    room = 1e-11 * (1.0 + abs(a.primal))
    wrong = [] if max(a.dual, b.dual) <= min(a.primal, b.primal) + room else ["repetition"]
    objective = case.enumerated(weights, first.lam_)
    if abs(objective.primal(b.w) - b.primal) > room:
        wrong.append("primal")
    return campaign.Outcome(f"{name}: repetition", a.status, wrong, f"{a.summary()} and {b.summary()}")


def one_probability(rng: np.random.Generator, number: int) -> campaign.Outcome:
    """predict_proba is the softmax of enumerated scores at the fitted temperature."""
    name, kind, X, codes, case = draw_task(rng)
    estimator = make(kind, rng, probability=True, probability_folds=2, solver="bcfw", random_state=number % 1000)
    estimator.fit(X, codes)
    found, w, wrong = estimator.predict_proba(X), estimator.result_.w, []
    if not estimator.temperature_ > 0.0:
        wrong.append("temperature")
    for i in range(len(codes)):
        outputs, features, _ = table(case, i)
        scores = features @ w / estimator.temperature_
        P = np.exp(scores - logsumexp(scores))
        labels = np.array([np.atleast_1d(z) for z in outputs])
        if name == "MultilabelSVM":
            right: Any = P @ labels
        else:
            places = range(labels.shape[1])
            right = np.array([[P[labels[:, t] == k].sum() for k in range(len(estimator.classes_))] for t in places])
        if not close(found[i], right if name != "MulticlassSVM" else right[0], float(np.abs(scores).max())):
            wrong.append("predict_proba")
            break
    return campaign.Outcome(
        f"{name}: predict_proba", estimator.result_.status, wrong, f"t {estimator.temperature_:.3g}"
    )


if __name__ == "__main__":
    sys.exit(campaign.main(__doc__, one_problem))
