"""PositionWise: a scikit-learn transformer applied to every position of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from bcfw.errors import InputError
from bcfw.inputs.classes import example_of, find_classes, flatten
from bcfw.inputs.feature_matrices import sequence_matrix
from bcfw.inputs.numbers import offsets
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.inputs.sequences import Sequences, read_sequences

#: Types of positions that are not rows of numbers: dicts of features, and strings.
UNREAD = (dict, str)


def inner_has(method: str) -> Callable[[PositionWise], bool]:
    """Return a condition for ``available_if``: the inner transformer has a method of this name."""
    return lambda outer: hasattr(vars(outer).get("transformer_", outer.transformer), method)


class PositionWise(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Transformer of sequences that applies any scikit-learn transformer position by position.

    The inner transformer is fitted on the positions of all sequences, stacked to one matrix. Its result is split into
    sequences again. Sparse results stay sparse.

    X is a list of (T_i, F) arrays or sparse matrices, or :class:`bcfw.Sequences`; the result is a list or Sequences,
    too. The positions of a sequence may also be dicts or strings, if the inner transformer takes them:
    ``DictVectorizer``, ``FeatureHasher``, the vectorizers of text.

    Parameters
    ----------
    transformer : a transformer of scikit-learn
        It is cloned, not changed. The names of its parameters are ``transformer__<name>``, and
        ``positionwise__transformer__<name>`` in a pipeline made by ``make_pipeline``.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone.
    n_features_in_, feature_names_in_
        The attributes of ``transformer_``, if it has them.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = [np.array([[100.0, 0.2], [90.0, 0.1]]), np.array([[10.0, 0.1]])]
    >>> y = [["a", "a"], ["b"]]
    >>> pipe = make_pipeline(bcfw.PositionWise(StandardScaler()), bcfw.ChainSVM()).fit(X, y)
    >>> [labels.tolist() for labels in pipe.predict(X)]
    [['a', 'a'], ['b']]
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the transformer on the positions of all sequences.

        Parameters
        ----------
        X : list of (T_i, F) arrays or sparse matrices, or Sequences
        y : list of T_i labels each, or None
            The transformer receives the labels of all positions in one array. Labels that are neither numbers nor
            strings (tuples, mixed types) are replaced by class numbers.
        sample_weight : (n,) array or None
            Weights of the sequences; each position gets the weight of its sequence. Only for transformers whose ``fit``
            has ``sample_weight``.

        Returns
        -------
        self
        """
        positions, labels, options, _ = self._stacked(X, y, sample_weight)
        self.transformer_ = clone(self.transformer).fit(positions, labels, **options)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the transformer and return the transformed sequences, by its own ``fit_transform`` if it has one."""
        positions, labels, options, ends = self._stacked(X, y, sample_weight)
        self.transformer_ = clone(self.transformer)
        if hasattr(self.transformer_, "fit_transform"):
            result = self.transformer_.fit_transform(positions, labels, **options)
        else:
            result = self.transformer_.fit(positions, labels, **options).transform(positions)
        return cut_again(result, ends, isinstance(X, Sequences))

    def transform(self, X: Any) -> Any:
        """Return the transformed sequences: a list of (T_i, F') arrays or sparse matrices; for Sequences, Sequences."""
        check_is_fitted(self)
        positions, ends = stack_positions(X)
        return cut_again(self.transformer_.transform(positions), ends, isinstance(X, Sequences))

    @available_if(inner_has("inverse_transform"))
    def inverse_transform(self, X: Any) -> Any:
        """Return sequences that are transformed back; only if the transformer has ``inverse_transform``."""
        check_is_fitted(self)
        positions, ends = stack_positions(X)
        return cut_again(self.transformer_.inverse_transform(positions), ends, isinstance(X, Sequences))

    @available_if(inner_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the transformed features."""
        check_is_fitted(self)
        return np.asarray(self.transformer_.get_feature_names_out(input_features))

    @property
    def n_features_in_(self) -> int:
        check_is_fitted(self)
        return int(self.transformer_.n_features_in_)

    @property
    def feature_names_in_(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self.transformer_.feature_names_in_)

    def _stacked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray | None, dict[str, Any], np.ndarray]:
        """Return the positions, their labels, options for the transformer's ``fit``, and the sequences' offsets."""
        positions, ends = stack_positions(X)
        lengths = np.diff(ends)
        labels = None if y is None else position_labels(y, lengths)
        if sample_weight is None:
            return positions, labels, {}, ends
        if not has_fit_parameter(self.transformer, "sample_weight"):
            raise InputError(f"PositionWise: the fit of {self.transformer!r} takes no sample_weight; leave it out")
        weight = read_sample_weight(sample_weight, len(lengths))
        assert weight is not None
        return positions, labels, {"sample_weight": np.repeat(weight, lengths)}, ends

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the inner transformer, adapted to sequences."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.transformer)
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.target_tags.required = inner.target_tags.required
        tags.no_validation = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "transformer_" in vars(self)


def stack_positions(X: Any) -> tuple[Any, np.ndarray]:
    """Return the positions of all sequences, as a matrix or a list of dicts or strings, and the sequences' offsets."""
    given = read_sequences(X, "PositionWise")
    if isinstance(given, Sequences):
        return given.rows, given.offsets
    if not given:
        raise InputError("PositionWise: X is empty; give at least one sequence")
    for i, x in enumerate(given):
        if isinstance(x, UNREAD):
            raise InputError(f"PositionWise: example {i} is a {type(x).__name__}; for one sequence give [x]")
    if all(isinstance(x, list | tuple) and all(isinstance(p, UNREAD) for p in x) for x in given):
        return [position for x in given for position in x], offsets([len(x) for x in given])
    if all(hasattr(x, "iloc") for x in given):
        return stack_frames(given), offsets([len(x) for x in given])
    arrays = [
        x if hasattr(x, "shape") else sequence_matrix(x, f"PositionWise: example {i}") for i, x in enumerate(given)
    ]
    for i, x in enumerate(arrays):
        if len(x.shape) != 2:
            raise InputError(f"PositionWise: example {i} must be a (T, F) array, got shape {x.shape}")
        if x.shape[1] != arrays[0].shape[1]:
            raise InputError(f"PositionWise: example {i} has {x.shape[1]} features, expected {arrays[0].shape[1]}")
    together = Sequences.from_list(arrays)
    return together.rows, together.offsets


def stack_frames(frames: list[Any]) -> Any:
    """Return data frames stacked to one data frame, so that the transformer sees the columns' names and types."""
    import pandas

    return pandas.concat(frames, ignore_index=True)


def position_labels(y: Any, lengths: np.ndarray) -> np.ndarray:
    """Return the labels of all positions in a form that scikit-learn takes: an array of numbers or strings."""
    flat, ends = flatten(y, lengths, "positions", "PositionWise")
    return find_classes(flat, example_of(ends, "PositionWise"))[1] if flat.dtype.kind == "O" else flat


def cut_again(result: Any, ends: np.ndarray, stacked: bool) -> Any:
    """Return transformed positions as ``Sequences``, or as a list with one matrix per sequence."""
    if sp.issparse(result):
        result = result.tocsr()
    n_rows = np.shape(result)[0]
    if n_rows != ends[-1]:
        raise InputError(
            f"PositionWise: the transformer has made {n_rows} rows of {ends[-1]} positions; it must keep their number"
        )
    if stacked:
        return Sequences(result, ends)
    rows = result.iloc if hasattr(result, "iloc") else result
    return [rows[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
