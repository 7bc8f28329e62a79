"""fetch_conll2000 and convert_conll2000: CoNLL-2000 chunking with sparse binary attributes for each word."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from bcfw.datasets.convert.writing import original, save_bytes
from bcfw.datasets.data_set import DataSet, cut
from bcfw.datasets.locate import Source
from bcfw.formats import Columns, open_lines
from bcfw.inputs.numbers import offsets
from bcfw.storage.files import PathLike

FILES = ("conll2000/train.txt.gz", "conll2000/test.txt.gz")

SOURCE = Source(
    name="conll2000",
    title="CoNLL-2000 chunking",
    files=FILES,
    origin=(
        "train.txt.gz and test.txt.gz of the CoNLL-2000 shared task on chunking "
        "(https://www.clips.uantwerpen.be/conll2000/chunking/)"
    ),
    originals={"train": "train.txt.gz", "test": "test.txt.gz"},
)

DESCR = """\
CoNLL-2000 chunking: {n_train} training and {n_test} test sentences ({tokens_train} and {tokens_test} words),
{n_tags} chunk tags, {n_attributes} binary attributes.

Wall Street Journal text with a part-of-speech tag and a chunk tag (B-NP, I-NP, ..., O) for each word: sections 15 to
18 for training, section 20 for testing.

Attributes of a word, those of the CRFsuite tutorial: the words at -2 .. 2, the word pairs at (-1, 0) and (0, 1), the
part-of-speech tags at -2 .. 2 and their pairs and triples within -2 .. 2, begin and end of the sentence. Test
attributes that never occur in training are left out. Chunk tags that occur in the test part only come last in
target_names{test_only}: a model that was trained on the training part cannot predict them.

Source: the shared task's page, https://www.clips.uantwerpen.be/conll2000/chunking/. It states no licence, and the text
is that of the Penn Treebank: use it for research, do not redistribute it. Reference: E. F. Tjong Kim Sang and
S. Buchholz, Introduction to the CoNLL-2000 shared task: chunking, CoNLL 2000.
"""


class Corpus(NamedTuple):
    """Sentences in flat lists: words, part-of-speech tags and chunk tags of all tokens; (n + 1,) sentence offsets."""

    words: list[str]
    tags: list[str]
    chunks: list[str]
    offsets: np.ndarray


class Template(NamedTuple):
    """One kind of attribute: the values of a field ("w" or "pos") at some places relative to the token."""

    field: str
    places: tuple[int, ...]

    def names(self, combinations: Iterable[tuple[str, ...]]) -> list[str]:
        """Return readable names of attributes, such as ``w[-1]|w[0]=of|the``, for tuples of values at the places."""
        prefix = "|".join(f"{self.field}[{place}]" for place in self.places) + "="
        return [prefix + "|".join(values) for values in combinations]


TEMPLATES = (
    *(Template("w", (k,)) for k in range(-2, 3)),
    *(Template("w", (k, k + 1)) for k in (-1, 0)),
    *(Template("pos", (k,)) for k in range(-2, 3)),
    *(Template("pos", (k, k + 1)) for k in range(-2, 2)),
    *(Template("pos", (k, k + 1, k + 2)) for k in range(-2, 1)),
)

#: Names of the last two attributes, which mark the first and the last token of a sentence.
BEGIN, END = "__BOS__", "__EOS__"

#: Code of a value that does not occur in the training part, and of an attribute that a token does not have.
ABSENT = -1


def fetch_conll2000() -> DataSet:
    """Return CoNLL-2000 chunking, with the CRFsuite tutorial's attributes, from ``BCFW_DATA`` or the user's cache.

    Returns
    -------
    DataSet, a sklearn.utils.Bunch
        X_train, X_test : list of (T, 335674) CSR matrices of ones
            Rows are words; columns are the attributes (see ``DESCR``) that occur in the training part. Attributes that
            occur only in the test part are left out.
        y_train, y_test : list of (T,) int arrays
            Indices into ``target_names``.
        tokens_train, tokens_test : list of lists of (str, str)
            Word and part-of-speech tag of each token.
        target_names : list of str
            The 22 chunk tags of the training part in alphabetical order, then the chunk tags that occur only in the
            test part (I-LST). A model trained on the training part has 22 labels and never predicts I-LST.
        feature_names : list of str
            Names of the attributes, such as "w[-1]|w[0]=of|the".
        DESCR : str
            Description of the data, with source and reference.

    Raises
    ------
    DataNotFound
        If the data are not on this machine; the message says where to get them.

    Examples
    --------
    >>> from bcfw.datasets import fetch_conll2000
    >>> chunks = fetch_conll2000()  # doctest: +SKIP
    >>> len(chunks.X_train), len(chunks.X_test), chunks.target_names[-1]  # doctest: +SKIP
    (8936, 2012, 'I-LST')
    """
    train, test = (read_corpus(path) for path in SOURCE.locate())
    attributes = Attributes(train)
    known = sorted(set(train.chunks))
    test_only = sorted(set(test.chunks) - set(known))
    target_names = known + test_only
    label_of = {chunk: label for label, chunk in enumerate(target_names)}
    bunch = DataSet()
    for part, corpus in (("train", train), ("test", test)):
        y = np.array([label_of[chunk] for chunk in corpus.chunks], dtype=np.int64)
        tokens = list(zip(corpus.words, corpus.tags, strict=True))
        ends = corpus.offsets.tolist()
        bunch[f"X_{part}"] = attributes.matrices(corpus)
        bunch[f"y_{part}"] = cut(y, corpus.offsets)
        bunch[f"tokens_{part}"] = [tokens[start:end] for start, end in pairwise(ends)]
    bunch.target_names = target_names
    bunch.feature_names = attributes.names()
    bunch.DESCR = DESCR.format(
        n_train=len(bunch.X_train),
        n_test=len(bunch.X_test),
        tokens_train=len(train.words),
        tokens_test=len(test.words),
        n_tags=len(target_names),
        n_attributes=attributes.n_attributes,
        test_only=f" ({', '.join(test_only)})" if test_only else "",
    )
    return bunch


def read_corpus(path: Path) -> Corpus:
    """Return the sentences of a CoNLL-2000 file, which may be compressed by gzip.

    A line is a word, its part-of-speech tag and its chunk tag, separated by blanks. An empty line ends a sentence.
    """
    with open_lines(path) as lines:
        sentences = list(Columns(columns=3).examples(lines, str(path), labelled=True))
    tokens = [token for sentence in sentences for token in sentence.x]
    chunks = [chunk for sentence in sentences for chunk in sentence.labels or ()]
    words, tags = map(list, zip(*tokens, strict=True))
    return Corpus(words, tags, chunks, offsets([len(sentence.x) for sentence in sentences]))


def convert_conll2000(train: PathLike, test: PathLike, out: PathLike | None = None) -> list[Path]:
    """Check and copy the chunking files ``train.txt.gz`` and ``test.txt.gz``, which may also be uncompressed.

    Parameters
    ----------
    train, test : path
        The original files: per line a word, its part-of-speech tag and its chunk tag; empty lines between sentences.
    out : path, optional
        Data folder to write into; the user's cache by default.

    Returns
    -------
    list of Path
        The files written.
    """
    corpora = [read_corpus(original(source, name)) for name, source in (("train", train), ("test", test))]
    return [
        # mtime=0 leaves out the time stamp, so that equal text gives equal files.
        save_bytes(out, name, gzip.compress(_text(corpus).encode(), mtime=0))
        for name, corpus in zip(FILES, corpora, strict=True)
    ]


def _text(corpus: Corpus) -> str:
    """Return a corpus as the text that :func:`read_corpus` reads."""
    lines = [f"{word} {tag} {chunk}\n" for word, tag, chunk in zip(*corpus[:3], strict=True)]
    ends = corpus.offsets.tolist()
    return "".join("".join(lines[start:end]) + "\n" for start, end in pairwise(ends))


class Attributes:
    """The numbered attributes of a training corpus; ``matrices`` makes the feature matrices of any corpus.

    Words and tags are coded as integers. The codes of a template's values are combined to one integer key in mixed
    radix. Columns are numbered template by template, and within a template in the order of the sorted distinct keys, so
    that the column indices of every row are sorted.
    """

    def __init__(self, train: Corpus) -> None:
        self.values = {"w": sorted(set(train.words)), "pos": sorted(set(train.tags))}
        self.codes = {field: {value: k for k, value in enumerate(self.values[field])} for field in self.values}
        occurrences = self._occurrences(train)
        self.keys = [np.unique(keys) for _, keys in occurrences]
        self.starts = offsets([len(keys) for keys in self.keys])
        self.n_attributes = int(self.starts[-1]) + 2

    def matrices(self, corpus: Corpus) -> list[csr_matrix]:
        """Return one (T, n_attributes) CSR matrix of ones per sentence."""
        columns = self._columns(corpus)
        present = columns != ABSENT
        indices = columns[present]
        indptr = offsets(present.sum(axis=1))
        ones = np.ones(len(indices))
        ends = corpus.offsets.tolist()
        out = []
        for start, end in pairwise(ends):
            rows = indptr[start : end + 1]
            inside = slice(rows[0], rows[-1])
            arrays = (ones[inside], indices[inside], (rows - rows[0]).astype(np.int32))
            out.append(csr_matrix(arrays, shape=(end - start, self.n_attributes)))
        return out

    def names(self) -> list[str]:
        """Return the names of all attributes, in the order of their columns."""
        out: list[str] = []
        for template, keys in zip(TEMPLATES, self.keys, strict=True):
            values = np.array(self.values[template.field], dtype=object)
            places = []
            for _ in template.places:
                keys, code = np.divmod(keys, len(values))
                places.append(values[code].tolist())
            out += template.names(zip(*reversed(places), strict=True))
        return [*out, BEGIN, END]

    def _columns(self, corpus: Corpus) -> np.ndarray:
        """Return the (n_tokens, n_templates + 2) attribute numbers of each token, ABSENT where it has no attribute.

        There is a column for each template, then a column for the begin and a column for the end of the sentence.
        """
        columns = np.full((len(corpus.words), len(TEMPLATES) + 2), ABSENT, dtype=np.int32)
        for k, (tokens, keys) in enumerate(self._occurrences(corpus)):
            rank = np.searchsorted(self.keys[k], keys)
            rank[rank == len(self.keys[k])] = 0
            known = self.keys[k][rank] == keys if len(self.keys[k]) else np.zeros(len(keys), dtype=bool)
            columns[tokens[known], k] = self.starts[k] + rank[known]
        columns[corpus.offsets[:-1], -2] = self.n_attributes - 2
        columns[corpus.offsets[1:] - 1, -1] = self.n_attributes - 1
        return columns

    def _occurrences(self, corpus: Corpus) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, for each template, the tokens for which it has a key, and their keys.

        A token has a key if all places of the template lie in its sentence and their values are known from training.
        """
        lengths = np.diff(corpus.offsets)
        before = np.arange(len(corpus.words)) - np.repeat(corpus.offsets[:-1], lengths)
        after = np.repeat(lengths, lengths) - 1 - before
        codes = {
            field: np.array([self.codes[field].get(value, ABSENT) for value in column], dtype=np.int64)
            for field, column in (("w", corpus.words), ("pos", corpus.tags))
        }
        out = []
        for field, places in TEMPLATES:
            tokens = np.flatnonzero((before >= -min(places)) & (after >= max(places)))
            parts = np.stack([codes[field][tokens + place] for place in places])
            known = (parts != ABSENT).all(axis=0)
            keys = np.zeros(int(known.sum()), dtype=np.int64)
            for part in parts[:, known]:
                keys = keys * len(self.values[field]) + part
            out.append((tokens[known], keys))
        return out
