"""ChainSVM: sequence labelling as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import InputError, OptionError
from bcfw.estimators.attribute_vectorizer import AttributeVectorizer, Labels, has_attributes
from bcfw.estimators.base import TrainingData, check_classes
from bcfw.estimators.inspection import ChainInspection
from bcfw.estimators.kernel_options import KernelSVM
from bcfw.estimators.probability import NeedsProbability, ProbabilitySVM
from bcfw.inputs.classes import encode, example_of, find_classes, flatten
from bcfw.inputs.feature_matrices import require_finite, sequence_matrix, stacked_matrix
from bcfw.inputs.labels import cost_matrix
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.inputs.sequences import Sequences, lengths_of, read_sequences
from bcfw.inputs.spans import ENCODINGS, LETTERS, in_scheme, is_span_label, penalties, scheme_of
from bcfw.models import Chain
from bcfw.models.shared.max_marginals import chain_max_marginals
from bcfw.options import Choice, Flag, Option
from bcfw.result import Result
from bcfw.run import Callback
from bcfw.solvers import Solver
from bcfw.storage.checked_arrays import SavedArrays
from bcfw.text.attributes.vocabulary import Encoded
from bcfw.text.decoder import ChainDecoder

SCORING = Choice("label", "sequence")

ENCODING = Choice(None, *ENCODINGS)


class ChainSVM(ChainInspection, ProbabilitySVM, KernelSVM):
    """Sequence labelling by a linear-chain structural SVM, trained to a certified duality gap.

    The score of labels y for a sequence x (T, F) is ``sum_t x_t'U[:, y_t] + b[y_t] + sum_t transitions[y_{t-1}, y_t] +
    first[y_0] + last[y_{T-1}]``; prediction maximises it (Viterbi's algorithm). The loss of a sequence is the mean
    over its positions of ``cost[true, predicted]``.

    X is a list of (T_i, F) arrays or sparse matrices; y is a list with T_i labels, of any hashable type, for each of
    them. Either may be :class:`bcfw.Sequences`, which are read faster. Positions may also have named attributes: dicts
    or lists of names, as described in :class:`bcfw.AttributeVectorizer`. A tuple is a list of names, not the columns of
    a token. Attributes that training has not seen do not change the scores.

    Parameters
    ----------
    lam, C, solver, tol, max_passes, max_seconds, random_state, n_jobs, verbose, warm_start, callbacks
        See :class:`bcfw.StructuralSVM`. A warm start requires the labels of the earlier fit; the values of the features
        may have changed.
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` of one position, in the order of ``classes_``, zero diagonal; None is the
        Hamming loss.
    class_weight : dict, "balanced" or None
        Factors of the cost by true label: row a of ``cost`` is multiplied by the weight of ``classes_[a]`` (1 for
        labels that the dict does not name). "balanced" weights are inversely proportional to the number of positions
        with the label, counted with the sample weights, so that the positions of each label have equal total cost.
    end_bias : bool
        Learn ``first_`` and ``last_``.
    normalize : bool
        Divide the summed cost of a sequence by its length; otherwise long sequences weigh more.
    fit_intercept : bool
        Append a constant feature to every position; its weights are the intercept. The default is False because the
        transitions already express how frequent labels are.
    intercept_scaling : float
        The constant feature's value. The intercept is regularised like all weights: a larger value weakens its
        regularisation, but training needs more passes.
    kernel : None, "linear", "rbf", "poly", "precomputed" or function
        The kernel between two positions, with ``gamma``, ``degree`` and ``coef0`` as in scikit-learn's SVC; see
        :class:`bcfw.solvers.KernelBCFW`. With None and "linear", features are explicit.
    encoding : None, "BIO" or "IOBES"
        For span labels (``B-NP``, ``I-NP``, ``O``; see :mod:`bcfw.metrics`): the scheme in which labels are learned,
        whatever the scheme of y is. Predictions have labels in the scheme of y (BIO, IOBES, BILOU or BMES; BIO
        if y is in the older IOB1, where I may begin a span). They are the best labels among those that never continue a
        span that has not begun and, with "IOBES", leave no span open. ``classes_`` and the weights are for the labels
        of the encoding.
    vectorizer : AttributeVectorizer or None
        The transformer of named attributes into features, for inputs with named attributes only; None is an
        ``AttributeVectorizer`` with default options.
    gamma, degree, coef0
        Parameters of the kernels "rbf" and "poly". gamma: "scale" for 1 / (F var(X)), "auto" for 1 / F, or a
        number > 0; degree: a whole number; coef0: a number >= 0.
    unseen : "error" or "wrong"
        How :meth:`score` treats a label that was not in the training data: as an error, or as a wrong prediction, which
        suits cross-validation with rare labels.
    scoring : "label" or "sequence"
        What :meth:`score` counts: the positions or the whole sequences that are predicted right.
    probability, probability_folds
        See :class:`bcfw.MulticlassSVM`.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted if they can be compared, else in order of first appearance.
    coef_, intercept_ : (K, F) and (K,) arrays
        Position weights, one row per class (a view of ``result_.w``); the intercept is zero without
        ``fit_intercept``.
    transitions_ : (K, K) array
        ``transitions_[a, b]``: weight of label a followed by label b.
    first_, last_ : (K,) arrays
        Weights of the first and last label; zero without ``end_bias``.
    support_, dual_coef_ : (M,) and (K, M) arrays
        With a kernel, instead of ``coef_`` and ``intercept_``: the indices of the training positions that are support
        vectors, counted over all sequences one after the other, and the coefficients of the support vectors.
    duality_gap_, n_iter_, lam_, result_
        Certified bound on the suboptimality, number of passes (at least 1), lam of the training, and the full result of
        the run.
    temperature_ : float
        Divisor of the scores that turns them into probabilities; only with ``probability=True``.
    n_features_in_, feature_names_in_
        Number of features, and their names if the sequences were data frames.
    vectorizer_ : AttributeVectorizer
        The fitted vectorizer; only if positions have named attributes.
    state_features_, transition_features_ : dict
        Weights that are not zero, by names; :meth:`top_features` and :meth:`top_transitions` list the largest.

    Examples
    --------
    >>> import numpy as np, bcfw.estimators
    >>> X = [np.eye(2)[[0, 1, 1]], np.eye(2)[[1, 0]]]      # two sequences, F = 2
    >>> y = [["noun", "verb", "verb"], ["verb", "noun"]]
    >>> svm = bcfw.estimators.ChainSVM(lam=0.01).fit(X, y)
    >>> [labels.tolist() for labels in svm.predict(X)]
    [['noun', 'verb', 'verb'], ['verb', 'noun']]
    >>> svm.coef_.shape, svm.transitions_.shape, svm.score(X, y)
    ((2, 2), (2, 2), 1.0)

    With attributes by name:

    >>> X = [[{"word": "the"}, {"word": "cat", "short": True}], [["word:a"], ["word:dog", "short"]]]
    >>> svm = bcfw.ChainSVM().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> svm.predict([[["word:a"], ["word:bird", "short"]]])
    [['DET', 'NOUN']]
    >>> svm.top_features(1, label="NOUN")[0][0]
    'short'
    """

    _scoring: Option = SCORING
    encoding: str | None = None
    vectorizer: AttributeVectorizer | None = None
    vectorizer_: AttributeVectorizer

    _fitted: ClassVar[tuple[str, ...]] = ("_scheme", "_returned", "_by_name", "vectorizer_")

    def __init__(
        self,
        lam: float = 0.01,
        C: float | None = None,
        solver: Solver | str = "auto",
        tol: float = 1e-3,
        *,
        cost: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        end_bias: bool = True,
        normalize: bool = True,
        fit_intercept: bool = False,
        intercept_scaling: float = 1.0,
        kernel: Any = None,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        encoding: str | None = None,
        vectorizer: AttributeVectorizer | None = None,
        unseen: str = "error",
        scoring: str = "label",
        max_passes: float = 1000,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = 1,
        verbose: int = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        probability: bool = False,
        probability_folds: int = 5,
    ) -> None:
        self._keep(locals())

    def _read_options(self) -> None:
        super()._read_options()
        self._scoring.check(self._name, "scoring", self.scoring)
        ENCODING.check(self._name, "encoding", self.encoding)
        if self.encoding is not None and self._kernel_solver is not None:
            raise OptionError(f"{self._name}: encoding={self.encoding!r} does not go with a kernel; leave one out")
        if self.vectorizer is not None and not isinstance(self.vectorizer, AttributeVectorizer):
            raise OptionError(
                f"{self._name}: vectorizer must be an AttributeVectorizer or None, got {self.vectorizer!r}"
            )

    def predict(self, X: Any) -> list[Any]:
        """Return the best labels of every sequence: a list of (T_i,) arrays, or a list of lists.

        The labels of a sequence are a list, whose elements have Python's own types, if positions have named attributes
        or if labels are objects other than numbers and strings, for example tuples. ``json.dumps`` takes lists of
        strings or numbers as they are.
        """
        codes = self._codes(X)
        if not self._by_name and self._returned.dtype.kind != "O":
            return [self._returned[one] for one in codes]
        names = self._returned.tolist()
        return [Labels(map(names.__getitem__, one.tolist())) for one in codes]

    def decision_function(self, X: Any) -> list[np.ndarray]:
        """Return the max-marginals: for each position t and label k, the score of the best labels y with y_t = k.

        Parameters
        ----------
        X : list of n arrays or sparse matrices (T_i, F), or Sequences

        Returns
        -------
        list of n arrays (T_i, K)
            The largest entry of each row belongs to the predicted label and is the score of the whole prediction. The
            difference to the other entries measures how sure the label of the position is. ``x @ coef_.T`` gives the
            position scores alone.
        """
        check_is_fitted(self)
        marginals = []
        for i, x in enumerate(self._sequences(X)):
            require_finite(x, f"{self._name}: example {i}", unit="position")
            marginals.append(chain_max_marginals(self._unary(x), *self._steps))
        return marginals

    @NeedsProbability
    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """Probabilities ``P(y_t = classes_[k] | x)``, a (T_i, K) array per sequence; needs ``probability=True``.

        These are the marginals of ``P(y | x) = exp(score(x, y) / temperature_) / Z`` over the labels y of the whole
        sequence; the temperature maximises the likelihood of held-out sequences. The most probable label of a position
        may differ from the predicted label, which belongs to the best labels of the whole sequence.
        """
        self._require_temperature()
        return [one.positions for one in self._probabilities(self._seen(self._sequences(X)))]

    def _unary(self, x: Any) -> np.ndarray:
        """Return the (T, K) scores of the labels at every position of a sequence, without transitions."""
        weights = self.result_.kernel_weights
        return x @ self.coef_.T + self.intercept_ if weights is None else weights.scores([x])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of positions that are predicted right; with ``scoring="sequence"``, of whole sequences.

        A label that was not in the training data raises an error; with ``unseen="wrong"`` it counts as a wrong
        prediction. With an ``encoding``, y may be in any scheme. ``sample_weight`` has one number per sequence.
        """
        self._scoring.check(self._name, "scoring", self.scoring)
        predicted = self._codes(X)
        flat, offsets = flatten(y, [len(codes) for codes in predicted], "positions", self._name)
        lengths = np.diff(offsets)
        if self._scheme is not None:
            flat = self._in_returned_scheme(flat, offsets)
        truth = encode(flat, self._returned, self.unseen, example_of(offsets, self._name))
        correct = truth == np.concatenate(predicted)
        weight = read_sample_weight(sample_weight, len(lengths))
        weight = np.ones(len(lengths)) if weight is None else weight
        counts = np.add.reduceat(correct.astype(np.float64), offsets[:-1])
        if self.scoring == "sequence":
            return float(weight @ (counts == lengths) / weight.sum())
        return float(weight @ counts / (weight @ lengths))

    def _in_returned_scheme(self, flat: Any, offsets: np.ndarray) -> Any:
        """Return span labels rewritten in the scheme of the predictions; other labels are returned unchanged."""
        labels, codes = find_classes(flat, example_of(offsets, self._name))
        if not all(map(is_span_label, labels.tolist())):
            return flat
        found, codes = in_scheme(labels.tolist(), codes, offsets, scheme_of(self._returned))
        return np.array(found)[codes]

    def _codes(self, X: Any) -> list[np.ndarray]:
        """Return the best labels of every sequence as indices into ``_returned``."""
        check_is_fitted(self)
        if self._decoder is None:
            return self.result_.predict(self._seen(self._sequences(X)))
        given = self._encoded(X)
        codes = self._decoder.decode(given).astype(np.int64)
        if self._penalties is not None:
            labels, codes = in_scheme(self.classes_.tolist(), codes, given.offsets, scheme_of(self._returned))
            codes = np.searchsorted(self._returned, labels)[codes]
        return np.split(codes, given.offsets[1:-1])

    def _encoded(self, X: Any) -> Encoded:
        """Return the rows of the sequences in the form that the decoder reads."""
        if self._by_name:
            self._require_same_kind(X)
            return self.vectorizer_.encode(X)
        sequences = self._sequences(X)
        stack = sequences if isinstance(sequences, Sequences) else Sequences.from_list(sequences)
        require_finite(stack.rows, self._name, unit="position")
        rows = sp.csr_array(stack.rows)
        return Encoded(
            indptr=rows.indptr.astype(np.int64),
            columns=rows.indices.astype(np.int32),
            values=rows.data.astype(np.float64),
            offsets=stack.offsets,
        )

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        sequences = self._sequences(X, reset=True)
        flat, offsets = flatten(y, lengths_of(sequences), "positions", self._name)
        self.classes_, codes = find_classes(flat, example_of(offsets, self._name))
        codes = self._encode_labels(codes, offsets)
        weight = read_sample_weight(sample_weight, len(sequences))
        spread = None if weight is None else np.repeat(weight, np.diff(offsets))
        factors = self._class_weights(codes, spread)
        K = len(self.classes_)
        cost = None
        if self.cost is not None or self.class_weight is not None:
            cost = factors[:, None] * cost_matrix(self.cost, K, self._name)
        model = Chain(K, cost, end_bias=self.end_bias, normalize=self.normalize)
        return TrainingData(model, self._seen(sequences), Sequences(codes, offsets), weight)

    def _encode_labels(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the indices of the labels rewritten in the scheme of ``encoding``.

        Set ``classes_`` to the labels of this scheme, and ``_returned`` to the labels that predictions may have.
        """
        self._returned, self._scheme = self.classes_, self.encoding
        if self.encoding is None:
            return codes
        given = self.classes_.tolist()
        for k in [k for k, label in enumerate(given) if not is_span_label(label)][:1]:
            where = example_of(offsets, self._name)(int(np.flatnonzero(codes == k)[0]))
            raise InputError(
                f"{where} has the label {given[k]!r}, which is none of a span; with encoding={self.encoding!r} labels "
                "are 'O', 'B-...', 'I-...', 'E-...' or 'S-...'; leave the option out for others"
            )
        learned, codes = in_scheme(given, codes, offsets, self.encoding)
        self.classes_ = np.array(learned)
        letters = LETTERS[scheme_of(given)][1:]
        types = {label[1:] for label in given if label != "O"}
        self._returned = np.array(sorted({*given, *(letter + name for letter in letters for name in types)}))
        return codes

    @property
    def _steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores of transitions, first and last labels for decoding: the weights plus the penalties of the encoding."""
        learned = self.transitions_, self.first_, self.last_
        if self._penalties is None:
            return learned
        first, last, transitions = self._penalties
        return learned[0] + transitions, learned[1] + first, learned[2] + last

    def _make_decoder(self, result: Result) -> ChainDecoder:
        """Return a decoder with the weights that are not zero.

        The intercept, which every position adds once, is added to the first scores and to the transitions.
        """
        K, F = len(self.classes_), self.n_features_in_
        U = result.w[: F * K]
        places = np.flatnonzero(U)
        transitions, first, last = self._steps
        bias = self.intercept_
        return ChainDecoder.of_entries(places, U[places], F, (first + bias, last, transitions + bias))

    def _feature_names(self) -> list[str]:
        check_is_fitted(self)
        if self._by_name:
            return self.vectorizer_.vocabulary_.names
        given = vars(self).get("feature_names_in_")
        return [f"feature {j}" for j in range(self.n_features_in_)] if given is None else list(given)

    def _seen(self, sequences: Sequences | list[Any]) -> Sequences | list[Any]:
        """Return the sequences that the model sees: the features, and the constant feature if there is an intercept."""
        if isinstance(sequences, Sequences):
            return Sequences(self._with_constant(sequences.rows), sequences.offsets)
        return [self._with_constant(x) for x in sequences]

    def _sequences(self, X: Any, reset: bool = False) -> Sequences | list[Any]:
        """Return the sequences as arrays or sparse matrices with equally many columns.

        With ``reset``, for fitting, the first sequence sets the number of columns; otherwise the fit has set it.
        """
        if reset:
            self._by_name = bool(has_attributes(X))
        self._require_same_kind(X)
        if self._by_name:
            return self._stacked(self._vectorized(X, reset), reset)
        sequences = read_sequences(X, self._name)
        if isinstance(sequences, Sequences):
            return self._stacked(sequences, reset)
        names = [getattr(x, "columns", None) for x in sequences]
        arrays = [sequence_matrix(x, f"{self._name}: example {i}") for i, x in enumerate(sequences)]
        if reset and arrays:
            self.n_features_in_ = arrays[0].shape[1]
            self.__dict__.pop("feature_names_in_", None)
            if names[0] is not None and all(isinstance(name, str) for name in names[0]):
                self.feature_names_in_ = np.asarray(names[0], dtype=object)
        for i, x in enumerate(arrays):
            if x.shape[1] != self.n_features_in_:
                raise InputError(f"{self._name}: example {i} has {x.shape[1]} features, expected {self.n_features_in_}")
            self._check_names(names[i], i)
        return arrays

    def _require_same_kind(self, X: Any) -> None:
        """Raise if X has attributes where fit had features, or the other way round.

        If the positions of X do not show which they have, the functions that read X will find out.
        """
        if has_attributes(X) is (not self._by_name):
            kinds = ("features in matrices", "attributes by name")
            raise InputError(f"{self._name}: X has {kinds[not self._by_name]}; in fit it had {kinds[self._by_name]}")

    def _vectorized(self, X: Any, reset: bool) -> Sequences:
        if not reset:
            return self.vectorizer_.transform(X)
        self.vectorizer_ = AttributeVectorizer() if self.vectorizer is None else clone(self.vectorizer)
        return self.vectorizer_.fit_transform(X)

    def _stacked(self, sequences: Sequences, reset: bool) -> Sequences:
        rows = stacked_matrix(sequences, self._name)
        if reset:
            self.n_features_in_ = rows.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        if rows.shape[1] != self.n_features_in_:
            raise InputError(f"{self._name}: X has {rows.shape[1]} features, expected {self.n_features_in_}")
        return Sequences(rows, sequences.offsets)

    def _check_names(self, names: Any, i: int) -> None:
        known = vars(self).get("feature_names_in_")
        if names is not None and known is not None and list(names) != list(known):
            raise InputError(f"{self._name}: example {i} has other feature names, or another order, than in fit")

    def _set_weights(self, result: Result) -> None:
        K, end_bias = len(self.classes_), result.model.end_bias
        if result.kernel_weights is not None:
            self._set_support()
            others = result.kernel_weights.others
        else:
            U, others = np.split(result.w, [result.model.n_features * K])
            self._set_unary(U.reshape(-1, K))
        first, last, transitions = np.split(others, np.cumsum([K, K] if end_bias else [0, 0]))
        self.first_, self.last_ = (ends if end_bias else np.zeros(K) for ends in (first, last))
        self.transitions_ = transitions.reshape(K, K)
        self._penalties = None if self._scheme is None else penalties(self.classes_.tolist(), self._scheme)
        explicit = result.kernel_weights is None and (self._by_name or self._scheme is not None)
        self._decoder = self._make_decoder(result) if explicit else None

    def _check_restored(self, result: Result, saved: SavedArrays) -> None:
        super()._check_restored(result, saved)
        ENCODING.check(self._name, "scheme", self._scheme)
        labels = [*self.classes_.tolist(), *self._returned.tolist()]
        if self._scheme is None:
            check_classes(self._returned, len(self.classes_), saved)
        elif not all(map(is_span_label, labels)):
            raise saved.damaged("the header", f"has labels that are none of spans, and the scheme {self._scheme}")
        if Flag(False).check(self._name, "by_name", self._by_name):
            columns = len(self.vectorizer_.vocabulary_)
            if columns != self.n_features_in_:
                raise saved.damaged("the header", f"has {columns} attributes and {self.n_features_in_} features")

    def _warm_key(self, task: TrainingData) -> Any:
        labels = task.y.rows.tobytes(), task.y.offsets.tobytes()
        return labels, task.X[0].shape[1], self.classes_.tolist(), self.end_bias
