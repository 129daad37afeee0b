"""`kraftcheck export`: a system as a module of TLA+, for a second opinion by TLC."""

from __future__ import annotations

from pathlib import Path

import click

from kraftcheck.ci.systems.subject import DEFAULT_RULES, program, subject, system_and_bounds
from kraftcheck.ci.terminal.files import check_writable, write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.tla.module import TooWide, module


@click.command("export", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--tla", "target", required=True, metavar="FILE.tla", help="The module; FILE.cfg is written beside it.")
def export_command(words: tuple[str, ...], scope: str | None, rules: str | None, target: str) -> None:
    """Write a system as a module of TLA+ that TLC runs.

    The module has the initial states, the actions and the properties about
    states and steps, made from the terms that every engine reads. Steps that
    leave a domain are no steps. Goals are defined, and not checked.

    \b
    Examples:
      kraftcheck export elections --scope tiny --rules fixed --tla Elections.tla
    """
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
