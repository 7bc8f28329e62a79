"""What the forms of users' models share: the hooks of the user's class."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.models.form import Form
from bcfw.models.hooks import checked_dim, hook, is_overridden


class UserForm(Form):
    """The form of a bound model whose class a user has written."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.dim = checked_dim(model)
        self.kernels = model._kernels

    @property
    def offers(self) -> frozenset[str]:
        counted = {"operation count"} if is_overridden(self.model, "oracle_operations") else set()
        return super().offers | counted | ({"upper bound"} if self.has_upper_bound else set())

    @property
    def has_upper_bound(self) -> bool:
        """Whether the class has a bound on the values of all outputs."""
        return is_overridden(self.model, "upper_bound")

    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        return hook(self.model, "bounds")()  # type: ignore[no-any-return]

    def oracle_operations(self, data: Any) -> float | None:
        return hook(self.model, "oracle_operations")(data)  # type: ignore[no-any-return]

    def fingerprint(self, data: Any) -> str:
        return str(hook(self.model, "fingerprint")(data))
