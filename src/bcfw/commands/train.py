"""``bcfw train``: train on a labelled text file, and save a model file."""

from __future__ import annotations

import itertools
import sys
import warnings
from pathlib import Path
from typing import Any

import click

from bcfw.commands.common_options import TrainOptions, data_options, training_options
from bcfw.commands.error_reports import INTERRUPTED, errors_reported
from bcfw.errors import ConvergenceWarning
from bcfw.storage.files import check_writable


@click.command()
@data_options
@click.option("--model", "-m", "out", required=True, metavar="FILE", help="The model file to write.")
@training_options
@click.option("--validate", metavar="FILE", help="Choose lam by this labelled file, from several.")
@click.option("--checkpoint", metavar="FILE", help="Save the state here after every --every passes.")
@click.option("--every", type=float, default=10.0, show_default=True, help="Passes between two saves.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one, exactly as if never stopped.")
def train(out: str, validate: str | None, checkpoint: str | None, every: float, resume: bool, **given: Any) -> None:
    """Train on the labelled file DATA (- is standard input).

    For files in columns (a word, other columns, the label; empty lines between sentences), the attributes are chosen
    automatically from the columns and the labels. Exit codes: 0 trained and saved; 2 bad input or options; 130 stopped
    by Ctrl-C, and the model so far is saved.
    """
    with errors_reported():
        common = TrainOptions.of(given)
        check_writable(out, "--model")
        require_distinct(DATA=given["data"], **{"--model": out, "--checkpoint": checkpoint, "--validate": validate})
        if checkpoint is None and resume:
            raise click.UsageError("--resume needs --checkpoint FILE")
        if checkpoint is not None and validate is not None:
            raise click.UsageError("--checkpoint goes with one lam; leave out --validate")
        if checkpoint is not None:
            common.keep_legs(checkpoint, every, resume)
        task = common.task()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tagger = chosen(task, common, validate) if validate is not None else trained(task, common)
        for warning in caught:
            click.echo(f"bcfw: {in_words(warning, tagger.certificate)}", err=True)
        tagger.pruned().save(out)
        common.say(f"saved {out}: {Path(out).stat().st_size / 1e6:.1f} MB")
        if tagger.certificate["status"] == "interrupted":
            sys.exit(INTERRUPTED)


def in_words(warning: warnings.WarningMessage, certificate: dict[str, Any]) -> str:
    """Return the text of a warning, with the names of this command's options."""
    if not issubclass(warning.category, ConvergenceWarning):
        return str(warning.message)
    status, gap = certificate["status"], certificate["gap"]
    return f"not converged ({status}): the gap is {gap:.3g}; raise --passes, --seconds or --tol"


def require_distinct(**paths: str | None) -> None:
    """Raise UsageError if two options name the same file; DATA and --validate may."""
    named = [(name, Path(path).resolve()) for name, path in paths.items() if path not in (None, "-")]  # type: ignore[arg-type]
    for (one, path), (other, same) in itertools.combinations(named, 2):
        if path == same and "--" in one + other and {one, other} != {"DATA", "--validate"}:
            raise click.UsageError(f"{one} and {other} are the same file, {path}")


def trained(task: Any, common: TrainOptions) -> Any:
    """Train at one value of lam, and return the tagger."""
    common.say(f"training with lam = {task.lam:g}")
    result = task.train()
    return task.tagger(result.w, task.certificate(result))


def chosen(task: Any, common: TrainOptions, validate: str) -> Any:
    """Train at several values of lam, and return the tagger whose weights are best on the file ``validate``."""
    from bcfw.text.training import GRID, read_more, validated

    rows, truth = read_more(task.corpus, validate)
    path = task.path()
    choice = validated(task, path, rows, truth)
    for lam, gap, score in zip(path.lambdas, path.gaps, choice.scores, strict=True):
        common.say(f"lam {lam:.4g}: gap {gap:.3g}, on {validate} {100 * score:.2f}")
    common.say(f"lam {choice.lam:.4g} is the best")
    if path.is_grid and len(path.lambdas) < len(GRID):
        click.echo(f"bcfw: {len(GRID) - len(path.lambdas)} smaller values of lam were not tried", err=True)
    return task.tagger(path.weights(choice.lam), task.chosen_certificate(choice))
