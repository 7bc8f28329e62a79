"""``bcfw.minimize`` and its result, and the checks of its arguments; the iterations are in :mod:`bcfw.product.loop`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bcfw.errors import InputError, OptionError, nearest
from bcfw.options import Count, NonNegative, Positive
from bcfw.product.checked_oracle import Oracle, read_answer, trusted
from bcfw.product.directions import DIRECTIONS
from bcfw.product.loop import GapReport, IterationInfo, Loop
from bcfw.product.objectives import find_objective
from bcfw.product.steps import OpenLoop, find_step
from bcfw.progress import progress_callbacks
from bcfw.run import Callback, Run, callbacks_notified, check_callbacks
from bcfw.selection import SelectionState, find_rule

#: Passes over the blocks between certificates, by default.
PASSES_PER_CERTIFICATE = 10

#: Advice for runs that end before they converge.
PAIRWISE = "on polytopes direction='pairwise' often takes far fewer iterations"


@dataclass(repr=False)
class MinimizeResult:
    """Result of :func:`bcfw.minimize`.

    Attributes
    ----------
    x : list of arrays, one per block; or an array
        The last point. If the objective is declared not convex, the point with the smallest gap among all points whose
        gap was computed. x is an array if one domain was given instead of a list.
    value : float
        f(x).
    gap : float
        The full Frank-Wolfe gap ``sum_i max_{v in C_i} <grad_i f(x), x_i - v>``, computed at x. For convex f it bounds
        ``f(x) - min f``; for every f it is zero at stationary points only.
    block_gaps : (m,) array
        The gap of each block; their sum is ``gap``.
    certified : bool
        Whether ``gap`` is proven to be at least ``f(x) - min f``. If ``convex`` is None, the proof assumes that f is
        convex. False if f is not convex, or if the oracle of a block is not exact and gives no lower bound.
    convex : True, False or None
        Whether f is convex, as declared or found by the objective; None: unknown.
    status : str
        "converged" (gap <= tol), "estimated" (gap <= tol, but the gap is not proven), "max_iters", "max_seconds",
        "stopped" (by a callback), "interrupted" (Ctrl-C) or "stalled" (steps no longer decrease f in floating point).
    n_iters : int
    lmo_calls : (m,) array
        Calls of each block's oracle for steps.
    certificate_calls : int
        Oracle calls for certificates and for tests of users' oracles and gradients, summed over the blocks.
    seconds : float
    history : dict of arrays
        The columns iters, seconds, value, gap, lmo_calls and certificate_calls, with one row per certificate; the first
        certificate is computed at the start, the last one at the end.
    """

    x: Any
    value: float
    gap: float
    block_gaps: np.ndarray
    certified: bool
    status: str
    n_iters: int
    lmo_calls: np.ndarray
    certificate_calls: int
    seconds: float
    history: dict[str, np.ndarray]
    convex: bool | None = None

    def summary(self) -> str:
        """Return one line with status, iterations, time, value and gap of the run."""
        proof = "certified if f is convex" if self.convex is None else "certified"
        if not self.certified:
            proof = "of a function that is not convex" if self.convex is False else "not certified"
        return (
            f"{self.status} after {self.n_iters} iterations and {self.seconds:.2f} s: value {self.value:.6g}, "
            f"gap {self.gap:.3g} ({proof})"
        )

    def __repr__(self) -> str:
        return f"<MinimizeResult: {self.summary()}>"


def minimize(
    objective: Any,
    domains: Any,
    x0: Any = None,
    selection: Any = "permuted",
    step: Any = "adaptive",
    direction: str = "fw",
    tol: float = 1e-6,
    max_iters: float = 10_000,
    max_seconds: float | None = None,
    gap_every: int | None = None,
    callbacks: Sequence[Callback] = (),
    seed: int = 0,
    verbose: int = 0,
) -> MinimizeResult:
    """Minimise a smooth function over a product of sets, by block-iterative Frank-Wolfe.

    Solves ``min f(x_1, ..., x_m)``, where every x_i is in a compact convex set C_i over which it is easy to minimise
    linear functions (flexible-blocks-2026). An iteration chooses some blocks, calls the oracle of each chosen block for
    the vertex ``v_i = argmin_{v in C_i} <grad_i f(x), v>``, and moves these blocks towards their vertices. x is a list
    with one array per block; if ``domains`` is one set instead of a list, x is an array.

    A user's functions and sets are tested during the run, at the certificates number 1, 2, 4, 8, ... and at the last
    certificate: the gradient is compared with values of f between x and the vertices, and the answers of each oracle to
    different directions are compared with each other. :func:`bcfw.check_objective` and :func:`bcfw.check_domain` test
    more.

    Parameters
    ----------
    objective : (f, grad), or an object
        A pair of functions of x; ``grad`` returns a list of arrays, or one array if x is an array. Or an object with
        methods ``value(x)`` and ``gradient(x)``; ``block_gradient(x, i)``, ``smoothness`` (a number),
        ``block_smoothness`` (m numbers) and ``convex`` (True, False or None) are used if the object has them. Or an
        object of ``bcfw.objectives``; a step on its ready-made functions uses the data of the chosen blocks only.
    domains : list of m sets, or one set
        Sets of ``bcfw.domains``, or any objects with a method ``argmin(direction)`` that returns an array. With one set
        instead of a list, x is an array everywhere: for the functions, x0, callbacks and the result.
    x0 : list of m arrays (or one array), or None
        A feasible start. If x0 or its entry for a block is None, the block starts at its domain's ``start()``, or at
        ``argmin`` of zeros if the domain has a ``shape`` but no ``start()``.
    selection : str, rule or function
        Which blocks come next: "permuted", "full", "cyclic", "uniform", "gap", "greedy", a rule of ``bcfw.selection``,
        or a function ``choose(t, rng, gaps)`` that returns one or more indices.
    step : str or rule
        How the step size is chosen: "adaptive", "short" (needs ``smoothness``), "line-search", "open-loop", or a rule
        of ``bcfw.steps`` with options.
    direction : "fw", "away", "pairwise" or "blended"
        The direction in which a block moves. All but "fw" store the active set of each block: the vertices of which the
        block is a convex combination. They need more memory, and converge much faster if the solution lies in a face of
        a polytope.
    tol : float
        Stop when the full Frank-Wolfe gap is at most this absolute number; 0 is allowed.
    max_iters, max_seconds : float
        Stop at the first of these limits that is reached.
    gap_every : int or None
        Iterations between certificates; each certificate calls the oracles of all blocks. None: ten passes over the
        blocks.
    callbacks : sequence of callables
        Each is called with an info (``n_iters, seconds, x, value, gap``) after every iteration; if it returns True, the
        run stops. See :func:`bcfw.train` about ``start`` and ``finish``.
    seed : int
        Seed of the random numbers. Runs with equal seeds are equal, except with ``bcfw.selection.CostAware``, which
        uses measured times.
    verbose : int
        0 quiet, 1 a live display, 2 plain lines.

    Returns
    -------
    MinimizeResult

    Raises
    ------
    OracleError
        If an oracle does not minimise: the gap of its block is negative, or a better point of its set is known.
    ObjectiveError
        If the gradient does not belong to f.

    Examples
    --------
    The point of a simplex that is nearest to a given point:

    >>> import numpy as np, bcfw
    >>> target = np.array([0.9, 0.4, -0.2])
    >>> f = lambda x: 0.5 * ((x - target) ** 2).sum()
    >>> grad = lambda x: x - target
    >>> result = bcfw.minimize((f, grad), bcfw.domains.Simplex(3), direction="pairwise")
    >>> result.status, result.x.round(6)
    ('converged', array([0.75, 0.25, 0.  ]))

    The nearest points of two sets, with one block per set:

    >>> f = lambda x: 0.5 * ((x[0] - x[1]) ** 2).sum()
    >>> grad = lambda x: [x[0] - x[1], x[1] - x[0]]
    >>> bcfw.minimize((f, grad), [bcfw.domains.Simplex(2), bcfw.domains.Box([1.0, 1.0], [2.0, 3.0])]).x
    [array([0.5, 0.5]), array([1., 1.])]
    """
    rule, sizes = find_rule(selection), find_step(step)
    check_options(direction, sizes, tol, max_iters, max_seconds, gap_every, seed)
    check_callbacks(callbacks)
    single = is_domain(domains)
    wanted = find_objective(objective, single)
    everyone = (*callbacks, *progress_callbacks(verbose))
    with callbacks_notified(everyone) as ended:
        blocks = read_domains([domains] if single else domains)
        x, shapes = read_start(blocks, [x0] if single else x0)
        tracker = wanted.track(x, shapes)
        facts = SelectionState(len(x), np.random.default_rng(seed), np.full(len(x), np.inf), np.full(len(x), np.inf))
        oracle = Oracle(blocks, x, shapes, facts.seconds if rule.timed else None)
        run = Run(tol, max_iters, max_seconds=max_seconds, callbacks=everyone, unit="iters", info=IterationInfo)
        loop = Loop(tracker, oracle, DIRECTIONS[direction](x), sizes.begin(tracker), facts, run)
        every = PASSES_PER_CERTIFICATE * rule.per_pass(len(x)) if gap_every is None else int(gap_every)
        run.point = (lambda: loop.copy_point()[0]) if single else loop.copy_point
        with run.interrupt:
            certificate = loop.solve(rule, every)
        result = make_result(certificate, loop, run)
        if single:
            (result.x,) = certificate.x
        ended(result)
    run.warn_unless_converged(result.gap, lambda: "" if direction != "fw" or result.status == "stalled" else PAIRWISE)
    return result


def make_result(certificate: GapReport, loop: Loop, run: Run) -> MinimizeResult:
    return MinimizeResult(
        x=certificate.x,
        value=certificate.value,
        gap=certificate.gap,
        block_gaps=certificate.block_gaps,
        certified=certificate.proven and loop.tracker.convex is not False,
        status=run.status or "max_iters",
        n_iters=loop.n_iters,
        lmo_calls=np.array(loop.lmo_calls),
        certificate_calls=loop.certificate_calls,
        seconds=run.seconds,
        history=run.history(),
        convex=loop.tracker.convex,
    )


def check_options(
    direction: Any, step: Any, tol: Any, max_iters: Any, max_seconds: Any, gap_every: Any, seed: Any
) -> None:
    """Raise OptionError unless all options are valid and ``step`` and ``direction`` go together."""
    if not isinstance(direction, str) or direction not in DIRECTIONS:
        raise OptionError(f"direction {direction!r} is unknown; {nearest(str(direction), DIRECTIONS)}")
    if direction != "fw" and isinstance(step, OpenLoop):
        raise OptionError(f"step='open-loop' does not go with direction={direction!r}; use direction='fw'")
    NonNegative(1e-6, finite=False).check("", "tol", tol)
    NonNegative(10_000, finite=False).check("", "max_iters", max_iters)
    Positive(None, finite=False, or_none=True).check("", "max_seconds", max_seconds)
    if gap_every is not None:
        Count(1).check("", "gap_every", gap_every)
    Count(0, least=0).check("", "seed", seed)


def is_domain(domains: Any) -> bool:
    """Return whether ``domains`` is a single set and not a list of sets."""
    return not isinstance(domains, type | np.ndarray) and callable(getattr(domains, "argmin", None))


def read_domains(domains: Any) -> list[Any]:
    """Return one domain per block, each with its own state; raise OptionError for anything but a list of sets."""
    if isinstance(domains, type):
        raise OptionError(f"the domain is the class {domains.__name__}; give an instance, {domains.__name__}(...)")
    if isinstance(domains, str | bytes) or not isinstance(domains, Sequence) or len(domains) == 0:
        raise OptionError("domains must be a set with argmin(direction), or a list with one set per block")
    for i, domain in enumerate(domains):
        if isinstance(domain, type):
            raise OptionError(f"block {i}: the domain is the class {domain.__name__}; give an instance")
        if not callable(getattr(domain, "argmin", None)):
            raise OptionError(f"block {i}: the domain {domain!r} has no method argmin(direction)")
    return [domain.for_one_block() if hasattr(domain, "for_one_block") else domain for domain in domains]


def read_start(domains: list[Any], x0: Any) -> tuple[list[np.ndarray], list[tuple[int, ...]]]:
    """Return the start as new flat arrays, one per block, and the shapes of the blocks."""
    given = [None] * len(domains) if x0 is None else x0
    if not isinstance(given, list | tuple | np.ndarray) or len(given) != len(domains):
        raise InputError(f"x0 must be a list of {len(domains)} arrays, one per block")
    points = [start_of_block(i, domain, point) for i, (domain, point) in enumerate(zip(domains, given, strict=True))]
    return [point.ravel() for point in points], [point.shape for point in points]


def start_of_block(i: int, domain: Any, given: Any) -> np.ndarray:
    """Return the start of block i: a checked copy of the given point, or a point of the domain if None is given."""
    shape = getattr(domain, "shape", None)
    wanted = () if shape is None else tuple(int(size) for size in np.atleast_1d(shape))
    known = given is None and trusted(domain)
    if given is None:
        if callable(getattr(domain, "start", None)):
            given = domain.start()
        elif shape is not None:
            given = read_answer(i, domain.argmin(np.zeros(shape)), wanted)
        else:
            raise InputError(f"block {i}: its domain has neither start() nor a shape; give x0[{i}]")
    try:
        point = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"block {i}: the start must be an array of real numbers ({error})") from error
    if shape is not None and point.shape != wanted:
        raise InputError(f"block {i}: the start has shape {point.shape}, its domain {wanted}")
    if not np.isfinite(point).all():
        raise InputError(f"block {i}: the start holds nan or infinite numbers")
    contains = getattr(domain, "contains", None)
    if not known and contains is not None and not contains(point):
        raise InputError(f"block {i}: the start is not in its domain {domain!r}")
    return point
