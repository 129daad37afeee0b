"""Console blocks of the documentation: which commands a page shows, with which files, and what they print.

A page is one session: its commands run one after the other in one folder, which has a link to `tests/` and the files
that the page says to write ("Put this into `lease.py`:", then a block of Python or TOML). A line `...` stands for any
lines. A comment `<!-- nightly: REASON -->` above a block leaves it to the profile `nightly`.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from tests.shared.places import DOCS, ROOT

BLOCK = re.compile(r"(?:^<!-- (nightly): [^>]+ -->\n)?^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"[Pp]ut this into `([\w.]+)`:\n\n```(?:python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

RATES = r"\([\d,]+ generated/s, [\d,]+ distinct/s, \d+ bytes a state\); compiled in [\d.]+ s( \(from cache\))?"
VARYING = (
    (rf"in [\d.]+ s {RATES}", "in TIME"),
    (r"states in [\d.]+ s;", "states in TIME;"),
    (r"in [\d.]+ s \([\d,]+ steps/s\); compiled in [\d.]+ s(?: \(from cache\))?", "in TIME"),
    (r"in [\d.]+ s \([\d.]+ s in Z3 [\d.]+\)", "in TIME"),
    (r"(?<=by Z3) [\d.]+", ""),
    (r"rounds, [\d.]+ s$", "rounds, TIME"),
    (r"(?<=passed|failed) in [\d.]+s(?: \(\d+:\d\d:\d\d\))?", " in TIME"),
    (r"^(assurance: audited) [\d,]+ states and [\d,]+ transitions on ints", r"\1 SAMPLE on ints"),
)
"""What differs between runs: times, rates, versions of solvers; and the size of a sample, which depends on packing."""


PROGRESS = re.compile(r"compiling \.\.\.$|depth \d+: |backward sweep \d")
"""How lines of progress begin: a slow machine writes them to standard error, and no page has them."""


@frozen
class Command:
    """A command that a page shows."""

    line: str  # what is typed
    shown: tuple[str, ...]  # the lines that it prints
    nightly: bool  # whether it takes too long for every run of the tests


PIPE = re.compile(r"printf '([^']*)' \| (.*)", re.DOTALL)


def typed(line: str) -> tuple[list[str], str]:
    """The words of a command line, and what comes by a pipe from `printf`.

    >>> typed(r"printf 'one\\ntwo\\n' | kraftcheck step elections")
    (['kraftcheck', 'step', 'elections'], 'one\\ntwo\\n')
    """
    piped = PIPE.fullmatch(line)
    text, command = ("", line) if piped is None else piped.groups()
    return shlex.split(command), text.replace("\\n", "\n")


def pages() -> list[Path]:
    """The pages whose console blocks are run."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def commands_of(text: str) -> list[Command]:
    """The commands of a page in their order."""
    found = []
    for nightly, block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = part.rstrip("\n").split("\n")
            found.append(Command(line, tuple(shown), bool(nightly)))
    return found


def files_of(text: str) -> Mapping[str, str]:
    """The files that a page says to write, by name."""
    return dict(FILE.findall(text))


def masked(lines: Sequence[str]) -> list[str]:
    """Lines without what differs between runs, and without padding; blank lines at the end are left out."""
    kept = []
    for line in lines:
        for pattern, instead in VARYING:
            line = re.sub(pattern, instead, line)
        kept.append(line.rstrip())
    while kept and not kept[-1]:
        kept.pop()
    return kept


def fits(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether printed lines are those that are shown, with any lines for each line `...`.

    >>> fits(["a", "...", "d"], ["a", "b", "c", "d"]), fits(["a", "...", "d"], ["a", "b", "d", "e"])
    (True, False)
    """
    parts: list[list[str]] = [[]]
    for line in shown:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    first, *others = parts
    if not others:
        return list(printed) == first
    last = others.pop()
    rest = list(printed)
    if rest[: len(first)] != first or len(rest) < len(first) + len(last) or rest[len(rest) - len(last) :] != last:
        return False
    rest = rest[len(first) : len(rest) - len(last)]
    for part in others:
        places = [n for n in range(len(rest) - len(part) + 1) if rest[n : n + len(part)] == part]
        if not places:
            return False
        rest = rest[places[0] + len(part) :]
    return True
