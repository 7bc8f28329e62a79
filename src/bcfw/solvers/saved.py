"""Solvers in model files: by name and options."""

from __future__ import annotations

from typing import Any

from bcfw.errors import InputError
from bcfw.saved_arrays import SavedArrays
from bcfw.saved_values import decode, encode
from bcfw.solvers import SOLVERS, Solver


def solver_header(solver: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """A solver as JSON: "solver", its name in ``SOLVERS``, and "options".

    Of one that is a user's own, or has options that are no data, such as a selection rule, only "class", its name.
    """
    names = [word for word, kind in SOLVERS.items() if kind is type(solver)]
    try:
        options = {name: encode(getattr(solver, name), name, arrays) for name in type(solver)._options}
    except InputError:
        names = []
    return {"solver": names[0], "options": options} if names else {"class": type(solver).__name__}


def saved_solver(header: dict[str, Any], saved: SavedArrays) -> Solver | None:
    """The solver, or None if the file has only the name of its class."""
    if "class" in header:
        return None
    if header["solver"] not in SOLVERS:
        raise saved.damaged("the header", f"has a solver {header['solver']!r}, which this bcfw does not have")
    return SOLVERS[header["solver"]](**decode(header["options"], saved))
