"""Random text files of every format, for tests of readers."""

from __future__ import annotations

import random


def random_text(name: str, rng: random.Random) -> str:
    """A well-formed file of a format, with labels; lines as the program itself writes them."""
    if name == "csv":
        rows = [",".join([_number(rng), _word(rng), _number(rng), rng.choice("xyz")]) for _ in range(20)]
        return "\n".join(["n,t,m,label", *rows, ""])
    lines = []
    for sequence in range(8):
        lines += [LINES[name](rng, sequence) for _ in range(rng.randint(1, 5))]
        lines += [""] * (name != "libsvm")
    return "\n".join([*lines, ""])


def _conll_line(rng, sequence):
    return f"{_word(rng)} {_word(rng)} {rng.choice(['O', 'B-X', 'I-X'])}"


def _crfsuite_line(rng, sequence):
    forms = ("{word}", "{word}:{number}", "{word}\\:", "\\\\")
    attributes = [rng.choice(forms).format(word=_word(rng), number=_number(rng)) for _ in range(4)]
    return "\t".join([rng.choice("XYZ"), *attributes])


def _libsvm_line(rng, sequence):
    indices = sorted(rng.sample(range(1, 40), 4))
    return f"{rng.choice('123')} qid:{sequence} " + " ".join(f"{index}:{_number(rng)}" for index in indices)


LINES = {"conll": _conll_line, "crfsuite": _crfsuite_line, "libsvm": _libsvm_line}


def _word(rng):
    return "".join(rng.choices("abÄß漢-.'%/", k=rng.randint(1, 6)))


def _number(rng):
    return repr(round(rng.uniform(-9, 9), 3))
