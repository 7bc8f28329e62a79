"""64-bit hashes of texts, and a hash table that finds the column of a text."""

from __future__ import annotations

import numpy as np

#: Multiplier and initial value of the hash FNV-1a.
PRIME = np.uint64(0x100000001B3)
BASIS = np.uint64(0xCBF29CE484222325)

#: Multiplier that spreads the bits of a hash over the places of the table.
SPREAD = np.uint64(0x9E3779B97F4A7C15)

#: Marks a free place of the table.
FREE = -1


def hash_texts(text, separator, out):
    """Write the FNV-1a hash of every piece of ``text`` (an array of bytes) between separators to ``out``."""
    h = BASIS
    place = 0
    for j in range(text.shape[0]):
        byte = text[j]
        if byte == separator:
            out[place] = h
            place += 1
            h = BASIS
        else:
            h = (h ^ np.uint64(byte)) * PRIME
    out[place] = h


def fill_table(hashes, keys, columns):
    """Enter every hash j with its column j into the table; return False if two hashes are equal.

    ``keys`` and ``columns`` have the same length, a power of two that is larger than the number of hashes.
    """
    mask = np.uint64(keys.shape[0] - 1)
    for j in range(hashes.shape[0]):
        place = (hashes[j] * SPREAD >> np.uint64(20)) & mask
        while columns[place] != FREE:
            if keys[place] == hashes[j]:
                return False
            place = (place + np.uint64(1)) & mask
        keys[place] = hashes[j]
        columns[place] = j
    return True


def find_columns(hashes, keys, columns, out):
    """Write the column of every hash to ``out``, or ``FREE`` if the hash is not in the table."""
    mask = np.uint64(keys.shape[0] - 1)
    for j in range(hashes.shape[0]):
        place = (hashes[j] * SPREAD >> np.uint64(20)) & mask
        while columns[place] != FREE and keys[place] != hashes[j]:
            place = (place + np.uint64(1)) & mask
        out[j] = columns[place]
