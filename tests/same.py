"""Whether two objects are the same in every bit: types, numbers, arrays, and what objects keep."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def difference(a, b, where="it"):
    """Where two objects differ first; None if they do not."""
    if type(a) is not type(b):
        return f"{where}: {type(a).__name__} and {type(b).__name__}"
    if isinstance(a, np.ndarray) and a.dtype.kind != "O":
        equal = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        return None if equal else f"{where}: {a!r} and {b!r}"
    if sp.issparse(a):
        return difference([a.data, a.indices, a.indptr, a.shape], [b.data, b.indices, b.indptr, b.shape], where)
    if isinstance(a, float | np.floating):
        return None if a == b or (a != a and b != b) else f"{where}: {a!r} and {b!r}"
    if isinstance(a, dict):
        if list(a) != list(b):
            return f"{where}: {list(a)} and {list(b)}"
        return first(difference(a[key], b[key], f"{where}[{key!r}]") for key in a)
    if isinstance(a, list | tuple | np.ndarray):
        if len(a) != len(b):
            return f"{where}: {len(a)} and {len(b)} entries"
        return first(difference(one, other, f"{where}[{i}]") for i, (one, other) in enumerate(zip(a, b, strict=True)))
    if hasattr(a, "__dict__"):
        mine, others = vars(a), vars(b)
        if set(mine) != set(others):
            return f"{where}: only one has {set(mine) ^ set(others)}"
        return first(difference(mine[name], others[name], f"{where}.{name}") for name in mine)
    return None if a == b else f"{where}: {a!r} and {b!r}"


def first(found):
    return next((one for one in found if one is not None), None)
