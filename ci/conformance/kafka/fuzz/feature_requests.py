"""Drawn switches of the ELR feature."""

from __future__ import annotations

from attrs import evolve

from kraftcheck.ci.conformance.kafka.fuzz.broker_requests import Brokers
from kraftcheck.ci.conformance.kafka.fuzz.draws import Draws
from kraftcheck.ci.conformance.kafka.fuzz.model import Decided, ModelController, Request
from kraftcheck.model.controller.alter_configs import elr_safety
from kraftcheck.model.controller.configs import DEFAULTS, MIN_ISR
from kraftcheck.model.controller.state import Controller, Outcome
from kraftcheck.model.rules.ruleset import RuleSet

FEATURE = "feature eligible.leader.replicas.version"
"""The text of the record that switches ELR, without the level."""


def switch_elr(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """ELR is switched on or off, as an upgrade or a safe downgrade, where the release has it; seldom to what it is."""
    features = world.controller.features
    if not features.elr_supported:
        return None
    on = features.elr_enabled if draws.percent(10) else not features.elr_enabled

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        records = elr_safety(controller, DEFAULTS[MIN_ISR]) if on else ()
        return Outcome(records, None, controller.soft, atomic=True), "NONE"

    def switched(controller: Controller) -> Controller:
        image = evolve(controller.image, next_offset=controller.image.next_offset + 1)
        off = controller.features.elr_switched_off or (controller.features.elr_enabled and not on)
        features = evolve(controller.features, elr_enabled=on, elr_switched_off=off and not on)
        return evolve(controller, image=image, features=features)

    return Request(f"elr {'on' if on else 'off'}", decide, after=(f"{FEATURE} {int(on)}", switched))
