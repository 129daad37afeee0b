"""`python -m kraftcheck.ci.conformance.kafka.fetcher VERSION...`: which late replies a follower appends."""

from __future__ import annotations

import sys

from kraftcheck.ci.conformance.kafka.fetcher.late_replies import CASES, late_replies
from kraftcheck.ci.conformance.kafka.java import DriverError
from kraftcheck.ci.terminal.refusal import Refusal


def main(versions: list[str]) -> int:
    """Print a line for each release and case; the exit code is 2 for what cannot be asked."""
    try:
        if not versions:
            raise Refusal("name releases, as in 4.4.0")
        for version in versions:
            for case, appends in late_replies(version).items():
                print(f"{version}  a reply {CASES[case]}: {'appended' if appends else 'not appended'}")
    except (Refusal, DriverError) as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
