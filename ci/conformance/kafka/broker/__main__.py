"""`python -m kraftcheck.ci.conformance.kafka.broker VERSION...`: what a broker's classes do."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from kraftcheck.ci.conformance.kafka.broker.answers import CASES, broker_answers
from kraftcheck.ci.conformance.kafka.jars import print_answers


def main(versions: list[str]) -> int:
    """Print a line for each release and case; the exit code is 2 for what cannot be asked."""
    return print_answers(versions, _lines)


def _lines(version: str) -> Iterator[str]:
    for name, answer in broker_answers(version).items():
        case = CASES[name]
        yield f"{case.entry or '-':4}{'yes' if answer else 'no':4}{case.asked}: {case.says}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
