"""Where the source of a release has classes and methods: `python -m kraftcheck.ci.conformance.kafka.places`.

The jars say it: each class names its file, and each method the lines of its statements.
"""

from __future__ import annotations

import functools
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
    """The path of a class in the source of a release, and the line of the first statement of its method.

    Args:
        name: of a class, or of a method as `Class.method`.
        argument: the class that the meant method of its name takes, where there are several.

    Raises:
        LookupError: where the release has no such class or method.
        Refusal: where Java or the jars are missing.
    """
    return _place(name, jars(version, SERVER), "", argument)


def place_in(build: Build, name: str) -> str | None:
    """The path of a method in the source of a build, and its line there; None where it has none of that name.

    Raises:
        Refusal: where Java or the jars are missing.
    """
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


@functools.cache
def _classes(path: str) -> dict[str, tuple[int, str, str]]:
    """Size, place and member of each class of a class path; one that has moved leaves a smaller one of its name behind.

    What is no released jar of Kafka's comes first, whatever its size.
    """
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


def _javap(jar: str, name: str) -> str:
    words = [program("javap"), "-l", "-p", "-cp", jar, name.replace("/", ".")]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def _lines(shown: str, method: str, argument: str) -> list[int]:
    """The lines of a method's statements, of all that have its name and take a class.

    Raises:
        LookupError: where there is none.
    """
    head = re.compile(rf"\b{re.escape(method)}\(.*{re.escape(argument)}")
    parts = [part for part in shown.split("\n\n") if head.search(part.partition("\n")[0])]
    found = [int(line) for part in parts for line in re.findall(r"^ +line (\d+):", part, re.MULTILINE)]
    if not found:
        raise LookupError(f"no statement of {method}")
    return found


def named() -> dict[str, dict[str, str]]:
    """The classes and methods of Kafka's that findings name, in order, by the newest release that has the finding.

    With each the class that it takes, of a method that is named as `replay, of RemoveTopicRecord`.
    """
    rows, found = recorded(), dict[str, dict[str, str]]()
    for finding in FINDINGS:
        has = [one for one in known_versions() if (row := rows.get((finding.id, one))) is None or row.steps is not None]
        words = (one.text.partition(", of ") for one in references(finding.source))
        found.setdefault(has[-1], {}).update({name: argument for name, _, argument in words if in_kafka(name)})
    return {release: dict(sorted(found[release].items())) for release in known_versions() if release in found}


def main() -> None:
    """Print the tables of kafka.toml."""
    for release, names in named().items():
        print(f'[places."{release}"]')
        print(*(f'"{name}" = "{place(name, release, of)}"' for name, of in names.items()), "", sep="\n")


if __name__ == "__main__":
    main()
