"""`python -m kraftcheck.ci.conformance.kafka.broker VERSION...`: what a broker's classes do."""

from __future__ import annotations

import sys

from kraftcheck.ci.conformance.kafka.broker.answers import CASES, broker_answers
from kraftcheck.ci.conformance.kafka.java import DriverError
from kraftcheck.ci.terminal.refusal import Refusal


def main(versions: list[str]) -> int:
    """Print a line for each release and case; the exit code is 2 for what cannot be asked."""
    try:
        if not versions:
            raise Refusal("name releases, as in 4.4.0")
        for version in versions:
            for name, answer in broker_answers(version).items():
                case = CASES[name]
                print(f"{version}  {case.entry or '-':4}{'yes' if answer else 'no':4}{case.asked}: {case.says}")
    except (Refusal, DriverError) as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
