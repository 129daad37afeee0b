"""The catalogue: every shipped system with its properties.

Expected verdicts are data in `kraftcheck.properties.expected.verdicts`.
"""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.language.system import Property, ScopeError, Setting, System
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.ruleset import variants
from kraftcheck.model.systems.broker_ids.system import BROKER_IDS as BROKER_IDS_SYSTEM
from kraftcheck.model.systems.directories.system import DIRECTORIES as DIRECTORIES_SYSTEM
from kraftcheck.model.systems.elections.system import ELECTIONS as ELECTIONS_SYSTEM
from kraftcheck.model.systems.elr_index.system import ELR_INDEX as ELR_INDEX_SYSTEM
from kraftcheck.model.systems.kraft.system import KRAFT as KRAFT_SYSTEM
from kraftcheck.model.systems.replication.system import REPLICATION as REPLICATION_SYSTEM
from kraftcheck.model.systems.sessions.system import SESSIONS as SESSIONS_SYSTEM
from kraftcheck.model.systems.unclean_recovery.system import UNCLEAN_RECOVERY as UNCLEAN_RECOVERY_SYSTEM
from kraftcheck.model.systems.zk_controller.system import ZK_CONTROLLER as ZK_CONTROLLER_SYSTEM
from kraftcheck.model.systems.zk_jbod.system import ZK_JBOD as ZK_JBOD_SYSTEM
from kraftcheck.properties.broker_ids import lemmas as broker_ids_lemmas
from kraftcheck.properties.broker_ids import promises as broker_ids_promises
from kraftcheck.properties.broker_ids.fairness import FAIR_BROKER_IDS
from kraftcheck.properties.directories import assignment as directories_assignment
from kraftcheck.properties.directories import disks
from kraftcheck.properties.directories import goals as directories_goals
from kraftcheck.properties.directories import healing as directories_healing
from kraftcheck.properties.directories import lemmas as directories_lemmas
from kraftcheck.properties.directories import loss as directories_loss
from kraftcheck.properties.directories.fairness import FAIR_DIRECTORIES
from kraftcheck.properties.elections import elr as eligibility
from kraftcheck.properties.elections import goals, leadership, outsiders
from kraftcheck.properties.elections import healing as elections_healing
from kraftcheck.properties.elections import lemmas as elections_lemmas
from kraftcheck.properties.elections import registration as shape
from kraftcheck.properties.elections.after_faults import HEALING_ELECTIONS
from kraftcheck.properties.elections.fairness import FAIR_ELECTIONS
from kraftcheck.properties.elr_index import promises as elr_index_promises
from kraftcheck.properties.kinds import validate
from kraftcheck.properties.kraft import both as composed
from kraftcheck.properties.replication import durability, loss
from kraftcheck.properties.replication import healing as replication_healing
from kraftcheck.properties.replication import lemmas as replication_lemmas
from kraftcheck.properties.replication.fairness import FAIR_REPLICATION
from kraftcheck.properties.sessions import promises as sessions_promises
from kraftcheck.properties.sessions.after_faults import HEALING_SESSIONS
from kraftcheck.properties.unclean_recovery import lemmas as unclean_recovery_lemmas
from kraftcheck.properties.unclean_recovery import promises as unclean_recovery_promises
from kraftcheck.properties.unclean_recovery.fairness import FAIR_UNCLEAN_RECOVERY
from kraftcheck.properties.zk_controller import lemmas as zk_controller_lemmas
from kraftcheck.properties.zk_controller import promises as zk_controller_promises
from kraftcheck.properties.zk_controller.fairness import FAIR_ZK_CONTROLLER
from kraftcheck.properties.zk_jbod import lemmas as zk_jbod_lemmas
from kraftcheck.properties.zk_jbod import promises as zk_jbod_promises
from kraftcheck.properties.zk_jbod.fairness import FAIR_ZK_JBOD


def elections_properties(setting: Setting) -> tuple[Property, ...]:
    """Every property of `elections`, validated."""
    parts = (shape, leadership, eligibility, outsiders, elections_healing, goals)
    return validate([claim for part in parts for claim in part.properties(setting)], variants())


ELECTIONS = evolve(ELECTIONS_SYSTEM, properties=elections_properties, lemmas=elections_lemmas.lemmas)
"""`elections` with its properties."""



def replication_properties(setting: Setting) -> tuple[Property, ...]:
    """Every property of `replication`, validated."""
    parts = (durability, loss, replication_healing)
    return validate([claim for part in parts for claim in part.properties(setting)], variants())


REPLICATION = evolve(
    REPLICATION_SYSTEM, properties=replication_properties, lemmas=replication_lemmas.lemmas,
    decided=replication_lemmas.DECIDED,
)  # fmt: skip
"""`replication` with its properties."""

def broker_id_properties(setting: Setting) -> tuple[Property, ...]:
    """Every property of `broker-ids`, validated."""
    return validate(broker_ids_promises.properties(setting), variants())


BROKER_IDS = evolve(BROKER_IDS_SYSTEM, properties=broker_id_properties, lemmas=broker_ids_lemmas.lemmas)
"""`broker-ids` with its properties."""

def directories_properties(setting: Setting) -> tuple[Property, ...]:
    """Every property of `directories`, validated."""
    parts = (directories_assignment, disks, directories_loss, directories_healing, directories_goals)
    return validate([claim for part in parts for claim in part.properties(setting)], variants())


DIRECTORIES = evolve(DIRECTORIES_SYSTEM, properties=directories_properties, lemmas=directories_lemmas.lemmas)
"""`directories` with its properties."""

def kraft_properties(setting: Setting) -> tuple[Property, ...]:
    """Every property of `kraft`, validated."""
    return validate(composed.properties(setting), variants())


KRAFT = evolve(KRAFT_SYSTEM, properties=kraft_properties)
"""`kraft` with its properties."""

def zk_controller_properties(setting: Setting) -> tuple[Property, ...]:
    """Every property of `zk-controller`, validated."""
    return validate(zk_controller_promises.properties(setting), variants())


ZK_CONTROLLER = evolve(
    ZK_CONTROLLER_SYSTEM, properties=zk_controller_properties, lemmas=zk_controller_lemmas.lemmas
)
"""`zk-controller` with its properties."""

def unclean_recovery_properties(setting: Setting) -> tuple[Property, ...]:
    """Every property of `unclean-recovery`, validated."""
    return validate(unclean_recovery_promises.properties(setting), variants())


UNCLEAN_RECOVERY = evolve(
    UNCLEAN_RECOVERY_SYSTEM, properties=unclean_recovery_properties, lemmas=unclean_recovery_lemmas.lemmas
)
"""`unclean-recovery` with its properties."""

def zk_jbod_properties(setting: Setting) -> tuple[Property, ...]:
    """Every property of `zk-jbod`, validated."""
    return validate(zk_jbod_promises.properties(setting), variants())


ZK_JBOD = evolve(ZK_JBOD_SYSTEM, properties=zk_jbod_properties, lemmas=zk_jbod_lemmas.lemmas)
"""`zk-jbod` with its properties."""


def elr_index_properties(setting: Setting) -> tuple[Property, ...]:
    """Every property of `elr-index`, validated."""
    return validate(elr_index_promises.properties(setting), variants())


ELR_INDEX = evolve(ELR_INDEX_SYSTEM, properties=elr_index_properties)
"""`elr-index` with its properties."""


def sessions_properties(setting: Setting) -> tuple[Property, ...]:
    """Every property of `sessions`, validated."""
    return validate(sessions_promises.properties(setting), variants())


SESSIONS = evolve(SESSIONS_SYSTEM, properties=sessions_properties)
"""`sessions` with its properties."""

_ALL = (
    ELECTIONS, REPLICATION, BROKER_IDS, DIRECTORIES, KRAFT, ZK_CONTROLLER, UNCLEAN_RECOVERY, ZK_JBOD, ELR_INDEX,
    SESSIONS,
)  # fmt: skip
SYSTEMS: dict[str, System] = {system.name: system for system in _ALL}
"""Shipped systems by name."""




def _checked(system: System) -> System:
    """The system, its liveness properties validated."""
    return evolve(system, properties=lambda setting: validate(system.properties(setting), variants()))


_FAIR = (
    FAIR_ELECTIONS, HEALING_ELECTIONS, HEALING_SESSIONS, FAIR_REPLICATION, FAIR_DIRECTORIES, FAIR_BROKER_IDS,
    FAIR_ZK_CONTROLLER, FAIR_ZK_JBOD, FAIR_UNCLEAN_RECOVERY,
)  # fmt: skip
FAIR_SYSTEMS: dict[str, System] = {system.name: _checked(system) for system in _FAIR}
"""Systems with fairness, and with liveness properties alone, by name: only `explore` and `check` judge them."""


def find(name: str) -> System:
    """A shipped system, with fairness or without; raises `ScopeError` with the nearest names for another."""
    named = {**SYSTEMS, **FAIR_SYSTEMS}
    if name not in named:
        raise ScopeError(f"unknown system {name!r}; {nearest(name, named)}")
    return named[name]
