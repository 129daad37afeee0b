"""What the runs that suffer faults explore, and what they have to find."""

from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.model.language.system import Action, Property, Setting
from kraftcheck.model.language.words import negate
from kraftcheck.properties.kinds import recovers
from tests import toys
from tests.shared.commands import kraftcheck


def _claims(setting: Setting) -> list[Property]:
    every = toys.HASTY.properties
    assert callable(every)
    return [
        *every(setting),
        recovers("undecided", "The decision can be undone.", lambda s: s.manager == toys.INIT),
        recovers("decided", "A decision can be made.", lambda s: s.manager != toys.INIT),
    ]


def _actions(setting: Setting) -> list[Action]:
    every = toys.HASTY.actions
    assert callable(every)
    return [
        *every(setting),
        Action(
            "heal",
            guard=lambda s: {"undecided": s.manager == toys.INIT, "someone": negate(s.aborted.is_empty())},
            effect=lambda s: evolve(s, aborted=s.aborted.none()),
        ),
    ]


HEALING = evolve(toys.HASTY, name="hasty-healing", properties=_claims, actions=_actions)
"""A system with a property that is refuted, goals, two searches backward, and steps to states of each earlier level."""

APART = ("engine", "seconds", "rates", "audit", "spark", "disk", "dataset", "versions")
"""What a document says of the engine and not of the space."""


@frozen
class Space:
    """A space, and the states of the first level that the native start leaves to the engine."""

    scope: int
    handover: int

    @property
    def words(self) -> tuple[str, ...]:
        """What the command line explores."""
        return ("explore", f"{__name__}:HEALING", "--scope", str(self.scope), "--quiet")

    def native(self) -> Any:
        """What the native engine says of it."""
        return said(kraftcheck(*self.words, "--json", "-").document())


SMALL, MEDIUM = Space(5, 1000), Space(7, 20_000)


def said(document: Any) -> Any:
    """What a document says of a space; a property's trace may be another one of the same length."""
    kept = {name: value for name, value in document.items() if name not in APART}
    kept["states"] = {name: document["states"][name] for name in ("distinct", "generated", "depth", "levels")}
    kept["properties"] = [_property(one) for one in document["properties"]]
    return kept


def _property(told: Any) -> Any:
    trace = told["trace"]
    return {**told, "trace": None if trace is None else len(trace["steps"])}


def assert_whole(out: Path) -> None:
    """Every committed byte is what was committed, the space is complete, and nothing else is left."""
    data = Dataset.open(out, verify=True)
    assert data.complete
    assert sorted((out / "levels").rglob("*.parquet")) == sorted(map(Path, map(str, data.files())))
    assert not [path.name for path in (out / "levels").iterdir() if path.name.startswith(".")]
    assert not (out / ".driver.lease").exists()
