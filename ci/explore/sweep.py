"""`kraftcheck sweep`: compiled rules compared with the rules on ints, over an explored space, on workers of Spark."""

from __future__ import annotations

import functools
import pickle
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from attrs import frozen

from kraftcheck.ci.conformance.vectors.run import NON_CONFORMANT
from kraftcheck.ci.dataset.options import DatasetPlace
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.run.fanout import Cluster, fan_out
from kraftcheck.ci.spark.session import check_packages
from kraftcheck.ci.systems.subject import program
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_named
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.audit.comparison import BlockEngine, StateComparison
from kraftcheck.solvers.audit.sampling import Rows, hashed
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import BlockSpec, load_block_kernel
from kraftcheck.solvers.machine_code.objectcode import ObjectCache
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE
from kraftcheck.solvers.reference.confirm import EngineDisagreement

if TYPE_CHECKING:
    from kraftcheck.ci.dataset.store.levelfiles import Groups

PART_STATES = 1 << 10  # states of a task, about: ints manage some hundred a second
EXAMPLES = 5  # disagreements that are shown


@frozen
class Swept:
    """The result of a comparison."""

    # states, transitions: compared; of a state with a disagreement no transition counts
    states: int = 0
    transitions: int = 0
    disagreements: int = 0  # of how many states
    examples: tuple[str, ...] = ()  # the first few, in words

    def plus(self, other: Swept) -> Swept:
        """Both together."""
        return Swept(
            self.states + other.states, self.transitions + other.transitions,
            self.disagreements + other.disagreements, (*self.examples, *other.examples)[:EXAMPLES],
        )  # fmt: skip


def compare(traced: Program, spec: BlockSpec, states: Rows) -> Swept:
    """Both readings of the rules on packed states, one row each, in all action instances."""
    comparison, engine = StateComparison(traced), BlockEngine(traced, load_block_kernel(spec))
    found = Swept()
    for packed in map(tuple, states.tolist()):
        try:
            found = found.plus(Swept(1, comparison.state(packed, engine(packed), range(traced.instances))))
        except EngineDisagreement as error:
            found = found.plus(Swept(1, 0, 1, (str(error),)))
    return found


@functools.lru_cache(maxsize=1)
def _asked(asked: bytes) -> tuple[Program, BlockSpec, float]:
    chosen, spec, fraction = pickle.loads(asked)
    return program(chosen, compared=False), spec, fraction


def _swept(asked: bytes, part: tuple[str, Groups]) -> Swept:
    """What a worker finds in some row groups of a level."""
    from kraftcheck.ci.dataset.store.levelfiles import read_states  # it reads Parquet, and pyarrow is an extra

    (traced, spec, fraction), (folder, groups) = _asked(asked), part
    found = Swept()
    for _, states in read_states(place_of(folder), groups, spec.words):
        chosen = states if fraction == 1 else states[hashed(states, 0) < int(fraction * 2**64)]
        found = found.plus(compare(traced, spec, chosen))
    return found


@click.command("sweep")
@click.argument("out", type=DatasetPlace(), metavar="OUT")
@click.option("--system", help="The system explored, module:attribute, where it is one of your own: its module is run.")
@click.option("--fraction", type=float, default=1.0, show_default=True, help="Share of the states, chosen by hash.")
@click.option("--master", metavar="URL", help="The cluster; default local[WORKERS].")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark's; repeatable.")
@options.workers
def sweep_command(
    out: AnyPath, system: str | None, fraction: float, master: str | None, conf: tuple[str, ...], workers: int
) -> None:
    """Compare, for the states in OUT, every transition and property of the compiled rules with Python ints.

    \b
    Exit codes: 0 no disagreement, 23 a disagreement, 20 the space or the sample is not whole, 2 bad input.

    \b
    Examples:
      kraftcheck sweep OUT --fraction 0.01
    """
    if not 0 < fraction <= 1:
        raise Refusal(f"--fraction is above 0 and at most 1, not {fraction}")
    check_packages()
    from kraftcheck.ci.dataset.search.levels import splits
    from kraftcheck.ci.dataset.store.dataset import Dataset, damage_refused
    from kraftcheck.ci.spark.executor import pickled

    data = Dataset.open(out)
    check_named(out, data.of["system"], system)
    chosen, traced = data.traced()
    asked = pickled((chosen, block_spec(traced, data.bucket_bits, ObjectCache(cache_folder())), fraction))
    rows = max(1, int(PART_STATES / fraction))
    parts = [(str(data.log.folder(level.depth)), groups) for level in data.levels
             for groups in splits(level.groups, rows)]  # fmt: skip
    with damage_refused():
        cluster = Cluster(master, conf, workers).executor(quiet=True)
        found = [one for _, one in fan_out(cluster, functools.partial(_swept, asked), parts, "parts", quiet=True)]
    states = sum(level.rows for level in data.levels)
    sys.exit(_conclude(found, states, data.complete and len(found) == len(parts)))


def _conclude(found: Sequence[Swept], states: int, whole: bool) -> int:
    """Show what was found in the parts of a space of so many states; the exit code."""
    screen, result = console(), functools.reduce(Swept.plus, found, Swept())
    for line in result.examples:
        screen.plain(line)
    share = "every state" if result.states == states else f"{result.states:,} of {states:,} states"
    screen.plain(f"{share}: {result.transitions:,} transitions, {result.disagreements:,} disagreements")
    if result.disagreements:
        return NON_CONFORMANT
    if not whole or result.states == 0:
        screen.plain("incomplete: " + ("no state was compared" if result.states == 0 else "the space is not whole"))
        return EXIT_INCOMPLETE
    return 0
