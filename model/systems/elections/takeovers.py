"""The `takeovers` system: what an active controller has decided and not yet committed, and who takes over then.

The controller is that of `elections`. It decides by all that it has decided so far, while its records are still to be
committed: the newest batches may be lost with it. What outsiders were told, by answers, reads and records, is kept as
the registration that they know of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import same_leaves
from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Action, Bound, Conjuncts, Legend, Setting, System, events, sent
from kraftcheck.model.language.terms import Word
from kraftcheck.model.language.words import choose, rule
from kraftcheck.model.rules.groups import CONTROLLER_GROUPS
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.elections import state as elections
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elections.system import CONTROLLER, CONTROLLER_ARROWS, OPERATOR, STRIP, lanes
from kraftcheck.model.systems.elections.system import actions as decisions
from kraftcheck.model.systems.parts import OfSetting
from kraftcheck.model.triggers.leadership import answers_uncommitted


@frozen
class Takeovers:
    """The whole state."""

    memory: Elections  # what the active controller decides by: what is committed, and its own decisions since
    committed: Elections  # the replay of all committed records
    told: Elections  # what outsiders were told last
    pending: Word  # batches that are decided and not committed


@frozen
class Deciding(OfSetting[RuleSet]):
    """The steps of one setting."""

    GROUP = ""

    @rule("answer.unchanged-waits-too", source="KIP-631; PR 10070; QuorumController.ControllerWriteEvent",
          switches=("unchanged-answered-at-once",),
          says="A request that needs no record is answered once each record is committed by which it was decided.",
          )  # fmt: skip
    def decision(self, action: Action) -> Action:
        """An event of the controller: its records are appended, and its answer waits until they are committed."""
        rules = self.rules

        def effect(state: Takeovers, **arguments: Any) -> Takeovers:
            after: Elections = action.outcome(state.memory, arguments).state
            same = same_leaves(state.memory, after)
            told = choose(same, state.memory, state.told) if rules.controller.unchanged_answered_at_once else state.told
            if answers_uncommitted(rules.data_plane):
                told = after
            return evolve(state, memory=after, told=told, pending=choose(same, state.pending, state.pending + 1))

        def guard(state: Takeovers, **arguments: Any) -> Conjuncts:
            room = state.pending < self.setting["batches"]
            return {**action.guards(state.memory, arguments), "another batch may wait": room}

        return evolve(action, effect=effect, guard=guard)

    def waits(self, state: Takeovers) -> Conjuncts:
        """A batch is not committed."""
        return {"a batch is not committed": state.pending > 0}

    def commit(self, state: Takeovers) -> Takeovers:
        """All batches are committed: brokers read them, and the answers go out."""
        return Takeovers(state.memory, state.memory, state.memory, 0)

    @rule("answer.reads-what-is-committed", source="KIP-631; KAFKA-15048; PR 13799",
          switches=("uncommitted-is-read",), says="A read is answered by what is committed.")  # fmt: skip
    def read(self, state: Takeovers) -> Takeovers:
        """Somebody asks what is so."""
        return evolve(state, told=state.memory if self.rules.controller.uncommitted_is_read else state.committed)

    @rule("takeover.forgets-what-is-not-committed", source="KIP-631; KAFKA-13114; PR 11116; QuorumController.renounce",
          switches=("uncommitted-outlives-takeover",),
          says="A controller that takes over decides by what is committed, though it was the active one before.",
          )  # fmt: skip
    def take_over(self, state: Takeovers) -> Takeovers:
        """The active controller is deposed, and what it has not committed is aborted."""
        kept = state.memory if self.rules.controller.uncommitted_outlives_takeover else state.committed
        return evolve(state, memory=kept, pending=0)


def actions(setting: Setting) -> list[Action]:
    """Every trigger of `elections`, commits, reads and takeovers."""
    do = Deciding(setting)
    return [
        *(do.decision(action) for action in decisions(setting)),
        Action("commit", do.commit, do.waits, {}, "QuorumMetaLogListener.handleCommit"),
        Action("read", do.read, do.waits, {}, "listPartitionReassignments"),
        Action("take_over", do.take_over, do.waits, {}, "QuorumController.renounce"),
    ]


def layout(setting: Setting) -> Takeovers:
    """The domain of each field."""
    one = elections.layout(setting)
    return Takeovers(one, one, one, ints(0, setting["batches"]))


def initial(setting: Setting) -> list[Takeovers]:
    """Nothing is pending."""
    return [Takeovers(one, one, one, 0) for one in elections.initial(setting)]


_OF_SEVERAL_DIRECTORIES = ("heartbeat", "directories_offline")

LEGEND = Legend(
    lanes,
    {
        **{name: arrows for name, arrows in CONTROLLER_ARROWS.items() if name not in _OF_SEVERAL_DIRECTORIES},
        **events(CONTROLLER, "commit", "take_over"),
        "read": sent(OPERATOR, CONTROLLER, "ListPartitionReassignments"),
    },
    {**{label: f"memory.{path}" for label, path in STRIP.items()}, "not committed": "pending"},
)

BOUNDS = (
    Bound("brokers", 2, 3, "number of brokers"),
    Bound("replication", 1, 3, "largest replication factor", at_most="brokers"),
    Bound("reassignment", 0, 1, "whether replicas may be reassigned (0: fixed, replication factor exact)"),
    Bound("batches", 1, 2, "batches that may wait to be committed; the last may be decided by the first"),
    Bound("directories", 1, 1, "for the controller: each broker has one log directory"),
    Bound("reserved", 0, 0, "for the controller: no assignment names a reserved directory"),
)

_BASE: Mapping[str, int] = {
    "brokers": 2,
    "replication": 2,
    "reassignment": 0,
    "batches": 2,
    "directories": 1,
    "reserved": 0,
}

SCOPES = {"tiny": _BASE, "reassigned": {**_BASE, "reassignment": 1, "batches": 1}}

TAKEOVERS = System(
    name="takeovers",
    summary="decisions that are not committed, and controllers that take over: does anything rest on what was aborted?",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    rules=CONTROLLER_GROUPS,
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
