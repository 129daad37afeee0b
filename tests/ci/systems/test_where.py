"""`kraftcheck where WORDS`: the rule, its place, its sources and what checks it, in one call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shared.commands import kraftcheck

QUESTIONS = {
    "min isr": {"min-isr.change-clears-elr", "elr.empty-at-min-isr", "min-isr.own-replicas"},
    "fenced": {"isr.join.unfenced", "fence.leaves-isr", "leader.unfenced"},
    "B4": {"elr.within-replicas"},
    "last known leader": {"election.last-known.alive", "last-known.is-a-broker"},
    "fenced-may-join-isr": {"isr.join.unfenced"},
    "KAFKA-19522": {"election.last-known.alive"},
    "invariant 33": {"election.unclean.marks-recovering"},
    "alive last known": {"election.last-known.alive"},
    "elr-within-replicas": {"elr.within-replicas"},
    "reasignment complets": {"reassignment.completion.every-build"},
}
"""What is asked, and rules that are among the answers."""


@pytest.mark.parametrize("words", QUESTIONS)
def test_one_call_finds_the_rule(words: str) -> None:
    """Words of an id or a sentence, a citation, a variant, a property, and a misspelt word lead to the rule."""
    ran = kraftcheck("where", *words.split(), "--json", "-")
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)
    assert (told["version"], told["command"], told["words"]) == (1, "where", words)
    assert QUESTIONS[words] <= {rule["id"] for rule in told["rules"]}


@pytest.mark.parametrize("words", ["min isr", "fenced", "B4", "last known leader"])
def test_the_places_exist(words: str) -> None:
    """File and line of each answer exist, and the line has the rule's id."""
    rules = json.loads(kraftcheck("where", *words.split(), "--json", "-").out)["rules"]
    assert rules
    for rule in rules:
        assert f'"{rule["id"]}"' in Path(rule["file"]).read_text(encoding="utf-8").splitlines()[rule["line"] - 1]
        assert rule["sources"]
        assert rule["properties"] or rule["uncovered"]


def test_people_see_all_that_belongs_to_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best match comes first, with its place, sources, variants, properties and defects."""
    monkeypatch.chdir(Path(__file__).parents[3])
    ran = kraftcheck("where", "elr", "within", "replicas")
    assert ran.code == 0
    block = ran.out.split("\n\n")[0]
    assert block.startswith("elr.within-replicas\n  Every ELR member is a replica.\n")
    assert "\n  at        model/partition/election.py:" in block
    assert "  source    B4: docs/reference/kafka-semantics.md#b4\n" in block
    assert "  variant   removed-replicas-stay-in-elr: the ELR is not limited to the replicas after" in block
    assert "  property  elections elr-within-replicas: every ELR member is a replica (refuted by removed-" in block
    assert "  defect    removed-replicas-stay-in-elr (catalogue 1; X1): breaks quorum-superset" in block
    assert "  finding   ghost-elr-member: " in ran.out, "what released controllers make of the rule"


def test_a_rule_without_property_says_why() -> None:
    """Where no property checks a rule, its reason stands there."""
    assert "  property  none: placement is not explored" in kraftcheck("where", "placement", "striped").out


def test_many_answers_end_with_the_ids_of_the_others() -> None:
    """Eight rules are shown in full; the last line counts all and names the rest."""
    last = kraftcheck("where", "leader").last
    count, _, rest = last.partition("; also ")
    assert int(count.split()[0]) == 8 + len(rest.split(", "))


@pytest.mark.parametrize("words", ["xyzzy", "B99", "elr xyzzy", "---"])
def test_words_that_no_rule_is_about_are_refused(words: str) -> None:
    """No answer is one line with the nearest ids, and exit code 2; every word has to match."""
    ran = kraftcheck("where", "--", *words.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("kraftcheck: no rule is about ")
    assert ran.err.count("\n") == 1


def test_a_misspelt_id_gets_the_nearest_ones() -> None:
    """The line names ids that are like what was asked."""
    assert "did you mean elr.within-replicas" in kraftcheck("where", "elrwithin", "replikant").err


def test_a_line_of_a_document_finds_its_statements() -> None:
    """The rows of the coverage table at that line are shown with what they name, and their rules in full."""
    ran = kraftcheck("where", "unclean-recovery", "KIP", "144")
    assert ran.out.startswith("unclean-recovery KIP 143-144: modelled and checked\n")
    seen = "unclean-recovery loses-least in 7 steps, unclean-recovery tiny --disks 0 --faults 0 --replacements 1\n"
    assert f"  variant   designated-election-without-broker-epoch: {seen}" in ran.out
    assert "\nrecovery.elected-as-it-answered\n" in ran.out
    told = json.loads(kraftcheck("where", "catalogue", "51", "--json", "-").out)
    (row,) = told["statements"]
    assert (row["id"], row["class"]) == ("catalogue 51", "b")
    (pair,) = row["shown"]
    assert (pair["property"], pair["scope"], pair["length"]) == ("unclean-recovery loses-least", "tiny", 7)
    assert pair["bounds"] == {"replacements": 1, "faults": 0, "disks": 0}


def test_a_line_without_a_statement_is_refused() -> None:
    """A document's name with a line that says nothing finds nothing."""
    assert "no rule is about" in kraftcheck("where", "unclean-recovery", "KIP", "7").refusal()


def test_a_changed_system_shows_its_changes(tmp_path: Path) -> None:
    """Each change is shown where it is written, with the rule that it replaces; a system without any is refused."""
    (tmp_path / "where_kip.py").write_text(
        "import kraftcheck as kc\n\n\ndef nobody(self, rules):\n    return self.isr.none()\n\n\n"
        'KIP = kc.kafka("elections").override("election.elr.only-when-isr-empty", nobody).scope("pair", brokers=2)\n'
        'PLAIN = kc.kafka("elections")\n'
    )
    shown = kraftcheck("where", f"{tmp_path}/where_kip.py:KIP").out
    assert "at        where_kip.py:4" in shown
    assert "model/partition/election.py:" in shown
    about = kraftcheck("where", f"{tmp_path}/where_kip.py:KIP", "only", "when", "isr", "empty").out
    assert "  instead   where_kip.py:4\n" in about
    assert about.count("  instead ") == 1 < about.count("  at ")
    assert "nothing is changed in" in kraftcheck("where", f"{tmp_path}/where_kip.py:PLAIN").refusal()
