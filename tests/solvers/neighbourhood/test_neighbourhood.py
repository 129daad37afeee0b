"""The states around a state are those that the rules on ints lead to, joined and placed without losing one."""

from typing import Any

import pytest

from kraftcheck.model.language.system import System
from kraftcheck.solvers.audit.comparison import NativeEngine
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.stepping.neighbourhood import (
    ROWS,
    Grouped,
    Neighbourhood,
    UnknownField,
    field_names,
    grouped,
    neighbourhood,
    places,
)
from kraftcheck.solvers.stepping.session import Session, StepRefused
from tests import toys
from tests.ci.explore.serve.toys import LIFT


def around(system: System, limit: int) -> Neighbourhood:
    """The states around the first initial state."""
    program = trace(system, system.setting())
    return neighbourhood(program, NativeEngine(load_kernel(program)), program.initial[0], limit)


def on_ints(program: Program) -> tuple[dict[Any, int], set[tuple[Any, Any, int]]]:
    """The distance of every state that can follow the first one, and every step, by sessions."""
    first = Session.begin(program)
    distances, steps, waiting = {program.layout.pack(first.state): 0}, set(), [first]
    for session in waiting:
        before = program.layout.pack(session.state)
        for choice in session.enabled:
            try:
                after = session.take(choice.instance)
            except StepRefused:
                continue
            packed = program.layout.pack(after.state)
            steps.add((before, packed, choice.instance))
            if packed not in distances:
                distances[packed] = distances[before] + 1
                waiting.append(after)
    return distances, steps


@pytest.mark.parametrize("system", [toys.CLOCK, toys.DIGRAPH, toys.COUNTER, toys.STUCK, LIFT], ids=lambda one: one.name)
def test_it_holds_what_the_rules_on_ints_lead_to(system: System) -> None:
    """Every state with its distance, every step, and in each state what fails there, deadlock too."""
    found = around(system, 1000)
    distances, steps = on_ints(found.program)
    assert {node.packed: node.distance for node in found.nodes} == distances
    packed = [node.packed for node in found.nodes]
    assert {(packed[edge.source], packed[edge.target], edge.instance) for edge in found.edges} == steps
    assert found.complete
    for number, node in enumerate(found.nodes):
        session = Session.along(found.program, 0, found.way(number))
        assert found.program.layout.pack(session.state) == node.packed
        broken = {one.claim.id for one in session.properties if one.finding == "fails" and one.claim.kind == "always"}
        assert set(node.broken) == broken | ({"deadlock"} if session.deadlock else set())
        assert set(node.breaking) == breaking(session)


def breaking(session: Session) -> set[str]:
    """The step properties that some step from here breaks."""
    broken: set[str] = set()
    for choice in session.enabled:
        try:
            after = session.take(choice.instance)
        except StepRefused:
            continue
        broken |= {one.claim.id for one in after.properties if one.finding == "fails" and one.claim.kind == "step"}
    return broken


def test_a_limit_keeps_the_nearest() -> None:
    """With fewer nodes than states the nearest are kept, and those from which a step leads out are open."""
    whole, cut = around(toys.DIGRAPH, 1000), around(toys.DIGRAPH, 3)
    assert [node.packed for node in cut.nodes] == [node.packed for node in whole.nodes[:3]]
    assert not cut.complete
    kept = {node.packed for node in cut.nodes}
    distances, steps = on_ints(whole.program)
    assert len(distances) > 3
    assert {node.packed for node in cut.nodes if node.open} == {a for a, b, _ in steps if a in kept and b not in kept}


def test_states_are_joined_by_chosen_fields() -> None:
    """Groups share no state and lose none; what fails in one of their states is said of the group."""
    found = around(LIFT, 1000)
    joined = grouped(found, ["floor"])
    assert sum(group.members for group in joined.groups) == len(found.nodes)
    assert [dict(group.values) for group in joined.groups] == [{"floor": str(n)} for n in (0, 1, 3, 2, 4)]
    assert [group.broken for group in joined.groups] == [(), (), (), (), ("below-the-roof",)]
    assert {(edge.source, edge.target): edge.actions for edge in joined.edges}[0, 1] == ("rise",)
    assert all(edge.source != edge.target for edge in joined.edges)
    apart = grouped(found, [])
    assert (len(apart.groups), apart.groups[0].values) == (len(found.nodes), {})
    assert len(grouped(found, ["floor", "open"]).groups) == len(found.nodes)


def test_the_only_field_of_a_state_joins_too() -> None:
    """The field of a state with one field has a name, though its leaf has no path."""
    found = around(toys.CLOCK, 10)
    assert field_names(found.program.layout) == ("hand",)
    assert len(grouped(found, ["hand"]).groups) == 2


def test_an_unknown_field_is_named() -> None:
    """A field that the states do not have is refused with the nearest one."""
    with pytest.raises(UnknownField, match="states have no field 'flor'; did you mean floor"):
        grouped(around(LIFT, 10), ["floor", "flor"])


def check_placed(drawn: Grouped) -> None:
    """Groups have places of their own, in columns by distance, none of them too high."""
    placed = places(drawn)
    assert len(set(placed)) == len(placed) == len(drawn.groups)
    by_column: dict[int, set[int]] = {}
    for place, group in zip(placed, drawn.groups, strict=True):
        by_column.setdefault(place.column, set()).add(group.distance)
    assert all(len(distances) == 1 for distances in by_column.values())
    assert [min(by_column[column]) for column in sorted(by_column)] == sorted(min(d) for d in by_column.values())
    rows = [[one.row for one in placed if one.column == column] for column in by_column]
    assert max(map(len, rows)) <= ROWS
    assert all(abs(min(row) + max(row)) < 1e-9 for row in rows)


def test_groups_stand_in_layers() -> None:
    """Each column has one distance, they run from left to right, and a wide layer takes several."""
    check_placed(grouped(around(toys.DIGRAPH, 1000), []))
    wide = grouped(around(toys.TWO_PHASE, 500), [])
    check_placed(wide)
    distances = [group.distance for group in wide.groups]
    assert max(map(distances.count, distances)) > ROWS


def test_the_order_in_the_layers_avoids_crossings() -> None:
    """Two chains that begin in the wrong order do not cross once they are placed."""
    drawn = grouped(around(toys.DIGRAPH, 1000), [])
    placed = places(drawn)
    assert crossings(drawn, [place.row for place in placed]) <= crossings(drawn, list(map(float, range(len(placed)))))


def crossings(drawn: Grouped, rows: list[float]) -> int:
    """Pairs of edges between the same two layers that cross."""
    level = [group.distance for group in drawn.groups]
    forward = [edge for edge in drawn.edges if level[edge.target] == level[edge.source] + 1]
    return sum(
        level[a.source] == level[b.source] and (rows[a.source] - rows[b.source]) * (rows[a.target] - rows[b.target]) < 0
        for index, a in enumerate(forward) for b in forward[:index]
    )  # fmt: skip
