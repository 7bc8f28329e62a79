"""Errors of the commands: bad input gives one line on standard error and the exit code 2."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import IO, Any

import click

from bcfw.errors import BcfwError

#: Exit code of a command that was stopped by Ctrl-C.
INTERRUPTED = 130

#: Advice for a model that is too large because of its features; it names the options of the commands.
FEWER_FEATURES = "fewer features (of attributes: --min-count, --hash)"


class BadInput(click.ClickException):
    """Input, a file or an option that cannot be used."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"bcfw: {self.format_message()}", err=True)


@contextlib.contextmanager
def errors_reported() -> Iterator[None]:
    """Context that turns errors raised by bcfw on purpose, file system errors and lack of memory into one line each."""
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
