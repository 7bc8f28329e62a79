"""Adapters: what solvers see of a model, namely its routines, packed data and block averages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from bcfw.compile import RoutineSet
from bcfw.errors import ModelError, OracleError
from bcfw.models.base.hooks import checked_dim, hook, is_overridden
from bcfw.options import NonNegative
from bcfw.storage.objects import MODELS

#: Features that a model may offer beyond the routines that every model has; a solver names the features that it needs.
OFFERS = {
    "exact oracle": "an oracle that always finds a maximum (exact_oracle = True)",
    "upper bound": "a bound on the values of all outputs (upper_bound, or the routine decode_bound)",
    "part space": "block averages of parts, which mean the same for other inputs of the same sizes",
    "feature rows": "features in rows, whose sizes it knows and can change (bcfw.models.shared.feature_rows)",
    "block solves": "the best average of a block with all others fixed, in closed form (routines solve_parts, ...)",
    "marginals": "expected parts of a distribution over its outputs (routines part_scores, expected_parts, ...)",
    "input kernel": "scores that need inner products of inputs alone (bcfw.solvers.kernelized.kernel_routines)",
    "joint kernel": "features that a kernel between pairs of input and output knows (bcfw.JointKernelModel)",
    "operation count": "the operations of its oracle, counted (oracle_operations)",
}


#: Features of a problem that a solver must support; a solver names the features that it supports.
NEEDS = {
    "bounds": "bounds on the weights w",
    "heuristic oracle": "an oracle that may miss the maximum (exact_oracle = False)",
    "joint kernel": "features that are known by a joint kernel alone (KernelBCFW(kernel='joint') can)",
}


class ModelAdapter(ABC):
    """Base class of the adapters through which solvers see a model that is bound to training data.

    Attributes
    ----------
    model : the bound model, which users get back
    dim : number of weights
    routines : the model's routines, to which passes are specialised; :mod:`bcfw.passes.contract` documents them
    in_part_space : whether block averages stay valid when the inputs change, so that a state can be taken over
    saves_labelings : whether stored labelings are one plain array, which can be saved
    weighs_loss : whether the routine ``scores`` accepts any loss weight, so that w may be stored up to a factor
    """

    model: Any
    dim: Any
    routines: RoutineSet
    in_part_space: bool = False
    saves_labelings: bool = False
    weighs_loss: bool = False

    @property
    def name(self) -> str:
        """The name of the model in messages."""
        return type(self.model).__name__

    @property
    def is_built_in(self) -> bool:
        """Whether the model belongs to this package, so that the user did not write its oracle."""
        return type(self.model) in MODELS.values()

    @property
    def offers(self) -> frozenset[str]:
        """The features that the model offers, words of :data:`OFFERS`."""
        exact = self.routines.bindings.get("EXACT", True)
        return frozenset({"exact oracle"} if exact else set()) | ({"part space"} if self.in_part_space else set())

    @property
    def needs(self) -> frozenset[str]:
        """The features that a solver must support, words of :data:`NEEDS`. Bounds on w are added by the problem."""
        return frozenset(set() if "exact oracle" in self.offers else {"heuristic oracle"})

    def sizes(self) -> dict[str, int]:
        """Return the sizes that determine the number of weights, for messages: ``{"features": 6, "labels": 3}``."""
        return {"weights": int(self.dim)}

    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the bounds on w that the oracle needs, as (lower, upper) of shape (dim,); None for no bounds."""
        return None

    def oracle_operations(self, data: Any) -> float | None:
        """Return the number of additions of one oracle call for every example together; None if it is not counted."""
        return None

    def feature_sizes(self, data: Any) -> np.ndarray:
        """Return the (dim,) size of each weight's feature; for models that offer "feature rows"."""
        raise NotImplementedError

    def mean_sqnorm(self, data: Any) -> float:
        """Return the mean over the examples of the sum of squared features; for models that offer "feature rows"."""
        raise NotImplementedError

    def rescaled(self, data: Any, units: np.ndarray) -> Any:
        """Return the packed data with every feature divided by its unit; for models that offer "feature rows"."""
        raise NotImplementedError

    def part_offsets(self, data: Any) -> np.ndarray:
        """Return the (n + 1,) offsets of the blocks in the vector of all parts; for models that offer "marginals"."""
        raise NotImplementedError

    def located(self, error: Exception, data: Any, w: np.ndarray) -> Exception:
        """Return the error for a pass that failed at weights w; it names the example if the example can be found."""
        return error

    def not_maximal(self, i: int, gap: float) -> OracleError:
        """Return the error for example i, whose oracle returned an output of smaller value than the block average."""
        if not np.isfinite(gap):
            why = (
                f"the values of its outputs are too large to be computed (block gap {gap}); scale the features, or "
                "choose another lam or other bounds"
            )
        elif self.is_built_in:
            why = (
                f"rounding hides how the values of its outputs differ (block gap {gap:.3g} < 0); scale the features, "
                "or choose a larger lam"
            )
        else:
            why = (
                "the oracle's output has a smaller value than labelings it returned before (block gap "
                f"{gap:.3g} < 0), so it is not maximal; bcfw.check_model helps to find out why"
            )
        return OracleError(f"example {i}: {why}", i)

    @abstractmethod
    def make_work(self, data: Any) -> Any:
        """Return the scratch arrays of one thread."""

    @abstractmethod
    def make_labelings(self, data: Any, slots: int = 1) -> Any:
        """Return storage with ``slots`` labelings per block; slot 0 holds the truth."""

    @abstractmethod
    def initial_mu(self, data: Any) -> tuple[Any, ...]:
        """Return the initial averaged parts of all blocks, ``mu_i = z(y_i)``."""

    def label_limits(self, data: Any) -> tuple[int, int] | None:
        """Return the smallest and the largest number in a stored labeling; None if the model does not say."""
        return None

    def keeps_truths(self, data: Any, labelings: np.ndarray) -> bool:
        """Return whether the first slot of every block holds its truth; for adapters that save labelings."""
        raise NotImplementedError

    def enlarge_mu(self, mu: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the averages with more capacity; called when the routine ``reserve`` has returned False."""
        return mu

    @abstractmethod
    def export_mu(self, data: Any, mu: tuple[Any, ...]) -> list[np.ndarray]:
        """Return the block averages as plain arrays, which are saved as mu_0, mu_1, ...

        For a given problem, the dtypes of the arrays and their shapes, except for the first dimension, never change.
        """

    @abstractmethod
    def import_mu(self, data: Any, arrays: list[np.ndarray]) -> tuple[Any, ...]:
        """Return the averages from the arrays of :meth:`export_mu`. Raise an InputError for invalid numbers."""

    @abstractmethod
    def data_arrays(self, data: Any) -> list[np.ndarray]:
        """Return arrays that identify the packed data."""

    @abstractmethod
    def fingerprint(self, data: Any) -> str:
        """Return a hash of everything besides :meth:`data_arrays` that the training problem depends on."""


class UserAdapter(ModelAdapter):
    """Adapter for a bound model; its bounds, operation counts and fingerprint come from the hooks of its class."""

    def __init__(self, model: Any, routines: RoutineSet | None = None) -> None:
        self.model = model
        self.dim = self._count_weights()
        self.routines = model._routines if routines is None else routines
        declared = {
            "exact_oracle": self.routines.bindings.get("EXACT", True),
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
