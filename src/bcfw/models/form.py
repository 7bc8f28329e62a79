"""What solvers see of a model: its kernels, packed data and block averages, whoever wrote it and in whatever way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from bcfw.kernels import KernelSet
from bcfw.saved_objects import MODELS

#: What a model may offer beyond the kernels that all have; a solver names what it needs of these.
OFFERS = {
    "exact oracle": "an oracle that always finds a maximum (exact_oracle = True)",
    "upper bound": "a bound on the values of all outputs (upper_bound, or the kernel decode_bound)",
    "part space": "block averages of parts, which mean the same for other inputs of the same sizes",
    "feature rows": "features in rows, whose sizes it knows and can change (bcfw.models.feature_rows)",
    "block solves": "the best average of a block with all others fixed, in closed form (kernels solve_parts, ...)",
    "marginals": "expected parts of a distribution over its outputs (kernels part_scores, expected_parts, ...)",
    "input kernel": "scores that need inner products of inputs alone (bcfw.models.input_kernel)",
    "joint kernel": "features that a kernel between pairs of input and output knows (bcfw.JointKernelModel)",
    "operation count": "the operations of its oracle, counted (oracle_operations)",
}

#: What a problem may need of a solver; a solver names what it can handle of these.
NEEDS = {
    "bounds": "bounds on the weights w",
    "heuristic oracle": "an oracle that may miss the maximum (exact_oracle = False)",
    "joint kernel": "features that are known by a joint kernel alone (KernelBCFW(kernel='joint') can)",
}


class Form(ABC):
    """A model bound to training data, as solvers see it.

    Attributes
    ----------
    model : the bound model, as users get it back
    dim : number of weights
    kernels : the kernels that passes are specialised to; the contract is documented in :mod:`bcfw.passes.contract`
    in_part_space : whether block averages mean the same for other inputs, so that a state can be taken over to them
    saves_labelings : whether kept labelings are one plain array, which can be saved
    weighs_loss : whether the kernel ``scores`` takes any weight of the loss, so that w may be kept up to a factor
    """

    model: Any
    dim: Any
    kernels: KernelSet
    in_part_space: bool = False
    saves_labelings: bool = False
    weighs_loss: bool = False

    @property
    def name(self) -> str:
        """The model's name in messages."""
        return type(self.model).__name__

    @property
    def is_built_in(self) -> bool:
        """Whether the model is one of this package's, whose users did not write its oracle."""
        return type(self.model) in MODELS.values()

    @property
    def offers(self) -> frozenset[str]:
        """Words of :data:`OFFERS`."""
        exact = self.kernels.bindings.get("EXACT", True)
        return frozenset({"exact oracle"} if exact else set()) | ({"part space"} if self.in_part_space else set())

    @property
    def needs(self) -> frozenset[str]:
        """Words of :data:`NEEDS`; whether w is bounded, the problem knows."""
        return frozenset(set() if "exact oracle" in self.offers else {"heuristic oracle"})

    def sizes(self) -> dict[str, int]:
        """What the number of weights comes from, as messages name it, such as ``{"features": 6, "labels": 3}``."""
        return {"weights": int(self.dim)}

    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Box that the oracle needs w to lie in, as (lower, upper) of shape (dim,); None for no limits."""
        return None

    def oracle_operations(self, data: Any) -> float | None:
        """Additions that the oracle takes for all examples together; None if they are not counted."""
        return None

    def feature_sizes(self, data: Any) -> np.ndarray:
        """(dim,) how large the feature of each weight is; of models that offer "feature rows"."""
        raise NotImplementedError

    def mean_sqnorm(self, data: Any) -> float:
        """Mean sum of squares of an example's features; of models that offer "feature rows"."""
        raise NotImplementedError

    def rescaled(self, data: Any, units: np.ndarray) -> Any:
        """The packed data with every feature divided by its weights' unit; of models that offer "feature rows"."""
        raise NotImplementedError

    def part_offsets(self, data: Any) -> np.ndarray:
        """(n + 1,) offsets of the blocks' parts, where they are one vector; of models that offer "marginals"."""
        raise NotImplementedError

    def located(self, error: Exception, data: Any, w: np.ndarray) -> Exception:
        """The error of a pass that has failed at weights w; where it can be found, with the example."""
        return error

    @abstractmethod
    def make_work(self, data: Any) -> Any:
        """Scratch of one thread."""

    @abstractmethod
    def make_labelings(self, data: Any, slots: int = 1) -> Any:
        """Room for some labelings per block, with the truth in slot 0."""

    @abstractmethod
    def initial_mu(self, data: Any) -> tuple[Any, ...]:
        """Averaged parts of all blocks at the start, ``mu_i = z(y_i)``."""

    def label_limits(self, data: Any) -> tuple[int, int] | None:
        """The smallest and the largest number in a kept labeling; None if the model does not say."""
        return None

    def keeps_truths(self, data: Any, labelings: np.ndarray) -> bool:
        """Whether the first slot of every block holds its truth; for forms that save labelings."""
        raise NotImplementedError

    def enlarge_mu(self, mu: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same averages with more room; called when the kernel ``reserve`` has returned False."""
        return mu

    @abstractmethod
    def export_mu(self, data: Any, mu: tuple[Any, ...]) -> list[np.ndarray]:
        """The block averages as plain arrays, which are saved as mu_0, mu_1, ...

        Their types are always the same, and so are their shapes but for the lengths (their first sizes).
        """

    @abstractmethod
    def import_mu(self, data: Any, arrays: list[np.ndarray]) -> tuple[Any, ...]:
        """Inverse of :meth:`export_mu`; an :class:`InputError` for numbers that kernels could not read."""

    @abstractmethod
    def data_arrays(self, data: Any) -> list[np.ndarray]:
        """Arrays that tell the packed data from others."""

    @abstractmethod
    def fingerprint(self, data: Any) -> str:
        """Hash of what the mathematics depends on besides :meth:`data_arrays`."""
