"""State of the `unclean-recovery` system: partitions with their logs, brokers, one tool.

Broker 0 was the last member of every partition's ISR; the others are replicas
that had left it. Source: unclean-recovery KIP.
"""

from __future__ import annotations

import itertools
from typing import TypeVar

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import ints, subset_of, truth
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, negate
from kraftcheck.model.systems.parts import WithBudgets, budget_domains, budgets, members
from kraftcheck.model.unclean_recovery.choice import NOBODY, SILENT, Answer

T = TypeVar("T")

DOWN = 0
"""The broker's process is gone."""
CUT = 1
"""It runs and answers the operator, but the controller has fenced it."""
UP = 2
"""It runs, unfenced."""

IDLE = 0
"""No tool runs."""
ASKING = 1
"""It collects log lengths until its deadline."""
ELECTING = 2
"""It has chosen, and has leaders elected."""

PENDING = 0
"""The tool has yet to recover the partition."""
ELECTED = 1
"""The response says that its election succeeded."""
ONLINE = 2
"""The tool, or the response, found a leader."""
FAILED = 3
"""No candidate, no leader, or no response."""
UNSERVED = 4
"""It was beyond the limit of the request."""

OFFLINE_EPOCH = 3
"""Leader epoch of the partitions at the start: leaders of epochs 1 and 2, then none."""

COMMITTED = 2
"""Records committed at the start: one of epoch 1, one of epoch 2."""

LOGS = ((0, 0, 0), (1, 1, 1), (2, 2, 2), (1, 2, 1), (1, 3, 1))
"""What a replica may have kept: epoch of the last record, length, committed records among them.

The leader of epoch 2 went on after the first record of epoch 1; the leader of
epoch 1 had written two more that were never committed.
"""

KNOWN_EPOCHS = (2, 3)
"""The leader epochs that a broker may know of: metadata arrives late."""


@frozen
class Replica:
    """A replica's log.

    Attributes:
        current: the leader epoch that its broker knows of.
        written: epoch of the last record; 0 in an empty log.
        length: log end offset.
        held: ghost: how many of the committed records it has.
        offline: its directory has failed.
    """

    current: Word
    written: Word
    length: Word
    held: Word
    offline: Truth

    def same_log(self, other: Replica) -> Truth:
        """Whether two replicas have the same records."""
        return all_of(self.written == other.written, self.length == other.length)


@frozen
class Recovered:
    """A partition, and what the tool knows of it.

    Attributes:
        isr, elr, leader, epoch: the controller's registration; every broker is a replica, in order.
        committed: ghost: records that were acknowledged.
        replicas: the logs, by broker.
        answers: what the tool was told, by broker; forgotten once it has chosen.
        candidates: ghost: brokers that had answered, without an error, when it chose.
        chosen: whom it designates, or NOBODY.
        chosen_in: the incarnation in which the chosen broker answered.
        recovering: whether the partition is RECOVERING: its leader was elected uncleanly.
        asked_at: the leader epoch when the tool began.
        result: PENDING to UNSERVED; PENDING while no tool runs.
        led: ghost: there was a leader when the tool, or its request, last looked.
    """

    isr: BrokerSet
    elr: BrokerSet
    leader: Word
    epoch: Word
    committed: Word
    replicas: tuple[Replica, ...]
    answers: tuple[Answer, ...]
    candidates: BrokerSet
    chosen: Word
    chosen_in: Word
    recovering: Truth
    asked_at: Word
    result: Word
    led: Truth

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
    """What may still happen."""

    attempts: Word
    returns: Word
    faults: Word
    disks: Word
    writes: Word
    replacements: Word


@frozen
class Recovery(WithBudgets):
    """The whole state.

    Attributes:
        brokers: DOWN, CUT or UP, by broker.
        incarnations: how often each broker came back with an empty disk; its broker epoch, counted.
        partitions: the input set of the tool.
        phase: IDLE, ASKING or ELECTING.
        finished: brokers that the tool expects no more answers from.
        clock: ticks until the deadline.
        tries: how often the request under way may still be sent.
        interrupted: a signal came.
        left: budgets.
    """

    brokers: tuple[Word, ...]
    incarnations: tuple[Word, ...]
    partitions: tuple[Recovered, ...]
    phase: Word
    finished: BrokerSet
    clock: Word
    tries: Word
    interrupted: Truth
    left: UncleanRecoveryBudgets

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
    answer = Answer(truth(), truth(), ints(-1, epochs), ints(-1, epochs), ints(-1, length.hi), incarnation=incarnation)
    partition = Recovered(
        isr=BrokerSet(subset_of(brokers)), elr=BrokerSet(subset_of(brokers)), leader=ints(NO_LEADER, last),
        epoch=epoch, committed=held, replicas=(Replica(epoch, epoch, length, held, truth()),) * brokers,
        answers=(answer,) * brokers, candidates=BrokerSet(subset_of(brokers)), chosen=ints(NOBODY, last),
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
