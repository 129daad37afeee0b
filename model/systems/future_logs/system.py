"""The `future-logs` system: a replica that moves between directories of its broker, with offsets and leader epochs.

A fetcher copies the replica's log into a future log, and once that is as long takes it for the replica's. On the way
records are appended, the leader epoch rises, the log is cut, and operators ask for other directories. What the
controller is told of it is in `directories`.

Source: KIP-113; `ReplicaAlterLogDirsThread`; `alterReplicaLogDirs` and `maybeAddLogDirFetchers` of `ReplicaManager`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from kraftcheck.model.language.layout import ints, truth
from kraftcheck.model.language.system import Action, Bound, Conjuncts, Legend, Setting, System, events, sent
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule, word
from kraftcheck.model.rules.groups import FutureLogRules
from kraftcheck.model.systems.parts import OfSetting, WithBudgets, budget_domains, budgets
from kraftcheck.model.systems.replication.log import VACANT, Log

NONE, FETCHING, FAILED = 0, 1, 2
"""The fetcher of the future log: there is none; it fetches; it has given the partition up after an error."""


@frozen
class FutureLogBudgets:
    """What operators may still ask for, and how often the disk may still fail; each counts down."""

    moves: Word
    failures: Word


@frozen
class FutureLogs(WithBudgets):
    """The whole state."""

    log: Log  # the replica's log
    watermark: Word  # its high watermark
    told: Word  # ghost: the highest watermark that the broker has taken for its own
    epoch: Word  # the leader epoch
    moving: Truth  # whether there is a future log
    future: Log  # the future log
    beside: Truth  # whether it is in the directory of the replica's own log
    fetcher: Word  # NONE, FETCHING or FAILED
    offset: Word  # where the fetcher fetches next
    known: Word  # the leader epoch that it states
    paused: Word  # how often the cleaning of the log was paused and not resumed
    left: FutureLogBudgets  # budgets

    def level(self) -> Truth:
        """Whether the future log is as long as the replica's."""
        return self.future.end() == self.log.end()

    def without_move(self) -> FutureLogs:
        """The state with neither future log nor fetcher, and cleaning resumed once."""
        empty = self.future.truncate(0)
        return evolve(
            self, moving=False, future=empty, beside=False, fetcher=NONE, offset=0, known=0, paused=self.paused - 1
        )


BROKER, LEADER, OPERATOR = "broker", "leader", "operator"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """Who asks, who decides, and the broker."""
    return (OPERATOR, LEADER, BROKER)


LEGEND = Legend(
    lanes,
    {
        "append": sent(LEADER, BROKER, "a record"),
        **events(BROKER, "advance", "copy", "promote", "advance_while_promoting", "restart_without_source"),
        "begin_epoch": sent(LEADER, BROKER, "a new leader epoch"),
        "begin_epoch_while_promoting": sent(LEADER, BROKER, "a new leader epoch"),
        "move": sent(OPERATOR, BROKER, "AlterReplicaLogDirs"),
        "move_elsewhere": sent(OPERATOR, BROKER, "AlterReplicaLogDirs"),
        "cancel": sent(OPERATOR, BROKER, "AlterReplicaLogDirs"),
    },
    {"log": "log", "future log": "future", "watermark": "watermark", "fetcher": "fetcher"},
)

BOUNDS = (
    Bound("records", 1, 3, "length of the log"),
    Bound("epochs", 0, 3, "largest leader epoch"),
    Bound("moves", 1, 3, "budget: moves to other directories, and their cancellations"),
    Bound("failures", 0, 1, "budget: restarts without the directory of the replica's log"),
)

SCOPES = {
    "tiny": {"records": 2, "epochs": 1, "moves": 2, "failures": 1},
    "small": {"records": 3, "epochs": 2, "moves": 3, "failures": 1},
}


def common(one: Log, other: Log) -> Word:
    """How many records two logs share from their start."""
    shared: Word = 0
    alike: Truth = True
    for a, b in zip(one.entries, other.entries, strict=True):
        alike = all_of(alike, a == b, a > VACANT)
        shared = shared + word(alike)
    return shared


@frozen
class Copying(OfSetting[FutureLogRules]):
    """The steps of one setting."""

    GROUP = "future_logs"

    # The replica's own log.

    def may_append(self, state: FutureLogs) -> Conjuncts:
        """There is room for a record."""
        return {"a record is left": negate(state.log.is_full())}

    def append(self, state: FutureLogs) -> FutureLogs:
        """A record of the leader epoch is appended."""
        return evolve(state, log=state.log.append(state.epoch + 1))

    def may_advance(self, state: FutureLogs) -> Conjuncts:
        """A record is not committed, as far as the broker knows."""
        return {"a record is above the watermark": state.watermark < state.log.end()}

    def advance(self, state: FutureLogs) -> FutureLogs:
        """The watermark rises to the end of the log."""
        end = state.log.end()
        return evolve(state, watermark=end, told=end)

    def may_begin_epoch(self, state: FutureLogs, kept: Word) -> Conjuncts:
        """A leader epoch is left; the new leader has each committed record."""
        return {
            "a leader epoch is left": state.epoch < self.setting["epochs"],
            "committed records are kept": state.watermark <= kept, "they are there": kept <= state.log.end(),
        }  # fmt: skip

    @rule("future-log.fetcher-follows-epochs", source="KAFKA-9654; PR 8223; KAFKA-8001",
          switches=("move-keeps-leader-epoch",),
          says="A new leader epoch reaches the fetcher of a future log; with an older one it is refused.")  # fmt: skip
    @rule("future-log.cut-where-logs-part", source="KIP-101; ReplicaAlterLogDirsThread",
          switches=("future-log-uncut",),
          says="A new leader epoch cuts a future log to what it shares with the replica's.")  # fmt: skip
    def begin_epoch(self, state: FutureLogs, kept: Word) -> FutureLogs:
        """The leader epoch rises, and the log is cut to what the leader has."""
        log = state.log.truncate(kept)
        after = evolve(state, log=log, epoch=state.epoch + 1, paused=self._paused_by_epoch(state))
        if self.rules.move_keeps_leader_epoch:
            return after
        future = state.future if self.rules.future_log_uncut else state.future.truncate(common(state.future, log))
        return choose(state.moving, self._fetching(evolve(after, future=future)), after)

    @rule("future-log.pauses-cleaning-once", source="KAFKA-19458; PR 20082; KAFKA-15082; KAFKA-16709; PR 15951",
          switches=("second-move-pauses-again", "cancelled-move-stays-paused", "epoch-pauses-again"),
          says="The cleaning of a log that moves is paused once, and resumed when the move ends.")  # fmt: skip
    def _paused_by_epoch(self, state: FutureLogs) -> Word:
        """How often cleaning is paused after a new leader epoch."""
        return state.paused + word(state.moving) if self.rules.epoch_pauses_again else state.paused

    @rule("future-log.fetched-from-its-end", source="KAFKA-9087; PR 13075",
          switches=("move-resumes-at-watermark",),
          says="The fetcher of a future log begins where that log ends, whatever the watermark of the replica's "
               "is.")  # fmt: skip
    def _fetching(self, state: FutureLogs) -> FutureLogs:
        """The state with a fetcher of the future log that begins anew."""
        offset = state.future.end()
        if self.rules.move_resumes_at_watermark:  # a future log without a record has no epoch to cut by
            offset = choose(offset == 0, state.watermark, offset)
        return evolve(state, moving=True, fetcher=FETCHING, offset=offset, known=state.epoch)

    # Moves.

    def may_move(self, state: FutureLogs) -> Conjuncts:
        """No move runs."""
        return {"no move runs": negate(state.moving), "a move is left": state.left.moves > 0}

    def move(self, state: FutureLogs) -> FutureLogs:
        """AlterReplicaLogDirs: an empty future log is made in the other directory, and cleaning is paused."""
        return self._fetching(evolve(state.spend("moves"), paused=state.paused + 1))

    def may_change(self, state: FutureLogs) -> Conjuncts:
        """A move runs."""
        return {"a move runs": state.moving, "a move is left": state.left.moves > 0}

    def move_elsewhere(self, state: FutureLogs) -> FutureLogs:
        """AlterReplicaLogDirs to a third directory: another future log replaces the one that was begun."""
        paused = state.paused + word(self.rules.second_move_pauses_again)
        empty = state.future.truncate(0)
        return self._fetching(evolve(state.spend("moves"), future=empty, beside=False, paused=paused))

    def cancel(self, state: FutureLogs) -> FutureLogs:
        """AlterReplicaLogDirs to the directory of the replica: the future log is deleted."""
        after = state.spend("moves").without_move()
        return evolve(after, paused=state.paused) if self.rules.cancelled_move_stays_paused else after

    def may_copy(self, state: FutureLogs) -> Conjuncts:
        """The fetcher has something to fetch, or an error to meet."""
        fails = self._fails(state)
        return {"there is a fetcher": state.fetcher == FETCHING, "it is behind": any_of(fails, negate(state.level()))}

    def _fails(self, state: FutureLogs) -> Truth:
        """Whether the fetcher meets an error: no future log, an older leader epoch, or records that do not follow."""
        fenced, follows = state.known < state.epoch, state.offset == state.future.end()
        return any_of(negate(state.moving), fenced, negate(follows))

    def copy(self, state: FutureLogs) -> FutureLogs:
        """The fetcher appends what the replica's log has beyond its offset; after an error it gives up."""
        future = state.future.copy_of(state.log)
        copied = evolve(state, future=future, offset=future.end())
        return choose(self._fails(state), evolve(state, fetcher=FAILED), copied)

    def may_promote(self, state: FutureLogs) -> Conjuncts:
        """The fetcher has caught up; a directory has one log of the partition."""
        return {
            "a move runs": state.moving, "its fetcher works": state.fetcher == FETCHING,
            "it knows the leader epoch": state.known == state.epoch, "the logs are level": state.level(),
            "the directory has no other log": negate(state.beside),
        }  # fmt: skip

    def promote(self, state: FutureLogs) -> FutureLogs:
        """The future log becomes the replica's, with its watermark."""
        return evolve(state.without_move(), log=state.future)

    def may_advance_while_promoting(self, state: FutureLogs) -> Conjuncts:
        """A watermark rises while a move ends."""
        return {**self.may_promote(state), **self.may_advance(state)}

    @rule("future-log.watermark-of-the-log-that-serves", source="KAFKA-9263; PR 9423",
          switches=("watermark-of-replaced-log",),
          says="A watermark that rises while a move ends is that of the log which serves then.")  # fmt: skip
    def advance_while_promoting(self, state: FutureLogs) -> FutureLogs:
        """A watermark is raised by who has looked up the log before the move ends."""
        after = self.advance(self.promote(state))
        if self.rules.watermark_of_replaced_log:
            return evolve(after, watermark=state.watermark)
        return after

    def may_begin_epoch_while_promoting(self, state: FutureLogs) -> Conjuncts:
        """A leader epoch begins while a move ends."""
        return {**self.may_promote(state), **self.may_begin_epoch(state, state.log.end())}

    @rule("future-log.fetched-while-it-is-there", source="KAFKA-9750; PR 8412",
          switches=("fetcher-outlives-future-log",),
          says="A fetcher is added only for a future log that is still there.")  # fmt: skip
    def begin_epoch_while_promoting(self, state: FutureLogs) -> FutureLogs:
        """A new leader epoch adds a fetcher by who has seen the future log before the move ends."""
        after = self.begin_epoch(self.promote(state), state.log.end())
        if self.rules.fetcher_outlives_future_log:
            return evolve(after, fetcher=FETCHING, known=after.epoch)
        return after

    def may_restart(self, state: FutureLogs) -> Conjuncts:
        """A move runs."""
        return {"a move runs": state.moving, "a failure is left": state.left.failures > 0}

    @rule("future-log.stale-is-not-resumed", source="KAFKA-16082; PR 15136",
          switches=("stale-future-log-resumed",),
          says="A start resumes no future log in the directory where the replica's log is.")  # fmt: skip
    def restart_without_source(self, state: FutureLogs) -> FutureLogs:
        """The broker starts without the directory of the replica's log: a new one is made where the future log is."""
        lost = evolve(state.spend("failures"), log=state.log.truncate(0), watermark=0, told=0, paused=1)
        if self.rules.stale_future_log_resumed:
            return self._fetching(evolve(lost, beside=True))
        return lost.without_move()


def layout(setting: Setting) -> FutureLogs:
    """The domain of each field."""
    records, epochs = setting["records"], setting["epochs"]
    log, offset, epoch = Log((ints(VACANT, epochs + 1),) * records), ints(0, records), ints(0, epochs)
    pauses = setting["moves"] + epochs
    return FutureLogs(
        log, offset, offset, epoch, truth(), log, truth(), ints(NONE, FAILED), offset, epoch, ints(0, pauses),
        budget_domains(FutureLogBudgets, setting),
    )  # fmt: skip


def initial(setting: Setting) -> list[FutureLogs]:
    """An empty log that does not move."""
    empty = Log((VACANT,) * setting["records"])
    left = budgets(FutureLogBudgets, setting)
    return [FutureLogs(empty, 0, 0, 0, False, empty, False, NONE, 0, 0, 0, left)]


def actions(setting: Setting) -> list[Action]:
    """Records and leader epochs, moves, and what fails."""
    do = Copying(setting)
    kept = {"kept": tuple(range(setting["records"] + 1))}
    swap, manager = "maybeReplaceCurrentWithFutureReplica", "ReplicaManager.alterReplicaLogDirs"
    listed = [
        Action("append", do.append, do.may_append, {}, "UnifiedLog"),
        Action("advance", do.advance, do.may_advance, {}, "UnifiedLog"),
        Action("begin_epoch", do.begin_epoch, do.may_begin_epoch, kept, "ReplicaManager.applyDelta"),
        Action("move", do.move, do.may_move, {}, manager),
        Action("move_elsewhere", do.move_elsewhere, do.may_change, {}, manager),
        Action("cancel", do.cancel, do.may_change, {}, manager),
        Action("copy", do.copy, do.may_copy, {}, "ReplicaAlterLogDirsThread.processPartitionData"),
        Action("promote", do.promote, do.may_promote, {}, swap),
        Action("advance_while_promoting", do.advance_while_promoting, do.may_advance_while_promoting, {}, "KAFKA-9263"),
        Action("begin_epoch_while_promoting", do.begin_epoch_while_promoting, do.may_begin_epoch_while_promoting, {},
               "KAFKA-9750"),
    ]  # fmt: skip
    if setting["failures"]:
        restart = do.restart_without_source
        listed.append(Action("restart_without_source", restart, do.may_restart, {}, "LogManager.loadLog"))
    return listed


def resting(state: FutureLogs) -> Truth:
    """Nothing moves, or what moves waits for an operator."""
    return any_of(negate(state.moving), state.fetcher == FAILED, state.beside)


FUTURE_LOGS = System(
    name="future-logs",
    summary="a replica that moves between directories: offsets and leader epochs of its copy",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=resting,
    rules=(FutureLogRules,),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
