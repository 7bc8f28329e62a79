"""Users' routines are tried before training: indices that lead outside arrays, losses and features that cannot be used.

Where a missing check could end the process, the cases run in one of their own (``hostile_models.py``).
"""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import bcfw
from bcfw.models.base.compiled import CompiledAdapter
from bcfw.passes.visits import block_pass
from problems import CASES, Bits

CASE = CASES["user-compiled"]


def bits(kind):
    return kind(CASE.model.cost, CASE.X[0].shape[0])


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The errors of all cases, twice: compiled in this run, and loaded from disk."""
    script = Path(__file__).with_name("hostile_models.py")
    environment = {**os.environ, "BCFW_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    runs = [
        subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=300)
        for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    first, second = (json.loads(run.stdout) for run in runs)
    assert first == second
    return first


@pytest.mark.parametrize(
    ("name", "kind", "example", "message"),
    [
        (
            "label 2000",
            "OracleError",
            7,
            r"index 2004 .* size 9 \(in Grades.add_features, .*: out\[F \+ y\[0\]\]",
        ),
        ("label 15", "OracleError", 7, "index 19 .* size 9"),
        ("label -2000", "OracleError", 7, "index -1996 .* size 9"),
        ("label beyond 32 bits", "ModelError", None, "example 7: the label 1099511627776 does not fit into 32 bits"),
        ("decorated routines", "OracleError", 7, "index 2004 .* size 9"),
        ("dim too small", "OracleError", 0, "size 6 .*check the labels and sizes that pack gives .* dim = 6"),
        ("offsets", "OracleError", 5, "IndexError"),
        ("predict", "OracleError", 0, r"\(in Grades.decode, .*: slope \+= w\[f\]"),
        ("oracle", "OracleError", 0, "IndexError"),
        ("features", "OracleError", 0, "index 2004 .* size 9"),
        ("check_model", "ModelError", None, "example 599: IndexError: index 2004 .* size 9"),
    ],
)
def test_nothing_is_read_or_written_outside_arrays(hostile, name, kind, example, message):
    error = hostile[name]
    assert (error["kind"], error["example"]) == (kind, example)
    assert re.search(message, error["message"]), error["message"]


@pytest.mark.usefixtures("steady_stopwatch")
def test_the_trial_changes_no_result_and_can_be_switched_off():
    class Trusted(Bits):
        checked = False

    tried, trusted = (bcfw.train(bits(kind), CASE.X, CASE.y, lam=CASE.lam, tol=0.01) for kind in (Bits, Trusted))
    np.testing.assert_array_equal(tried.w, trusted.w)
    np.testing.assert_array_equal(tried.predict(CASE.X), trusted.predict(CASE.X))
    assert CompiledAdapter(tried.model).trial_routines.checks_indices
    assert not CompiledAdapter(trusted.model).trial_routines.checks_indices
    assert not tried.model._routines.checks_indices


def test_training_itself_checks_no_indices():
    assert not Bits._routines.compiled_pass(block_pass).targetoptions.get("boundscheck")
    assert Bits._routines.checked.compiled_pass(block_pass).targetoptions["boundscheck"]


def test_labels_of_inputs_alone_may_be_anything():
    class Unknown(Bits):
        def pack(self, X, y=None):
            data = super().pack(X, y)
            return data if y is not None else data._replace(y=np.full(len(data.y), -999))

    result = bcfw.train(bits(Unknown), CASE.X, CASE.y, lam=CASE.lam, tol=0.05)
    expected = bcfw.train(bits(Bits), CASE.X, CASE.y, lam=CASE.lam, tol=0.05)
    np.testing.assert_array_equal(result.predict(CASE.X), expected.predict(CASE.X))


class NegativeLoss(Bits):
    @staticmethod
    def labeling_loss(data, i, y):
        return -1.0 * np.sum(y != data.y[data.y_off[i] : data.y_off[i + 1]])


class InfiniteFeatures(Bits):
    @staticmethod
    def add_features(data, i, y, s, out):
        out[0] += s * y[0] * np.inf


class LongLabels(Bits):
    @staticmethod
    def decode(data, i, w, loss_weight, y):
        y[:] = 2**40


class Raises(Bits):
    @staticmethod
    def decode(data, i, w, loss_weight, y):
        if i == 5:
            raise ValueError("no such word")
        y[:] = 0


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (NegativeLoss, r"example 0: labeling_loss is -\d on the oracle's output; it must be finite and >= 0"),
        (InfiniteFeatures, r"example \d: add_features gives a NaN or an infinity"),
        (LongLabels, "example 0: decode gives a label that does not fit into 32 bits"),
        (Raises, r"example 5: ValueError: no such word \(in Raises.decode, .*: raise ValueError\(\"no such word\"\)\)"),
    ],
)
def test_what_routines_get_wrong_names_the_example(kind, message):
    with pytest.raises(bcfw.OracleError, match=message):
        bcfw.train(bits(kind), CASE.X, CASE.y)


class RaisesLater(Bits):
    """Fails at small weights only, which are no weights of the trial."""

    @staticmethod
    def decode(data, i, w, loss_weight, y):
        size = np.sum(np.abs(w))
        if i == 3 and 0.0 < size < 1.0:
            raise ValueError("lost")
        for bit in range(y.shape[0]):
            y[bit] = 1 - data.y[data.y_off[i] + bit]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_routine_that_fails_while_training_names_the_example(n_jobs):
    with pytest.raises(bcfw.OracleError, match=r"example 3: ValueError: lost \(in RaisesLater.decode") as caught:
        bcfw.train(bits(RaisesLater), CASE.X, CASE.y, lam=10.0, n_jobs=n_jobs, solver="bcfw")
    assert caught.value.example == 3


def test_the_example_of_an_error_is_a_plain_number():
    error = pickle.loads(pickle.dumps(bcfw.OracleError("example 3: lost", np.int64(3))))
    assert type(error.example) is int


# --- mistakes in the class -----------------------------------------------------------------------------------------


def test_a_forgotten_staticmethod_is_named():
    with pytest.raises(bcfw.ModelError, match=r"Forgot\.labeling_loss is a routine: write @staticmethod"):

        class Forgot(Bits):
            def labeling_loss(self, data, i, y):
                return 0.0


def test_a_routine_with_other_arguments_is_named():
    message = r"Other\.decode must take \(data, i, w, loss_weight, y\), not \(data, i, w, y\)"
    with pytest.raises(bcfw.ModelError, match=message):

        class Other(Bits):
            @staticmethod
            def decode(data, i, w, y):
                y[:] = 0


def test_routines_may_be_compiled_already():
    class Compiled(Bits):
        decode = staticmethod(numba.njit(Bits.decode))
        labeling_loss = numba.njit(Bits.labeling_loss)

    assert bcfw.check_model(bits(Compiled), CASE.X, CASE.y) == []


@pytest.mark.parametrize("base", [bcfw.Model, Bits])
@pytest.mark.parametrize("value", ["no", 0, None])
def test_exact_oracle_is_true_or_false(base, value):
    with pytest.raises(bcfw.OptionError, match="Wrong: exact_oracle must be True or False"):
        type("Wrong", (base,), {"exact_oracle": value})


def test_checked_is_true_or_false():
    with pytest.raises(bcfw.OptionError, match="Wrong: checked must be True or False, got 'no'"):
        type("Wrong", (Bits,), {"checked": "no"})


def test_exact_oracle_of_an_instance_is_refused():
    """Training would read that of the class, and certify."""
    model = bits(Bits)
    model.exact_oracle = False
    with pytest.raises(bcfw.ModelError, match="exact_oracle is False here but not in the body of the class"):
        bcfw.train(model, CASE.X, CASE.y)


@pytest.mark.parametrize("count", ["many", -1.0, np.nan, [3]])
def test_oracle_operations_are_a_number(count):
    class Counted(Bits):
        def oracle_operations(self, data):
            return count

    with pytest.raises(bcfw.ModelError, match=r"Counted\.oracle_operations must return a number >= 0 or None"):
        bcfw.train(bits(Counted), CASE.X, CASE.y)
