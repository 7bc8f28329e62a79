"""What numba's own functions can do, ours can do inside of others."""

from __future__ import annotations

import pytest

from bcfw.kernels import KernelSet


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
    function = KernelSet({}, allocates=True).entry(_from_outside)
    assert function(5) == 120
    assert capfd.readouterr().out == "checked 5\n"
    with pytest.raises(ValueError, match=r"'too small', -1"):
        function(-1)
