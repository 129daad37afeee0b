"""Classes of releases, changed in their bytes, and requests to classes as they were released."""

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

from kraftcheck.ci.bench.cases import jar
from kraftcheck.ci.conformance.kafka.jars import SHORT_RUN, jars, program

NEWEST = "4.4.0"
BUILDER = "PartitionChangeBuilder"
CHANGES = Path(__file__).parent / "ClassChanges.java"
ASM = ("org.ow2.asm:asm:9.7.1", "8cadd43ac5eb6d09de05faecca38b917a040bb9139c7edeb4cc81c740b713281")


def changed(folder: Path, change: str, name: str = BUILDER, package: str = "controller", version: str = NEWEST) -> Path:
    """A folder with a class of a release, changed in its bytes."""
    member = f"org/apache/kafka/{package}/{name}.class"
    of = "kafka-server-common" if package in ("timeline", "server/common") else "kafka-metadata"
    released_jar = next(path for path in jars(version).split(os.pathsep) if of in path)
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(released_jar) as file:
        released = file.extract(member, place)
        command = [program("java"), *SHORT_RUN, "-cp", str(jar(*ASM)), str(CHANGES), released, str(folder), change]
        subprocess.run(command, check=True)
    return folder / change
