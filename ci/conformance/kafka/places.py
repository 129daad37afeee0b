"""Where the source of a release has classes and methods: `python -m kraftcheck.ci.conformance.kafka.places VERSION`.

The jars say it: each class names its file, and each method the lines of its statements.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from kraftcheck.ci.conformance.kafka.jars import SERVER, jars, program
from kraftcheck.properties.register.citations import in_kafka, references
from kraftcheck.properties.register.findings import FINDINGS

_JAR = re.compile(r"kafka_[\d.]+-(?P<core>)|kafka-(?P<module>[a-z-]+)-")
_SOURCE = re.compile(r'Compiled from "([^"]+)"')
_LANGUAGES = {".java": "java", ".scala": "scala"}


def place(name: str, version: str) -> str:
    """The path of a class in the source of a release, and the line of the first statement of its method.

    Args:
        name: of a class, or of a method as `Class.method`.
        version: of the release.

    Raises:
        LookupError: where the release has no such class or method.
        Refusal: where Java or the jars are missing.
    """
    owner, _, method = name.partition(".")
    if owner not in _classes(version):
        raise LookupError(f"Kafka {version} has no class {owner}")
    _, jar, member = _classes(version)[owner]
    shown = _javap(jar, member.removesuffix(".class"))
    source = _SOURCE.search(shown)
    assert source is not None, member
    of = _JAR.match(Path(jar).name)
    module = (of and of["module"]) or "core"
    path = f"{module}/src/main/{_LANGUAGES[Path(source[1]).suffix]}/{Path(member).parent}/{source[1]}"
    return f"{path}#L{min(_lines(shown, method), default=0)}" if method else path


@functools.cache
def _classes(version: str) -> dict[str, tuple[int, str, str]]:
    """Size, jar and member of each class of a release; one that has moved leaves a smaller one of its name behind."""
    found = dict[str, tuple[int, str, str]]()
    for jar in jars(version, SERVER).split(os.pathsep):
        if _JAR.match(Path(jar).name):
            for member in zipfile.ZipFile(jar).infolist():
                name = Path(member.filename).stem
                found[name] = max(found.get(name, (0, "", "")), (member.file_size, jar, member.filename))
    return found


def _javap(jar: str, name: str) -> str:
    words = [program("javap"), "-l", "-p", "-cp", jar, name.replace("/", ".")]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def _lines(shown: str, method: str) -> list[int]:
    """The lines of a method's statements, of all that have its name.

    Raises:
        LookupError: where there is none.
    """
    parts = [part for part in shown.split("\n\n") if re.search(rf"\b{re.escape(method)}\(", part.partition("\n")[0])]
    found = [int(line) for part in parts for line in re.findall(r"^ +line (\d+):", part, re.MULTILINE)]
    if not found:
        raise LookupError(f"no statement of {method}")
    return found


def named() -> Iterator[str]:
    """The classes and methods of Kafka's that findings name, each once, in order."""
    words = {one.text.partition(",")[0] for finding in FINDINGS for one in references(finding.source)}
    yield from sorted(word for word in words if in_kafka(word) is not None)


def main(versions: Sequence[str]) -> None:
    """Print the table of kafka.toml."""
    (version,) = versions
    print(f'[newest]\nrelease = "{version}"\n\n[newest.places]')
    for name in named():
        key = f'"{name}"' if "." in name else name
        print(f'{key} = "{place(name, version)}"')


if __name__ == "__main__":
    main(sys.argv[1:])
