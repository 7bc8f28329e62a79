"""``bcfw.load``: read the estimators, results and taggers that their ``save`` methods have written."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from bcfw.errors import InputError
from bcfw.storage import model_file
from bcfw.storage.checked_arrays import SavedError
from bcfw.storage.files import PathLike
from bcfw.storage.model_file import REMEDY, ModelFile
from bcfw.storage.objects import require_given

#: A function that makes an object out of a model file and, where the file needs one, the user's own model.
Reader = Callable[[ModelFile, Any], Any]

#: The kinds of model files, and the module that defines the reader of each; it is loaded when such a file is read.
HOMES = {"result": "bcfw.result", "tagger": "bcfw.text.tagger", "estimator": "bcfw.estimators"}

#: The readers of the modules that are loaded.
READERS: dict[str, Reader] = {}


def reads(kind: str) -> Callable[[Reader], Reader]:
    """Decorate the function that reads model files of one kind."""

    def enter(reader: Reader) -> Reader:
        READERS[kind] = reader
        return reader

    return enter


def load(path: PathLike, model: Any = None) -> Any:
    """Read a model file, and return the estimator, the :class:`bcfw.Result` or the tagger that was saved.

    No code in the file is executed: names in it are looked up in fixed tables of bcfw, and every array is checked
    against the sizes of the model before it is used. So loading a file of unknown origin is safe; whether to trust its
    predictions is another question.

    Parameters
    ----------
    path : path
    model : bcfw.Model or None
        Needed if the file was trained with a model of your own: this model, with equal options. If its ``bind`` sets
        more than ``dim``, give a bound model.

    Returns
    -------
    estimator, Result or bcfw.text.tagger.Tagger
        The saved object, with equal weights, predictions, options, certificate and history. Files of ``bcfw train``
        contain a tagger.

    Raises
    ------
    InputError
        If the file is not a model file, is damaged, or was written by a newer bcfw.
    OptionError
        If the file needs ``model`` and it is not given, or if it is given and not needed.

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
    """Return the object in a model file that has been read; see :func:`load`."""
    path = file.arrays.source
    require_given(file.header.get("model"), model, path)
    try:
        return _restored(file, model)
    except SavedError:
        raise
    except Exception as error:  # a forged header can cause any exception
        raise InputError(
            f"{path} is not a usable model file ({type(error).__name__}: {error!s:.200}); {REMEDY}"
        ) from error


def _restored(file: ModelFile, model: Any) -> Any:
    if file.kind not in HOMES:
        raise file.arrays.damaged("the file", f"holds a {file.kind!r}, which this bcfw does not know")
    importlib.import_module(HOMES[file.kind])
    return READERS[file.kind](file, model)
