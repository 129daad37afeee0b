"""How traces of `replication` are drawn: records between brokers, proposals and metadata to and from the controller."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.model.language.system import Arrow, Legend, event, sent
from kraftcheck.model.systems.elections.legend import BROKER, CONTROLLER, CONTROLLER_ARROWS, STRIP, lanes

REPLICATION_ARROWS: Mapping[str, tuple[Arrow, ...]] = {
    "produce": event(BROKER),
    "produce_acks_1": event(BROKER),
    "crash": event(BROKER),
    "give_up": event(BROKER),
    "fetch": sent("broker {leader}", "broker {follower}", "records"),
    "apply_metadata": sent(CONTROLLER, BROKER, "metadata records"),
    "apply_equal_metadata": sent(CONTROLLER, BROKER, "metadata records"),
    "propose_expand": event(BROKER),
    "propose_shrink": event(BROKER),
    "alter_partition": sent("broker {leader}", CONTROLLER, "AlterPartition"),
    "receive_answer": sent(CONTROLLER, BROKER, "answer to AlterPartition"),
    **{name: CONTROLLER_ARROWS[name] for name in ("fence", "unfence", "elect_preferred")},
}
"""What the data plane adds to the controller; `kraft` has it too."""

_TRIGGERS = ("elect_unclean", "elect_designated", "set_min_isr", "reassign", "cancel")

LEGEND = Legend(
    lanes,
    {
        **REPLICATION_ARROWS,
        **{name: CONTROLLER_ARROWS[name] for name in _TRIGGERS},
        "register": sent(BROKER, CONTROLLER, "BrokerRegistration"),
        "shut_down": sent(BROKER, CONTROLLER, "heartbeat: wants to shut down"),
        "stop": event(BROKER),
        "refused_fetch": sent("broker {follower}", "broker {leader}", "a fetch that is refused"),
        "serve_late": event("broker {leader}"),
        "late_reply": event("broker {reply.follower}"),
        "end_recovering": event(BROKER),
    },
    {
        **{label: f"controller.{path}" for label, path in STRIP.items()},
        "leader epoch": "leader_epoch",
        "committed": "committed",
        "acknowledged": "acknowledged",
    },
)
