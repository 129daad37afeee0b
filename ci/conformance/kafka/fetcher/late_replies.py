"""Whether a follower's fetcher appends a reply that is late, asked of the released `AbstractFetcherThread`."""

from __future__ import annotations

import subprocess

from kraftcheck.ci.conformance.kafka.jars import FETCHER, SERVER, SHORT_RUN, DriverError, compile_driver, program

TIMEOUT = 60
"""Seconds that the driver may take."""

CASES = {
    "same-epoch": "of the current leader epoch, at the log end",
    "later-epoch": "of an earlier leader epoch than the current, at the log end",
    "later-epoch-other-offset": "of an earlier leader epoch, the log having been cut since",
}
"""The cases that the driver puts, and what they are."""


def late_replies(version: str) -> dict[str, bool]:
    """For each case whether the fetcher of a release appends the reply.

    Args:
        version: 4.0.0 or later.

    Raises:
        Refusal: where jars, Java, Maven or the network are missing.
        DriverError: when the driver answers otherwise than with all cases.
    """
    class_path = compile_driver(version, FETCHER, SERVER)
    command = [program("java"), *SHORT_RUN, "-cp", class_path, "kafka.server.FetcherDriver"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    answers = dict(line.split(" ") for line in done.stdout.splitlines() if line.partition(" ")[0] in CASES)
    if done.returncode or answers.keys() != CASES.keys():
        raise DriverError(f"the fetcher of {version} did not answer: {done.stderr.strip()[-300:]}")
    return {case: int(count) > 0 for case, count in answers.items()}
