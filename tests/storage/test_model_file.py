"""Model files as containers: what is written is read bit by bit; anything else is one clear error."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tracemalloc
import zlib

import numpy as np
import pytest
import safetensors
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save_file

import bcfw
from bcfw.commands import main
from bcfw.errors import InputError
from bcfw.storage.checked_arrays import checksums
from bcfw.storage.model_file import (
    LAYOUT,
    pack_strings,
    pack_weights,
    read,
    sparse_weights,
    unpack_strings,
    unpack_weights,
    write,
)

HEADER = {"estimator": "ChainSVM", "classes": ["ä", "b"], "lam": 0.1, "gap": float("inf"), "nothing": None}

ARRAYS = {
    "w": np.array([0.1, -0.0, 5e-324, -1.7e308]),
    "empty": np.zeros((0, 3)),
    "scalar": np.array(7),
    "flags": np.array([True, False]),
    "small": np.arange(6, dtype=np.int8).reshape(2, 3).T,
    "single": np.array([0.1, 0.2], np.float32),
    "large": np.array([2**64 - 1], np.uint64),
    "turned": np.arange(4, dtype=">i4"),
}


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def forged(path, about, arrays=None):
    """A file that says anything about itself, with checksums that belong to it."""
    arrays = {"w": np.ones(2)} if arrays is None else arrays
    texts = {"(kind)": about.get("kind", ""), "(header)": about.get("header", "")}
    sums = checksums({**texts, **arrays}).tolist()
    save_file(arrays, path, {"bcfw": json.dumps({"checksums": sums, **about})})
    return path


def test_everything_comes_back(tmp_path):
    path = tmp_path / "model.bcfw"
    write(path, "estimator", HEADER, ARRAYS)
    found = read(path)
    versions = found.header.pop("versions")
    assert (found.kind, found.header) == ("estimator", HEADER)
    assert versions == {"bcfw": bcfw.__version__, "numpy": np.__version__, "safetensors": safetensors.__version__}
    for name, array in ARRAYS.items():
        native = array.astype(array.dtype.newbyteorder("="))
        assert same_bits(found.arrays.get(name, native.dtype, native.shape, -np.inf, np.inf), native), name
    assert found.arrays.has("tur")
    assert "strange" not in found.arrays


def test_the_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / "model.bcfw"
    write(path, "result", {"number": 1}, {})
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write(path, "result", {"number": 2}, ARRAYS)
    assert read(path).header["number"] == 1
    assert os.listdir(tmp_path) == ["model.bcfw"]


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.array([1j]), np.array([1], np.longdouble)])
def test_arrays_of_other_things_are_refused(tmp_path, array):
    with pytest.raises(InputError, match=r"names has .* only truth values, whole and real numbers"):
        write(tmp_path / "model", "result", {}, {"names": array})


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(InputError, match=r"model file: the folder .* does not exist"):
        write(tmp_path / "none" / "model", "result", {}, {})
    with pytest.raises(InputError, match="is a folder"):
        write(tmp_path, "result", {}, {})


# --- weights


def vectors():
    numbers = st.one_of(st.just(0.0), st.just(0.0), st.floats(allow_nan=False, allow_infinity=False))
    return hnp.arrays(np.float64, st.integers(0, 700), elements=numbers, fill=st.just(0.0))


@given(vectors())
def test_weights_keep_every_bit(w):
    packed = pack_weights("w", w)
    assert same_bits(unpack_weights(packed, "w"), w)
    positions, values, dim = sparse_weights(packed, "w")
    again = np.zeros(dim)
    again[positions] = values
    assert same_bits(again, w)
    assert positions.dtype == np.int64
    assert sum(array.nbytes for array in packed.values()) <= max(w.nbytes, 8)


@pytest.mark.parametrize("gap", [0, 1, 254, 255, 256, 257, 100_000])
def test_gaps_of_all_sizes(gap):
    w = np.zeros(3 * gap + 5)
    w[[gap, 2 * gap + 1, 2 * gap + 2, 3 * gap + 3]] = [1.0, -0.0, 2.0, 3.0]
    assert same_bits(unpack_weights(pack_weights("v", w), "v"), w)


def test_sparse_weights_are_small():
    """At 5.7 % non-zeros, positions take about a byte each, and all less than a tenth of the whole vector."""
    rng = np.random.default_rng(0)
    w = np.where(rng.random(10**6) < 0.057, rng.standard_normal(10**6), 0.0)
    packed = pack_weights("w", w)
    assert sum(array.nbytes for array in packed.values()) < 0.07 * w.nbytes
    assert packed["w.gaps"].nbytes < 1.1 * np.count_nonzero(w)
    tracemalloc.start()
    sparse_weights(packed, "w")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < w.nbytes


@pytest.mark.parametrize("w", [np.array([np.nan]), np.array([np.inf]), np.ones((2, 2))])
def test_weights_that_are_none(w):
    with pytest.raises(InputError, match="w must be a vector of finite numbers"):
        pack_weights("w", w)


def compressed(raw, declared=None):
    size = len(raw) if declared is None else declared
    return np.frombuffer(size.to_bytes(8, "little") + zlib.compress(raw), np.uint8)


def longs(*gaps):
    return compressed(np.array(gaps, "<i8").tobytes())


#: Names of arrays, what is put there in place of what was saved, and what the error says.
WRONG_WEIGHTS = {
    "no values": ({"w.values": None}, "incomplete: it has no w.values"),
    "values of another type": ({"w.values": np.arange(3)}, "w.values has int64"),
    "a value that is no number": ({"w.values": np.array([1.0, np.nan, 2.0])}, "w.values holds numbers"),
    "too few values": ({"w.values": np.ones(2)}, "w.gaps does not fit w.values"),
    "too few gaps": ({"w.gaps": compressed(b"\x01")}, "w.gaps does not fit w.values"),
    "too few long gaps": ({"w.long_gaps": longs()}, "w.gaps does not fit"),
    "half a long gap": ({"w.long_gaps": compressed(b"1234")}, "w.gaps does not fit"),
    "behind the end": ({"w.long_gaps": longs(5000)}, "positions that are not in order"),
    "before the beginning": ({"w.long_gaps": longs(-300)}, "positions that are not in order"),
    "around the end of numbers": ({"w.long_gaps": longs(2**63 - 1)}, "positions that are not in order"),
    "not compressed": ({"w.gaps": np.arange(12, dtype=np.uint8) * 0}, "w.gaps does not hold|cannot be decompressed"),
    "nothing": ({"w.gaps": np.zeros(0, np.uint8)}, "w.gaps does not hold|cannot be decompressed"),
    "other numbers": ({"w.gaps": np.zeros(12)}, "w.gaps has float64"),
    "more than declared": ({"w.gaps": compressed(bytes(1000), 3)}, "w.gaps does not hold 3 bytes"),
    "less than declared": ({"w.gaps": compressed(b"123", 4)}, "w.gaps does not hold 4 bytes"),
    "a bomb": ({"w.gaps": compressed(bytes(10**6))}, "w.gaps asks for 1000000 bytes"),
    "a huge size": ({"w.gaps": compressed(b"123", 2**63)}, "w.gaps asks for"),
    "negative size": ({"w.dim": np.array(-1)}, "w.dim holds numbers"),
    "no memory for it": ({"w.dim": np.array(2**62)}, "w.dim asks for 4611686018427387904 weights"),
}


@pytest.mark.parametrize("case", WRONG_WEIGHTS)
def test_weights_that_do_not_fit_together(case):
    w = np.zeros(1000)
    w[[1, 2, 900]] = 1.0
    arrays = pack_weights("w", w)
    assert sorted(arrays) == ["w.dim", "w.gaps", "w.long_gaps", "w.values"]
    change, message = WRONG_WEIGHTS[case]
    arrays = {name: array for name, array in {**arrays, **change}.items() if array is not None}
    with pytest.raises(InputError, match=message):
        unpack_weights(arrays, "w")


# --- texts


@settings(max_examples=200)
@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=8), max_size=8))
def test_texts_come_back(strings):
    assert unpack_strings(pack_strings("names", strings), "names") == strings


def test_texts_with_every_small_character():
    strings = ["".join(map(chr, range(200))), "", "\n", "\ud800"]
    assert unpack_strings(pack_strings("names", strings), "names") == strings


def test_many_texts_are_small():
    strings = [f"w[{i % 5 - 2}]=word{i}|tag{i % 17}" for i in range(50_000)]
    packed = pack_strings("names", strings)
    assert unpack_strings(packed, "names") == strings
    assert packed["names"].nbytes < 0.25 * sum(map(len, strings))


def test_texts_that_compress_too_well_are_kept_as_they_are():
    strings = ["a" * 10**6]
    packed = pack_strings("names", strings)
    assert packed["names"].nbytes > 10**6
    assert unpack_strings(packed, "names") == strings


@pytest.mark.parametrize("raw", [b"\n\xff\xfe", b"\xc3"])
def test_bytes_that_are_no_texts(raw):
    with pytest.raises(InputError, match="names is no text"):
        unpack_strings({"names": compressed(raw)}, "names")


# --- files that are none


def test_there_is_no_such_file(tmp_path):
    with pytest.raises(InputError, match=r"there is no file .*none"):
        read(tmp_path / "none")
    with pytest.raises(InputError, match="not a readable model file"):
        read(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x04\x95pickle", bytes(1000), b"\xff" * 100])
def test_files_of_another_kind(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"x is not a readable model file .* get the file again"):
        read(path)


def test_a_safetensors_file_of_someone_else(tmp_path):
    save_file({"weight": np.ones(3)}, tmp_path / "x", {"format": "pt"})
    with pytest.raises(InputError, match="is a safetensors file, but no model of bcfw"):
        read(tmp_path / "x")
    save_file({"weight": np.ones(3)}, tmp_path / "x")
    with pytest.raises(InputError, match="is a safetensors file, but no model of bcfw"):
        read(tmp_path / "x")


GOOD = {"layout": LAYOUT, "kind": "result", "header": "{}"}

#: What files say about themselves, with right checksums, and what the error says.
WRONG_HEADERS = {
    "newer": ({**GOOD, "layout": LAYOUT + 1}, "newer bcfw .layout 2.; update"),
    "another layout": ({**GOOD, "layout": 99, "checksums": "as they will be"}, "newer bcfw .layout 99.; update"),
    "layout zero": ({**GOOD, "layout": 0}, "not a readable model file .it has the layout 0"),
    "layout by truth": ({**GOOD, "layout": True}, "the layout True"),
    "kind by number": ({**GOOD, "kind": 7}, "and the kind 7"),
    **{
        f"versions {wrong}": ({**GOOD, "header": f'{{"versions": {wrong}}}'}, "its header has versions = ")
        for wrong in ("[]", "null", "3", '"1.0"', '{"bcfw": 1}')
    },
    "certificate of lists": ({**GOOD, "header": '{"certificate": {"gap": []}}'}, "its header has certificate = "),
    "no layout": ({"kind": "result", "header": "{}"}, "not a readable model file .'layout'"),
    "layout in words": ({**GOOD, "layout": "one"}, "not a readable model file"),
    "no kind": ({"layout": LAYOUT, "header": "{}"}, "not a readable model file .'kind'"),
    "no header": ({"layout": LAYOUT, "kind": "result"}, "not a readable model file .'header'"),
    "a list": ({**GOOD, "header": "[1]"}, "its header is no header"),
    "no JSON": ({**GOOD, "header": "{'a': 1}"}, "not a readable model file"),
    "deep": ({**GOOD, "header": "[" * 10**5}, "not a readable model file"),
    "long numbers": ({**GOOD, "header": '{"a":' + "1" * 10_000 + "}"}, "not a readable model file"),
    "no list of checksums": ({**GOOD, "checksums": 7}, "not a readable model file"),
    "checksums of nothing": ({**GOOD, "checksums": []}, "checksum differs"),
    "checksums that are none": ({**GOOD, "checksums": [[1, 2, 3]]}, "not a readable model file"),
}


@pytest.mark.parametrize("case", WRONG_HEADERS)
def test_wrong_headers(tmp_path, case):
    about, message = WRONG_HEADERS[case]
    with pytest.raises(InputError, match=message):
        read(forged(tmp_path / "x", about))


@pytest.mark.parametrize("text", ["", "7", "null", "[]", "{", '"x"'])
def test_texts_about_files_that_are_none(tmp_path, text):
    save_file({"w": np.ones(2)}, tmp_path / "x", {"bcfw": text})
    with pytest.raises(InputError, match="not a readable model file"):
        read(tmp_path / "x")


def test_the_same_content_gives_the_same_file(tmp_path):
    for name in "ab":
        write(tmp_path / name, "estimator", HEADER, ARRAYS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_good_header_is_read(tmp_path):
    assert read(forged(tmp_path / "x", GOOD)).kind == "result"


@pytest.mark.parametrize("wrong", ["[]", "null", "3", '"1.0"', '{"bcfw": 1}'])
def test_load_and_info_refuse_the_same_files(tmp_path, wrong):
    path = forged(tmp_path / "x", {**GOOD, "header": f'{{"versions": {wrong}}}'})
    with pytest.raises(InputError, match="its header has versions"):
        bcfw.load(path)
    done = CliRunner().invoke(main, ["info", str(path)])
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert "its header has versions" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_more_than_there_is_memory_for(tmp_path):
    """A sparse file of 16 GB, as it announces, by a process that may have 20 GB of addresses: one line, no panic."""
    header = {
        "__metadata__": {"bcfw": "{}"},
        "w": {"dtype": "F64", "shape": [2 * 10**9], "data_offsets": [0, 16 * 10**9]},
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with (tmp_path / "large").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + 16 * 10**9)
    code = f"""
import resource
from bcfw.storage import model_file
resource.setrlimit(resource.RLIMIT_AS, (20 * 10**9, 20 * 10**9))
try:
    model_file.read({str(tmp_path / "large")!r})
except model_file.InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert "large has 16.0 GB, for which there is not enough memory here" in done.stdout
    assert done.stderr == ""


def test_a_panic_is_an_error_of_the_package(tmp_path, monkeypatch):
    """Rust's panics are no Exceptions; Ctrl-C stays what it is."""

    class Panic(BaseException):
        """As of pyo3."""

    path = forged(tmp_path / "x", GOOD)
    for raised, expected in ((Panic, InputError), (KeyboardInterrupt, KeyboardInterrupt)):
        monkeypatch.setattr(
            "bcfw.storage.model_file._require_memory", lambda *_, raised=raised: (_ for _ in ()).throw(raised())
        )
        with pytest.raises(expected):
            read(path)


def test_complex_numbers_are_not_read(tmp_path):
    with pytest.raises(InputError, match="z has complex64"):
        read(forged(tmp_path / "x", GOOD, {"z": np.ones(2, np.complex64)}))


def damaged(content, rng):
    """The content with one piece changed: a bit, a byte, a cut, zeros, a piece left out, put in, or exchanged."""
    size = len(content)
    a, b = sorted(rng.sample(range(size), 2))
    kind = rng.randrange(7)
    if kind == 0:
        return content[:a] + bytes([content[a] ^ (1 << rng.randrange(8))]) + content[a + 1 :]
    if kind == 1:
        return content[:a] + bytes([rng.randrange(256)]) + content[a + 1 :]
    if kind == 2:
        return content[:a]
    if kind == 3:
        return content[:a] + bytes(b - a) + content[b:]
    if kind == 4:
        return content[:a] + content[b:]
    if kind == 5:
        return content[:a] + rng.randbytes(1 + rng.randrange(20)) + content[a:]
    middle = (a + b) // 2
    return content[:a] + content[middle:b] + content[a:middle] + content[b:]


def test_damaged_files(tmp_path):
    """Whatever is changed in a file, reading it is one error that names the file."""
    w = np.zeros(3000)
    w[::7] = np.random.default_rng(0).standard_normal(429)
    path = tmp_path / "model.bcfw"
    write(path, "estimator", HEADER, {**ARRAYS, **pack_weights("w", w), **pack_strings("names", ["ä", "b"] * 99)})
    content = path.read_bytes()
    rng, errors = random.Random(0), 0
    for _ in range(1000):
        wrong = damaged(content, rng)
        if wrong == content:
            continue
        path.write_bytes(wrong)
        with pytest.raises(InputError, match=r"model\.bcfw"):
            read(path)
        errors += 1
    assert errors > 900


def test_exchanged_arrays(tmp_path):
    """Two arrays of one type that have changed places have other names than their checksums."""
    path = tmp_path / "x"
    write(path, "result", {}, {"aa": np.ones(3), "bb": np.zeros(3)})
    content = path.read_bytes()
    content = content.replace(b'"aa":{', b'"cc":{').replace(b'"bb":{', b'"aa":{').replace(b'"cc":{', b'"bb":{')
    path.write_bytes(content)
    with pytest.raises(InputError, match="aa is not what was saved"):
        read(path)
