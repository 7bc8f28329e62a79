"""Results in model files: every model, every solver, every kind of value comes back in every bit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.estimators.base import without_snapshot
from bcfw.solvers import BCFW, SOLVERS
from bcfw.storage import model_file
from bcfw.storage.checked_arrays import SavedArrays
from bcfw.storage.objects import model_header, saved_model, saved_solver, solver_header, unbound_model
from bcfw.storage.values import decode, encode
from problems import CASES, VARIANTS
from same import difference
from small_data import X2, Y2, Pick

pytestmark = pytest.mark.filterwarnings("ignore::bcfw.errors.ConvergenceWarning")

BUILT_IN = set(bcfw.models.MODELS.values())


def saved(arrays):
    return SavedArrays(arrays, "here")


@pytest.mark.parametrize("name", CASES)
def test_results_of_every_model_come_back(name, tmp_path):
    case = CASES[name]
    options = {"lam": case.lam, "bounds": case.bounds, "max_passes": 3}
    result = bcfw.train(case.model, case.X, case.y, **options)
    result.save(tmp_path / "x")
    given = None if type(case.model) in BUILT_IN else result.model
    again = bcfw.load(tmp_path / "x", model=given)
    assert difference(without_snapshot(result), again) is None
    assert difference(result.predict(case.X), again.predict(case.X)) is None
    assert again.summary() == result.summary()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if type(case.model) in BUILT_IN])
def test_models_come_back_before_and_after_they_are_bound(name):
    case, arrays = CASES[name], {}
    header = model_header(case.model, "model", arrays)
    assert difference(case.model, unbound_model(header, None, saved(arrays))) is None
    bound = case.model.bind(case.X, case.y)
    header = model_header(bound, "model", arrays)
    assert difference(bound, saved_model(header, None, saved(arrays))) is None


@pytest.mark.parametrize("name", [*VARIANTS, "KernelBCFW"])
def test_solvers_come_back(name):
    solver, arrays = VARIANTS.get(name, SOLVERS["kernel-bcfw"](gamma=np.float64(0.5))), {}
    assert difference(solver, saved_solver(solver_header(solver, arrays), saved(arrays))) is None


def test_the_last_iterate_of_an_average_comes_back(tmp_path):
    result = bcfw.train(bcfw.models.Multiclass(), X2, Y2, lam=0.1, solver=BCFW(averaging=True), max_passes=4)
    assert result.last is not None
    result.save(tmp_path / "x")
    again = bcfw.load(tmp_path / "x")
    assert difference(without_snapshot(result), again) is None
    assert again.last.gap != again.gap


def test_a_loaded_result_has_no_state_to_go_on_from(tmp_path):
    result = bcfw.train(bcfw.models.Multiclass(), X2, Y2, lam=0.1)
    result.save(tmp_path / "x")
    with pytest.raises(InputError, match="warm_start"):
        bcfw.train(bcfw.models.Multiclass(), X2, Y2, lam=0.1, warm_start=bcfw.load(tmp_path / "x"))


def test_a_result_of_a_users_model(tmp_path):
    result = bcfw.train(Pick(), X2, Y2, lam=0.1)
    result.save(tmp_path / "x")
    assert model_file.read(tmp_path / "x").header["model"] == {"class": "Pick", "sizes": {"dim": 6}}
    with pytest.raises(OptionError, match="model of your own, Pick"):
        bcfw.load(tmp_path / "x")
    assert bcfw.load(tmp_path / "x", model=Pick()).predict(X2) == result.predict(X2)


def test_names_of_classes_that_are_none(tmp_path):
    bcfw.train(Pick(), X2, Y2, lam=0.1).save(tmp_path / "x")
    file = model_file.read(tmp_path / "x")
    model_file.write(tmp_path / "x", file.kind, {**file.header, "model": {"class": "\x1b[2J"}}, file.arrays.snapshot)
    with pytest.raises(InputError, match=r"has a class '.x1b.2J', which is no name"):
        bcfw.load(tmp_path / "x")


def test_results_are_loaded_without_scikit_learn(tmp_path):
    bcfw.train(bcfw.models.Multiclass(), X2, Y2, lam=0.1).save(tmp_path / "x")
    code = f"import bcfw, sys; bcfw.load({str(tmp_path / 'x')!r}); assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# --- values


def numbers():
    kinds = st.one_of(
        hnp.boolean_dtypes(),
        hnp.integer_dtypes(),
        hnp.unsigned_integer_dtypes(),
        hnp.floating_dtypes(sizes=(16, 32, 64)),
    )
    return hnp.arrays(kinds, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))


def native(array):
    return array.astype(array.dtype.newbyteorder("="))


def scalars():
    plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=5))
    dtypes = st.sampled_from(["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])
    texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=4).map(np.str_)
    return plain | texts | dtypes.flatmap(lambda kind: hnp.from_dtype(np.dtype(kind)))


def values():
    leaves = scalars() | numbers().map(native)
    keys = (
        st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.tuples(st.integers(), st.text(max_size=2))
    )
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(keys, inner, max_size=3)
        ),
        max_leaves=8,
    )


@given(value=values())
def test_values_come_back(value, tmp_path_factory):
    """Through a file, as options do."""
    path, arrays = tmp_path_factory.getbasetemp() / "values.bcfw", {}
    header = {"value": encode(value, "value", arrays)}
    model_file.write(path, "result", header, arrays)
    file = model_file.read(path)
    assert difference(value, decode(file.header["value"], file.arrays)) is None


@pytest.mark.parametrize("texts", [["a", "bé\n"], [b"a", b"\xff\xfe"], ["", ""], []])
@pytest.mark.parametrize("dtype", [None, object])
def test_arrays_of_labels_come_back(texts, dtype):
    array, arrays = np.array(texts, dtype).reshape(1, -1), {}
    assert difference(array, decode(encode(array, "labels", arrays), saved(arrays))) is None


def test_wide_and_turned_arrays_come_back():
    for array in (np.array(["a"], "<U9"), np.arange(6.0).reshape(2, 3).T, np.arange(4)[::2], np.arange(3, dtype=">i4")):
        arrays = {}
        again = decode(encode(array, "it", arrays), saved(arrays))
        assert again.dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize(
    "value",
    [
        print,
        object(),
        {1, 2},
        1j,
        np.complex64(1),
        np.datetime64("2020"),
        np.array([1j]),
        range(3),
        Pick(),
        type,
        [[print]],
    ],
)
def test_what_is_no_data(value):
    with pytest.raises(InputError, match=r"^it(\.0)* is .* cannot be saved"):
        encode(value, "it", {})


@pytest.mark.parametrize("path", [b"model.bcfw", 3, None, ["model.bcfw"]], ids=repr)
def test_paths_are_texts_or_path_objects(path):
    result = bcfw.train(bcfw.models.Multiclass(), np.eye(2), [0, 1], tol=1.0)
    for call in (result.save, bcfw.load, bcfw.MulticlassSVM(tol=1.0).fit(np.eye(2), [0, 1]).save):
        with pytest.raises(bcfw.OptionError, match=r"model file must be a path, a text or a pathlib.Path, got"):
            call(path)
