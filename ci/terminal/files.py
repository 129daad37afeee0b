"""Files that commands read and write: URLs of them, one written at once or not at all, folders of results."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

import click

from kraftcheck.ci.terminal.console import OutputClosed
from kraftcheck.ci.terminal.machine import sync
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.regular import NO_FILE, open_regular

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)/+|(file|hdfs|viewfs|s3|s3a|s3n|gs|abfss?|wasbs?|dbfs|https?|ftp):")


def check_local(place: str | Path, served: str = "local files and folders") -> None:
    """Refuse a URL as typed, or the `Path` of one, saying what is `served`."""
    match = _URL.match(str(place))
    if match:
        slashes = "///" if match[1] == "file:" else "//"
        has_lost = bool(match[1]) and isinstance(place, Path)
        url = f"{match[1]}{slashes}{str(place)[match.end() :]}" if has_lost else str(place)
        raise Refusal(f"{url} is a URL, and only {served} are served; name a path, such as a mount's")


_FILE = re.compile(r"file:(?://(?:localhost)?)?(/[^/].*)", re.IGNORECASE | re.DOTALL)


def local_path(place: str, served: str = "local files and folders") -> str:
    """A path as it is, or of a `file:` URL, decoded; raises Refusal for other URLs, saying what is `served`."""
    match = _FILE.fullmatch(place)
    if match is None:
        check_local(place, served)
        return place
    path = unquote(match[1])
    if "\0" in path or re.search("[?#]", match[1]):
        raise Refusal(f"{place} is no URL of a path: write ? and # in it as %3F and %23, or name the path")
    return path


_MATCHED = re.compile(r"[*?\[\]{}\\]")


def check_matched(path: Path) -> None:
    """Refuse a folder whose name readers of datasets take for several: they match patterns, and see partitions."""
    whole = path.absolute()
    match = _MATCHED.search(str(whole))
    if match:
        raise Refusal(f"{path}: readers of Parquet take {match[0]} in it for a pattern; name a folder without it")
    named = next((part for part in whole.parts if part.lower().startswith("depth=")), None)
    if named is not None:
        raise Refusal(f"{path}: readers of Parquet take {named} in it for a partition; name a folder elsewhere")


class DatasetPath(click.Path):
    """The folder of a dataset as typed on the command line: a path, or a `file:` URL of one."""

    def __init__(self) -> None:
        """Converted to a `Path`."""
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType`."""
        return super().convert(local_path(value) if isinstance(value, str) else value, param, ctx)


MAX_JSON_BYTES = 256 << 20  # the largest JSON document that is read: in memory it takes some ten times that
MAX_NESTING = 100  # the deepest lists and objects of a document

_SURROGATE = re.compile("[\ud800-\udfff]")


WRITTEN = "kraftcheck wrote this"  # in what may be taken for somebody's own file: it is written anew

_OF_RESULTS = frozenset({
    "", ".csv", ".dot", ".gv", ".htm", ".html", ".json", ".jsonl", ".log", ".mermaid", ".mmd", ".out", ".parquet",
    ".png", ".prom", ".sarif", ".svg", ".txt", ".xml",
})  # fmt: skip
"""Endings of files that hold results; what has another one may have been written by somebody."""


def _check_ours_or_none(path: Path) -> None:
    """Refuse to replace a file that may be a source, and that no run wrote; raises OSError where it cannot be read."""
    if path.suffix.lower() in _OF_RESULTS or not path.is_file() or not path.stat().st_size:
        return
    with path.open("rb") as stream:
        if WRITTEN.encode() not in stream.read(4096):
            raise Refusal(
                f"cannot write {path}: kraftcheck did not write what is there; name another file, or remove that"
            )


def write(path: Path, text: str) -> None:
    """Write a file, renamed when whole; a link stays one, a device or pipe is written as it is; raises Refusal."""
    try:
        place = path.resolve() if path.is_symlink() else path
        _check_ours_or_none(path)
        if place.exists() and not place.is_file() and not place.is_dir():
            place.write_text(text, encoding="utf-8")
        else:
            replace(place, text)
    except OSError as error:
        _refuse(path, error.strerror or str(error), error)


def replace(path: Path, text: str, *, durable: bool = False, check: Callable[[], None] = lambda: None) -> None:
    """Write a file beside its place, `check`, and rename it; after an error the old one is there; raises OSError."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            os.fchmod(handle, 0o666 & ~umask())
            stream.write(text)
            if durable:
                stream.flush()
                os.fsync(handle)
        check()
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if durable:
        sync(path.parent)


def umask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _refuse(path: Path, reason: str, cause: Exception | None = None) -> NoReturn:
    raise Refusal(f"cannot write {path}: {reason}; choose another place") from cause


def check_writable(target: str | None) -> None:
    """Refuse, before work, a file that cannot be written, or that somebody wrote; `-` and None pass."""
    if target is None or target == "-":
        return
    check_local(target)
    path = Path(target)
    if path.is_dir() or not path.name:
        _refuse(path, "it is a folder")
    if not path.parent.is_dir():
        _refuse(path, f"there is no folder {path.parent}")
    if path.exists() and not os.access(path, os.W_OK):
        _refuse(path, "permission denied")
    place = path.resolve()
    if place.exists() and not place.is_file():
        return  # a device or a pipe is written as it is
    try:
        _check_ours_or_none(path)
        probe(place)
    except OSError as error:
        _refuse(path, error.strerror or str(error), error)


def probe(place: Path) -> None:
    """Make a file or folder beside an absolute place and remove it, since permissions do not tell; raises OSError."""
    above = next(folder for folder in place.parents if folder.exists())
    made = Path(tempfile.mkdtemp(dir=above, prefix=f".{place.name}." if above == place.parent else ".kraftcheck."))
    try:
        (made / place.relative_to(above)).parent.joinpath(f".{place.name}.{made.name[-8:]}").mkdir(parents=True)
    finally:
        shutil.rmtree(made)


def remove_older(path: Path, begins: bytes) -> None:
    """Remove a file that begins as an older report does, since nobody knows yet what is true now; no other file."""
    with contextlib.suppress(OSError):  # where it cannot be removed, a new one cannot be written, which is refused
        place = Path(os.path.realpath(path))
        if place.is_file() and re.match(begins, place.read_bytes()[:200]):
            place.unlink()


def check_apart(**targets: str | Path | None) -> None:
    """Refuse two outputs, by option with underscores, into one place, of which the last would be left; None passes."""
    options: dict[str, str] = {}
    for name, target in targets.items():
        option = f"--{name.replace('_', '-')}"
        place = "-" if target == "-" else str(Path(target).resolve()) if target is not None else ""
        if place and place in options:
            raise Refusal(f"{options[place]} and {option} cannot both write to {target}; give one another file")
        options[place] = option


JSON_WIDTH = 120  # characters of a line of a JSON document


def write_json(target: str, document: Any) -> None:
    """Write a JSON document to a file, or to standard output for `-`."""
    write_text(target, "\n".join(json_lines(document)) + "\n")


def json_lines(value: Any, before: str = "", after: str = "") -> Iterator[str]:
    """A JSON value as lines: a part that fits one line is on one, and plain values share lines.

    Args:
        value: what `json.dumps` takes; what it does not know is written as its text.
        before, after: what stands on the first line before the value, and on the last one behind it.

    >>> print(*json_lines({"code": 0, "seed": 7, "steps": [["fence" * 9, number] for number in range(3)]}), sep="\\n")
    {
     "code": 0, "seed": 7,
     "steps": [
      ["fencefencefencefencefencefencefencefencefence", 0],
      ["fencefencefencefencefencefencefencefencefence", 1],
      ["fencefencefencefencefencefencefencefencefence", 2]
     ]
    }
    """
    text = json.dumps(value, default=str)
    if len(before) + len(text) + len(after) <= JSON_WIDTH or not (value and isinstance(value, Mapping | list | tuple)):
        yield before + text + after
        return
    indent, named = " " * (len(before) - len(before.lstrip()) + 1), isinstance(value, Mapping)
    yield before + "{["[not named]
    line = ""
    for number, key in enumerate(value, start=1):
        name, part = (json.dumps({key: 0}, default=str)[1:-2], value[key]) if named else ("", key)
        comma = "," if number < len(value) else ""
        plain = name + json.dumps(part, default=str) + comma if not isinstance(part, Mapping | list | tuple) else None
        if line and (plain is None or len(line) + 1 + len(plain) > JSON_WIDTH):
            yield line
            line = ""
        if plain is None:
            yield from json_lines(part, indent + name, comma)
        else:
            line = f"{line} {plain}" if line else indent + plain
    yield from filter(None, [line])
    yield indent[1:] + "}]"[not named] + after


def write_text(target: str, text: str) -> None:
    """Write a text to a file, or to standard output for `-`."""
    if target != "-":
        write(Path(target), text)
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise OutputClosed from None


def read_bytes(path: Path, limit: int, *, follow: bool = True) -> bytes:
    """A regular file's content of at most `limit` bytes; a pipe or device may never end; raises Refusal for one."""
    try:
        with os.fdopen(open_regular(path, follow=follow), "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > limit:
                reason = f"it has {size >> 20:,} MB, and {limit >> 20:,} MB are the most that is read of such a file"
                raise Refusal(f"cannot read {path}: {reason}")
            return stream.read(size)
    except OSError as error:
        mend = "; save what it holds to a file, and name that" if error.strerror == NO_FILE else ""
        raise Refusal(f"cannot read {path}: {error.strerror or error}{mend}") from error


def read_json(path: Path, limit: int = MAX_JSON_BYTES, *, follow: bool = True) -> Any:
    """The JSON document in a file, read as by `read_bytes`; raises Refusal, naming the file, and a line at fault."""
    return parse_json(path, read_bytes(path, limit, follow=follow))


def parse_json(path: object, data: bytes) -> Any:
    """The JSON document of a file's `data`; raises Refusal, naming file and line, where malformed or a key is twice."""
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise Refusal(f"{path}: not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise Refusal(f"{path}: line {error.lineno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{path}: not usable JSON: {error}") from error
    if deeper(document, MAX_NESTING):
        raise Refusal(f"{path}: not usable JSON: nested deeper than {MAX_NESTING} levels")
    if b"\\u" in data and has_surrogate(document):
        raise Refusal(f"{path}: not usable JSON: a text holds a surrogate, which is no character")
    return document


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; raises ValueError for a repeated key: readers differ in which value they take."""
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} is repeated in one object")
    return result


def has_surrogate(document: Any) -> bool:
    """Whether a text in a document holds half a character, which no encoding has."""
    return _SURROGATE.search(json.dumps(document, ensure_ascii=False, default=str)) is not None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


def deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects are nested deeper than so many levels."""
    level = [value] if isinstance(value, list | dict) else []
    for _ in range(depth):
        inner = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
        level = [part for part in inner if isinstance(part, list | dict)]
    return bool(level)


def check_named(place: object, system: str, named: str | None) -> None:
    """Refuse to import the system that a file names, unless the command line names it: to import is to run."""
    if named is not None and named != system:
        raise Refusal(f"{place}: of the system {system}, not of {named}")
    if named is None and ":" in system:
        raise Refusal(f"{place}: of the system {system}, whose module would be run; if you trust it, --system {system}")


def folder(path: Path) -> Path:
    """The folder, made if need be; a one-line usage error where it cannot be made or written."""
    check_local(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"cannot make the folder {path}: {error.strerror or error}") from error
    check_folder(path)
    return path


def check_folder(path: Path) -> None:
    """Refuse a folder in which no file can be made; one that is not there is tried, and not left behind."""
    check_local(path)
    try:
        probe(path.resolve() / "file")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Refusal(f"cannot write into the folder {path}: {reason}; choose another place") from error


MARK = ".kraftcheck"  # the file that lists what a run wrote, one path a line

MOST_MARK_BYTES = 1 << 24

_FIRST = "kraftcheck wrote these files, and replaces this folder:"


@contextlib.contextmanager
def results(option: str, place: Path) -> Iterator[Path]:
    """A new folder that takes its place after the block, or leaves all as before; raises as `check_results`."""
    check_results(option, place)
    target = place.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new_folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise _refusal(option, place, error.strerror or str(error)) from error
    try:
        os.chmod(new_folder, 0o777 & ~umask())
        yield new_folder
        names = sorted(str(path.relative_to(new_folder)) for path in _files(new_folder))
        write(new_folder / MARK, "\n".join([_FIRST, *names]) + "\n")
        check_results(option, place)
        _replace(new_folder, target)
    except OSError as error:
        raise _refusal(option, place, error.strerror or str(error)) from error
    finally:
        shutil.rmtree(new_folder, ignore_errors=True)


def check_results(option: str, place: Path | None, *others: str | Path | None) -> None:
    """Refuse an option's folder that no run could replace, or that holds others' places, before work; None passes."""
    for name in (place, *others):
        if name is not None:
            check_local(name)
    if place is None:
        return
    target = place.resolve()
    for path in others:
        if path is not None and str(path) != "-" and Path(path).resolve().is_relative_to(target):
            raise Refusal(f"{path} lies in the folder of {option}, which this run replaces; choose another place")
    if not target.exists():
        parent = next(ancestor for ancestor in target.parents if ancestor.exists())
        if not parent.is_dir():
            raise Refusal(f"cannot make the folder {place}: {parent} is no folder; choose another {option}")
        _probe(option, place, target)
        return
    if not target.is_dir():
        raise Refusal(f"cannot make the folder {place}: it is a file; choose another {option}")
    if Path.cwd().is_relative_to(target) or target.is_mount():
        folder_kind = "a file system of its own" if target.is_mount() else "the current folder or above it"
        raise _refusal(option, place, f"it is {folder_kind}, and a run replaces the whole folder")
    _probe(option, place, target)
    _probe(option, place, target / MARK)
    _check_ours(option, place, target)


def _probe(option: str, place: Path, target: Path) -> None:
    try:
        probe(target)
    except OSError as error:
        raise _refusal(option, place, error.strerror or str(error)) from error


def _check_ours(option: str, place: Path, target: Path) -> None:
    """Refuse a folder with files that no run wrote; an empty one is anybody's."""
    try:
        present = {str(path.relative_to(target)) for path in _files(target)}
        lines = _mark(target / MARK).splitlines() if MARK in present else []
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(option, place, f"it cannot be read ({error})") from error
    own = {MARK, *lines[1:]} if lines[:1] == [_FIRST] else set()
    if foreign := sorted(present - own):
        raise _refusal(option, place, f"it holds {foreign[0]}, which no run of kraftcheck wrote there")


def _mark(path: Path) -> str:
    return read_bytes(path, MOST_MARK_BYTES, follow=False).decode("utf-8")


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]


def _replace(new_folder: Path, target: Path) -> None:
    """Rename; an old folder stays beside until the new one is in its place."""
    if not target.exists() or not any(target.iterdir()):
        os.replace(new_folder, target)
        return
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old."))
    os.replace(target, old)
    try:
        os.replace(new_folder, target)
    except BaseException:
        os.replace(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _refusal(option: str, place: Path, reason: str) -> Refusal:
    return Refusal(f"cannot write into the folder {place}: {reason}; choose another {option}")
