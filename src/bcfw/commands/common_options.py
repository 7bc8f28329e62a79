"""Options that several commands share: their declarations, checks and conversion; reading the data of a command."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bcfw.errors import OptionError, nearest
from bcfw.formats import ATTRIBUTE_SETS, FORMATS, Templates
from bcfw.inputs.spans import ENCODINGS
from bcfw.text.source import TextSource

Command = Callable[..., Any]


def combined(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return one decorator for several options; the help lists them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


format_options = combined(
    click.option(
        "--format",
        "-f",
        "format_name",
        type=click.Choice(list(FORMATS)),
        help="Of DATA; by default by the ending of its name (.libsvm, .svmlight, .svm, .csv, .crfsuite), else conll.",
    ),
    click.option("--attributes", "-a", type=click.Choice(list(ATTRIBUTE_SETS)), help="Attributes of words in columns."),
    click.option("--template", metavar="FILE", help="Attributes of words in columns by a template file of CRF++."),
    click.option("--label", metavar="COLUMN", help="Of a csv file: name or number (from 0) of the label's column."),
    click.option("--sequence", metavar="COLUMN", help="Of a csv file: the column that tells sequences apart."),
)

data_options = combined(
    click.argument("data"),
    format_options,
    click.option("--fast", is_flag=True, help="Fewer attributes, for chunking: faster, a little less accurate."),
)

training_options = combined(
    click.option("--lam", type=float, help="Regularisation; by default one that suits the attributes."),
    click.option("--C", "C", type=float, help="The same as 1 / (lam n), for n examples."),
    click.option("--tol", type=float, default=0.01, show_default=True, help="Relative duality gap to reach."),
    click.option("--solver", default="auto", show_default=True, help="Name of a solver of bcfw.solvers.SOLVERS."),
    click.option("--seconds", type=float, help="Stop after so many."),
    click.option("--passes", type=float, default=1000, show_default=True, help="Stop after so many passes."),
    click.option("--jobs", type=int, default=1, show_default=True, help="Threads; -1 takes all cores."),
    click.option("--seed", type=int, default=0, show_default=True),
    click.option(
        "--encoding",
        type=click.Choice(["auto", *ENCODINGS, "none"]),
        default="auto",
        show_default=True,
        help="Scheme in which labels of spans are learned.",
    ),
    click.option("--normalize", is_flag=True, help="Divide the loss of a sequence by its length."),
    click.option("--min-count", type=int, default=1, show_default=True, help="Leave out rarer attributes."),
    click.option("--hash", "n_hashed", type=int, help="Hash attributes into so many columns."),
    click.option(
        "--class-weight",
        multiple=True,
        metavar="LABEL=NUMBER",
        help="Factor of the cost of missing a label, or a type of span; may be given several times.",
    ),
    click.option("--quiet", "-q", is_flag=True, help="Only warnings and errors."),
)


@dataclasses.dataclass
class TrainOptions:
    """The options of ``bcfw train`` and ``bcfw path`` after reading, and what both commands do with them."""

    data: str
    source: TextSource
    options: Any
    fast: bool
    quiet: bool

    @classmethod
    def of(cls, given: dict[str, Any]) -> TrainOptions:
        """Return the options of a command line; raise OptionError for options that are wrong."""
        from bcfw.compile.timing import first_notice
        from bcfw.text.training import TrainingOptions

        if given["quiet"]:
            first_notice().shown = True
        source = text_source(given)
        weights = dict(read_weight(text) for text in given["class_weight"])
        names = {field.name for field in dataclasses.fields(TrainingOptions)}
        options = TrainingOptions(
            **{name: value for name, value in given.items() if name in names - {"encoding", "class_weight"}},
            encoding=None if given["encoding"] == "none" else given["encoding"],
            class_weight=weights,
            verbose=0 if given["quiet"] else 1,
        )
        check_numbers(options)
        return cls(given["data"], source, options, given["fast"], given["quiet"])

    def keep_legs(self, path: str, every: float, resume: bool) -> None:
        """Save the state to this checkpoint after ``every`` passes; with ``resume``, continue from the checkpoint."""
        from bcfw.solvers.legs import Legs

        if resume and not Path(path).exists():
            self.say(f"there is no checkpoint {path} yet: beginning anew")
        self.options = dataclasses.replace(self.options, legs=Legs(path, every), resume=resume)

    def task(self) -> Any:
        """Read the data and return the training problem."""
        from bcfw.text.training import TaggingProblem, read_corpus

        start = time.perf_counter()
        corpus = read_corpus(self.source, self.data, self.options, self.fast)
        name = "" if corpus.source.attributes is None else f" ({corpus.source.attributes.name})"
        if self.fast and name and not name.endswith("-fast)"):
            self.say(f"--fast: there is no smaller set of attributes than{name}")
        task = TaggingProblem(corpus, self.options)
        encoding = "" if task.encoding is None else f", learned as {task.encoding}"
        self.say(f"{self.data}: {corpus}{name}{encoding}; read in {time.perf_counter() - start:.1f} s")
        return task

    def say(self, text: str) -> None:
        """Write a line to standard error, unless the command is quiet."""
        if not self.quiet:
            click.echo(text, err=True)


def text_source(given: dict[str, Any]) -> TextSource:
    """Return the format and the attributes that the options choose; raise OptionError for contradictions."""
    name = given["format_name"] or format_of(given["data"])
    settings = {key: column(given[key]) for key in ("label", "sequence") if given.get(key) is not None}
    if settings and name != "csv":
        raise OptionError(f"--{next(iter(settings))} is for the format csv, not {name}; leave it out")
    chosen = [f"--{key}" for key in ("attributes", "template", "fast") if given.get(key)]
    if chosen and name != "conll":
        raise OptionError(f"{chosen[0]} is for words in columns (format conll), not for {name}; leave it out")
    if len(chosen) > 1:
        raise OptionError(f"{chosen[0]} and {chosen[1]} both choose attributes; leave one of them out")
    attributes = ATTRIBUTE_SETS[given["attributes"]] if given.get("attributes") else None
    template = None if given.get("template") is None else Templates.from_file(given["template"])
    return TextSource(FORMATS[name](**settings), template or attributes)


def format_of(path: str) -> str:
    """Return the format for the ending of a file name; "conll" for unknown endings."""
    endings = {".libsvm": "libsvm", ".svmlight": "libsvm", ".svm": "libsvm", ".csv": "csv", ".crfsuite": "crfsuite"}
    return endings.get(Path(path.lower().removesuffix(".gz")).suffix, "conll")


def column(text: str) -> str | int:
    """Return a column's number if the text is a whole number, else the text as the column's name."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def read_weight(text: str) -> tuple[str, float]:
    label, sign, number = text.rpartition("=")
    try:
        if sign:
            return label, float(number)
    except ValueError:
        pass
    raise OptionError(f"--class-weight must be LABEL=NUMBER, got {text!r}")


def check_numbers(options: Any) -> None:
    """Raise OptionError for wrong numbers and solvers; called before the data are read."""
    from bcfw.options import Count, NonNegative, Positive
    from bcfw.solvers import SOLVERS, find_solver
    from bcfw.text.attributes.vocabulary import MOST_HASHED
    from bcfw.training import thread_count

    for name in ("lam", "C", "seconds"):
        Positive(None, or_none=True).check("", f"--{name}", getattr(options, name))
    NonNegative(0.01).check("", "--tol", options.tol)
    Positive(1000).check("", "--passes", options.passes)
    Count(1).check("", "--min-count", options.min_count)
    Count(0, least=0).check("", "--seed", options.seed)
    thread_count(options.jobs)
    if options.n_hashed is not None:
        Count(1, most=MOST_HASHED).check("", "--hash", options.n_hashed)
        if options.min_count > 1:
            raise OptionError("--min-count does not go with --hash; leave one of them out")
    if options.lam is not None and options.C is not None:
        raise OptionError("--lam and --C are the same option in other units; leave one of them out")
    if options.solver not in SOLVERS:
        raise OptionError(f"--solver: there is no solver {options.solver!r}; {nearest(options.solver, SOLVERS)}")
    if not find_solver(options.solver).forms_weights:
        raise OptionError(f"--solver {options.solver} forms no weights, which a model file is made of; use another")
