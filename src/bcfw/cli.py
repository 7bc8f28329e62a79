"""The command ``bcfw``."""

from __future__ import annotations

from pathlib import Path

import click

import bcfw


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bcfw.__version__, prog_name="bcfw")
def main() -> None:
    """Structural SVMs trained to a certified duality gap by block-coordinate Frank-Wolfe."""


@main.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("demo-output"), show_default=True, help="Pictures."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the data and of training.")
@click.option("--plain", is_flag=True, help="Progress as plain lines instead of a live bar.")
def demo(out: Path, seed: int, plain: bool) -> None:
    """Train a sequence labeller on handwritten dates; show progress, certificate, test errors and pictures."""
    from bcfw.report.demo import run_demo

    run_demo(out, seed, verbose=2 if plain else 1)


@main.command()
@click.option("--clear", is_flag=True, help="Delete the compiled code; the next training compiles again.")
def cache(clear: bool) -> None:
    """Show, or clear, the compiled code that is kept on disk."""
    from bcfw.kernels.disk_cache import cache_directory

    directory = cache_directory()
    if directory is None:
        click.echo("No writable directory for compiled code; set BCFW_CACHE_DIR to one.")
        return
    files = [path for path in directory.iterdir() if path.suffix in (".nbi", ".nbc")]
    size = sum(path.stat().st_size for path in files)
    click.echo(f"{directory}: {len(files)} files, {size / 1e6:.1f} MB")
    if clear:
        for path in files:
            path.unlink()
        click.echo("Cleared.")
