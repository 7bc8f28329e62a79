"""Problems of a campaign in a process of their own, for code that may crash or ask for too much memory."""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
from multiprocessing.connection import Connection
from typing import Any

from campaign import Outcome, Problem, guarded

#: Most seconds of processor time for a problem, less than those of the campaign.
PATIENCE = 100


def isolated(one_problem: Problem, memory: int | None = None, patience: int = PATIENCE) -> Problem:
    """The same problems, solved one after the other by a worker process, which is started again when it dies.

    Parameters
    ----------
    one_problem : function of number and seed
    memory : int or None
        Most bytes of addresses that the worker may have.
    patience : int
        Most seconds of processor time for a problem.
    """
    context = multiprocessing.get_context("fork")
    running: list[Any] = []

    def start() -> tuple[Any, Connection]:
        if not running or not running[0].is_alive():
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(one_problem, memory, patience, theirs), daemon=True)
            process.start()
            theirs.close()
            running[:] = [process, ours]
        return running[0], running[1]

    def solve(number: int, seed: int) -> Outcome:
        process, pipe = start()
        try:
            pipe.send((number, seed))
            return pipe.recv()  # type: ignore[no-any-return]
        except (EOFError, ConnectionError):
            process.join()
            return Outcome("unknown", "crash", ["crash"], f"the worker ended with exit code {process.exitcode}")
        except BaseException:
            process.kill()
            process.join()
            raise

    return solve


def work(one_problem: Problem, memory: int | None, patience: int, pipe: Connection) -> None:
    """A worker: solve what comes, until nothing comes any more."""
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            number, seed = pipe.recv()
            pipe.send(guarded(one_problem, number, seed, patience, show=False))
