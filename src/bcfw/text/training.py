"""Training on text files: a corpus in memory, a model trained on it, and the choice of lam on other files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.errors import InputError, OptionError, nearest
from bcfw.formats import Example
from bcfw.inputs.sequences import Sequences
from bcfw.inputs.spans import in_scheme, scheme_of
from bcfw.metrics import flat_accuracy, span_f1
from bcfw.models import Chain, Multiclass
from bcfw.path import RegularizationPath, grid_path, regularization_path
from bcfw.result import Result
from bcfw.solvers import Solver
from bcfw.solvers.legs import Legs
from bcfw.tagging.attributes import batches
from bcfw.tagging.rows import stacked_rows
from bcfw.tagging.vocabulary import UNKNOWN, Encoded, HashedColumns, Vocabulary, encode, learn
from bcfw.text.source import TextSource, as_spans
from bcfw.text.tagger import Tagger
from bcfw.training import train

#: Regularisation where neither the user nor the attributes say another.
LAM = 0.002

#: What lam is multiplied by to find those that a validation file chooses from, the largest first.
GRID = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25)

#: Up to so many weights the whole path is followed instead of a grid, down to this part of the first lam of the grid.
FEW_WEIGHTS = 20_000
PATH_DEPTH = 1e-3

#: The path needs a gap to move on: the smallest share of P(0) that it is given.
LEAST_EPS = 1e-3


@dataclass(frozen=True)
class TrainingOptions:
    """How to train: what the options of ``bcfw train`` say.

    ``lam`` or ``C = 1/(lam n)``; ``tol``, ``solver``, ``seconds``, ``passes``, ``jobs``, ``seed`` and ``verbose`` as of
    :func:`bcfw.train`; ``encoding`` is "auto" for that of the attributes; ``class_weight`` has factors of the cost of
    wrong labels by true label or by type of span; ``min_count`` and ``n_hashed`` are those of
    :class:`bcfw.AttributeVectorizer`; ``normalize`` divides the loss of a sequence by its length.
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
        """What training, grids and paths take alike."""
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
    labels : list of str, sorted
        The labels that occur.
    codes : (N,) which label every position has
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
    """Read the training data; the source chooses the attributes of columns by what it finds there."""
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
    """Another labelled file with the attributes of a corpus: its rows, and the labels of its examples."""
    examples = list(corpus.source.examples(path, labelled=True))
    given = batches(attributes_of(corpus.source, examples, path), path)
    return encode(given, corpus.vocabulary.columns), [list(example.labels or ()) for example in examples]


def attributes_of(source: TextSource, examples: list[Example], path: str) -> Iterator[Any]:
    """The attributes of examples, each when its turn comes."""
    for example in examples:
        try:
            yield source.attributes_of(example)
        except InputError as error:
            raise InputError(f"{path}, {error}") from error


def coded_labels(examples: list[Example]) -> tuple[list[str], np.ndarray]:
    """The labels that occur, sorted, and which of them every position has."""
    flat = [label for example in examples for label in example.labels or ()]
    labels = sorted(set(flat))
    code = {label: k for k, label in enumerate(labels)}
    return labels, np.fromiter(map(code.__getitem__, flat), np.int64, len(flat))


class Task:
    """What is trained on a corpus: the model, its data, and how weights become a tagger.

    Columns of tables are divided by their root mean squares before training: the regularisation, and the certificate,
    are those of these units.

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
        """The regularisation that is asked for, or that suits the attributes."""
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
        """Train at several lam: all of them where weights are few, else a grid, each from the one before."""
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
        """The tagger with these weights, in the units of the data."""
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
        """What a model file says about the training."""
        proof = {"primal": float(result.primal), "dual": finite_or_none(result.dual), "gap": finite_or_none(result.gap)}
        return self._facts(result, result.status, result.lam, result.training_seconds, **proof)

    def chosen_certificate(self, choice: Choice) -> dict[str, Any]:
        """The same about weights that were chosen on other data."""
        path, j = choice.path, choice.best
        status = "converged" if path.status in ("complete", "lam_min") else path.status
        found = {"gap": float(path.gaps[j]), "validation": float(choice.scores[j])}
        return self._facts(path, status, choice.lam, path.seconds, **found)

    def _facts(self, run: Any, status: str, lam: float, seconds: float, **found: Any) -> dict[str, Any]:
        """What results and paths have alike, and what was found."""
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
        """How much was trained on."""
        return {
            "examples": self.corpus.n_examples,
            "positions": len(self.corpus.codes),
            "attributes": len(self.corpus.vocabulary),
        }

    def _find_sizes(self) -> np.ndarray | None:
        """(F,) root mean square of every attribute, of tables, whose columns have any units; None for other formats."""
        rows = self.corpus.rows
        if self.corpus.source.format.name != "csv" or not len(rows.values):
            return None
        known = rows.columns != UNKNOWN
        columns, F = rows.columns[known], len(self.corpus.vocabulary)
        sums, counts = (np.bincount(columns, by, F) for by in (rows.values[known] ** 2, None))
        sizes = np.sqrt(np.divide(sums, counts, out=np.zeros(F), where=counts > 0))
        return np.where(sizes > 0.0, sizes, 1.0)

    def _rows_to_train_on(self) -> Encoded:
        """The rows with every attribute in units of its size."""
        rows = self.corpus.rows
        if self.sizes_of_attributes is None:
            return rows
        return rows._replace(values=rows.values / self.sizes_of_attributes[rows.columns])

    def _find_encoding(self) -> str | None:
        """The scheme in which labels of spans are learned; None for other labels."""
        wanted, attributes = self.options.encoding, self.corpus.source.attributes
        spans = self.corpus.source.has_spans(self.corpus.labels)
        if wanted == "auto":
            default = "IOBES" if attributes is None else attributes.encoding
            return default if spans else None
        if wanted is not None and not spans:
            raise OptionError(f"encoding {wanted} is for labels of spans (B-..., I-..., O); leave it out for others")
        return wanted

    def _cost(self) -> np.ndarray | None:
        """(K, K) costs with the factors of ``class_weight``; None without any."""
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
    """A number as JSON has it: NaN, of solvers without a dual, is none."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class Choice:
    """What a validation file says about several lam, and the weights that it likes best.

    Attributes
    ----------
    path : RegularizationPath
    scores : (m,) measure of each of ``path.lambdas``
    best : int
        Which of them is chosen: the first of the largest.
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


def validated(task: Task, path: RegularizationPath, rows: Encoded, truth: list[list[str]]) -> Choice:
    """Measure the weights of a path on other data: F1 where the labels are those of spans, else right labels."""
    has_spans = task.corpus.source.has_spans(task.corpus.labels)
    measure, known = (span_f1, as_spans(truth)) if has_spans else (flat_accuracy, truth)
    return Choice(path, path.evaluate(lambda w: measure(known, task.tagger(w).tag_encoded(rows))))
