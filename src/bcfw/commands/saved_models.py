"""Open the model files of ``bcfw predict`` and ``bcfw evaluate``, which ``bcfw train`` or Python has saved."""

from __future__ import annotations

from typing import Any

from bcfw.commands.common_options import format_of, text_source
from bcfw.errors import OptionError
from bcfw.formats import Columns


def open_tagger(path: str, data: str, given: dict[str, Any]) -> Any:
    """Return a tagger for the examples of ``data``; ``given`` are the options about the format of ``data``."""
    from bcfw.storage import model_file
    from bcfw.text.tagger import KIND, Tagger

    found = model_file.read(path)
    if found.kind != KIND:
        return saved_in_python(found, data, given)
    for name in [name.removesuffix("_name") for name, value in given.items() if value is not None]:
        raise OptionError(f"--{name}: {path} is a model of bcfw train and knows its format; leave the option out")
    return Tagger.from_file(found)


def saved_in_python(found: Any, data: str, given: dict[str, Any]) -> Any:
    """Return a tagger for an estimator or a result that was saved in Python; its source reads ``data``."""
    from bcfw.commands.estimator_tagger import EstimatorTagger, FeatureTable
    from bcfw.storage.load import restored

    path = found.arrays.source
    tagger = EstimatorTagger(restored(found), path)
    chosen, columns_chosen = given["format_name"], given["attributes"] or given["template"]
    name = chosen or format_of(data)
    if tagger.by_name and name == "conll" and not columns_chosen:
        if chosen:
            raise OptionError(
                f"{path} has attributes by name; say by --attributes or --template how columns become attributes, or "
                "give attributes in a file of --format crfsuite"
            )
        name = "crfsuite"
    if not tagger.by_name and name not in ("libsvm", "csv"):
        raise OptionError(f"{path} has {tagger.n_features} features by number; give data of --format libsvm or csv")
    if name in ("conll", "libsvm") and any(" " in label for label in tagger.labels):
        raise OptionError(f"{path} has labels with blanks, which --format {name} cannot have; choose another format")
    tagger.source = text_source({**given, "data": data, "format_name": name})
    if name == "conll":  # the columns that the attributes use, and the column of the label
        tagger.source.format = Columns(columns=tagger.source.attributes.n_columns + 1)  # type: ignore[union-attr]
    if name == "csv" and not tagger.by_name:
        tagger.source.format = FeatureTable(tagger, **tagger.source.format.settings)
    return tagger
