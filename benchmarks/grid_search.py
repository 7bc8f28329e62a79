"""What worker processes cost: GridSearchCV with one process and with two, in CPU seconds.

    python benchmarks/grid_search.py [--repeats 3]

Each figure is the median of fresh Python processes that fit ``ChainSVM`` on the embedded words for four values of lam
and three folds; CPU seconds are those of the process and of the workers that it starts. Every worker imports
scikit-learn and numba, loads compiled code in its first fit, and is sent the words again for every fit; so a second
table has the CPU seconds of a fit by itself, in the same workers: the first one, and the median of the others.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

SEARCH = """
import resource, sys, warnings
warnings.simplefilter("ignore")
import bcfw
from joblib.externals.loky import get_reusable_executor
from sklearn.model_selection import GridSearchCV
words = bcfw.datasets.load_digit_words()
grid = {"lam": [0.3, 0.1, 0.03, 0.01]}
GridSearchCV(bcfw.ChainSVM(tol=0.01), grid, cv=3, n_jobs=int(sys.argv[1])).fit(words.X_train, words.y_train)
get_reusable_executor().shutdown(wait=True)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(one.ru_utime + one.ru_stime for one in used))
"""

FITS = """
import os, statistics, sys
from joblib import Parallel, delayed
import bcfw
def fit(X, y):
    import os, time, bcfw
    start = time.process_time()
    bcfw.ChainSVM(lam=0.03, tol=0.01).fit(X, y).predict(X)
    return os.getpid(), time.process_time() - start
words = bcfw.datasets.load_digit_words()
seconds = {}
for process, one in Parallel(n_jobs=int(sys.argv[1]))(delayed(fit)(words.X_train, words.y_train) for _ in range(16)):
    seconds.setdefault(process, []).append(one)
print(statistics.mean(max(fits) for fits in seconds.values()))
print(statistics.median(one for fits in seconds.values() for one in sorted(fits)[:-1]))
"""


def numbers(code: str, n_jobs: int, cache: str) -> list[float]:
    """What the code prints in a fresh process."""
    environment = {**os.environ, "BCFW_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code, str(n_jobs)], env=environment, capture_output=True, check=True)
    return [float(word) for word in done.stdout.split()]


def medians(code: str, n_jobs: int, cache: str, repeats: int) -> list[float]:
    return [statistics.median(of) for of in zip(*(numbers(code, n_jobs, cache) for _ in range(repeats)), strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    for n_jobs in (1, 2):
        with tempfile.TemporaryDirectory() as cache:
            empty = numbers(SEARCH, n_jobs, cache)[0]
            warm = medians(SEARCH, n_jobs, cache, repeats)[0]
            first, others = medians(FITS, n_jobs, cache, repeats)
        print(
            f"{n_jobs} process(es): search with an empty cache {empty:.2f} CPU s, with a warm one {warm:.2f}; "
            f"first fit of a process {first:.3f}, others {others:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
