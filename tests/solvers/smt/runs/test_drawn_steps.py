"""Small drawn systems, each judged by all its states and runs: what provers and bounded runs say of them is so."""

import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import z3
from attrs import evolve

import kraftcheck as kc
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Unknown, Verdict
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.spacer import Horn, infer
from tests.solvers.smt.runs.graphs import CLAIMS, NODES, PLACES, Drawn, Place, among, drawn, of, reached

EFFORT = Effort(timeout=60)

Runs = Sequence[tuple[Place | None, Place]]
"""The last step of runs: the place before it, none of an initial state, and the one after it."""


def searched(one: Drawn, depth: int) -> tuple[dict[str, int], int | None]:
    """The shortest run that breaks each claim, and in which step one may first leave the layout while some is open."""
    ends: Runs = [(None, place) for place in one.initial]
    found, fault = dict[str, int](), None
    for length in range(depth + 1):
        if len(found) == len(CLAIMS):
            break
        if length:
            places = [*dict.fromkeys(after for _, after in ends)]
            fault = length if fault is None and one.leaves(places) else fault
            ends = [(place, to) for place in places for to in one.taken(place)]
        broken = {claim for claim in CLAIMS if any(one.breaks(claim, *end) for end in ends)}
        found |= dict.fromkeys(broken - {*found}, length)
    return found, fault


def inductive(one: Drawn, k: int) -> dict[str, str]:
    """What k-induction says of each claim, in a word."""
    refuted, fault = searched(one, k)
    said, open_ = dict.fromkeys(refuted, "Refuted"), [claim for claim in CLAIMS if claim not in refuted]
    if fault is not None:
        return said | dict.fromkeys(open_, "Incomplete")
    while open_:
        places = [place for place in PLACES if not any(one.breaks(claim, None, place) for claim in open_)]
        ends = [(place, to) for place in places for to in one.taken(place)]
        for _ in range(k - 1):
            kept = [end for end in ends if not any(one.breaks(claim, *end) for claim in open_)]
            places = [*dict.fromkeys(after for _, after in kept)]
            ends = [(place, to) for place in places for to in one.taken(place)]
        failed = [claim for claim in open_ if any(one.breaks(claim, *end) for end in ends)]
        if not failed:
            return said | dict.fromkeys(open_, "Unknown" if one.leaves(places) else "Holds")
        said |= dict.fromkeys(failed, "Unknown")
        open_ = [claim for claim in open_ if claim not in failed]
    return said


def lengths(verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    """The lengths of the counterexamples found."""
    return {claim: len(one.trace.steps) for claim, one in verdicts.items() if isinstance(one, Refuted)}


LEAVING = (30, 130, 211, 233, 417, 484, 588)
"""Systems with a step that leaves the layout where a claim is open, or from a state from which it might be."""


def described(one: Drawn) -> kc.System:
    """A system whose initial states are those of which a rule holds."""
    rule = kc.all_where(lambda state: {"initial": among(state, one.initial)})
    return evolve(one.system(), initial=lambda setting: [rule])


@pytest.mark.parametrize("seeds", [range(12), range(12, 24), LEAVING], ids=["some", "others", "leaving"])
def test_runs_find_and_prove_what_all_runs_say(seeds: Sequence[int]) -> None:
    """Each claim has the shortest counterexample that there is, or none; and by k-induction what that says of it."""
    seen = set[str]()
    for seed in seeds:
        one, k = drawn(seed), 1 + seed % 3
        subject = of(described(one) if seed % 2 else one.system())
        found = check_bounded(subject, CLAIMS, 3, EFFORT, threading.Event())
        wanted, fault = searched(one, 3)
        assert lengths(found) == wanted, seed
        for claim in {*CLAIMS} - {*wanted}:
            told = found[claim]
            assert isinstance(told, Incomplete)
            assert (f"may leave its domain in step {fault}:" in told.cut) == (fault is not None)
            assert told.cut.startswith(f"no counterexample of at most {3 if fault is None else fault - 1} steps")
        proven = check_inductive(subject, CLAIMS, k, EFFORT, threading.Event())
        said = {claim: type(verdict).__name__ for claim, verdict in proven.items()}
        assert said == inductive(one, k), (seed, k)
        seen |= {*said.values()}
    assert seen >= {"Refuted", "Unknown", "Incomplete" if seeds is LEAVING else "Holds"}


def supported(one: Drawn) -> tuple[set[str], list[Place]]:
    """The claims that support each other, and the places that have the invariants among them."""
    known = [claim for claim in CLAIMS if not any(one.breaks(claim, None, place) for place in one.initial)]
    while True:
        places = [place for place in PLACES if not any(one.breaks(claim, None, place) for claim in known)]
        ends = [(place, to) for place in places for to in one.taken(place)]
        kept = [claim for claim in known if not any(one.breaks(claim, *end) for end in ends)]
        if len(kept) == len(known) or {*known} - {*kept} <= {*one.allowed}:  # nothing rests on claims about steps
            return {*kept}, places
        known = kept


@pytest.mark.parametrize("seeds", [range(20), LEAVING], ids=["some", "leaving"])
def test_induction_proves_just_what_is_inductive(seeds: Sequence[int]) -> None:
    """The claims that support each other are proven, no other, and the field is told that may leave its domain."""
    said = set[tuple[bool, int]]()
    for seed in seeds:
        one = drawn(seed)
        subject = of(described(one) if seed % 2 else one.system())
        wanted, places = supported(one)
        proof = prove(lambda subject=subject: subject, effort=EFFORT, clock=time.monotonic)  # type: ignore[misc]
        assert {claim for claim in CLAIMS if proof.inductive(claim)} == wanted, seed
        leaves = one.leaves(places)
        beyond = any(led[place][0] >= NODES for led in one.steps.values() for place in places if place in led)
        assert (proof.faults(), proof.bounded()) == (["node"] * leaves, ["node"] * beyond), seed
        assert {claim for claim in CLAIMS if proof.proven(claim)} == (set() if leaves else wanted)
        said.add((leaves, len(wanted)))
    assert len(said) > 2


def bits_of(horn: Horn, places: Sequence[Place]) -> Any:
    """That the bits of a state are those of one of some places."""
    rows = [[*(node >> at & 1 for at in range(len(horn.bits) - 1)), flag] for node, flag in places]
    each = [[bit == z3.BoolVal(bool(value)) for bit, value in zip(horn.bits, row, strict=True)] for row in rows]
    return z3.Or(z3.BoolVal(False), *(z3.And(*one) for one in each))


def test_a_strengthening_is_confirmed_just_where_it_is_one() -> None:
    """It has the initial states, no step leads out of it or leaves the layout from it, and the claim holds in it."""
    said = {True: 0, False: 0}
    for seed in range(24):
        one, dice = drawn(seed), random.Random(seed)
        horn, closed = Horn(of(described(one) if seed % 2 else one.system()), "first"), reached(one)
        tries = [[*closed], [*closed][1:], [*closed, dice.choice(PLACES)], one.good["first"]]
        for places in tries:
            wanted = (
                {*one.initial} <= {*places} <= {*one.good["first"]}
                and all(to in places for place in places for to in _all_from(one, place))
                and not one.leaves(places)
            )
            assert horn.confirms(bits_of(horn, places), EFFORT) == wanted, (seed, places)
            said[wanted] += 1
    assert min(said.values()) > 5


def _all_from(one: Drawn, place: Place) -> Iterator[Place]:
    """Where steps lead to, those beyond a cap too: Spacer's states are bits."""
    yield from (led[place] for led in one.steps.values() if place in led)


def test_spacer_proves_just_what_holds() -> None:
    """Where steps stay in the layout it proves each invariant that holds, and none that fails or is left."""
    said = set[bool]()
    for seed in range(12):
        one = drawn(seed)
        holds = reached(one) <= {*one.good["second"]} and not one.leaves([*reached(one)])
        found = infer(of(one.system()), "second", EFFORT).verdict
        if one.capped and any(to[0] >= NODES for led in one.steps.values() for to in led.values()):
            assert holds or isinstance(found, Unknown), seed
            continue
        assert isinstance(found, Holds if holds else Unknown), seed
        said.add(holds)
    assert said == {True, False}
