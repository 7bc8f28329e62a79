"""``bcfw cache``: the compiled code on disk."""

from __future__ import annotations

import click


@click.command()
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
