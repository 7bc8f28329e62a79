"""``bcfw convert``: convert the original files of public data sets to the files that :mod:`bcfw.datasets` loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bcfw.errors import BcfwError

if TYPE_CHECKING:
    from bcfw.datasets.convert.writing import Converter


class Converters(click.Group):
    """A group with one subcommand per entry of :data:`bcfw.datasets.CONVERTERS`.

    The subcommands are created when they are used, because the table is slow to import.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        from bcfw.datasets import CONVERTERS

        return list(CONVERTERS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from bcfw.datasets import CONVERTERS

        return converter_command(cmd_name, CONVERTERS[cmd_name]) if cmd_name in CONVERTERS else None


@click.group(cls=Converters)
def convert() -> None:
    """Convert the original files of a data set.

    The DataNotFound error of a data set's loader says where to get its original files. By default, the converted files
    are written into the user's cache, where the loaders find them. After using --out, set the environment variable
    BCFW_DATA to that folder.
    """


def converter_command(name: str, converter: Converter) -> click.Command:
    """Return the subcommand ``name``, which has one argument per original file and the option ``--out``."""
    from bcfw.datasets import cache_folder

    def run(out: Path | None, **originals: Path) -> None:
        try:
            written = converter.convert(**originals, out=out)
        except (BcfwError, OSError) as error:
            raise click.ClickException(str(error)) from error
        for path in written:
            click.echo(f"wrote {path}")

    path = click.Path(path_type=Path)
    arguments = [
        click.Argument([parameter], type=path, metavar=original) for parameter, original in converter.originals.items()
    ]
    out_help = f"Data folder to write into (default: {cache_folder()})."
    out_option = click.Option(["--out"], type=path, metavar="DIR", help=out_help)
    help_text = f"{converter.title}, from {' and '.join(converter.originals.values())}."
    return click.Command(name, params=[*arguments, out_option], callback=run, help=help_text)
