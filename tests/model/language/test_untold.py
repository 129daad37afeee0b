"""What has no truth says so, on ints as on terms, so that no rule takes an empty collection for one that is not."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from kraftcheck.model.language import anynumber, brokersets, collections, idlists, network, places, words
from kraftcheck.model.language.layout import Layout
from kraftcheck.model.language.symbolic import Symbolic, Untold, UntraceableRule, record_fields
from kraftcheck.model.language.system import ANY
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.rules.ruleset import PRESETS
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.program.symbols import state_symbols

LANGUAGE = "kraftcheck.model.language."


def parts(value: Any) -> Iterator[Any]:
    """The values of a state that are neither words nor records of a system's own, at whatever depth."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif type(value).__module__.startswith(LANGUAGE) and not isinstance(value, Symbolic | int):
        yield value
    elif not isinstance(value, Symbolic):
        for name in record_fields(type(value)) or ():
            yield from parts(getattr(value, name))


def states(layout: Layout) -> Iterator[Any]:
    """A state of terms, and where the layout lists values one of ints."""
    yield state_symbols(Graph(), layout)[1]
    with contextlib.suppress(AttributeError, TypeError):  # of any number
        yield layout.state([slot.domain.lo for slot in layout.slots])


WITH_SETS = (
    "elections", "replication", "directories", "kraft", "sessions", "unclean-recovery", "zk-controller", "elr-index",
)  # fmt: skip
"""Systems whose states have collections, and not words alone."""


@pytest.mark.parametrize("name", WITH_SETS)
def test_no_collection_of_a_state_has_a_truth(name: str) -> None:
    """Neither true nor false, nor unequal to a value of another class; the line of the question stands first."""
    system = SYSTEMS[name]
    few = Layout(system.layout(system.setting(rules=PRESETS["fixed"])))
    found = [part for state in states(few) for part in parts(state)]
    for part in found:
        with pytest.raises(UntraceableRule, match=rf"^{__file__}:\d+: a {type(part).__name__} was used as a condition"):
            bool(part)
        for other in ({0}, [0], (0,), 0, "", None):
            for compare in (lambda a, b: a == b, lambda a, b: a != b, lambda a, b: b == a):
                with pytest.raises(UntraceableRule, match=rf"^{__file__}:\d+: a {type(part).__name__} is compared"):
                    compare(part, other)
    assert found


@pytest.mark.parametrize("name", ["elections", "directories", "replication"])
def test_neither_has_one_of_any_number(name: str) -> None:
    """So do sets and maps of any number of brokers."""
    system = SYSTEMS[name]
    layout = Layout(system.layout(system.setting("tiny", {"brokers": ANY}, PRESETS["fixed"], proof=True)), packed=False)
    found = [*parts(state_symbols(Graph(), layout)[1])]
    assert found
    for part in found:
        with pytest.raises(UntraceableRule, match="was used as a condition"):
            bool(part)


MODULES = (anynumber, brokersets, collections, idlists, network, places, words)
QUESTIONS = ("is_empty", "or_else", "has", "get")
"""What only a collection, or a field that may be absent, is asked."""


def test_every_kind_of_collection_has_none() -> None:
    """Each class of the language that is asked for its members refuses to be a condition."""
    kinds = {kind for module in MODULES for _, kind in inspect.getmembers(module, inspect.isclass)
             if kind.__module__.startswith(LANGUAGE) and any(name in vars(kind) for name in QUESTIONS)
             and not getattr(kind, "_is_protocol", False)}  # fmt: skip
    assert len(kinds) >= 10
    assert {kind.__name__ for kind in kinds if not issubclass(kind, Untold | Symbolic)} == set()
