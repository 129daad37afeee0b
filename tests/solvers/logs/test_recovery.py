"""What becomes of the partitions of a cluster as its brokers are started, stopped or elected."""

from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.ci.logs.releases import rules_of
from kraftcheck.model.controller.brokers import fenced
from kraftcheck.model.controller.commits import replay_all
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.records.records import ids
from kraftcheck.model.records.replay import ElrIndex
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.solvers.logs import recovery
from kraftcheck.solvers.logs.explain.state import Batch, Undone, effective, elected, empty, loading
from kraftcheck.solvers.logs.memo.situation import ShapeNames
from kraftcheck.solvers.logs.recovery import Recovery, WayBack
from kraftcheck.solvers.logs.whatif import FaultState, Holders
from tests.model.controller.controllers import FIXED, changed, cluster, with_topic
from tests.shared.captures import EVERY, batches, replayed


def recovery_of(controller: Controller, **holders: Iterable[int]) -> Recovery:
    """The recovery of a made cluster; of topics named, who holds their partition 0."""
    members = {(controller.topic_id(name) or "", 0): frozenset(brokers) for name, brokers in holders.items()}
    return Recovery(controller, Holders(members), FIXED)


def dead(controller: Controller, *brokers: int) -> Controller:
    """The cluster after brokers are fenced, one after the other."""
    for broker in brokers:
        controller = replay_all(controller, fenced(controller, broker, FIXED), FIXED)
    return controller


def names(controller: Controller, keys: Iterable[tuple[str, int]]) -> list[str]:
    """Topics of partitions."""
    return [controller.topic(topic_id).name for topic_id, _ in keys]


def order(way: WayBack) -> list[int]:
    """Who is started, in order."""
    return [step.broker for step in way.steps]


def test_the_last_to_go_is_started_first() -> None:
    """Two of three replicas have left the ISR before the leader died: its return is enough, and nobody else's helps."""
    controller = dead(with_topic(cluster(4), "foo", (0, 1, 2), min_insync_replicas="2"), 0, 2, 1)
    found = recovery_of(controller)
    (key,) = found.now
    clean = [one.broker for one in found.prospects(found.now[key]) if not one.harmed]
    assert clean == [1]
    way = found.way_back()
    assert (order(way), way.shortest) == ([1, 0, 2], True)
    assert [names(controller, step.led) for step in way.steps] == [["foo"], [], []]
    assert [names(controller, step.writable) for step in way.steps] == [[], ["foo"], []]
    assert not any(step.harmed for step in way.steps)


def test_one_broker_for_many_partitions_is_started_before_two() -> None:
    """The order has the fewest starts until all lead, though the first by number helps too."""
    controller = cluster(4)
    for name, replicas in (("a", (0, 2)), ("b", (1, 2)), ("c", (2, 3))):
        controller = with_topic(controller, name, replicas, min_insync_replicas="1")
    controller = dead(controller, 0, 1, 3, 2)
    for name in "ab":
        controller = changed(controller, name, elr=(0, 2) if name == "a" else (1, 2), isr=(), leader=-1)
    way = recovery_of(controller).way_back()
    assert (order(way)[0], way.shortest) == (2, True)
    assert sorted(names(controller, way.steps[0].led)) == ["a", "b", "c"]


@pytest.mark.parametrize("unclean", ["true", "false"])
def test_who_would_be_elected_with_loss_is_started_later(unclean: str) -> None:
    """Where a topic allows unclean elections, an outsider of the ISR that is back first leads, and records are lost."""
    config = {"unclean_leader_election_enable": unclean, "min_insync_replicas": "1"}
    controller = dead(with_topic(cluster(3), "foo", (0, 1), **config), 0, 1)
    found = recovery_of(controller, foo={1})
    (key,) = found.now
    told = {(one.broker, one.asked): (one.leader, one.harmed) for one in found.prospects(found.now[key])}
    assert told == {(0, unclean == "false"): (0, True), (1, False): (1, False)}
    assert order(found.way_back()) == [1, 0]


def test_an_order_that_loses_nothing_need_not_exist() -> None:
    """Two topics want each other's outsider first: one of the orders that lose least is given, with its loss."""
    config = {"unclean_leader_election_enable": "true", "min_insync_replicas": "1"}
    controller = with_topic(with_topic(cluster(3), "a", (0, 1), **config), "b", (0, 1), **config)
    controller = dead(controller, 0, 1)
    controller = changed(controller, "b", isr=(0,))
    way = recovery_of(controller, a={1}, b={0}).way_back()
    assert way.shortest
    assert [(step.broker, names(controller, step.harmed)) for step in way.steps] == [(0, ["a"]), (1, [])]


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_no_other_order_loses_less(data: st.DataObject) -> None:
    """Where topics are led by whoever is back first, the order given loses as little as the best of all orders."""
    config = {"unclean_leader_election_enable": "true", "min_insync_replicas": "1"}
    controller, holders, weights = cluster(4), dict[str, set[int]](), dict[tuple[str, int], int]()
    for name in "abc":
        replicas = data.draw(st.permutations(range(3)))[: data.draw(st.integers(1, 3))]
        controller = with_topic(controller, name, tuple(replicas), **config)
        holders[name] = {data.draw(st.sampled_from(replicas))}
        weights |= {(name, broker): data.draw(st.integers(1, 4)) for broker in range(3)}
    controller = dead(controller, 0, 1, 2)
    for name in "abc":
        isr = tuple(holders[name]) if data.draw(st.booleans()) else ()  # without, each of its replicas loses something
        controller = changed(controller, name, isr=isr, leader=-1)
        holders[name] = set(isr)
    found = recovery_of(controller, **holders)

    def lost(brokers: Iterable[int]) -> int:
        total, at = 0, {key: found.state(number) for key, number in found.now.items()}
        for broker in brokers:
            for key, state in at.items():
                at[key] = recovery.start(state, broker, FIXED) if state.partition.replicas.has(broker) else state
                if recovery.is_harmed(state, at[key]):
                    total += weights[controller.topic(key[0]).name, int(at[key].partition.leader)]
        return total

    way = found.way_back(lambda key, leader: (0, 0, 0, weights[controller.topic(key[0]).name, leader]))
    assert lost(order(way)) == min(map(lost, permutations(range(3))))
    assert way.shortest


@pytest.mark.parametrize("gone", [(0,), (1,), (0, 1)])
def test_a_broker_that_never_comes_back_is_in_no_way(gone: tuple[int, ...]) -> None:
    """No order, prospect or way of faults starts a broker that is lost; what it alone held is lost already."""
    controller = dead(with_topic(cluster(4), "foo", (0, 1, 2), min_insync_replicas="1"), 2, 0, 1)
    members = {(controller.topic_id("foo") or "", 0): frozenset({1})}
    found = Recovery(controller, Holders(members), FIXED, frozenset(gone))
    (number,) = found.now.values()
    assert not {*order(found.way_back())} & {*gone}
    assert {one.broker for one in found.prospects(number)} == {0, 1, 2} - {*gone}
    (row,) = found.distances(2)
    assert (row["faults_to_loss"] == 0) == (1 in gone)
    ways = [move for kind in ("offline", "unwritable", "loss") for move in row[f"to_{kind}"] or ()]
    assert not [move for move in ways for broker in gone if move == f"{broker} returns"]


def test_an_order_that_was_not_searched_to_its_end_is_not_called_the_shortest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the steps of the search an order still brings every partition back."""
    controller = dead(with_topic(cluster(4), "foo", (0, 1, 2), min_insync_replicas="2"), 0, 2, 1)
    for most in (1, 3, 5):
        monkeypatch.setattr(recovery, "MOST_STEPS", most)
        found = recovery_of(controller)
        way = found.way_back()
        assert (sorted(order(way)), way.shortest) == ([0, 1, 2], False), most
        assert all(not found.state(number).unwritable for number in way.after.values())


def test_stopping_a_broker_takes_what_only_it_serves() -> None:
    """A sole replica goes offline, an ISR at its minimum refuses acks=all, and a spare replica is free to go."""
    controller = cluster(4)
    for name, replicas in (("sole", (0,)), ("tight", (0, 1)), ("spare", (0, 1, 2))):
        controller = with_topic(controller, name, replicas, min_insync_replicas="2")
    found = recovery_of(controller)
    now = found.unchanged
    stops = {broker: found.troubles_of_stop(now, broker) for broker in range(3)}
    told = {b: {kind: names(controller, keys) for kind, keys in stop.items()} for b, stop in stops.items()}
    assert told == {
        0: {"offline": ["sole"], "unwritable": ["tight"], "short": []},
        1: {"offline": [], "unwritable": ["tight"], "short": []}, 2: {"offline": [], "unwritable": [], "short": []},
    }  # fmt: skip
    again = found.restarted(now, 0)
    assert [ids(found.state(n).partition.isr) != () for n in again.values()] == [True] * 3
    assert found.troubles_of_stop(again, 0) == found.troubles_of_stop(now, 0)


def test_who_is_in_sync_of_a_partition_that_refuses_is_not_free_to_go() -> None:
    """Below its min ISR a partition is the worse for each member that stops; once all caught up it refuses by it."""
    controller = with_topic(cluster(4), "foo", (0, 1, 2), min_insync_replicas="3")
    controller = changed(controller, isr=(0, 1))
    found = recovery_of(controller)
    now = found.unchanged
    stops = [found.troubles_of_stop(now, broker) for broker in range(4)]
    assert [names(controller, stop["short"]) for stop in stops] == [["foo"], ["foo"], [], []]
    assert [names(controller, stop["unwritable"]) for stop in stops] == [[], [], [], []]
    later = found.way_back().after
    stops = [found.troubles_of_stop(later, broker) for broker in range(4)]
    assert [names(controller, stop["unwritable"]) for stop in stops] == [["foo"], ["foo"], ["foo"], []]


def test_live_replicas_catch_up_without_a_start() -> None:
    """An ISR that is short although its replicas live fills by itself; one whose replica is down wants its start."""
    healthy = with_topic(cluster(4), "foo", (0, 1), min_insync_replicas="2")
    found = recovery_of(changed(healthy, isr=(0,)))
    (key,) = found.now
    assert found.until_writable(found.now[key]) == []
    found = recovery_of(dead(healthy, 1))
    assert found.until_writable(found.now[key]) == [1]


def test_a_return_that_makes_the_controller_resign_is_known() -> None:
    """An index with a topic that is gone ends the controller as its broker registers; one with another does not."""
    controller = with_topic(cluster(4, elr_enabled=True), "foo", (0, 1), min_insync_replicas="1")
    controller = dead(controller, 1)
    for topic_id, expected in (("gone", ["foo"]), (controller.topic_id("foo") or "", [])):
        indexed = evolve(controller, elr_index=ElrIndex({(1, topic_id): (0, 0)}))
        found = recovery_of(indexed)
        assert names(controller, found.resigning(1)) == expected
        assert found.resigning(0) == found.resigning(3) == ()


def test_a_removed_last_known_leader_ends_the_controller_at_every_return() -> None:
    """As released: a last known leader that is no replica is looked up as a broker that returns is unfenced."""
    controller = dead(with_topic(cluster(4, elr_enabled=True), "foo", (0, 1), min_insync_replicas="1"), 0, 1)
    for last_known, expected in (((2,), ["foo"]), ((1,), [])):
        broken = changed(controller, leader=-1, isr=(), elr=(), last_known_elr=last_known)
        found = Recovery(broken, Holders(), parse("kafka-4.4.0"))
        assert names(controller, found.resigning(1)) == expected


def test_who_has_caught_up_holds_the_records() -> None:
    """A replica that is back in the ISR of a leader with every record has them too."""
    found = recovery_of(dead(with_topic(cluster(4), "foo", (0, 1), min_insync_replicas="1"), 1), foo={0})
    (number,) = found.way_back().after.values()
    assert found.state(number).holders == {0, 1}


def test_an_unclean_election_counts_as_loss_whoever_wins() -> None:
    """A replica outside the ISR may have every record, as nothing is acknowledged below the minimum; nobody knows."""
    config = {"unclean_leader_election_enable": "true", "min_insync_replicas": "2"}
    controller = dead(with_topic(cluster(3), "foo", (0, 1), **config), 1, 0)
    found = recovery_of(controller, foo={0, 1})
    (number,) = found.now.values()
    assert {one.broker: one.harmed for one in found.prospects(number)} == {0: False, 1: True}
    assert order(found.way_back()) == [0, 1]


def ends(folder: Path) -> Iterable[tuple[Controller, Holders]]:
    """The state before each batch of a captured log, with the holders."""
    state, holders = empty(Controller()), Holders()
    for batch in effective(batches(folder)):
        yield state.controller, holders
        if isinstance(batch, Undone):
            continue
        assert isinstance(batch, Batch)
        if batch.control:
            state = elected(state, batch)
            continue
        for before, after, _ in loading(state.at(batch.base_offset), batch, rules_of(state.supported_level())):
            state = after
            holders.follow(before.controller, after.controller)


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_real_partitions_came_back_as_is_said(folder: Path) -> None:
    """Where a broker of a captured log was unfenced, leaderless partitions got the leaders its start was to give."""
    told = 0
    rows = zip(replayed(folder), ends(folder), strict=False)
    for batch, (controller, holders) in rows:
        steps = () if batch.explanation is None else batch.explanation.steps
        if [step.candidate.action for step in steps] != ["unfence"]:
            continue
        broker = steps[0].candidate.arguments["broker"]
        found = Recovery(controller, holders, batch.rules)
        for key in found.now:
            state, after = found.state(found.now[key]), batch.state.controller.image.partition(*key)
            if state.offline and state.partition.replicas.has(broker):
                ways = found.prospects(found.now[key])
                leaders = {one.leader for one in ways if one.broker == broker and not one.asked}
                assert after is not None
                assert leaders == ({int(after.leader)} - {-1}), (key, batch.batch.base_offset)
                told += len(leaders)
    assert told or folder.name.startswith("kafka")


def test_brokers_that_differ_are_no_names_of_each_other() -> None:
    """Two partitions alike but for what one broker registered, no directory left, are two shapes."""
    controller = with_topic(with_topic(cluster(4), "a", (0, 1), min_insync_replicas="1"), "b", (2, 3))
    registrations = controller.image.registrations
    told = set()
    for none_left in (False, True):
        odd = evolve(registrations[2], dirs=(), no_dir_left=none_left)
        plain = evolve(registrations[0], dirs=())
        image = evolve(controller.image, registrations={**registrations, 0: plain, 2: odd})
        found = recovery_of(evolve(controller, image=image))
        first, second = (found.shape(number).key() for number in found.now.values())
        told.add(first[1] == second[1])
    assert told == {True, False}


def told(found: Recovery) -> dict[str, Any]:
    """All that is answered about the end of a log."""
    return {
        "way": found.way_back().steps, "resigning": found.all_resigning(), "distances": found.distances(2),
        "partitions": {key: (found.prospects(number), found.fatal_fault(number), found.until_writable(number))
                       for key, number in found.now.items()},
        "stops": [found.troubles_of_stop(found.unchanged, broker) for broker in (0, 1, 2, 16, 34)],
    }  # fmt: skip


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_names_of_brokers_change_no_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decided once for all that differs in names alone, or under its own names, each answer is the same."""

    def answers() -> list[dict[str, Any]]:
        rows = enumerate(zip(replayed(folder), ends(folder), strict=False))
        return [told(Recovery(state, holders, batch.rules)) for n, (batch, (state, holders)) in rows if n % 25 == 24]

    def own_names(state: FaultState) -> ShapeNames:
        return ShapeNames(tuple(state.controller.image.registrations), (), False)

    decided_once = answers()
    monkeypatch.setattr(FaultState, "names", own_names)
    monkeypatch.setattr(Recovery, "form_and_names", lambda *asked: (None, None))
    assert answers() == decided_once
    assert len(decided_once) > 2
