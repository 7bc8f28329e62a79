"""Model files: a safetensors file with arrays, one JSON header and checksums. Reading a file executes no code in it.

This module reads and writes the container only. The readers interpret header and arrays and check that they fit
together: :class:`bcfw.Result`, the estimators and :func:`bcfw.load`.
"""

from __future__ import annotations

import json
import math
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from bcfw.errors import InputError
from bcfw.storage.checked_arrays import SavedArrays, check_sums, checksums
from bcfw.storage.files import PathLike, check_writable, checked_path, replacing

#: Version of the layout of model files; newer versions are refused.
LAYOUT = 1

#: The key in the metadata of a safetensors file that marks a model file.
MARK = "bcfw"

#: Advice about a file that cannot be used; the end of messages.
REMEDY = "get the file again, or save the model anew"

#: Packages whose versions are written into every model file.
PACKAGES = ("bcfw", "numpy", "safetensors")

#: numpy's kinds of the arrays in model files: truth values, whole and real numbers.
KINDS = "biuf"

#: A gap between positions of at least this size is written as this byte, and in full in a second array.
LONG = 255

#: Largest allowed ratio of uncompressed to compressed size; data that would exceed it are stored uncompressed. Without
#: a limit, a small file could demand any amount of memory.
MOST_EXPANSION = 100

#: Fields that headers of all kinds of files can have. Each is a dict; its values must have one of these types.
FIELDS: dict[str, tuple[type, ...]] = {"versions": (str,), "certificate": (str, bool, int, float, type(None))}

#: Number of bytes in front of compressed data that contain the uncompressed size.
SIZE_BYTES = 8


class ModelFile(NamedTuple):
    """The content of a model file: its kind, the header, and arrays, each of which is checked when it is taken."""

    kind: str
    header: dict[str, Any]
    arrays: SavedArrays


def write(path: PathLike, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a model file; an older file is replaced when the new one is complete.

    Parameters
    ----------
    path : path
    kind : str
        The kind of object that is saved: "result", "estimator" or the tagger's kind.
    header : mapping
        Data that JSON can represent; the key "versions" is added.
    arrays : mapping of arrays by name
        Arrays of truth values, whole or real numbers.
    """
    check_writable(path, "model file")
    arrays = {name: _plain(name, array) for name, array in arrays.items()}
    versions = {name: sys.modules[name].__version__ for name in PACKAGES}
    text = json.dumps({**header, "versions": versions}, separators=(",", ":"))
    sums = checksums(_everything(kind, text, arrays)).tolist()
    about = {"layout": LAYOUT, "kind": kind, "header": text, "checksums": sums}
    content = save(arrays, {MARK: json.dumps(about)})  # one entry, because safetensors writes entries in any order
    with replacing(path) as file:
        file.write(content)


def read(path: PathLike) -> ModelFile:
    """Read a model file.

    Raises
    ------
    InputError
        If it is not a model file, was written by a newer bcfw, or has changed since. The message names the file.
    """
    checked_path(path, "model file")
    metadata, arrays = _content(path)
    if MARK not in metadata:
        raise InputError(f"{path} is a safetensors file, but no model of bcfw; give a file that save has written")
    try:
        about = json.loads(metadata[MARK])
        layout, kind, text = about["layout"], about["kind"], about["header"]
        if type(layout) is not int or layout < 1 or not isinstance(kind, str):
            raise _unreadable(path, f"it has the layout {layout!r:.40} and the kind {kind!r:.40}")
        if layout <= LAYOUT:
            check_sums(_everything(kind, text, arrays), about["checksums"], str(path), REMEDY)
            header = json.loads(text)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(path, error) from error
    if layout > LAYOUT:
        raise InputError(f"{path} was written by a newer bcfw (layout {layout}); update bcfw to read it")
    if not isinstance(header, dict):
        raise _unreadable(path, "its header is no header")
    for name, kinds in FIELDS.items():
        values = header.get(name, {})
        if not isinstance(values, dict) or not all(isinstance(value, kinds) for value in values.values()):
            raise _unreadable(path, f"its header has {name} = {values!r:.40}")
    return ModelFile(kind, header, SavedArrays(arrays, str(path), REMEDY))


def _content(path: PathLike) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return the metadata and the arrays of a safetensors file."""
    try:
        with safe_open(path, framework="numpy") as file:  # raises unless the file has the size that its header says
            metadata = file.metadata() or {}
            _require_memory(path, os.path.getsize(path))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}; give the path of a model file") from error
    except (InputError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # safetensors and numpy can raise anything; a panic in Rust is not an Exception
        raise _unreadable(path, error) from error
    for name, array in arrays.items():
        if array.dtype.kind not in KINDS:
            raise _unreadable(path, f"{name} has {array.dtype}")
    return metadata, arrays


def _require_memory(path: PathLike, size: int) -> None:
    """Raise InputError unless ``size`` bytes of memory are available; without memory, safetensors panics."""
    free = math.inf
    with suppress(OSError, LookupError, ValueError):  # free memory is known on Linux only
        free = 1024 * int(Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0])
    try:
        np.empty(size, np.uint8)  # raises above the limits of the process; freed at once
    except MemoryError:
        free = 0
    if size > free:
        raise InputError(f"{path} has {size / 1e9:.1f} GB, for which there is not enough memory here")


def _unreadable(path: PathLike, why: Any) -> InputError:
    return InputError(f"{path} is not a readable model file ({why!s:.200}); {REMEDY}")


def _plain(name: str, array: Any) -> np.ndarray:
    """Return an array as safetensors needs it: in C order and native byte order, of a type that every machine has."""
    array = np.asarray(array, order="C")
    if array.dtype.kind not in KINDS or array.dtype.itemsize > SIZE_BYTES:
        raise InputError(
            f"model file: {name} has {array.dtype}; only truth values, whole and real numbers can be saved"
        )
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _everything(kind: str, text: str, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return everything that has a checksum: kind, header and arrays."""
    return {"(kind)": kind, "(header)": text, **arrays}


# --- weights ---------------------------------------------------------------------------------------------------------


def pack_weights(name: str, w: Any) -> dict[str, np.ndarray]:
    """Return a weight vector as arrays: the whole vector or, if this is smaller, its non-zero entries.

    For non-zero entries, ``name.values`` are the values and ``name.dim`` is the length of the vector. ``name.gaps`` has
    the number of zeros before each value, one byte each; numbers of at least ``LONG`` are written as ``LONG`` there,
    and in ``name.long_gaps`` with eight bytes each. Both arrays of gaps are compressed.
    """
    w = np.ascontiguousarray(w, dtype=np.float64)
    if w.ndim != 1 or not np.isfinite(w).all():
        raise InputError(f"model file: {name} must be a vector of finite numbers to be saved, got shape {w.shape}")
    positions = _set_positions(w)
    gaps = np.diff(positions, prepend=-1) - 1
    packed = {
        f"{name}.values": w[positions],
        f"{name}.gaps": _compressed(np.minimum(gaps, LONG).astype(np.uint8).tobytes()),
        f"{name}.long_gaps": _compressed(gaps[gaps >= LONG].astype("<i8").tobytes()),
        f"{name}.dim": np.array(len(w)),
    }
    return packed if sum(array.nbytes for array in packed.values()) < w.nbytes else {name: w}


def unpack_weights(arrays: SavedArrays | Mapping[str, Any], name: str) -> np.ndarray:
    """Return the weight vector that :func:`pack_weights` has packed, equal in every bit."""
    saved = _saved(arrays)
    if name in saved:
        return saved.get(name, np.float64, (None,))
    positions, values, dim = sparse_weights(saved, name)
    try:
        w = np.zeros(dim)
    except (MemoryError, ValueError) as error:
        raise saved.damaged(f"{name}.dim", f"asks for {dim} weights, more than there is memory for") from error
    w[positions] = values
    return w


def sparse_weights(arrays: SavedArrays | Mapping[str, Any], name: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the non-zero entries of a packed weight vector, without creating the whole vector.

    Returns
    -------
    positions : (m,) int64 array, ascending
    values : (m,) float64 array
    dim : int
        The length of the vector.
    """
    saved = _saved(arrays)
    if name in saved:
        w = saved.get(name, np.float64, (None,))
        positions = _set_positions(w)
        return positions, w[positions], len(w)
    values, dim = saved.get(f"{name}.values", np.float64, (None,)), int(saved.get(f"{name}.dim", np.int64, (), 0))
    gaps = np.frombuffer(_expanded(saved, f"{name}.gaps"), np.uint8).astype(np.int64)
    long = _expanded(saved, f"{name}.long_gaps")
    is_long = gaps == LONG
    if len(gaps) != len(values) or len(long) != 8 * np.count_nonzero(is_long):
        raise saved.damaged(f"{name}.gaps", f"does not fit {name}.values and {name}.long_gaps")
    gaps[is_long] = np.frombuffer(long, "<i8")
    positions = np.cumsum(gaps + 1) - 1
    if len(positions) and not (positions[0] >= 0 and positions[-1] < dim and np.all(positions[1:] > positions[:-1])):
        raise saved.damaged(f"{name}.gaps", f"has positions that are not in order within 0 .. {dim - 1}")
    return positions, values, dim


def _set_positions(w: np.ndarray) -> np.ndarray:
    """Return the positions at which any bit of w is set; this includes minus zero."""
    return np.flatnonzero(w.view(np.uint64))


# --- texts -----------------------------------------------------------------------------------------------------------


def pack_strings(name: str, strings: Sequence[str]) -> dict[str, np.ndarray]:
    """Return a list of texts as one compressed array of bytes.

    The texts are joined by a separator, a character that no text contains; the separator is also the first character.
    An empty list gives no bytes.
    """
    if not strings:
        return {name: _compressed(b"")}
    used = set().union(*strings)
    separator = next(one for one in map(chr, (ord("\n"), *range(len(used) + 1))) if one not in used)
    text = separator + separator.join(strings)
    return {name: _compressed(text.encode("utf-8", "surrogatepass"))}


def unpack_strings(arrays: SavedArrays | Mapping[str, Any], name: str) -> list[str]:
    """Return the texts that :func:`pack_strings` has packed."""
    saved = _saved(arrays)
    try:
        text = _expanded(saved, name).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise saved.damaged(name, f"is no text ({error})") from error
    return text[1:].split(text[0]) if text else []


# --- compressed bytes ------------------------------------------------------------------------------------------------


def _compressed(raw: bytes) -> np.ndarray:
    packed = zlib.compress(raw)
    if len(raw) > MOST_EXPANSION * len(packed):
        packed = zlib.compress(raw, level=0)
    return np.frombuffer(len(raw).to_bytes(SIZE_BYTES, "little") + packed, np.uint8)


def _expanded(saved: SavedArrays, name: str) -> bytes:
    packed = saved.get(name, np.uint8, (None,)).tobytes()
    size = int.from_bytes(packed[:SIZE_BYTES], "little")
    if size > MOST_EXPANSION * len(packed):
        raise saved.damaged(name, f"asks for {size} bytes out of {len(packed)}")
    engine = zlib.decompressobj()
    try:
        raw = engine.decompress(packed[SIZE_BYTES:], size + 1)
    except zlib.error as error:
        raise saved.damaged(name, f"cannot be decompressed ({error})") from error
    if len(raw) != size or not engine.eof or engine.unused_data:
        raise saved.damaged(name, f"does not hold {size} bytes")
    return raw


def _saved(arrays: SavedArrays | Mapping[str, Any]) -> SavedArrays:
    return arrays if isinstance(arrays, SavedArrays) else SavedArrays(arrays, "model file", REMEDY)
