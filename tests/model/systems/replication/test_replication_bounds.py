"""The `replication` system: what its bounds mean, and that every number of brokers can be explored."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import ScopeError, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import happens
from kraftcheck.solvers.program.verdict import Holds, Vacuous
from tests.model.systems.replication.test_replication_settled import explored, setting

REPLICATION = SYSTEMS["replication"]


def a_record_is_lost(t: Step) -> Truth:
    """A crash makes a log shorter."""
    pairs = zip(t.before.brokers, t.after.brokers, strict=True)
    return t.action == "crash" and any_of(*(b.log.end() < a.log.end() for a, b in pairs))


def a_record_survives(t: Step) -> Truth:
    """A crash leaves a log that has records as it is."""
    pairs = zip(t.before.brokers, t.after.brokers, strict=True)
    kept = [all_of(a.running(), b.status > 0, a.log.end() > 0, b.log.end() == a.log.end()) for a, b in pairs]
    return t.action == "crash" and any_of(*kept)


@pytest.mark.parametrize(("loss", "lost"), [(0, Vacuous), (1, Holds)])
def test_loss_bounds_what_an_unclean_stop_loses(loss: int, lost: type[object]) -> None:
    """With `loss 0` no stop loses anything; with 1 it may, and may not, as if the record had been flushed."""
    goals = [happens("lost", "Lost.", a_record_is_lost), happens("kept", "Kept.", a_record_survives)]
    found = explored(evolve(REPLICATION, properties=lambda _: goals), setting("fixed", {"loss": loss}))
    assert [type(v.verdict) for v in found.verdicts if v.claim in ("lost", "kept")] == [lost, Holds]


def test_without_loss_the_last_replica_standing_is_harmless() -> None:
    """The trace that ELR removes needs an unclean stop that loses a record."""
    lossy, lossless = (explored(REPLICATION, setting("fixed-elr-available", {"loss": n})) for n in (1, 0))
    assert lossy.verdict("leader-complete").depth == 7
    assert isinstance(lossless.verdict("leader-complete").verdict, Holds)


def test_lag_limits_how_far_a_running_broker_is_behind() -> None:
    """No running broker falls further behind than the bound, and the verdict says that it was cut there."""
    free, limited, loose = (explored(REPLICATION, setting("fixed", {"lag": n})) for n in (14, 1, 6))
    assert limited.distinct < free.distinct == loose.distinct
    assert (set(limited.pruned), free.pruned) == ({"lag"}, {})
    unpack = limited.program.layout.unpack
    behind = {max((s.leader_epoch - b.epoch for b in s.brokers if b.running()), default=0)
              for s in map(unpack, limited.states())}  # fmt: skip
    assert behind == {0, 1}


MANY: list[Mapping[str, int]] = [
    {"brokers": 4, "replication": 4, "min-isr": 2, "unclean-stops": 0, "shrinks": 1, "fences": 0},
    {"brokers": 5, "replication": 5, "min-isr": 3, "unclean-stops": 0, "shrinks": 1, "fences": 0},
]


@pytest.mark.parametrize("bounds", MANY, ids=lambda bounds: f"{bounds['brokers']} brokers")
def test_four_and_five_brokers_are_explored_to_the_end(bounds: Mapping[str, int]) -> None:
    """With one shrink nothing is refuted, cut or pruned."""
    found = explored(REPLICATION, REPLICATION.setting("small", bounds, parse("fixed")))
    safety = [v for v in found.verdicts if not v.claim.startswith("shows-")]
    assert [v.claim for v in safety if not isinstance(v.verdict, Holds)] == []
    assert (found.cut, dict(found.pruned)) == (None, {})
    assert found.fired["alter_partition"] > 0


TWICE = [
    ("tiny", {}, 112_552),
    pytest.param("small", {"unclean-stops": 0}, 39_059, marks=pytest.mark.slow),
    pytest.param("small", {"fences": 0}, 47_666, marks=pytest.mark.slow),
    pytest.param("small", {"unclean-stops": 0, "shrinks": 1}, 465_763, marks=pytest.mark.slow),
    pytest.param("small", {"fences": 0, "shrinks": 1}, 433_324, marks=pytest.mark.slow),
]
"""Faults beside two changes of min ISR, and the states that makes; by default one unclean stop and one fence."""


@pytest.mark.parametrize(("scope", "bounds", "distinct"), TWICE)
def test_min_isr_may_change_twice_under_faults(scope: str, bounds: Mapping[str, int], distinct: int) -> None:
    """Mended, two changes of the configuration beside deaths, fences and shrinks break nothing and heal."""
    at = REPLICATION.setting(scope, {"config-changes": 2, **bounds}, parse("fixed"))
    found = explored(REPLICATION, at)
    assert [v.claim for v in found.verdicts if not isinstance(v.verdict, Holds)] == []
    assert (found.cut, dict(found.pruned), found.distinct) == (None, {}, distinct)
    assert found.fired["set_min_isr"] > 0


@pytest.mark.parametrize(
    ("members", "isr"), [({}, [0, 1, 2]), ({"initial-isr": 0}, [0, 1, 2]), ({"initial-isr": 2}, [0, 1])]
)
def test_the_isr_starts_with_as_many_replicas_as_the_bound_says(members: Mapping[str, int], isr: list[int]) -> None:
    """Controller and leader both start with the first replicas in the ISR; by default with all of them."""
    (state,) = REPLICATION.initial(REPLICATION.setting("small", members, parse("fixed")))
    assert (state.controller.isr, state.brokers[0].isr) == (BrokerSet.of(isr), BrokerSet.of(isr))
    assert state.controller.elr.is_empty()


LAST_STANDING = [("kip", 2, 253_049, None), ("fixed-elr-available", 2, 199_273, 7),
                 ("fixed-elr-available", 3, 101_100, None)]  # fmt: skip
"""Rules, members of the ISR at the start (2 in the published specification of KIP-966), states, shortest trace."""


@pytest.mark.slow
@pytest.mark.parametrize(("rules", "members", "distinct", "steps"), LAST_STANDING)
def test_only_elr_saves_the_last_replica_standing(rules: str, members: int, distinct: int, steps: int | None) -> None:
    """From 2 of 3 in the ISR a clean leader lacks a committed record after 7 steps; not with ELR, nor from all 3."""
    found = explored(REPLICATION, REPLICATION.setting("small", {"initial-isr": members}, parse(rules)))
    assert (found.distinct, found.verdict("leader-complete").depth) == (distinct, steps)
    assert (found.cut, dict(found.pruned)) == (None, {})


@pytest.mark.parametrize(
    "bounds", [{"min-isr": 3}, {"replication": 3}, {"initial-isr": 1}, {"initial-isr": 3}]
)  # fmt: skip
def test_a_scope_without_a_start_is_refused(bounds: Mapping[str, int]) -> None:
    """More replicas than brokers, a min ISR above the replication factor, or an ISR outside of both, is named."""
    with pytest.raises(ScopeError, match="replication"):
        list(REPLICATION.initial(REPLICATION.setting("tiny", bounds, parse("fixed"))))
