"""The command ``bcfw``: one file per subcommand. What is slow to import is imported when a subcommand runs."""

from __future__ import annotations

import click

import bcfw
from bcfw.commands import cache, convert, demo

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bcfw.__version__, prog_name="bcfw")
def main() -> None:
    """Structural SVMs trained to a certified duality gap by block-coordinate Frank-Wolfe."""


for command in (cache.cache, convert.convert, demo.demo):
    main.add_command(command)
