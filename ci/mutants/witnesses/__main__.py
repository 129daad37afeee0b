"""Search witnesses of links: `python -m kraftcheck.ci.mutants.witnesses [--system SYSTEM]... [FILE]`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kraftcheck.ci.mutants.witnesses.search import by_choice, by_matrix, by_mutant, together
from kraftcheck.ci.mutants.witnesses.witness import document, links, read_witnesses
from kraftcheck.ci.terminal.files import write_json
from kraftcheck.properties.catalogue import SYSTEMS


@click.command()
@click.argument("target", type=click.Path(path_type=Path), default=Path("docs/reference/witnesses.json"))
@click.option("--system", "systems", multiple=True, type=click.Choice(list(SYSTEMS)), help="Only links of this system.")
@click.option("--again", is_flag=True, help="Search those that the file has, too.")
@click.option("--choices", is_flag=True, help="By choices only.")
@click.option("--stated", multiple=True, help="Only links of this rule.")
def witnesses_command(
    target: Path, systems: tuple[str, ...], again: bool, choices: bool, stated: tuple[str, ...]
) -> None:
    """Write the witnesses of links to TARGET, those that it has first; what it does not find it names."""
    declared = links()
    known = {one.link: one for one in read_witnesses(target) if one.link in declared} if target.exists() else {}
    wanted = [
        one
        for one in declared
        if (not systems or one.system in systems) and (again or one not in known) and (not stated or one.rule in stated)
    ]
    for link in wanted:
        found = by_matrix(link, declared[link])
        if found is not None:
            known[link] = found
    left = {link: declared[link] for link in wanted if link not in known}
    asked = {system: together(left, system) for system in SYSTEMS}
    missing = []
    for number, (link, rule) in enumerate(left.items(), 1):
        found = by_choice(link, rule, asked[link.system])
        if found is None and not choices:
            found = by_mutant(link)
        if found is None:
            missing.append(link)
        else:
            known[link] = found
            write_json(str(target), document(known.values()))
        click.echo(f"{number} of {len(left)}: {link} {found.text() if found else 'NOT SHOWN'}", err=True)
    write_json(str(target), document(known.values()))
    sys.stdout.write(f"{len(known)} of {len(declared)} links are shown; not found: {len(missing)}\n")


if __name__ == "__main__":
    witnesses_command()
