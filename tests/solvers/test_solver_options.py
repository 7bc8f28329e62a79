"""Options of solvers: unknown, wrong and contradicting ones are one error each."""

from __future__ import annotations

import pytest

import bcfw
from bcfw.solvers import BCFW, SOLVERS, BatchFW, MultiPlane


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


def test_results_show_their_solver_and_options():
    assert repr(BCFW(sampling="uniform", gap_every=3)) == "BCFW(sampling='uniform', gap_every=3)"
    assert repr(BatchFW()) == "BatchFW()"
