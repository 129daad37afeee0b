"""Errors of Spark jobs, as one line each."""

from __future__ import annotations

import re
from pathlib import Path

from kraftcheck.ci.dataset.jobs import JobFailedError

_MESSAGES = (
    (r"ForeignCodeError: (.*)", "{0}"),
    (r"SightError: (.*)", "{0}"),
    (r"DamagedLevelError: (.*)", "{0}; restore the file or explore again into another --out"),
    (r"No space left on device", "no space left where the run or Spark's scratch files are: free some, then --resume "
     "(--conf spark.local.dir=DIR moves the scratch files)"),
    (r"File too large", "a file would be larger than the limit of this process (ulimit -f): raise it, then --resume"),
    (r"Disk quota exceeded", "the disk quota is used up: free some, then --resume"),
    (r"PYTHON_VERSION_MISMATCH[^\n]*", "workers run another Python than the driver: set PYSPARK_PYTHON to its version"),
    (r"ModuleNotFoundError: (.*)", "workers lack a package: {0}; install kraftcheck[spark] there too"),
    (r"OutOfMemoryError: (.*)", "the JVM ran out of memory ({0}): raise it with --conf spark.driver.memory=2g "
     "or spark.executor.memory=2g, then --resume"),
    (r"MemoryError", "a worker ran out of memory: let fewer tasks run at a time (--workers N, or "
     "--conf spark.executor.cores=N), then --resume"),
    (r"Python worker exited unexpectedly", "a Python worker died on every attempt (out of memory?): --resume goes on"),
)  # fmt: skip


def job_error(error: Exception, log: Path) -> JobFailedError:
    """The error of a job in one line, with the mend where it is known."""
    text = str(error)
    for pattern, message in _MESSAGES:
        match = re.search(pattern, text)
        if match:
            return JobFailedError(message.format(*match.groups()) + f" (details in {log})")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not re.match(r"\s*at \S+\(", line)]
    telling = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    return JobFailedError(
        f"a Spark job failed: {(telling or lines or [type(error).__name__])[-1][:300]} (details in {log})"
    )
