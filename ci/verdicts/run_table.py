"""Finds and reads the table of runs; every fault in it is one line with file, line, key and the nearest name."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from attrs import field, fields_dict, frozen

from kraftcheck.ci.dataset.values import shown
from kraftcheck.ci.terminal.files import MAX_NESTING, deeper, read_bytes
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ANY, spelled
from kraftcheck.model.nearest import nearest

FILE, PROJECT = "kraftcheck.toml", "pyproject.toml"
MOST_BYTES = 1 << 18
MOST_DOTS = 1000  # dots in a line, at most: Python's parser takes time by their square

ENGINES = ("explore", "prove", "simulate")
VERDICT = re.compile(r"holds|vacuous|refuted( (0|[1-9]\d{0,6}))?", re.ASCII)

_ONLY = {"runs": "simulate", "steps": "simulate", "seed": "simulate", "timeout": "prove"}
"""Keys that one engine alone takes."""


@frozen
class ConfiguredRun:
    """A run of the table; its attributes are the keys."""

    system: str  # a name, `module:NAME`, or `file.py:NAME` relative to the file of the table
    name: str = ""  # of the run; by default the system, its scope and its rules
    engine: str = "explore"  # which one judges
    # scope, bounds, rules: the setting, as on the command line
    scope: str | None = None
    bounds: Mapping[str, int] = field(factory=dict)
    invariants: Mapping[str, str] = field(factory=dict)  # expressions to judge as well, by name
    rules: str | None = None
    properties: tuple[str, ...] = ()  # the ones to judge; empty: all
    expect: Mapping[str, str] = field(factory=dict)  # the verdict that a property must have; all others must hold
    strict: bool = False  # whether what a declared cap cuts is incomplete too
    # runs, steps, seed: of random walks
    runs: int = 1000
    steps: int = 1000
    seed: int = 1
    timeout: int = 600  # seconds for each query of a proof

    @property
    def title(self) -> str:
        """The name of the run, or what it is a run of."""
        return self.name or " ".join(filter(None, (self.system, self.scope, self.rules, self.engine)))


_RANGES = {"runs": (1, 1 << 31), "steps": (1, 1_000_000), "seed": (0, (1 << 63) - 1), "timeout": (1, 1_000_000)}
"""The least and the greatest number of a key, as the options of the commands take them."""

_TYPES: Mapping[str, tuple[type, str]] = {
    "system": (str, "a text"), "name": (str, "a text"), "engine": (str, "a text"), "scope": (str, "a text"),
    "rules": (str, "a text"), "bounds": (dict, "a table"), "expect": (dict, "a table"), "invariants": (dict, "a table"),
    "properties": (list, "a list"),
    "strict": (bool, "true or false"), "runs": (int, "a number"), "steps": (int, "a number"),
    "seed": (int, "a number"), "timeout": (int, "a number"),
}  # fmt: skip


@frozen
class RunTable:
    """The table of runs in a file, with the text of the file."""

    path: Path
    text: str
    runs: tuple[ConfiguredRun, ...] = ()

    def refuse(self, number: int, key: str, fault: str) -> NoReturn:
        """Refuse a run, by its number from 0, or a key of it with dots, at its line where that is known."""
        line = self.line(number, key)
        where = f"{self.path}: " + (f"line {line}: " if line else "") + f"runs[{number + 1}]{f'.{key}' if key else ''}"
        raise Refusal(f"{where}: {fault}")

    def line(self, number: int, key: str) -> int:
        """The line of a key of a run, of the run where the key has none of its own, 0 where neither is known."""
        head = re.compile(r"\s*\[\[\s*(?:tool\.kraftcheck\.)?runs\s*\]\]")
        lines = self.text.splitlines()
        begins = [position for position, line in enumerate(lines) if head.match(line)]
        if number >= len(begins):
            return 0
        ends = begins[number + 1] if number + 1 < len(begins) else len(lines)
        block = range(begins[number], ends)
        for name in reversed(key.split(".")) if key else ():
            wanted = re.compile(rf"[\s\"']*{re.escape(name)}[\"']?\s*=|\s*\[.*\.\s*{re.escape(name)}\s*\]|.*[{{,]\s*"
                                rf"[\"']?{re.escape(name)}[\"']?\s*=")  # fmt: skip
            found = next((position for position in block if wanted.match(lines[position])), None)
            if found is not None:
                return found + 1
        return begins[number] + 1


def find_table(config: Path | None) -> RunTable | None:
    """The table in the file that is named, or in the nearest one from the working folder up to the repository's root.

    A table names modules that are imported: so where none is named, one counts only where this user alone wrote it.

    Raises:
        Refusal: for a file that cannot be read, whose table has a fault, or that another user could have written.
    """
    if config is not None:
        table = _read(config)
        if table is None:
            raise Refusal(f"{config}: it has no table [tool.kraftcheck]; add one, or name another file")
        return table
    for folder in _searched(Path()):
        present = [folder / name for name in (FILE, PROJECT) if os.path.lexists(folder / name)]
        found = [table for path in present if (table := _read(path))]
        if len(found) > 1:
            raise Refusal(f"{found[0].path} and {found[1].path} both hold a table of runs; keep one of them")
        if found:
            _check_own(found[0])
            return found[0]
    return None


def no_table() -> str:
    """What is checked where there is no table, and where below there is one that nobody named."""
    below = sorted(str(p) for deep in ("*", "*/*") for p in Path().glob(f"{deep}/{FILE}") if p.parts[0][0] != ".")
    named = f"; --config {below[0]} executes the table there" if below else ""
    return f"no {FILE} here or above: the systems that come with kraftcheck are checked{named}"


def _searched(folder: Path) -> list[Path]:
    """The folder and those above it up to the repository's root, as they are called from it; without one it alone."""
    folders = [folder]
    while not (folders[-1] / ".git").exists():
        if folders[-1].resolve() == folders[-1].resolve().parent:
            return [folder]
        folders.append(folders[-1] / "..")
    return folders


def _check_own(table: RunTable) -> None:
    """Refuse an unnamed table that another user wrote, or whose modules he wrote or may replace."""
    path = table.path
    mend = f"code that it names would be run; if you trust it, --config {path}; else --built-in"
    words = {path: "it", path.parent: "its folder"}
    for place in (path, path.parent, *_sources(table)):
        word = words.get(place, str(place))
        try:
            status = place.stat()
        except OSError as error:
            raise Refusal(f"cannot read {place}: {error.strerror or error}") from error
        if status.st_uid != os.geteuid():
            raise Refusal(f"{path}: {word} belongs to another user ({status.st_uid}): {mend}")
        if stat.S_IMODE(status.st_mode) & stat.S_IWOTH:
            raise Refusal(f"{path}: every user may write {'it' if place is path else f'into {word}'}: {mend}")


def _sources(table: RunTable) -> Iterator[Path]:
    """The working folder, where modules are looked for too, and the files and packages that a table names."""
    for module in dict.fromkeys(run.system.rpartition(":")[0] for run in table.runs if ":" in run.system):
        yield Path()
        place = table.path.parent
        for part in [module] if module.endswith(".py") else module.split("."):
            place = place / part
            yield from (one for one in (place, place.parent / f"{part}.py") if os.path.exists(one))


def _read(path: Path) -> RunTable | None:
    """The table of a file; None for a pyproject.toml that has none."""
    try:
        text = read_bytes(path, MOST_BYTES).decode("utf-8")
        document = _toml(text)
    except UnicodeDecodeError as error:
        raise Refusal(f"{path}: not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{path}: not TOML: {error}") from error
    if path.name == PROJECT:
        tool = document.get("tool")
        document = tool.get("kraftcheck") if isinstance(tool, dict) else None
        if document is None:
            return None
    table = RunTable(path, text)
    if not isinstance(document, dict):
        raise Refusal(f"{path}: tool.kraftcheck is no table; write [[tool.kraftcheck.runs]]")
    for key in document:
        if key != "runs":
            raise Refusal(f"{path}: {key}: unknown key; {nearest(key, ['runs'])}")
    rows = document.get("runs", [])
    if not isinstance(rows, list) or not rows:
        raise Refusal(f"{path}: it has no run; write [[{'tool.kraftcheck.' * (path.name == PROJECT)}runs]]")
    runs = tuple(_run(table, number, row) for number, row in enumerate(rows))
    titles = [run.title for run in runs]
    for number, title in enumerate(titles):
        if title in titles[:number]:
            table.refuse(number, "name", f"an earlier run has the name {title!r} too; give this one another")
    return RunTable(path, text, runs)


def _toml(text: str) -> Any:
    """The document, its nesting and keys looked at first; raises ValueError, RecursionError for what is no TOML."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count(".") > MOST_DOTS:
            raise ValueError(f"line {number} has more than {MOST_DOTS:,} dots")
    document = tomllib.loads(text)
    if deeper(document, MAX_NESTING):
        raise ValueError(f"nested deeper than {MAX_NESTING} levels")
    return document


def _run(table: RunTable, number: int, row: Any) -> ConfiguredRun:
    if not isinstance(row, dict):
        table.refuse(number, "", f"not a table, but {shown(row)}")
    for key, value in row.items():
        if key not in _TYPES:
            table.refuse(number, key, f"unknown key; {nearest(key, fields_dict(ConfiguredRun))}")
        kind, words = _TYPES[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            table.refuse(number, key, f"it takes {words}, not {shown(value)}")
        if kind in (str, list) and not value:
            table.refuse(number, key, "it is empty; give a value, or leave it out")
        least, most = _RANGES.get(key, (0, 0))
        if key in _RANGES and isinstance(value, int) and not least <= value <= most:
            table.refuse(number, key, f"it takes a number of {least} to {most:,}, not {shown(value)}")
    if "system" not in row:
        table.refuse(number, "", "the key system is missing")
    given = row.get("bounds", {}) if row.get("engine") == "prove" else {}
    freed = {name: ANY for name, value in given.items() if value == spelled(ANY)}
    taken = {"bounds": {**row.get("bounds", {}), **freed}, "properties": tuple(row.get("properties", ()))}
    run = ConfiguredRun(**{**row, **taken})
    if run.engine not in ENGINES:
        table.refuse(number, "engine", f"unknown engine {run.engine!r}; {nearest(run.engine, ENGINES)}")
    for key, engine in _ONLY.items():
        if key in row and run.engine != engine:
            table.refuse(number, key, f"it is of the engine {engine}, not of {run.engine}; leave it out")
    if "strict" in row and run.engine == "prove":
        table.refuse(number, "strict", "it is of the engines explore and simulate; leave it out")
    _check_values(table, number, run)
    return run


def _check_values(table: RunTable, number: int, run: ConfiguredRun) -> None:
    for name, value in run.bounds.items():
        if value is not ANY and (type(value) is not int or value.bit_length() > 63):
            more = ", or with the engine prove 'any'" * (shown(value) == repr(spelled(ANY)))
            table.refuse(number, f"bounds.{name}", f"it takes a number{more}, not {shown(value)}")
    for name, text in run.invariants.items():
        if not isinstance(text, str) or not text.strip() or not name.strip():
            table.refuse(number, f"invariants.{name}", f"it takes an expression by its name, not {shown(text)}")
    for property_ in run.properties:
        if not isinstance(property_, str):
            table.refuse(number, "properties", f"it takes a list of texts, and {shown(property_)} is none")
    if run.properties != tuple(dict.fromkeys(run.properties)):
        table.refuse(number, "properties", "a property is named twice; name it once")
    for name, verdict in run.expect.items():
        if verdict in ("incomplete", "unknown"):
            table.refuse(number, f"expect.{name}", f"{verdict!r} is never a pass, and cannot be expected")
        if not isinstance(verdict, str) or not VERDICT.fullmatch(verdict):
            near = nearest(shown(verdict), ["holds", "refuted", "refuted 3", "vacuous"])
            table.refuse(number, f"expect.{name}", f"no verdict {shown(verdict)}; {near}")
        if verdict == "holds" and run.engine == "simulate":
            table.refuse(number, f"expect.{name}", "random walks do not say that a property holds; leave it out")
