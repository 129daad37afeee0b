"""kraftcheck: verifies the replica logic of Apache Kafka's controller, and systems of your own, from one set of rules.

The engines are functions here; so is what a system of your own needs:

    import kraftcheck as kc

    result = kc.explore("elections", scope="tiny", rules="fixed")
    result.assert_holds()

A name is imported when it is first used, so that `import kraftcheck` is quick, and so that the workers of a cluster
load only what they run.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kraftcheck import network, testing
    from kraftcheck.ci.dataset.engine import Answer
    from kraftcheck.ci.interface.engines import FinishedRun, explore, prove, query, simulate
    from kraftcheck.ci.interface.engines import open_run as open  # noqa: A004, as `webbrowser` has it
    from kraftcheck.ci.interface.kafka import Report, ask, check, conform, diff, replay, status, whatif
    from kraftcheck.ci.run.result import Result, States
    from kraftcheck.ci.systems.changed import ChangedSystem, kafka
    from kraftcheck.ci.terminal.refusal import Refusal
    from kraftcheck.model.language.anynumber import keys, map_below, numbers_below, set_below, word_below
    from kraftcheck.model.language.brokersets import BrokerSet, IntSet, Replicas
    from kraftcheck.model.language.brokersets import IntSet as Set
    from kraftcheck.model.language.brokersets import Replicas as Sequence
    from kraftcheck.model.language.collections import Bag, Map, SetOf, equal, maximum, minimum
    from kraftcheck.model.language.layout import Enum, all_where, ints, subset_of, truth
    from kraftcheck.model.language.places import Queue, count, each, get, put, some
    from kraftcheck.model.language.refinement import refines
    from kraftcheck.model.language.symmetry import Symmetry
    from kraftcheck.model.language.system import ANY, Action, Bound, Fairness, Outcome, Property, Setting, Step, System
    from kraftcheck.model.language.terms import Truth, Word
    from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of, pick
    from kraftcheck.model.rules.choice import choice
    from kraftcheck.properties.kinds import (
        always,
        always_eventually,
        eventually,
        eventually_always,
        happens,
        leads_to,
        recovers,
        sometimes,
        step,
        strong_fairness,
        weak_fairness,
    )
    from kraftcheck.solvers.audit.sampling import Sampling
    from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Trace, Unknown, Vacuous
    from kraftcheck.solvers.reference.confirm import EngineDisagreement

_PLACES = {
    "kraftcheck.ci.dataset.engine": ("Answer",),
    "kraftcheck.ci.interface.engines": ("FinishedRun", "explore", "prove", "query", "simulate"),
    "kraftcheck.ci.interface.kafka": ("Report", "ask", "check", "conform", "diff", "replay", "status", "whatif"),
    "kraftcheck.ci.run.result": ("Result", "States"),
    "kraftcheck.ci.systems.changed": ("ChangedSystem", "kafka"),
    "kraftcheck.ci.terminal.refusal": ("Refusal",),
    "kraftcheck.model.language.anynumber": ("keys", "map_below", "numbers_below", "set_below", "word_below"),
    "kraftcheck.model.language.brokersets": ("BrokerSet", "IntSet", "Replicas"),
    "kraftcheck.model.language.collections": ("Bag", "Map", "SetOf", "equal", "maximum", "minimum"),
    "kraftcheck.model.language.layout": ("Enum", "all_where", "ints", "subset_of", "truth"),
    "kraftcheck.model.language.places": ("Queue", "count", "each", "get", "put", "some"),
    "kraftcheck.model.language.refinement": ("refines",),
    "kraftcheck.model.language.symmetry": ("Symmetry",),
    "kraftcheck.model.language.system": (
        "ANY",
        "Action",
        "Bound",
        "Fairness",
        "Outcome",
        "Property",
        "Setting",
        "Step",
        "System",
    ),
    "kraftcheck.model.language.terms": ("Truth", "Word"),
    "kraftcheck.model.language.words": ("all_of", "any_of", "choose", "implies", "negate", "none_of", "pick"),
    "kraftcheck.model.rules.choice": ("choice",),
    "kraftcheck.properties.kinds": (
        "always",
        "always_eventually",
        "eventually",
        "eventually_always",
        "happens",
        "leads_to",
        "recovers",
        "sometimes",
        "step",
        "strong_fairness",
        "weak_fairness",
    ),
    "kraftcheck.solvers.audit.sampling": ("Sampling",),
    "kraftcheck.solvers.reference.confirm": ("EngineDisagreement",),
    "kraftcheck.solvers.program.verdict": ("Holds", "Incomplete", "Refuted", "Trace", "Unknown", "Vacuous"),
}
"""Where each public name lives."""

_HOMES = {name: (place, name) for place, names in _PLACES.items() for name in names}
_HOMES |= {
    alias: ("kraftcheck.model.language.brokersets", name)
    for alias, name in (("Set", "IntSet"), ("Sequence", "Replicas"))
}
"""Names for systems that have nothing to do with brokers."""

_HOMES["open"] = ("kraftcheck.ci.interface.engines", "open_run")

_MODULES = ("network", "testing")
"""Public modules; `import kraftcheck` loads none."""

__all__ = [
    "ANY", "Action", "Answer", "Bag", "Bound", "BrokerSet", "ChangedSystem", "EngineDisagreement", "Enum", "Fairness",
    "FinishedRun", "Holds", "Incomplete", "IntSet", "Map", "Outcome", "Property", "Queue", "Refusal", "Refuted",
    "Replicas", "Report", "Result", "Sampling", "Sequence", "Set", "SetOf", "Setting", "States", "Step", "Symmetry",
    "System", "Trace", "Truth", "Unknown", "Vacuous", "Word", "all_of", "all_where", "always", "always_eventually",
    "any_of", "ask", "check", "choice", "choose", "conform", "count", "diff", "each", "equal", "eventually",
    "eventually_always", "explore", "get", "happens", "implies", "ints", "kafka", "keys", "leads_to", "map_below",
    "maximum", "minimum", "negate", "network", "none_of", "numbers_below", "open", "pick", "prove", "put", "query",
    "recovers", "refines", "replay", "set_below", "simulate", "some", "sometimes", "status", "step", "strong_fairness",
    "subset_of", "testing", "truth", "weak_fairness", "whatif", "word_below",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The public name, imported now.

    Raises:
        AttributeError: for any other name.
    """
    if name in _MODULES:
        return importlib.import_module(f"kraftcheck.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'kraftcheck' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    place, attribute = _HOMES[name]
    value = getattr(importlib.import_module(place), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted({*globals(), *__all__})
