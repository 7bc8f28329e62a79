"""What solvers see of a user's class, what models and solvers need of each other, and a run of anything else."""

from __future__ import annotations

import time
from typing import ClassVar

import numpy as np
import pytest

import bcfw
from bcfw.models.form import NEEDS, OFFERS
from bcfw.models.hooks import HOOKS, hook
from bcfw.run import Info, Run
from bcfw.solvers import SOLVERS, Solver
from problems import CASES, Bits, Pairs

#: Names that solvers use of the form of a model; a user's class may use them for anything.
FORM_NAMES = [name for name in dir(bcfw.models.Chain) if not name.startswith("_") and not hasattr(bcfw.Model, name)]


# --- a user's own attributes -------------------------------------------------------------------------------------


def test_a_model_has_three_methods_to_write_and_few_hooks():
    public = {name for name in dir(bcfw.Model) if not name.startswith("_")}
    assert public == {"features", "loss", "oracle", "dim", "exact_oracle", *HOOKS}


@pytest.mark.parametrize("value", [None, 3.5, "word", (0, 1)], ids=repr)
def test_attributes_with_the_names_of_hooks_are_the_users_own(value):
    """Set on the instance: results are those of the model without them."""
    case = CASES["dense-features"]
    model = Pairs(case.model.K, case.model.cost)
    for name in (*HOOKS, *FORM_NAMES):
        setattr(model, name, value)
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.01)
    expected = case.train(tol=0.01)
    np.testing.assert_array_equal(result.w, expected.w)
    assert result.predict(case.X) == expected.predict(case.X)
    remarks = bcfw.check_model(model, case.X, case.y)
    for name in HOOKS:
        assert any(remark.startswith(f"{name} is a hook") for remark in remarks), name


def test_class_attributes_that_are_no_methods_are_the_users_own():
    class Own(Pairs):
        bounds = (0.0, 1e-9)
        oracle_operations = property(lambda self: 1 / 0)
        fingerprint: ClassVar[dict] = {}
        kernels, pack, name = "linear", [], "own"

        class upper_bound:
            """A class is no method either."""

    case = CASES["dense-features"]
    model = Own(case.model.K, case.model.cost)
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.01)
    np.testing.assert_array_equal(result.w, case.train(tol=0.01).w)
    remarks = bcfw.check_model(model, case.X, case.y)
    assert [remark.split()[0] for remark in remarks] == ["bounds", "upper_bound", "oracle_operations", "fingerprint"]


@pytest.mark.parametrize("kind", ["plain", "static", "class", "inherited"])
def test_methods_of_every_kind_override_hooks(kind):
    lower = -0.01

    def limits(*_):
        return lower, 0.02

    decorate = {"static": staticmethod, "class": classmethod}.get(kind, lambda method: method)
    base = type("Limited", (Pairs,), {"bounds": decorate(limits)})
    own = type("Own", (base,), {}) if kind == "inherited" else base
    case = CASES["dense-features"]
    model = own(case.model.K, case.model.cost)
    model.bounds = "not this one"
    assert hook(model, "bounds")() == (lower, 0.02)
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.1)
    assert lower <= result.w.min() < result.w.max() <= 0.02


def test_what_features_change_stays_in_the_bound_copy():
    class Remembers(Pairs):
        def features(self, x, y):
            self.seen = True
            return super().features(x, y)

    case = CASES["dense-features"]
    model = Remembers(case.model.K, case.model.cost)
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.1)
    assert not hasattr(model, "seen")
    assert result.model.seen


def test_compiled_models_keep_their_attributes_too():
    case = CASES["user-compiled"]
    model = Bits(case.model.cost, len(case.X[0]))
    for name in (*HOOKS, "kernels", "make_work", "initial_mu", "saves_labelings"):
        setattr(model, name, "own")
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.01)
    np.testing.assert_array_equal(result.w, case.train(tol=0.01).w)


# --- needs and offers --------------------------------------------------------------------------------------------


class Demanding(Solver):
    needs = frozenset({"part space", "exact oracle"})
    handles = frozenset({"heuristic oracle"})

    def solve(self, problem, run, rng):
        raise AssertionError("it must not begin")


def test_a_model_that_offers_too_little_is_one_error():
    case = CASES["dense-features"]
    message = "Demanding needs block averages of parts.*Pairs does not offer; use another solver or model"
    with pytest.raises(bcfw.OptionError, match=message):
        case.train(solver=Demanding())


@pytest.mark.parametrize(("name", "bounds"), [("graph-cost", None), ("multiclass-cost", (-1, 1))])
def test_a_solver_that_handles_too_little_is_one_error(name, bounds):
    """Bounds of the model's own, or of the user's."""
    solver = Demanding()
    solver.needs = frozenset()
    with pytest.raises(bcfw.OptionError, match="Demanding cannot handle bounds on the weights w"):
        CASES[name].train(solver=solver, bounds=bounds)


def test_a_heuristic_oracle_is_no_exact_one():
    class Guess(Pairs):
        exact_oracle = False

    case = CASES["dense-features"]
    solver = Demanding()
    solver.needs = frozenset({"exact oracle"})
    with pytest.raises(bcfw.OptionError, match=r"needs an oracle that always finds a maximum.*Guess does not"):
        bcfw.train(Guess(case.model.K, case.model.cost), case.X, case.y, solver=solver)


def test_models_and_solvers_use_the_words_that_are_explained(case):
    form = case.problem().form
    assert form.offers <= OFFERS.keys()
    assert form.needs <= NEEDS.keys()
    for kind in SOLVERS.values():
        assert kind.needs <= OFFERS.keys()
        assert kind.handles <= NEEDS.keys()


# --- a run of anything -------------------------------------------------------------------------------------------


class Halving(Info):
    """What a callback sees of the loop below."""

    @property
    def shown(self):
        return {"value": self.latest["value"]}


def halve(run, x=1.0):
    """Halve a number until the run says stop."""
    run.point = lambda: x
    done = 0
    run.record(x <= run.gap_target, iters=done, value=x, gap=x)
    while run.status is None:
        x /= 2.0
        done += 1
        run.record(x <= run.gap_target, iters=done, value=x, gap=x)
        run.check_limits(done)
        run.after(done)
    return x


def test_a_run_serves_any_optimisation():
    seen = []
    run = Run(0.1, 100, callbacks=[lambda info: seen.append((info.done, info.gap, info.point()))], unit="iters")
    assert halve(run) == 0.0625
    assert run.status == "converged"
    assert list(run.history()) == ["seconds", "iters", "value", "gap"]
    np.testing.assert_array_equal(run.history()["iters"], np.arange(5))
    assert seen[-1] == (4, 0.0625, 0.0625)
    run.warn_unless_converged(0.0625)


def test_the_limit_of_a_run_has_the_name_of_its_unit():
    run = Run(0.0, 3, unit="iters", info=Halving)
    halve(run)
    assert run.status == "max_iters"
    with pytest.warns(bcfw.ConvergenceWarning, match=r"not converged \(max_iters\).*raise max_iters or tol"):
        run.warn_unless_converged(0.125)


def test_a_display_shows_any_run(capsys):
    show = bcfw.Progress(live=False)
    run = Run(1e-3, 50, callbacks=[show], unit="iters", info=Halving)
    halve(run)
    assert capsys.readouterr().err.startswith("iteration 1: value 0.5, gap 0.5 (target 0.001)")


def test_a_run_can_be_stopped_and_timed():
    stopped = Run(0.0, 100, callbacks=[lambda info: info.done >= 2], unit="iters")
    halve(stopped)
    assert (stopped.status, len(stopped.rows)) == ("stopped", 3)
    timed = Run(0.0, np.inf, max_seconds=0.01, callbacks=[lambda info: time.sleep(0.002)], unit="iters")
    halve(timed)
    assert timed.status == "max_seconds"
