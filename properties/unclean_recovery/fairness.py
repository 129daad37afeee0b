"""Liveness of `unclean-recovery`: a run of the tool finally ends.

`FAIR_UNCLEAN_RECOVERY` is the system with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from kraftcheck.model.language.system import Fairness, Property, Setting
from kraftcheck.model.systems.unclean_recovery.state import IDLE
from kraftcheck.model.systems.unclean_recovery.system import UNCLEAN_RECOVERY
from kraftcheck.properties.kinds import fair_system, leads_to, weak_fairness


def fairness(setting: Setting) -> list[Fairness]:
    """Time passes and the tool goes on; no broker need answer, and each request may be refused or lost."""
    return [weak_fairness(name) for name in ("tick", "decide", "request", "finish")]


def properties(setting: Setting) -> list[Property]:
    """What finally comes about."""
    return [
        leads_to("run-ends", "a run finally ends, though no broker answers and requests are lost",
                 lambda s: s.phase > IDLE, lambda s: s.phase == IDLE, "unclean-recovery KIP, --recovery-duration-ms",
                 ("recovery-waits-for-every-broker",), ("recovery.deadline",)),
    ]  # fmt: skip


FAIR_UNCLEAN_RECOVERY = fair_system(
    UNCLEAN_RECOVERY, "where time passes: does a run of the tool end?", properties, fairness
)
"""The system with its liveness."""
