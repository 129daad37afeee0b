"""A search in some orders only, judged by the naive search of all."""

from typing import Any

from attrs import evolve

from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.search.orders import by_orders
from tests.random_systems.building import build
from tests.random_systems.comparison import Case, is_witness
from tests.random_systems.verdicts import plain_word


def explored_in_orders(case: Case, **options: Any) -> Exploration:
    """The native exploration in some orders, without the claims that are refused."""
    judged = tuple(one for one in case.machine.claims if one.kind != "recovers")
    system = build(evolve(case.machine, claims=judged))
    return explore(
        by_orders(trace(system, system.setting())), SearchBudget(cache_dir=case.cache, **options), clock=lambda: 0.0
    )


def agrees_in_orders(case: Case, **options: Any) -> Exploration:
    """The verdicts are the naive ones, witnesses are runs, no shorter than the shortest; what happens is what can."""
    found = explored_in_orders(case, **options)
    left_to_others = {one.id for one in case.machine.claims if one.kind == "recovers"}
    wanted = {name: one for name, one in case.verdicts.items() if name not in left_to_others}
    words = {v.claim: plain_word(v.kind, type(v.verdict).__name__, v.depth) for v in found.verdicts}
    told = {name: one.word for name, one in wanted.items()}
    if [*told] == ["deadlock"] and left_to_others and told["deadlock"] == "Holds":
        told["deadlock"] = "Vacuous"  # nothing is asked of the system that was explored
    case.same("verdicts in some orders", words, told)
    for one in found.verdicts:
        shown = one.verdict.trace if isinstance(one.verdict, Refuted) else getattr(one.verdict, "witness", None)
        if shown is not None:
            is_witness(case, one.claim, shown)
            shortest = wanted[one.claim].length
            shorter = shortest is None or len(shown.steps) < shortest
            case.same(f"{one.claim}: is shorter than the shortest", shorter, False)
    fired = case.graph.fired()
    case.same("what happens", {name for name, n in found.fired.items() if n}, {name for name, n in fired.items() if n})
    case.same("what is cut", set(found.pruned), set(case.graph.pruned()))
    reached = {case.plain(packed) for packed in found.states()}
    case.same("states beyond the space", reached - set(case.graph.depth), set())
    return found
