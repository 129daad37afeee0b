"""The `unclean-recovery` system: steps by hand, the choices that must break a promise, machine code against ints."""

from __future__ import annotations

import functools
import time
from typing import Any

import attrs
import pytest

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.rules.groups import UncleanRecoveryRules
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.unclean_recovery.state import (
    CUT,
    DOWN,
    ELECTED,
    FAILED,
    IDLE,
    LOGS,
    ONLINE,
    PENDING,
    UNSERVED,
    Recovery,
)
from kraftcheck.model.systems.unclean_recovery.tool import LOST, REFUSED, SERVED
from kraftcheck.model.unclean_recovery.choice import NOBODY
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from tests.shared.places import DOCS
from tests.shared.samples import few, one_in
from tests.shared.successors import agree_with_ints

UNCLEAN_RECOVERY = SYSTEMS["unclean-recovery"]

PAGE = DOCS / "explanation" / "systems" / "unclean-recovery.md"
COMPLETE, STALE, LONG = LOGS[2], LOGS[1], LOGS[4]


def start(first: tuple[int, int, int] = STALE, second: tuple[int, int, int] = COMPLETE) -> Recovery:
    """One partition whose replicas on brokers 1 and 2 have these logs."""
    setting = UNCLEAN_RECOVERY.setting("small", {"disks": 1, "replacements": 1}, parse("fixed"))

    def fits(state: Recovery) -> bool:
        logs = [(r.written, r.length, r.held) for r in state.partitions[0].replicas]
        return logs[1:] == [first, second]

    return next(state for state in UNCLEAN_RECOVERY.initial(setting) if fits(state))


def pair() -> Recovery:
    """Two partitions; a request is served for one."""
    return UNCLEAN_RECOVERY.initial(UNCLEAN_RECOVERY.setting("requests", rules=parse("fixed")))[0]


def do(state: Recovery, name: str, rules: str = "fixed", /, **arguments: Any) -> Outcome:
    """One action, which must be enabled."""
    bounds = {"partitions": len(state.partitions), "disks": 1, "replacements": 1}
    setting = UNCLEAN_RECOVERY.setting("small", bounds, parse(rules))
    action = next(a for a in UNCLEAN_RECOVERY.actions(setting) if a.name == name)
    assert action.enabled(state, arguments), action.guards(state, arguments)
    return action.outcome(state, arguments)


def enabled(state: Recovery, name: str, **arguments: Any) -> bool:
    """Whether an action is enabled."""
    setting = UNCLEAN_RECOVERY.setting("small", {"partitions": len(state.partitions), "disks": 1}, parse("fixed"))
    action = next(a for a in UNCLEAN_RECOVERY.actions(setting) if a.name == name)
    return bool(action.enabled(state, arguments))


def asked(state: Recovery, *brokers: int, rules: str = "fixed") -> Recovery:
    """After the start of a run, answers of these brokers, and the deadline."""
    state = do(state, "start", rules).state
    for broker in brokers:
        state = do(state, "answer", rules, broker=broker).state
    while state.clock:
        state = do(state, "tick", rules).state
    return state


def results(state: Recovery) -> list[Any]:
    """What the tool holds of each partition."""
    return [p.result for p in state.partitions]


@pytest.mark.parametrize(
    ("first", "brokers", "chosen"),
    [(STALE, (1, 2), 2), (STALE, (1,), 1), (COMPLETE, (2, 1), 1), (LONG, (1, 2), 2), (STALE, (), NOBODY)],
)
def test_the_best_answer_is_chosen(first: tuple[int, int, int], brokers: tuple[int, ...], chosen: int) -> None:
    """Highest epoch before longest log, the first of equals, of those that answered in time."""
    decided = do(asked(start(first), *brokers), "decide").state
    assert decided.partitions[0].chosen == chosen
    assert decided.partitions[0].candidates == BrokerSet.of(brokers)
    assert results(decided) == [PENDING if brokers else FAILED]


def test_an_election_is_unclean_and_counted() -> None:
    """The chosen broker is the leader and the whole ISR, the leader epoch rises, and the run exits zero."""
    elected = do(do(asked(start(), 1, 2), "decide").state, "request", outcome=SERVED).state
    p = elected.partitions[0]
    assert (p.leader, p.isr, p.elr, p.epoch, p.result) == (2, BrokerSet.of([2]), BrokerSet(), 4, ELECTED)
    assert p.recovering
    ended = do(elected, "finish")
    assert (ended.event.ended, ended.event.zero, ended.state.phase) == (True, True, IDLE)


@pytest.mark.parametrize(("rules", "zero"), [("fixed", True), ("kip", False)])
def test_a_lost_response_is_retried(rules: str, zero: bool) -> None:
    """The retry finds the leader that the first request elected: success, but for the document's words."""
    lost = do(do(asked(start(), 2, rules=rules), "decide", rules).state, "request", rules, outcome=LOST).state
    assert (lost.partitions[0].leader, results(lost), lost.tries) == (2, [PENDING], 3)
    again = do(lost, "request", rules, outcome=SERVED).state
    assert (again.partitions[0].epoch, results(again)) == (lost.partitions[0].epoch, [ONLINE])
    assert do(again, "finish", rules).event.zero == zero


def test_retries_run_out() -> None:
    """Three retries are four tries; then the partition has failed and the exit is not zero."""
    state = do(asked(start(), 2), "decide").state
    for _ in range(4):
        assert results(state) == [PENDING]
        state = do(state, "request", outcome=REFUSED).state
    assert (results(state), state.partitions[0].leader) == ([FAILED], -1)
    assert not do(state, "finish").event.zero


def test_an_elr_replica_that_returns_first_stays() -> None:
    """The request finds a leader and changes nothing."""
    decided = do(asked(start(), 1, 2), "decide").state
    back = do(decided, "come_back", broker=0).state
    assert (back.partitions[0].leader, back.partitions[0].isr) == (0, BrokerSet.of([0]))
    after = do(back, "request", outcome=SERVED).state
    assert (after.partitions[0].leader, results(after)) == (0, [ONLINE])


@pytest.mark.parametrize(("rules", "result"), [("fixed", FAILED), ("fixed+recovery-ignores-new-epochs", ELECTED)])
def test_answers_of_before_a_leader_do_not_count(rules: str, result: int) -> None:
    """A leader came and went since the tool began: the election is refused, unless nothing binds it."""
    state = do(asked(start(COMPLETE, STALE), 1, 2), "decide").state
    led = do(do(state, "come_back", broker=0).state, "write", partition=0).state
    copied = do(led, "replicate", partition=0, broker=2).state
    gone = do(copied, "fail", broker=0, status=DOWN).state
    assert [r.held for r in gone.partitions[0].replicas] == [3, 2, 3]
    assert results(do(gone, "request", rules, outcome=SERVED).state) == [result]


@pytest.mark.parametrize(
    ("rules", "result"), [("fixed", FAILED), ("fixed+designated-election-without-broker-epoch", ELECTED)]
)
def test_answers_of_an_earlier_incarnation_do_not_count(rules: str, result: int) -> None:
    """The chosen broker restarts on an empty disk: it is not elected, unless nothing binds it to its answer."""
    state = do(asked(start(STALE, COMPLETE), 1, 2), "decide").state
    replaced = do(state, "replace_disk", broker=2).state
    assert ([r.held for r in replaced.partitions[0].replicas], replaced.incarnations) == ([2, 1, 0], (0, 0, 1))
    after = do(replaced, "request", rules, outcome=SERVED).state
    assert (results(after), after.partitions[0].leader == 2) == ([result], result == ELECTED)


def test_an_answer_of_the_new_disk_counts() -> None:
    """Who lost its disk before it answered may be elected, for what it has then."""
    empty = do(start(STALE, COMPLETE), "replace_disk", broker=2).state
    both = do(asked(empty, 1, 2), "decide").state
    assert (both.partitions[0].chosen, both.partitions[0].chosen_in) == (1, 0)
    alone = do(asked(empty, 2), "decide").state
    assert results(do(alone, "request", outcome=SERVED).state) == [ELECTED]


def test_a_tool_that_dies_leaves_the_controller_alone() -> None:
    """Killed in the middle of a run it reports nothing, and the eligible broker leads when it is back."""
    killed = do(do(asked(start(), 1, 2), "decide").state, "fail_tool")
    assert (killed.event.ended, killed.state.phase, killed.state.partitions[0].chosen) == (False, IDLE, NOBODY)
    assert do(killed.state, "come_back", broker=0).state.partitions[0].leader == 0
    blocked = do(asked(start(), 1, 2), "come_back", "fixed+recovery-run-blocks-elections", broker=0).state
    assert blocked.partitions[0].leader == -1


def test_a_fenced_broker_answers_in_vain() -> None:
    """The operator reaches what the controller does not."""
    cut = do(start(), "fail", broker=2, status=CUT).state
    state = do(do(asked(cut, 1, 2), "decide").state, "request", outcome=SERVED).state
    assert (state.partitions[0].chosen, results(state)) == (2, [FAILED])
    assert not enabled(do(do(start(), "fail", broker=2, status=DOWN).state, "start").state, "answer", broker=2)


def test_a_failed_directory_is_no_candidate() -> None:
    """The answer is an error, and the other replica is chosen."""
    broken = do(start(), "fail_disk", partition=0, broker=2).state
    assert do(asked(broken, 1, 2), "decide").state.partitions[0].chosen == 1


def test_two_partitions_take_two_answers_and_two_requests() -> None:
    """With a limit of one, HasMoreData asks again, and what one request leaves the next one serves."""
    once = do(do(pair(), "start").state, "answer", broker=2).state
    assert ([p.answers[2].given for p in once.partitions], once.finished) == ([True, False], BrokerSet())
    twice = do(once, "answer", broker=2).state
    assert ([p.answers[2].given for p in twice.partitions], twice.finished) == ([True, True], BrokerSet.of([2]))
    decided = do(do(twice, "tick").state, "tick").state if twice.clock == 2 else do(twice, "tick").state
    served = do(do(decided, "decide").state, "request", outcome=SERVED).state
    assert results(served) == [ELECTED, PENDING]
    assert results(do(served, "request", outcome=SERVED).state) == [ELECTED, ELECTED]
    careless = do(do(decided, "decide").state, "request", "fixed+recovery-ignores-request-limit", outcome=SERVED).state
    assert results(careless) == [ELECTED, UNSERVED]


def test_a_signal_ends_the_run() -> None:
    """What is pending has failed; a partial success does not exit zero."""
    decided = do(asked(pair(), 2, 2), "decide").state
    stopped = do(do(decided, "request", outcome=SERVED).state, "interrupt").state
    assert results(stopped) == [ELECTED, FAILED]
    assert not do(stopped, "finish").event.zero


def test_a_second_run_changes_nothing() -> None:
    """It finds every partition online, asks nobody, and exits zero."""
    first = do(do(asked(start(), 2), "decide").state, "request", outcome=SERVED).state
    again = do(do(first, "finish").state, "start").state
    assert (results(again), enabled(again, "answer", broker=2)) == ([ONLINE], False)
    ended = do(do(again, "decide").state, "finish")
    assert (ended.event.zero, ended.state.partitions[0].epoch) == (True, first.partitions[0].epoch)


def traced(scope: str, rules: str) -> Program:
    """The system at a setting."""
    return trace(UNCLEAN_RECOVERY, UNCLEAN_RECOVERY.setting(scope, rules=parse(rules)))


@functools.cache
def explored(scope: str, rules: str) -> Exploration:
    """The whole exploration."""
    program = traced(scope, rules)
    return explore(program, SearchBudget(threads=1, cache_dir=cache_folder(), keep=False), clock=time.perf_counter)


def refutations(scope: str, rules: str) -> set[str]:
    """What an exploration refutes."""
    return {v.claim for v in explored(scope, rules).verdicts if isinstance(v.verdict, Refuted)}


OWN = sorted(f.name for f in attrs.fields(UncleanRecoveryRules))
NAMED = {
    variant: claim
    for claim in UNCLEAN_RECOVERY.properties(UNCLEAN_RECOVERY.setting(rules=parse("fixed")))
    for variant in claim.refuted_by
}


def test_every_choice_is_named_by_a_property_and_in_the_matrix() -> None:
    """Each choice of the group refutes something by name, and has a row with the length of its trace."""
    names = {name.replace("_", "-") for name in OWN}
    assert {name for variant in NAMED for name in variant.split("+")} >= names
    assert {name for bug in BUGS for name in bug.variant.split("+")} >= names
    claims = UNCLEAN_RECOVERY.properties(UNCLEAN_RECOVERY.setting(rules=parse("fixed")))
    pairs = {(variant, claim.id) for claim in claims for variant in claim.refuted_by}
    assert pairs <= {(bug.variant, claim) for bug in BUGS for claim in bug.refutes}


@pytest.mark.parametrize(
    "case",
    one_in(2, [
        ("recovery-trusts-current-epoch", "loses-least", "tiny"),
        ("recovery-ignores-new-epochs", "loses-least", "returning"),
        ("recovery-online-is-failure", "zero-exactly-when-led", "requests"),
    ]),
)  # fmt: skip
def test_a_mend_keeps_the_promise(case: tuple[str, str, str]) -> None:
    """What the document breaks holds once all its faults are mended, and breaks with this one alone."""
    choice, promise, scope = case
    assert parse("kip").value(choice.replace("-", "_"))
    assert promise in refutations(scope, f"fixed+{choice}")
    assert not refutations(scope, "fixed")


@pytest.mark.parametrize("case", one_in(2, [("requests", "kip", 150), ("returning", "fixed", 2000)]))
def test_machine_code_agrees_with_ints(case: tuple[str, str, int]) -> None:
    """All action instances have the same result both ways; sampled: every n-th reachable state."""
    scope, rules, every = case
    program = traced(scope, rules)
    sample = list(explore(program, clock=time.perf_counter).states())[::every]
    assert len(sample) > 100
    agree_with_ints(program, few(sample))


def test_the_page_tells_the_lengths() -> None:
    """The table of broken promises has the lengths of the expected verdicts, and the mended rules break none."""
    table = PAGE.read_text(encoding="utf-8").split("| promise |")[1].split("\n\n")[0].splitlines()
    scopes = [cell.strip() for cell in table[0].strip("|").split("|")]
    broken = {row[1]: odd for row, odd in EXPECTED.items() if row[0] == "unclean-recovery" and row[2] == "kip"}
    assert scopes == list(broken) == list(UNCLEAN_RECOVERY.scopes)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
    told = {claim.strip("`"): cells for claim, *cells in rows}
    assert set(told) == {claim for odd in broken.values() for claim in odd}
    for claim, cells in told.items():
        assert cells == [odd.get(claim, "-").removeprefix("refuted ") for odd in broken.values()], claim
    assert not any(EXPECTED["unclean-recovery", scope, "fixed"] for scope in UNCLEAN_RECOVERY.scopes)
