"""Wrong options, data and models: each is one error that says what, where and what to do; unusual forms work."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.models import Chain, Matching, Multiclass
from bcfw.solvers import BCFW, SOLVERS, BatchFW, MultiPlane
from problems import CASES, Bits, Pairs

X2, Y2 = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.0]]), [0, 1, 1, 0]
CHAINS = [np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 1.0]]), np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 1.0]])]
LABELS = [[0, 1], [1], [0, 1, 0]]


# --- options -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLVERS.values(), ids=SOLVERS.keys())
def test_unknown_option_names_the_nearest(kind):
    with pytest.raises(bcfw.OptionError, match=rf"{kind.__name__} has no option 'zzz'"):
        kind(zzz=1)
    for name in kind._options:
        with pytest.raises(bcfw.OptionError, match=rf"{name}x'.*did you mean '{name}'"):
            kind(**{f"{name}x": 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling": "unifrom"}, "sampling must be 'permuted' or 'uniform' or 'cyclic' or .*, got 'unifrom'"),
        ({"sampling": None}, "sampling"),
        ({"step_size": 0.5}, "step_size"),
        ({"step": "away-ish"}, "step"),
        ({"averaging": 1}, "averaging must be True or False"),
        ({"gap_every": 0}, "gap_every"),
        ({"gap_every": 2.5}, "gap_every"),
        ({"gap_every": True}, "gap_every"),
        ({"gap_every": "10"}, "gap_every"),
    ],
)
def test_wrong_value_of_a_solver_option(options, message):
    with pytest.raises(bcfw.OptionError, match=message):
        BCFW(**options)


def test_contradicting_options():
    for first, second in (
        ({"step_size": "decay"}, {"step": "pairwise"}),
        ({"step_size": "decay"}, {"cache": "gap"}),
        ({"step_size": "decay"}, {"sampling": "gap"}),
        ({"averaging": True}, {"sampling": "max-gap"}),
        ({"away_corner": "gain"}, {"step": "away"}),
        ({"cache_F": 0.5}, {"cache": None}),
        ({"cache_nu": 0.5}, {"cache": None}),
        ({"max_labelings": 7}, {"cache": None}),
    ):
        (one,), (other,) = first, second
        with pytest.raises(bcfw.OptionError, match=f"{one}.*{other}|{other}.*{one}"):
            BCFW(**first, **second)
    for options in ({}, {"clock": "count", "passes": 3}):
        with pytest.raises(bcfw.OptionError, match="store_cost is only read with clock='count' and passes='auto'"):
            MultiPlane(store_cost=3.0, **options)


def test_options_are_keyword_only():
    with pytest.raises(TypeError):
        BCFW("uniform")


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "0.1", None, True])
def test_lam_must_be_positive(value):
    with pytest.raises(bcfw.OptionError, match="lam"):
        bcfw.train(Multiclass(), X2, Y2, lam=value)


@pytest.mark.parametrize(
    "options",
    [
        *({"tol": value} for value in (-1e-3, np.nan, "small", None)),
        *({"max_passes": value} for value in (0, -1, np.nan, "10", None)),
        *({"max_seconds": value} for value in (0, -1, np.nan, "10")),
        *({"n_jobs": value} for value in (0, -2, 1.5, "2", None)),
        *({"bounds": value} for value in ((0, 1, 2), np.zeros((2, 4)), "free", (1, 0), ("low", 1))),
        *({"solver": value} for value in (None, 3, "newton")),
        *({"warm_start": value} for value in (3, {"w": 1})),
        *({"checkpoint": value} for value in ("", 123, ("", 1.0))),
        *({"callbacks": value} for value in (None, [1], print)),
    ],
    ids=str,
)
def test_wrong_value_of_a_training_option(options):
    (name,) = options
    with pytest.raises(bcfw.OptionError, match=name):
        bcfw.train(Multiclass(), X2, Y2, **options)


def test_unknown_solver_names_the_nearest():
    with pytest.raises(bcfw.OptionError, match="did you mean 'batch-fw'"):
        bcfw.train(Multiclass(), X2, Y2, solver="batchfw")


@pytest.mark.parametrize("kind", SOLVERS.values(), ids=SOLVERS.keys())
def test_solver_class_instead_of_an_instance(kind):
    with pytest.raises(bcfw.OptionError, match=rf"give an instance, {kind.__name__}\(\)"):
        bcfw.train(Multiclass(), X2, Y2, solver=kind)


@pytest.mark.parametrize("name", SOLVERS)
def test_solver_by_name(name):
    result = bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.1, solver=name)
    assert result.status == "converged"
    assert repr(result.solver) == repr(BCFW() if name == "auto" else SOLVERS[name]())  # a small problem


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1], "4"),
        (np.ones((4, 1)), "4"),
        (2.0, "4"),
        ([1, -1, 1, 1], "example 1"),
        ([1, 1, np.nan, 1], "example 2"),
        ([1, 1, 1, np.inf], "example 3"),
        ([0, 0, 0, 0], "zero"),
        ([1e308] * 4, "too large"),
        (["a", "b", "c", "d"], "number"),
    ],
)
def test_wrong_sample_weights(weight, message):
    with pytest.raises(bcfw.InputError, match=rf"sample_weight.*{message}"):
        bcfw.train(Multiclass(), X2, Y2, sample_weight=weight)


# --- warm starts and checkpoints of something else ---------------------------------------------------------------


def test_warm_start_of_another_problem(tmp_path):
    result = bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.5, checkpoint=tmp_path / "state.npz")
    for warm_start in (result, tmp_path / "state.npz"):
        with pytest.raises(bcfw.InputError, match="examples is 4 there and 3 here"):
            bcfw.train(Multiclass(), X2[:3], Y2[:3], warm_start=warm_start)
        with pytest.raises(bcfw.InputError, match="dim is 4 there and 6 here"):
            bcfw.train(Multiclass(n_labels=3), X2, Y2, warm_start=warm_start)
        with pytest.raises(bcfw.InputError, match="model is Multiclass there and Chain here"):
            bcfw.train(Chain(), [x[None] for x in X2], [[k] for k in Y2], warm_start=warm_start)


def test_warm_start_with_other_lengths_of_sequences():
    """As many examples and as many weights, but the positions do not fit."""
    model = Chain(n_labels=2)
    result = bcfw.train(model, CHAINS, LABELS, lam=1.0, tol=0.5)
    with pytest.raises(bcfw.InputError, match="other data"):
        bcfw.train(model, [x[:1] for x in CHAINS], [y[:1] for y in LABELS], warm_start=result)


def test_result_without_a_state():
    result = bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.5)
    with pytest.raises(bcfw.InputError, match="warm_start"):
        bcfw.train(Multiclass(), X2, Y2, warm_start=dataclasses.replace(result, snapshot={}))


def test_file_that_is_no_checkpoint(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "other.npz", a=1)
    np.savez(tmp_path / "foreign.npz", version=1, a=1)
    np.save(tmp_path / "array.npy", np.ones(3))
    for name in ("text.npz", "empty.npz", "other.npz", "foreign.npz", "array.npy", "missing.npz"):
        with pytest.raises(bcfw.InputError, match=re.escape(name)):
            bcfw.train(Multiclass(), X2, Y2, warm_start=tmp_path / name)


def test_checkpoint_of_a_newer_version(tmp_path):
    path = tmp_path / "state.npz"
    bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.5, checkpoint=path)
    arrays = dict(np.load(path)) | {"version": 999}
    np.savez(path, **arrays)
    with pytest.raises(bcfw.InputError, match="newer"):
        bcfw.train(Multiclass(), X2, Y2, warm_start=path)


def test_checkpoint_that_cannot_be_written_fails_before_training(tmp_path):
    """Not after hours of work."""
    passes = []
    for path, message in ((tmp_path / "no" / "a.npz", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(bcfw.InputError, match=f"checkpoint.*{message}"):
            bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.01, checkpoint=path, callbacks=[passes.append])
    assert passes == []
    assert list(tmp_path.iterdir()) == []


# --- data --------------------------------------------------------------------------------------------------------


def with_value(X, i, j, value):
    X = np.array(X, float)
    X[i, j] = value
    return X


BAD_MULTICLASS = {
    "nan": (with_value(X2, 3, 0, np.nan), Y2, "example 3"),
    "inf": (with_value(X2, 1, 1, np.inf), Y2, "example 1"),
    "nan in csr": (sp.csr_matrix(with_value(X2, 2, 0, np.nan)), Y2, "example 2"),
    "nan in csc": (sp.csc_array(with_value(X2, 2, 0, np.nan)), Y2, "example 2"),
    "ragged": ([[0, 1], [1, 0], [1], [2, 0]], Y2, "example 2"),
    "complex": (X2 + 1j, Y2, "complex"),
    "text": ([["a", "b"]] * 4, Y2, "real numbers"),
    "one dimension": (X2[:, 0], Y2, "two-dimensional"),
    "three dimensions": (X2[None], Y2, "two-dimensional"),
    "lengths": (X2, Y2[:3], "4.*3"),
    "empty": (X2[:0], [], "empty"),
    "negative label": (X2, [0, 1, -1, 0], "example 2"),
    "fractional label": (X2, [0, 1, 1, 0.5], "example 3"),
    "nan label": (X2, [0, np.nan, 1, 0], "example 1"),
    "text label": (X2, ["a", "b", "a", "b"], "whole numbers"),
    "missing label": (X2, [0, 1, None, 0], "labels"),
    "two labels": (X2, [[0, 1]] * 4, "one label per example"),
}


@pytest.mark.parametrize(("X", "y", "message"), BAD_MULTICLASS.values(), ids=BAD_MULTICLASS.keys())
def test_bad_multiclass_data(X, y, message):
    with pytest.raises(bcfw.InputError, match=message):
        bcfw.train(Multiclass(), X, y)


def replaced(sequence, i, value):
    return [*sequence[:i], value, *sequence[i + 1 :]]


BAD_CHAINS = {
    "nan": (replaced(CHAINS, 2, with_value(CHAINS[2], 1, 0, np.nan)), LABELS, "example 2.*position 1"),
    "inf": (replaced(CHAINS, 0, with_value(CHAINS[0], 1, 0, -np.inf)), LABELS, "example 0.*position 1"),
    "nan in csr": (replaced(CHAINS, 1, sp.csr_matrix([[0.0, np.nan]])), LABELS, "example 1.*position 0"),
    "features": (replaced(CHAINS, 1, np.ones((1, 3))), LABELS, "example 1 has 3 features, expected 2"),
    "empty sequence": (replaced(CHAINS, 1, np.ones((0, 2))), replaced(LABELS, 1, []), "example 1"),
    "one dimension": (replaced(CHAINS, 2, np.ones(3)), LABELS, "example 2"),
    "first of one dimension": (replaced(CHAINS, 0, np.ones(2)), LABELS, "example 0"),
    "ragged": (replaced(CHAINS, 2, [[1, 2], [1], [1, 2]]), LABELS, "example 2"),
    "first ragged": (replaced(CHAINS, 0, [[1, 2], [1]]), LABELS, "example 0"),
    "complex": (replaced(CHAINS, 1, np.array([[1j, 0]])), LABELS, "example 1.*complex"),
    "text": (replaced(CHAINS, 1, [["a", "b"]]), LABELS, "example 1"),
    "lengths": (CHAINS, LABELS[:2], "3.*2"),
    "empty": ([], [], "empty"),
    "too few labels": (CHAINS, replaced(LABELS, 2, [0, 1]), "example 2 has 3 positions"),
    "scalar label": (CHAINS, replaced(LABELS, 1, 1), "example 1"),
    "negative label": (CHAINS, replaced(LABELS, 2, [0, -1, 0]), "example 2"),
    "fractional label": (CHAINS, replaced(LABELS, 2, [0, 0.5, 0]), "example 2"),
    "nan label": (CHAINS, replaced(LABELS, 0, [0, np.nan]), "example 0"),
    "text label": (CHAINS, replaced(LABELS, 2, ["a", "b", "a"]), "example 2"),
    "missing label": (CHAINS, replaced(LABELS, 1, None), "example 1"),
}


@pytest.mark.parametrize(("X", "y", "message"), BAD_CHAINS.values(), ids=BAD_CHAINS.keys())
def test_bad_chain_data(X, y, message):
    with pytest.raises(bcfw.InputError, match=message):
        bcfw.train(Chain(), X, y)


def test_labels_beyond_n_labels():
    with pytest.raises(bcfw.InputError, match=r"example 2 has label 5.*0 \.\. 1"):
        bcfw.train(Multiclass(n_labels=2), X2, [0, 1, 5, 0])
    with pytest.raises(bcfw.InputError, match=r"example 2 has label 7.*0 \.\. 1"):
        bcfw.train(Chain(n_labels=2), CHAINS, replaced(LABELS, 2, [0, 7, 1]))


def test_bad_data_for_prediction():
    flat = bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.5)
    chain = bcfw.train(Chain(), CHAINS, LABELS, lam=1.0, tol=0.5)
    with pytest.raises(bcfw.InputError, match="3 features, expected 2"):
        flat.predict(np.ones((2, 3)))
    with pytest.raises(bcfw.InputError, match="example 1"):
        flat.predict(with_value(X2, 1, 0, np.nan))
    with pytest.raises(bcfw.InputError, match="example 1 has 3 features"):
        chain.predict([np.ones((2, 2)), np.ones((2, 3))])
    with pytest.raises(bcfw.InputError, match="shape"):
        flat.model.predict(flat.w[:-1], X2)


@pytest.mark.parametrize("kind", [Multiclass, Chain])
@pytest.mark.parametrize(
    "options",
    [
        {"n_labels": 0},
        {"n_labels": -1},
        {"n_labels": 2.5},
        {"n_labels": "2"},
        {"cost": np.ones((3, 3)) - np.eye(3)},
        {"cost": [0, 1]},
        {"cost": [[0, -1], [1, 0]]},
        {"cost": [[0, np.nan], [1, 0]]},
        {"cost": [[0, np.inf], [1, 0]]},
        {"cost": [[1, 1], [1, 0]]},
        {"cost": [["a", "b"], ["c", "d"]]},
    ],
    ids=str,
)
def test_wrong_options_of_a_model(kind, options):
    (name,) = options
    data = (X2, Y2) if kind is Multiclass else (CHAINS, LABELS)
    with pytest.raises(bcfw.OptionError, match=name):
        bcfw.train(kind(**options), *data)


@pytest.mark.parametrize("kind", [Multiclass, Chain])
def test_unbound_models_ask_for_data(kind):
    model = kind(n_labels=2)
    for call in (
        lambda: model.features(CHAINS[0], [0, 1]),
        lambda: model.loss(0, 1),
        lambda: model.predict(np.zeros(4), X2),
        lambda: model.oracle(np.zeros(4), X2[0]),
    ):
        with pytest.raises(bcfw.OptionError, match="bind"):
            call()


# --- unusual forms of good data ----------------------------------------------------------------------------------


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def strided(array):
    """A view that is contiguous along no axis."""
    wide = np.zeros(tuple(2 * size for size in array.shape), array.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


FORMS = {
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "int64": lambda x: x.astype(np.int64),
    "int8": lambda x: x.astype(np.int8),
    "fortran": np.asfortranarray,
    "read-only": read_only,
    "strided": strided,
    "big-endian": lambda x: x.astype(">f8"),
    "lists": lambda x: x.astype(int).tolist(),
    "objects": lambda x: x.astype(object),
}


def convert(X, form):
    """Apply ``form`` to every array in a nested list, or to the values of a sparse matrix; edges of graphs stay."""
    if isinstance(X, tuple):
        nodes, edges, values = X
        return convert(nodes, form), edges, convert(values, form)
    if isinstance(X, list):
        return [convert(x, form) for x in X]
    return form(X)


BUILT_IN = [name for name, case in CASES.items() if type(case.model) in bcfw.models.MODELS.values()]
DENSE = [name for name in BUILT_IN if "csr" not in name]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("name", DENSE)
def test_inputs_of_any_form_train_the_same(name, form):
    case = CASES[name]
    whole = dataclasses.replace(case, X=convert(case.X, lambda x: np.round(2.0 * x)))
    expected = whole.few_passes(2, solver="bcfw")
    got = dataclasses.replace(whole, X=convert(whole.X, form)).few_passes(2, solver="bcfw")
    np.testing.assert_array_equal(got.w, expected.w)
    for a, b in zip(got.predict(convert(whole.X, form)), expected.predict(whole.X), strict=True):
        np.testing.assert_array_equal(a, b)


LABEL_FORMS = {
    "int32": lambda y: np.array(y, np.int32),
    "one byte": lambda y: np.array(y, np.int8 if np.min(y) < 0 else np.uint8),
    "float": lambda y: np.array(y, float),
    "list": lambda y: np.asarray(y).tolist(),
    "read-only": lambda y: read_only(np.array(y)),
    "strided": lambda y: strided(np.array(y)),
}


@pytest.mark.parametrize("form", LABEL_FORMS.values(), ids=LABEL_FORMS.keys())
@pytest.mark.parametrize("name", DENSE)
def test_labels_of_any_form_train_the_same(name, form):
    case = CASES[name]
    y = convert(case.y, form)
    np.testing.assert_array_equal(
        dataclasses.replace(case, y=y).few_passes(2, solver="bcfw").w, case.few_passes(2, solver="bcfw").w
    )


def change_csr(x, data=np.float64, index=np.int32, writeable=True):
    csr = sp.csr_matrix(x, copy=True)
    csr.data, csr.indices, csr.indptr = csr.data.astype(data), csr.indices.astype(index), csr.indptr.astype(index)
    for part in (csr.data, csr.indices, csr.indptr):
        part.flags.writeable = writeable
    return csr


@pytest.mark.parametrize(
    "options", [{"data": np.float32}, {"data": np.int64}, {"index": np.int64}, {"writeable": False}], ids=str
)
@pytest.mark.parametrize("name", ["multiclass-csr", "chain-no-ends-sum-csr", "multilabel-forest-sum-csr"])
def test_sparse_inputs_of_any_type_train_the_same(name, options):
    case = CASES[name]
    whole = dataclasses.replace(case, X=convert(case.X, lambda x: np.round(2.0 * x)))
    got = dataclasses.replace(whole, X=convert(whole.X, lambda x: change_csr(x, **options)))
    np.testing.assert_array_equal(got.few_passes(2, solver="bcfw").w, whole.few_passes(2, solver="bcfw").w)


def test_sequences_may_come_as_one_array():
    X, y = np.ones((3, 2, 2)), np.array([[0, 1], [1, 1], [0, 0]])
    expected = bcfw.train(Chain(), list(X), list(y), lam=1.0, tol=0.1)
    np.testing.assert_array_equal(bcfw.train(Chain(), X, y, lam=1.0, tol=0.1).w, expected.w)


def test_numbers_of_numpy_are_numbers():
    result = bcfw.train(
        Multiclass(n_labels=np.int64(2)),
        X2,
        Y2,
        lam=np.float32(0.5),
        tol=np.float64(0.1),
        max_passes=np.int64(50),
        n_jobs=np.int64(1),
        solver=BCFW(gap_every=np.int64(2)),
    )
    assert result.status == "converged"


class Converting(Pairs):
    """Features as another form of array."""

    form = staticmethod(lambda vector: vector)

    def features(self, x, y):
        return self.form(super().features(x, y))


FEATURE_FORMS = {
    "float32": lambda v: v.astype(np.float32),
    "read-only": read_only,
    "strided": strided,
    "row": lambda v: v[None],
    "column": lambda v: v[:, None],
    "list": lambda v: v.tolist(),
    "csr": sp.csr_matrix,
    "csr of integers": lambda v: sp.csr_array(v[None].astype(int)),
    "lil column": lambda v: sp.lil_matrix(v[:, None]),
    "dok": lambda v: sp.dok_matrix(v[None]),
}


@pytest.mark.parametrize("form", FEATURE_FORMS.values(), ids=FEATURE_FORMS.keys())
def test_features_of_a_users_model_may_have_any_form(form):
    base = CASES["dense-features"]
    whole = dataclasses.replace(base, X=[np.round(2.0 * x) for x in base.X])
    model = Converting(base.model.K, base.model.cost)
    model.form = form
    got = dataclasses.replace(whole, model=model).few_passes(3, solver="bcfw")
    np.testing.assert_allclose(got.w, whole.few_passes(3, solver="bcfw").w, rtol=0, atol=1e-12)


class Reusing(Pairs):
    """Writes its features to the same array every time."""

    def features(self, x, y):
        vector = super().features(x, y)
        if not hasattr(self, "out"):
            self.out = np.empty_like(vector)
        self.out[:] = vector
        return self.out


def test_features_may_be_written_to_the_same_array_every_time():
    base = CASES["dense-features"]
    got = dataclasses.replace(base, model=Reusing(base.model.K, base.model.cost)).few_passes(3)
    np.testing.assert_array_equal(got.w, base.few_passes(3).w)


def test_weights_of_any_form_decode_the_same():
    case = CASES["chain-cost"]
    model = case.model.bind(case.X, case.y)
    w = np.round(np.random.default_rng(0).standard_normal(model.dim) * 4)
    expected = model.predict(w, case.X)
    for form in (read_only, strided, np.float32, np.int64, list):
        for a, b in zip(model.predict(form(w), case.X), expected, strict=True):
            np.testing.assert_array_equal(a, b)


# --- models of a user's own --------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["features", "loss", "oracle"])
def test_model_without_a_method_says_which(missing):
    methods = {name: getattr(Pairs, name) for name in ("features", "loss", "oracle", "outputs") if name != missing}
    incomplete = type("Incomplete", (bcfw.Model,), methods)()
    incomplete.K, incomplete.cost = 3, 1.0 - np.eye(3)
    case = CASES["dense-features"]
    with pytest.raises(bcfw.BcfwError, match=rf"Incomplete needs a method {missing}"):
        bcfw.train(incomplete, case.X, case.y)


@pytest.mark.parametrize("missing", ["Data", "decode", "labeling_loss", "add_features"])
def test_compiled_model_without_a_kernel_says_which(missing):
    parts = {name: vars(Bits)[name] for name in ("Data", "decode", "labeling_loss", "add_features") if name != missing}
    with pytest.raises(bcfw.ModelError, match=rf"Incomplete must define {missing}"):
        type("Incomplete", (bcfw.CompiledModel,), parts)


def test_compiled_model_without_dim_asks_for_it():
    case = CASES["user-compiled"]
    model = Bits(case.model.cost, 3)
    model.dim = None
    with pytest.raises(bcfw.OptionError, match="dim"):
        bcfw.train(model, case.X, case.y)


def test_check_model_accepts_good_models(case):
    remarks = bcfw.check_model(case.model, case.X, case.y)
    assert all(case.name.startswith("matching") and "the truth is not among" in remark for remark in remarks)


class NotMaximal(Pairs):
    """The second label is chosen first: a greedy decoder."""

    def oracle(self, w, x, y_true=None):
        if y_true is None:
            return super().oracle(w, x)
        return max(((0, b) for b in range(self.K)), key=lambda y: w @ self.features(x, y) + self.loss(y_true, y))


class PlainNotMaximal(Pairs):
    """Only plain decoding is wrong."""

    def oracle(self, w, x, y_true=None):
        return super().oracle(w if y_true is not None else -w, x, y_true)


class ForgetsTheLoss(Pairs):
    def oracle(self, w, x, y_true=None):
        return super().oracle(w, x)


class LossOnTheTruth(Pairs):
    def loss(self, y_true, y):
        return 0.25 + super().loss(y_true, y)


class NegativeLoss(Pairs):
    def loss(self, y_true, y):
        return -super().loss(y_true, y)


class OtherSizes(Pairs):
    def features(self, x, y):
        return super().features(x, y)[: 10 + y[0]]

    def oracle(self, w, x, y_true=None):
        return (2, 2)


class NotFinite(Pairs):
    def features(self, x, y):
        return super().features(x, y) / (0.0 if y[0] == y[1] else 1.0)


class Crashing(Pairs):
    def loss(self, y_true, y):
        raise KeyError("lost")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (NotMaximal, r"oracle\(w, x, y_true\) is not maximal"),
        (PlainNotMaximal, r"oracle\(w, x\) is not maximal"),
        (ForgetsTheLoss, r"oracle\(w, x, y_true\) is not maximal"),
        (LossOnTheTruth, r"loss\(y, y\) = 0.25"),
        (NegativeLoss, r"loss\(y_true, y\) = -"),
        (OtherSizes, "features.*numbers, but dim"),
        (NotFinite, "NaN or an infinity"),
        (Crashing, "KeyError.*lost"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_check_model_finds_mistakes(kind, message):
    case = CASES["dense-features"]
    with pytest.raises(bcfw.ModelError, match=rf"(?s){kind.__name__}.*example \d+: .*{message}"):
        bcfw.check_model(kind(case.model.K, case.model.cost), case.X, case.y)


class WithoutTruth(Pairs):
    def outputs(self):
        return [(a, b) for a, b in super().outputs() if a != b]


def test_check_model_remarks_a_truth_outside_the_outputs():
    case = CASES["dense-features"]
    y = [(0, 1), (1, 1), (1, 2), (2, 2), (0, 2), (2, 0)]
    remarks = bcfw.check_model(WithoutTruth(case.model.K, case.model.cost), case.X, y)
    about_truths = [remark for remark in remarks if "not among the oracle's outputs" in remark]
    assert {int(re.match(r"example (\d+): ", remark)[1]) for remark in about_truths} == {1, 3}


def test_check_model_finds_mistakes_in_a_compiled_model():
    case = CASES["user-compiled"]

    class Wrong(Bits):
        @staticmethod
        def decode(data, i, w, loss_weight, y):
            for bit in range(y.shape[0]):
                y[bit] = 1 - data.y[data.y_off[i] + bit]

    with pytest.raises(bcfw.ModelError, match="not maximal"):
        bcfw.check_model(Wrong(case.model.cost, 3), case.X, case.y)


def test_results_show_their_solver_and_options():
    assert repr(BCFW(sampling="uniform", gap_every=3)) == "BCFW(sampling='uniform', gap_every=3)"
    assert repr(BatchFW()) == "BatchFW()"


# --- mistakes in compiled models ---------------------------------------------------------------------------------


class LossOfTruth(Bits):
    @staticmethod
    def labeling_loss(data, i, y):
        return 1.0


class OtherLoss(Bits):
    def loss(self, y_true, y):
        return 3.0 * super().loss(y_true, y)


class NegativeKernelLoss(Bits):
    @staticmethod
    def labeling_loss(data, i, y):
        return -1.0 * np.sum(y != data.y[data.y_off[i] : data.y_off[i + 1]])


class WritesOutside(Bits):
    @staticmethod
    def add_features(data, i, y, s, out):
        out[out.shape[0] + y[0]] += s


class Misspelt(Bits):
    @staticmethod
    def decode(data, i, w, loss_weight, y):
        y[0] = undefined_name  # noqa: F821


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (LossOfTruth, r"loss\(y, y\) = 1 on the truth"),
        (OtherLoss, r"labeling_loss gives .* and loss\(y_true, y\)"),
        (NegativeKernelLoss, r"loss\(y_true, y\) = -"),
        (WritesOutside, "IndexError"),
        (Misspelt, "NameError.*undefined_name"),
    ],
)
def test_check_model_runs_the_kernels(kind, message):
    case = CASES["user-compiled"]
    model = kind(case.model.cost, case.X[0].shape[0])
    with pytest.raises(bcfw.ModelError, match=rf"(?s)example \d+: .*{message}"):
        bcfw.check_model(model, case.X, case.y)
    with pytest.raises(bcfw.ModelError, match="example"):
        bcfw.StructuralSVM(model).fit(case.X, case.y)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (LossOfTruth, "example 0: labeling_loss is 1 on the truth; it must be 0"),
        (Misspelt, "Misspelt: numba cannot compile its kernels.*bcfw.check_model"),
    ],
)
def test_training_finds_mistakes_in_kernels(kind, message):
    case = CASES["user-compiled"]
    with pytest.raises(bcfw.ModelError, match=message):
        bcfw.train(kind(case.model.cost, case.X[0].shape[0]), case.X, case.y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: tuple(data), "must return a Data, got tuple"),
        (lambda data: None, "must return a Data, got NoneType"),
        (lambda data: data._replace(y_off=data.y_off[:-1]), r"y_off must hold n \+ 1 = 9 offsets .* got 8"),
        (lambda data: data._replace(y_off=data.y_off + 1), "rise from 0"),
        (lambda data: data._replace(y_off=data.y_off[::-1].copy()), "rise from 0"),
        (lambda data: data._replace(y=data.y[:-1]), r"to len\(y\) = 23"),
        (lambda data: data._replace(y=data.y.astype(float)), "field y must be a 1-D array of whole numbers"),
        (lambda data: data._replace(y_off=data.y_off.tolist()), "field y_off must be a 1-D array of whole numbers"),
    ],
)
def test_packed_data_are_checked(change, message):
    case = CASES["user-compiled"]

    class Repacked(Bits):
        def pack(self, X, y=None):
            return change(super().pack(X, y))

    with pytest.raises(bcfw.ModelError, match=rf"Repacked\.pack.*{message}"):
        bcfw.train(Repacked(case.model.cost, case.X[0].shape[0]), case.X, case.y)


# --- what users give ---------------------------------------------------------------------------------------------


class Table:
    """Looks rows up by their names, as a pandas object whose rows were shuffled does."""

    def __init__(self, values, names):
        self.values, self.names = np.asarray(values), list(names)
        self.iloc = self.values
        self.shape = self.values.shape

    def __len__(self):
        return len(self.values)

    def __getitem__(self, name):
        return self.values[self.names.index(name)]

    def to_numpy(self):
        return self.values


def test_tables_are_read_by_position():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    y = (X[:, 0] > 0).astype(int)
    names = rng.permutation(20)
    tables = Table(X, names), Table(y, names)

    class Pick(bcfw.Model):
        def features(self, x, y):
            return np.concatenate([x * (y == 0), x * (y == 1)])

        def loss(self, y_true, y):
            return float(y != y_true)

        def oracle(self, w, x, y_true=None):
            return max((0, 1), key=lambda y: w @ self.features(x, y) + (y_true is not None and y != y_true))

    assert bcfw.check_model(Pick(), *tables) == []
    for model in (Pick(), Multiclass()):
        expected = bcfw.StructuralSVM(model).fit(X, y)
        svm = bcfw.StructuralSVM(model).fit(*tables)
        assert np.array_equal(svm.coef_, expected.coef_)
        assert svm.score(*tables) == expected.score(X, y) > 0.9
        assert np.array_equal(svm.decision_function(tables[0]), expected.decision_function(X))
        assert np.array_equal(bcfw.train(model, *tables).predict(tables[0]), bcfw.train(model, X, y).predict(X))


@pytest.mark.parametrize(
    "data",
    [(None, [0]), ((x for x in X2), Y2), (X2, 5), (np.float64(3.0), Y2)],
    ids=["none", "generator", "number", "scalar"],
)
def test_data_that_are_no_sequences(data):
    for model in (Chain(), Matching(), Pairs(2, np.ones((2, 2)))):
        with pytest.raises(bcfw.InputError, match="X and y must be sequences of examples"):
            bcfw.train(model, *data)


class ArrayLoss(Pairs):
    def loss(self, y_true, y):
        return np.zeros(2)


class NoFeatures(Pairs):
    def features(self, x, y):
        raise ZeroDivisionError("no features")


class ComplexFeatures(Pairs):
    def features(self, x, y):
        return super().features(x, y) * 1j


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Crashing, r"example 0: KeyError in loss\(y, y\): 'lost'"),
        (ArrayLoss, r"example 0: TypeError in loss\(y, y\)"),
        (NoFeatures, r"example 0: features\(x, y\) failed: ZeroDivisionError: no features"),
        (ComplexFeatures, "example 0: .*they are complex"),
    ],
)
def test_mistakes_on_a_truth_name_the_example(kind, message):
    case = CASES["dense-features"]
    with pytest.raises(bcfw.OracleError, match=message):
        bcfw.train(kind(case.model.K, case.model.cost), case.X, case.y)


@pytest.mark.parametrize("dim", [3.0, "3", 0, -1])
def test_dim_is_a_positive_whole_number(dim):
    case = CASES["dense-features"]
    model = Pairs(case.model.K, case.model.cost)
    model.dim = dim
    with pytest.raises(bcfw.ModelError, match="Pairs: dim must be a whole number >= 1"):
        bcfw.train(model, case.X, case.y)


@pytest.mark.parametrize(("model", "options"), [(Multiclass, {}), (None, {}), (Multiclass(), {"n_examples": 0})])
def test_arguments_of_check_model(model, options):
    with pytest.raises(bcfw.OptionError, match="n_examples" if options else "model must be an instance"):
        bcfw.check_model(model, X2, Y2, **options)
