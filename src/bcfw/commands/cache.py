"""``bcfw cache``: show, fill or clear the folder of compiled code."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import click

from bcfw.commands.error_reports import BadInput, errors_reported


@click.group(invoke_without_command=True)
@click.option("--clear", "clearing", is_flag=True, help="The same as the command clear.")
@click.pass_context
def cache(context: click.Context, clearing: bool) -> None:
    """Show, fill or clear the cache of compiled code on disk."""
    if clearing:
        context.invoke(clear)
    elif context.invoked_subcommand is None:
        context.invoke(where)


@cache.command()
def where() -> None:
    """Show the folders of the cache, whether they are writable, their contents, and how to choose the folder."""
    from bcfw.compile.disk_cache import obstacle, possible_directories

    is_kept = False
    for path in possible_directories():
        why = obstacle(path)
        state = f"not writable ({why})" if why else "not needed" if is_kept else "new code is kept here"
        is_kept = is_kept or not why
        click.echo(f"{contents(path)}; {state}")
    if not is_kept:
        click.echo("No folder can be written to: every process compiles what is missing.")
    chosen = os.environ.get("BCFW_CACHE_DIR")
    click.echo(f"BCFW_CACHE_DIR is {chosen or 'not set'}: this environment variable chooses the folder.")


@cache.command()
def clear() -> None:
    """Delete the compiled code; the next training compiles it again."""
    folder = writable_folder()
    click.echo(contents(folder))
    for path in compiled_files(folder):
        path.unlink(missing_ok=True)
    click.echo("Cleared.")


@cache.command()
@click.argument("names", nargs=-1)
def fill(names: tuple[str, ...]) -> None:
    """Compile in advance the code for the models NAMES: training with the solver "auto", predictions, probabilities.

    NAMES are the names in bcfw.models.MODELS (chain, multiclass, ...), and "tagger" for attributes by name and the
    files of "bcfw train". Without NAMES, the code for all of them is compiled, which takes some minutes; if it is in
    the cache already, it takes a second.
    """
    from bcfw.commands import cache_fill
    from bcfw.compile.timing import CompileLines, compile_seconds, when_compiling

    with errors_reported():
        unknown = [name for name in names if name not in cache_fill.NAMES]
        if unknown:
            raise BadInput(f"{unknown[0]!r} cannot be filled; choose from {', '.join(cache_fill.NAMES)}")
        folder = writable_folder()
        for name in names or cache_fill.NAMES:
            before = compile_seconds()
            with when_compiling(CompileLines(functools.partial(say_of, name))):
                cache_fill.fill(name)
            say_of(name, f"{compile_seconds() - before:.1f} s of compilation")
        click.echo(contents(folder))


def say_of(name: str, line: str) -> None:
    """Write a line about the name that is being filled to standard error."""
    click.echo(f"{name}: {line}", err=True)


def writable_folder() -> Path:
    """Return the folder in which new code is saved; raise BadInput if no folder is writable."""
    from bcfw.compile.disk_cache import cache_directory, obstacles

    folder = cache_directory()
    if folder is None:
        raise BadInput(f"no folder for compiled code can be written to ({'; '.join(obstacles())}); set BCFW_CACHE_DIR")
    return folder


def compiled_files(folder: Path) -> list[Path]:
    """Return the files of compiled code in a folder."""
    return [path for path in folder.glob("*") if path.suffix in (".nbi", ".nbc")]


def contents(folder: Path) -> str:
    """Return a text with the number and the total size of the files of compiled code in a folder."""
    files = compiled_files(folder)
    return f"{folder}: {len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB"
