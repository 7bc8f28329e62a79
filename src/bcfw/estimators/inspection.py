"""What a fitted chain has learned, by the names of attributes and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import InputError
from bcfw.options import Count


class ChainInspection:
    """Mixin of chains with ``coef_`` (K, F), ``transitions_`` (K, K) and ``classes_`` (K,)."""

    classes_: np.ndarray
    coef_: np.ndarray
    transitions_: np.ndarray

    def top_features(self, n: int = 20, label: Any = None) -> list[tuple[str, Any, float]]:
        """The features with the largest weights, positive or negative.

        Parameters
        ----------
        n : int
            How many, at most. Features without weight are left out.
        label : label or None
            Only weights for this label; None for all.

        Returns
        -------
        list of (feature, label, weight)
            In the order of the weights' sizes. Features are named as the attributes, or the columns of the data
            frames, that the estimator was fitted on; others are numbered.
        """
        check_is_fitted(self)
        Count(20).check(type(self).__name__, "n", n)
        weights = self.coef_ if label is None else self.coef_[[self._code_of(label)]]
        labels = self.classes_.tolist() if label is None else [label]
        flat = weights.T.ravel()
        names = self._feature_names()
        return [(names[j // len(labels)], labels[j % len(labels)], float(flat[j])) for j in largest(flat, n)]

    def top_transitions(self, n: int = 20) -> list[tuple[Any, Any, float]]:
        """The transitions with the largest weights: (label, label that follows, weight)."""
        check_is_fitted(self)
        Count(20).check(type(self).__name__, "n", n)
        flat, labels = self.transitions_.ravel(), self.classes_.tolist()
        return [(labels[j // len(labels)], labels[j % len(labels)], float(flat[j])) for j in largest(flat, n)]

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """``{(feature, label): weight}`` of all weights that are not zero, as sklearn-crfsuite has them."""
        names, labels = self._feature_names(), self.classes_.tolist()
        features, codes = np.nonzero(self.coef_.T)
        weights = self.coef_[codes, features].tolist()
        return {(names[f], labels[k]): w for f, k, w in zip(features.tolist(), codes.tolist(), weights, strict=True)}

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """``{(label, label that follows): weight}`` of all weights that are not zero."""
        check_is_fitted(self)
        labels = self.classes_.tolist()
        return {(labels[a], labels[b]): float(self.transitions_[a, b]) for a, b in np.argwhere(self.transitions_)}

    def _code_of(self, label: Any) -> int:
        labels = self.classes_.tolist()
        if label not in labels:
            raise InputError(f"{type(self).__name__}: {label!r} is none of the labels: {', '.join(map(str, labels))}")
        return int(labels.index(label))

    def _feature_names(self) -> list[str]:
        raise NotImplementedError


def largest(values: np.ndarray, n: int) -> list[int]:
    """Places of the n values of the largest size that are not zero; of several, the first ones."""
    sizes = np.abs(values)
    least = np.partition(sizes, -n)[-n] if len(sizes) > n else 0.0
    some = np.flatnonzero(sizes >= least)
    order = some[np.argsort(-sizes[some], kind="stable")][:n]
    return [int(j) for j in order if sizes[j] > 0.0]
