"""A structural SVM with any model as a scikit-learn estimator, and the same with lam chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import InputError, OptionError
from bcfw.estimators.base import BaseSVM, TrainingData, weighted_mean
from bcfw.estimators.path_search import PathSearch, Scoring
from bcfw.inputs.examples import check_same_length, indexable_examples
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.models import CompiledModel, KernelModel, Model, check_model
from bcfw.models.base.model import require_model
from bcfw.models.check.outputs import same_output
from bcfw.models.python.python_routines import loss_on
from bcfw.options import Choice, Flag, Option
from bcfw.result import Result
from bcfw.run import Callback
from bcfw.solvers import Solver

#: Number of examples, and of weight vectors for each example, on which a user's oracle is tried before training.
TRIED_EXAMPLES = 3

TRIED_WEIGHTS = 3


SCORING = Choice("loss", "exact")


class StructuralSVM(BaseSVM):
    """A structural SVM for any structure with a max oracle, trained to a certified duality gap.

    Minimises ``P(w) = lam/2 |w|^2 + (1/S) sum_i s_i max_y [L_i(y) - <w, phi(x_i, y_i) - phi(x_i, y)>]``, where s_i are
    the sample weights (1) and S their sum. Predicts ``argmax_y <w, phi(x, y)>``.

    X and y are sequences of inputs and outputs in the form that the model takes.

    Parameters
    ----------
    model : bcfw.Model
        A built-in model or your own; fitting does not change it.
    lam : float
        Regularisation, > 0.
    C : float or None
        ``1/(lam S)``, the constant of other SVMs. If C is given, ``lam`` is ignored.
    solver : Solver or str
        "auto", a name in ``bcfw.solvers.SOLVERS``, or an instance with options.
    tol : float
        Stop when ``gap <= tol P(0)``; P(0) is the weighted mean of the worst losses.
    scoring : "loss" or "exact"
        The value of :meth:`score`: one minus the mean loss, or the fraction of outputs that are exactly right.
    check_model : bool
        Before training, try a model written in Python on three examples with :func:`bcfw.check_model`.
    max_passes, max_seconds : float
        Limits of the run. A run that reaches a limit gives a ``bcfw.ConvergenceWarning``.
    random_state : int, RandomState or None
        Seed of the run's random choices; a whole number is the ``seed`` of :func:`bcfw.train`.
    n_jobs : int or None
        Number of threads of the certificate passes; -1 takes all cores, None is 1.
    verbose : int
        0: quiet; 1: a live display; 2: plain lines.
    warm_start : bool
        With True, each fit starts from the dual state of the last fit if model and data are equal (lam, C, sample
        weights and solver may differ); otherwise it starts from the beginning. With False, each fit starts from the
        beginning, and pickles leave out the dual state.
    callbacks : sequence of callables
        Each is called with a :class:`bcfw.solvers.PassInfo` after every pass and stops the run by returning True.
        Cloning the estimator copies the callbacks.

    Attributes
    ----------
    coef_ : (d,) array
        The weights w. With a kernel there is no ``coef_``; ``result_.kernel_weights`` has support vectors instead.
    duality_gap_ : float
        Certified bound on ``P(coef_) - min P``.
    n_iter_ : int
        Number of passes over the data, at least 1.
    lam_ : float
        The lam of the training, also when C was given.
    result_ : bcfw.Result
        The full result of the run.

    Examples
    --------
    >>> import numpy as np, bcfw.estimators
    >>> class Sign(bcfw.Model):
    ...     def features(self, x, y):
    ...         return y * x / 2
    ...     def loss(self, y_true, y):
    ...         return float(y != y_true)
    ...     def oracle(self, w, x, y_true=None):
    ...         def value(y):
    ...             return w @ self.features(x, y) + (0 if y_true is None else self.loss(y_true, y))
    ...         return max((-1, 1), key=value)
    >>> X, y = np.array([[1.0, 2.0], [-1.0, -1.0]]), [1, -1]
    >>> svm = bcfw.estimators.StructuralSVM(Sign(), lam=0.1).fit(X, y)
    >>> svm.predict(X), svm.score(X, y)
    ([1, -1], 1.0)
    """

    _scoring: Option = SCORING

    def __init__(
        self,
        model: Model,
        lam: float = 0.01,
        C: float | None = None,
        solver: Solver | str = "auto",
        tol: float = 1e-3,
        *,
        scoring: str = "loss",
        check_model: bool = True,
        max_passes: float = 1000,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = 1,
        verbose: int = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self._keep(locals())

    def predict(self, X: Any) -> Any:
        """Return the best output of every input, in the form that the model returns (usually a list)."""
        check_is_fitted(self)
        return self.result_.predict(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the (n,) scores ``<w, phi(x, y)>`` of the predicted outputs y."""
        outputs, X = self.predict(X), indexable_examples(X)
        model, w = self.result_.model, self.result_.w
        if w is None:
            return self.result_.kernel_weights.output_scores(X, outputs)  # type: ignore[no-any-return]
        return np.array([inner(model.features(X[i], y), w) for i, y in enumerate(outputs)], dtype=np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return one minus the mean loss, which is the accuracy for 0/1 and normalised Hamming losses.

        With ``scoring="exact"``, return the fraction of outputs that equal the truth; parts of the truth without label
        are not compared. Both means are weighted by ``sample_weight``.
        """
        self._scoring.check("StructuralSVM", "scoring", self.scoring)
        X = indexable_examples(X if hasattr(X, "__getitem__") else list(X))
        outputs, y = self.predict(X), indexable_examples(y)
        check_same_length(outputs, y, "StructuralSVM")
        if self.scoring == "exact":
            right: list[float] = [is_right(self.result_.model, y[i], output) for i, output in enumerate(outputs)]
        else:
            right = [1.0 - loss_on(self.result_.model, X[i], y[i], output) for i, output in enumerate(outputs)]
        return weighted_mean(right, sample_weight, len(right))

    def _read_options(self) -> None:
        super()._read_options()
        require_model(self.model, "StructuralSVM: ")
        Flag(True).check("StructuralSVM", "check_model", self.check_model)
        self._scoring.check("StructuralSVM", "scoring", self.scoring)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        if y is None:
            raise InputError("StructuralSVM requires y to be passed, but the target y is None")
        X, y = indexable_examples(X), indexable_examples(y)
        check_same_length(X, y, "StructuralSVM")
        if self.check_model and (isinstance(self.model, CompiledModel) or not isinstance(self.model, KernelModel)):
            check_model(self.model, X, y, n_examples=TRIED_EXAMPLES, n_weights=TRIED_WEIGHTS)
        return TrainingData(self.model, X, y, read_sample_weight(sample_weight, len(y)))

    def _set_weights(self, result: Result) -> None:
        self.__dict__.pop("coef_", None)  # an earlier fit may have set it
        if result.w is not None:
            self.coef_ = result.w

    def _warm_key(self, task: TrainingData) -> Any:
        """Return a hash of model and data: the dual state, in feature space, is feasible for these data only."""
        try:
            return joblib.hash((task.model, task.X, task.y))
        except Exception as error:
            raise OptionError(
                f"StructuralSVM: warm_start=True needs a model and data that can be pickled ({error}); use False"
            ) from error


def is_right(model: Model, y_true: Any, y: Any) -> bool:
    """Return whether an output equals the truth wherever the truth has a label."""
    if model._unlabelled is None:
        return same_output(y_true, y)
    truth, output = np.asarray(y_true), np.asarray(y)
    return truth.shape == output.shape and bool(np.all((truth == output) | (truth == model._unlabelled)))


def inner(phi: Any, w: np.ndarray) -> float:
    """Return ``<w, phi>`` for dense or sparse features."""
    return float((phi.reshape(1, -1) @ w)[0] if sp.issparse(phi) else np.ravel(phi) @ w)


class StructuralSVMCV(PathSearch, StructuralSVM):
    """A :class:`bcfw.StructuralSVM` that chooses lam by cross-validation over regularisation paths.

    For every fold, :func:`bcfw.regularization_path` computes weights for every lam from the examples that are not held
    out; the weights are within ``eps P(0)`` of the optimum. Their scores on the held-out examples are piecewise
    constant in lam. ``lam_`` is the lam with the largest mean score over all folds; if several lam have this score, it
    is the largest of them. Then the model is trained on all examples with ``lam_``, to the tolerance ``tol``.

    X and y are sequences of inputs and outputs in the form that the model takes.

    Parameters
    ----------
    model, tol, solver, check_model, random_state, callbacks
        See :class:`bcfw.StructuralSVM`. Tolerance and solver apply to the training with ``lam_``. Callbacks are called
        by this training and by the paths; in the paths, their argument also has ``lam``.
    eps : float
        Largest suboptimality of the weights of the paths, as a fraction of P(0).
    lam_min : float
        The lam where the paths end, unless they are complete before.
    exact : bool
        Whether the gaps of the paths are certified; see :func:`bcfw.regularization_path`.
    cv : int, splitter, iterable or None
        Folds as everywhere in scikit-learn; None takes five folds, stratified by class if each example has one class.
    scoring : "loss", "exact", str or callable
        The score that lam_ maximises and that :meth:`score` returns: the estimator's own score ("loss" or "exact"), the
        score of a scikit-learn scorer, or of a callable ``(estimator, X, y)``. Scorers and callables receive
        ``sample_weight`` if :meth:`fit` does.
    refit : bool
        Whether to train with ``lam_``; with False, only ``lam_``, ``path_``, ``validation_`` and ``scores_`` are set.
    path_solver : Solver, str or None
        The solver that the paths use; None as in :func:`bcfw.regularization_path`.
    max_passes, max_seconds : float
        Limits on each path, and on the last training. If a limit ends a path early, smaller lam are not considered.
    n_jobs : int or None
        Number of paths that are computed at once, in threads, and number of threads of the last training; -1 takes all
        cores, None is 1.
    verbose : int
        0: quiet; 1 or 2: a line about each path and, if ``n_jobs`` is 1, the display of the run in progress.

    Attributes
    ----------
    lam_ : float
        The chosen lam.
    path_ : RegularizationPath
        The path of all examples.
    validation_ : bcfw.path.Validation
        ``lambdas``, the breakpoints of all folds; ``losses``, one minus the mean score at each breakpoint; ``best``,
        which is ``lam_``; and ``interval``, the lam around ``lam_`` with an equal score.
    scores_ : (folds, m) array
        The score of every fold at ``validation_.lambdas``.
    coef_, duality_gap_, n_iter_, result_
        See :class:`bcfw.StructuralSVM`; set by the training with ``lam_``.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=60)
    >>> X = np.eye(3)[y] + 0.5 * rng.standard_normal((60, 3))
    >>> svm = bcfw.StructuralSVMCV(bcfw.models.Multiclass(3)).fit(X, y)
    >>> bool(svm.validation_.best == svm.lam_), svm.scores_.shape[0], svm.score(X, y) > 0.8
    (True, 5, True)
    """

    _single = StructuralSVM
    _scoring = Scoring(SCORING)

    def __init__(
        self,
        model: Model,
        eps: float = 0.1,
        lam_min: float = 1e-5,
        cv: Any = None,
        scoring: Any = "loss",
        tol: float = 1e-3,
        *,
        solver: Solver | str = "auto",
        exact: bool = True,
        refit: bool = True,
        path_solver: Solver | str | None = None,
        check_model: bool = True,
        max_passes: float = 10_000,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = 1,
        verbose: int = 0,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self._keep(locals())
