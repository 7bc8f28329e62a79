"""Start-up: import time, and the overhead of the first fit with an empty and with a warm disk cache.

    python benchmarks/start_up.py

Each figure is taken in a fresh process; CPU seconds include compilation. The overhead of a first fit is its time minus
that of the same fit once more in the same process. Features of float32 have compiled code of their own: their first fit
compiles it also where that for float64 is in the cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

IMPORT = "import time; a = time.perf_counter(); import bcfw; print(time.perf_counter() - a)"

FIT = """
import time
wall, cpu = time.perf_counter(), time.process_time()
import bcfw
{data}
loaded = time.process_time()
def fit():
    a, b = time.perf_counter(), time.process_time()
    {svm}.fit(X, y).predict(X)
    return time.perf_counter() - a, time.process_time() - b
first, again = fit(), fit()
print(loaded - cpu, first[1], again[1], first[0] - again[0])
"""

FITS = {
    "ChainSVM": FIT.format(
        data="words = bcfw.datasets.load_digit_words(); X, y = words.X_train, words.y_train",
        svm="bcfw.ChainSVM(lam=0.03, tol=0.01)",
    ),
    "ChainSVM float32": FIT.format(
        data="words = bcfw.datasets.load_digit_words(); "
        "X, y = [x.astype('float32') for x in words.X_train], words.y_train",
        svm="bcfw.ChainSVM(lam=0.03, tol=0.01)",
    ),
    "MulticlassSVM": FIT.format(
        data="from sklearn.datasets import load_digits; X, y = load_digits(return_X_y=True)",
        svm="bcfw.MulticlassSVM()",
    ),
}


def numbers(code: str, cache: str) -> list[float]:
    """Run code in a fresh process with its own cache directory and read the numbers it prints."""
    environment = {**os.environ, "BCFW_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        imports = sorted(numbers(IMPORT, cache)[0] for _ in range(5))
        print(f"import bcfw                        {imports[2]:.3f} s (median of 5)")
        for name, code in FITS.items():
            for when in ("empty cache", "next process"):
                loading, first, again, overhead = numbers(code, cache)
                print(
                    f"first {name} fit, {when:<12}   {first:.2f} CPU s, of which {first - again:.2f} s overhead over "
                    f"the same fit again ({overhead:.2f} s wall); imports and data {loading:.2f} CPU s"
                )


if __name__ == "__main__":
    main()
