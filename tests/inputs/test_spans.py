"""Labels of spans: schemes, conversions, and what a scheme forbids."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bcfw.inputs.spans import FORBIDDEN, are_span_labels, in_scheme, is_span_label, penalties, scheme_of
from bcfw.metrics import span_report

BIO = ["B-X", "B-Y", "I-X", "I-Y", "O"]
IOBES = ["B-X", "B-Y", "E-X", "E-Y", "I-X", "I-Y", "O", "S-X", "S-Y"]


def spans_of(labels, scheme):
    """All spans (type, first, last) by a plain loop; None if the labels break the rules of the scheme."""
    found, begin = [], None
    for t, label in enumerate([*labels, "O"]):
        prefix, kind = label[0], label[2:]
        goes_on = prefix in "IE" and begin is not None and begin[0] == kind
        if prefix in "IE" and not goes_on:
            return None
        if begin is not None and not goes_on:
            if scheme == "IOBES":
                return None
            found.append((begin[0], begin[1], t - 1))
            begin = None
        if prefix == "B":
            begin = (kind, t)
        elif prefix in "SE":
            found.append((kind, t if prefix == "S" else begin[1], t))
            begin = None
    return found


@pytest.mark.parametrize(("labels", "scheme"), [(BIO, "BIO"), (IOBES, "IOBES")])
def test_what_a_scheme_forbids_is_what_breaks_its_rules(labels, scheme):
    first, last, transitions = penalties(labels, scheme)
    for length in (1, 2, 3):
        for codes in itertools.product(range(len(labels)), repeat=length):
            total = first[codes[0]] + last[codes[-1]] + sum(transitions[a, b] for a, b in itertools.pairwise(codes))
            assert (total == 0.0) == (spans_of([labels[code] for code in codes], scheme) is not None)
            assert total == 0.0 or total <= FORBIDDEN


def test_conversion_keeps_all_spans_and_comes_back():
    rng = np.random.default_rng(0)
    codes, ends = rng.integers(len(BIO), size=400), np.arange(0, 401, 8)
    given = [[BIO[code] for code in codes[a:b]] for a, b in itertools.pairwise(ends)]
    labels, new = in_scheme(BIO, codes, ends, "IOBES")
    assert labels == sorted(labels)
    converted = [[labels[code] for code in new[a:b]] for a, b in itertools.pairwise(ends)]
    assert all(spans_of(one, "IOBES") is not None for one in converted)
    assert span_report(given, converted).average()["f1"] == 1.0
    labels, back = in_scheme(labels, new, ends, "BIO")
    returned = [[labels[code] for code in back[a:b]] for a, b in itertools.pairwise(ends)]
    assert [spans_of(one, "BIO") for one in returned] == [spans_of(one, "IOBES") for one in converted]


def test_labels_without_a_type_stay_without_one():
    labels, codes = in_scheme(["B", "I", "O"], np.array([0, 1, 1, 2, 0]), np.array([0, 5]), "IOBES")
    assert [labels[code] for code in codes] == ["B", "I", "E", "O", "S"]


def test_what_is_a_label_of_a_span():
    assert all(map(is_span_label, ["O", "B-NP", "I", "S-a-b", "U-x"]))
    assert not any(map(is_span_label, ["", "NP", "B_NP", "X-NP", 3, None]))
    assert are_span_labels(["O", "B-NP"])
    assert not are_span_labels(["O", "B"])
    assert not are_span_labels(["O", "NN"])
    assert scheme_of(BIO) == "BIO"
    assert scheme_of(IOBES) == "IOBES"


@pytest.mark.parametrize(("scheme", "letters"), [("BILOU", {"E": "L", "S": "U"}), ("BMES", {"I": "M"})])
def test_schemes_with_other_letters_are_iobes_under_another_name(scheme, letters):
    labels = sorted(letters.get(label[0], label[0]) + label[1:] for label in IOBES)
    assert scheme_of(labels) == scheme
    assert scheme_of([*labels, "S-X" if scheme == "BILOU" else "U-X"]) == "IOBES"  # a mixture
    codes, ends = np.random.default_rng(0).integers(len(BIO), size=60), np.arange(0, 61, 6)
    usual, new = in_scheme(BIO, codes, ends, "IOBES")
    others, renamed = in_scheme(BIO, codes, ends, scheme)
    assert [others[k] for k in renamed] == [letters.get(usual[k][0], usual[k][0]) + usual[k][1:] for k in new]
    assert np.array_equal(penalties(others, scheme).transitions, penalties(others, "IOBES").transitions)
