"""The `replication` system: examples by hand, its bounds, its messages, late replies, and what is given one value."""

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.controller.partitions import AlterPartitionRequest, Proposal, alter_partition
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Action, Conjuncts, Property, ScopeError, Setting, Step, System
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, implies, negate
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.system import ELECTIONS
from kraftcheck.model.systems.elections.triggers import Triggers
from kraftcheck.model.systems.replication.log import of_each
from kraftcheck.model.systems.replication.settle import settle
from kraftcheck.model.systems.replication.state import ACCEPTED, NONE, UNKNOWN, Replication
from kraftcheck.model.systems.replication.system import unsettled_actions
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import always, happens, sometimes
from kraftcheck.properties.replication.durability import each_led
from kraftcheck.properties.replication.lemmas_commits import commits_are_applied, leave_no_isr_behind, nothing_after
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Vacuous
from tests.model.controller.controllers import changed, cluster, with_topic
from tests.shared.replication import BOUNDS, elect, ends, fetch, learn, log, start, with_broker, with_logs
from tests.shared.samples import one_in


@pytest.mark.parametrize(
    ("follower", "leader", "cut"),
    [
        ((0, 0, 1), (0, 2), (0,)),  # KIP-101: the records above the shared prefix go
        ((0, 0), (0, 1), (0,)),  # more records of a shared epoch than the leader has
        ((1,), (0, 2), ()),  # KIP-279: the leader's epochs surround the follower's
        ((0, 1, 1), (0, 0, 2), (0,)),  # KIP-279: the leader lacks the epoch, the follower has less of the one before
        ((0, 0, 0), (0,), (0,)),
        ((1, 1), (), ()),
    ],
)
def test_diverging_logs_are_cut(follower: tuple[int, ...], leader: tuple[int, ...], cut: tuple[int, ...]) -> None:
    """A diverging log is cut to the shared prefix, brings no data, and is not noted; the next fetch brings all."""
    state = learn(elect(with_logs(start(), log(*leader), log(*follower), log()), 0, [0, 1]), 0, 1)
    state = with_broker(state, 1, high_watermark=len(follower))
    found = fetch(state, 1)
    assert (found.brokers[1].log, ends(found, 0)) == (log(*cut), (UNKNOWN,) * 3)
    assert found.brokers[1].high_watermark == len(cut)
    assert fetch(state, 1, received=0) == state
    again = fetch(found, 1)
    assert (again.brokers[1].log, ends(again, 0)) == (log(*leader), (UNKNOWN, len(cut), UNKNOWN))


def test_one_lookup_is_not_enough() -> None:
    """KIP-279: a follower that trusts the end of another epoch keeps a record that the leader never had."""
    state = learn(elect(with_logs(start(), log(0, 2), log(1), log()), 0, [0, 1]), 0, 1)
    assert fetch(state, 1).brokers[1].log == log()
    assert fetch(state, 1, rules="fixed+kip101-epoch-lookup").brokers[1].log == log(1, 2)


REPLICATION = SYSTEMS["replication"]
FEW = {"unclean-stops": 0, "shrinks": 0}


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
    with pytest.raises(ScopeError, match=r"replication|initial-isr"):
        list(REPLICATION.initial(REPLICATION.setting("tiny", bounds, parse("fixed"))))


def action(name: str, rules: str) -> Action:
    """An action where one reply may be late."""
    at = REPLICATION.setting("small", {**BOUNDS, "late-replies": 1}, parse(rules))
    (found,) = [a for a in REPLICATION.actions(at) if a.name == name]
    return found


def do(state: Replication, name: str, rules: str = "fixed", **arguments: Any) -> Replication:
    """The state after an enabled action."""
    taken = action(name, rules)
    assert [part for part, true in taken.guards(state, arguments).items() if not true] == []
    after: Replication = taken.outcome(state, arguments).state
    return after


def begun() -> Replication:
    """Broker 0 leads, everybody is in sync, nothing is written, and one reply may be late."""
    (found,) = REPLICATION.initial(REPLICATION.setting("small", {**BOUNDS, "late-replies": 1}, parse("fixed")))
    state: Replication = found
    return state


def deposed(state: Replication) -> Replication:
    """Broker 0 is fenced; broker 1 knows that it leads."""
    return do(do(state, "fence", broker=0), "apply_metadata", broker=1, epoch=1)


def mixed() -> Replication:
    """Leader 0 served follower 2 from its own epoch; its file has since been cut, and filled by leader 1."""
    state = with_logs(begun(), log(0, 0), log(), log(0))
    state = deposed(do(state, "serve_late", follower=2, leader=0))
    state = do(do(state, "produce", broker=1), "produce", broker=1)
    state = do(state, "apply_metadata", broker=0, epoch=1)
    for _ in range(2):
        state = do(state, "fetch", follower=0, leader=1, received=BOUNDS["records"])
    assert state.brokers[0].log == log(1, 1)
    return state


@pytest.mark.parametrize(
    ("rules", "reread", "found"),
    [
        ("fixed", 0, log(0, 0)), ("fixed", 1, log(0)),
        ("fixed+append-beyond-fetch-epoch", 0, log(0, 0)), ("fixed+append-beyond-fetch-epoch", 1, log(0, 1)),
        ("kafka-4.0.0", 1, log(0, 1)), ("kafka-4.0.1", 1, log(0)),
    ],
)  # fmt: skip
def test_records_of_a_later_epoch_than_the_fetch_are_left_out(rules: str, reread: int, found: object) -> None:
    """Bytes that the leader's file got after it was deposed are appended by 4.0.0 only, and then logs do not match."""
    assert do(mixed(), "late_reply", rules, reread=reread).brokers[2].log == found


def waits_for_the_isr(state: Replication) -> Conjuncts:
    """Invariant 22: what a leader of the newest epoch waits for has the whole ISR."""
    return {
        f"broker {n}": implies(
            all_of(state.leads(n, b), b.epoch == state.leader_epoch), state.controller.isr.within(b.maximal_isr())
        )
        for n, b in enumerate(state.brokers)
    }


@pytest.mark.parametrize(("rules", "steps"), [("fixed", None), ("fixed+unknown-outcome-is-failure", 7)])
def test_a_leader_waits_for_the_isr_whatever_its_size(rules: str, steps: int | None) -> None:
    """Not only at min ISR: in each state of `tiny`, unless a lost answer is taken for a refusal."""
    claims = [always("invariant-22", str(waits_for_the_isr.__doc__), waits_for_the_isr)]
    found = explored(evolve(REPLICATION, properties=lambda _: claims), setting(rules, {"unclean-stops": 0}))
    assert found.verdict("invariant-22").depth == steps
    assert (steps is None) == isinstance(found.verdict("invariant-22").verdict, Holds)


@pytest.mark.slow
@pytest.mark.parametrize(("defect", "found"), [("", {}), ("+hw-waits-for-ineligible", {"watermark-reaches-end": 6})])
def test_an_epoch_for_each_shrink_breaks_nothing(defect: str, found: dict[str, int]) -> None:
    """It costs an epoch, and the watermark that waits for who may not return is stuck two steps later only."""
    run = explored(REPLICATION, setting(f"fixed+bump-on-isr-shrink{defect}", {"min-isr": 1}))
    assert {v.claim: v.depth for v in run.verdicts if not isinstance(v.verdict, Holds)} == found


LEADER_EPOCH, PARTITION_EPOCH = 2, 3


@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0", "kafka-3.9"])
def test_requests_of_the_past_are_refused_and_change_nothing(rules: str) -> None:
    """Whoever sends whatever ISR with an older epoch: an error that a leader only waits on, and no record."""
    controller = changed(
        with_topic(cluster(3), "foo", (0, 1, 2)), leader_epoch=LEADER_EPOCH, partition_epoch=PARTITION_EPOCH
    )
    topic, told = controller.topic_id("foo"), set[str]()
    sets = [some for n in range(4) for some in itertools.combinations(range(3), n)]
    older = [(e, p) for e in range(LEADER_EPOCH + 1) for p in range(PARTITION_EPOCH + 1)]
    older.remove((LEADER_EPOCH, PARTITION_EPOCH))
    for (leader_epoch, partition_epoch), isr, sender in itertools.product(older, sets, range(3)):
        proposal = Proposal(topic, 0, leader_epoch, partition_epoch, tuple((b, 100 + b) for b in isr))
        request = AlterPartitionRequest(sender, 100 + sender, (proposal,))
        outcome = alter_partition(controller, request, setting(rules, {}).rules)
        (answer,) = outcome.response
        assert (tuple(outcome.records), outcome.soft) == ((), controller.soft)
        told.add(answer.error)
    # INVALID_REQUEST: the sender is not the leader. A leader stays pending on each of the three.
    assert told == {"FENCED_LEADER_EPOCH", "INVALID_UPDATE_VERSION", "INVALID_REQUEST"}


def says_what_was_proposed(state: Replication) -> Conjuncts:
    """An accepting answer, until it is overtaken, stands for the ISR that its leader proposed."""
    return {
        f"broker {n}": implies(b.answer == ACCEPTED, b.proposed.same(state.controller.isr))
        for n, b in enumerate(state.brokers)
    }


def waits_for_it(state: Replication) -> Conjuncts:
    """Where an answer is under way, its proposal is pending at a broker that leads."""
    return {
        f"broker {n}": implies(b.answer > NONE, all_of(state.leads(n, b), b.pending()))
        for n, b in enumerate(state.brokers)
    }


def is_current(state: Replication) -> Conjuncts:
    """A request is there only while a leader may be heard: in office, and registered."""
    leader = state.controller.leader
    return {"leader": implies(negate(state.request.isr.is_empty()), leader >= 0)}


@pytest.mark.parametrize(
    "bounds", [{}, {"unclean-stops": 0, "reassignments": 1, "fences": 0}, {**FEW, "config-changes": 1}],
    ids=str,
)  # fmt: skip
def test_an_answer_needs_neither_epochs_nor_isr(bounds: dict[str, int]) -> None:
    """In every reachable state an accepting answer says what was proposed, and belongs to a pending proposal."""
    checks = (says_what_was_proposed, waits_for_it, is_current)
    claims = [always(check.__name__, str(check.__doc__), check) for check in checks]
    found = explored(evolve(REPLICATION, properties=lambda _: claims), setting("fixed", bounds))
    assert [type(v.verdict) for v in found.verdicts] == [Holds] * 4
    assert min(found.fired[name] for name in ("alter_partition", "receive_answer")) > 0


def with_commit_epoch(at: Setting) -> Replication:
    """The domain of each field, where the newest epoch with a commit and deaths are kept though they have a bound."""
    whole: Replication = REPLICATION.layout(at)
    return evolve(whole, commit_epoch=whole.leader_epoch, deaths=ints(0, at["unclean-stops"]))


UNSETTLED = evolve(REPLICATION, actions=unsettled_actions, layout=with_commit_epoch)  # the system without settling


CASES = [
    ("fixed", {"unclean-stops": 0}),
    ("kafka-3.9", {"fences": 0, "unclean-elections": 1}),
    ("kip", {**FEW, "clean-stops": 1}),
    ("kafka-4.0", {**FEW, "config-changes": 1}),
    ("fixed+removed-replicas-stay-in-elr", {"unclean-stops": 0, "fences": 0, "reassignments": 1}),
    ("kafka-4.0+stale-truncation-applied", {**FEW, "late-replies": 1}),
    ("fixed+reelected-leader-keeps-ends+unknown-outcome-is-failure", {"unclean-stops": 0}),
]
"""Every kind of event, and rules that read more than the right ones; 2 brokers."""


def explored(system: System, at: Setting) -> Exploration:
    """The whole exploration of a system."""
    return explore(trace(system, at), SearchBudget(cache_dir=cache_folder()), clock=time.perf_counter)


def setting(rules: str, bounds: Mapping[str, int]) -> Setting:
    """A setting of 2 brokers."""
    return REPLICATION.setting("tiny", bounds, parse(rules))


@pytest.mark.parametrize("case", one_in(8, CASES), ids=[f"{rules} {bounds}" for rules, bounds in CASES])
def test_settling_changes_no_verdict(case: tuple[str, Mapping[str, int]]) -> None:
    """Without settling the reachable states are the same ones once settled, and so are verdicts and shortest traces."""
    rules, bounds = case
    at = setting(rules, bounds)
    plain, settled = explored(UNSETTLED, at), explored(REPLICATION, at)
    assert [(v.claim, type(v.verdict), v.depth) for v in plain.verdicts] == [
        (v.claim, type(v.verdict), v.depth) for v in settled.verdicts
    ]
    whole, layout = plain.program.layout, settled.program.layout
    found = {layout.pack(settle(whole.unpack(state), at)) for state in plain.states()}
    assert found == set(settled.states())
    assert settled.distinct < plain.distinct
    assert (dict(plain.pruned), dict(settled.pruned)) == ({}, {})


def leaders_hold_committed(s: Replication) -> Conjuncts:
    """What is proven where epochs have no bound: who leads an epoch no older than the commit holds all."""
    return each_led(s, lambda n, epoch, leader: implies(
        all_of(leader == n, s.broker(n).running(), s.broker(n).epoch <= epoch, epoch <= s.leader_epoch,
               s.commit_epoch <= epoch, negate(s.lossy)),
        s.broker(n).log.agrees(s.committed, s.committed.end()),
    ))  # fmt: skip


def told_apart(s: Replication) -> Conjuncts:
    """Where what is under way tells that nothing was committed after an epoch, the newest commit is not after it."""
    idle = nothing_after(s)
    return of_each(s.leaders, lambda epoch, _: implies(
        all_of(idle(epoch), epoch <= s.leader_epoch, negate(s.lossy)), s.commit_epoch <= epoch))  # fmt: skip


COMMITS = (
    always("lemma-commits-are-applied", "as in proofs", commits_are_applied),
    always("lemma-commits-leave-no-isr-behind", "as in proofs", leave_no_isr_behind),
    always("lemma-leaders-hold-committed", "as in proofs", leaders_hold_committed),
    always("no-commit-after", "what is under way tells no more than the newest commit", told_apart),
    sometimes("commit-in-a-later-epoch", "a later leader has committed", lambda s: s.commit_epoch > 0),
    sometimes("leader-is-behind", "a commit is of an older epoch", lambda s: s.commit_epoch + 1 < s.leader_epoch),
)
"""Claims about the newest epoch with a commit, and what shows that it matters."""


LEMMAS = {claim.id for claim in COMMITS if claim.kind == "always"}


@pytest.mark.parametrize(
    ("rules", "bounds", "refuted"), [
        ("fixed", {}, set()),
        ("fixed", {"min-isr": 1}, set()),
        ("fixed+hw-advances-under-min-isr", {}, LEMMAS - {"lemma-commits-leave-no-isr-behind"}),
        ("fixed+unfence-rejoins-isr", {"min-isr": 1}, LEMMAS),
    ], ids=["right", "right, min ISR 1", "commits below min ISR", "rejoins, min ISR 1"],
)  # fmt: skip
def test_the_newest_epoch_with_a_commit_is_as_lemmas_say(
    rules: str, bounds: Mapping[str, int], refuted: set[str]
) -> None:
    """In every state of two brokers the lemmas hold by the right rules, and there is a defect that breaks each."""
    system = evolve(UNSETTLED, properties=lambda _: COMMITS)
    verdicts = {v.claim: type(v.verdict).__name__ for v in explored(system, setting(rules, bounds)).verdicts}
    wanted = {claim.id: "Refuted" if claim.id in refuted else "Holds" for claim in COMMITS}
    assert {claim: verdicts[claim] for claim in wanted} == wanted


ACTIONS = (
    "fence", "unfence", "controlled_shutdown", "new_incarnation", "elect_preferred", "elect_unclean",
    "elect_designated", "alter_partition", "reassign", "cancel", "set_min_isr",
)  # fmt: skip
"""Triggers that `replication` calls; in `elections` each is an action of that name, and nothing else."""


def few_records(rules: str) -> dict[str, Any]:
    """For each action of `elections` whether it writes at most one record, as far as intervals of terms decide it."""
    told: dict[str, Any] = {}

    def few(step: Step) -> Any:
        told[step.action] = step.event.records <= 1
        return step.after.leader >= NO_LEADER

    lint = Property("few-records", "step", "An event writes at most one record.", few)
    at = ELECTIONS.setting("directories", {"reassignment": 1}, parse(rules))
    trace(evolve(ELECTIONS, properties=lambda _: [lint]), at)
    return told


def test_replication_calls_known_triggers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The triggers that the actions of `replication` call are those listed here."""
    called: set[str] = set()

    def noted(name: str, trigger: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            called.add(name)
            return trigger(*arguments)

        return call

    ends = ("decided", "finish")  # which end every one of them
    for name, trigger in vars(Triggers).items():
        if callable(trigger) and not name.startswith("_") and name not in ends:
            monkeypatch.setattr(Triggers, name, noted(name, trigger))
    budgets = dict.fromkeys(("reassignment", "reassignments", "unclean-elections", "config-changes", "clean-stops"), 1)
    trace(REPLICATION, REPLICATION.setting("tiny", budgets, parse("fixed+designated-elections")))
    assert called == set(ACTIONS)


@pytest.mark.parametrize("rules", ["fixed+designated-elections", "kip", "kafka-4.0+designated-elections"])
def test_its_triggers_write_one_record(rules: str) -> None:
    """In every state, reachable or not, each writes at most one record: none can be decided on a stale base."""
    told = few_records(rules)
    assert {name for name in ACTIONS if told[name] is not True} == set()


def test_a_heartbeat_may_write_two() -> None:
    """The bound is no matter of course: a heartbeat that unfences and reports is not decided by intervals."""
    assert few_records("fixed")["heartbeat"] is not True


@pytest.mark.parametrize(("rules", "answer"), [("fixed", NONE), ("fixed+answered-before-commit", ACCEPTED)])
def test_nobody_hears_of_what_was_not_committed(rules: str, answer: int) -> None:
    """A controller that is deposed has changed nothing, and told nobody; by the defect its leader is answered."""
    setting = REPLICATION.setting("takeovers", rules=parse(rules))
    steps = {action.name: action for action in REPLICATION.actions(setting)}
    (state,) = REPLICATION.initial(setting)
    state = steps["propose_shrink"].effect(state, broker=0, follower=1)
    assert steps["lose_alter_partition"].enabled(state, {})
    after = steps["lose_alter_partition"].effect(state)
    assert after.controller == state.controller
    assert after.brokers[0].answer == answer


@pytest.mark.parametrize(("target", "epoch", "answer"), [([0, 2], 1, NONE), ([0, 1, 2], 0, ACCEPTED)])
def test_an_answer_of_another_leader_epoch_is_ignored(target: list[int], epoch: int, answer: int) -> None:
    """Where the ISR that a leader asks for ends a reassignment that drops a replica, it hears of that as metadata."""
    bounds = {"brokers": 3, "replication": 2, "reassignments": 1}
    setting = REPLICATION.setting("tiny", bounds, rules=parse("fixed"))
    steps = {action.name: action for action in unsettled_actions(setting)}

    def take(state: Replication, name: str, **arguments: Any) -> Replication:
        assert steps[name].enabled(state, arguments)
        after: Replication = steps[name].outcome(state, arguments).state
        return after

    state = take(REPLICATION.initial(setting)[0], "reassign", target=Replicas.of(target, 3))
    state = take(state, "apply_metadata", broker=0, epoch=0)
    state = take(take(state, "fetch", follower=2, leader=0, received=0), "propose_expand", broker=0, follower=2)
    after = take(state, "alter_partition")
    assert ([*after.controller.replicas], after.leader_epoch, after.brokers[0].answer) == (target, epoch, answer)
