"""Small files of data, and what several tests do with data sets."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np

SMALL_CORPUS = "He PRP B-NP\nruns VBZ B-VP\n. . O\n\nHe PRP B-NP\n. . O\n\n"

SMALL_TEST_CORPUS = "She PRP B-NP\nruns VBZ B-VP\nhere RB I-LST\n. . O\n\n"


def flat(bunch, part):
    return np.concatenate(bunch[f"X_{part}"]), np.concatenate(bunch[f"y_{part}"])


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = content.encode() if isinstance(content, str) else content
    compress = {".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)
    path.write_bytes(compress(raw))
    return path
