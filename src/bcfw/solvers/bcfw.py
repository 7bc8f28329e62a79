"""The solver BCFW: block-coordinate Frank-Wolfe (bcfw-2013, Alg. 4; gaps-2016, Alg. 2-5)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bcfw.dual import DualProblem
from bcfw.errors import OptionError
from bcfw.options import Choice, Count, Flag, Positive
from bcfw.passes.records import (
    AWAY,
    BEST,
    CACHE_FIRST,
    DECAY_SIZE,
    EXACT_SIZE,
    FW,
    MOST_GAIN,
    ORACLE,
    PAIRWISE,
    SHORT_SIZE,
    WORST,
    StoreUse,
)
from bcfw.passes.store_visits import pairwise_pass
from bcfw.selection import SAMPLINGS, SamplingChoice
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.solver import Outcome, Solver

#: The codes in compiled code for the words of the options ``step``, ``away_corner`` and ``step_size``.
STEP_KINDS = {"fw": FW, "pairwise": PAIRWISE, "away": AWAY, "best": BEST}
AWAY_CORNERS = {"value": WORST, "gain": MOST_GAIN}
STEP_SIZES = {"exact": EXACT_SIZE, "decay": DECAY_SIZE, "short": SHORT_SIZE}


class BCFW(Solver):
    """Block-coordinate Frank-Wolfe: one oracle call and one closed-form step on one example at a time.

    Parameters
    ----------
    sampling : "permuted", "uniform", "cyclic", "gap" or "max-gap"
        The blocks that a pass visits; a pass has n visits, where n is the number of blocks. A rule of
        :mod:`bcfw.selection` that chooses one block at a time can be given instead of its word.

        - "permuted": every block once, in a new random order;
        - "uniform": n blocks drawn with replacement;
        - "cyclic": every block once, in the order of the data;
        - "gap": n blocks drawn in proportion to their last known gaps (gaps-2016, Alg. 2);
        - "max-gap": at each visit the block with the largest last known gap.
    step : "fw", "pairwise", "away" or "best"
        - "fw": all mass of the block moves towards the oracle's corner;
        - "pairwise": mass moves from one active corner to the oracle's corner (gaps-2016, Alg. 3);
        - "away": a step "fw", or a step away from the worst active corner if that promises more (gaps-2016, Alg. 4);
        - "best": a step "fw" or "pairwise", whichever gains more.
    away_corner : "value" or "gain"
        The corner that a pairwise step leaves: the active corner with the smallest value, or the active corner from
        which the step gains most.
    step_size : "exact", "decay" or "short"
        - "exact": the step size that maximises the dual;
        - "decay": the predefined size ``2n/(k + 2n)`` of step k (only for "fw" without cache, and not for sampling by
          gaps);
        - "short": the size that would maximise the dual if w had no bounds (gaps-2016, App. H); with bounds on w it is
          safe, but too short.
    cache : None or "gap"
        With "gap", a stored labeling is used instead of an oracle call if its gap is at least
        ``max(cache_F g_i, cache_nu g / n)``. Here g_i is the block's gap at its last oracle call, and g is the gap of
        the last certificate.
    cache_F, cache_nu : float
        The two factors of the option ``cache``.
    max_labelings : int
        Number of labelings kept per block, for steps other than "fw" and for the cache.
    averaging : bool
        Return the weighted average of the iterates, ``w_bar <- k/(k+2) w_bar + 2/(k+2) w``, with its own certificate
        (not for "max-gap").
    gap_every : int
        Number of passes between certificates. A pass always counts n visits here; with a cache, n visits need fewer
        than n oracle calls.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.BCFW(sampling="gap", step="pairwise", cache="gap")
    BCFW(sampling='gap', step='pairwise', cache='gap')
    """

    sampling: Any = SamplingChoice(*SAMPLINGS)
    step: Any = Choice(*STEP_KINDS)
    away_corner: Any = Choice(*AWAY_CORNERS)
    step_size: Any = Choice(*STEP_SIZES)
    cache: Any = Choice(None, "gap")
    cache_F: Any = Positive(0.25)  # noqa: N815 - the paper's name
    cache_nu: Any = Positive(0.01)
    max_labelings: Any = Count(50)
    averaging: Any = Flag(False)
    gap_every: Any = Count(10)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        if self.step_size == "decay":
            for option, plain in (("step", "fw"), ("cache", None)):
                if getattr(self, option) != plain:
                    raise OptionError(
                        f"BCFW: step_size='decay' does not go with {option}={getattr(self, option)!r}; leave one out"
                    )
        if SAMPLINGS[self.sampling].by_gap and self.step_size == "decay":
            raise OptionError(f"BCFW: step_size='decay' does not go with sampling={self.sampling!r}; use 'uniform'")
        if SAMPLINGS[self.sampling].largest and self.averaging:
            raise OptionError("BCFW: averaging=True does not go with sampling='max-gap'; use 'gap'")
        if self.step in ("fw", "away") and self.away_corner != "value":
            raise OptionError(f"BCFW: away_corner='gain' does not go with step={self.step!r}; use 'pairwise' or 'best'")
        for option in ("cache_F", "cache_nu"):
            self.only_with(option, self.cache is not None, "cache='gap'")
        self.only_with("max_labelings", self.uses_store, "cache='gap' or a step other than 'fw'")
        if self.max_labelings < 2:
            raise OptionError("BCFW: max_labelings must be at least 2, the truth and one more")

    @property
    def uses_store(self) -> bool:
        return self.step != "fw" or self.cache is not None

    @property
    def monotone(self) -> bool:
        return self.step_size != "decay" and not self.averaging

    def prepare(self, problem: DualProblem) -> None:
        if not self.uses_store:
            problem.close_store()
        elif self.step == "pairwise" and self.away_corner == "value":
            problem.open_store(self.max_labelings, active=True, template=pairwise_pass)
        else:
            problem.open_store(self.max_labelings, active=self.step != "fw")

    def solve(
        self, problem: DualProblem, run: CountedRun, rng: np.random.Generator, patience: float = float("inf")
    ) -> Outcome:
        """As :meth:`Solver.solve`, but after ``patience`` passes return the outcome without setting a status."""
        sampling = SAMPLINGS[self.sampling]
        runner = PassRunner(problem, run, int(self.averaging), STEP_SIZES[self.step_size], sampling.by_gap)
        runner.begin()
        for number in itertools.count(1):
            run.check_limits(runner.budget_used)
            if run.status is not None or number > patience:
                break
            gain = runner.run_pass(sampling, rng, self._plan(runner, number))
            if self.step_size != "decay":
                runner.check_stall(gain, sampling, self._plan(runner, number, source=ORACLE))
            if run.status is None and run.certificate_due(problem, number % self.gap_every == 0):
                runner.certify()
            run.after(runner.done)
        return runner.finish()

    def _plan(self, runner: PassRunner, number: int, source: int | None = None) -> StoreUse | None:
        """Return the plan by which a pass uses the store; None if the solver has no store."""
        if not self.uses_store:
            return None
        return StoreUse(
            step=STEP_KINDS[self.step],
            away_corner=AWAY_CORNERS[self.away_corner],
            source=(ORACLE if self.cache is None else CACHE_FIRST) if source is None else source,
            cache_share=float(self.cache_F),
            cache_floor=float(self.cache_nu) * runner.last_gap / len(runner.problem.blocks),
            round=number,
            oldest=0,
        )
