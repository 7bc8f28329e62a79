"""Converters of public data files: round trips of small files, other files refused, and the real data."""

from __future__ import annotations

import gzip
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

from bcfw.commands import main
from bcfw.datasets import (
    camvid,
    conll2000,
    convert_camvid,
    convert_conll2000,
    convert_horses,
    convert_ocr,
    convert_usps,
    fetch_camvid,
    fetch_conll2000,
    fetch_hansards,
    fetch_horses,
    fetch_ocr,
    fetch_usps,
    hansards,
    horses,
    ocr,
    usps,
)
from bcfw.datasets.convert import superpixels
from bcfw.errors import InputError
from data_files import SMALL_CORPUS, SMALL_TEST_CORPUS, flat, written


def run_convert(*arguments):
    """The lines that ``bcfw convert`` prints."""
    done = CliRunner().invoke(main, ["convert", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def letter_lines(words, fold, pixels, first_id=1):
    """Lines of ``letter.data``, one list per word; ``pixels`` are those of all letters in turn."""
    out, row = [], 0
    for number, (word, its_fold) in enumerate(zip(words, fold, strict=True)):
        out.append([])
        for position, letter in enumerate(word):
            last = position == len(word) - 1
            fields = [first_id + row, letter, -1 if last else first_id + row + 1, number + 1, position + 1, its_fold]
            # The original file ends its lines with a tab.
            out[-1].append("\t".join(map(str, [*fields, *pixels[row].tolist()])) + "\t\n")
            row += 1
    return out


def test_ocr_round_trip(cache, tmp_path):
    words, fold = ["mm", "ommanding", "a", "zoo"], [0, 3, 0, 9]
    pixels = np.random.default_rng(0).integers(0, 2, size=(15, 128))
    lines = letter_lines(words, fold, pixels)
    source = written(tmp_path / "letter.data.gz", "".join(line for word in lines for line in word))
    assert run_convert("ocr", source) == [f"wrote {cache / ocr.FILE}"]
    with np.load(cache / ocr.FILE) as archive:
        assert {name: archive[name].dtype.name for name in archive} == {
            "X": "uint8",
            "y": "int8",
            "offsets": "int32",
            "fold": "int8",
        }
    for size, train, test in (("large", (1, 3), (0, 2)), ("small", (0, 2), (1, 3))):
        found = fetch_ocr(size)
        for part, expected in (("train", train), ("test", test)):
            assert ["".join(found.target_names[k] for k in y) for y in found[f"y_{part}"]] == [
                words[k] for k in expected
            ]
            assert found[f"fold_{part}"].tolist() == [fold[k] for k in expected]
        both = dict(zip((*train, *test), (*found.X_train, *found.X_test), strict=True))
        together = np.vstack([both[k] for k in range(4)])
        np.testing.assert_array_equal(together, np.hstack([pixels, np.ones((15, 1))]))
    assert fetch_ocr("small", constant=False).X_train[0].shape == (2, 128)


def test_ocr_words_follow_next_id_and_not_the_order_of_lines(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 2, size=(5, 128))
    (a, b), (c, d, e) = letter_lines(["ab", "cde"], [0, 1], pixels, first_id=70)
    (path,) = convert_ocr(written(tmp_path / "letter.data", "".join([c, b, e, a, d])), tmp_path)
    with np.load(path) as archive:
        assert archive["y"].tolist() == [2, 3, 4, 0, 1]
        assert archive["offsets"].tolist() == [0, 3, 5]
        assert archive["fold"].tolist() == [1, 0]
        np.testing.assert_array_equal(archive["X"], pixels[[2, 3, 4, 0, 1]])


ONE_LETTER = letter_lines(["x"], [0], np.zeros((1, 128), dtype=int))[0][0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: expected id, letter"),
        (ONE_LETTER + "1\tx\n", "line 2: expected id, letter"),
        (ONE_LETTER.replace("\tx\t", "\tX\t"), "line 1"),
        (ONE_LETTER.replace("\t0\t0\t", "\t0\t2\t"), "line 1"),
        (ONE_LETTER.replace("\t-1\t", "\t2\t"), "next_id 2 is not in the file"),
        (ONE_LETTER.replace("\t-1\t", "\t1\t"), "do not form words"),
        (ONE_LETTER + ONE_LETTER, "do not form words"),
    ],
)
def test_other_files_are_no_letters(content, message, tmp_path):
    with pytest.raises(InputError, match=message):
        convert_ocr(written(tmp_path / "letter.data", content), tmp_path)
    assert not (tmp_path / "ocr").exists()


def test_ocr_words_lie_in_one_fold(tmp_path):
    ((one, two),) = letter_lines(["ab"], [0], np.zeros((2, 128), dtype=int))
    source = written(tmp_path / "letter.data", one + two.replace("\t1\t2\t0\t", "\t1\t2\t5\t"))
    with pytest.raises(InputError, match=r"line 1: .*different folds"):
        convert_ocr(source, tmp_path)


def libsvm_lines(X, labels):
    """As in the original file; zeros are left out."""
    return "".join(
        " ".join([str(label), *(f"{j + 1}:{value:g}" for j, value in enumerate(x) if value)]) + "\n"
        for label, x in zip(labels, X, strict=True)
    )


@pytest.mark.parametrize("first_label", [0, 1])
@pytest.mark.parametrize("suffix", ["", ".bz2", ".gz"])
def test_usps_round_trip(first_label, suffix, cache, tmp_path):
    rng = np.random.default_rng(2)
    X = rng.integers(-1000, 1001, size=(14, 256)) / 1000
    y = np.r_[np.arange(10), 3, 9, 1, 2]
    train, test = (
        written(tmp_path / f"usps{part}{suffix}", libsvm_lines(X[rows], y[rows] + first_label))
        for part, rows in (("", slice(10)), (".t", slice(10, None)))
    )
    assert run_convert("usps", train, test) == [f"wrote {cache / usps.FILE}"]
    found = fetch_usps()
    assert cache.joinpath(usps.FILE).is_file()
    np.testing.assert_array_equal(np.r_[found.y_train, found.y_test], y)
    np.testing.assert_allclose(np.r_[found.X_train, found.X_test][:, :256], X, rtol=0, atol=1e-12)
    assert (found.X_train[:, 256] == 1.0).all()
    assert fetch_usps(constant=False).X_test.shape == (4, 256)


@pytest.mark.parametrize("line", ["11 1:0.5\n", "2 1:1.5\n", "1.5 1:0\n", "1 257:0.5\n", "1 1:a\n", ""])
def test_other_files_are_no_usps(line, tmp_path):
    good = written(tmp_path / "good", "3 1:0.5\n")
    with pytest.raises(InputError, match="bad"):
        convert_usps(good, written(tmp_path / "bad", line), tmp_path)


def test_usps_labels_cannot_be_both_kinds(tmp_path):
    train, test = written(tmp_path / "train", "0 1:0.5\n"), written(tmp_path / "test", "10 1:0.5\n")
    with pytest.raises(InputError, match="labels 0 and 10"):
        convert_usps(train, test, tmp_path)


def naive_attributes(tokens, t):
    """The tutorial's attributes as text, written from their description."""
    n = len(tokens)
    word = lambda k: tokens[t + k][0]  # noqa: E731
    tag = lambda k: tokens[t + k][1]  # noqa: E731
    inside = lambda *places: all(0 <= t + k < n for k in places)  # noqa: E731
    out = {f"w[{k}]={word(k)}" for k in range(-2, 3) if inside(k)}
    out |= {f"w[{k}]|w[{k + 1}]={word(k)}|{word(k + 1)}" for k in (-1, 0) if inside(k, k + 1)}
    for size in (1, 2, 3):
        for first in range(-2, 4 - size):
            places = range(first, first + size)
            if inside(*places):
                out.add("|".join(f"pos[{k}]" for k in places) + "=" + "|".join(tag(k) for k in places))
    return out | ({"__BOS__"} if t == 0 else set()) | ({"__EOS__"} if t == n - 1 else set())


def check_attributes(found, n_checked):
    """Matrices against the naive attributes, for the first sentences of both parts."""
    known = set(found.feature_names)
    assert len(known) == len(found.feature_names)
    for part in ("train", "test"):
        for x, y, tokens in zip(
            found[f"X_{part}"][:n_checked], found[f"y_{part}"], found[f"tokens_{part}"], strict=False
        ):
            assert x.shape == (len(tokens), len(known)) == (len(y), len(known))
            assert x.has_canonical_format
            assert (x.data == 1.0).all()
            for t in range(len(tokens)):
                names = {found.feature_names[j] for j in x.indices[x.indptr[t] : x.indptr[t + 1]]}
                expected = naive_attributes(tokens, t)
                assert names == (expected if part == "train" else expected & known)


def test_conll2000_round_trip(cache, tmp_path):
    train = written(tmp_path / "train.txt.gz", SMALL_CORPUS.replace("\n\n", "\r\n\n\n").rstrip())
    test = written(tmp_path / "test.txt", SMALL_TEST_CORPUS)
    assert run_convert("conll2000", train, test) == [f"wrote {cache / name}" for name in conll2000.FILES]
    texts = [gzip.decompress((cache / name).read_bytes()).decode() for name in conll2000.FILES]
    assert texts == [SMALL_CORPUS, SMALL_TEST_CORPUS]
    found = fetch_conll2000()
    assert found.target_names == ["B-NP", "B-VP", "O", "I-LST"]
    assert [y.tolist() for y in found.y_train] == [[0, 1, 2], [0, 2]]
    assert [y.tolist() for y in found.y_test] == [[0, 1, 3, 2]]
    assert found.tokens_test == [[("She", "PRP"), ("runs", "VBZ"), ("here", "RB"), (".", ".")]]
    check_attributes(found, 2)
    occurring = {name for s in found.tokens_train for t in range(len(s)) for name in naive_attributes(s, t)}
    assert occurring == set(found.feature_names)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("He PRP B-NP\nruns VBZ\n", "bad, line 2: 2 columns, but 3"),
        ("He B-NP\n", "bad, line 1: no label"),
        ("\n\n", "bad, line 3: .*no examples"),
        (b"\xff\xfe\n", "bad, line 1: .*not UTF-8"),
    ],
)
def test_other_files_are_no_corpus(content, message, tmp_path):
    good = written(tmp_path / "good", SMALL_CORPUS)
    with pytest.raises(InputError, match=message):
        convert_conll2000(good, written(tmp_path / "bad", content), tmp_path)
    assert not (tmp_path / "conll2000").exists()


@pytest.fixture
def photos(tmp_path):
    """Folders with pictures of a red disc on a green ground, and its masks."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(3)
    for name in ("rgb", "figure_ground"):
        (tmp_path / name).mkdir()
    for k, (height, width) in enumerate([(90, 120), (100, 80), (96, 96)]):
        row, column = np.indices((height, width))
        disc = (row - height / 2) ** 2 + (column - width / 2) ** 2 < 30**2
        pixels = np.where(disc[..., None], [200, 40, 40], [40, 160, 60]) + rng.integers(-30, 31, (height, width, 3))
        image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "rgb" / f"horse{k}.png")
        image.fromarray(np.uint8(255 * disc)).save(tmp_path / "figure_ground" / f"horse{k}.png")
    return tmp_path


def test_horses_round_trip(cache, photos):
    lines = run_convert("horses", photos / "rgb", photos / "figure_ground")
    assert lines == [f"wrote {cache / name}" for name in horses.FILES]
    found = fetch_horses()
    assert (len(found.X_train), len(found.X_test)) == (2, 1)
    check_horses(found)
    red = found.feature_names.index("a")
    for (nodes, edges, values), y, superpixel, mask in zip(
        found.X_train, found.y_train, found.maps_train, found.masks_train, strict=True
    ):
        assert 100 < len(y) < 260
        np.testing.assert_array_equal(nodes[:, red] > 0, y)  # red is the disc, green the ground
        assert np.mean(y[superpixel] == mask) > 0.97
        inside = y[edges[:, 0]] == y[edges[:, 1]]
        assert values[inside, 1].min() > values[~inside, 1].max()  # colours differ across the disc's border only


@pytest.fixture
def streets(tmp_path):
    """Folders with pictures of a grey road under a blue sky and a void stripe between them, and their classes."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(3)
    for part, count in (("train", 2), ("val", 1), ("test", 1)):
        (tmp_path / part).mkdir()
        (tmp_path / f"{part}annot").mkdir()
        for k in range(count):
            row = np.indices((360, 480))[0]
            classes = np.where(row < 150, 0, np.where(row < 200, 11, 3))
            colours = np.array([[60, 90, 220], [0] * 3, [0] * 3, [120, 110, 100], *[[0] * 3] * 7, [20, 160, 20]])
            pixels = colours[classes] + rng.integers(-20, 20, (360, 480, 3))
            image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(tmp_path / part / f"{k}.png")
            image.fromarray(classes.astype(np.uint8)).save(tmp_path / f"{part}annot" / f"{k}.png")
    return tmp_path


def test_camvid_round_trip(cache, streets):
    lines = run_convert("camvid", streets)
    assert lines == [f"wrote {cache / name}" for name in camvid.FILES]
    found = fetch_camvid()
    assert [len(found[f"X_{part}"]) for part in ("train", "val", "test")] == [2, 1, 1]
    check_camvid(found)
    for y, superpixel, classes in zip(found.y_train, found.maps_train, found.labels_train, strict=True):
        assert set(y) == {-1, 0, 3}
        assert np.mean(y[superpixel] == classes) > 0.95
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.full((360, 480), 12, np.uint8)).save(streets / "valannot" / "0.png")
    with pytest.raises(InputError, match=r"0\.png must have one channel with the numbers 0 to 11"):
        convert_camvid(streets, streets)
    with pytest.raises(InputError, match="train is not a folder with images"):
        convert_camvid(streets / "train", streets)


def test_other_folders_are_no_horses(photos):
    (photos / "figure_ground" / "horse1.png").rename(photos / "figure_ground" / "other.png")
    with pytest.raises(InputError, match=r"horse1\.png has no mask of the same name"):
        convert_horses(photos / "rgb", photos / "figure_ground", photos)
    (photos / "rgb" / "horse1.png").write_text("no image")
    (photos / "figure_ground" / "other.png").rename(photos / "figure_ground" / "horse1.png")
    with pytest.raises(InputError, match=r"horse1\.png is not an image"):
        convert_horses(photos / "rgb", photos / "figure_ground", photos)
    (photos / "empty").mkdir()
    with pytest.raises(InputError, match="has no images"):
        convert_horses(photos / "empty", photos / "figure_ground", photos)


def test_photographs_and_masks_have_the_same_size(photos):
    masks = photos / "figure_ground"
    (masks / "horse2.png").write_bytes((masks / "horse0.png").read_bytes())
    with pytest.raises(InputError, match=r"horse2\.png has \(96, 96\) pixels .*they must match"):
        convert_horses(photos / "rgb", masks, photos)


def test_converter_writes_into_the_folder_given(tmp_path):
    """In a process of its own, as users run it."""
    train, test = written(tmp_path / "train", SMALL_CORPUS), written(tmp_path / "test", SMALL_TEST_CORPUS)
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", "bcfw", "convert", "conll2000"]
    done = subprocess.run(
        [*command, str(train), str(test), "--out", str(tmp_path / "out")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    paths = [tmp_path / "out" / name for name in conll2000.FILES]
    assert done.stdout.splitlines() == [f"wrote {path}" for path in paths]
    assert sorted(tmp_path.glob("out/*/*")) == sorted(paths)


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        convert_ocr(written(tmp_path / "letter.data", ONE_LETTER), tmp_path / "out")
    assert not list(tmp_path.glob("out/*/*"))


def test_real_ocr(real_data, tmp_path):
    (path,) = real_data(ocr.SOURCE)
    large, small = fetch_ocr(), fetch_ocr("small")
    assert (len(large.X_train), len(large.X_test)) == (6251, 626)
    assert (len(small.X_train), len(small.X_test)) == (626, 6251)
    assert len(large.target_names) == 26
    assert sum(map(len, large.y_train + large.y_test)) == 52152
    assert all(x.shape == (len(y), 129) for x, y in zip(large.X_train, large.y_train, strict=True))
    assert set(np.unique(flat(large, "test")[0])) == {0.0, 1.0}
    assert set(large.fold_train) == set(range(1, 10))
    with np.load(path) as archive:
        arrays = dict(archive)
    ends = arrays["offsets"]
    words = ["".join(chr(ord("a") + k) for k in arrays["y"][s:e]) for s, e in pairwise(ends)]
    lines = letter_lines(words, arrays["fold"], arrays["X"])
    source = written(tmp_path / "letter.data", "".join(line for word in lines for line in word))
    with np.load(convert_ocr(source, tmp_path)[0]) as archive:
        for name, array in arrays.items():
            assert archive[name].dtype == array.dtype
            np.testing.assert_array_equal(archive[name], array)


def test_real_usps(real_data, tmp_path):
    (path,) = real_data(usps.SOURCE)
    found = fetch_usps()
    assert found.X_train.shape == (7291, 257)
    assert found.X_test.shape == (2007, 257)
    assert found.X_train.min() == -1.0
    assert found.X_train.max() == 1.0
    assert np.unique(found.y_train).tolist() == list(range(10))
    files = [
        written(tmp_path / part, libsvm_lines(found[f"X_{part}"][:50, :256], found[f"y_{part}"][:50] + 1))
        for part in ("train", "test")
    ]
    with np.load(convert_usps(*files, tmp_path)[0]) as archive, np.load(path) as original:
        assert set(archive) == set(original)
        for name in original:
            assert archive[name].dtype == original[name].dtype
            np.testing.assert_array_equal(archive[name], original[name][:50])


def test_real_conll2000(real_data, tmp_path):
    originals = real_data(conll2000.SOURCE)
    found = fetch_conll2000()
    assert (len(found.X_train), len(found.X_test)) == (8936, 2012)
    assert (sum(map(len, found.y_train)), sum(map(len, found.y_test))) == (211727, 47377)
    assert found.X_train[0].shape[1] == len(found.feature_names) == 335674
    assert len(found.target_names) == 23
    assert found.target_names[-1] == "I-LST"
    assert np.unique(np.concatenate(found.y_train)).tolist() == list(range(22))
    assert np.concatenate(found.y_test).max() == 22
    check_attributes(found, 40)
    for path, original in zip(convert_conll2000(*originals, tmp_path), originals, strict=True):
        assert gzip.decompress(path.read_bytes()) == gzip.decompress(original.read_bytes())


def save_pairs(path, shapes, split, rng):
    """A file of sentence pairs with two features; the arrays saved."""
    sizes = [rows * columns for rows, columns in shapes]
    arrays = {
        "X": rng.random((sum(sizes), 2)).astype(np.float16),
        "Y": rng.integers(0, 3, size=sum(sizes)).astype(np.uint8),
        "shape": np.array(shapes, np.int16),
        "offsets": np.r_[0, np.cumsum(sizes)].astype(np.int32),
        "split": np.array(split, np.uint8),
        "feature_names": np.array(["one", "two"]),
    }
    path.parent.mkdir(parents=True)
    np.savez(path, **arrays)
    return arrays


def test_hansards_are_cut_into_trial_train_and_test_pairs(cache):
    rng = np.random.default_rng(0)
    shapes = rng.integers(1, 5, size=(105, 2)).tolist()
    split = [0, 0, *[1] * 102, 0]
    arrays = save_pairs(cache / hansards.FILE, shapes, split, rng)
    found = fetch_hansards()
    parts = {"trial": [0, 1, 104], "train": range(2, 102), "test": range(102, 104)}
    assert found.feature_names == ["one", "two"]
    for part, numbers in parts.items():
        assert len(found[f"X_{part}"]) == len(found[f"y_{part}"]) == len(numbers)
        for k, x, y in zip(numbers, found[f"X_{part}"], found[f"y_{part}"], strict=True):
            start = arrays["offsets"][k]
            assert x.dtype == np.float64
            assert x.shape == (*shapes[k], 2)
            for i, j in np.ndindex(*y.shape):
                row = start + i * shapes[k][1] + j
                assert x[i, j].tolist() == arrays["X"][row].astype(float).tolist()
                assert found.target_names[y[i, j]] == ["none", "possible", "sure"][arrays["Y"][row]]


def test_real_hansards(real_data):
    real_data(hansards.SOURCE)
    found = fetch_hansards()
    assert [len(found[f"X_{part}"]) for part in ("trial", "train", "test")] == [37, 100, 347]
    X, y = ([one for part in ("trial", "train", "test") for one in found[f"{kind}_{part}"]] for kind in "Xy")
    assert sum(one.size for one in y) == 157286
    assert [sum(int((one == label).sum()) for one in y) for label in (0, -1, 1)] == [138064, 14846, 4376]
    assert all(x.shape == (*one.shape, 14) for x, one in zip(X, y, strict=True))
    assert len(found.feature_names) == 14
    assert all((x[:, :, 0] == 1.0).all() for x in X)
    sure = [one == 1 for one in y]
    no_matching = [max(one.sum(axis=0).max(), one.sum(axis=1).max()) > 1 for one in sure]
    assert 0.2 < np.mean(no_matching) < 0.3


def test_real_horses(real_data):
    real_data(horses.SOURCE)
    found = fetch_horses()
    assert (len(found.X_train), len(found.X_test)) == (200, 128)
    graphs = found.X_train + found.X_test
    assert sum(len(nodes) for nodes, _, _ in graphs) == 56772
    assert sum(len(edges) for _, edges, _ in graphs) == 152285
    assert fetch_horses(constant=False).X_train[0][0].shape[1] == 201
    check_horses(found)


def test_real_camvid(real_data):
    real_data(camvid.SOURCE)
    found = fetch_camvid()
    assert [len(found[f"X_{part}"]) for part in ("train", "val", "test")] == [367, 101, 233]
    graphs = found.X_train + found.X_val + found.X_test
    assert sum(len(nodes) for nodes, _, _ in graphs) == 119598
    assert sum(len(edges) for _, edges, _ in graphs) == 316126
    assert fetch_camvid(constant=False).X_train[0][0].shape[1] == 153
    check_camvid(found)


def check_camvid(found):
    """Superpixel labels, words and edges against the maps and classes of pixels, in some images of each part."""
    assert len(found.feature_names) == 154
    assert len(found.target_names) == 11
    for part in ("train", "val", "test"):
        lists = [found[f"{name}_{part}"] for name in ("X", "y", "maps", "labels")]
        for (nodes, edges, values), y, superpixel, classes in list(zip(*lists, strict=True))[:5]:
            assert nodes.shape == (len(y), 154)
            counts = np.zeros((len(y), 12), int)
            np.add.at(counts, (superpixel.ravel(), np.where(classes < 0, 11, classes).ravel()), 1)
            assert np.mean(counts[np.arange(len(y)), y] >= counts.max(axis=1) - 5) > 0.95  # of equal ones either
            for words in (slice(48), slice(48, 144)):
                np.testing.assert_allclose((nodes[:, words] ** 2).sum(axis=1), 1.0, atol=0.1)
            assert {frozenset(pair) for pair in edges.tolist()} == touching(superpixel)
            assert values.shape == (len(edges), 6)
            assert (values >= 0).all()


def check_horses(found):
    """Superpixel labels, places, words and edges against the maps and masks of pixels."""
    graphs, labels = found.X_train + found.X_test, found.y_train + found.y_test
    maps, masks = found.maps_train + found.maps_test, found.masks_train + found.masks_test
    assert len(found.feature_names) == 202
    for (nodes, edges, values), y, superpixel, mask in zip(graphs, labels, maps, masks, strict=True):
        assert nodes.shape == (len(y), 202)
        area = np.bincount(superpixel.ravel(), minlength=len(y))
        horse = np.bincount(superpixel.ravel(), mask.ravel(), minlength=len(y))
        np.testing.assert_array_equal(y, horse > area / 2)
        rows, columns = np.indices(superpixel.shape)
        for name, where, size in (("x", columns, superpixel.shape[1]), ("y", rows, superpixel.shape[0])):
            centre = np.bincount(superpixel.ravel(), where.ravel(), minlength=len(y)) / area / size
            np.testing.assert_allclose(nodes[:, found.feature_names.index(name)], centre, rtol=0, atol=1e-6)
        for words in (slice(64), slice(64, 192)):
            np.testing.assert_allclose((nodes[:, words] ** 2).sum(axis=1), 1.0, atol=0.1)
        assert {frozenset(pair) for pair in edges.tolist()} == touching(superpixel)
        assert values.shape == (len(edges), 6)
        assert (values >= 0).all()
    for part in ("train", "test"):
        assert found[f"images_{part}"].shape == (len(found[f"X_{part}"]), 64, 64, 3)
        for small, mask in zip(found[f"small_masks_{part}"], found[f"masks_{part}"], strict=True):
            assert small.mean() == pytest.approx(mask.mean(), abs=0.05)


def touching(superpixel):
    """Pairs of superpixels with pixels side by side."""
    pairs = set()
    for one, two in ((superpixel[:, :-1], superpixel[:, 1:]), (superpixel[:-1], superpixel[1:])):
        both = np.stack([one[one != two], two[one != two]], axis=1).astype(int)
        pairs |= {frozenset(pair) for pair in np.unique(both, axis=0).tolist()}
    return pairs


def test_colours_come_back():
    rgb = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(float)
    np.testing.assert_allclose(superpixels.to_rgb(superpixels.to_lab(rgb)), rgb, atol=1e-2)
