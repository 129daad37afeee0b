"""Jars of other programs, which the benchmark and tests run: from Maven, kept in the cache, checked by digest."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from kraftcheck.ci.conformance.kafka.jars import digest_of, exclusive_cache
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


def jar(artifact: str, digest: str) -> Path:
    """A jar, fetched where it is not there yet.

    Args:
        artifact: its group, name and version, divided by colons.
        digest: its SHA-256.

    Raises:
        Refusal: when Maven is not installed, or cannot fetch it, and for a jar that is not the one that was tried.
    """
    _, name, version = artifact.split(":")
    place = cache_folder() / "jars" / f"{name}-{version}.jar"
    with exclusive_cache():
        if not place.exists():
            if shutil.which("mvn") is None:
                raise Refusal(f"mvn is not installed; install Maven, which fetches {artifact}")
            command = ["mvn", "--batch-mode", "--quiet", PLUGIN, f"-Dartifact={artifact}",
                       f"-DoutputDirectory={place.parent}"]  # fmt: skip
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise Refusal(f"Maven cannot fetch {artifact}: {ran.stdout[-200:].strip()}")
    if digest_of(place) != digest:
        raise Refusal(f"{place} differs from its digest; remove it, and it is fetched again")
    return place
