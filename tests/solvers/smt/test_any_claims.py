"""What is claimed of `replication` for any number of brokers is what is claimed of a fixed number."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import ANY, System, conjuncts
from kraftcheck.model.language.words import all_of
from kraftcheck.model.systems.replication.log import Log
from kraftcheck.model.systems.replication.state import Broker, Replication
from kraftcheck.solvers.audit.numbers import Places
from kraftcheck.solvers.smt.theory import theory
from tests.solvers.smt.reading.worlds import words

BROKERS = 3
BOUNDS = {"brokers": BROKERS, "replication": BROKERS, "epochs": 2, "unclean-stops": 1}


def reachable(system: System, setting: Any, dice: random.Random) -> Iterator[Replication]:
    """The states of a run of random steps."""
    state = dice.choice(system.initial(setting))
    actions = [
        (action, dict(zip(action.parameters, values, strict=True)))
        for action in system.actions(setting) for values in itertools.product(*action.parameters.values())
    ]  # fmt: skip
    for _ in range(20):
        possible = [(action, given) for action, given in actions if action.enabled(state, given)]
        action, given = dice.choice(possible)
        state = action.outcome(state, given).state
        if state.leader_epoch > setting["epochs"]:
            return
        yield state


def disturbed(state: Replication, dice: random.Random) -> Replication:
    """A state, reachable or not, with other records committed and another log, epoch, or knowledge of brokers."""
    for number in range(BROKERS):
        state = state.with_broker(number, _disturbed(state.brokers[number], dice))
    return evolve(state, committed=Log((dice.randrange(3),)), lossy=False)


def _disturbed(broker: Broker, dice: random.Random) -> Broker:
    changes: list[dict[str, Any]] = [
        {"log": Log((dice.randrange(3),))}, {"epoch": dice.randrange(3)}, {"status": dice.randrange(3)},
        {"isr": BrokerSet(dice.randrange(1 << BROKERS))}, {"proposed": BrokerSet(dice.randrange(1 << BROKERS))},
        {"answer": dice.randrange(4)}, {"high_watermark": dice.randrange(2)},
        {"ends": tuple(dice.randrange(-1, 2) for _ in range(BROKERS))},
    ]  # fmt: skip
    return evolve(evolve(broker, **dice.choice(changes)), **dice.choice(changes[3:]))


@pytest.mark.parametrize("freed", [{"epochs": BOUNDS["epochs"]}, {"unbounded": 1}], ids=["bounded", "unbounded"])
def test_claims_of_any_number_mean_the_same_as_of_three_brokers(freed: Mapping[str, int]) -> None:
    """Each invariant and lemma has the same truth in reachable and disturbed states, and hard ones fail in some."""
    fixed = subject("replication", "tiny", BOUNDS, "fixed")
    anything = subject("replication", "tiny", {"brokers": ANY, **freed}, "fixed", proof=True)
    of = theory(anything.system, anything.setting)
    terms = of.state_truths()
    claims = [*fixed.system.properties(fixed.setting), *fixed.system.lemmas(fixed.setting)]
    compared = {claim.id: claim for claim in claims
                if claim.id in terms and claim.kind == "always" and "controller" not in claim.id}  # fmt: skip
    dice, failed = random.Random(5), set[str]()
    runs = [state for _ in range(4) for state in reachable(fixed.system, fixed.setting, dice)]
    for state in dice.sample(runs, 8):
        # Where budgets have no bound deaths are counted, which the claims of a fixed number read from the budget.
        dead = evolve(state, deaths=BOUNDS["unclean-stops"] - state.left.unclean_stops)
        for seen in (dead, disturbed(dead, dice), disturbed(dead, dice)):
            world = Places(BROKERS, {slot.path: words(slot, seen, BROKERS) for slot in of.program.layout.slots})
            truths = {name: all_of(*conjuncts(claim.predicate(seen), name).values())
                      for name, claim in compared.items()}  # fmt: skip
            assert {name: bool(world.value(terms[name])) for name in compared} == truths
            failed |= {name for name, truth in truths.items() if not truth}
    durability = {"lemma-commits-reach-candidates", "lemma-leaders-hold-committed", "lemma-leader-has-its-epoch",
                  "metadata-match", "lemma-fetched-is-held", "lemma-ends-within-log"}  # fmt: skip
    assert durability <= failed
