"""``bcfw demo``: train a chain on handwritten dates, and compare it with a classifier of single digits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from bcfw.errors import BcfwError
from bcfw.storage.files import check_writable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: The values of lam that are best on validation words, made of a third of the training images that the training words
#: did not use.
LAM_CHAIN, LAM_SINGLE = 0.03, 0.001

NEXT = """\
What to do next, in Python after import bcfw:
  your own sequences    bcfw.ChainSVM().fit(X, y): X a list of (T, F) arrays, y a list of T labels each
  your own structure    three methods in Python: help(bcfw.Model), help(bcfw.check_model)
  how it is certified   help(bcfw.train), help(bcfw.Result)
  these pictures        help(bcfw.report)"""


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("demo-output"),
    show_default=True,
    help="Folder for the pictures.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of data and training.")
@click.option("--plain", is_flag=True, help="Progress as plain lines instead of a live bar.")
def demo(out: Path, seed: int, plain: bool) -> None:
    """Train a sequence labeller on handwritten dates; show progress, certificate, test errors and pictures."""
    try:
        run_demo(out, seed, verbose=2 if plain else 1)
    except (BcfwError, OSError) as error:
        raise click.ClickException(str(error)) from error


def run_demo(out: Path, seed: int = 0, verbose: int = 1, console: Console | None = None) -> dict[str, Any]:
    """Train both models, print their test errors, and draw pictures; return the fitted estimators and the errors.

    Parameters
    ----------
    out : folder for the pictures, created if needed
    seed : seed of the words and of training
    verbose : 0 quiet, 1 live, 2 plain lines
    console : console for the output
    """
    from rich.console import Console

    from bcfw.datasets import load_digit_words
    from bcfw.estimators import ChainSVM, MulticlassSVM

    out.mkdir(parents=True, exist_ok=True)
    check_writable(out / "words.png", "out")  # raise before training, not after it
    console = console or Console(highlight=False)
    words = load_digit_words(seed=seed)
    console.print(
        f"[bold]Handwritten dates[/bold]: {len(words.X_train)} training and {len(words.X_test)} test words of 4 to 8 "
        "digits, from the digits that scikit-learn ships, with pixel noise.\n"
        "Training a chain: 10 labels per digit, and which digit follows which. The first run compiles for some seconds."
    )
    chain = ChainSVM(lam=LAM_CHAIN, tol=1e-3, fit_intercept=False, random_state=seed, verbose=verbose)
    chain.fit(words.X_train, words.y_train)
    result = chain.result_
    console.print(
        f"[bold]Certificate[/bold]: the objective is {result.primal:.5f}, provably within {result.gap:.2g} of the best "
        f"possible ({100 * result.gap / result.primal:.1f} %), after {result.n_passes:g} passes and "
        f"{result.n_oracle_calls} calls of Viterbi's algorithm. {times(result)}"
    )
    console.print("Training a classifier of single digits, to compare with.")
    single = MulticlassSVM(lam=LAM_SINGLE, tol=0.01, fit_intercept=False, random_state=seed, verbose=verbose)
    single.fit(np.concatenate(words.X_train), np.concatenate(words.y_train))
    predictions = {
        "single digits": [single.predict(x) for x in words.X_test],
        "chain": chain.predict(words.X_test),
    }
    errors = {name: error_rates(words.y_test, given) for name, given in predictions.items()}
    console.print(error_table(errors))
    draw(out, result, words, predictions, console)
    console.print(NEXT)
    return {"chain": chain, "single": single, "errors": errors}


def times(result: Any) -> str:
    """Return a sentence with the seconds of training and, if there were any, of compilation."""
    trained = f"in {result.training_seconds:.2g} s"
    if result.compile_seconds < 0.05:
        return f"Trained {trained}."
    return f"Compiled in {result.compile_seconds:.1f} s (once: the code is kept), trained {trained}."


def error_rates(truths: list[np.ndarray], given: list[np.ndarray]) -> dict[str, float]:
    """Return the share of wrong digits, and the share of words with a wrong digit."""
    wrong = [truth != labels for truth, labels in zip(truths, given, strict=True)]
    return {"digits": float(np.concatenate(wrong).mean()), "words": float(np.mean([one.any() for one in wrong]))}


def error_table(errors: dict[str, dict[str, float]]) -> Table:
    from rich.table import Table

    table = Table(title="Test errors on the same features")
    table.add_column("model")
    table.add_column("wrong digits", justify="right")
    table.add_column("wrong words", justify="right")
    for name, rates in errors.items():
        table.add_row(name, f"{100 * rates['digits']:.1f} %", f"{100 * rates['words']:.1f} %")
    return table


def draw(out: Path, result: Any, words: Any, predictions: dict[str, Any], console: Console) -> None:
    """Draw the convergence plot, and the words on which the two models differ most."""
    from bcfw.report import PlotUnavailableError, plot_convergence, plot_sequences

    differences = [int(np.sum(one != other)) for one, other in zip(*predictions.values(), strict=True)]
    shown = np.argsort(differences, kind="stable")[::-1][:6]
    images = [words.X_test[i][:, :64].reshape(-1, 8, 8) for i in shown]
    some = {name: [given[i] for i in shown] for name, given in predictions.items()}
    try:
        plots = [
            plot_convergence(result, out / "convergence.png"),
            plot_sequences(images, [words.y_test[i] for i in shown], some, out / "words.png"),
        ]
    except PlotUnavailableError as error:
        console.print(f"No pictures: {error}", markup=False)
        return
    for path in plots:
        console.print(f"Picture: {path}", markup=False)
