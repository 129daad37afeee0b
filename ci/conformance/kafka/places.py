"""Where a release's source has classes and methods, by its jars: `python -m kraftcheck.ci.conformance.kafka.places`."""

from __future__ import annotations

import functools
import itertools
import os
import re
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from kraftcheck.ci.conformance.findings.search import recorded
from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.jars import CONTROLLER, SERVER, jars, known_versions, program
from kraftcheck.model.register import content
from kraftcheck.properties.register.citations import in_kafka, references
from kraftcheck.properties.register.findings import FINDINGS

_JAR = re.compile(r"kafka_[\d.]+-(?P<core>)|kafka-(?P<module>[a-z-]+)-")
_SOURCE = re.compile(r'Compiled from "([^"]+)"')
_LANGUAGES = {".java": "java", ".scala": "scala"}

METHODS: Mapping[str, str] = {
    kind: f"{owner}.{method}"
    for owner, methods in content(__package__, "methods.toml").items()
    for method, kinds in methods.items()
    for kind in kinds
}
"""The method that answers each kind of request, takes each action of an explored system, and makes each decision."""


def place(name: str, version: str, argument: str = "") -> str:
    """File and line of a class, or a `Class.method` that takes `argument`; raises LookupError, Refusal."""
    return _place(name, jars(version, SERVER), "", argument)


def place_in(build: Build, name: str) -> str | None:
    """File and line of a method in a build's source; None without one; raises Refusal without Java or jars."""
    try:
        return _place(name, build.class_path(), jars(build.like, CONTROLLER))
    except LookupError:
        return None


def _place(name: str, path: str, named: str, argument: str = "") -> str:
    """As of `place`, by a class path; of a class whose own place does not name its module, a jar of `named` does."""
    owner, _, method = name.partition(".")
    if owner not in _classes(path):
        raise LookupError(f"there is no class {owner}")
    _, jar, member = _classes(path)[owner]
    shown = _javap(jar, member.removesuffix(".class"))
    source = _SOURCE.search(shown)
    if source is None:
        raise LookupError(f"{owner} does not say which file it is of")
    of = _JAR.match(Path(jar).name) or (_JAR.match(Path(_classes(named)[owner][1]).name) if named else None)
    module = (of and of["module"]) or "core"
    path = f"{module}/src/main/{_LANGUAGES[Path(source[1]).suffix]}/{Path(member).parent}/{source[1]}"
    return f"{path}#L{min(_lines(shown, method, argument), default=0)}" if method else path


def since(name: str, version: str) -> str:
    """The oldest release from which on a method, with what is compiled from within it, is as in a release.

    Raises:
        Refusal: where Java or the jars are missing.
    """
    earlier = known_versions()[: known_versions().index(version)]
    same = itertools.takewhile(lambda one: _code(name, one) == _code(name, version), reversed(earlier))
    return [version, *same][-1]


@functools.cache
def _code(name: str, version: str) -> list[str]:
    """The instructions of each method of a name in a release, without packages and numbers of constants."""
    owner, _, method = name.partition(".")
    _, jar, member = _classes(jars(version, SERVER)).get(owner, (0, "", ""))
    parts = _javap(jar, member.removesuffix(".class"), "-c").split("\n\n") if jar else []
    head = re.compile(rf"\b(?:\w+\$)?{re.escape(method)}(?:\$\d+)?\(")
    found = [part.partition("\n")[2] for part in parts if head.search(part.partition("\n")[0])]
    return sorted(re.sub(r"#\d+(, +\d+)?|\$\d+|[\w/]+/(?=\w)| +", " ", part) for part in found)


@functools.cache
def _classes(path: str) -> dict[str, tuple[int, str, str]]:
    """Size, place and member of each class of a class path, the driven one last: larger, or of no released jar."""
    released, own = dict[str, tuple[int, str, str]](), dict[str, tuple[int, str, str]]()
    for entry in path.split(os.pathsep):
        found = released if _JAR.match(Path(entry).name) else own
        for size, member in _members(Path(entry)):
            name = Path(member).stem
            found[name] = max(found.get(name, (0, "", "")), (size, entry, member))
    return {**released, **own}


def _members(entry: Path) -> Iterator[tuple[int, str]]:
    """Size and path of each class of Kafka's in a jar or a folder."""
    if entry.is_dir():
        yield from ((file.stat().st_size, str(file.relative_to(entry))) for file in entry.rglob("*.class"))
    else:
        with zipfile.ZipFile(entry) as jar:
            kafkas = (member for member in jar.infolist() if "kafka/" in member.filename)
            yield from ((member.file_size, member.filename) for member in kafkas)


@functools.cache
def _javap(jar: str, name: str, shown: str = "-l") -> str:
    words = [program("javap"), shown, "-p", "-cp", jar, name.replace("/", ".")]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def _lines(shown: str, method: str, argument: str) -> list[int]:
    """The lines of statements of a method that takes a class, of all of its name; raises LookupError where none is."""
    head = re.compile(rf"\b{re.escape(method)}\(.*{re.escape(argument)}")
    parts = [part for part in shown.split("\n\n") if head.search(part.partition("\n")[0])]
    found = [int(line) for part in parts for line in re.findall(r"^ +line (\d+):", part, re.MULTILINE)]
    if not found:
        raise LookupError(f"no statement of {method}")
    return found


def named() -> dict[str, dict[str, str]]:
    """The classes and methods that findings name, in order, with the newest release, and the class one takes."""
    rows, found = recorded(), dict[str, dict[str, str]]()
    for finding in FINDINGS:
        has = [one for one in known_versions() if (row := rows.get((finding.id, one))) is None or row.steps is not None]
        words = (one.text.partition(", of ") for one in references(finding.source))
        found.setdefault(has[-1], {}).update({name: argument for name, _, argument in words if in_kafka(name)})
    return {release: dict(sorted(found[release].items())) for release in known_versions() if release in found}


def alike() -> dict[str, str]:
    """From which release on a method is as in the newest, of findings that no class of the one before was asked of."""
    rows, (*_, before, newest) = recorded(), known_versions()
    those = [one for one in FINDINGS if (row := rows.get((one.id, before))) is None or (row.steps and not row.managers)]
    own = {one.text.partition(",")[0] for finding in those for one in references(finding.source)}
    found = {name: since(name, newest) for name in named()[newest] if name in own}
    return {name: release for name, release in found.items() if release != newest}


def main() -> None:
    """Print the tables of kafka.toml."""
    for release, names in named().items():
        print(f'[places."{release}"]')
        print(*(f'"{name}" = "{place(name, release, of)}"' for name, of in names.items()), "", sep="\n")
    print("[alike]", *(f'"{name}" = "{release}"' for name, release in alike().items()), sep="\n")


if __name__ == "__main__":
    main()
