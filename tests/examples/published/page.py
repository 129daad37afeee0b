"""docs/reference/published-models.md: the sizes of other people's models, and what a search of each breaks."""

from collections.abc import Iterator

from tests.examples.published.models import BROKEN, MODELS, Model, system_at

HEAD = """# Published models

Specifications of others, written anew as systems, with the numbers of states that TLC finds.

A test compares the distinct states and the depth with those that the manifests of the [TLA+
Examples](https://github.com/tlaplus/Examples) name for TLC, or with TLC's own output; TLC counts states on a path, one
more than the depth. The text of RaftElection is ours (`tests/examples/consensus/RaftElection.tla`): Raft's election
without logs. `python -m tests.examples.published --tlc` measures them beside TLC.
"""


def page() -> str:
    """The text of the page."""
    sizes = [
        "| model | is | distinct states | depth |",
        "|---|---|---|---|",
        *map(_size, sorted(MODELS, key=_distinct)),
    ]
    broken = ["| system | broken claim | in steps |", "|---|---|---|", *_broken()]
    says = "What is false, as a puzzle that has a solution, is broken by a shortest run:"
    return "\n".join([HEAD, *sizes, "", "## What is broken", "", says, "", *broken, ""])


def _distinct(model: Model) -> int:
    return model.distinct


def _size(model: Model) -> str:
    once = " States that differ by names alone are counted once." if model.symmetry else ""
    return f"| `{model.path}` | {system_at(model.place).summary}{once} | {model.distinct:,} | {model.levels - 1} |"


def _broken() -> Iterator[str]:
    for place, claims in BROKEN.items():
        system = system_at(place)
        says = {claim.id: claim.sentence for claim in system.properties(system.setting())}
        yield from (f"| `{place}` | `{claim}`: {says[claim]} | {steps} |" for claim, steps in claims.items())
