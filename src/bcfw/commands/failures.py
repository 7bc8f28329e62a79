"""What a command does about bad input: one line on standard error, and the exit code 2."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import IO, Any

import click

from bcfw.errors import BcfwError

#: Exit code of a command that Ctrl-C has stopped.
INTERRUPTED = 130

#: What a command has for a model that is too large because of its features.
FEWER_FEATURES = "fewer features (of attributes: --min-count, --hash)"


class BadInput(click.ClickException):
    """Input, a file or an option that cannot be used."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"bcfw: {self.format_message()}", err=True)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Turn errors that bcfw raises on purpose, and those of the file system, into one line."""
    try:
        yield
    except (BrokenPipeError, click.ClickException):
        raise
    except (BcfwError, OSError) as error:
        message = " ".join(str(error).split("\n"))
        raise BadInput(message.replace("fewer features", FEWER_FEATURES)) from error
    except MemoryError as error:
        raise BadInput(f"not enough memory; use less data, fewer labels, or {FEWER_FEATURES}") from error
    except KeyboardInterrupt:
        click.echo("bcfw: interrupted", err=True)
        sys.exit(INTERRUPTED)
