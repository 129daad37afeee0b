"""The console that people read."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.markup import escape

PLAIN_WIDTH = 130
"""Width of tables in files and pipes, where there is no terminal to ask."""

__all__ = ["OutputClosed", "Screen", "console", "escape", "silence"]


class OutputClosed(Exception):
    """Whoever read the output has gone (a closed pipe)."""


class Screen(Console):
    """A console that says when its reader has gone, and shows names as they are."""

    def on_broken_pipe(self) -> None:
        """Leave it to the command line to end."""
        raise OutputClosed

    def plain(self, text: str) -> None:
        """Print a line as it is: no wrapping, no markup."""
        self.print(text, markup=False, soft_wrap=True)


def console(to_stderr: bool = False) -> Screen:
    """A console as wide as the terminal, or of a fixed width elsewhere."""
    stream = sys.stderr if to_stderr else sys.stdout
    return Screen(stderr=to_stderr, width=None if stream.isatty() else PLAIN_WIDTH, highlight=False, emoji=False)


def silence() -> None:
    """Drop what standard output still holds, so that ending does not fail on it again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
