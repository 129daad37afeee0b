"""What few faults do to the partitions of a real cluster."""

import json
import re
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.logs.metrics import not_known
from kraftcheck.ci.logs.whatif import prometheus
from kraftcheck.model.controller.state import MIN_ISR, Configs, Controller
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.solvers.logs.recovery import Recovery
from kraftcheck.solvers.logs.whatif import (
    TROUBLES,
    FaultState,
    Holders,
    count_faults,
    isolate,
    lose_power,
    moves,
    search,
)
from tests.model.controller.controllers import FIXED, changed, cluster, with_topic
from tests.shared.captures import DEAD_LEADER, ELR, NO_ELR, TROUBLE, replayed
from tests.shared.commands import kraftcheck


def distances(controller: Controller, faults: int, rules: RuleSet) -> list[Mapping[str, Any]]:
    """The rows of a cluster that is as a snapshot shows it."""
    return Recovery(controller, Holders(), rules).distances(faults)


def rows(controller: Controller, faults: int = 3, rules: RuleSet = FIXED) -> dict[str, tuple[int | None, int | None]]:
    """Faults to offline and to loss by partition."""
    results = distances(controller, faults, rules)
    return {f"{row['topic']}-{row['partition']}": (row["faults_to_offline"], row["faults_to_loss"]) for row in results}


def after(controller: Controller, *names: str) -> FaultState:
    """The state of the first partition after moves by name."""
    state = isolate(controller, next(controller.places()), FIXED)
    for name in names:
        state = next(move for move in moves(state, FIXED) if move.name == name).after()
    return state


@pytest.mark.parametrize("elr", [False, True])
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_as_many_faults_as_replicas(factor: int, elr: bool) -> None:
    """A partition in full health survives all faults of brokers but the last."""
    controller = with_topic(cluster(4, elr_enabled=elr), "foo", tuple(range(factor)))
    assert rows(controller, 3) == {"foo-0": (factor, factor)}
    assert rows(controller, factor - 1) == {"foo-0": (None, None)}


@pytest.mark.parametrize(("factor", "minimum", "expected"), [(3, 1, 3), (3, 2, 2), (3, 3, 1), (2, 3, 1), (1, 2, 1)])
def test_producers_are_refused_once_the_isr_is_below_its_minimum(factor: int, minimum: int, expected: int) -> None:
    """Faults to a partition that refuses acks=all; a minimum beyond the replicas is all of them."""
    controller = with_topic(cluster(4), "foo", tuple(range(factor)), min_insync_replicas=str(minimum))
    (row,) = distances(controller, 3, FIXED)
    assert (row["faults_to_unwritable"], len(row["to_unwritable"])) == (expected, expected)


def test_before_3_7_a_minimum_beyond_the_replicas_refuses_producers() -> None:
    """Such a partition refuses acks=all without any fault; since then its only replica is enough."""
    controller = with_topic(cluster(4), "foo", (0,), min_insync_replicas="2")
    found = [distances(controller, 1, parse(f"kafka-3.9.2{one}")) for one in ("+acks-all-needs-configured-min-isr", "")]
    assert [row["faults_to_unwritable"] for (row,) in found] == [0, 1]


def test_a_leader_asks_for_its_own_minimum() -> None:
    """A broker's own min ISR counts where it leads, below the topic's; another leader asks for that of all."""
    controller = with_topic(cluster(4), "foo", (1, 2, 3))
    own = Configs(nodes={"1": {MIN_ISR: "3"}, "4": {MIN_ISR: "9"}})
    topic = evolve(own, topics={"foo": {MIN_ISR: "1"}})
    for configs, leader, faults in ((own, 1, ["2 is fenced"]), (own, 3, ["3 is fenced"]), (topic, 1, None)):
        (row,) = distances(evolve(changed(controller, leader=leader), configs=configs), 3, FIXED)
        assert [*row["to_unwritable"]] == faults or (faults is None and row["faults_to_unwritable"] == 3)


def test_brokers_ask_for_the_minimum_of_the_partition_itself() -> None:
    """Under rules that take partition 0's replicas for the min ISR of ELRs, producers are refused by their own."""
    controller = with_topic(cluster(4), "mixed", (0, 1, 2), (0, 1, 2), min_insync_replicas="2")
    controller = changed(controller, "mixed", replicas=(0,), isr=(0,))
    controller = with_topic(controller, "plain", (0, 1, 2), min_insync_replicas="1")
    found = distances(controller, 3, parse("kafka-4.1.2"))
    assert [row["faults_to_unwritable"] for row in found] == [1, 2, 3]


def test_every_fault_already_suffered_is_one_less() -> None:
    """A partition that has lost members of its ISR is that much nearer to trouble; one without leader is there."""
    controller = with_topic(cluster(4, fenced=(2,)), "foo", (0, 1, 2), min_insync_replicas="1")
    assert rows(controller) == {"foo-0": (2, 2)}
    assert rows(changed(controller, leader=-1), 0) == {"foo-0": (0, None)}


def test_elr_keeps_the_last_replica_from_losing_data() -> None:
    """Last replica standing: it loses power and comes back. Without ELR it leads and data are lost; with ELR not."""
    steps = ("2 is fenced", "1 is fenced", "0 loses power")
    lost = {}
    for elr in (False, True):
        controller = with_topic(cluster(4, elr_enabled=elr), "foo", (0, 1, 2), min_insync_replicas="2")
        state = after(controller, *steps)
        lost[elr] = state.lost
        assert state.offline == elr
    assert lost == {False: True, True: False}


def test_an_unclean_election_loses_data_after_the_outsider_returns() -> None:
    """Where the topic allows it, a replica outside the ISR that returns first leads, without the data."""
    config = {"unclean_leader_election_enable": "true"}
    controller = with_topic(cluster(3), "foo", (0, 1), **config)
    state = after(controller, "1 is fenced", "0 is fenced", "1 returns")
    assert (state.offline, state.lost) == (False, True)
    clean = with_topic(cluster(3), "foo", (0, 1))
    assert not after(clean, "1 is fenced", "0 is fenced", "1 returns").lost


def test_a_lost_directory_takes_only_its_replica() -> None:
    """The leader's directory fails: another replica leads, nothing is lost; the last one stops its broker."""
    controller = with_topic(cluster(3), "foo", (0, 1), min_insync_replicas="1")
    state = after(controller, "0 loses its directory")
    assert (int(state.partition.leader), state.lost, state.dead) == (1, False, frozenset({0}))
    assert "0 returns" not in {move.name for move in moves(state, FIXED)}


def test_a_broker_that_a_reassignment_removed_is_no_replica_any_more() -> None:
    """A change on the way completes the reassignment: what happens to its broker then is no fault of the partition."""
    controller = changed(with_topic(cluster(4), "foo", (0, 1, 2), min_insync_replicas="1"), removing=(2,))
    state = after(controller, "2 is fenced")
    assert tuple(state.partition.replicas) == (0, 1)
    assert {move.name.split()[0] for move in moves(state, FIXED)} == {"0", "1"}
    assert rows(controller, 3) == {"foo-0": (3, 3)}


def test_real_clusters_have_distances() -> None:
    """At the end of a captured run every replica is in sync, so each partition survives all faults but its last."""
    controller = replayed()[-1].state.controller
    faults = rows(controller, 2, replayed()[-1].rules)
    assert {faults[f"lone-{index}"] for index in range(3)} == {(1, 1)}
    assert faults["clicks-1"] == (2, 2)
    assert faults["orders-0"] == (None, None)


def test_what_the_index_of_another_topic_lists_is_no_matter_of_a_partition() -> None:
    """Where a topic's list differs from its ELRs, a broker that loses power still registers anew for others."""
    end = next(batch for batch in replayed(TROUBLE) if batch.batch.last_offset == 90)
    controller, seen = end.state.controller, 0
    (broker,) = {broker for broker, _ in controller.elr_index.differing}
    for place in controller.places():
        state = isolate(controller, place, end.rules)
        if state.partition.replicas.has(broker):
            before = state.controller.image.registrations[broker].incarnation
            after = lose_power(state, broker, end.rules).controller.image.registrations[broker].incarnation
            seen += before != after
    assert seen == 4


@pytest.mark.parametrize("folder", [ELR, NO_ELR, DEAD_LEADER], ids=lambda folder: folder.name)
def test_each_way_leads_where_it_says(folder: Path) -> None:
    """Played move by move, a partition's shortest way gets it into each trouble at its end and not before."""
    final = replayed(folder)[-1]
    controller, played = final.state.controller, 0
    for place, distance in zip(controller.places(), distances(controller, 2, final.rules), strict=True):
        assert (distance["topic"], distance["partition"]) == (controller.topic(place.topic_id).name, place.index)
        for kind, trouble in TROUBLES.items():
            path, state = distance[f"to_{kind}"], isolate(controller, place, final.rules)
            for name in path or ():
                assert not trouble(state)
                state = next(move for move in moves(state, final.rules) if move.name == name).after()
                played += 1
            assert trouble(state) == (path is not None)
    assert played > 10


SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\[\\n"])*",?)+)\})? (\+Inf|\d+)')
"""A sample of Prometheus' text format 0.0.4, as far as gauges without time go."""

LABEL = re.compile(r'(\w+)="((?:[^"\\\n]|\\[\\n"])*)"')


def metrics_in(text: str) -> dict[tuple[str, ...], float]:
    """Values by metric and labels; each metric has its help and type, in one run of lines, before its samples."""
    values: dict[tuple[str, ...], float] = {}
    announced: list[str] = []
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            announced.append(line.split(" ", 3)[2])
        elif line.startswith("# TYPE "):
            assert line == f"# TYPE {announced[-1]} gauge"
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample is not None, line
            assert sample[1] == announced[-1]
            labels = [(name, json.loads(f'"{value}"')) for name, value in LABEL.findall(sample[2] or "")]
            key = (sample[1], *(f"{name}={value}" for name, value in labels))
            assert key not in values
            values[key] = float(sample[3])
    assert len(set(announced)) == len(announced)
    return values


def test_metrics_are_prometheus_text() -> None:
    """Every line is of the text format, names with quotes, backslashes and line ends included, and nothing is lost."""
    names = ["orders", 'a"b', "back\\slash", "two\nlines", "\\n"]
    rows = [
        {"topic": name, "partition": n, "faults_to_offline": None if n else 0, "faults_to_unwritable": 0,
         "faults_to_loss": n}
        for n, name in enumerate(names)
    ]  # fmt: skip
    values = metrics_in(prometheus(rows, 3, not_known(True, 5, ())))
    because = ("read in part", "unexplained", "guessed")
    assert [values.pop(("kraftcheck_not_all_known", f"because={word}")) for word in because] == [1, 1, 0]
    assert values.pop(("kraftcheck_faults_explored",)) == 3
    assert values.pop(("kraftcheck_unexplained_batches",)) == 5
    assert values == {
        (f"kraftcheck_faults_to_{kind}", f"topic={row['topic']}", f"partition={row['partition']}"): (
            inf if row[f"faults_to_{kind}"] is None else row[f"faults_to_{kind}"]
        )
        for row in rows
        for kind in TROUBLES
    }


def test_the_table_shows_the_shortest_ways() -> None:
    """A row for each partition of a real snapshot, the nearest to trouble first: distances, and sequences of moves."""
    ran = kraftcheck("whatif", next(ELR.glob("*.checkpoint")), "--faults", 1)
    lines = [re.split(r"  +", line.strip()) for line in ran.out.splitlines()]
    ways = [f"way to {name}" for name in TROUBLES]
    assert lines[0] == ["partition", *TROUBLES, *ways]
    assert ["orders-0", "1", "0", ">1", "2 is fenced", "already so"] in lines
    assert ["lone-2", "1", "1", "1", "2 is fenced", "2 is fenced", "2 loses power"] in lines
    assert lines[1] == ["clicks-0", "0", "0", "0", "already so", "already so", "0 returns"]
    assert [line[0] for line in lines[1:4]] == ["clicks-0", "lone-0", "lone-1"]
    assert (len(lines), ran.last) == (12, "10 partitions, up to 1 faults, rules kafka-4.1.2 (exit 0)")


def test_the_command_writes_tables_json_and_metrics(tmp_path: Path) -> None:
    """`kraftcheck whatif` from a snapshot and from a log: a table, a document, and metrics."""
    snapshot = next(ELR.glob("*.checkpoint"))
    ran = kraftcheck(
        "whatif", snapshot, "--faults", 1, "--json", tmp_path / "w.json", "--prometheus", tmp_path / "w.prom"
    )
    assert ran.code == 0
    document = json.loads((tmp_path / "w.json").read_text(encoding="utf-8"))
    metrics = (tmp_path / "w.prom").read_text(encoding="utf-8")
    assert metrics == prometheus(document["partitions"], 1, not_known(False, 0, ()))
    assert len(metrics_in(metrics)) == 3 * len(document["partitions"]) + 5 == 35
    assert 'kraftcheck_faults_to_offline{topic="lone",partition="0"} 0\n' in metrics
    assert "+Inf" in metrics
    assert kraftcheck("whatif", NO_ELR, "--prometheus", "-").out.startswith("# HELP kraftcheck_faults_to_offline")


def test_a_return_that_ends_the_controller_is_warned_of(tmp_path: Path) -> None:
    """A last known leader that is no replica, and is registered, is looked up at each return: `whatif` says by whom."""
    path = tmp_path / "topics.txt"
    row = "\tTopic: {}\tPartition: 0\tLeader: {}\tReplicas: {}\tIsr: {}\tElr: \tLastKnownElr: {}\n"
    for last_known, brokers in (("3", [1, 2]), ("1", [])):
        path.write_text(row.format("t", "none", "1,2", "", last_known) + row.format("u", 3, 3, 3, ""), encoding="utf-8")
        ran, document = kraftcheck("whatif", path), kraftcheck("whatif", path, "--json", "-").document()
        lines = [f"broker {broker} makes the controller RESIGN as it comes back: t-0" for broker in brokers]
        assert [line for line in ran.out.splitlines() if "RESIGN" in line] == lines
        assert document["resigns"] == [{"broker": broker, "partitions": ["t-0"]} for broker in brokers]


def test_bad_input_is_refused() -> None:
    """Two outputs on one stream, and an unknown rule set, are refused in one line."""
    assert "cannot both" in kraftcheck("whatif", ELR, "--json", "-", "--prometheus", "-").refusal()
    assert "unknown rule set" in kraftcheck("whatif", ELR, "--rules", "nonsense").refusal()


def exhaustive_search(state: FaultState, faults: int, longest: int, rules: RuleSet) -> list[int | None]:
    """Fewest faults to each trouble among all sequences of at most so many moves; nothing is remembered."""
    best: list[int | None] = [0 if has(state) else None for has in TROUBLES.values()]
    for move in moves(state, rules) if longest else ():
        if faults >= move.fault:
            rest = exhaustive_search(move.after(), faults - move.fault, longest - 1, rules)
            totals = [None if one is None else one + move.fault for one in rest]
            best = [min((n for n in pair if n is not None), default=None) for pair in zip(best, totals, strict=True)]
    return best


@pytest.mark.parametrize("elr", [False, True])
@pytest.mark.parametrize(("factor", "fenced", "faults", "longest"), [(1, (), 2, 4), (2, (1,), 2, 4), (3, (2,), 2, 3)])
def test_the_search_finds_what_trying_everything_finds(
    factor: int, fenced: tuple[int, ...], faults: int, longest: int, elr: bool
) -> None:
    """On small clusters the distances are the fewest faults of any sequence of moves, each played to its end."""
    controller = with_topic(cluster(4, elr_enabled=elr), "foo", tuple(range(factor)), min_insync_replicas="1")
    state = isolate(controller, next(controller.places()), FIXED)
    for broker in fenced:
        state = next(move for move in moves(state, FIXED) if move.name == f"{broker} is fenced").after()
    ways = search(state, faults, FIXED)
    assert all(way is None or len(way) <= longest for way in ways.values())
    assert [count_faults(way) for way in ways.values()] == exhaustive_search(state, faults, longest, FIXED)
