"""Dependency parsing with a maximum spanning tree: a structure that is not built in, as a compiled model of one's own.

    python examples/dependency_parsing.py [--train 300] [--test 300] [--lam 0.003] [--tol 0.02] [--seed 0]

In a dependency tree every word has a *head*: another word, or 0, the root that stands before the sentence. An output is
the (V,) array of heads of words 1 .. V. The score is a sum over the arcs (head, word), the loss the share of words with
a wrong head, so that the oracle is a maximum spanning arborescence (Chu and Liu 1965, Edmonds 1967).

The sentences are synthetic: a small grammar below draws them together with their trees. A parser sees the kinds of the
words (noun, verb, one kind per preposition, ...), some of which are hidden. Features of an arc are the kinds of its two
words with its direction; these with its length; these with whether a verb stands between: dim = 14 S^2 = 1694 for
S = 11 kinds.

Two baselines: the word before as head of each word, and the same features trained and decoded without the tree
constraint: each word takes the head that it likes best, and cycles may come out.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np

import bcfw

KINDS = ["root", "noun", "verb", "determiner", "adjective", "adverb", "of", "during", "with", "that", "hidden"]
ROOT, NOUN, VERB, DETERMINER, ADJECTIVE, ADVERB, OF, DURING, WITH, THAT, UNKNOWN = range(len(KINDS))
S = len(KINDS)

#: Share of words whose kind is hidden, the longest sentence, and where the three groups of features end.
HIDDEN, LONGEST = 0.1, 20
PAIRS, LENGTHS, BETWEEN = 2 * S * S, 10 * S * S, 14 * S * S


# --- the grammar -------------------------------------------------------------------------------------------------


class Word(NamedTuple):
    """A word with what hangs below it, to its left and to its right."""

    kind: int
    left: list[Word]
    right: list[Word]


def noun_phrase(rng: np.random.Generator, depth: int) -> Word:
    left = [Word(DETERMINER, [], [])] * int(rng.random() < 0.8) + [Word(ADJECTIVE, [], [])] * int(
        rng.geometric(0.7) - 1
    )
    right = [
        prepositional(kind, rng, depth) for kind, share in ((OF, 0.3), (WITH, 0.15)) if rng.random() < share / depth
    ]
    if rng.random() < 0.15 / depth:
        clause = verb_phrase(rng, depth + 1)
        right.append(clause._replace(left=[Word(THAT, [], []), *clause.left]))
    return Word(NOUN, left, right)


def prepositional(kind: int, rng: np.random.Generator, depth: int) -> Word:
    return Word(kind, [], [noun_phrase(rng, depth + 1)])


def verb_phrase(rng: np.random.Generator, depth: int) -> Word:
    left = [Word(ADVERB, [], [])] * int(rng.random() < 0.2)
    right = [noun_phrase(rng, depth)] if rng.random() < 0.7 else []
    right += [Word(ADVERB, [], [])] * int(rng.random() < 0.2)
    right += [prepositional(kind, rng, depth) for kind in (DURING, WITH) if rng.random() < 0.3 / depth]
    if rng.random() < 0.25 / depth:
        right.append(Word(THAT, [], [sentence(rng, depth + 1)]))
    return Word(VERB, left, right)


def sentence(rng: np.random.Generator, depth: int = 1) -> Word:
    predicate = verb_phrase(rng, depth)
    return predicate._replace(left=[noun_phrase(rng, depth), *predicate.left])


def read_off(word: Word, kinds: list[int], heads: list[int]) -> int:
    """Append the words of a tree in their order and the heads of all but its top; returns the top's place."""
    below = [read_off(one, kinds, heads) for one in word.left]
    kinds.append(word.kind)
    heads.append(-1)
    place = len(kinds)
    below += [read_off(one, kinds, heads) for one in word.right]
    for one in below:
        heads[one - 1] = place
    return place


def draw(n: int, rng: np.random.Generator) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Kinds of the words of n sentences, some hidden, and their heads."""
    X, y = [], []
    while len(X) < n:
        kinds: list[int] = []
        heads: list[int] = []
        heads[read_off(sentence(rng), kinds, heads) - 1] = ROOT
        if len(kinds) <= LONGEST:
            X.append(np.where(rng.random(len(kinds)) < HIDDEN, UNKNOWN, kinds))
            y.append(np.array(heads))
    return X, y


# --- the model ---------------------------------------------------------------------------------------------------


def spanning_tree(score, head):
    """Write the maximum spanning arborescence from node 0; ``score[h, m]`` (N, N) is that of the arc from h to m.

    As long as the best arcs to all nodes have a cycle, it becomes one node: an arc into it replaces the cycle's own arc
    to the node it leads to, so that only the difference counts. In the end cycles are opened, the last one first.
    """
    N = score.shape[0]
    s = np.full((2 * N, 2 * N), -np.inf)
    s[:N, :N] = score
    best = np.zeros(2 * N, np.int64)
    enter = np.zeros((2 * N, 2 * N), np.int64)  # the node of cycle c to which the best arc from u leads: enter[u, c]
    leave = np.zeros((2 * N, 2 * N), np.int64)  # the node of cycle c from which the best arc to u comes: leave[c, u]
    alive = np.zeros(2 * N, np.int64)
    alive[:N] = 1
    in_cycle = np.zeros(2 * N, np.int64)
    count = N
    while find_cycle(s, alive, count, best, in_cycle):
        for u in range(count):
            if alive[u] and not in_cycle[u]:
                for v in range(count):
                    if in_cycle[v]:
                        gain = s[u, v] - s[best[v], v]
                        if gain > s[u, count]:
                            s[u, count] = gain
                            enter[u, count] = v
                        if s[v, u] > s[count, u]:
                            s[count, u] = s[v, u]
                            leave[count, u] = v
        for v in range(count):
            if in_cycle[v]:
                alive[v] = 0
        alive[count] = 1
        count += 1
    for c in range(count - 1, N - 1, -1):
        for u in range(count):
            if best[u] == c:
                best[u] = leave[c, u]
        best[enter[best[c], c]] = best[c]
    for m in range(1, N):
        head[m - 1] = best[m]


def find_cycle(s, alive, count, best, in_cycle):
    """Set the best heads of all nodes that are alive; mark a cycle of them and return True, if there is one."""
    for v in range(1, count):
        if alive[v]:
            best[v] = 0
            for u in range(1, count):
                if alive[u] and u != v and s[u, v] > s[best[v], v]:
                    best[v] = u
    for start in range(1, count):
        if alive[start]:
            v = start
            for _ in range(count):
                v = best[v] if v > 0 else 0
            if v > 0:  # after so many steps only a cycle is left
                for u in range(count):
                    in_cycle[u] = 0
                while in_cycle[v] == 0:
                    in_cycle[v] = 1
                    v = best[v]
                return True
    return False


def arc_feature(data, i, h, m, group):
    """The weight of the arc from h to m in one of three groups of features."""
    start = data.y_off[i]
    above = 0 if h == 0 else data.kind[start + h - 1]
    pair = above * S + data.kind[start + m - 1]
    right = 1 if h < m else 0
    if group == 0:
        return 2 * pair + right
    if group == 1:
        length = abs(h - m)
        step = 3 if length > 4 else 2 if length > 2 else length - 1
        return PAIRS + 2 * (4 * pair + step) + right
    between = 0
    for k in range(min(h, m) + 1, max(h, m)):
        if data.kind[start + k - 1] == VERB:
            between = 1
    return LENGTHS + 2 * (2 * pair + between) + right


def arc_scores(data, i, w, loss_weight, out):
    """``out[h, m]``: score of the arc from h to m, plus its share of the loss."""
    start = data.y_off[i]
    V = data.y_off[i + 1] - start
    for m in range(1, V + 1):
        for h in range(V + 1):
            if h != m:
                out[h, m] = loss_weight / V if h != data.y[start + m - 1] else 0.0
                for group in range(3):
                    out[h, m] += w[arc_feature(data, i, h, m, group)]


class Sentences(NamedTuple):
    """All sentences, one after the other: heads, (n + 1,) offsets, kinds of the words."""

    y: np.ndarray
    y_off: np.ndarray
    kind: np.ndarray


class DependencyTree(bcfw.CompiledModel):
    """Heads of all words: a tree, found by the maximum spanning arborescence."""

    Data = Sentences
    dim = BETWEEN

    def pack(self, X, y=None):
        sizes = [len(x) for x in X]
        heads = np.zeros(sum(sizes), np.int64) if y is None else np.concatenate(y).astype(np.int64)
        for i, one in enumerate(() if y is None else y):
            if len(one) != sizes[i] or np.any((np.asarray(one) < 0) | (np.asarray(one) > sizes[i])):
                raise ValueError(f"sentence {i} must have {sizes[i]} heads, each 0 or one of its words")
        kind = np.concatenate(X).astype(np.int64)
        if np.any((kind <= ROOT) | (kind >= S)):
            raise ValueError(f"kinds of words are 1 .. {S - 1}")
        return Sentences(heads, np.concatenate([[0], np.cumsum(sizes)]), kind)

    @staticmethod
    def decode(data, i, w, loss_weight, y):
        score = np.full((y.shape[0] + 1, y.shape[0] + 1), -np.inf)
        arc_scores(data, i, w, loss_weight, score)
        spanning_tree(score, y)

    @staticmethod
    def labeling_loss(data, i, y):
        wrong = 0.0
        for m in range(y.shape[0]):
            if y[m] != data.y[data.y_off[i] + m]:
                wrong += 1.0
        return wrong / y.shape[0]

    @staticmethod
    def add_features(data, i, y, s, out):
        for m in range(1, y.shape[0] + 1):
            for group in range(3):
                out[arc_feature(data, i, y[m - 1], m, group)] += s

    def loss(self, y_true, y):
        return float(np.mean(np.asarray(y_true) != np.asarray(y)))


class HeadsAlone(DependencyTree):
    """The same without the constraint: each word has its best head, and cycles may come out."""

    @staticmethod
    def decode(data, i, w, loss_weight, y):
        score = np.full((y.shape[0] + 1, y.shape[0] + 1), -np.inf)
        arc_scores(data, i, w, loss_weight, score)
        for m in range(1, y.shape[0] + 1):
            y[m - 1] = np.argmax(score[:, m])


def is_tree(heads: np.ndarray) -> bool:
    """Whether every word is below the root."""
    place = np.arange(len(heads) + 1)
    above = np.concatenate([[0], heads])
    for _ in heads:
        place = above[place]
    return not place.any()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=300)
    parser.add_argument("--test", type=int, default=300)
    parser.add_argument("--lam", type=float, default=0.003)
    parser.add_argument("--tol", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    (X, y), (X_test, y_test) = draw(options.train, rng), draw(options.test, rng)
    print(f"{options.train} synthetic sentences of {np.mean([len(x) for x in X]):.1f} words; one, and its heads:")
    print(" ".join(KINDS[kind] for kind in X[0]), " ".join(map(str, y[0])), sep="\n")
    predicted = {"the word before": [np.arange(len(x)) for x in X_test]}
    for name, model in (("best heads alone", HeadsAlone()), ("spanning tree", DependencyTree())):
        start = time.process_time()
        result = bcfw.train(model, X, y, lam=options.lam, tol=options.tol)
        print(f"{name}: {result.summary()}; {time.process_time() - start:.1f} CPU s")
        predicted[name] = result.predict(X_test)
    for name, heads in predicted.items():
        right = np.concatenate(heads) == np.concatenate(y_test)
        whole = np.mean([np.array_equal(a, b) for a, b in zip(heads, y_test, strict=True)])
        trees = np.mean([is_tree(one) for one in heads])
        print(
            f"{name:18} heads right {right.mean():.2%}, sentences right {whole:.1%}, outputs that are trees {trees:.1%}"
        )


if __name__ == "__main__":
    main()
