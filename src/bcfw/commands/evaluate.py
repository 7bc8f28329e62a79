"""``bcfw evaluate``: compare the predictions of a model with the labels of a file."""

from __future__ import annotations

import itertools
from typing import Any

import click

from bcfw.commands.common_options import format_options
from bcfw.commands.error_reports import errors_reported
from bcfw.commands.predict import AT_ONCE
from bcfw.commands.saved_models import open_tagger


@click.command()
@click.argument("model")
@click.argument("data", default="-")
@format_options
def evaluate(model: str, data: str, **given: str | None) -> None:
    """Compare the predictions of MODEL with the labels of DATA (standard input by default).

    Prints the accuracy, and precision, recall and F1 of every label, all in percent. If the labels are labels of spans
    (B-..., I-..., O), it also prints precision, recall and F1 of every type of span and, on a separate line, the F1 of
    all spans. Labels that did not occur in training count as wrong. If MODEL was saved in Python, options describe the
    format of DATA, as for bcfw predict.
    """
    from bcfw.metrics import flat_accuracy, label_report, sequence_accuracy, span_report
    from bcfw.text.source import as_spans

    with errors_reported():
        tagger = open_tagger(model, data, given)
        truth, predicted = compared(tagger, data)
        positions = sum(map(len, truth))
        click.echo(f"examples {len(truth)}, positions {positions}")
        click.echo(f"accuracy {100 * flat_accuracy(truth, predicted):.2f}")
        if tagger.source.format.sequences:
            click.echo(f"whole sequences right {100 * sequence_accuracy(truth, predicted):.2f}")
        click.echo(table(label_report(truth, predicted), "label"))
        if tagger.source.has_spans(tagger.labels):
            report = span_report(as_spans(truth), predicted)
            click.echo(table(report, "spans of type"))
            click.echo(f"F1 {100 * report.average()['f1']:.2f}")


def compared(tagger: Any, data: str) -> tuple[list[list[str]], list[list[str]]]:
    """Return the true and the predicted labels of all examples of a file."""
    truth: list[list[str]] = []
    predicted: list[list[str]] = []
    examples = tagger.source.examples(data, labelled=True)
    while batch := list(itertools.islice(examples, AT_ONCE)):
        truth += map(tagger.truth, batch)
        predicted += tagger.tag_examples(batch)
    return truth, predicted


def table(report: Any, title: str) -> str:
    """Return a table with precision, recall and F1 of every label in percent."""
    rows = report.as_dict()
    width = max([len(title), *map(len, rows)])
    lines = ["", f"{title:{width}}  precision  recall      F1  support"]
    for name, row in rows.items():
        shares = "  ".join(f"{100 * row[key]:{size}.2f}" for key, size in (("precision", 9), ("recall", 6), ("f1", 6)))
        lines.append(f"{name:{width}}  {shares}  {row['support']:7d}")
    return "\n".join(lines)
