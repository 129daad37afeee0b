"""Real logs explained: every batch, and every corrupted field caught at its batch."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.logs.format.read import find
from kraftcheck.ci.logs.releases import rules_of
from kraftcheck.ci.logs.report import ReplayOptions, lines
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller.state import Controller
from kraftcheck.solvers.logs.explain.explain import ReplayedBatch, explain, violations_of
from kraftcheck.solvers.logs.explain.state import Batch, EntryError, State, empty
from kraftcheck.solvers.logs.memo.ledger import compact
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from tests.shared.captures import (
    DEAD_LEADER,
    ELR,
    EVERY,
    NEWEST,
    NO_ELR,
    RECENT,
    TROUBLE,
    batches,
    corrupted,
    cut,
    json_lines,
    replay_log,
    replayed,
    with_data,
)
from tests.shared.commands import kraftcheck
from tests.shared.samples import one_in
from tests.solvers.logs.test_log_quick import verdict

VIOLATED = {
    DEAD_LEADER: {"leader-active", "isr-active-while-led", "unclean-stop-loses-eligibility"},
    TROUBLE: {"elr-registered", "unfenced-where-known"},
    **dict.fromkeys((*RECENT, NEWEST), ("elr-registered",)),
}
"""What released controllers break in the open: KAFKA-19522 in 4.0.0; later ones leave the unregistered in ELRs.

While ELR is switched off, a return from an unclean stop looks like one from a clean stop, and is not judged.
"""

OPERATED = frozenset({"cancel", "unregister", "set_min_isr", "add", "delete topic"})
MORE = {
    TROUBLE: OPERATED | {"elect_unclean"},
    **dict.fromkeys(RECENT, OPERATED),
    NEWEST: OPERATED | {"directories_cordoned"},
}
"""Events that a log has to have beside those that each has."""

NIGHTLY = [pytest.param(folder, marks=pytest.mark.slow) for folder in RECENT]
WITHOUT_ELR = ("no-elr", "kafka-3.9.1", "kafka-4.0.0")
WITH_ELR = ("eligibleLeaderReplicas", "lastKnownElr")
LEAST = {"leader": 60, "isr": 150, "eligibleLeaderReplicas": 20, "lastKnownElr": 20, "directories": 40, "epoch": 30}
"""At least so many changes of each field are caught in a log; without ELR there are none of its fields."""


@pytest.mark.parametrize("folder", [*EVERY, *NIGHTLY], ids=lambda folder: folder.name)
def test_real_logs_are_explained(folder: Path) -> None:
    """Every batch of a real cluster is what the model's controller writes; properties hold but those known not to."""
    summary = ReplayOptions(None).replay(find((folder,))[0])
    assert summary.unexplained == []
    assert {violation.property for _, violation in summary.violations} == set(VIOLATED.get(folder, ()))
    assert summary.exit_code() == (12 if folder in VIOLATED else 0)
    assert summary.batches > 50
    kinds = {"fence", "unfence", "new_incarnation", "alter_partition", "assign", "elect_preferred", "reassign",
              "controlled_shutdown", "directories_offline"}  # fmt: skip
    assert kinds | MORE.get(folder, set()) <= summary.events.keys()


@pytest.mark.parametrize(
    ("folder", "rules"),
    [(DEAD_LEADER, "kafka-4.1.0"), (ELR, "kafka-4.0"), (ELR, "kafka-4.1.0+dead-last-known-leader-electable"),
     (ELR, "kafka-4.1.0+every-restart-is-unclean")],
)  # fmt: skip
def test_other_rules_do_not_explain(folder: Path, rules: str) -> None:
    """A log of 4.0.0, which elects dead leaders (KAFKA-19522), is none of 4.1.0, nor the reverse: each choice shows."""
    summary = ReplayOptions(rules).replay(find((folder,))[0])
    assert summary.exit_code() == 23
    assert summary.unexplained[0].nearest is not None
    assert any("observed" in line and "required" in line for line in lines(summary))


@pytest.mark.parametrize("folder", one_in(len(EVERY), EVERY), ids=lambda folder: folder.name)
def test_every_corrupted_field_is_caught_at_its_batch(folder: Path) -> None:
    """One changed epoch, leader or ELR always fails there; an ISR or directory unless a broker may propose it."""
    caught = Counter(kind for kind, fails, _ in corruptions(folder, 1) if fails)
    fields = [kind for kind in LEAST if kind not in WITH_ELR or folder.name not in WITHOUT_ELR]
    assert all(caught[kind] >= LEAST[kind] for kind in fields), caught


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_corrupted_fields_of_every_log_are_caught(folder: Path) -> None:
    """A sample of the same in each log; looked up, what is corrupted fails in the same way."""
    replay = MemoisedReplay(rules_of)
    cases = list(corruptions(folder, 29))
    for before, batch, plain in (case for _, _, case in cases if case is not None):
        replay.restart_at(before)
        (memoised,) = replay.replay([compact(batch)])
        assert verdict(memoised) == verdict(plain)
    assert sum(fails for _, fails, _ in cases) > 0.8 * len(cases) > 10


Corruption = tuple[str, bool, tuple[State, Batch, ReplayedBatch] | None]
"""The kind of field, whether the batch fails, and the state before it, the batch and what became of it.

None where the fields are no record's, which ends the replay there.
"""


def corruptions(folder: Path, step: int) -> Iterator[Corruption]:
    """Every `step`-th way of changing one field of a log that can be decoded, and what comes of it.

    One that passes must be an ISR that its leader could have proposed, or a directory that a broker could have
    reported: outside the ISR it leaves no other trace, whichever it is.
    """
    before, number = empty(Controller()), 0
    for batch, good in zip(batches(folder), replayed(folder), strict=True):
        for index, entry in enumerate(batch.entries if good.explanation is not None else ()):
            for kind, data in corrupted(entry):
                number += 1
                if number % step:
                    continue
                bad = with_data(batch, index, data)
                try:
                    explanation = explain(before, bad, good.rules)
                except EntryError:
                    yield kind, True, None
                    continue
                violations = tuple(violations_of(explanation, good.rules))
                fails = not explanation.explained or any(one not in good.violations for one in violations)
                yield (
                    kind,
                    fails,
                    (before, bad, ReplayedBatch(bad, explanation, violations, explanation.after, good.rules)),
                )
                if not fails:
                    event = next(step for step in explanation.steps if step.start <= index < step.end)
                    assert (kind, event.candidate.action) in (("isr", "alter_partition"), ("directories", "assign"))
                    if kind == "directories":
                        p = before.controller.image.partition(data["topicId"], data["partitionId"])
                        assert p is not None
                        assert not p.isr.has(event.candidate.arguments["broker"])
        before = good.state


@pytest.mark.parametrize("field", ["leader", "isr", "eligibleLeaderReplicas", "directories", "brokerEpoch"])
def test_a_corrupted_log_fails_at_the_right_batch(tmp_path: Path, field: str) -> None:
    """The whole command exits 23 or 12 and names the batch; every batch before it stays explained."""
    place, index, data = next(
        (number, index, changed)
        for number, batch in enumerate(batches())
        for index, entry in enumerate(batch.entries)
        for kind, changed in corrupted(entry)
        if (entry.data or {}).get(field) != changed.get(field)
    )
    bad = with_data(batches()[place], index, data)
    path = tmp_path / "bad.jsonl"
    path.write_text(json_lines([*batches()[:place], bad, *batches()[place + 1 :]]), encoding="utf-8")
    summary = ReplayOptions(None).replay(find((path,))[0])
    offsets = [explanation.batch.base_offset for explanation in summary.unexplained]
    offsets += [batch.base_offset for batch, _ in summary.violations]
    assert summary.exit_code() == (23 if summary.unexplained else 12)
    assert min(offsets) == bad.base_offset


def test_a_violated_property_is_exit_code_12() -> None:
    """An ISR without its leader breaks `leader-in-isr`, whatever else it does."""
    place, index = next(
        (number, index)
        for number, batch in enumerate(batches())
        for index, entry in enumerate(batch.entries)
        if entry.type == "PARTITION_RECORD"
    )
    entry = batches()[place].entries[index]
    assert entry.data is not None
    bad = with_data(batches()[place], index, {**entry.data, "isr": entry.data["isr"][1:]})
    *_, last = replay_log([*batches()[:place], bad], rules_of)
    assert "leader-in-isr" in {violation.property for violation in last.violations}


def test_one_change_is_ambiguous_where_two_events_write_it() -> None:
    """Where several events write the same records, they are counted, and the summary says so."""
    several = [batch for batch in replayed() if batch.explanation is not None and batch.explanation.count > 1]
    summary = ReplayOptions(None).replay(find((ELR,))[0])
    assert sum(summary.ambiguous.values()) == len(several)


def test_events_written_together_are_told_apart() -> None:
    """The records of two batches in one are explained by the events of both."""
    pairs = [
        (one, two)
        for one, two in zip(replayed(), replayed()[1:], strict=False)
        if one.explanation is not None and two.explanation is not None
    ]
    states = {batch.batch.base_offset: batch.state for batch in replayed()}
    one, two = pairs[3]
    before = next(state for offset, state in reversed(states.items()) if offset < one.batch.base_offset)
    both = evolve(one.batch, last_offset=two.batch.last_offset, entries=(*one.batch.entries, *two.batch.entries))
    explanation = explain(before, both, one.rules)
    assert explanation.explained
    assert one.explanation is not None
    assert two.explanation is not None
    assert [step.name for step in explanation.steps] == [
        step.name for step in (*one.explanation.steps, *two.explanation.steps)
    ]


def test_the_document_has_a_row_for_each_batch(tmp_path: Path) -> None:
    """The JSON document counts what the rows say, and can be written."""
    summary = ReplayOptions(None).replay(find((NO_ELR,))[0])
    document = json.loads(json.dumps(summary.document(), default=str))
    assert document["explained"] == sum(row["explanations"] > 0 for row in document["rows"]) == document["batches"]
    assert sum(row["records"] for row in document["rows"]) == document["records"]


def test_a_log_goes_on_from_a_snapshot(tmp_path: Path) -> None:
    """A real snapshot sets the state and the segment behind it is explained from there; alone it explains nothing."""
    snapshot = next(ELR.glob("*.checkpoint"))
    end = int(snapshot.name.split("-")[0])
    (tmp_path / snapshot.name).write_bytes(snapshot.read_bytes())
    (tmp_path / f"{end:020}.log").write_bytes(cut(end, folder=ELR))
    summary = ReplayOptions(None).replay(find((tmp_path,))[0])
    assert (summary.exit_code(), summary.snapshot_records) == (0, 26)
    assert summary.batches == sum(not b.control for b in batches() if b.base_offset >= end)
    whole = replayed()[-1].state.controller
    assert summary.state is not None
    assert summary.state.controller.image.topics == whole.image.topics
    with pytest.raises(Refusal, match="only a snapshot"):
        ReplayOptions(None).replay(find((snapshot,))[0])


def test_the_command_reports_and_exits(tmp_path: Path) -> None:
    """`kraftcheck replay` prints the summary, writes the document, and exits 0 only where all is explained."""
    good = kraftcheck("replay", ELR, "--json", tmp_path / "rows.json")
    assert (good.code, good.last) == (0, "(exit 0)")
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["logs"][0]["unexplained"] == 0
    bad = kraftcheck("replay", ELR, "--rules", "kafka-4.0", "--verbose")
    assert bad.code in (12, 23)
    assert "UNEXPLAINED batch at offset" in bad.out
    assert kraftcheck("replay", tmp_path / "none").refusal().endswith("no such file or folder")
    assert "KEY=VALUE is wanted" in kraftcheck("replay", ELR, "--static", "odd").refusal()
