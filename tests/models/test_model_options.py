"""Options of the built-in models, and what they say before they are bound to data."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.models import Chain, Multiclass
from small_data import CHAINS, LABELS, X2, Y2


@pytest.mark.parametrize("kind", [Multiclass, Chain])
@pytest.mark.parametrize(
    "options",
    [
        {"n_labels": 0},
        {"n_labels": -1},
        {"n_labels": 2.5},
        {"n_labels": "2"},
        {"cost": np.ones((3, 3)) - np.eye(3)},
        {"cost": [0, 1]},
        {"cost": [[0, -1], [1, 0]]},
        {"cost": [[0, np.nan], [1, 0]]},
        {"cost": [[0, np.inf], [1, 0]]},
        {"cost": [[1, 1], [1, 0]]},
        {"cost": [["a", "b"], ["c", "d"]]},
    ],
    ids=str,
)
def test_wrong_options_of_a_model(kind, options):
    (name,) = options
    data = (X2, Y2) if kind is Multiclass else (CHAINS, LABELS)
    with pytest.raises(bcfw.OptionError, match=name):
        bcfw.train(kind(**options), *data)


@pytest.mark.parametrize("kind", [Multiclass, Chain])
def test_unbound_models_ask_for_data(kind):
    model = kind(n_labels=2)
    for call in (
        lambda: model.features(CHAINS[0], [0, 1]),
        lambda: model.loss(0, 1),
        lambda: model.predict(np.zeros(4), X2),
        lambda: model.oracle(np.zeros(4), X2[0]),
    ):
        with pytest.raises(bcfw.OptionError, match="bind"):
            call()
