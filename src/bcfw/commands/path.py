"""``bcfw path``: train at several values of lam, and print a table of their gaps and scores."""

from __future__ import annotations

from typing import Any

import click

from bcfw.commands.common_options import TrainOptions, data_options, training_options
from bcfw.commands.error_reports import errors_reported


@click.command()
@data_options
@training_options
@click.option("--validate", metavar="FILE", help="Also measure the weights of every lam on this labelled file.")
def path(validate: str | None, **given: Any) -> None:
    """Train on DATA at several values of lam, and print a table: lam, gap, norm of the weights, score.

    The score is measured on the file of --validate. If the model has few weights, the values of lam are the breakpoints
    of the whole regularisation path; otherwise they are a grid around --lam.
    """
    from bcfw.text.training import read_more, validated

    with errors_reported():
        common = TrainOptions.of(given)
        task = common.task()
        other = None if validate is None else read_more(task.corpus, validate)
        found = task.path()
        common.say(found.summary())
        columns = {"lam": found.lambdas, "gap": found.gaps, "norm": found.norms}
        if other is not None:
            choice = validated(task, found, *other)
            columns["score"] = 100.0 * choice.scores
            common.say(f"lam {choice.lam:.4g} is the best on {validate}")
        click.echo("\t".join(columns))
        for row in zip(*columns.values(), strict=True):
            click.echo("\t".join(f"{value:.6g}" for value in row))
