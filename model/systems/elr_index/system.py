"""The `elr-index` system: the actions of `elections` on a topic that may be deleted, with the index of ELR members."""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Action, Bound, Conjuncts, Legend, Outcome, Setting, System, event, sent
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule
from kraftcheck.model.rules.groups import CONTROLLER_GROUPS
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.elections import system as elections
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elections.state import initial as new_topics
from kraftcheck.model.systems.elections.system import CONTROLLER, CONTROLLER_ARROWS, OPERATOR, STRIP, lanes
from kraftcheck.model.systems.elections.triggers import start
from kraftcheck.model.systems.elr_index.state import ElrIndexed, initial, layout
from kraftcheck.model.systems.parts import OfSetting
from kraftcheck.model.triggers.table import first_isr, visits_elr

_ABSENT = ("reassign", "cancel", "directories_offline", "heartbeat")
"""Brokers have one directory here, and replicas stay where they are."""

LEGEND = Legend(
    lanes,
    {
        **{name: arrows for name, arrows in CONTROLLER_ARROWS.items() if name not in _ABSENT},
        "delete_topic": sent(OPERATOR, CONTROLLER, "DeleteTopics"),
        "create_topic": sent(OPERATOR, CONTROLLER, "CreateTopics"),
        "load_snapshot": event(CONTROLLER),
    },
    {"topic exists": "exists", **{label: f"controller.{path}" for label, path in STRIP.items()}},
)


BOUNDS = (
    Bound("brokers", 2, 3, "number of brokers"),
    Bound("directories", 1, 1, "log directories of each broker"),
    Bound("replication", 2, 3, "replication factor of the topic"),
    Bound("reassignment", 0, 0, "no replica is reassigned"),
    Bound("reserved", 0, 0, "no reserved directory is named"),
)

SCOPES = {"tiny": {"brokers": 2, "directories": 1, "replication": 2, "reassignment": 0, "reserved": 0}}

OF_BROKERS = ("fence", "unfence", "controlled_shutdown", "unregister", "new_incarnation")
"""Actions that concern brokers, with the topic or without it."""

OF_CLUSTER = ("enable_elr", "disable_elr")  # actions that concern the whole cluster


@frozen
class Indexing(OfSetting[RuleSet]):
    """The steps of one setting."""

    GROUP = ""

    def of_elections(self, action: Action) -> Action:
        """An action of `elections` on the topic, or on the brokers alone."""

        def guard(state: ElrIndexed, **arguments: Any) -> Conjuncts:
            parts = action.guards(state.controller, arguments)
            return parts if action.name in (*OF_BROKERS, *OF_CLUSTER) else {"the topic exists": state.exists, **parts}

        def effect(state: ElrIndexed, **arguments: Any) -> Outcome:
            done: Outcome = action.outcome(state.controller, arguments)
            without = done.state.with_partition(state.controller.partition())
            after = choose(state.exists, done.state, without)
            left = state.left
            if action.name == "set_min_isr":
                left = self._left(state, after)
            fatal = self._fatal(state, action.name, arguments)
            event = evolve(done.event, resigned=any_of(done.event.resigned, fatal))
            return Outcome(choose(fatal, state, evolve(state, controller=after, left=left)), event)

        return evolve(action, effect=effect, guard=guard)

    @rule("elr-index.min-isr-change-unlists", source="ReplicationControlManager.removeTopicElrs",
          switches=("cleared-elr-stays-indexed",),
          says="A broker whose ELR is emptied by a change of min.insync.replicas is listed no more.")  # fmt: skip
    def _left(self, before: ElrIndexed, after: Elections) -> BrokerSet:
        """The brokers that are listed beyond the ELR once a change of min ISR has emptied it."""
        if not self.rules.controller.cleared_elr_stays_indexed:
            return before.left
        return before.left.plus(before.controller.elr.minus(after.elr))

    def _fatal(self, state: ElrIndexed, action: str, arguments: dict[str, Any]) -> Truth:
        """Whether the controller looks up a deleted topic: it goes through all that a broker is listed for."""
        if action == "unregister":
            return state.dead.has(arguments["broker"])
        if action != "new_incarnation":
            return False
        clean = all_of(arguments["clean"], state.controller.registered.has(arguments["broker"]))
        visits = visits_elr(clean, state.controller.elr_enabled, self.rules.partition)
        return all_of(state.dead.has(arguments["broker"]), visits)

    def delete(self, state: ElrIndexed) -> Outcome:
        """The topic goes; brokers that are in its ELR then are unlisted, others that are listed for it stay."""
        new = new_topics(self.setting)[0]
        partition = evolve(new.partition(), isr=state.controller.isr.none(), leader=-1)
        controller = state.controller.with_partition(partition)
        dead = state.dead.plus(state.left.minus(state.controller.elr))
        after = evolve(state, controller=controller, exists=False, left=BrokerSet(), dead=dead)
        return Outcome(after, start(state.controller).event)

    def may_create(self, state: ElrIndexed) -> Conjuncts:
        """Whether the topic can be created: one of its brokers has to be active."""
        able = negate(state.controller.active().is_empty())
        return {"there is no topic": negate(state.exists), "one is active": able}

    def create(self, state: ElrIndexed) -> Outcome:
        """A topic of that name is created again, on the same brokers."""
        new = new_topics(self.setting)[0].partition()
        isr = first_isr(new.isr, state.controller.active(), self.rules.partition)
        made = state.controller.with_partition(evolve(new, isr=isr, leader=isr.first()))
        after = evolve(state, controller=made, exists=True)
        return Outcome(after, start(state.controller).event)

    def load_snapshot(self, state: ElrIndexed) -> Outcome:
        """A controller that has loaded a snapshot takes over: its index agrees with the ELRs."""
        return Outcome(evolve(state, left=BrokerSet(), dead=BrokerSet()), start(state.controller).event)


def actions(setting: Setting) -> list[Action]:
    """The actions of `elections`, and what becomes of the topic and of the controller."""
    do = Indexing(setting)
    return [
        *(do.of_elections(action) for action in elections.actions(setting)),
        Action("delete_topic", do.delete, lambda state: {"the topic exists": state.exists}, {}, "deleteTopics"),
        Action("create_topic", do.create, do.may_create, {}, "createTopics"),
        Action("load_snapshot", do.load_snapshot, None, {}, "a controller that starts from a snapshot"),
    ]


ELR_INDEX = System(
    name="elr-index",
    summary="a topic that is deleted and created again, and the index by which the controller finds ELR members",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    rules=CONTROLLER_GROUPS,
    legend=LEGEND,
    quiet=lambda state: start(state.controller).event,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
