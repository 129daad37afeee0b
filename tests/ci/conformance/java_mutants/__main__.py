"""Runs mutants of Kafka's classes, and lists those that nothing notices; exit code 1 where one has no reason."""

import argparse
import sys
from collections.abc import Sequence

from tests.ci.conformance.java_mutants.campaign import SURVIVED, mutants, noted, record, run_shard, shard_of, told
from tests.ci.night.__main__ import EXIT_FAILED, EXIT_LEFT, part


def main(words: Sequence[str]) -> int:
    """Run what is left of a shard at this commit, and tell the score of all that this commit has run."""
    parser = argparse.ArgumentParser("python -m tests.ci.conformance.java_mutants", description=__doc__)
    parser.add_argument("--shard", type=part, default=(1, 1), metavar="K/N", help="a part of all; default: all")
    parser.add_argument("--minutes", type=float, default=85.0, help="no mutant is begun later; default 85")
    parser.add_argument("--record", action="store_true", help="run nothing: write what this commit has run to ran.json")
    chosen = parser.parse_args(words)
    if chosen.record:
        record()
        return 0
    shard = shard_of(*chosen.shard)
    for one in run_shard(shard, 60 * chosen.minutes):
        print(f"{one.outcome:8} {one.steps:6} steps {one.seconds:6.1f} s  {one.mutant.key}", flush=True)
    rows = noted(shard.folder)
    print(*told([*rows.values()]), sep="\n")
    left = sum(key not in rows for key in shard.items([one.key for one in mutants()]))
    print(f"{left:,} of the shard left")
    return EXIT_FAILED if any(row[1] == SURVIVED for row in rows.values()) else EXIT_LEFT if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
