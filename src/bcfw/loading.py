"""``bcfw.load``: what ``save`` has written, as it was."""

from __future__ import annotations

from typing import Any

from bcfw import model_file
from bcfw.errors import InputError
from bcfw.files import PathLike
from bcfw.model_file import REMEDY, ModelFile
from bcfw.models.saved import require_given
from bcfw.result import Result
from bcfw.saved_arrays import SavedError
from bcfw.text.tagger import KIND, Tagger


def load(path: PathLike, model: Any = None) -> Any:
    """Read a model file: the estimator, the :class:`bcfw.Result` or the tagger whose ``save`` has written it.

    Loading a file runs none of it: names in it are looked up in fixed tables of bcfw, and every array is checked
    against the sizes of the model before anything reads it. A file from a stranger is as safe as its predictions.

    Parameters
    ----------
    path : path
    model : bcfw.Model or None
        Where the file was trained with a model of your own: that model, with the same options. If its ``bind`` finds
        out more than ``dim``, give a bound one.

    Returns
    -------
    estimator, Result or bcfw.text.tagger.Tagger
        With the same weights, predictions, options, certificate and history. Files of ``bcfw train`` hold a tagger.

    Raises
    ------
    InputError
        If the file is no model file, is damaged, or was written by a newer bcfw.
    OptionError
        If the file needs ``model`` and it is not given, or the other way round.

    Examples
    --------
    >>> import numpy as np, os, tempfile, bcfw
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]]), ["ant", "bee", "cow"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "insects.bcfw")
    ...     bcfw.MulticlassSVM(lam=0.01).fit(X, y).save(path)
    ...     svm = bcfw.load(path)
    >>> svm.predict(X), svm.result_.certified
    (array(['ant', 'bee', 'cow'], dtype='<U3'), True)
    """
    return restored(model_file.read(path), model)


def restored(file: ModelFile, model: Any = None) -> Any:
    """What a file holds; the same as :func:`load` for a file that has been read."""
    path = file.arrays.source
    require_given(file.header.get("model"), model, path)
    try:
        return _restored(file, model)
    except SavedError:
        raise
    except Exception as error:  # of a header that was made up, anything may come
        raise InputError(
            f"{path} is not a usable model file ({type(error).__name__}: {error!s:.200}); {REMEDY}"
        ) from error


def _restored(file: ModelFile, model: Any) -> Any:
    if file.kind == "result":
        return Result._restored(file.header, file.arrays, model)
    if file.kind == KIND:
        return Tagger.from_file(file)
    if file.kind != "estimator":
        raise file.arrays.damaged("the file", f"holds a {file.kind!r}, which this bcfw does not know")
    from bcfw.estimators import ESTIMATORS  # loads scikit-learn, which results do without
    from bcfw.estimators.saved import saved_options

    name = file.header["estimator"]
    if name not in ESTIMATORS:
        raise file.arrays.damaged("the header", f"has an estimator {name!r}, which this bcfw does not have")
    kind = ESTIMATORS[name]
    estimator = kind(**saved_options(kind, file.header["options"], file.arrays, model))
    estimator._restore_state(file.header, file.arrays, model)
    return estimator
