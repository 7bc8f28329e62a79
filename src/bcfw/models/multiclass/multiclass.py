"""The model Multiclass: classification by Crammer and Singer's SVM, with any cost matrix and either rescaling."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bcfw.compile import RoutineSet
from bcfw.errors import InputError, OptionError
from bcfw.inputs.examples import check_same_length
from bcfw.inputs.feature_matrices import feature_matrix, feature_row
from bcfw.inputs.labels import counted_labels, given_cost, integer_labels, label_count, packed_cost
from bcfw.inputs.rows import Rows, matrix_rows, row_sqnorms
from bcfw.models.base.kernel_model import KernelModel
from bcfw.models.multiclass import label_lists, multiclass_routines
from bcfw.models.multiclass import multiclass_slack_routines as slack_routines
from bcfw.models.multiclass.label_lists import LABEL_LIST_ROUTINES, SOLVE_LIST_ROUTINES, LabelLists
from bcfw.models.multiclass.multiclass_routines import MulticlassData, MulticlassWork
from bcfw.models.shared.block_solve_routines import BLOCK_SOLVE_ROUTINES
from bcfw.models.shared.feature_rows import KernelInputs
from bcfw.models.shared.part_vectors import PART_VECTOR_ROUTINES, SCORES_BY_PART, part_scratch
from bcfw.models.shared.pooled_lists import enlarged
from bcfw.models.shared.sum_product import MARGINAL_ROUTINES, SumProduct
from bcfw.options import Choice
from bcfw.passes.contract import routine_set

#: How the cost of a label enters its constraint: as the required margin, or as a factor of the violation.
RESCALE = Choice("margin", "slack")

#: The routines of training for each rescaling; the routines for margin rescaling also do prediction.
RECORDS = {"Data": MulticlassData, "Work": MulticlassWork}
BY_PART = {**PART_VECTOR_ROUTINES, **SCORES_BY_PART}
ROUTINES = {
    "margin": routine_set(
        multiclass_routines, RECORDS, shared={**BY_PART, **BLOCK_SOLVE_ROUTINES, **MARGINAL_ROUTINES}
    ),
    "slack": routine_set(slack_routines, RECORDS, shared=BY_PART),
}

#: The routines of training for averages that are stored as lists.
LIST_ROUTINES = {
    "margin": ROUTINES["margin"].rebound(**LABEL_LIST_ROUTINES, **SOLVE_LIST_ROUTINES),
    "slack": ROUTINES["slack"].rebound(**LABEL_LIST_ROUTINES),
}

#: With at least this many labels, averages are lists of the labels with mass. Other code calls ``keeps_lists``.
MANY_LABELS = 1000


class RoutinesByOptions:
    """Descriptor for ``routines``: the routines that fit the options and the number of labels of a model.

    On the class, its value is the set of routines for margin rescaling and few labels.
    """

    def __get__(self, model: Multiclass | None, owner: type[Multiclass]) -> RoutineSet:
        if model is None:
            chosen = ROUTINES["margin"]
        else:
            many = model.n_labels is not None and model.n_labels >= MANY_LABELS
            chosen = (LIST_ROUTINES if many else ROUTINES)[model.rescale]
        return chosen if owner.exact_oracle else heuristic(chosen)


@functools.cache
def heuristic(routines: RoutineSet) -> RoutineSet:
    """Return the routines for a subclass that declares ``exact_oracle = False``."""
    return routines.rebound(EXACT=False)


def keeps_lists(model: Any) -> bool:
    """Return whether a model stores its averages as lists."""
    return "LabelLists" in model.routines.bindings


class LabelProbabilities(NamedTuple):
    """The distributions ``P(k) = exp(s(k)) / Z`` over the labels k of n examples, where s(k) is the score of label k.

    Attributes
    ----------
    log_partition : (n,) log Z
    labels : (n, K) probabilities of the labels of each example
    """

    log_partition: np.ndarray
    labels: np.ndarray


class Multiclass(SumProduct, KernelInputs, KernelModel):
    """Multiclass classification: one of K labels per example, ``<w, phi(x, y)> = x'W[:, y]`` with W (F, K) in C order.

    Parameters
    ----------
    n_labels : int or None
        The number of labels K; None takes K from the training labels. (K above 10,000 must be given if fewer than 1 %
        of the labels 0 .. K - 1 occur.)
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` with a zero diagonal; None is the 0/1 loss.
    rescale : "margin" or "slack"
        The surrogate loss of training. With "margin" it is ``max_k cost[y, k] - x'(W_y - W_k)``: the truth must beat
        label k by a margin equal to its cost. With "slack" it is ``max_k cost[y, k] (1 - x'(W_y - W_k))``: the truth
        must beat every label by 1, and a violation is multiplied by the cost. For the 0/1 loss both are equal.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]]), [0, 1, 2]
    >>> result = bcfw.train(bcfw.models.Multiclass(), X, y, lam=0.01)
    >>> result.predict(X)
    array([0, 1, 2])
    """

    routines: Any = RoutinesByOptions()
    in_part_space = True
    rescale: str = "margin"

    def __init__(self, n_labels: int | None = None, cost: Any = None, rescale: str = "margin") -> None:
        self.n_labels = label_count(n_labels, "Multiclass")
        self.cost = cost
        self.rescale = str(RESCALE.check("Multiclass", "rescale", rescale))
        if self._rescales_slack and not type(self).exact_oracle:
            raise OptionError("Multiclass: rescale='slack' needs exact_oracle = True, which its oracle is")
        self.n_features: int | None = None

    @property
    def solves_blocks(self) -> bool:
        """Whether block solves have a closed form: with margin rescaling, where the parts are the labels."""
        return not self._rescales_slack

    @property
    def _rescales_slack(self) -> bool:
        return self.rescale == "slack"

    def _read(self, X: Any, y: Any = None) -> tuple[Rows, np.ndarray]:
        """Return the rows of features and the labels (zeros without y)."""
        rows = matrix_rows(feature_matrix(X, "Multiclass"), "Multiclass")
        if y is None:
            return rows, np.zeros(rows.n_rows, np.int64)
        check_same_length(X, y, "Multiclass")
        return rows, self._labels(y)

    def _bound_to(self, examples: tuple[Rows, np.ndarray], sample_weight: np.ndarray | None) -> Multiclass:
        """Return a copy with n_labels, n_features and dim = F K set."""
        rows, labels = examples
        bound = copy.copy(self)
        if bound.n_labels is None:
            bound.n_labels = counted_labels(labels, place_of)
        bound.cost = given_cost(self.cost, bound.n_labels, "Multiclass")
        bound.n_features = rows.n_features
        bound.dim = bound.n_features * bound.n_labels
        return bound

    def _example_of_sizes(self, sizes: Mapping[str, Any]) -> tuple[Any, Any]:
        return sp.csr_array((1, sizes["n_features"])), [0]

    def _packed(self, examples: tuple[Rows, np.ndarray]) -> MulticlassData:
        rows, labels = examples
        rows.check_width(self.n_features, "Multiclass")
        blocks, K = np.arange(rows.n_rows + 1), int(self.n_labels or 0)
        return MulticlassData(
            rows.indptr,
            rows.index_at,
            rows.indices,
            rows.values,
            labels,
            blocks,
            K * blocks,
            row_sqnorms(rows.indptr, rows.values),
            packed_cost(self.cost),
            rows.n_features,
            K,
        )

    def with_values(self, data: MulticlassData, values: np.ndarray) -> MulticlassData:
        return data._replace(values=values, sqnorms=row_sqnorms(data.indptr, values))

    def with_products(self, data: MulticlassData, products: Any) -> MulticlassData:
        return data._replace(sqnorms=products.diagonal())

    def _decoding(self, loss_weight: float) -> RoutineSet:
        """Return the routines that find labels; with loss weight 0 the routines for margin rescaling.

        The routines for slack rescaling use the truth, which is unknown in prediction.
        """
        return self._sum_product() if loss_weight == 0.0 else self.routines  # type: ignore[no-any-return]

    def _sum_product(self) -> RoutineSet:
        return ROUTINES["margin"] if self._rescales_slack else self.routines  # type: ignore[no-any-return]

    def oracle_operations(self, data: MulticlassData) -> float:
        """Return the operations for the scores of all labels."""
        return float(data.n_labels * len(data.values))

    def label_limits(self, data: MulticlassData) -> tuple[int, int]:
        return 0, data.n_labels - 1

    def make_work(self, data: MulticlassData) -> MulticlassWork:
        place = np.full(data.n_labels if keeps_lists(self) else 0, -1)
        return MulticlassWork(y=np.zeros(1, np.int64), **part_scratch(data.n_labels, by_part=True), place=place)

    def initial_mu(self, data: MulticlassData) -> tuple[np.ndarray, ...]:
        """Return the initial averaged labels, the truths: K numbers per example, or lists."""
        if keeps_lists(self):
            n = len(data.y)
            return label_lists.place_lists(np.ones(n, np.int64), data.y, np.ones(n))
        average = np.zeros(data.part_off[-1])
        average[data.part_off[:-1] + data.y] = 1.0
        return (average,)

    def enlarge_mu(self, mu: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the lists in a pool of twice the length; dense averages never need more capacity."""
        return enlarged(LabelLists(*mu)) if keeps_lists(self) else mu  # type: ignore[no-any-return]

    def export_mu(self, data: MulticlassData, mu: tuple[Any, ...]) -> list[np.ndarray]:
        return label_lists.export(LabelLists(*mu)) if keeps_lists(self) else super().export_mu(data, mu)

    def import_mu(self, data: MulticlassData, arrays: list[np.ndarray]) -> tuple[Any, ...]:
        if keeps_lists(self):
            return label_lists.restored(arrays, len(data.y), data.n_labels)
        return super().import_mu(data, arrays)

    def marginals(self, data: MulticlassData, mu: tuple[Any, ...]) -> np.ndarray:
        """Return the (n, K) averaged labels.

        With slack rescaling, a wrong label has its average times its cost, and the truth has one minus the sum of these
        numbers.
        """
        if keeps_lists(self):
            return label_lists.dense(LabelLists(*mu), data.n_labels)
        return mu[0].reshape(-1, data.n_labels)  # type: ignore[no-any-return]

    def probabilities(self, w: np.ndarray, X: Any, *, temperature: float = 1.0) -> LabelProbabilities:
        """Return the probabilities of the labels under ``P(k) = exp(x'W[:, k] / temperature) / Z``."""
        return self.packed_probabilities(w, self.pack(X), temperature)

    def packed_probabilities(self, w: np.ndarray, data: MulticlassData, temperature: float) -> LabelProbabilities:
        """Return the :class:`LabelProbabilities` of packed examples."""
        sums = self._expectations(w, data, temperature)
        return LabelProbabilities(sums.log_partition, sums.parts.reshape(-1, data.n_labels))

    def output(self, data: MulticlassData, labelings: np.ndarray) -> np.ndarray:
        """Return the labels as one int array."""
        return labelings.astype(np.int64)

    def features(self, x: Any, y: Any) -> np.ndarray:
        """Return phi(x, y), (dim,): x in column y, and zeros in all other columns."""
        self._check_bound()
        out = np.zeros((int(self.n_features or 0), int(self.n_labels or 0)))
        out[:, self._labels([y])[0]] = feature_row(x, self.n_features, "Multiclass")
        return out.ravel()

    def loss(self, y_true: Any, y: Any) -> float:
        """Return cost[y_true, y]."""
        self._check_bound()
        truth, label = self._labels([y_true, y])
        return float(truth != label if self.cost is None else self.cost[truth, label])

    def _labels(self, y: Any) -> np.ndarray:
        labels = integer_labels(y, self.n_labels, place_of)
        if labels.ndim != 1:
            raise InputError(f"Multiclass: y must have one label per example, got shape {labels.shape}")
        return labels


def place_of(i: int) -> str:
    """Return the name of example i in messages."""
    return f"Multiclass: example {i}"
