"""Variants and bounds that change nothing are refused, with where they change something."""

from __future__ import annotations

import shlex

import pytest
from attrs import frozen

from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.testing.judging import JudgementRequest
from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Action, Bound, System
from kraftcheck.properties.kinds import sometimes
from tests.shared.commands import kraftcheck

UNREAD = "fixed+hw-uses-proposed-isr"
"""A rule of leaders and followers, which `elections` has none of."""


@pytest.mark.parametrize("command", ["explore", "simulate", "prove", "explain"])
def test_an_unread_variant_is_refused_with_its_readers(command: str) -> None:
    """A variant that no rule of the system reads gets no verdict; the line names the systems and scopes that do."""
    told = kraftcheck(command, "elections", "--scope", "tiny", "--rules", UNREAD).refusal()
    assert told.startswith(f"--rules {UNREAD}: hw-uses-proposed-isr changes nothing in elections --scope tiny; ")
    assert told.endswith("it does in replication --scope tiny, kraft --scope tiny")


@pytest.mark.parametrize(
    "rules",
    [
        UNREAD, "fixed+configured-id-wins", "fixed+ambiguous-takes-first", "fixed+search-reads-every-topic",
        "fixed+duplicate-ids-start", "fixed+abandoned-assignments-accepted", "fixed+restart-drops-replica",
    ],
)  # fmt: skip
def test_a_suggestion_is_true(rules: str) -> None:
    """At each place that a refusal names the variant is not refused: it changes the program there."""
    with pytest.raises(Refusal) as refused:
        check_switches(subject("elections", "tiny", {}, rules))
    places = refused.value.message.partition("; it does in ")[2].split(", ")
    assert places
    for place in places:
        name, *words = shlex.split(place)
        given = {flag.removeprefix("--"): value for flag, value in zip(words[::2], words[1::2], strict=True)}
        scope, there = given.pop("scope"), given.pop("rules", rules)
        check_switches(subject(name, scope, {bound: int(value) for bound, value in given.items()}, there))


def test_a_property_alone_hides_nothing() -> None:
    """Asked for one property, what is read counts as before: a read variant is judged, an unread one refused."""
    one = ("--scope", "tiny", "--property", "isr-within-replicas", "--quiet")
    ran = kraftcheck("explore", "elections", *one, "--rules", "fixed+fenced-may-join-isr")
    assert (ran.code, ran.last) == (0, "2 holds (exit 0)")
    assert "changes nothing" in kraftcheck("explore", "elections", *one, "--rules", UNREAD).refusal()


def test_a_variant_that_is_looked_at_and_changes_nothing_is_refused() -> None:
    """`elections` has no broker epochs: its rules look at the choice, and are the same with it and without."""
    told = kraftcheck("explore", "elections", "--rules", "fixed+alter-partition-ignores-broker-epoch").refusal()
    assert "alter-partition-ignores-broker-epoch changes nothing in elections --scope default" in told


def test_each_of_several_variants_has_to_change_something() -> None:
    """Beside a variant that is read, the one that is not is named."""
    told = kraftcheck("explore", "elections", "--rules", "kafka-4.0+fetch-unfenced-assignment-clears-elr").refusal()
    assert told.startswith("--rules kafka-4.0+fetch-unfenced-assignment-clears-elr: fetch-unfenced changes nothing")


def test_what_only_the_controller_reads_is_said() -> None:
    """No system is large enough for some defects of the controller; the refusal says who reads them."""
    told = kraftcheck("explore", "kraft", "--rules", "fixed+padded-configs-stored").refusal()
    assert told.endswith("nor in any other system; only the controller on ints reads it (kraftcheck replay, conform)")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("fixed-fetch-unfenced", "fetch-unfenced is off in fixed already; leave out -fetch-unfenced"),
        ("kafka-4.0+assignment-clears-elr", "assignment-clears-elr is on in kafka-4.0 already; leave out +assign"),
        ("fixed+fetch-unfenced-fetch-unfenced", "fetch-unfenced is named twice; name it once"),
    ],
)
def test_a_switch_of_what_is_so_already_is_refused(rules: str, message: str) -> None:
    """A variant that the preset has, lacks already, or that is named twice is a slip."""
    told = kraftcheck("explore", "replication", "--rules", rules).refusal()
    assert told.startswith(f"--rules {rules}: {message}")


def test_a_marker_of_pytest_is_refused_alike() -> None:
    """The settings of the plugin are held to the same."""
    with pytest.raises(Refusal, match="hw-uses-proposed-isr changes nothing in elections --scope tiny"):
        JudgementRequest.of("elections", scope="tiny", rules=UNREAD)
    assert JudgementRequest.of("elections", scope="tiny", rules="fixed+fenced-may-join-isr").chosen.rules is not None


@frozen
class Count:
    n: int


COUNTER = System(
    name="counter",
    summary="Counts up to a bound.",
    scopes={"default": {"top": 3, "unused": 0, "wide": 4}},
    bounds=(Bound("top", 1, 9, "counts so far"), Bound("unused", 0, 9, "nothing"), Bound("wide", 4, 9, "room")),
    initial=lambda setting: [Count(0)],
    layout=lambda setting: Count(ints(0, setting["wide"])),
    actions=lambda setting: [Action("count", lambda s: Count(s.n + 1), lambda s: s.n < setting["top"])],
    quiescent=lambda s: s.n > 0,
    properties=[sometimes("counted", "it counts", lambda s: s.n == 1)],
)
"""A system with a bound that no part of it reads."""


def test_a_bound_that_changes_nothing_is_refused() -> None:
    """A bound whose value makes no difference is refused; one that a guard or the layout reads is not."""
    name = f"{__name__}:COUNTER"
    told = kraftcheck("explore", name, "--unused", "2", "--top", "2").refusal()
    assert told == f"--unused 2 changes nothing in {name} --scope default: it is the same as with 0; leave it out"
    for bounds in (["--top", "2"], ["--wide", "5"], ["--unused", "0"]):
        assert kraftcheck("explore", name, *bounds, "--quiet").code == 0, bounds
