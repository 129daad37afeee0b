"""The explanation of a batch: the controller events that wrote its records.

A batch holds the records of one event or of several. The state before each
record follows from the log alone, so the explanations of a batch are the paths
from its first record to its end along events that the model says write exactly
the records between. The fewest events count; a batch is ambiguous when several
ways are equally short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import asdict, fields, frozen

from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.partition.registration import DirectoryList, DirectoryMismatch, PartitionChange
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, PartitionChangeRecord, PartitionRecord
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.guesses import candidates, hidden_candidates
from kraftcheck.solvers.logs.explain.judge import LogViolation, judge
from kraftcheck.solvers.logs.explain.partition_guesses import Candidate
from kraftcheck.solvers.logs.explain.state import Batch, ModelRecord, State, Undone, model_record

PlainRecord = tuple[tuple[str, Any], ...]
"""A record as pairs of field and value, its kind first; absent fields are left out."""


@frozen
class Difference:
    """One field that is not as predicted; None stands for a field, or record, that is not there."""

    field: str
    prediction: Any
    observed: Any


def plain_record(record: ModelRecord) -> PlainRecord:
    """The record as comparable values."""
    kind = ("kind", type(record).__name__.removesuffix("Record"))
    if isinstance(record, PartitionChangeRecord):
        maybes = ((f.name, getattr(record.change, f.name)) for f in fields(PartitionChange))
        values_present = [(name, _plain_value(maybe.value)) for name, maybe in maybes if maybe.present]
        return (kind, ("topic_id", record.topic_id), ("partition_id", record.partition_id), *values_present)
    values = asdict(record, recurse=False)
    if isinstance(record, BrokerRegistrationChangeRecord):
        values["log_dirs"] = record.log_dirs or None
    if isinstance(record, PartitionRecord):
        values["elr"], values["last_known_elr"] = record.elr or None, record.last_known_elr or None
    return (kind, *((name, value) for name, value in values.items() if value is not None))


def _plain_value(value: Any) -> Any:
    if isinstance(value, IdList | DirectoryList):
        return tuple(value.ids)
    return bool(value) if isinstance(value, bool) else value


def _key(record: PlainRecord) -> tuple[Any, ...] | None:
    """What commutes with others: the partition of a record; None for a record that stays in its place."""
    values = dict(record)
    if values["kind"] not in ("PartitionChange", "Partition"):
        return None
    return values["topic_id"], values["partition_id"]


def matches(prediction: Sequence[PlainRecord], observed: Sequence[PlainRecord]) -> bool:
    """Whether both are the same up to the order of different partitions' changes."""
    return len(prediction) == len(observed) and _arrangement(prediction) == _arrangement(observed)


def _arrangement(records: Iterable[PlainRecord]) -> list[Any]:
    """Runs of changes between other records, each run by partition."""
    runs: list[Any] = [{}]
    for record in records:
        key = _key(record)
        if key is None:
            runs += [record, {}]
        else:
            runs[-1].setdefault(key, []).append(record)
    return runs


def differences(prediction: Sequence[PlainRecord], observed: Sequence[PlainRecord]) -> list[Difference]:
    """Field by field what differs; records are paired by partition, else by order."""
    unpaired = list(observed)
    unequal: list[Difference] = []
    for record in prediction:
        partner = next((other for other in unpaired if _label(other) == _label(record)), None)
        if partner is None:
            unequal.append(Difference(_label(record), _values(record), None))
            continue
        unpaired.remove(partner)
        predicted_fields, observed_fields = dict(record), dict(partner)
        names = [*predicted_fields, *(name for name in observed_fields if name not in predicted_fields)]
        for name in names:
            if predicted_fields.get(name) != observed_fields.get(name):
                unequal.append(
                    Difference(f"{_label(record)}.{name}", predicted_fields.get(name), observed_fields.get(name))
                )
    return unequal + [Difference(_label(other), None, _values(other)) for other in unpaired]


def _label(record: PlainRecord) -> str:
    values = dict(record)
    name = values.get("partition_id", values.get("broker_id", values.get("name", values.get("topic", ""))))
    topic = f"{values['topic_id']}-" if "partition_id" in values else ""
    return f"{values['kind']} {topic}{name}".strip()


def _values(record: PlainRecord) -> dict[str, Any]:
    return {name: value for name, value in record if name not in ("kind", "topic_id", "partition_id")}


REFUSED = 2  # the distance of an event that the controller refuses, in differing fields a record


@frozen
class ExplanationStep:
    """One event of an explanation: the matching candidate, and which records of the batch it wrote."""

    candidate: Candidate
    start: int
    end: int

    @property
    def name(self) -> str:
        """The event in words."""
        return self.candidate.name


@frozen
class NearestEvent:
    """The event that comes nearest where no event explains the records."""

    name: str  # the event
    refusal: str  # why the controller refuses it; empty where it writes other records
    differences: tuple[Difference, ...]  # what it would write otherwise
    span: int  # how many records it is compared with

    def distance(self) -> float:
        """In how many fields a record it differs."""
        return REFUSED if self.refusal else len(self.differences) / self.span


@frozen
class Explanation:
    """The explanation of one batch."""

    batch: Batch  # the batch
    records: tuple[ModelRecord, ...]  # its records as the model knows them
    states: tuple[State, ...]  # the state before each record, and after the last that can be replayed
    # the events of the first of the shortest explanations, or of the longest explained prefix
    steps: tuple[ExplanationStep, ...]
    count: int  # how many shortest explanations there are; 0 where the batch is not explained
    nearest: NearestEvent | None = None  # the nearest event, where the batch is not explained and some event comes near
    replay_error: str = ""  # why a record cannot be replayed; empty where all can

    @property
    def explained(self) -> bool:
        """Whether events explain every record."""
        return self.count > 0

    @property
    def prefix(self) -> int:
        """How many records are explained."""
        return self.steps[-1].end if self.steps else 0

    @property
    def after(self) -> State:
        """The state after the batch."""
        return self.states[-1]


def explain(before: State, batch: Batch, rules: RuleSet) -> Explanation:
    """The explanation of a batch.

    Args:
        before: the state before it.
        batch: what the log holds.

    Raises:
        EntryError: when a record's fields are not those of its kind.
    """
    return explain_model_records(before, batch, tuple(model_record(entry) for entry in batch.entries), rules)


def explain_model_records(before: State, batch: Batch, records: tuple[ModelRecord, ...], rules: RuleSet) -> Explanation:
    """The explanation of a batch whose records are decoded."""
    states, replay_error = _replay(before.dated(records).at(batch.base_offset), records, rules)
    plain_records = [plain_record(record) for record in records]
    for every in (False, True):
        paths = _paths(states, records, plain_records, rules, every)
        last = paths[-1]
        if last is not None and not replay_error:
            return Explanation(batch, records, states, _steps_to(paths, len(records)), last.count)
    end = max(place for place, last in enumerate(paths[: len(states)]) if last is not None)
    steps = _steps_to(paths, end)
    nearest = _nearest_event(states[end], records[end:], plain_records[end:], rules) if end < len(records) else None
    return Explanation(batch, records, states, steps, 0, nearest, replay_error)


def _paths(
    states: Sequence[State], records: Sequence[ModelRecord], plain_records: Sequence[PlainRecord], rules: RuleSet,
    every: bool,
) -> list[_Path | None]:  # fmt: skip
    """The shortest way to each place of the batch, None where there is none.

    Args:
        states: before each record, as far as they can be replayed.
        every: whether events count that the records do not show, where others begin at the same place.
    """
    paths: list[_Path | None] = [_Path(0, 1, None, None), *([None] * len(records))]
    for start in range(min(len(states), len(records))):
        path = paths[start]
        if path is None:
            continue
        for step in _candidate_steps(states[start], records, plain_records, start, rules, every):
            paths[step.end] = _shorter(paths[step.end], path, step)
        if start == 0 and paths[-1] is not None:
            break  # one event explains it all: nothing is shorter
    return paths


@frozen
class _Path:
    """The shortest way to a place: its number of events, how many such ways there are, and its last event."""

    events: int
    count: int
    step: ExplanationStep | None
    before: _Path | None


def _shorter(best: _Path | None, prefix: _Path, step: ExplanationStep) -> _Path:
    events = prefix.events + 1
    if best is None or events < best.events:
        return _Path(events, prefix.count, step, prefix)
    if events == best.events:
        return _Path(events, best.count + prefix.count, best.step, best.before)
    return best


def _steps_to(paths: Sequence[_Path | None], end: int) -> tuple[ExplanationStep, ...]:
    steps: list[ExplanationStep] = []
    path = paths[end]
    while path is not None and path.step is not None:
        steps.append(path.step)
        path = path.before
    return tuple(reversed(steps))


def _replay(before: State, records: Sequence[ModelRecord], rules: RuleSet) -> tuple[tuple[State, ...], str]:
    states = [before]
    for record in records:
        try:
            states.append(states[-1].after(record, rules))
        except ReplayError as reason:
            return tuple(states), str(reason)
    return tuple(states), ""


def _candidate_steps(
    state: State, records: Sequence[ModelRecord], plain_records: Sequence[PlainRecord], start: int, rules: RuleSet,
    every: bool,
) -> list[ExplanationStep]:  # fmt: skip
    """Every event that writes exactly the records from `start` on, up to where it ends.

    One that they do not show counts where there is no other, or where `every` event does.
    """
    steps, ahead = list[ExplanationStep](), plain_records[start:]
    for guesses in (candidates, hidden_candidates):
        for candidate in guesses(state, records[start:], rules):
            if size := writes(candidate, ahead):
                steps.append(ExplanationStep(candidate, start, start + size))
        if steps and not every:
            break
    return steps


def writes(candidate: Candidate, ahead: Sequence[PlainRecord]) -> int:
    """How many of the records ahead an event writes exactly; 0 where it writes others, or none."""
    records_written, refusal = prediction(candidate)
    size = len(records_written)
    return size if not refusal and matches([plain_record(one) for one in records_written], ahead[:size]) else 0


def prediction(candidate: Candidate) -> tuple[tuple[ModelRecord, ...], str]:
    """What the model says that an event writes, or why the controller refuses it."""
    try:
        return tuple(candidate.records()), ""
    except (RequestError, Resignation, ReplayError, DirectoryMismatch) as reason:
        return (), str(reason) or type(reason).__name__


def _nearest_event(
    state: State, records: Sequence[ModelRecord], plain_records: Sequence[PlainRecord], rules: RuleSet
) -> NearestEvent | None:
    events = []
    for candidate in candidates(state, records, rules):
        records_written, refusal = prediction(candidate)
        observed = plain_records[: candidate.length or max(1, len(records_written))]
        unequal = () if refusal else tuple(differences([plain_record(record) for record in records_written], observed))
        events.append(
            NearestEvent(
                candidate.name, refusal or ("" if records_written else "it writes nothing"), unequal, len(observed)
            )
        )
    return min(events, key=NearestEvent.distance, default=None)


HEADER, FOOTER = "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"  # the control records before and after a snapshot's records


@frozen
class ReplayedBatch:
    """The replay of one batch."""

    batch: Batch  # the batch
    # None for what is taken as it is: a snapshot's records, and what the quorum wrote for itself
    explanation: Explanation | None
    violations: tuple[LogViolation, ...]  # the properties that do not hold after it, each once a partition
    state: State  # the state after it
    rules: RuleSet  # the rule set that it was explained with
    undone: Undone | None = None  # why its records have not happened; None for those that have

    @property
    def controller(self) -> Controller:
        """The controller after it."""
        return self.state.controller


def violations_of(explanation: Explanation, rules: RuleSet) -> Iterator[LogViolation]:
    """Violations after each event; of what no event explains, and of a transaction, after all of it.

    A transaction is one step, which begins before its first record and ends with its last. It shows no single events,
    so only invariants are judged.
    """
    states, reported = explanation.states, set()
    spans = [(step.start, step.end, step.candidate) for step in explanation.steps]
    if not explanation.explained and explanation.prefix < len(states) - 1:
        spans = [*spans, (explanation.prefix, len(states) - 1, None)]  # type: ignore[list-item]
    for start, end, candidate in spans:
        if end >= len(states):
            return
        if states[end].transaction is not None:
            continue
        before, records, transaction = states[start], explanation.records[start:end], states[start].transaction
        if transaction is not None:
            before, records, candidate = transaction.before, (*transaction.records(), *records), None  # type: ignore[assignment]
        for violation in judge(before.controller, states[end].controller, records, candidate, rules):
            if violation not in reported:
                reported.add(violation)
                yield violation
