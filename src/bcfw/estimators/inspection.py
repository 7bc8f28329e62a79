"""Inspection of a fitted chain: its weights by the names of features and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import InputError
from bcfw.options import Count


class ChainInspection:
    """Mixin with the named weights of an estimator that has ``coef_`` (K, F), ``transitions_`` and ``classes_``."""

    classes_: np.ndarray
    coef_: np.ndarray
    transitions_: np.ndarray

    def top_features(self, n: int = 20, label: Any = None) -> list[tuple[str, Any, float]]:
        """Return the features whose weights have the largest absolute values.

        Parameters
        ----------
        n : int
            Largest number of weights to return. Weights that are zero are left out.
        label : label or None
            Only weights for this label; None for all labels.

        Returns
        -------
        list of (feature, label, weight)
            In decreasing order of the weights' absolute values. Features have the names of the attributes or data frame
            columns that the estimator was fitted on; without names they are numbered.
        """
        check_is_fitted(self)
        Count(20).check(type(self).__name__, "n", n)
        weights = self.coef_ if label is None else self.coef_[[self._code_of(label)]]
        labels = self.classes_.tolist() if label is None else [label]
        flat = weights.T.ravel()
        names = self._feature_names()
        return [(names[j // len(labels)], labels[j % len(labels)], float(flat[j])) for j in largest(flat, n)]

    def top_transitions(self, n: int = 20) -> list[tuple[Any, Any, float]]:
        """Return the n transitions with the largest absolute weights: (label, label that follows, weight)."""
        check_is_fitted(self)
        Count(20).check(type(self).__name__, "n", n)
        flat, labels = self.transitions_.ravel(), self.classes_.tolist()
        return [(labels[j // len(labels)], labels[j % len(labels)], float(flat[j])) for j in largest(flat, n)]

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """``{(feature, label): weight}`` of all weights that are not zero; sklearn-crfsuite has this attribute, too."""
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
    """Return the indices of the n values with the largest absolute values, without zeros; of equal ones, the first."""
    sizes = np.abs(values)
    least = np.partition(sizes, -n)[-n] if len(sizes) > n else 0.0
    some = np.flatnonzero(sizes >= least)
    order = some[np.argsort(-sizes[some], kind="stable")][:n]
    return [int(j) for j in order if sizes[j] > 0.0]
