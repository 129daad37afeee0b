"""The console that people read."""

from __future__ import annotations

import sys

from rich.console import Console

PLAIN_WIDTH = 130
"""Width of tables in files and pipes, where there is no terminal to ask."""


def console(to_stderr: bool = False) -> Console:
    """A console as wide as the terminal, or of a fixed width elsewhere."""
    stream = sys.stderr if to_stderr else sys.stdout
    return Console(stderr=to_stderr, width=None if stream.isatty() else PLAIN_WIDTH, highlight=False)
