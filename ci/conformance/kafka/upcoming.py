"""Releases that Maven serves and nobody here knows yet: `python -m kraftcheck.ci.conformance.kafka.upcoming`.

The next patch and the next minor number of each known line are asked for. What is served is fuzzed beside the rules of
the nearest release, and what is new is said.
"""

from __future__ import annotations

import sys

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.drivers import DriverError
from kraftcheck.ci.conformance.kafka.fuzz.run import fuzz_lines, fuzz_with_kafka
from kraftcheck.ci.conformance.kafka.jars import CONTROLLER, any_jars, known_versions
from kraftcheck.ci.conformance.vectors.run import NON_CONFORMANT
from kraftcheck.ci.terminal.commands import EXIT_USAGE
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.rules.ruleset import parse

NOT_SERVED = ("Could not find artifact", "was not found in")
"""What Maven says of a version that there is not; all else that it says is a fault."""

STEPS = 20_000  # steps of the fuzz of what is served


def next_numbers() -> list[str]:
    """The next patch number of each line, and the minor and major numbers after it, as far as no release has them."""
    newest = {tuple(map(int, version.split(".")[:2])): version for version in known_versions()}
    wanted = set[tuple[int, int, int]]()
    for (major, minor), version in newest.items():
        wanted |= {(major, minor, int(version.split(".")[2]) + 1), (major, minor + 1, 0)}
    wanted.add((max(newest)[0] + 1, 0, 0))
    return [".".join(map(str, one)) for one in sorted(wanted) if one[:2] not in newest or one[2]]


def is_served(version: str) -> bool:
    """Whether Maven has a version; raises Refusal where Maven says anything else than that it has none."""
    try:
        any_jars(version, CONTROLLER)
    except Refusal as refusal:
        if any(said in refusal.message for said in NOT_SERVED):
            return False
        raise
    return True


def news(version: str, steps: int = STEPS) -> tuple[bool, list[str]]:
    """Whether a served version decides otherwise than the nearest release, in lines; raises where it is not driven."""
    build = Build.of(version)
    name = f"kafka-{build.like}"
    row = fuzz_with_kafka(build, parse(name), steps, 0, lambda *progress: None)
    return row.differs, [*build.lines(), *fuzz_lines(row, name)]


def main() -> int:
    """Say what is new: 0 where nothing decides otherwise, 23 where something does, 2 where one cannot be asked."""
    differing, served, faults, versions = 0, 0, 0, next_numbers()
    for version in versions:
        try:
            if not is_served(version):
                continue
            served += 1
            differs, lines = news(version)
            print("\n".join(lines), flush=True)
            differing += differs
        except (Refusal, DriverError) as reason:
            print(f"error: {reason}", file=sys.stderr)
            faults += 1
    unasked = f", {faults} could not be asked" if faults else ""
    print(f"asked for {', '.join(versions)}: {served} served and not known, {differing} decide otherwise{unasked}")
    return NON_CONFORMANT if differing else EXIT_USAGE if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
