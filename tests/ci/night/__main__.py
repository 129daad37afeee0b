"""Run a night, or a shard of it, and record what has run: `python -m tests.ci.night [run|record]`."""

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Sequence

from kraftcheck.ci.terminal.files import write_json
from tests.ci.night.record import DATA, kept, oldest_first, recorded
from tests.ci.night.shards import FOLDER, Shard, collected, commit, outcomes
from tests.shared.places import ROOT

EXIT_FAILED, EXIT_LEFT = 1, 20


def part(text: str) -> tuple[int, int]:
    """A shard's number, and of how many, such as 3/40."""
    number, slash, of = text.partition("/")
    if not (slash and number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"{text!r} is no shard; give one such as 3/40")
    return int(number), int(of)


def run(chosen: argparse.Namespace) -> int:
    """Run what is left of a shard until its time is up.

    Returns:
        0 where every item has passed or is skipped, 1 where one has failed, 20 where time is up and some are left.
    """
    number, of = chosen.shard
    shard, end = Shard(number, of, FOLDER / commit()), time.time() + 60 * chosen.minutes
    every, seed = collected(), chosen.seed if chosen.seed is not None else random.randrange(1 << 30)
    mine = shard.items(every)
    print(f"shard {number}/{of}: {len(mine):,} of {len(every):,} items; seed {seed}", flush=True)
    if (waiting := shard.left(oldest_first(mine, kept()))) and time.time() < end:
        shard.run(waiting, end, ["--hypothesis-seed", str(seed)])
    told = outcomes(shard.folder)
    left = [item for item in mine if item not in told]
    failed = [item for item in mine if told.get(item) == "failed"]
    fuzzed = 0 if left else fuzz(chosen.fuzz // of, seed + number)
    print(*(f"failed: {item}" for item in failed), f"{len(left):,} items left, {len(failed):,} failed", sep="\n")
    return EXIT_FAILED if failed or fuzzed else EXIT_LEFT if left else 0


def fuzz(steps: int, seed: int) -> int:
    """Whole controllers beside the newest release, for so many steps; its exit code."""
    words = [sys.executable, "-m", "kraftcheck", "conform", "--kafka", "4.4.0", "--fuzz", str(steps)]
    return subprocess.run([*words, "--seed", str(seed)], cwd=ROOT, check=False).returncode if steps else 0


def record() -> int:
    """Write what the shards of this commit have noted, and keep of earlier commits what was not run again.

    Returns:
        0, or 2 where files differ from the commit, which a record would be of.
    """
    if (of := commit()).endswith("-changed"):
        print("the working tree differs from its commit: commit first, and run the night of that", file=sys.stderr)
        return 2
    write_json(str(DATA), recorded(FOLDER / of, of, collected(), kept()))
    print(f"wrote {DATA.relative_to(ROOT)}; `python -m tests.documentation` makes its page")
    return 0


def main(words: Sequence[str]) -> int:
    """Run or record."""
    parser = argparse.ArgumentParser("python -m tests.ci.night", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("run", "record"), default="run")
    parser.add_argument("--shard", type=part, default=(1, 1), metavar="K/N", help="the shard; default: all of it")
    parser.add_argument("--minutes", type=float, default=85.0, help="no tests are begun later; default 85")
    parser.add_argument("--seed", type=int, help="of what is drawn; default: drawn")
    parser.add_argument("--fuzz", type=int, default=10_000_000, help="steps of whole controllers, in all shards")
    chosen = parser.parse_args(words)
    return record() if chosen.what == "record" else run(chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
