"""What models and solvers need of each other: a mismatch is one error."""

from __future__ import annotations

import pytest

import bcfw
from bcfw.models.base.adapter import NEEDS, OFFERS
from bcfw.solvers import Solver
from problems import CASES, VARIANTS, Pairs


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
    adapter = case.problem().adapter
    assert adapter.offers <= OFFERS.keys()
    assert adapter.needs <= NEEDS.keys()
    for solver in VARIANTS.values():
        assert solver.needs <= OFFERS.keys()
        assert solver.handles <= NEEDS.keys()
