"""The catalogue: names lead to the systems of these names, and only what is asked for is imported."""

from __future__ import annotations

import subprocess
import sys

from kraftcheck.model.language.system import System
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elr_index.system import ELR_INDEX
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS

IMPORTED = """
import sys
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
assert "zk-jbod" in SYSTEMS and "fair-zk-jbod" in FAIR_SYSTEMS
SYSTEMS["elections"]
print(*sorted(name for name in sys.modules if name.startswith("kraftcheck.model.systems.") and name.count(".") == 3))
"""


def test_each_name_leads_to_the_system_of_that_name() -> None:
    """A system is found by the name that it has, twice the same object, and by no other name."""
    for catalogue in (SYSTEMS, FAIR_SYSTEMS):
        assert [system.name for system in catalogue.values()] == list(catalogue)
        assert all(catalogue[name] is catalogue[name] for name in catalogue)
    assert "elections" not in FAIR_SYSTEMS
    assert SYSTEMS.get("election") is None


def test_claims_change_no_behaviour() -> None:
    """A system of the catalogue has the actions and the bounds of the one that it is made of, and claims beside."""
    found = SYSTEMS["elr-index"]
    assert isinstance(found, System)
    assert (found.bounds, found.scopes, found.rules) == (ELR_INDEX.bounds, ELR_INDEX.scopes, ELR_INDEX.rules)
    setting = found.setting(rules=parse("fixed"))
    assert [action.name for action in found.actions(setting)] == [action.name for action in ELR_INDEX.actions(setting)]
    assert found.properties(setting)
    assert not ELR_INDEX.properties(setting)


def test_a_system_is_imported_when_it_is_looked_up() -> None:
    """Whether a name is there imports nothing, and one system brings no other, as ZooKeeper's."""
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    packages = {name.split(".")[3] for name in done.stdout.split()}
    assert "elections" in packages
    assert not packages & {"zk_controller", "zk_jbod", "broker_ids", "replication", "kraft", "directories"}
