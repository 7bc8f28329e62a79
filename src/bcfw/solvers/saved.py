"""Saving a solver in a model file, as its name and options, and restoring the solver from the file."""

from __future__ import annotations

from typing import Any

from bcfw.errors import InputError
from bcfw.saved_arrays import SavedArrays
from bcfw.saved_values import decode, encode
from bcfw.solvers import SOLVERS, Solver


def solver_header(solver: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON header of a solver: "solver", the solver's name in ``SOLVERS``, and "options".

    The header has only "class", the name of the solver's class, if a user has defined the class or if an option cannot
    be saved as data (for example a function).
    """
    names = [word for word, kind in SOLVERS.items() if kind is type(solver)]
    try:
        options = {name: encode(getattr(solver, name), name, arrays) for name in type(solver)._options}
    except InputError:
        names = []
    return {"solver": names[0], "options": options} if names else {"class": type(solver).__name__}


def saved_solver(header: dict[str, Any], saved: SavedArrays) -> Solver | None:
    """Return the solver that the header describes; None if the header has only the name of the solver's class."""
    if "class" in header:
        return None
    if header["solver"] not in SOLVERS:
        raise saved.damaged("the header", f"has a solver {header['solver']!r}, which this bcfw does not have")
    return SOLVERS[header["solver"]](**decode(header["options"], saved))
