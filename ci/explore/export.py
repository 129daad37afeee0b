"""`kraftcheck export`: a system as a module of TLA+, for a second opinion by TLC; explored states as Parquet."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kraftcheck.ci.dataset.options import dataset_place
from kraftcheck.ci.explore.query import open_dataset
from kraftcheck.ci.spark.session import check_pyarrow
from kraftcheck.ci.systems.subject import DEFAULT_RULES, program, subject, system_and_bounds
from kraftcheck.ci.terminal import machine
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable, results, write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE
from kraftcheck.solvers.tla.module import TooWide, module


@click.command("export", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--tla", "target", metavar="FILE.tla", help="The module; FILE.cfg is written beside it.")
@click.option("--to", "folder", type=click.Path(path_type=Path), metavar="DIR", help="states: DIR/depth=N/*.parquet.")
@click.option("--system", help="states: the system explored, module:attribute, where it is one of your own.")
def export_command(
    words: tuple[str, ...], scope: str | None, rules: str | None, target: str | None, folder: Path | None,
    system: str | None,
) -> None:  # fmt: skip
    """Write a system as a module of TLA+ that TLC runs, or explored states as Parquet.

    The module has the initial states, the actions and the properties about
    states and steps, made from the terms that every engine reads. Steps that
    leave a domain are no steps. Goals are defined, and not checked.

    `states OUT` has the states that --engine disk or spark left in OUT, decoded
    as `query` decodes them, for any reader of Parquet. 20 says that the space
    is not whole.

    \b
    Examples:
      kraftcheck export elections --scope tiny --rules fixed --tla Elections.tla
      kraftcheck export states OUT --to DIR
    """
    if words[:1] == ("states",):
        check_idle("is of a system, and states are exported", "scope", "rules", "target")
        if len(words) != 2 or folder is None:
            raise Refusal("export states takes the folder of an exploration and a place: states OUT --to DIR")
        sys.exit(export_states(words[1], folder, system))
    check_idle("is of `export states OUT`", "folder", "system")
    if target is None:
        raise Refusal("export writes a system into --tla FILE.tla, or `states OUT` into --to DIR; name one")
    name, bounds = system_and_bounds(words)
    place = Path(target)
    if place.suffix != ".tla" or not place.stem.isidentifier() or not place.stem.isascii():
        raise Refusal(f"--tla {target}: a module's file is named NAME.tla, where NAME is a word of letters and digits")
    configuration = place.with_suffix(".cfg")
    check_writable(str(place))
    check_writable(str(configuration))
    chosen = subject(name, scope, bounds, rules)
    try:
        made = module(program(chosen), place.stem, chosen.title())
    except TooWide as error:
        raise Refusal(f"{chosen.name}: {error}") from error
    write(place, made.text)
    write(configuration, made.configuration)
    click.echo(f"{chosen.title()}: {place} and {configuration}")
    if made.left_out:
        click.echo(f"not in the module: {', '.join(made.left_out)}")


def export_states(out: str, folder: Path, system: str | None) -> int:
    """Write the states of a dataset, decoded, a file a level; returns the exit code.

    Raises:
        Refusal: for a folder that cannot be replaced, no dataset, or a damaged one.
    """
    from kraftcheck.ci.dataset.duckdb_engine import duckdb_engine

    check_pyarrow()
    screen = console()
    data, rows = open_dataset(dataset_place(out), system, "used", screen), 0
    with results("--to", folder) as place, duckdb_engine(data, machine.cores(), "used") as engine:
        for depth in range(len(data.levels)):
            level = place / f"depth={depth}"
            level.mkdir()
            question = f"SELECT * EXCLUDE (depth) FROM states WHERE depth = {depth}"
            rows += engine.write(question, level / "states.parquet")
    screen.plain(f"wrote {folder}: {rows:,} states of {len(data.levels)} levels")
    return 0 if data.complete else EXIT_INCOMPLETE
