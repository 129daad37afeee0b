"""`python -m kraftcheck.ci.conformance.kafka.fetcher VERSION...`: which late replies a follower appends."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from kraftcheck.ci.conformance.kafka.fetcher.late_replies import CASES, late_replies
from kraftcheck.ci.conformance.kafka.jars import print_answers


def main(versions: list[str]) -> int:
    """Print a line for each release and case; the exit code is 2 for what cannot be asked."""
    return print_answers(versions, _lines)


def _lines(version: str) -> Iterator[str]:
    for case, appends in late_replies(version).items():
        yield f"a reply {CASES[case]}: {'appended' if appends else 'not appended'}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
