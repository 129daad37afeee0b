"""The page of the site with the matrix of defects, as `kraftcheck bugs` runs it."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from kraftcheck.ci.systems.lookup import catalogue
from kraftcheck.properties.register.defects import BUGS, Bug

HEAD = """# Defects

Each defect that kraftcheck is tested to find, with the scope that shows it and the properties that it breaks.

A defect is a switch of a rule set: a mistake of a released Kafka, of a design document, or one that was put there on
purpose. With the switch on, exactly the named properties are refuted, with shortest traces of the given lengths. With
it off, every property holds in the same scope. `kraftcheck bugs` explores every row both ways and exits 0 when all of
this is so; `kraftcheck bugs NAME` explores one.

To read the trace of one:

```text
kraftcheck explore SYSTEM --scope SCOPE --rules BASE+DEFECT --property PROPERTY
```

{count} defects in {systems} systems.
"""


def page() -> str:
    """The text of the page."""
    told: Any = catalogue(())["variants"]
    texts = {one["name"]: one["text"] for one in told}
    systems = sorted({bug.system for bug in BUGS}, key=[bug.system for bug in BUGS].index)
    ranked = sorted(BUGS, key=lambda bug: systems.index(bug.system))
    head = HEAD.format(count=len(BUGS), systems=len(systems))
    parts = [line for name, bugs in groupby(ranked, lambda bug: bug.system) for line in _part(name, [*bugs], texts)]
    return "\n".join([head, *parts])


def _part(system: str, bugs: list[Bug], texts: Mapping[str, str]) -> Iterator[str]:
    yield f"## {system}\n"
    yield "| defect | what is so with it | source | scope | property refuted (steps) |"
    yield "|---|---|---|---|---|"
    for bug in bugs:
        said = "; ".join(_said(name, texts) for name in bug.variant.split("+"))
        scope = " ".join([f"`{bug.scope}`", *(f"`--{name} {value}`" for name, value in bug.bounds.items())])
        base = "" if bug.base == "fixed" else f", on `{bug.base}`"
        refuted = ", ".join(f"`{claim}` ({steps})" for claim, steps in bug.refutes.items())
        yield f"| `{bug.variant}`{base} | {said} | {bug.entry} | {scope} | {refuted} |"
    yield ""


def _said(name: str, texts: Mapping[str, str]) -> str:
    """What a switch says; a leading hyphen switches it off."""
    return f"not: {texts[name[1:]]}" if name.startswith("-") else texts[name]
