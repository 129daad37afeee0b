"""The promises of the index of ELR members: its content, and no harm to a controller."""

from __future__ import annotations

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import negate
from kraftcheck.model.systems.elr_index.state import ElrIndexed
from kraftcheck.properties.elections.outsiders import working
from kraftcheck.properties.kinds import always, happens, sometimes, step

_DEFECT = ("cleared-elr-stays-indexed",)
_SOURCE = "ReplicationControlManager.removeTopicElrs"


def properties(setting: Setting) -> list[Property]:
    """Every property of the system."""
    claims = [
        always("index-lists-members", "a broker is listed for ELRs that it is in, and for no others",
               lambda state: {"of the topic": state.left.is_empty(), "of a deleted topic": state.dead.is_empty()},
               _SOURCE, _DEFECT, rules=("elr-index.min-isr-change-unlists", "elr-index.follows-cleared-elrs")),
        step("controller-stays", "no broker that returns or goes makes the controller look up a deleted topic",
             lambda t: negate(t.event.resigned), _SOURCE, _DEFECT,
             rules=("elr-index.lists-existing-topics", "elr-index.min-isr-change-unlists")),
        step("created-in-sync", "the first ISR of a partition holds active brokers only",
             lambda t: True if t.action != "create_topic" else _active(t.after),
             "KAFKA-13083", ("created-isr-holds-fenced",), rules=("topic.creation.active-replicas-in-sync",)),
        sometimes("shows-no-topic", "a topic that is deleted", lambda s: negate(s.exists)),
        happens("shows-creation", "a topic is created again", lambda t: t.action == "create_topic"),
    ]  # fmt: skip
    rules = setting.rules.partition
    if rules.elr_available:
        claims.append(sometimes("shows-elr", "a partition with an ELR", lambda s: negate(s.controller.elr.is_empty())))
    if rules.elr_available and not rules.min_isr_change_keeps_elr:
        claims.append(
            happens("shows-cleared-elr", "a change of min.insync.replicas empties an ELR",
                    lambda t: t.action == "set_min_isr" and negate(_elr(t.before).same(_elr(t.after))))
        )  # fmt: skip
    return claims


def _elr(state: ElrIndexed) -> BrokerSet:
    return state.controller.elr


def _active(state: ElrIndexed) -> Truth:
    return state.controller.isr.within(working(state.controller))
