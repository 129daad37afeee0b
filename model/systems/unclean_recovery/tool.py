"""The tool: it asks until its deadline, chooses, has leaders elected, and ends with a status."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, pick, rule, word
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.parts import members
from kraftcheck.model.systems.unclean_recovery.state import (
    ASKING,
    DOWN,
    ELECTED,
    ELECTING,
    FAILED,
    IDLE,
    ONLINE,
    PENDING,
    UNSERVED,
    Recovered,
    Recovery,
)
from kraftcheck.model.unclean_recovery.choice import (
    NOBODY,
    SILENT,
    Answer,
    best,
    exits_zero,
    is_candidate,
    is_recovered,
)

SERVED = 0
"""The request is served, and answered."""
REFUSED = 1
"""It fails transiently: nothing happens."""
LOST = 2
"""It is served, and the response is lost."""


@frozen
class UncleanRecoveryEvent:
    """What a step did besides changing the state.

    Attributes:
        ended: a run of the tool ended.
        zero: its exit status was zero.
    """

    ended: Truth = False
    zero: Truth = False


Designate = Callable[[Recovered, BrokerSet, Word, RuleSet], tuple[Truth, Recovered]]
"""The controller's part of a designated election, with the brokers that are up, and the chosen one's incarnation."""


@frozen
class Tool:
    """The tool's steps.

    Attributes:
        rules: the rule set.
        limit: partitions that one request, of either kind, is served for: 1,000 scaled down.
        retries: how often a request for elections is sent again.
        ticks: the deadline.
        designate: the controller.
    """

    rules: RuleSet
    limit: int
    retries: int
    ticks: int
    designate: Designate

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
        """What is pending has failed."""
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
        return evolve(
            state, partitions=gone, phase=IDLE, finished=BrokerSet(), clock=0, tries=0, interrupted=False
        )

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


def _told(p: Recovered, broker: Word, incarnations: tuple[Word, ...]) -> Answer:
    """A broker's row for a partition, with its broker epoch: an error where its directory has failed."""
    replica, incarnation = pick(p.replicas, broker, p.replicas[0]), pick(incarnations, broker, 0)
    told = Answer(True, False, replica.current, replica.written, replica.length, incarnation=incarnation)
    return choose(replica.offline, Answer(True, True, -1, -1, -1, incarnation=incarnation), told)


OUTCOMES = (SERVED, REFUSED, LOST)
"""What may come of a request for elections."""
