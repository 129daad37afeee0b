"""The console that people read: lines, tables in which no word is cut, and a prompt."""

from __future__ import annotations

import importlib
import io
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence

from attrs import define, field, frozen
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from kraftcheck.model.visible import visible, visible_lines

GAP = 2  # blanks between two columns
LEAST_PROSE = 20  # prose that has to be narrower than this is better read in a record
INDENT = 4  # blanks before the further lines of a record without titles

Line = Sequence[Text]
Cell = str | Text


@frozen
class Column:
    """A column of a table."""

    title: str = ""  # above it; empty for none
    is_prose: bool = False  # whether an entry may be wrapped between words
    to_right: bool = False  # whether entries end at the right edge, as numbers do


@define
class Table:
    """Rows under columns, as a renderable of rich; `Screen.table` shows it."""

    columns: Sequence[Column]  # the columns
    # of each row, an entry for each column; markup in it is not read
    rows: list[tuple[Text, ...]] = field(factory=list)

    def add(self, *cells: Cell) -> None:
        """Add a row."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} entries for {len(self.columns)} columns")
        self.rows.append(tuple(cell if isinstance(cell, Text) else Text(visible_lines(cell)) for cell in cells))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """The lines of the table, or of a record for each row."""
        shown = [n for n, column in enumerate(self.columns) if column.title or any(row[n].plain for row in self.rows)]
        columns = [self.columns[n] for n in shown]
        rows = [[row[n] for n in shown] for row in self.rows]
        widths = _widths(columns, rows, options.max_width)
        lines = _records(columns, rows, options.max_width) if widths is None else _table(columns, rows, widths)
        for line in lines:
            line.rstrip()
            yield line


def _widths(columns: Sequence[Column], rows: Sequence[Line], width: int) -> list[int] | None:
    """The width of each column; None where the rows do not fit."""
    natural = [
        max([cell_len(column.title), *(cell_len(line) for row in rows for line in row[n].plain.split("\n"))])
        for n, column in enumerate(columns)
    ]
    least = [
        max([min(natural[n], LEAST_PROSE), *(cell_len(word) for row in rows for word in row[n].plain.split())])
        if column.is_prose else natural[n]
        for n, column in enumerate(columns)
    ]  # fmt: skip
    room = width - GAP * (len(columns) - 1)
    if sum(least) > room:
        return None
    level = room  # prose gets the same width everywhere, or what it needs
    while sum(_at(level, natural, least)) > room:
        level -= 1
    return _at(level, natural, least)


def _at(level: int, natural: Sequence[int], least: Sequence[int]) -> list[int]:
    return [min(whole, max(low, level)) for whole, low in zip(natural, least, strict=True)]


def _table(columns: Sequence[Column], rows: Sequence[Line], widths: Sequence[int]) -> Iterator[Text]:
    titles = [Text(column.title, style="bold") for column in columns]
    for row in [titles, *rows] if any(column.title for column in columns) else rows:
        cells = [_wrapped(cell, column, width) for cell, column, width in zip(row, columns, widths, strict=True)]
        for number in range(max(map(len, cells), default=0)):
            parts = [cell[number] if number < len(cell) else Text() for cell in cells]
            yield _joined(parts, columns, widths)


def _wrapped(cell: Text, column: Column, width: int) -> list[Text]:
    """The lines of an entry; one of prose is broken between words, and a word that is too long is left whole."""
    lines = list(cell.split("\n"))
    if not column.is_prose:
        return lines
    return [part for line in lines for part in line.divide(_breaks(line.plain, width))]


def _breaks(line: str, width: int) -> list[int]:
    """Where a line is broken so that no part is wider than `width`, as far as its words allow."""
    found, start = [], 0
    for word in re.finditer(r"\S+", line):
        if word.start() > start and cell_len(line[start : word.end()]) > width:
            found.append(start := word.start())
    return found


def _joined(parts: Sequence[Text], columns: Sequence[Column], widths: Sequence[int]) -> Text:
    line = Text()
    for number, (part, column, width) in enumerate(zip(parts, columns, widths, strict=True)):
        part.rstrip()
        blanks = width - part.cell_len
        line.append(" " * (GAP * (number > 0) + (blanks if column.to_right else 0)))
        line.append_text(part)
        line.append(" " * (0 if column.to_right else blanks))
    return line


def _records(columns: Sequence[Column], rows: Sequence[Line], width: int) -> Iterator[Text]:
    """One field a line, a blank line between two rows; prose is wrapped beside the titles."""
    titled = max(cell_len(column.title) for column in columns)
    left = titled + GAP if titled else INDENT
    for number, row in enumerate(rows):
        if number:
            yield Text()
        for place, (column, cell) in enumerate(zip(columns, row, strict=True)):
            room = max(width - left, LEAST_PROSE)
            lead = Text(column.title, style="bold")
            for line in _wrapped(cell, column, room):
                indent = 0 if not titled and place == 0 else left - lead.cell_len
                yield Text.assemble(lead, " " * indent, line)
                lead = Text()


PLAIN_WIDTH = 130  # width of tables in files and pipes, where there is no terminal to ask

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


def typed_lines(prompt: str) -> Iterator[str]:
    """The lines of a terminal, with a prompt, a history and editing, until the input ends."""
    importlib.import_module("readline")  # `input` uses it once it is imported
    while True:
        try:
            yield input(prompt)
        except EOFError:
            return
