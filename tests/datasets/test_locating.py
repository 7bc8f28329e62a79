"""Where data files are looked for, and the message when there are none."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.datasets import (
    CONVERTERS,
    DataNotFound,
    cache_folder,
    convert_conll2000,
    fetch_camvid,
    fetch_conll2000,
    fetch_hansards,
    fetch_horses,
    fetch_lsp,
    fetch_ocr,
    fetch_usps,
    hansards,
    ocr,
    usps,
)
from bcfw.errors import BcfwError, InputError, OptionError
from data_files import SMALL_CORPUS, SMALL_TEST_CORPUS, written

FETCHERS = {
    "ocr": fetch_ocr,
    "usps": fetch_usps,
    "conll2000": fetch_conll2000,
    "horses": fetch_horses,
    "camvid": fetch_camvid,
    "lsp": fetch_lsp,
}


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("ocr", "Stanford"),
        ("usps", "LIBSVM"),
        ("conll2000", "CoNLL-2000 shared task"),
        ("horses", "Borenstein"),
        ("camvid", "SegNet"),
        ("lsp", "Johnson"),
    ],
)
def test_missing_data_name_the_source_the_converter_and_the_folders(name, origin, cache, monkeypatch, tmp_path):
    monkeypatch.setenv("BCFW_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(DataNotFound) as caught:
        FETCHERS[name]()
    message = str(caught.value)
    assert isinstance(caught.value, BcfwError)
    assert isinstance(caught.value, FileNotFoundError)
    for part in (origin, f"'bcfw convert {name} ", str(tmp_path / "elsewhere"), str(cache), "http"):
        assert part in message


def test_no_test_sees_data_that_it_has_not_asked_for():
    for fetch in FETCHERS.values():
        with pytest.raises(DataNotFound):
            fetch()


@pytest.mark.parametrize("named", ["", "relative/folder"])
def test_cache_folder_without_a_usable_xdg_name_is_in_the_home(named, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert cache_folder() == tmp_path / ".cache" / "bcfw" / "data"


def test_bcfw_data_comes_before_the_cache(cache, monkeypatch, tmp_path):
    train, test = written(tmp_path / "corpus", SMALL_CORPUS), written(tmp_path / "test", SMALL_TEST_CORPUS)
    convert_conll2000(train, test)
    assert len(fetch_conll2000().X_train) == 2
    monkeypatch.setenv("BCFW_DATA", str(tmp_path / "named"))
    assert len(fetch_conll2000().X_train) == 2  # nothing there yet: from the cache
    convert_conll2000(test, train, tmp_path / "named")
    assert len(fetch_conll2000().X_train) == 1


def test_a_broken_file_names_itself_and_the_converter(cache):
    written(cache / usps.FILE, "no archive")
    with pytest.raises(InputError, match=r"usps\.npz.*'bcfw convert usps usps\.bz2 usps\.t\.bz2'"):
        fetch_usps()


def test_arrays_of_wrong_shapes_name_the_file_and_the_converter(cache):
    (cache / ocr.FILE).parent.mkdir(parents=True)
    good = {"X": np.ones((3, 128)), "y": np.zeros(3, int), "offsets": np.array([0, 2, 3]), "fold": np.array([0, 1])}
    np.savez(cache / ocr.FILE, **good)
    assert len(fetch_ocr("small").X_train) == 1
    for name, bad in (("X", np.ones(3)), ("X", np.ones((2, 128))), ("offsets", [0, 3, 2]), ("fold", [[0], [1], [1]])):
        np.savez(cache / ocr.FILE, **{**good, name: bad})
        with pytest.raises(InputError, match=r"ocr.*do not fit together.*'bcfw convert ocr "):
            fetch_ocr("small")


@pytest.mark.parametrize("path", [None, 3, ["letter.data"]])
def test_originals_are_given_by_their_paths(path, tmp_path):
    for converter in CONVERTERS.values():
        with pytest.raises(OptionError, match="must be the path of an original file"):
            converter.convert(**dict.fromkeys(converter.originals, path), out=tmp_path)


def test_missing_pairs_name_the_source_and_the_arrays_to_save(cache):
    with pytest.raises(DataNotFound, match=r"(?s)HLT-NAACL 2003.*http.*save the arrays X .*BCFW_DATA") as caught:
        fetch_hansards()
    assert str(cache) in str(caught.value)
    written(cache / hansards.FILE, "no archive")
    with pytest.raises(InputError, match=r"hansards_pairs\.npz.*save the arrays X "):
        fetch_hansards()


def test_unknown_size_is_named_with_the_nearest():
    with pytest.raises(OptionError, match="did you mean 'large'"):
        fetch_ocr("larg")
    with pytest.raises(OptionError, match=r"fetch_ocr has no size \['large'\]"):
        fetch_ocr(["large"])
