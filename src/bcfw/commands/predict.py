"""``bcfw predict``: read examples from a file or a stream, and write them with predicted labels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from bcfw.commands.common_options import format_options
from bcfw.commands.error_reports import errors_reported
from bcfw.commands.saved_models import open_tagger

#: Largest number of examples that are labelled at once. More would not be faster, but would delay the output.
AT_ONCE = 200


@click.command()
@click.argument("model")
@click.argument("data", default="-")
@format_options
@click.option("--out", "-o", metavar="FILE", help="Where to write; by default standard output.")
def predict(model: str, data: str, out: str | None, **given: str | None) -> None:
    """Label the examples of DATA (standard input by default) with a MODEL.

    DATA can have labels or not. Files in columns and tables get one more column with the predicted labels; in other
    formats the labels are replaced. The output has one line for every line of DATA. Input from a pipe is answered
    sentence by sentence.

    MODEL is a file of bcfw train, or a ChainSVM or MulticlassSVM that was saved in Python. A file of bcfw train knows
    the format of its data; only for a model saved in Python, options describe the format of DATA. Attributes by name
    are read from the format crfsuite or computed from columns (--attributes, --template); features by number are read
    from libsvm or csv.
    """
    from bcfw.storage.files import replacing

    with errors_reported():
        tagger = open_tagger(model, data, given)
        if out not in (None, "-"):
            with replacing(out, "w") as file:
                file.writelines(answers(tagger, data))
            return
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        for text in answers(tagger, data):
            sys.stdout.write(text)
            sys.stdout.flush()


def answers(tagger: Any, data: str) -> Iterator[str]:
    """Yield texts with predictions, each when ``AT_ONCE`` examples are complete or no more input is waiting.

    Together the texts have one line for every line of the data.
    """
    from bcfw.formats import open_lines

    format, batch = tagger.source.format, []
    with open_lines(data) as lines:
        for piece in format.pieces(lines, lines.source):
            batch.append(piece)
            if len(batch) == AT_ONCE or not format.ready(lines):
                yield labelled(tagger, batch)
                batch = []
    if batch:
        yield labelled(tagger, batch)


def labelled(tagger: Any, batch: list[Any]) -> str:
    """Return the text of examples with their predictions; pieces without positions remain unchanged."""
    predicted = iter(tagger.tag_examples(some) if (some := [piece for piece in batch if piece.x]) else [])
    return "".join(tagger.source.format.text(piece, next(predicted) if piece.x else []) for piece in batch)
