"""The `zk-controller` system: its procedures by hand, its cost, and the promises that can fail."""

import time

import pytest

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.zk_controller.control import decide
from kraftcheck.model.systems.zk_controller.state import Decision
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds
from tests.shared.places import DOCS

ZK_CONTROLLER = SYSTEMS["zk-controller"]

PAGE = DOCS / "explanation" / "systems" / "zk-controller.md"
BOTH, ZERO, ONE = BrokerSet(3), BrokerSet(1), BrokerSet(2)


@pytest.mark.parametrize(
    ("version", "isr", "live", "wanted"),
    [
        (1, BOTH, ONE, (1, ONE)), (1, BOTH, BOTH, (0, BOTH)), (1, ZERO, ONE, (1, ONE)),
        (0, BrokerSet(), BOTH, (0, BOTH)), (1, ZERO, BOTH, (0, ZERO)), (3, BrokerSet(), ONE, (1, ONE)),
    ],
)  # fmt: skip
def test_a_member_of_the_isr_comes_first(
    version: int, isr: BrokerSet, live: BrokerSet, wanted: tuple[int, BrokerSet]
) -> None:
    """A live ISR member leads with the live members; else a live replica alone; a new partition takes all who live."""
    assert decide(Decision(version, 0, isr), live, parse("fixed").zk_controller) == wanted


@pytest.mark.parametrize("scope", ["tiny", "sessions"])
def test_an_outsider_waits_where_it_has_to(scope: str) -> None:
    """Where an outsider may not lead nothing is given up, and a partition with a live ISR member is led."""
    program = trace(ZK_CONTROLLER, ZK_CONTROLLER.setting(scope, rules=parse("fixed+outsiders-wait")))
    found = explore(program, SearchBudget(threads=1, cache_dir=cache_folder(), keep=False), clock=time.perf_counter)
    verdicts = {v.claim: v.verdict for v in found.verdicts}
    assert isinstance(verdicts["nothing-is-given-up"], Holds)
    assert [claim for claim, verdict in verdicts.items() if not isinstance(verdict, Holds)] == []


@pytest.mark.parametrize("rules", ["fixed", "fixed+failover-skips-republishing+decisions-one-by-one"])
def test_leader_and_controller_may_be_one(rules: str) -> None:
    """A leader that is the controller too dies: every promise is kept, unless the next one does not publish again."""
    bounds = {"controller-is-broker": 1, "controller-failures": 0}
    program = trace(ZK_CONTROLLER, ZK_CONTROLLER.setting("tiny", bounds, parse(rules)))
    found = explore(program, SearchBudget(threads=1, cache_dir=cache_folder(), keep=False), clock=time.perf_counter)
    broken = {v.claim: v.depth for v in found.verdicts if not isinstance(v.verdict, Holds)}
    assert broken == ({} if rules == "fixed" else {"decisions-are-published": 7, "few-operations": 7})


def test_costs_are_those_of_the_document() -> None:
    """10,000 partitions at 2 ms take 20 s, or one multi; the table of the page has what the figures give."""
    text = PAGE.read_text(encoding="utf-8")
    for partitions in (100, 1000, 10_000):
        plain, multi = (partitions + 10) * 2 / 1000, 2 / 1000
        assert f"| {partitions:,} | {partitions:,} + 10 | {plain:.3f} s | 1 | {multi:.3f} s |" in text
    assert plain // 1 == 20
