"""Sampling by gaps against uniform sampling on the toy problem of gaps-2016, appendix C: measured and derived speed-up.

    python benchmarks/toy_gap_sampling.py [--n 10 30 100] [--visits 100] [--seeds 5]

One hard example and n - 1 easy ones, all with the same curvature, lam = 1/n. Any visit of an easy example solves them
all; a gap of ``1/(2 t n)`` takes t visits of the hard one. So the derived numbers of steps are

    uniform   n t                 each step meets the hard example with probability 1/n
    permuted  n (t - 1/2)         once per pass, in the middle of the last one on average
    gap       n + t               every example once, then the hard one; once more the easy one that was visited first

and the speed-up over uniform sampling is nt/(n + t), about min(n, t)/2 where n = t. Numbers of steps, no times: the
figures are the same on every machine. The problem is made here, no data are needed. About a minute and a half.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import bcfw
from bcfw.solvers import BCFW

HARD, EASY = "hard", "easy"

#: Expected steps until the t-th visit of the hard example among n.
DERIVED = {
    "uniform": lambda n, t: n * t,
    "permuted": lambda n, t: n * (t - 1) + (n + 1) / 2,
    "gap": lambda n, t: n + t,
}


class Toy(bcfw.Model):
    """Labels 0 (the truth) to K with zero-one loss; x is HARD or EASY.

    ``phi(hard, k) = -e_k / sqrt(2)``, ``phi(easy, k) = -e_{K+1}`` and ``phi(x, 0) = 0``, in R^{K+1}.
    """

    def __init__(self, K: int) -> None:
        self.K = K
        self.dim = K + 1

    def features(self, x: str, y: int) -> np.ndarray:
        phi = np.zeros(self.K + 1)
        if y > 0 and x == HARD:
            phi[y - 1] = -np.sqrt(0.5)
        elif y > 0:
            phi[self.K] = -1.0
        return phi

    def loss(self, y_true: int, y: int) -> float:
        return float(y != y_true)

    def oracle(self, w: np.ndarray, x: str, y_true: int | None = None) -> int:
        value = np.zeros(self.K + 1)
        value[1:] = -np.sqrt(0.5) * w[: self.K] if x == HARD else -w[self.K]
        if y_true is not None:
            value[1:] += 1.0
        return int(np.argmax(value))


def gap_after(steps: int, sampling: str, n: int, t: int, seed: int) -> float:
    """Certified gap after so many steps from zero; certificates on the way would add what the sampling has to find."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        result = bcfw.train(
            Toy(t + 1),
            [HARD] + [EASY] * (n - 1),
            [0] * n,
            lam=1.0 / n,
            solver=BCFW(sampling=sampling, gap_every=10**9),
            tol=0.0,
            max_passes=(steps - 0.5) / n,  # a limit within a pass ends with the step that reaches it
            seed=seed,
        )
    return result.gap


def steps_needed(sampling: str, n: int, t: int, seed: int) -> int:
    """The least number of steps after which the gap is at most ``1/(2 t n)``, by bisection: the gap never grows."""
    target = (1.0 + 1e-9) / (2.0 * t * n)
    low, high = 0, n + t
    while gap_after(high, sampling, n, t, seed) > target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if gap_after(middle, sampling, n, t, seed) > target:
            low = middle
        else:
            high = middle
    return high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[10, 30, 100], help="numbers of examples")
    parser.add_argument("--visits", type=int, default=100, help="t: visits that the hard example needs")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    t = options.visits
    print(f"steps to a gap of 1/(2tn), t = {t}, means of {options.seeds} seeds: measured (derived)", flush=True)
    print("".join(f"{title:<20}" for title in ("n", *DERIVED, "speed-up of gap")), flush=True)
    for n in options.n:
        measured = {
            name: np.mean([steps_needed(name, n, t, seed) for seed in range(options.seeds)]) for name in DERIVED
        }
        cells = [f"{measured[name]:.1f} ({derived(n, t):g})" for name, derived in DERIVED.items()]
        speed_up, expected = measured["uniform"] / measured["gap"], DERIVED["uniform"](n, t) / DERIVED["gap"](n, t)
        print("".join(f"{cell:<20}" for cell in (n, *cells, f"{speed_up:.1f} ({expected:.1f})")), flush=True)


if __name__ == "__main__":
    main()
