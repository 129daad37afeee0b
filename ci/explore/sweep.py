"""`kraftcheck sweep`: the compiled rules compared with the rules on ints, over an explored space."""

from __future__ import annotations

import functools
import json
import sys
from typing import TYPE_CHECKING

import click

from kraftcheck.ci.conformance.vectors.run import NON_CONFORMANT
from kraftcheck.ci.dataset.dataset_place import DatasetPlace
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.spark.query_engine import open_session, packed
from kraftcheck.ci.spark.session import check_packages
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_named
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.machine_code.objectcache import ObjectCache
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE

if TYPE_CHECKING:
    from kraftcheck.ci.spark.sweeping import SweepResult


SHARES = 1 << 30


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
    from kraftcheck.ci.dataset.store.dataset import Dataset
    from kraftcheck.ci.spark.errors import job_error
    from kraftcheck.ci.spark.executor import pickled
    from kraftcheck.ci.spark.sweeping import SCHEMA, SweepResult, sweep_task

    data = Dataset.open(out)
    check_named(out, data.of["system"], system)
    chosen, traced = data.traced()
    words = [f"w{i}" for i in range(data.table.words)]
    with open_session(data, master, workers, conf) as (session, messages):
        spec = block_spec(traced, data.bucket_bits, ObjectCache(cache_folder()))
        handle = session.sparkContext.broadcast((spec, pickled(chosen)))
        rows = packed(session, data).select(*words)
        if fraction < 1:
            rows = rows.where(f"pmod(xxhash64({', '.join(words)}), {SHARES}) < {max(1, round(fraction * SHARES))}")
        parts = max(workers, 2) * 4
        try:
            payloads = rows.repartition(parts).mapInArrow(sweep_task(lambda: handle.value), SCHEMA).collect()
        except Exception as error:
            raise job_error(error, messages) from error
    result = functools.reduce(
        SweepResult.plus, (SweepResult(*json.loads(row.payload)) for row in payloads), SweepResult()
    )
    sys.exit(_conclude(result, sum(level.rows for level in data.levels), data.complete, fraction))


def _conclude(result: SweepResult, states: int, complete: bool, fraction: float) -> int:
    screen = console()
    for line in result.examples:
        screen.plain(line)
    share = "every state" if result.states == states else f"{result.states:,} of {states:,} states"
    screen.plain(f"{share}: {result.transitions:,} transitions, {result.disagreements:,} disagreements")
    if result.disagreements:
        return NON_CONFORMANT
    if not complete or result.states == 0 or (fraction == 1 and result.states != states):
        screen.plain("incomplete: " + ("no state was compared" if result.states == 0 else "the space is not whole"))
        return EXIT_INCOMPLETE
    return 0
