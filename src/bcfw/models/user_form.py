"""UserForm, base of the adapters for models with hooks: it calls the hooks of the model's class."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import ModelError
from bcfw.kernels import KernelSet
from bcfw.models.form import Form
from bcfw.models.hooks import checked_dim, hook, is_overridden
from bcfw.options import NonNegative


class UserForm(Form):
    """Adapter for a bound model; its bounds, operation counts and fingerprint come from the hooks of its class."""

    def __init__(self, model: Any, kernels: KernelSet | None = None) -> None:
        self.model = model
        self.dim = self._count_weights()
        self.kernels = model._kernels if kernels is None else kernels
        declared = {
            "exact_oracle": self.kernels.bindings.get("EXACT", True),
            "slack_rescaling": type(model).slack_rescaling,
        }
        for attribute, value in declared.items():
            if getattr(model, attribute) != value:
                raise ModelError(
                    f"{self.name}: {attribute} is {getattr(model, attribute)!r} here but not in the body of the class, "
                    "the only place where it is read; set it there"
                )

    def _count_weights(self) -> int:
        return checked_dim(self.model)

    @property
    def name(self) -> str:
        """The name includes the rescaling, so that a state saved with one rescaling is refused with the other."""
        return super().name + (" with slack rescaling" if self.model._rescales_slack else "")

    @property
    def offers(self) -> frozenset[str]:
        counted = {"operation count"} if is_overridden(self.model, "oracle_operations") else set()
        return super().offers | counted | ({"upper bound"} if self.has_upper_bound else set())

    @property
    def has_upper_bound(self) -> bool:
        """Whether the class defines an upper bound on the values of all outputs."""
        return is_overridden(self.model, "upper_bound")

    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        return hook(self.model, "bounds")()  # type: ignore[no-any-return]

    def oracle_operations(self, data: Any) -> float | None:
        count = hook(self.model, "oracle_operations")(data)
        if not NonNegative(None, or_none=True).accepts(count):
            raise ModelError(f"{self.name}.oracle_operations must return a number >= 0 or None, got {count!r:.200}")
        return count  # type: ignore[no-any-return]

    def fingerprint(self, data: Any) -> str:
        return str(hook(self.model, "fingerprint")(data))
