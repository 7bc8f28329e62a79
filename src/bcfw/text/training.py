"""Training on text files: the corpus in memory, training a tagger, and the choice of lam on a validation file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.errors import InputError, OptionError, nearest
from bcfw.inputs.sequences import Sequences
from bcfw.inputs.spans import in_scheme, scheme_of
from bcfw.metrics import flat_accuracy, span_f1
from bcfw.models import Chain, Multiclass
from bcfw.path import RegularizationPath, grid_path, regularization_path
from bcfw.result import Result
from bcfw.solvers import Solver
from bcfw.solvers.legs import Legs
from bcfw.text.attributes.reading import batches
from bcfw.text.attributes.sparse_rows import stacked_rows
from bcfw.text.attributes.vocabulary import UNKNOWN, Encoded, HashedColumns, Vocabulary, encode, learn
from bcfw.text.formats.format import Example
from bcfw.text.source import TextSource, as_spans
from bcfw.text.tagger import Tagger
from bcfw.training import train

#: Default regularisation, if neither the user nor the attributes set lam.
LAM = 0.002

#: A validation file chooses among these multiples of lam, which are in decreasing order.
GRID = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25)

#: With at most FEW_WEIGHTS weights, the whole path is computed instead of a grid. It ends at PATH_DEPTH times the first
#: lam of the grid.
FEW_WEIGHTS = 20_000
PATH_DEPTH = 1e-3

#: A path needs a positive gap to proceed; this is the smallest gap, as a fraction of P(0), that it is given.
LEAST_EPS = 1e-3


@dataclass(frozen=True)
class TrainingOptions:
    """The options of ``bcfw train``.

    The regularisation is ``lam``, or ``C = 1/(lam n)``. ``tol``, ``solver``, ``seconds``, ``passes``, ``jobs``,
    ``seed`` and ``verbose`` are options of :func:`bcfw.train`, some by other names. ``encoding`` is the scheme in which
    span labels are learned; "auto" takes the encoding of the attributes. ``class_weight`` has factors of the cost of
    wrong labels, by true label or by type of span. ``min_count`` and ``n_hashed`` are options of
    :class:`bcfw.AttributeVectorizer`. ``normalize`` divides the loss of a sequence by its length. ``legs`` saves
    checkpoints during the training, and ``resume`` starts from the checkpoint if there is one.
    """

    lam: float | None = None
    C: float | None = None
    tol: float = 0.01
    solver: Solver | str = "auto"
    seconds: float | None = None
    passes: float = 1000
    jobs: int = 1
    seed: int = 0
    verbose: int = 0
    encoding: str | None = "auto"
    class_weight: dict[str, float] = field(default_factory=dict)
    min_count: int = 1
    n_hashed: int | None = None
    normalize: bool = False
    legs: Legs | None = None
    resume: bool = False

    def limits(self) -> dict[str, Any]:
        """Return the options that training, grids and paths have in common."""
        return {
            "max_passes": self.passes,
            "max_seconds": self.seconds,
            "seed": self.seed,
            "n_jobs": self.jobs,
            "verbose": self.verbose,
        }


@dataclass(frozen=True, eq=False)
class Corpus:
    """A labelled file in memory.

    Attributes
    ----------
    source : TextSource
    vocabulary : columns of the attributes
    rows : Encoded
        The attributes of all positions.
    labels : list of str, sorted
        The labels that occur.
    codes : (N,) index in ``labels`` of the label of every position
    """

    source: TextSource
    vocabulary: Vocabulary | HashedColumns
    rows: Encoded
    labels: list[str]
    codes: np.ndarray

    @property
    def n_examples(self) -> int:
        return len(self.rows.offsets) - 1

    def __str__(self) -> str:
        unit = "sequences" if self.source.format.sequences else "examples"
        positions = f" ({len(self.codes)} positions)" if self.source.format.sequences else ""
        return f"{self.n_examples} {unit}{positions}, {len(self.labels)} labels, {len(self.vocabulary)} attributes"


def read_corpus(source: TextSource, path: str, options: TrainingOptions, fast: bool = False) -> Corpus:
    """Return the training data in memory; the source chooses the attributes of columns by these data."""
    examples = list(source.examples(path, labelled=True))
    labels, codes = coded_labels(examples)
    if len(labels) < 2:
        raise InputError(f"{path}: all positions have the label {labels[0]!r}; training needs at least 2 labels")
    source.choose(labels, fast)
    given = batches(attributes_of(source, examples, path), path)
    vocabulary, rows = learn(given, options.min_count, options.n_hashed)
    if not len(vocabulary):
        raise InputError(f"{path}: there are no attributes; give some, or a smaller minimum count")
    return Corpus(source, vocabulary, rows, labels, codes)


def read_more(corpus: Corpus, path: str) -> tuple[Encoded, list[list[str]]]:
    """Return the rows of another labelled file, by the vocabulary of a corpus, and the labels of its examples."""
    examples = list(corpus.source.examples(path, labelled=True))
    given = batches(attributes_of(corpus.source, examples, path), path)
    return encode(given, corpus.vocabulary.columns), [list(example.labels or ()) for example in examples]


def attributes_of(source: TextSource, examples: list[Example], path: str) -> Iterator[Any]:
    """Yield the attributes of examples one by one; errors name the file."""
    for example in examples:
        try:
            yield source.attributes_of(example)
        except InputError as error:
            raise InputError(f"{path}, {error}") from error


def coded_labels(examples: list[Example]) -> tuple[list[str], np.ndarray]:
    """Return the labels that occur, sorted, and the index of the label of every position."""
    flat = [label for example in examples for label in example.labels or ()]
    labels = sorted(set(flat))
    code = {label: k for k, label in enumerate(labels)}
    return labels, np.fromiter(map(code.__getitem__, flat), np.int64, len(flat))


class TaggingProblem:
    """The training problem of a corpus: the model, its data, and the conversion of weights to a tagger.

    Columns of tables are divided by their root mean squares before training. The regularisation and the certificate
    refer to the scaled columns.

    Parameters
    ----------
    corpus : Corpus
    options : TrainingOptions
    """

    def __init__(self, corpus: Corpus, options: TrainingOptions) -> None:
        self.corpus, self.options = corpus, options
        self.encoding = self._find_encoding()
        self.scheme = None if self.encoding is None else scheme_of(corpus.labels)
        self.labels, codes, ends = corpus.labels, corpus.codes, corpus.rows.offsets
        if self.encoding is not None:
            self.labels, codes = in_scheme(self.labels, codes, ends, self.encoding)
        self.sizes_of_attributes = self._find_sizes()
        X, K, cost = stacked_rows(self._rows_to_train_on(), len(corpus.vocabulary)), len(self.labels), self._cost()
        self.X: Any
        self.y: Any
        self.model: Any
        if corpus.source.format.sequences:
            self.model, self.X, self.y = Chain(K, cost, normalize=options.normalize), X, Sequences(codes, ends)
        else:
            self.model, self.X, self.y = Multiclass(K, cost), X.rows, codes

    @property
    def lam(self) -> float:
        """The lam of the options; if they set neither lam nor C, the lam of the attributes or the default."""
        options, attributes = self.options, self.corpus.source.attributes
        if options.lam is not None:
            return options.lam
        if options.C is not None:
            return 1.0 / (options.C * self.corpus.n_examples)
        return LAM if attributes is None else attributes.lam

    def train(self) -> Result:
        """Train at one lam."""
        options, legs = self.options, self.options.legs
        start = legs.path if legs is not None and options.resume and Path(legs.path).exists() else None
        return train(
            self.model,
            self.X,
            self.y,
            lam=self.lam,
            solver=options.solver,
            tol=options.tol,
            checkpoint=legs,
            warm_start=start,  # type: ignore[arg-type]
            **options.limits(),
        )

    def path(self) -> RegularizationPath:
        """Train for several lam and return their weights: the whole path if there are few weights, otherwise a grid.

        In a grid, each training starts from the dual state of the previous lam.
        """
        values = np.array(GRID) * self.lam
        if len(self.labels) * len(self.corpus.vocabulary) > FEW_WEIGHTS:
            return grid_path(
                self.model,
                self.X,
                self.y,
                values,
                warm_start="keep",
                tol=self.options.tol,
                solver=self.options.solver,
                **self.options.limits(),
            )
        is_sum = self.corpus.source.format.sequences and not self.options.normalize
        worst = float(np.mean(np.diff(self.corpus.rows.offsets))) if is_sum else 1.0
        return regularization_path(
            self.model,
            self.X,
            self.y,
            eps=max(self.options.tol, LEAST_EPS) * worst,
            lam_min=PATH_DEPTH * float(values[0]),
            solver=None if self.options.solver == "auto" else self.options.solver,
            **self.options.limits(),
        )

    def tagger(self, w: np.ndarray, certificate: dict[str, Any] | None = None) -> Tagger:
        """Return a tagger with the weights w, converted to the units of the unscaled data."""
        corpus = self.corpus
        places = np.flatnonzero(w)
        values = w[places]
        if self.sizes_of_attributes is not None:
            unary = places < len(self.sizes_of_attributes) * len(self.labels)
            values[unary] /= self.sizes_of_attributes[places[unary] // len(self.labels)]
        kind = "chain" if corpus.source.format.sequences else "multiclass"
        return Tagger(
            kind,
            corpus.source,
            self.labels,
            self.encoding,
            self.scheme,
            corpus.vocabulary,
            places,
            values,
            certificate or {},
        )

    def certificate(self, result: Result) -> dict[str, Any]:
        """Return the facts about a training that are saved in its model file."""
        proof = {"primal": float(result.primal), "dual": finite_or_none(result.dual), "gap": finite_or_none(result.gap)}
        return self._facts(result, result.status, result.lam, result.training_seconds, **proof)

    def chosen_certificate(self, choice: ChosenLam) -> dict[str, Any]:
        """Return the facts that are saved in a model file about weights that were chosen by a validation file."""
        path, j = choice.path, choice.best
        status = "converged" if path.status in ("complete", "lam_min") else path.status
        found = {"gap": float(path.gaps[j]), "validation": float(choice.scores[j])}
        return self._facts(path, status, choice.lam, path.seconds, **found)

    def _facts(self, run: Any, status: str, lam: float, seconds: float, **found: Any) -> dict[str, Any]:
        """Return the facts that results and paths have in common, with the facts ``found``."""
        return {
            "status": status,
            "certified": bool(run.certified),
            **found,
            "lam": float(lam),
            "tol": float(self.options.tol),
            "passes": float(run.n_passes),
            "oracle_calls": int(run.n_oracle_calls),
            "seconds": float(seconds),
            "solver": repr(run.solver),
            **self.sizes(),
        }

    def sizes(self) -> dict[str, Any]:
        """Return the numbers of examples, positions and attributes of the training data."""
        return {
            "examples": self.corpus.n_examples,
            "positions": len(self.corpus.codes),
            "attributes": len(self.corpus.vocabulary),
        }

    def _find_sizes(self) -> np.ndarray | None:
        """Return the (F,) root mean squares of the attributes of a table, whose columns may have any units.

        Return None for other formats.
        """
        rows = self.corpus.rows
        if self.corpus.source.format.name != "csv" or not len(rows.values):
            return None
        known = rows.columns != UNKNOWN
        columns, F = rows.columns[known], len(self.corpus.vocabulary)
        sums, counts = (np.bincount(columns, by, F) for by in (rows.values[known] ** 2, None))
        sizes = np.sqrt(np.divide(sums, counts, out=np.zeros(F), where=counts > 0))
        return np.where(sizes > 0.0, sizes, 1.0)

    def _rows_to_train_on(self) -> Encoded:
        """Return the rows with every attribute divided by its root mean square, if the format is a table."""
        rows = self.corpus.rows
        if self.sizes_of_attributes is None:
            return rows
        return rows._replace(values=rows.values / self.sizes_of_attributes[rows.columns])

    def _find_encoding(self) -> str | None:
        """Return the scheme in which span labels are learned; None for other labels."""
        wanted, attributes = self.options.encoding, self.corpus.source.attributes
        spans = self.corpus.source.has_spans(self.corpus.labels)
        if wanted == "auto":
            default = "IOBES" if attributes is None else attributes.encoding
            return default if spans else None
        if wanted is not None and not spans:
            raise OptionError(f"encoding {wanted} is for labels of spans (B-..., I-..., O); leave it out for others")
        return wanted

    def _cost(self) -> np.ndarray | None:
        """Return the (K, K) costs with the factors of ``class_weight``; None without class weights."""
        given = self.options.class_weight
        if not given:
            return None
        known = {*self.labels, *(label[2:] for label in self.labels if self.encoding is not None and label != "O")}
        for label, weight in given.items():
            if label not in known:
                raise OptionError(f"class weight: there is no label {label!r}; {nearest(label, known)}")
            if not (math.isfinite(weight) and weight > 0.0):
                raise OptionError(f"class weight: the weight of {label!r} must be a number > 0, got {weight}")
        spans = self.encoding is not None
        factors = np.array([given.get(label, given.get(label[2:], 1.0) if spans else 1.0) for label in self.labels])
        return factors[:, None] * (1.0 - np.eye(len(self.labels)))


def finite_or_none(value: float) -> float | None:
    """Return a number for JSON; NaN and infinities, which solvers without a dual return, become None."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class ChosenLam:
    """The scores of several lam on a validation file, and the lam with the best score.

    Attributes
    ----------
    path : RegularizationPath
    scores : (m,) score of each of ``path.lambdas``
    best : int
        Index of the chosen lam, the first with the largest score.
    """

    path: RegularizationPath
    scores: np.ndarray

    @property
    def best(self) -> int:
        return int(np.argmax(self.scores))

    @property
    def lam(self) -> float:
        """The chosen regularisation."""
        return float(self.path.lambdas[self.best])


def validated(task: TaggingProblem, path: RegularizationPath, rows: Encoded, truth: list[list[str]]) -> ChosenLam:
    """Return the scores of a path's weights on other data: F1 of spans for span labels, otherwise the accuracy."""
    has_spans = task.corpus.source.has_spans(task.corpus.labels)
    measure, known = (span_f1, as_spans(truth)) if has_spans else (flat_accuracy, truth)
    return ChosenLam(path, path.evaluate(lambda w: measure(known, task.tagger(w).tag_encoded(rows))))
