"""The command ``bcfw``, with one module per subcommand; slow imports are delayed until a subcommand runs."""

from __future__ import annotations

import importlib

import click

import bcfw

__all__ = ["main"]

#: The subcommands; ``bcfw.commands.NAME`` defines the subcommand NAME as an object of this name.
COMMANDS = ("train", "predict", "evaluate", "info", "path", "demo", "convert", "cache")


class Subcommands(click.Group):
    """A group of subcommands that imports the module of a subcommand when this subcommand is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return getattr(importlib.import_module(f"bcfw.commands.{cmd_name}"), cmd_name)  # type: ignore[no-any-return]


@click.group(cls=Subcommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bcfw.__version__, prog_name="bcfw")
def main() -> None:
    """Structural SVMs trained to a certified duality gap by block-coordinate Frank-Wolfe."""
