"""State of the `unclean-recovery` system, and the steps of its tool."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import ints, subset_of, truth
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Outcome, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate, pick, rule, word
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.parts import WithBudgets, budget_domains, budgets, members
from kraftcheck.model.unclean_recovery.tool import (
    NOBODY,
    SILENT,
    ReplicaReport,
    best,
    exits_zero,
    is_candidate,
    is_recovered,
)

DOWN = 0  # the broker's process is gone
CUT = 1  # it runs and answers the operator, but the controller has fenced it
UP = 2  # it runs, unfenced
IDLE = 0  # no tool runs
ASKING = 1  # it collects log lengths until its deadline
ELECTING = 2  # it has chosen, and has leaders elected
PENDING = 0  # the tool has yet to recover the partition
ELECTED = 1  # the response says that its election succeeded
ONLINE = 2  # the tool, or the response, found a leader
FAILED = 3  # no candidate, no leader, or no response
UNSERVED = 4  # it was beyond the limit of the request
OFFLINE_EPOCH = 3  # leader epoch of the partitions at the start: leaders of epochs 1 and 2, then none
COMMITTED = 2  # records committed at the start: one of epoch 1, one of epoch 2

LOGS = ((0, 0, 0), (1, 1, 1), (2, 2, 2), (1, 2, 1), (1, 3, 1))
"""What a replica may have kept: epoch of the last record, length, committed records among them.

The leader of epoch 2 went on after the first record of epoch 1; the leader of
epoch 1 had written two more that were never committed.
"""

KNOWN_EPOCHS = (2, 3)  # the leader epochs that a broker may know of: metadata arrives late


@frozen
class Replica:
    """A replica's log."""

    current: Word  # the leader epoch that its broker knows of
    written: Word  # epoch of the last record; 0 in an empty log
    length: Word  # log end offset
    held: Word  # ghost: how many of the committed records it has
    offline: Truth  # its directory has failed

    def same_log(self, other: Replica) -> Truth:
        """Whether two replicas have the same records."""
        return all_of(self.written == other.written, self.length == other.length)


@frozen
class Recovered:
    """A partition, and what the tool knows of it."""

    # isr, elr, leader, epoch: the controller's registration; every broker is a replica, in order
    isr: BrokerSet
    elr: BrokerSet
    leader: Word
    epoch: Word
    committed: Word  # ghost: records that were acknowledged
    replicas: tuple[Replica, ...]  # the logs, by broker
    answers: tuple[ReplicaReport, ...]  # what the tool was told, by broker; forgotten once it has chosen
    candidates: BrokerSet  # ghost: brokers that had answered, without an error, when it chose
    chosen: Word  # whom it designates, or NOBODY
    chosen_in: Word  # the incarnation in which the chosen broker answered
    recovering: Truth  # whether the partition is RECOVERING: its leader was elected uncleanly
    asked_at: Word  # the leader epoch when the tool began
    result: Word  # PENDING to UNSERVED; PENDING while no tool runs
    led: Truth  # ghost: there was a leader when the tool, or its request, last looked

    def is_led(self) -> Truth:
        """Whether there is a leader."""
        return negate(self.leader == NO_LEADER)

    def forgotten(self) -> Recovered:
        """Without what a tool knew."""
        return evolve(
            self, answers=(SILENT,) * len(self.answers), candidates=BrokerSet(), chosen=NOBODY, chosen_in=0,
            asked_at=0, result=PENDING, led=False,
        )  # fmt: skip


@frozen
class UncleanRecoveryBudgets:
    """The events that may still happen."""

    attempts: Word
    returns: Word
    faults: Word
    disks: Word
    writes: Word
    replacements: Word


@frozen
class Recovery(WithBudgets):
    """The whole state."""

    brokers: tuple[Word, ...]  # DOWN, CUT or UP, by broker
    incarnations: tuple[Word, ...]  # how often each broker came back with an empty disk; its broker epoch, counted
    partitions: tuple[Recovered, ...]  # the input set of the tool
    phase: Word  # IDLE, ASKING or ELECTING
    finished: BrokerSet  # brokers that the tool expects no more answers from
    clock: Word  # ticks until the deadline
    tries: Word  # how often the request under way may still be sent
    interrupted: Truth  # a signal came
    left: UncleanRecoveryBudgets  # budgets

    def up(self) -> BrokerSet:
        """Brokers that are unfenced."""
        return members(status == UP for status in self.brokers)


def layout(setting: Setting) -> Recovery:
    """The domain of each field."""
    brokers, last = setting["brokers"], setting["brokers"] - 1
    # A leader changes when a broker returns, when one fails, and once for each time without a leader.
    epochs = OFFLINE_EPOCH + 1 + setting["returns"] + 2 * setting["faults"] + setting["attempts"]
    epoch, length = ints(0, epochs), ints(0, max(end for _, end, _ in LOGS) + setting["writes"])
    held = ints(0, COMMITTED + setting["writes"])
    incarnation = ints(0, setting["replacements"])
    answer = ReplicaReport(
        truth(), truth(), ints(-1, epochs), ints(-1, epochs), ints(-1, length.hi), incarnation=incarnation
    )
    partition = Recovered(
        isr=BrokerSet(subset_of(brokers)), elr=BrokerSet(subset_of(brokers)),
        leader=ints(NO_LEADER, last, none=NO_LEADER),
        epoch=epoch, committed=held, replicas=(Replica(epoch, epoch, length, held, truth()),) * brokers,
        answers=(answer,) * brokers, candidates=BrokerSet(subset_of(brokers)), chosen=ints(NOBODY, last, none=NOBODY),
        chosen_in=incarnation, recovering=truth(), asked_at=epoch, result=ints(PENDING, UNSERVED), led=truth(),
    )  # fmt: skip
    return Recovery(
        brokers=(ints(DOWN, UP),) * brokers, incarnations=(incarnation,) * brokers,
        partitions=(partition,) * setting["partitions"],
        phase=ints(IDLE, ELECTING), finished=BrokerSet(subset_of(brokers)), clock=ints(0, setting["ticks"]),
        tries=ints(0, setting["retries"] + 1), interrupted=truth(),
        left=budget_domains(UncleanRecoveryBudgets, setting),
    )  # fmt: skip


def initial(setting: Setting) -> list[Recovery]:
    """Every partition is offline: broker 0 is gone, the others are up with the logs that they may have.

    The first `histories` partitions have every combination of logs, each one an
    initial state; the others have one in which length and epochs agree.
    """
    others = setting["brokers"] - 1
    known = list(itertools.product(LOGS, KNOWN_EPOCHS))
    combinations = list(itertools.product(known, repeat=others))
    plain = ((LOGS[1], 3),) * (others - 1) + ((LOGS[2], 3),)
    choices = [combinations if n < setting["histories"] else [plain] for n in range(setting["partitions"])]
    return [_start(setting, logs) for logs in itertools.product(*choices)]


def _start(setting: Setting, logs: tuple[tuple[tuple[tuple[int, int, int], int], ...], ...]) -> Recovery:
    brokers = setting["brokers"]
    return Recovery(
        brokers=(DOWN,) + (UP,) * (brokers - 1), incarnations=(0,) * brokers,
        partitions=tuple(_offline(brokers, kept) for kept in logs),
        phase=IDLE, finished=BrokerSet(), clock=0, tries=0, interrupted=False,
        left=budgets(UncleanRecoveryBudgets, setting),
    )  # fmt: skip


def _offline(brokers: int, logs: tuple[tuple[tuple[int, int, int], int], ...]) -> Recovered:
    complete = Replica(2, 2, COMMITTED, COMMITTED, False)
    rest = tuple(Replica(known, *log, False) for log, known in logs)
    return Recovered(
        isr=BrokerSet(), elr=BrokerSet.of([0]), leader=NO_LEADER, epoch=OFFLINE_EPOCH, committed=COMMITTED,
        replicas=(complete, *rest), answers=(SILENT,) * brokers, candidates=BrokerSet(), chosen=NOBODY,
        chosen_in=0, recovering=False, asked_at=0, result=PENDING, led=False,
    )  # fmt: skip


SERVED = 0  # the request is served, and answered
REFUSED = 1  # it fails transiently: nothing happens
LOST = 2  # it is served, and the response is lost


@frozen
class UncleanRecoveryEvent:
    """The events of a step besides the change of the state."""

    ended: Truth = False  # a run of the tool ended
    zero: Truth = False  # its exit status was zero


Designate = Callable[[Recovered, BrokerSet, Word, RuleSet], tuple[Truth, Recovered]]
"""The controller's part of a designated election, with the brokers that are up, and the chosen one's incarnation."""


@frozen
class Tool:
    """The tool's steps."""

    rules: RuleSet  # the rule set
    limit: int  # partitions that one request, of either kind, is served for: 1,000 scaled down
    retries: int  # how often a request for elections is sent again
    ticks: int  # the deadline
    designate: Designate  # the controller

    def may_start(self, state: Recovery) -> dict[str, Truth]:
        """The operator runs the tool."""
        return {"no tool runs": state.phase == IDLE, "a run is left": state.left.attempts > 0}

    def start(self, state: Recovery) -> Recovery:
        """It looks which partitions are offline; the others need nothing."""
        begun = tuple(
            evolve(p.forgotten(), asked_at=p.epoch, result=choose(p.is_led(), ONLINE, PENDING), led=p.is_led())
            for p in state.partitions
        )
        return evolve(state.spend("attempts"), partitions=begun, phase=ASKING, clock=self.ticks, tries=self.retries + 1)

    def may_answer(self, state: Recovery, broker: Word) -> dict[str, Truth]:
        """A broker that runs answers in time, fenced or not."""
        return {
            "tool is asking": state.phase == ASKING,
            "deadline is ahead": state.clock > 0,
            "broker runs": negate(pick(state.brokers, broker, DOWN) == DOWN),
            "tool expects an answer": negate(state.finished.has(broker)),
            "some partition is offline": _any_pending(state),
        }

    def answer(self, state: Recovery, broker: Word) -> Recovery:
        """GetReplicaLogInfo: the first partitions that the broker has not answered yet; then it may have more."""
        asked: Word = 0
        partitions = []
        for p in state.partitions:
            known = pick(p.answers, broker, SILENT)
            wanted = all_of(p.result == PENDING, negate(known.given))
            told = choose(all_of(wanted, asked < self.limit), _told(p, broker, state.incarnations), known)
            partitions.append(evolve(p, answers=put(p.answers, broker, told)))
            asked = asked + word(wanted)
        more = False if self.rules.unclean_recovery.recovery_ignores_more_data else asked > self.limit
        finished = choose(more, state.finished, state.finished.plus(state.finished.just(broker)))
        return evolve(state, partitions=tuple(partitions), finished=finished)

    def may_tick(self, state: Recovery) -> dict[str, Truth]:
        """Time passes while brokers do not answer."""
        return {"tool is asking": state.phase == ASKING, "deadline is ahead": state.clock > 0}

    def tick(self, state: Recovery) -> Recovery:
        """One part of --recovery-duration-ms."""
        return evolve(state, clock=state.clock - 1)

    @rule("recovery.deadline", source="unclean-recovery KIP, --recovery-duration-ms",
          switches=("recovery-waits-for-every-broker",),
          says="The tool decides when every broker has answered, or its deadline has passed.")  # fmt: skip
    def may_decide(self, state: Recovery) -> dict[str, Truth]:
        """Everybody has answered, or the deadline has passed."""
        everybody = all_of(*(state.finished.has(broker) for broker in range(len(state.brokers))))
        over = False if self.rules.unclean_recovery.recovery_waits_for_every_broker else state.clock == 0
        return {
            "tool is asking": state.phase == ASKING,
            "answers are complete, or time is over": any_of(everybody, over, negate(_any_pending(state))),
        }

    def decide(self, state: Recovery) -> Recovery:
        """Choose for each partition; where nobody can be chosen, it has failed."""
        decided = tuple(choose(p.result == PENDING, self._chosen(p), p) for p in state.partitions)
        return evolve(state, partitions=decided, phase=ELECTING, finished=BrokerSet(), clock=0)

    def _chosen(self, p: Recovered) -> Recovered:
        position = best(p.answers, self.rules.unclean_recovery)
        candidates = members(is_candidate(answer, self.rules.unclean_recovery) for answer in p.answers)
        result = choose(position == NOBODY, FAILED, PENDING)
        return evolve(
            p, answers=(SILENT,) * len(p.answers), candidates=candidates, chosen=position,
            chosen_in=pick(p.answers, position, SILENT).incarnation, result=result,
        )  # fmt: skip

    def may_request(self, state: Recovery, outcome: Word) -> dict[str, Truth]:
        """There are leaders to designate."""
        return {"tool is electing": state.phase == ELECTING, "a partition is pending": _any_pending(state)}

    def request(self, state: Recovery, outcome: Word) -> Recovery:
        """ElectLeaders for the first pending partitions; a failure is retried, then the partitions have failed."""
        up, heard = state.up(), outcome == SERVED
        spent = all_of(negate(heard), state.tries == 1)
        sent: Word = 0
        partitions = []
        for p in state.partitions:
            pending = p.result == PENDING
            inside = all_of(pending, sent < self.limit)
            served = choose(all_of(inside, negate(outcome == REFUSED)), self._served(p, up, state), p)
            result = choose(heard, served.result, choose(spent, FAILED, PENDING))
            after = choose(inside, evolve(served, result=result), p)
            if self.rules.unclean_recovery.recovery_ignores_request_limit:
                beyond = all_of(pending, negate(inside), heard)
                after = evolve(after, result=choose(beyond, UNSERVED, after.result))
            partitions.append(after)
            sent = sent + word(pending)
        fresh = self.retries + 1
        tries = choose(any_of(heard, spent), fresh, state.tries - 1)
        return evolve(state, partitions=tuple(partitions), tries=tries)

    def _served(self, p: Recovered, up: BrokerSet, state: Recovery) -> Recovered:
        """What the controller does and answers for one partition."""
        elected, after = self.designate(p, up, pick(state.incarnations, p.chosen, 0), self.rules)
        online = False if self.rules.unclean_recovery.designated_over_leader else p.is_led()
        result = choose(online, ONLINE, choose(elected, ELECTED, FAILED))
        return evolve(after, result=result, led=after.is_led())

    def may_interrupt(self, state: Recovery) -> dict[str, Truth]:
        """SIGTERM, at any time before the end."""
        return {"a tool runs": negate(state.phase == IDLE), "a partition is pending": _any_pending(state)}

    def interrupt(self, state: Recovery) -> Recovery:
        """The pending request has failed."""
        silent = (SILENT,) * len(state.brokers)
        ended = tuple(
            evolve(p, answers=silent, result=choose(p.result == PENDING, FAILED, p.result)) for p in state.partitions
        )
        return evolve(state, partitions=ended, phase=ELECTING, finished=BrokerSet(), clock=0, interrupted=True)

    def may_fail(self, state: Recovery) -> dict[str, Truth]:
        """The tool's process is killed, at any time."""
        return {"a tool runs": negate(state.phase == IDLE)}

    def fail(self, state: Recovery) -> Recovery:
        """It is gone, with all that it knew; nobody sees an exit status."""
        gone = tuple(p.forgotten() for p in state.partitions)
        return evolve(state, partitions=gone, phase=IDLE, finished=BrokerSet(), clock=0, tries=0, interrupted=False)

    def may_finish(self, state: Recovery) -> dict[str, Truth]:
        """Nothing is pending."""
        return {"tool is electing": state.phase == ELECTING, "nothing is pending": negate(_any_pending(state))}

    def finish(self, state: Recovery) -> Outcome:
        """The exit status; what the tool knew is gone."""
        recovered = [
            is_recovered(p.result == ELECTED, p.result == ONLINE, p.result == UNSERVED, self.rules.unclean_recovery)
            for p in state.partitions
        ]
        zero = exits_zero(recovered, state.interrupted, self.rules.unclean_recovery)
        gone = tuple(p.forgotten() for p in state.partitions)
        after = evolve(state, partitions=gone, phase=IDLE, tries=0, interrupted=False)
        return Outcome(after, UncleanRecoveryEvent(ended=True, zero=zero))


def _any_pending(state: Recovery) -> Truth:
    return any_of(*(p.result == PENDING for p in state.partitions))


def _told(p: Recovered, broker: Word, incarnations: tuple[Word, ...]) -> ReplicaReport:
    """A broker's row for a partition, with its broker epoch: an error where its directory has failed."""
    replica, incarnation = pick(p.replicas, broker, p.replicas[0]), pick(incarnations, broker, 0)
    told = ReplicaReport(True, False, replica.current, replica.written, replica.length, incarnation=incarnation)
    return choose(replica.offline, ReplicaReport(True, True, -1, -1, -1, incarnation=incarnation), told)


OUTCOMES = (SERVED, REFUSED, LOST)  # what may come of a request for elections
