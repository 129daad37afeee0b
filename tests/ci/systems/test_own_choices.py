"""Choices that a user's system declares, as docs/how-to/variants.md shows them: the page's own system is run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from attrs import evolve, field, frozen

from kraftcheck.ci.systems.lookup import properties_of
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.rules.groups import PartitionRules
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT
from tests.toys import CLOCK

PAGE = (ROOT / "docs" / "how-to" / "variants.md").read_text(encoding="utf-8")
NAME = "postbox:POSTBOX"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder outside the package that holds the page's module."""
    (tmp_path / "postbox.py").write_text(PAGE.partition("```python\n")[2].partition("```")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    yield tmp_path
    sys.modules.pop("postbox", None)


def module() -> ModuleType:
    """The page's module, imported."""
    subject(NAME, None, {}, None)
    return sys.modules["postbox"]


@pytest.mark.usefixtures("folder")
def test_the_commands_of_the_page_do_what_it_says() -> None:
    """All holds at base, each choice refutes the property that names it, and several may be switched at once."""
    listed = PAGE.partition("```text\n")[2].partition("```")[0].splitlines()
    codes = [kraftcheck(*line.split()[1:], *(["--quiet"] if "explore" in line else [])).code for line in listed]
    assert codes == [0, 0, 12, 12]
    told = kraftcheck("explore", NAME, "--rules", "base+lossy-network", "--json", "-", "--quiet").document()
    verdicts = {row["id"]: row["verdict"] for row in told["properties"]}
    assert verdicts == {
        "nothing-lost": "refuted", "nothing-twice": "holds", "shows-arrival": "holds", "deadlock": "holds",
    }  # fmt: skip
    assert told["rules"] == "base+lossy-network"


@pytest.mark.usefixtures("folder")
def test_the_setting_has_the_users_record() -> None:
    """`setting.rules` is of the user's class, by the default preset, by switches, and without the command line."""
    own = module()
    assert own.POSTBOX.setting().rules == subject(NAME, None, {}, None).setting.rules == own.PostboxRules()
    lossy = subject(NAME, None, {}, "base+lossy-network")
    assert lossy.setting.rules == own.PostboxRules(lossy_network=True)
    assert "--rules base+lossy-network" in lossy.command()


@pytest.mark.usefixtures("folder")
def test_list_shows_the_users_choices() -> None:
    """Preset, variants with their sentences, and what they refute; as text and as a document."""
    out = kraftcheck("list", NAME).out
    assert "base: each choice of the system off" in out
    assert "a letter on its way may be lost" in out
    told = kraftcheck("list", NAME, "--json", "-").document()
    assert [one["name"] for one in told["variants"]] == ["lossy-network", "delivers-twice"]
    assert list(told["rules"]) == ["base"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("fixed", "unknown rule set 'fixed'; did you mean base?"),
        ("base+lossy", "unknown variant 'lossy' in 'base+lossy'; did you mean lossy-network?"),
        ("base-lossy-network", "--rules base-lossy-network: lossy-network is off in base already; leave out -lossy"),
    ],
)
def test_unknown_and_idle_switches_are_refused(rules: str, message: str) -> None:
    """As with Kafka's rules, a name that is not known, and a switch of what is so already."""
    assert kraftcheck("explore", NAME, "--rules", rules).refusal().startswith(message)


@frozen
class Idle:
    unread: bool = False


def test_a_choice_that_changes_nothing_is_refused() -> None:
    """A choice that no part of the system reads gets no verdict."""
    chosen = subject("tests.toys:CLOCK", None, {}, None)
    unread = evolve(CLOCK, rules=Idle)
    chosen = evolve(chosen, whole=unread, rules="base+unread", setting=unread.setting(rules=Idle(unread=True)))
    with pytest.raises(Refusal, match=r"base\+unread: unread changes nothing in .* --scope default, nor at another"):
        check_switches(chosen)


@frozen
class OnByDefault:
    wrong: bool = True


@frozen
class Numbered:
    wrong: int = field(default=0)


@pytest.mark.parametrize("rules", [True, OnByDefault, Numbered, int, (OnByDefault,), (PartitionRules, OnByDefault)])
def test_what_declares_no_choices_is_refused(rules: object) -> None:
    """A truth, a class that is no record of choices that are off, and groups that are not Kafka's: one line."""
    with pytest.raises(Refusal, match=r"^clock: "):
        properties_of("clock", evolve(CLOCK, rules=rules), CLOCK.setting())


@pytest.mark.usefixtures("folder")
def test_a_refuting_variant_has_to_exist() -> None:
    """`refuted_by` names choices of the system."""
    system = module().POSTBOX
    claims = [evolve(claim, refuted_by=("lossy",)) for claim in system.properties(system.setting())]
    with pytest.raises(Refusal, match="refuted_by names the unknown variant 'lossy'; did you mean lossy-network"):
        properties_of(NAME, evolve(system, properties=lambda _: claims), system.setting())
