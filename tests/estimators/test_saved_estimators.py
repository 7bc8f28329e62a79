"""Estimators in model files: what is loaded is what was saved, in every bit, and files hold data only."""

from __future__ import annotations

import copy
import inspect
import json
import random
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.estimators import ESTIMATORS, MulticlassSVM
from bcfw.estimators.base import BaseSVM, without_snapshot
from bcfw.solvers import BCFW, KernelBCFW, MultiPlane
from bcfw.storage import model_file
from same import difference
from small_data import Pick

RNG = np.random.default_rng(0)
N = 24
CODES = np.arange(N) % 3
POINTS = np.eye(3, 4)[CODES] + 0.4 * RNG.standard_normal((N, 4))
SPARSE = sp.csr_array(np.where(np.abs(POINTS) > 0.3, POINTS, 0.0))
VERY_SPARSE = sp.csr_array(np.where(RNG.random((N, 40)) < 0.05, 1.0, 0.0) + np.eye(3, 40)[CODES])
TARGETS = np.column_stack([CODES == 0, CODES > 0, CODES == 2]).astype(int)
CHAINS = [POINTS[i : i + 4] for i in range(0, N, 4)]
CHAIN_CODES = [CODES[i : i + 4] for i in range(0, N, 4)]
ATTRIBUTES = [[[f"w={code}", f"ü={i % 3}\n"] for i, code in enumerate(codes)] for codes in CHAIN_CODES]
PATH = np.array([[0, 1], [1, 2], [2, 3]])
GRAPHS = [(x, PATH, np.abs(x[:3, :2])) for x in CHAINS]
PAIRS = [np.stack([np.ones((2, 3)), RNG.random((2, 3))], axis=2) for _ in range(5)]
LINKS = [np.array([[0, 1, 0], [1, 0, -1]]) for _ in PAIRS]


def named(codes, names):
    return [names[code] for code in codes]


def labelled(names):
    """Sequences of labels of any type."""
    return [named(codes, names) for codes in CHAIN_CODES]


def objects(*labels):
    return np.fromiter(labels, dtype=object)


WORDS = ["ant", "bee", "cöw\n"]
TUPLES = [("a", 1), ("b", 2.5), ("c", (None, True))]
COST = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.5], [1.0, 1.0, 0.0]])

#: Options and data of fits, by the name of the estimator.
CASES = {
    "MulticlassSVM": {
        "words": ({"lam": np.float64(0.1), "C": 1.0}, POINTS, named(CODES, WORDS)),
        "whole numbers": ({"solver": BCFW(sampling="gap", averaging=True)}, SPARSE, CODES - 7),
        "small numbers": ({"fit_intercept": False}, POINTS.astype(np.float32), CODES.astype(np.uint8)),
        "truth values": ({"intercept_scaling": 3.0}, POINTS, CODES > 0),
        "costs": ({"cost": COST}, POINTS, CODES),
        "tuples": ({"class_weight": {TUPLES[0]: 2.0, TUPLES[2]: 0.5}}, POINTS, named(CODES, TUPLES)),
        "mixed": ({"class_weight": "balanced", "cost": COST.tolist()}, POINTS, named(CODES, ["a", 1, (2.5, None)])),
        "numpy scalars": ({}, POINTS, objects(*named(CODES, [np.int64(1), np.str_("b"), np.float32(0.1)]))),
        "probabilities": ({"probability": True, "tol": 0.1}, POINTS, CODES),
        "rbf": ({"kernel": "rbf"}, POINTS, named(CODES, WORDS)),
        "sparse rbf": ({"kernel": "rbf", "gamma": 0.5}, VERY_SPARSE, CODES),
        "poly": ({"kernel": "poly", "degree": 2, "coef0": 1.0}, POINTS, CODES),
        "precomputed": ({"kernel": "precomputed"}, rbf_kernel(POINTS), CODES),
        "kernel solver": ({"solver": KernelBCFW(kernel="rbf", gamma=0.3, bias=2.0)}, POINTS, CODES),
        "no dual": ({"solver": "subgradient", "max_passes": 5}, POINTS, CODES),
        "warm": ({"warm_start": True}, POINTS, CODES),
    },
    "MultilabelSVM": {
        "independent": ({}, POINTS, TARGETS),
        "tree": ({"tree": "auto", "probability": True, "tol": 0.1}, SPARSE, TARGETS),
        "given tree": ({"tree": [(0, 1), (1, 2)], "fit_intercept": False}, POINTS, TARGETS),
        "classes": ({"tree": np.array([[0, 2]])}, POINTS, np.array(WORDS)[CODES]),
        "two classes": ({}, POINTS, np.array(["no", "yes"])[(CODES > 0).astype(int)]),
    },
    "ChainSVM": {
        "words": ({}, CHAINS, labelled(WORDS)),
        "whole numbers": ({"end_bias": False, "fit_intercept": True}, CHAINS, labelled([3, -1, 5])),
        "real numbers": ({"cost": COST}, [sp.csr_array(x) for x in CHAINS], labelled([0.5, 1e-300, 3.0])),
        "bytes": ({}, CHAINS, [np.array([b"a", b"bb", b"\xff"])[codes] for codes in CHAIN_CODES]),
        "tuples": ({"class_weight": {TUPLES[1]: 3.0}, "normalize": False}, CHAINS, labelled(TUPLES)),
        "attributes": ({"vectorizer": bcfw.AttributeVectorizer(min_count=2)}, ATTRIBUTES, labelled(WORDS)),
        "hashed": ({"vectorizer": bcfw.AttributeVectorizer(n_hashed=64)}, ATTRIBUTES, labelled(WORDS)),
        "spans": ({"encoding": "IOBES"}, CHAINS, labelled(["O", "B-ä", "I-ä"])),
        "spans of attributes": ({"encoding": "BIO", "fit_intercept": True}, ATTRIBUTES, labelled(["O", "S-x", "B-x"])),
        "probabilities": ({"probability": True, "tol": 0.1, "probability_folds": 2}, CHAINS, labelled(WORDS)),
        "rbf": ({"kernel": "rbf", "fit_intercept": True, "tol": 0.05}, CHAINS, labelled(WORDS)),
        "sparse": ({"lam": 0.5, "solver": MultiPlane(clock="count")}, [sp.csr_array((4, 500))] * 6, labelled(WORDS)),
    },
    "GraphSVM": {
        "two labels": ({"tol": 0.1}, GRAPHS, [named(np.minimum(c, 1), ["no", "yes"]) for c in CHAIN_CODES]),
        "potts": ({"tol": 0.1, "fit_intercept": True}, GRAPHS, labelled(WORDS)),
        "full": ({"pairwise": "full", "symmetric": True, "tol": 0.1, "bound_iterations": 5}, GRAPHS, labelled(WORDS)),
    },
    "TreeSVM": {
        "trees": ({"tol": 0.1, "cost": COST}, GRAPHS, labelled(WORDS)),
        "probabilities": ({"probability": True, "tol": 0.2, "symmetric": True}, GRAPHS, labelled([1, 2, 3])),
    },
    "MatchingSVM": {"links": ({"cost_miss": 2.0, "normalize": True}, PAIRS, LINKS)},
    "StructuralSVM": {
        "built in": ({"model": bcfw.models.Multiclass(3, COST)}, POINTS, CODES),
        "of your own": ({"model": Pick("sparse"), "scoring": "exact"}, POINTS, CODES),
        "pictures": (
            {"model": bcfw.models.PictorialTree([(0, 1)], 2), "tol": 0.1},
            [(RNG.random((2, 2, 3)), 1.0 + i) for i in range(4)],
            [np.array([[0, 1, 0], [1, 2, 1]])] * 4,
        ),
    },
    "StructuralSVMCV": {"folds": ({"model": bcfw.models.Multiclass(3), "cv": 2}, POINTS, CODES)},
    "MulticlassSVMCV": {"folds": ({"cv": 2, "scoring": "f1_macro"}, POINTS, named(CODES, WORDS))},
    "MultilabelSVMCV": {"folds": ({"cv": 2, "tree": "auto"}, POINTS, TARGETS)},
    "ChainSVMCV": {"folds": ({"cv": 2, "eps": 0.3, "tol": 0.1}, CHAINS, labelled(WORDS))},
}

ALL = [(name, case) for name in CASES for case in CASES[name]]

pytestmark = pytest.mark.filterwarnings("ignore::bcfw.errors.ConvergenceWarning")

FITTED: dict[tuple[str, str], BaseSVM] = {}


def fitted(name, case):
    """An estimator, fitted once."""
    options, X, y = CASES[name][case]
    if (name, case) not in FITTED:
        FITTED[name, case] = ESTIMATORS[name](**options).fit(X, y)
    return copy.copy(FITTED[name, case])


def test_every_estimator_is_tried():
    """A new one comes into the registry, and its cases into the table."""
    public = {name for name in bcfw.__all__ if inspect.isclass(getattr(bcfw, name))}
    assert {name for name in public if issubclass(getattr(bcfw, name), BaseSVM)} == set(ESTIMATORS) == set(CASES)


@pytest.mark.parametrize(("name", "case"), ALL)
def test_everything_comes_back(name, case, tmp_path):
    """All attributes, all options and the whole result, but the dual state; and all that methods return."""
    svm, path = fitted(name, case), tmp_path / "model.bcfw"
    svm.save(path)
    own = vars(svm).get("model") if case == "of your own" else None
    twin = bcfw.load(path, model=own)
    expected = copy.copy(svm)
    expected.result_, expected._key = without_snapshot(svm.result_), None
    if hasattr(svm, "path_"):
        assert svm.path_.snapshot == {}
    assert difference(expected, twin) is None
    _, X, y = CASES[name][case]
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(svm, method):
            assert difference(getattr(svm, method)(X), getattr(twin, method)(X), method) is None
    assert svm.score(X, y) == twin.score(X, y)


@pytest.mark.parametrize(("name", "case"), [("MulticlassSVM", "rbf"), ("ChainSVM", "tuples"), ("TreeSVM", "trees")])
def test_a_loaded_estimator_fits_again_as_before(name, case, tmp_path):
    svm = fitted(name, case)
    svm.save(tmp_path / "x")
    again = bcfw.load(tmp_path / "x").fit(*CASES[name][case][1:])
    assert difference(svm.predict(CASES[name][case][1]), again.predict(CASES[name][case][1])) is None
    assert again.result_.gap == svm.result_.gap


def test_saving_again_gives_the_same_file(tmp_path):
    fitted("ChainSVM", "tuples").save(tmp_path / "a")
    bcfw.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_is_left_out(tmp_path):
    """Options that only another fit would read, where they are no data."""

    class Own(BCFW):
        """A solver of a user's."""

    options = {"callbacks": [lambda info: False], "random_state": np.random.RandomState(3), "solver": Own()}
    svm = MulticlassSVM(**options).fit(POINTS, CODES)
    svm.save(tmp_path / "x")
    assert model_file.read(tmp_path / "x").header["left_out"] == ["callbacks", "random_state", "solver"]
    twin = bcfw.load(tmp_path / "x")
    assert (twin.callbacks, twin.random_state, twin.solver) == ((), 0, "auto")
    assert twin.result_.solver is None
    assert difference(svm.coef_, twin.coef_) is None
    searched = bcfw.MulticlassSVMCV(cv=KFold(2)).fit(POINTS, CODES)
    searched.save(tmp_path / "x")
    assert bcfw.load(tmp_path / "x").cv is None


def test_what_cannot_be_saved(tmp_path):
    path = tmp_path / "x"
    with pytest.raises(NotFittedError):
        MulticlassSVM().save(path)
    with pytest.raises(NotFittedError):
        bcfw.MulticlassSVMCV(cv=2, refit=False).fit(POINTS, CODES).save(path)
    with pytest.raises(InputError, match=r"kernel: kind is <function rbf_kernel.*cannot be saved"):
        MulticlassSVM(kernel=rbf_kernel).fit(POINTS, CODES).save(path)
    with pytest.raises(OptionError, match=r"MulticlassSVMCV: options.scoring is <function.*cannot be saved"):
        bcfw.MulticlassSVMCV(cv=2, scoring=lambda svm, X, y: 0.5).fit(POINTS, CODES).save(path)

    class Own(MulticlassSVM):
        """An estimator of a user's."""

    with pytest.raises(InputError, match="Own is a class of your own"):
        Own().fit(POINTS, CODES).save(path)
    with pytest.raises(InputError, match=r"classes.2 is <object object.*cannot be saved"):
        MulticlassSVM().fit(POINTS, named(CODES, [1, "a", object()])).save(path)
    assert not path.exists()


class Sum(bcfw.models.Multiclass):
    """A built-in model with another loss."""

    def loss(self, y_true, y):
        return 2.0 * super().loss(y_true, y)


def test_models_of_your_own_are_given_again(tmp_path):
    path = tmp_path / "x"
    svm = fitted("StructuralSVM", "of your own")
    svm.save(path)
    with pytest.raises(OptionError, match=r"model of your own, Pick.*bcfw.load\(path, model=Pick\(...\)\)"):
        bcfw.load(path)
    mine = Pick("sparse")
    twin = bcfw.load(path, model=mine)
    assert twin.model is mine
    assert mine.dim is None
    assert twin.result_.model.dim == 12
    narrow = Pick("sparse")
    narrow.dim = 9
    with pytest.raises(InputError, match="has dim = 12 where the model has 9"):
        bcfw.load(path, model=narrow)
    with pytest.raises(InputError, match="not a usable model file"):
        bcfw.load(path, model="Pick")
    fitted("StructuralSVM", "built in").save(path)
    with pytest.raises(OptionError, match="has a model of bcfw itself; leave model out"):
        bcfw.load(path, model=mine)


def test_a_built_in_model_that_was_changed_is_given_again(tmp_path):
    svm = bcfw.StructuralSVM(Sum(cost=COST)).fit(POINTS, CODES)
    svm.save(tmp_path / "x")
    for given in (Sum(cost=COST), svm.result_.model):
        twin = bcfw.load(tmp_path / "x", model=given)
        assert difference(svm.predict(POINTS), twin.predict(POINTS)) is None
        assert twin.score(POINTS, CODES) == svm.score(POINTS, CODES)
        assert difference(svm.result_.model, twin.result_.model) is None


def test_pipelines_are_not_saved_but_their_last_steps_are(tmp_path):
    pipe = make_pipeline(MulticlassSVM()).fit(POINTS, CODES)
    pipe[-1].save(tmp_path / "x")
    assert difference(pipe.predict(POINTS), bcfw.load(tmp_path / "x").predict(POINTS)) is None


def test_options_that_were_changed_after_the_fit(tmp_path):
    """They are saved as they are, and the weights as they were trained."""
    svm = copy.deepcopy(fitted("ChainSVM", "words")).set_params(end_bias=False, fit_intercept=True, lam=7.0)
    svm.save(tmp_path / "x")
    twin = bcfw.load(tmp_path / "x")
    assert (twin.end_bias, twin.lam, twin.lam_) == (False, 7.0, 0.01)
    assert difference(svm.first_, twin.first_) is None
    assert difference(svm.predict(CHAINS), twin.predict(CHAINS)) is None


def test_feature_names(tmp_path):
    class Frame:
        columns = ("one", "two", "thrée", "four")

        def __init__(self, values):
            self.values, self.shape = values, values.shape

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.values, dtype)

    svm = bcfw.ChainSVM().fit([Frame(x) for x in CHAINS], labelled(WORDS))
    svm.save(tmp_path / "x")
    twin = bcfw.load(tmp_path / "x")
    assert twin.feature_names_in_.tolist() == list(Frame.columns)
    assert twin.feature_names_in_.dtype == object


# --- files that were made up: right checksums, wrong content


def changed(header, keys, value):
    """A copy of a header with one value changed; ``...`` takes it out."""
    header = copy.deepcopy(header)
    place = header
    for key in keys[:-1]:
        place = place[key]
    if value is ...:
        del place[keys[-1]]
    else:
        place[keys[-1]] = value
    return header


#: Estimator and case, where in the header, what is there then, and what the error says.
MADE_UP = {
    "an unknown estimator": ("words", ["estimator"], "os.system", "estimator 'os.system', which this bcfw does not"),
    "no estimator": ("words", ["estimator"], ..., "KeyError: 'estimator'"),
    "a list": ("words", ["estimator"], [], "not a usable model file"),
    "an option of another": ("words", ["options", "alpha"], 1, "an option 'alpha', which ChainSVM does not have"),
    "a strange value": ("words", ["options", "lam"], {"$call": "os.system"}, "unknown kind '.call'"),
    "two kinds": ("words", ["options", "lam"], {"$tuple": [], "$dict": []}, "unknown kind"),
    "a strange type": ("words", ["options", "lam"], {"$scalar": ["|O", 1]}, "unknown type '|O'"),
    "long texts": ("words", ["classes", "$labels", 0], "<U99999999", "which is too much"),
    "labels that do not fit": ("words", ["classes", "$labels", 1], [4], "3 labels in an array of shape"),
    "too few classes": ("words", ["classes"], {"$labels": ["<U3", [2], ["a", "b"]]}, "not 3 different labels"),
    "equal classes": ("words", ["classes"], {"$labels": ["<U3", [3], ["a", "b", "a"]]}, "not 3 different labels"),
    "classes without hash": ("words", ["classes"], {"$labels": ["|O", [3], [[], 1, 2]]}, "not a usable model file"),
    "classes that are text": ("words", ["classes"], "abc", "not 3 different labels"),
    "no classes": ("words", ["classes"], ..., "not a usable model file"),
    "an array that is not there": ("words", ["classes"], {"$array": "nowhere"}, "it has no nowhere"),
    "other features": ("words", ["n_features_in"], 5, "n_features_in = 5 instead of 4"),
    "a constant": ("words", ["constant"], 1.0, "n_features_in = 4 instead of 3"),
    "a wrong constant": ("whole numbers", ["constant"], "x", "constant must be a finite number > 0"),
    "names": ("words", ["feature_names_in"], ["a"], r"feature names of shape \(1,\) instead of \(4,\)"),
    "an unknown model": ("words", ["model", "model"], "chains", "model 'chains', which this bcfw does not have"),
    "another model": ("words", ["model", "model"], "multiclass", "not a usable model file"),
    "more labels": ("words", ["model", "options", "n_labels"], 4, "dim = 27 where the model has 40"),
    "many labels": ("words", ["model", "options", "n_labels"], 10**9, "dim = 27 where|n_labels must be"),
    "more features": ("words", ["model", "sizes", "n_features"], 5, "dim = 27 where the model has 30"),
    "negative features": ("words", ["model", "sizes", "n_features"], -1, "not a usable model file"),
    "features that are text": ("words", ["model", "sizes", "n_features"], "4", "not a usable model file"),
    "another size": ("words", ["model", "sizes", "dim"], 26, "dim = 26 where the model has 27"),
    "no size": ("words", ["model", "sizes", "dim"], ..., "not a usable model file"),
    "an attribute": ("words", ["model", "sizes", "routines"], 1, "has routines = 1 where"),
    "a cost": ("words", ["model", "options", "cost"], [[0.0]], "cost must have shape"),
    "an option of no model": ("words", ["model", "options", "x"], 1, "not a usable model file"),
    "a solver": ("words", ["solver", "solver"], "gurobi", "solver 'gurobi', which this bcfw does not have"),
    "a solver's option": ("words", ["solver", "options", "x"], 1, "not a usable model file"),
    "a status": ("words", ["certificate", "status"], 1, "status = 1, which is no str"),
    "a gap": ("words", ["certificate", "gap"], "0", "gap = '0', which is no float"),
    "no certificate": ("words", ["certificate"], None, "its header has certificate = None"),
    "history": ("words", ["history", "gap"], {"$array": "w"}, "columns of different lengths|it has no w"),
    "a history of texts": ("words", ["history"], "gap", "not a usable model file"),
    "a last point": ("words", ["last"], {}, "last.w|it has no"),
    "a scheme": ("spans", ["scheme"], "BILOU", "scheme must be None or"),
    "no labels of spans": ("words", ["scheme"], "BIO", "has labels that are none of spans"),
    "other answers": ("words", ["returned"], {"$labels": ["<U1", [1], ["x"]]}, "not 3 different labels"),
    "answers that are none": ("words", ["returned"], 7, "not a usable model file"),
    "names and features": ("words", ["by_name"], True, "not a usable model file"),
    "no words": ("words", ["by_name"], "yes", "by_name must be True or False"),
    "a vectorizer": ("attributes", ["vectorizer"], None, "not a usable model file"),
    "columns": ("attributes", ["vectorizer", "$vectorizer", "columns"], 7, "has 7 attributes and 6 features"),
    "no columns": ("attributes", ["vectorizer", "$vectorizer", "columns"], "w", "it has no w|w has float64"),
    "many columns": ("hashed", ["vectorizer", "$vectorizer", "columns"], 10**12, "columns must be a whole number"),
    "a vectorizer's option": ("hashed", ["vectorizer", "$vectorizer", "options", "x"], 1, "not a usable model file"),
    "a temperature": ("probabilities", ["temperature"], -1.0, "temperature must be a finite number > 0"),
    "a kernel": ("rbf", ["kernel", "parameters", "kind"], "sigmoid", "kind must be 'linear' or"),
    "a kernel of numbers": ("rbf", ["kernel", "parameters", "kind"], "precomputed", "kernel.support holds numbers"),
    "a degree": ("rbf", ["kernel", "parameters", "degree"], 0, "degree must be a whole number >= 1"),
    "a parameter": ("rbf", ["kernel", "parameters", "x"], 0, "not a usable model file"),
    "sparse inputs": ("rbf", ["kernel", "sparse"], True, "it has no kernel.data"),
    "no kernel": ("rbf", ["kernel"], None, "it has no w"),
}


@pytest.mark.parametrize("made_up", MADE_UP)
def test_headers_that_were_made_up(made_up, tmp_path):
    case, keys, value, message = MADE_UP[made_up]
    path = tmp_path / "model.bcfw"
    fitted("ChainSVM", case).save(path)
    file = model_file.read(path)
    model_file.write(path, file.kind, changed(file.header, keys, value), file.arrays.snapshot)
    with pytest.raises(InputError, match=message) as caught:
        bcfw.load(path)
    assert str(path) in str(caught.value)


def test_a_file_of_an_unknown_kind(tmp_path):
    model_file.write(tmp_path / "x", "recipe", {}, {})
    with pytest.raises(InputError, match="holds a 'recipe', which this bcfw does not know"):
        bcfw.load(tmp_path / "x")


#: What an array may become: of another length, type, shape, or with other numbers.
CHANGES = {
    "shorter": lambda a: a[:-1],
    "longer": lambda a: np.concatenate([a, a[:1]]),
    "whole numbers": lambda a: a.astype(np.int32),
    "real numbers": lambda a: a.astype(np.float32),
    "a table": lambda a: a.reshape(1, *a.shape),
    "infinite": lambda a: np.where(np.arange(len(a)) == 0, np.inf, a.astype(float).T).T,
    "large": lambda a: a + a.dtype.type(100),
    "negative": lambda a: a - a.dtype.type(100),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("ChainSVM", "sparse"),
        ("ChainSVM", "attributes"),
        ("ChainSVM", "rbf"),
        ("MulticlassSVM", "sparse rbf"),
        ("MulticlassSVM", "precomputed"),
        ("MultilabelSVM", "given tree"),
        ("MulticlassSVMCV", "folds"),
    ],
)
def test_arrays_that_were_made_up(name, case, change, tmp_path):
    """Every array in turn: an error that names the file, or a model that predicts and has other numbers."""
    path = tmp_path / "model.bcfw"
    svm = fitted(name, case)
    svm.save(path)
    file = model_file.read(path)
    for one, array in file.arrays.snapshot.items():
        if not array.ndim or not len(array):
            continue
        model_file.write(path, file.kind, file.header, {**file.arrays.snapshot, one: CHANGES[change](array)})
        try:
            twin = bcfw.load(path)
        except InputError as error:
            assert str(path) in str(error)  # noqa: PT017
            continue
        assert len(twin.predict(CASES[name][case][1])) == len(svm.predict(CASES[name][case][1]))


def test_headers_with_random_changes(tmp_path):
    """Pieces of one header put in the place of others: one clear error, or something that predicts or refuses to."""
    path = tmp_path / "model.bcfw"
    fitted("MultilabelSVM", "tree").save(path)
    file = model_file.read(path)
    rng, errors = random.Random(0), 0
    places = list(all_places(file.header))
    values = [None, -1, 0, 1.5, 10**18, "", "x", [], {}, [1], True, float("nan")]
    for _ in range(400):
        header = copy.deepcopy(file.header)
        for keys in rng.sample(places, 1 + rng.randrange(2)):
            other = rng.choice(values) if rng.random() < 0.5 else value_at(file.header, rng.choice(places))
            try:
                header = changed(header, keys, other)
            except (KeyError, IndexError, TypeError):
                continue
        model_file.write(path, file.kind, json.loads(json.dumps(header)), file.arrays.snapshot)
        try:
            twin = bcfw.load(path)
        except (InputError, OptionError) as error:
            assert str(path) in str(error)  # noqa: PT017
            errors += 1
            continue
        assert twin.predict(POINTS).shape == TARGETS.shape or not twin._is_indicator
    assert errors > 100


def all_places(value, keys=()):
    """The paths to all values in a header."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield [*keys, key]
        yield from all_places(one, (*keys, key))


def value_at(header, keys):
    for key in keys:
        header = header[key]
    return header


def test_loading_runs_nothing_of_a_file(tmp_path):
    """A file is read by a process that may not import, open or run anything that it has not before."""
    fitted("ChainSVM", "tuples").save(tmp_path / "first")
    fitted("MulticlassSVM", "sparse rbf").save(tmp_path / "second")
    code = f"""
import sys, bcfw
first = bcfw.load({str(tmp_path / "first")!r})
events = []
sys.addaudithook(lambda event, args: events.append(event))
bcfw.load({str(tmp_path / "second")!r})
print(*sorted(set(events)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    forbidden = {"exec", "compile", "import", "marshal.loads", "pickle.find_class", "os.system", "subprocess.Popen"}
    assert not set(done.stdout.split()) & forbidden
