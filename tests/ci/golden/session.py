"""Sessions of commands, and what they show: standard output, refusals, exit codes, and the files that they write.

A session is a file of `expected/`. A line `$ WORDS` at its margin is a command line without its first word, lines
`> TEXT` below it are its standard input, and `>>> EXPRESSION` is asked of the Python API, which is `kc`. All else
follows from these, so that a case is added by its line alone, and `python -m tests.ci.golden` writes the rest: two
spaces before a line of standard output, `! ` before one of standard error, `+ FILE` before the lines of a file that was
written, `= N` for the exit code.

The commands of a session run in this process, one after the other, in a folder of their own that has a link to
`tests/`. Times, rates, versions, places in the sources, and the size of the machine are left out.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

import kraftcheck as kc
from tests.documentation.console import PROGRESS, masked
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT

EXPECTED = Path(__file__).parent / "expected"

WIDTH, MOST_LINES = 150, 150
"""Characters of a line of a document, and lines of one output that are kept; of the others a digest is."""

VARYING = (
    (r"[\w./-]+\.py(:\d+)?\b", "FILE.py"),
    (r" *\n {30,}(?=\S)", " "),  # where a cell of a table breaks depends on times beside it
    (r'(timestamp|hostname|time)="[^"]*"', r'\1=""'),
    (r'(name="version of \w+" value)="[^"]*"', r'\1=""'),
    (r" \(from cache\)", ""),
    (r" *[\d.]+ s \(\+[\d.]+ s compile\)", " in TIME"),
    (r"(?<=\d) +\d+\.\d\d  \w+ +", " TIME "),
    (r"seconds  slowest +says", "seconds  slowest  says"),
    (r"\d+ (sweep|round)s?, (?:TIME|[\d.]+ s)(, with at most \d+ bytes a state)?", r"N \1s, TIME"),
    (r"\b\d+\.\d+ s\b", "TIME"),
)
"""What differs between runs, machines and places of the sources, beside what pages of the documentation leave out."""

MEASURED = frozenset({
    "seconds", "rates", "audit", "versions", "bytes_per_state", "bytes", "sha256", "digest", "behaviour", "run",
    "model", "cores", "line", "sweeps", "rounds", "startLine", "used", "rests_on", "startTimeUtc", "endTimeUtc",
    "semanticVersion", "informationUri",
})  # fmt: skip
"""Keys of documents whose values are measured, say what is installed and where, or hang on what Z3 was asked before."""

SHOWN = re.compile(r"\.(xml|mmd|dot|tla|cfg)$|Test\.java$")
DOCUMENT = re.compile(r"\.(json|sarif)$")
"""Files whose lines, or values, are kept; of pages and pictures it is only said that they are there."""

UNSEEN = re.compile(r"^tests/|/levels/")


def commands_of(text: str) -> list[str]:
    """The lines of a session that are typed."""
    return [line for line in text.splitlines() if line.startswith(("$ ", "> ", ">>> "))]


def played(lines: Sequence[str], folder: Path) -> str:
    """A session as its file has it: what is typed, and what that shows."""
    (folder / "tests").symlink_to(ROOT / "tests")
    with chdir(folder), mock.patch.dict(os.environ, {"COLUMNS": "100", "LINES": "50"}):
        os.environ.pop("GITHUB_ACTIONS", None)  # commands would print annotations too
        shown = [_one(part.splitlines(), folder) for part in re.split(r"\n(?!> )", "\n".join(lines))]
    return "\n\n".join(shown) + "\n"


def _one(typed: Sequence[str], folder: Path) -> str:
    """What one command or expression shows, below what is typed."""
    mark, _, words = typed[0].partition(" ")
    given = "".join(f"{line.removeprefix('> ')}\n" for line in typed[1:])
    return "\n".join([*typed, *(_asked(words, folder) if mark == ">>>" else _ran(words, given, folder))])


def _asked(expression: str, folder: Path) -> Iterator[str]:
    """What the Python API answers, or refuses."""
    try:
        value = eval(expression, {"kc": kc})
    except kc.Refusal as error:
        yield f"! {error}"
    else:
        yield from _kept("  ", _plain(str(value), folder) if not isinstance(value, Mapping) else document_lines(value))


def _ran(words: str, given: str, folder: Path) -> Iterator[str]:
    """What a command shows, and the files that are new or changed after it."""
    before = _files(folder)
    ran = kraftcheck(*shlex.split(words), given=given)
    yield from _kept("  ", _values(ran.out, folder) if ran.out.startswith("{") else _plain(ran.out, folder))
    said = [line for line in ran.err.splitlines() if not PROGRESS.match(line)]
    yield from _kept("! ", _plain("\n".join(said), folder))
    for name, digest in _files(folder).items():
        if before.get(name) != digest:
            yield from _plain(f"+ {name}", folder)
            text = (folder / name).read_text(encoding="utf-8", errors="replace")
            yield from _kept("  ", _values(text, folder) if DOCUMENT.search(name) else
                             _plain(text, folder) if SHOWN.search(name) else [])  # fmt: skip
    yield f"= {ran.code}"


def _files(folder: Path) -> Mapping[str, str]:
    """Every file of a session with its digest, but for the levels of a dataset, which depend on its libraries."""
    found = [(str(path.relative_to(folder)), path) for path in sorted(folder.rglob("*")) if path.is_file()]
    return {name: _digest(path.read_bytes()) for name, path in found if not UNSEEN.search(name)}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _kept(mark: str, lines: Sequence[str]) -> list[str]:
    """Marked lines, the first of many with a digest of the rest."""
    rest = lines[MOST_LINES:]
    digest = [f"... {len(rest)} more lines: {_digest(chr(10).join(rest).encode())}"] if rest else []
    return [f"{mark}{line}".rstrip() for line in [*lines[:MOST_LINES], *digest]]


def _plain(text: str, folder: Path) -> list[str]:
    """Lines without what differs between runs."""
    return _varied(_placed(text, folder)).splitlines()


def _placed(text: str, folder: Path) -> str:
    """A text without the places of the session and of the sources, as paths and as URLs."""
    for place, name in ((folder.resolve(), "FOLDER"), (folder, "FOLDER"), (ROOT, "ROOT")):
        text = text.replace(str(place), name).replace(quote(str(place)), name)
    return text


def _varied(text: str) -> str:
    text = "\n".join(masked(text.splitlines()))
    for pattern, instead in VARYING:
        text = re.sub(pattern, instead, text)
    return text


def _values(text: str, folder: Path) -> list[str]:
    placed = re.sub(rf'("version": ?)"{re.escape(version("kraftcheck"))}"', r'\1"VERSION"', _placed(text, folder))
    return document_lines(json.loads(placed))


def document_lines(value: Any, name: str = "", indent: str = "") -> list[str]:
    """A document by its values: what is short on one line, what is long by its parts; what is measured is left out.

    >>> document_lines({"code": 0, "seconds": {"all": 1.5}})
    ['{"code": 0, "seconds": "..."}']
    """
    value = _settled(value)
    text = indent + name + json.dumps(value, ensure_ascii=False)
    if len(text) <= WIDTH or not isinstance(value, dict | list):
        return [text]
    named = isinstance(value, dict)
    parts = [(f"{json.dumps(key)}: " * named, value[key] if named else key) for key in value]
    packed = [f"{indent}{name}{'{' if named else '['}"]
    for key, part in parts:
        lines, last = document_lines(part, key, indent + " "), packed[-1]
        if len(lines) == 1 and len(packed) > 1 and last.startswith(f"{indent} ") and last[-1] == ",":
            joined = f"{last} {lines[0].strip()},"
            packed[-1:] = [joined] if len(joined) <= WIDTH else [last, f"{lines[0]},"]
        else:
            packed += [*lines[:-1], f"{lines[-1]},"] if len(lines) == 1 else lines
    return packed


def _settled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: "..." if key.split()[0] in MEASURED else _settled(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_settled(part) for part in value]
    return _varied(value) if isinstance(value, str) else value
