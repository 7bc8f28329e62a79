"""What numba's own functions can do, ours can do inside of others."""

from __future__ import annotations

import pytest

from bcfw.compile import RoutineSet
from bcfw.compile.numba_guard import internals


def _factorial(k):
    return 1 if k < 2 else k * _factorial(k - 1)


def _checked(k):
    if k < 0:
        raise ValueError("too small", k)
    print("checked", k)
    return k


def _from_outside(k):
    return _factorial(_checked(k)) + _factorial(3) - 6


def test_inner_functions_recurse_print_and_raise(capfd):
    function = RoutineSet({}, allocates=True).compiled_pass(_from_outside)
    assert function(5) == 120
    assert capfd.readouterr().out == "checked 5\n"
    with pytest.raises(ValueError, match=r"'too small', -1"):
        function(-1)


def _scaled(k, s):
    return s * k


def _many_literals(k):
    return _scaled(k, 1) + _scaled(k, 2) + _scaled(k, k)


def _entry_of(pair, place):
    return pair[place]


def _needs_literals(k):
    pair = (k, 0.5)
    return _entry_of(pair, 0) + _entry_of(pair, 1)


@pytest.mark.skipif(internals() is None, reason="plain numba compiles anew for every literal")
def test_a_function_is_compiled_once_for_all_literals(monkeypatch, tmp_path):
    monkeypatch.setenv("BCFW_CACHE_DIR", str(tmp_path))  # an empty one, so that it is compiled
    routines = RoutineSet({})
    assert routines.compiled_pass(_many_literals)(5) == 40
    assert len(routines._copies[_scaled].overloads) == 1


def test_a_function_that_needs_literals_gets_them():
    assert RoutineSet({}).compiled_pass(_needs_literals)(5) == 5.5
