"""The console that people read."""

from __future__ import annotations

import io
import os
import re
import sys
import textwrap

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from kraftcheck.ci.terminal.table import Table
from kraftcheck.model.visible import visible, visible_lines

PLAIN_WIDTH = 130
"""Width of tables in files and pipes, where there is no terminal to ask."""

COMMAND = re.compile(r" *[a-z]+: kraftcheck ")
"""A line that ends with a command is left whole, so that it can be copied."""

__all__ = ["OutputClosed", "Screen", "console", "plain_screen", "silence"]


class OutputClosed(Exception):
    """Whoever read the output has gone (a closed pipe)."""


class Screen(Console):
    """A console that says when its reader has gone, and shows names as they are, but for what a terminal would obey."""

    def on_broken_pipe(self) -> None:
        """Leave it to the command line to end."""
        raise OutputClosed

    def plain(self, text: str) -> None:
        """Print lines as they are, without markup; on a terminal a line too long for it is wrapped between words."""
        lines = [line.rstrip() for line in visible_lines(text).split("\n")]
        self.print("\n".join(map(self._fitted, lines)), markup=False, soft_wrap=True)

    def one_line(self, text: str) -> None:
        """Print one line, whatever names of a stranger are in it: an end of a line is shown too."""
        self.plain(visible(text.rstrip()))

    def command(self, text: str) -> None:
        """Print a line that the service which runs the job is to obey."""
        self.print(text, markup=False, soft_wrap=True)

    def heading(self, title: str, note: str = "") -> None:
        """Print a title, and a note after it."""
        title = visible(title)
        text = Text(self._fitted(visible(f"{title} {note}".rstrip())))
        text.stylize("bold", 0, len(title))
        self.print(text, soft_wrap=True)

    def table(self, table: Table) -> None:
        """Print a table; a word that is longer than the line makes the line longer."""
        self.print(table, soft_wrap=True)

    def text(self) -> str:
        """All that was printed, of a console that keeps it."""
        assert isinstance(self.file, io.StringIO)
        return self.file.getvalue()

    def _fitted(self, line: str) -> str:
        if not self.file.isatty() or cell_len(line) <= self.width or COMMAND.match(line):
            return line
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        return "\n".join(
            part.rstrip()
            for part in textwrap.wrap(
                line, self.width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
                replace_whitespace=False, expand_tabs=False,
            )
        )  # fmt: skip


def console(to_stderr: bool = False) -> Screen:
    """A console as wide as the terminal, or of a fixed width elsewhere."""
    stream = sys.stderr if to_stderr else sys.stdout
    return Screen(stderr=to_stderr, width=None if stream.isatty() else PLAIN_WIDTH, highlight=False, emoji=False)


def plain_screen() -> Screen:
    """A console whose lines are kept as a text, for Python."""
    return Screen(file=io.StringIO(), width=PLAIN_WIDTH, highlight=False, emoji=False)


def silence() -> None:
    """Drop what standard output still holds, so that ending does not fail on it again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
