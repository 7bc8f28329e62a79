"""Cost of one BCFW step against one bare oracle call and one certificate, on the same blocks in one process.

    python benchmarks/step_cost.py [--passes 20]

Every pass is timed over the same random order: the oracle alone (scores and argmax at the current weights), the BCFW
steps, steps with averaging, and a certificate. Times are CPU seconds of one thread; the machine still adds noise, so
read the ratios. OCR-large and USPS are read through ``BCFW_DATA`` (see ``bcfw.datasets``). The Python models have a
free oracle, so that their step cost is the solver's own overhead.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

import bcfw
from bcfw import datasets
from bcfw.dual import open_problem
from bcfw.dual.certify import certify_state
from bcfw.passes.contract import Data, Work, argmax, scores
from bcfw.passes.order import in_order
from bcfw.passes.records import State


def oracle_pass(data_fields: Any, work_fields: Any, state_fields: Any, order: np.ndarray) -> float:
    """Template: nothing but the max oracle on the blocks of ``order``."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    total = 0.0
    for j in range(order.shape[0]):
        scores(data, order[j], state.w, 1.0, work)
        total += argmax(data, order[j], state.w, work)
    return total


def seconds(call: Any, *args: Any) -> float:
    start = time.process_time()
    call(*args)
    return time.process_time() - start


def measure(name: str, model: Any, X: Any, y: Any, lam: float, passes: int) -> None:
    """Time oracle, step, averaged step and certificate; print medians per block and ratios to the oracle."""
    problem = open_problem(model, X, y, lam)
    plain = problem.rule()
    averaging = problem.rule(tracks=1)
    rng = np.random.default_rng(0)
    nothing = np.zeros(0, np.int64)
    problem.call(oracle_pass, nothing)
    problem.visit(in_order(nothing), plain)
    rows = []
    for _ in range(passes):
        order = rng.permutation(problem.blocks)
        oracle = seconds(problem.call, oracle_pass, order)
        step = seconds(problem.visit, in_order(order), plain)
        oracle_again = seconds(problem.call, oracle_pass, order)
        averaged = seconds(problem.visit, in_order(order), averaging)
        certificate = seconds(certify_state, problem)
        rows.append((oracle, step, oracle_again, averaged, certificate))
    times = np.array(rows) / len(problem.blocks) * 1e6
    oracle, step, oracle_again, averaged, certificate = np.median(times, axis=0)
    ratio = np.median(times[:, [1, 3, 4]] / times[:, [0, 2, 2]], axis=0)
    print(
        f"{name:<28} oracle {oracle:7.2f} us   step {step:7.2f} us ({ratio[0]:.2f})   "
        f"averaged {averaged:7.2f} us ({ratio[1]:.2f})   certificate {certificate:7.2f} us ({ratio[2]:.2f})",
        flush=True,
    )


class FreeOracle(bcfw.Model):
    """A model whose oracle costs nothing: two prepared feature vectors per example."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def features(self, x: Any, y: int) -> Any:
        return x[y]

    def loss(self, y_true: int, y: int) -> float:
        return float(y != y_true)

    def oracle(self, w: np.ndarray, x: Any, y_true: int | None = None) -> int:
        return 1


def measure_python_model(name: str, dim: int, non_zeros: int | None, n: int, passes: int) -> None:
    """Overhead of the interpreted loop with an oracle that always returns the same prepared vector."""
    rng = np.random.default_rng(0)
    if non_zeros is None:
        X = [list(rng.standard_normal((2, dim)) / np.sqrt(dim)) for _ in range(n)]
    else:
        X = [[random_row(rng, dim, non_zeros) for _ in range(2)] for _ in range(n)]
    problem = open_problem(FreeOracle(dim), X, [0] * n, 1.0 / n)
    rule = problem.rule()
    times = [seconds(problem.visit, in_order(rng.permutation(problem.blocks)), rule) for _ in range(passes)]
    print(f"{name:<28} solver overhead {np.median(times) / n * 1e6:7.2f} us per step", flush=True)


def random_row(rng: np.random.Generator, dim: int, non_zeros: int) -> sp.csr_array:
    index = np.sort(rng.choice(dim, non_zeros, replace=False))
    return sp.csr_array((rng.standard_normal(non_zeros), index, [0, non_zeros]), shape=(1, dim))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=int, default=20)
    passes = parser.parse_args().passes
    real = {
        "OCR-large": (bcfw.models.Chain(), lambda: datasets.fetch_ocr("large")),
        "USPS": (bcfw.models.Multiclass(), datasets.fetch_usps),
    }
    for name, (model, fetch) in real.items():
        try:
            data = fetch()
        except datasets.DataNotFound as error:
            print(f"{name} left out: {error}", flush=True)
            continue
        for lam in (0.01, 1.0 / len(data.y_train)):
            measure(f"{name}, lam = {lam:.2g}", model, data.X_train, data.y_train, lam, passes)
    measure_python_model("Python model, d = 4000 dense", 4000, None, 500, passes)
    measure_python_model("Python model, 200 of 4000", 4000, 200, 500, passes)


if __name__ == "__main__":
    main()
