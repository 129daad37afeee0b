"""How traces of `sessions` are drawn: heartbeats, and what the controller makes of them."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.model.language.system import Legend, event, numbered, sent

CONTROLLER, BROKER = "controller", "broker {broker}"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The controller, and each broker."""
    return (CONTROLLER, *numbered("broker", bounds["brokers"]))


LEGEND = Legend(
    lanes,
    {
        "beat": sent(BROKER, CONTROLLER, "heartbeat"),
        "miss": event(BROKER),
        "pass_round": event(CONTROLLER),
        "expire": event(CONTROLLER),
        "take_over": event(CONTROLLER),
        "die": event(BROKER),
        "stop": event(BROKER),
        "register": sent(BROKER, CONTROLLER, "BrokerRegistration"),
        "register_again": sent(BROKER, CONTROLLER, "BrokerRegistration"),
        "apply": sent(CONTROLLER, BROKER, "metadata records"),
    },
    {"broker 0 fenced": "brokers[0].fenced", "broker 0 silent for": "brokers[0].silence"},
)
