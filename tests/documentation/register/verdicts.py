"""docs/reference/verdicts.md: what the expected verdicts say of each property, by system and rule set."""

from collections.abc import Iterator, Mapping

from kraftcheck.model.language.system import Property
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import find
from kraftcheck.properties.register.verdicts import EXPECTED, EXPECTED_LIVENESS, Row, word

HEAD = """# Verdicts

Every property that some rule set refutes, and every other one, made from the expected verdicts of `./ci/check`.

A cell is the worst verdict over all scopes, with the length of the shortest trace; `-` is not explored. `./ci/check -v`
prints the same tables with a row for each property, and before them the states and the time of each exploration. It
exits 0 only where all is as expected. [Scopes](scopes.md) has sizes, [reports](reports.md) what a verdict means.

## In every state and every step
"""

FAIR = """## Under fairness

What must finally happen. These systems are explored where they are named, as in `./ci/check fair-directories`. What
they are fair to is in [liveness](../explanation/systems/liveness.md). The length is that of the shortest run into a
cycle that is repeated for ever.
"""

DEADLOCK = "every state without a successor is one in which nothing is left to do"


def worst(rows: Mapping[Row, Mapping[str, str]], system: str, claim: str, rules: str) -> str:
    """The worst expected verdict of a property over the scopes of some rows, shortest trace first."""
    found = [row.get(claim, "holds") for (of, _, name), row in rows.items() if (of, name) == (system, rules)]
    refuted = sorted((verdict for verdict in found if verdict != "holds"), key=lambda v: int(v.split()[1]))
    return refuted[0] if refuted else word(system, rules, claim, "holds")


def page() -> str:
    """The text of the page."""
    parts = [line for name in _systems(EXPECTED) for line in _part(EXPECTED, name)]
    fair = [line for name in _systems(EXPECTED_LIVENESS) for line in _part(EXPECTED_LIVENESS, name)]
    return "\n".join([HEAD, *parts, FAIR, *fair]).rstrip("\n") + "\n"


def _systems(rows: Mapping[Row, Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(row[0] for row in rows))


def _part(rows: Mapping[Row, Mapping[str, str]], name: str) -> Iterator[str]:
    system, explored = find(name), [(scope, rules) for of, scope, rules in rows if of == name]
    judged: dict[str, dict[str, Property]] = {}
    for scope, rules in explored:
        found = system.properties(system.setting(scope, rules=parse(rules)))
        judged.setdefault(rules, {}).update({claim.id: claim for claim in found})
    claims = {claim: told for each in judged.values() for claim, told in each.items()}
    says = {claim: told.sentence.replace("|", "/") for claim, told in claims.items()} | {"deadlock": DEADLOCK}
    cells = {
        claim: [
            worst(rows, name, claim, rules) if claim in {*each, "deadlock"} else "-" for rules, each in judged.items()
        ]
        for claim in says
    }
    odd = [claim for claim, row in cells.items() if {*row} - {"holds", "-"}]
    yield f"### {name}\n"
    if odd:
        yield f"| property | says | {' | '.join(f'`{rules}`' for rules in judged)} |"
        yield "|---" * (len(judged) + 2) + "|"
        yield from (f"| `{claim}` | {says[claim]} | {' | '.join(cells[claim])} |" for claim in odd)
        yield ""
    goals = [claim for claim, told in claims.items() if told.kind in ("sometimes", "happens") and claim not in odd]
    kept = [claim for claim in says if claim not in odd and claim not in goals]
    for told, names in (("Hold wherever they are asked", kept), ("Goals, each shown", goals)):
        if names:
            yield f"{told}: {', '.join(f'`{claim}`' for claim in names)}.\n"
