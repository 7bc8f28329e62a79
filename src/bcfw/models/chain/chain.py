"""The model Chain (linear-chain sequence labelling), its probabilities and its lists of averaged parts."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bcfw.compile import entry
from bcfw.errors import InputError
from bcfw.inputs.classes import example_of
from bcfw.inputs.examples import check_same_length
from bcfw.inputs.labels import (
    counted_labels,
    given_cost,
    integer_labels,
    label_count,
    packed_cost,
    sequence_labels,
    stacked_labels,
)
from bcfw.inputs.numbers import offsets
from bcfw.inputs.rows import Rows, sequence_rows
from bcfw.models.base.kernel_model import KernelModel
from bcfw.models.chain import chain_directions, chain_routines
from bcfw.models.chain.chain_directions import LABEL
from bcfw.models.chain.chain_marginals import CHAIN_MARGINAL_ROUTINES
from bcfw.models.chain.chain_routines import ChainAverage, ChainData, ChainWork
from bcfw.models.shared.feature_rows import KernelInputs
from bcfw.models.shared.labelings import LABELING_ROUTINES, LABELING_VALUE_ROUTINES
from bcfw.models.shared.pooled_lists import check_sizes, enlarged
from bcfw.models.shared.sum_product import SumProduct
from bcfw.options import Flag
from bcfw.passes.contract import routine_set

#: Sequences up to this length T store their T x T Gram matrix; norms of longer sequences use a scratch vector.
LONGEST_GRAM = 128


class ChainExamples(NamedTuple):
    """Rows of all positions, (n + 1,) offsets of the sequences, and the labels of all positions (None without y)."""

    rows: Rows
    y_off: np.ndarray
    labels: np.ndarray | None


class ChainProbabilities(NamedTuple):
    """The distribution ``P(y) = exp(s(y)) / Z`` over the labelings y of one sequence, where s(y) is the score of y.

    Attributes
    ----------
    log_partition : log Z
    positions : (T, K) probabilities ``P(y_t = k)``
    transitions : (K, K) expected number of transitions from label a to label b, summed over the positions
    """

    log_partition: float
    positions: np.ndarray
    transitions: np.ndarray


class Chain(SumProduct, KernelInputs, KernelModel):
    """Sequence labelling: each of T positions gets one of K labels, and neighbouring labels interact.

    ``<w, phi(x, y)> = sum_t x_t'U[:, y_t] + sum_t trans[y_{t-1}, y_t] + first[y_0] + last[y_{T-1}]``, with
    ``w = [U (F, K), first (K), last (K), trans (K, K)]`` in C order. The max oracle is Viterbi's algorithm.

    Parameters
    ----------
    n_labels : int or None
        The number of labels K; None takes K from the training labels. (K above 10,000 must be given if fewer than 1 %
        of the labels 0 .. K - 1 occur.)
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` of one position, with a zero diagonal; None is the Hamming loss.
    end_bias : bool
        Whether the first and the last label of a sequence have weights of their own (2K weights).
    normalize : bool
        Divide the summed cost by the length of the sequence.

    Notes
    -----
    X is a list with one (T_i, F) matrix per sequence, or :class:`bcfw.Sequences`; y has T_i labels per sequence.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> X = [np.eye(2)[[0, 1, 1]], np.eye(2)[[1, 0]]]      # two sequences, F = 2
    >>> y = [[0, 1, 1], [1, 0]]
    >>> result = bcfw.train(bcfw.models.Chain(), X, y, lam=0.01)
    >>> [labels.tolist() for labels in result.predict(X)]
    [[0, 1, 1], [1, 0]]
    """

    routines = routine_set(
        {**vars(chain_directions), **vars(chain_routines)},
        {"Data": ChainData, "Work": ChainWork, **CHAIN_MARGINAL_ROUTINES},
        shared={**LABELING_ROUTINES, **LABELING_VALUE_ROUTINES},
    )
    in_part_space = True

    def __init__(
        self, n_labels: int | None = None, cost: Any = None, end_bias: bool = True, normalize: bool = True
    ) -> None:
        self.n_labels = label_count(n_labels, "Chain")
        self.cost = cost
        self.end_bias = bool(Flag(True).check("Chain", "end_bias", end_bias))
        self.normalize = bool(Flag(True).check("Chain", "normalize", normalize))
        self.n_features: int | None = None

    def _read(self, X: Any, y: Any = None) -> ChainExamples:
        if y is not None:
            check_same_length(X, y, "Chain")
        rows, y_off = sequence_rows(X, "Chain")
        if y is None:
            return ChainExamples(rows, y_off, None)
        labels = integer_labels(stacked_labels(y, y_off, "Chain"), self.n_labels, example_of(y_off, "Chain"))
        return ChainExamples(rows, y_off, labels)

    def _bound_to(self, examples: ChainExamples, sample_weight: np.ndarray | None) -> Chain:
        """Return a copy with n_labels, n_features and dim = KF + 2K + K^2 set (without end biases KF + K^2)."""
        bound = copy.copy(self)
        if bound.n_labels is None:
            assert examples.labels is not None
            bound.n_labels = counted_labels(examples.labels, example_of(examples.y_off, "Chain"))
        K = bound.n_labels
        bound.cost = given_cost(self.cost, K, "Chain")
        bound.n_features = examples.rows.n_features
        bound.dim = K * bound.n_features + 2 * K * int(self.end_bias) + K * K
        return bound

    def _example_of_sizes(self, sizes: Mapping[str, Any]) -> tuple[Any, Any]:
        return [sp.csr_array((1, sizes["n_features"]))], [[0]]

    def _packed(self, examples: ChainExamples) -> ChainData:
        rows, y_off, labels = examples
        rows.check_width(self.n_features, "Chain")
        lengths = np.diff(y_off)
        trains = labels is not None
        gram_off = offsets(np.where(trains & (lengths <= LONGEST_GRAM), lengths * (lengths + 1) // 2, 0))
        gram = np.zeros(int(gram_off[-1]))
        ends = int(self.end_bias)
        entry(chain_routines.grams)(rows.indptr, rows.index_at, rows.indices, rows.values, y_off, ends, gram_off, gram)
        return ChainData(
            rows.indptr,
            rows.index_at,
            rows.indices,
            rows.values,
            labels if labels is not None else np.zeros(rows.n_rows, np.int64),
            y_off,
            gram,
            gram_off,
            packed_cost(self.cost),
            1.0 / lengths if self.normalize else np.ones(len(lengths)),
            rows.n_features,
            int(self.n_labels or 0),
            ends,
        )

    def with_values(self, data: ChainData, values: np.ndarray) -> ChainData:
        gram = np.zeros_like(data.gram)
        entry(chain_routines.grams)(
            data.indptr, data.index_at, data.indices, values, data.y_off, data.ends, data.gram_off, gram
        )
        return data._replace(values=values, gram=gram)

    def with_products(self, data: ChainData, products: Any) -> ChainData:
        """Return the data with the kernel Gram matrices of all sequences (also of long ones), as lower triangles."""
        lengths = np.diff(data.y_off)
        gram_off = offsets(lengths * (lengths + 1) // 2)
        pieces = itertools.pairwise(data.y_off.tolist())
        gram = np.concatenate([products.among(a, b)[np.tril_indices(b - a)] for a, b in pieces])
        gram[gram_off[:-1]] += data.ends
        gram[gram_off[1:] - 1] += data.ends
        return data._replace(gram=gram, gram_off=gram_off)

    def oracle_operations(self, data: ChainData) -> float:
        """Return the operations for the scores of all labels and a maximum over pairs of labels at every position."""
        return float(data.n_labels * (len(data.values) + data.n_labels * len(data.y)))

    def part_offsets(self, data: ChainData) -> np.ndarray:
        """Return the (n + 1,) offsets of the blocks' part vectors: T K labels of positions, then K^2 transitions."""
        return offsets(np.diff(data.y_off) * data.n_labels + data.n_labels**2)

    def label_limits(self, data: ChainData) -> tuple[int, int]:
        return 0, data.n_labels - 1

    def make_work(self, data: ChainData) -> ChainWork:
        T, K = int(np.max(np.diff(data.y_off))), data.n_labels
        most = (T + K) * K
        needs_scratch = bool(np.any(np.diff(data.gram_off) == 0))
        return ChainWork(
            theta=np.zeros((T, K)),
            best=np.zeros((T, K)),
            y=np.zeros(T, np.int64),
            size=np.zeros(2, np.int64),
            part=np.zeros(most, np.int64),
            d=np.zeros(most),
            mass=np.zeros(most),
            slot=np.full(most, -1, np.int32),
            stamp=np.zeros((T, K), np.int64),
            tick=np.zeros(1, np.int64),
            head=np.full(K, -1, np.int32),
            next=np.zeros(most, np.int32),
            features=np.zeros(data.n_features * K if needs_scratch else 0),
        )

    def initial_mu(self, data: ChainData) -> ChainAverage:
        """Return the lists of averaged parts of all blocks: the truth's parts, with capacity for twice as many."""
        n, K = len(data.y_off) - 1, data.n_labels
        lengths = np.diff(data.y_off)
        block = np.repeat(np.arange(n), lengths)
        position = np.arange(len(data.y)) - data.y_off[block]
        inner = np.flatnonzero(block[1:] == block[:-1])
        pairs, times = np.unique((block[inner] * K + data.y[inner]) * K + data.y[inner + 1], return_counts=True)
        positions = BlockParts(block, position << 32 | data.y, np.ones(len(data.y)))
        return place_lists(n, positions, BlockParts(pairs // K**2, pairs % K**2, times))

    def enlarge_mu(self, mu: tuple[Any, ...]) -> ChainAverage:
        """Return these lists in a pool of twice the length."""
        return enlarged(ChainAverage(*mu))  # type: ignore[no-any-return]

    def export_mu(self, data: ChainData, mu: tuple[Any, ...]) -> list[np.ndarray]:
        """Return the numbers of parts per block; the rows, labels and masses of all parts; the sequence lengths.

        The part "label k at position t" has row t and label k. The transition from label a to label b has row T + a
        and label b, where T is the length of the sequence.
        """
        average = ChainAverage(*mu)
        owner = np.repeat(np.arange(len(average.size)), average.size)
        inside = np.arange(len(owner)) - offsets(average.size)[owner]
        where = average.start[owner] + inside
        lengths = np.diff(data.y_off)
        part, K = average.part[where], data.n_labels
        at = inside < average.positions[owner]
        row = np.where(at, part >> 32, part // K + lengths[owner])
        label = np.where(at, part & LABEL, part % K)
        return [average.size.copy(), row.astype(np.int32), label.astype(np.int32), average.mass[where], lengths]

    def import_mu(self, data: ChainData, arrays: list[np.ndarray]) -> ChainAverage:
        count, row, label, mass, lengths = arrays
        if not np.array_equal(lengths, np.diff(data.y_off)):
            raise InputError("Chain: the saved state belongs to other data (other sizes)")
        total, K = len(row), data.n_labels
        check_sizes("Chain", count, [row, label, mass])
        owner = np.repeat(np.arange(len(count)), count)
        if np.any((row < 0) | (row >= lengths[owner] + K) | (label < 0) | (label >= K)):
            raise InputError("Chain: mu_1 and mu_2, rows and labels of parts, hold some that no sequence has")
        parts = (offsets(lengths + K)[owner] + row) * K + label
        if len(np.unique(parts)) < total:
            raise InputError("Chain: mu_1 and mu_2, rows and labels of parts, hold one twice")
        row = row.astype(np.int64)
        order = np.lexsort((np.minimum(row, lengths[owner]), owner))
        owner, row, label, mass = owner[order], row[order], label[order], mass[order]
        at = row < lengths[owner]
        positions = BlockParts(owner[at], row[at] << 32 | label[at], mass[at])
        part = (row - lengths[owner]) * K + label
        return place_lists(len(count), positions, BlockParts(owner[~at], part[~at], mass[~at]))

    def marginals(self, data: ChainData, mu: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return the averaged labels (N, K) of all positions and the averaged transition counts (n, K, K)."""
        count, row, label, mass, _ = self.export_mu(data, mu)
        owner = np.repeat(np.arange(len(count)), count)
        is_unary = row < np.diff(data.y_off)[owner]
        unary = np.zeros((len(data.y), data.n_labels))
        unary[(data.y_off[owner] + row)[is_unary], label[is_unary]] = mass[is_unary]
        transitions = np.zeros((len(count), data.n_labels, data.n_labels))
        before = (row - np.diff(data.y_off)[owner])[~is_unary]
        transitions[owner[~is_unary], before, label[~is_unary]] = mass[~is_unary]
        return unary, transitions

    def probabilities(self, w: np.ndarray, X: Any, *, temperature: float = 1.0) -> list[ChainProbabilities]:
        """Return the probabilities of labels and transitions under ``P(y) = exp(<w, phi(x, y)> / temperature) / Z``.

        The forward-backward algorithm computes them, in O(T K^2) for a sequence of length T.
        """
        return self.packed_probabilities(w, self.pack(X), temperature)

    def packed_probabilities(self, w: np.ndarray, data: ChainData, temperature: float) -> list[ChainProbabilities]:
        """Return the :class:`ChainProbabilities` of packed sequences."""
        sums = self._expectations(w, data, temperature)
        K, found = data.n_labels, []
        for total, (begin, end) in zip(sums.log_partition, itertools.pairwise(sums.offsets), strict=True):
            positions, transitions = np.split(sums.parts[begin:end].reshape(-1, K), [-K])
            positions /= positions.sum(axis=1, keepdims=True)  # removes rounding errors of scores in the millions
            found.append(ChainProbabilities(float(total), positions, transitions))
        return found

    def features(self, x: Any, y: Any) -> np.ndarray:
        """Return the joint features phi(x, y), (dim,)."""
        self._check_bound()
        rows = sequence_rows([x], "Chain")[0].spread()
        rows.check_width(self.n_features, "Chain")
        K = int(self.n_labels or 0)
        labels = self._labels(y, rows.n_rows, "Chain")
        unary = np.zeros((int(self.n_features or 0), K))
        np.add.at(unary, (rows.indices, np.repeat(labels, np.diff(rows.indptr))), rows.values)
        transitions = np.zeros((K, K))
        np.add.at(transitions, (labels[:-1], labels[1:]), 1.0)
        ends = [np.eye(K)[labels[0]], np.eye(K)[labels[-1]]] if self.end_bias else []
        return np.concatenate([unary.ravel(), *ends, transitions.ravel()])

    def loss(self, y_true: Any, y: Any) -> float:
        """Return the sum (mean if normalised) of cost[true, predicted] over the positions."""
        self._check_bound()
        truth = self._labels(y_true, None, "Chain: y_true")
        labels = self._labels(y, len(truth), "Chain")
        costs = (truth != labels).astype(np.float64) if self.cost is None else self.cost[truth, labels]
        return float(costs.mean() if self.normalize else costs.sum())

    def _labels(self, y: Any, length: int | None, where: str) -> np.ndarray:
        """Return the checked integer labels of one sequence; with length None, any number of labels is accepted."""
        return integer_labels(sequence_labels(y, length, where), self.n_labels, lambda position: where)


class BlockParts(NamedTuple):
    """Parts of one kind (labels of positions, or transitions), sorted by block: three arrays of equal length.

    ``owner`` has the block, ``part`` the number and ``mass`` the averaged value of each part.
    """

    owner: np.ndarray
    part: np.ndarray
    mass: np.ndarray


def place_lists(n: int, positions: BlockParts, transitions: BlockParts) -> ChainAverage:
    """Return a pool with the lists of n blocks.

    Every list has twice the capacity that it needs, and the pool has as much free space again.
    """
    n_positions, n_transitions = (np.bincount(one.owner, minlength=n) for one in (positions, transitions))
    size = n_positions + n_transitions
    start, total = offsets(2 * size)[:-1], 2 * int(size.sum())
    part, mass = np.zeros(2 * total, np.int64), np.zeros(2 * total)
    for one, count, first in ((positions, n_positions, start), (transitions, n_transitions, start + n_positions)):
        where = first[one.owner] + np.arange(len(one.owner)) - offsets(count)[one.owner]
        part[where] = one.part
        mass[where] = one.mass
    return ChainAverage(part, mass, start.copy(), size, n_positions, 2 * size, tail=np.array([total]))
